"""Finds mistakes in the commands of a family file: a visible secret, a change that is called idempotent and is not, and
a runbook that proves only the first part of an action."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.documents.source_map import Diagnostic
from orchestrator.model.declared.file import ActionFile, FamilyFile, way_of
from orchestrator.model.facets import Facet
from orchestrator.model.findings import Level
from orchestrator.model.runbook import Runbook

# An option with a secret as its value, and a login inside an address.
_OPTION = re.compile(r"^-{1,2}(?:password|passwd|passphrase|secret|token)(?:=(?!\{)|$)", re.IGNORECASE)
_LOGIN = re.compile(r"://[^/@:\s]+:[^/@\s]+@")
_INSERTS = re.compile(r"\binsert\s+into\b", re.IGNORECASE)
_ONCE = re.compile(r"\bon\s+conflict\b|\bnot\s+exists\b", re.IGNORECASE)


def lint_conduct(file: FamilyFile) -> Iterator[Diagnostic]:
    """Findings in the order of the file."""
    hint = (
        "put a password into the `login` of the site; connect.exec.password names the variable that the command gets"
    )
    for room, everything in (("readings", file.readings), ("actions", file.actions)):
        for name, one in everything.items():
            for word in one.argv:
                if _OPTION.match(word) or _LOGIN.search(word):
                    what = "the command has a secret, which the process list and the records would show"
                    yield Diagnostic((room, name, way_of(one)), Level.ERROR, "secret-written", what, hint)
    for name, action in file.actions.items():
        again = _not_idempotent(action) if action.idempotent else ""
        if again:
            hint = "write `idempotent: false`, or change the action so that a second one has no effect"
            what = f"the action {name} has `idempotent: true`, but {again}"
            yield Diagnostic(("actions", name, way_of(action)), Level.WARNING, "not-idempotent", what, hint)


def lint_closing(runbook: Runbook, file: FamilyFile) -> Iterator[Diagnostic]:
    """An action that ends service in several parts can be done in part if the connection breaks between the parts. Then
    the site refuses new clients, but connected clients still write. Only the fields that the action makes beside serves,
    or a client count of 0, prove the whole action."""
    clients = {
        (reading, name)
        for reading, declared in file.readings.items()
        for name, field in declared.fields.items()
        if field.facet is Facet.CLIENTS
    }
    for index, step in enumerate(runbook.steps):
        action = None if step.do is None else file.actions.get(step.do.action)
        if step.do is None or action is None or action.parts == 1 or action.makes.get(Facet.SERVES) is not False:
            continue
        read = [
            (one.reading, name, value)
            for one in step.expect
            if one.on == step.do.on
            for name, value in one.where.items()
        ]
        beside = {name: value for name, value in action.makes.items() if name != Facet.SERVES}
        shown = {name: value for _, name, value in read if name in beside}
        no_client = any((reading, name) in clients and value == 0 for reading, name, value in read)
        if not no_client and (not beside or shown != beside):
            sentence = (
                f"step {step.id} does not prove that {step.do.action} took full effect; sessions may still be open"
            )
            hint = "also expect the other values that the action makes, or that no client is left"
            yield Diagnostic(("steps", index, "expect"), Level.ERROR, "sessions-not-proven", sentence, hint)


def _not_idempotent(action: ActionFile) -> str:
    """The reason why a repeated action may have a second effect. Empty if nothing shows this."""
    if any(request.method == "POST" for request in action.http or ()):
        return "a POST request may have a new effect each time"
    statements = [one for one in action.sql or () if isinstance(one, str)]
    if any(_INSERTS.search(one) and not _ONCE.search(one) for one in statements):
        return "an insert adds a row each time"
    return ""
