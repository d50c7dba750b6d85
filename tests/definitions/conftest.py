"""What the tests of definition files share: a writer of files, and small declarations of readings and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.contract import ActionSpec, ArgumentSpec, ReadingSpec

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Puts a text or bytes into a new file and returns its path."""

    def put(content: str | bytes) -> Path:
        path = tmp_path / f"file{len(list(tmp_path.iterdir()))}.yaml"
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture(scope="session")
def readings() -> Mapping[str, ReadingSpec]:
    """All readings of the vocabulary, as an adapter would declare them."""
    names = ("replication", "replication_queue", "transactions", "health")
    return {name: ReadingSpec(name, summary=name, commands=lambda services: list(services)) for name in names}


@pytest.fixture(scope="session")
def actions() -> Mapping[str, ActionSpec]:
    """The actions of the shipped runbooks, and two more shapes: without arguments, and with free text."""
    specs = [
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
        ActionSpec("flush", summary="not to be repeated", idempotent=False, commands=lambda call: []),
        ActionSpec(
            "say",
            summary="free text",
            idempotent=True,
            commands=lambda call: [],
            arguments={"text": ArgumentSpec()},
            inverse="unsay",
        ),
    ]
    return {spec.name: spec for spec in specs}
