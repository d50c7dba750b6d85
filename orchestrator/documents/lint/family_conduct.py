"""What the commands of a family file contradict: a secret that all can see, and a change that is called idempotent and is
not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.documents.source_map import Diagnostic
from orchestrator.model.declared.file import ActionFile, FamilyFile, way_of
from orchestrator.model.findings import Level

# An option that names a secret, with its value behind it; and a login inside an address.
_OPTION = re.compile(r"^-{1,2}(?:password|passwd|passphrase|secret|token)(?:=(?!\{)|$)", re.IGNORECASE)
_LOGIN = re.compile(r"://[^/@:\s]+:[^/@\s]+@")
_INSERTS = re.compile(r"\binsert\s+into\b", re.IGNORECASE)
_ONCE = re.compile(r"\bon\s+conflict\b|\bnot\s+exists\b", re.IGNORECASE)


def lint_conduct(file: FamilyFile) -> Iterator[Diagnostic]:
    """In the order of the file."""
    hint = "a password belongs into the site's login: connect.exec.password names the variable that has it"
    for room, everything in (("readings", file.readings), ("actions", file.actions)):
        for name, one in everything.items():
            for word in one.argv:
                if _OPTION.match(word) or _LOGIN.search(word):
                    what = "a secret in a command is seen in the process list and in records"
                    yield Diagnostic((room, name, way_of(one)), Level.ERROR, "secret-written", what, hint)
    for name, action in file.actions.items():
        again = _not_idempotent(action) if action.idempotent else ""
        if again:
            hint = "say `idempotent: false`, or make the change so that a second one does nothing"
            what = f"{name} is called idempotent, and {again}"
            yield Diagnostic(("actions", name, way_of(action)), Level.WARNING, "not-idempotent", what, hint)


def _not_idempotent(action: ActionFile) -> str:
    """Why a second time may do more than the first; empty: nothing shows that."""
    if any(request.method == "POST" for request in action.http or ()):
        return "a POST may do something each time it is sent"
    statements = [one for one in action.sql or () if isinstance(one, str)]
    if any(_INSERTS.search(one) and not _ONCE.search(one) for one in statements):
        return "an insert adds a row each time it is sent"
    return ""
