"""What the permission of the applications tells of a RabbitMQ site."""

from __future__ import annotations

import json

import pytest

from adapters.declared.reading_models import reading_model, reading_of, rows_of
from orchestrator.documents.loader import load_runbook, read_family
from orchestrator.model.declared.requests import RequestFile
from orchestrator.model.facets import Facet
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


def crm_mon(*resources: str) -> str:
    """What Pacemaker 2 prints."""
    return f"""<pacemaker-result api-version="2.25" request="crm_mon --output-as=xml">
  <summary><cluster_options maintenance-mode="false" stop-all-resources="false"/></summary>
  <resources>
    <clone id="all" multi_state="false" managed="true" failed="false">
      {"".join(resources)}
    </clone>
  </resources>
  <status code="0" message="OK"/>
</pacemaker-result>"""


def resource(agent: str, managed: str) -> str:
    """One that runs."""
    return f'<resource id="one" resource_agent="{agent}" role="Started" blocked="false" managed="{managed}"/>'


AGENT = "ocf:heartbeat:rabbitmq-cluster"


@pytest.mark.parametrize(
    ("text", "state", "named"),
    [
        (crm_mon(resource(AGENT, "true")), "acts", AGENT),
        (crm_mon(resource("ocf:heartbeat:IPaddr2", "true"), resource(AGENT, "true")), "acts", AGENT),
        (crm_mon(resource("systemd:rabbitmq-server", "true")), "acts", "systemd:rabbitmq-server"),
        (crm_mon(resource(AGENT, "false"), resource("ocf:heartbeat:IPaddr2", "true")), "none", ""),
        (
            crm_mon(resource(AGENT, "false"), resource("systemd:rabbitmq-server", "true")),
            "acts",
            "systemd:rabbitmq-server",
        ),
        (crm_mon(), "none", ""),
        # Nobody is asked, and a text that is cut off: nothing is known.
        ("", "unknown", None),
        (crm_mon(resource("ocf:heartbeat:IPaddr2", "true"))[:-20], "unknown", None),
    ],
)
def test_what_pacemaker_tells(text: str, state: str, named: str | None) -> None:
    """Law: a managed resource whose agent is one of RabbitMQ may act; that none is, is read to the end of the answer."""
    declared = FILE.readings["cluster"]
    model = reading_model("any", "cluster", declared)
    read = reading_of(model, declared, rows_of(text, 0, declared, {}))
    assert (read.facet(Facet.PILOT), read.model_dump()["pacemaker"]) == (state, named)
