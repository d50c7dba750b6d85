"""Which texts of a record may hold a secret: every text of every event is either free, or a name."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest

from orchestrator.cli.render.terminal import redact_with, show_document
from orchestrator.family.secrets import Redactor
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.requests import AbortRequest
from orchestrator.operations.free_texts import FREE_TEXTS, scrub_free_texts

# Texts that say which thing is meant, by whom, or what the definitions say. None comes from a device's free output.
NAMES = frozenset(
    {
        # who and what
        *("by", "version", "device", "observer", "run", "pair", "source", "target", "services", "notes", "canary"),
        # of a claim on what belongs to a site, and of a lane that went back: an action, services with their runs, steps
        *("service", "thing", "others", "left"),
        *("account", "requester", "host", "plan", "file", "key", "signature"),
        # the lifecycle and the vocabulary
        *("kind", "step", "gate", "item", "choice", "choices", "unattended", "outcome", "effect", "timeout"),
        *("on", "reading", "action", "args", "undo", "on_gate", "transactions"),
    }
)


def text_keys(schema: Any, definitions: Any, seen: frozenset[str] = frozenset()) -> set[str]:
    """The keys under which a text may stand, anywhere below ``schema``."""
    found: set[str] = set()
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return set() if name in seen else text_keys(definitions[name], definitions, seen | {name})
    for key, inner in schema.get("properties", {}).items():
        if _may_be_text(inner):
            found.add(key)
        found |= text_keys(inner, definitions, seen)
    for part in (
        *schema.get("anyOf", ()),
        *schema.get("oneOf", ()),
        schema.get("items"),
        schema.get("additionalProperties"),
    ):
        if isinstance(part, dict):
            found |= text_keys(part, definitions, seen)
    return found


def _may_be_text(schema: Any) -> bool:
    if schema.get("type") == "string":
        return "const" not in schema and "enum" not in schema
    parts = (*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties"))
    return any(isinstance(part, dict) and _may_be_text(part) for part in parts)


EVENTS = get_args(get_args(ev.Event)[0])
# Definitions are recorded as they were read; readings are values of a vocabulary.
DEFINITIONS = frozenset({"Runbook", "Inventory", "FamilyFile"})


@pytest.mark.parametrize("model", EVENTS, ids=lambda model: model.model_fields["kind"].default)
def test_every_text_is_free_or_a_name(model: Any) -> None:
    """Law: a new text in an event is given its place: scrubbed if it may quote somebody, kept if it is a name."""
    schema = model.model_json_schema()
    known = FREE_TEXTS | NAMES | READINGS
    assert text_keys(schema, schema.get("$defs", {}), DEFINITIONS) - known == set()


# Values of readings: what a device calls its things.
READINGS = frozenset(
    {
        *("node", "mate_node", "mate", "xid", "client", "name", "level", "version"),
        *("group", "destination", "type", "message_type", "names", "sources", "denied", "topic"),
    }
)


def test_free_texts_are_scrubbed_at_any_depth() -> None:
    """Law: a secret in a free text is replaced, also in a list or in an object below it."""
    redactor = Redactor()
    redactor.learn("hunter2")
    body = {
        "seen": [{"failure": {"text": "got hunter2", "kind": "hunter2"}}],
        "sent": ["login hunter2"],
        "step": "hunter2",
    }
    stored = json.loads(scrub_free_texts(redactor.scrub)(json.dumps(body)))
    assert stored == {
        "seen": [{"failure": {"text": "got [redacted]", "kind": "hunter2"}}],
        "sent": ["login [redacted]"],
        "step": "hunter2",
    }


def test_all_below_a_free_text_is_free() -> None:
    """Law: reasons, for example, are kept by the name of the question: the name stays, and the reason is scrubbed."""
    redactor = Redactor()
    redactor.learn("hunter2")
    body = {"policy": {"reasons": {"hunter2": "since hunter2 leaked"}}}
    stored = json.loads(scrub_free_texts(redactor.scrub)(json.dumps(body)))
    assert stored == {"policy": {"reasons": {"hunter2": "since [redacted] leaked"}}}


def test_what_has_no_secret_is_stored_as_it_is() -> None:
    """Law: a record without a secret is not so much as reformatted."""
    body = '{"why" : "a  b", "at":1.0}'
    assert scrub_free_texts(Redactor().scrub)(body) is body


def test_a_request_is_stored_without_secrets(tmp_path: Path) -> None:
    """Promise 10: what a person asks of a run waits for its process without the secrets that are known."""
    redactor = Redactor()
    redactor.learn("hunter2")
    with closing(Journal.at(tmp_path / "journal.sqlite", scrub=scrub_free_texts(redactor.scrub))) as journal:
        journal.ask("run-1", AbortRequest(by="ann", reason="since hunter2 leaked"))
        assert [asked and asked.reason for _, asked in journal.requests("run-1")] == ["since [redacted] leaked"]


def test_a_document_is_printed_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """Promise 10: what is printed as it is, such as a schema or a table, is looked through too."""
    redactor = Redactor()
    redactor.learn("hunter2")
    redact_with(redactor)
    try:
        show_document("a table\nwith hunter2 in it")
    finally:
        redact_with(Redactor())
    assert capsys.readouterr().out == "a table\nwith [redacted] in it\n"
