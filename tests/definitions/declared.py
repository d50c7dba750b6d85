"""Small declarations of readings and actions, as an adapter would make them, and a writer of definition files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from adapters.solace.offers.decisions import XaDecisions
from orchestrator.documents.definition import Definition
from orchestrator.documents.loader import read_document
from orchestrator.family.contract import ActionSpec, ArgumentSpec, ReadingSpec

Write = Callable[[str | bytes], Path]

# All readings of the vocabulary.
READING_SPECS: Mapping[str, ReadingSpec] = {
    name: ReadingSpec(name, summary=name, commands=lambda services: list(services))
    for name in ("replication", "replication_queue", "transactions", "health")
}

# The actions of the shipped runbooks, and two more shapes: without arguments, and with free text.
_ACTIONS = (
    ActionSpec(
        "set_role",
        summary="changes the role",
        idempotent=True,
        commands=lambda call: [],
        arguments={"role": ArgumentSpec(choices=("active", "standby"))},
        inverse="set_role",
    ),
    ActionSpec(
        "complete_transaction",
        summary="commits or rolls back",
        idempotent=False,
        commands=lambda call: [],
        arguments={
            "xid": ArgumentSpec(filled_by="item"),
            "outcome": ArgumentSpec(choices=("commit", "rollback"), filled_by="decision"),
        },
    ),
    ActionSpec(
        "delete_transaction",
        summary="deletes",
        idempotent=False,
        commands=lambda call: [],
        arguments={"xid": ArgumentSpec(filled_by="item")},
    ),
    ActionSpec(
        "shut",
        summary="shuts the door of the whole site",
        idempotent=True,
        commands=lambda call: [],
        arguments={"door": ArgumentSpec(choices=("closed", "open"))},
        inverse="shut",
        shuts={"door": "closed"},
    ),
    ActionSpec("flush", summary="not to be repeated", idempotent=False, commands=lambda call: []),
    ActionSpec(
        "say",
        summary="free text",
        idempotent=True,
        commands=lambda call: [],
        arguments={"text": ArgumentSpec()},
        inverse="unsay",
    ),
)
ACTION_SPECS: Mapping[str, ActionSpec] = {spec.name: spec for spec in _ACTIONS}


def read_decisions(path: Path | str) -> Definition[XaDecisions]:
    """The file of decisions on transactions, with every mistake as a finding."""
    return read_document(Path(path), XaDecisions)


def load_decisions(path: Path | str) -> XaDecisions:
    """The same. Raises ``DefinitionError`` for the first mistake."""
    return read_decisions(path).result()
