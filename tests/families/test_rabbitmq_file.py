"""What the permission of the applications tells of a RabbitMQ site."""

from __future__ import annotations

import json

import pytest

from adapters.declared.reading_models import reading_model, reading_of, rows_of
from orchestrator.documents.loader import load_runbook, read_family
from orchestrator.model.declared.requests import RequestFile
from orchestrator.model.families import SHIPPED
from orchestrator.model.runbook import Runbook
from orchestrator.operations.declared_families import offer_families

FILE = read_family(SHIPPED / "rabbitmq.yaml").result()


@pytest.mark.parametrize(
    ("write", "writable", "sessions_ended"),
    [(".*", True, False), ("orders-.*", True, False), ("^$", False, False), ("", False, True)],
)
def test_what_the_permission_tells(write: str, writable: bool, sessions_ended: bool) -> None:
    """Law: a permission that was taken says that open channels were ended only if it is the one that is written last."""
    declared = FILE.readings["access"]
    answer = {"user": "app", "vhost": "orders", "configure": ".*", "write": write, "read": ".*"}
    text = json.dumps(answer, separators=(",", ":"))
    read = reading_of(reading_model("rabbitmq", "access", declared), declared, rows_of(text, 200, declared, {}))
    found = read.model_dump()
    assert (found["writable"], found["sessions_ended"]) == (writable, sessions_ended)


def test_a_lost_deletion_is_not_done() -> None:
    """Law: the permission goes first, the connections after it, and what says so comes last; every step that closes a
    site waits for that."""
    offer_families()
    sent = [request for request in FILE.actions["close"].requests if isinstance(request, RequestFile)]
    assert [one.body["write"] if one.body else one.method for one in sent] == ["^$", "DELETE", ""]
    closing = [step for runbook in runbooks() for step in runbook.steps if step.do and step.do.action == "close"]
    assert len(closing) >= 3
    for step in closing:
        assert any(check.where.get("sessions_ended") is True for check in step.expect), step.id


def runbooks() -> list[Runbook]:
    """Those that come with the family."""
    return [load_runbook(str(path)) for path in sorted((SHIPPED / "rabbitmq").glob("*.yaml"))]
