"""What Pacemaker tells of a site of PostgreSQL, Redis or RabbitMQ, over ssh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.declared.family import family_of
from adapters.declared.reading_models import reading_model, reading_of, rows_of
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import read_family
from orchestrator.family.contract import AdapterContext
from orchestrator.model.facets import Facet
from orchestrator.model.families import SHIPPED
from orchestrator.model.inventory import Device, Site
from orchestrator.model.other_manager import Manager, manager_in
from tests.families.pacemaker import crm_mon, resource, stand_in
from tests.seam import Secretless

AGENTS: Mapping[str, tuple[str, ...]] = {
    "postgresql": (
        "ocf:heartbeat:pgsql",
        "ocf::heartbeat:pgsql",
        "ocf:heartbeat:pgsqlms",
        "systemd:postgresql@15-main",
    ),
    "redis": ("ocf:heartbeat:redis", "systemd:redis-server", "systemd:valkey"),
    "rabbitmq": ("ocf:heartbeat:rabbitmq-cluster", "systemd:rabbitmq-server"),
}
OTHER = resource("ocf:heartbeat:IPaddr2", "true")
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "postgresql": {"writers": "app", "data": "/data", "log": "/log"},
    "redis": {"mate_address": "10.0.0.1", "mate_port": "6379"},
    "rabbitmq": {"writers": "app", "queue": "q", "shovel": "s", "node": "rabbit@ny"},
}


def told(family: str, text: str) -> tuple[object, object]:
    """The state, and who may act."""
    declared = read_family(SHIPPED / f"{family}.yaml").result().readings["cluster"]
    model = reading_model(family, "cluster", declared)
    read = reading_of(model, declared, rows_of(text, 0, declared, {}))
    return read.facet(Facet.PILOT), manager_in(model, read).who


@pytest.mark.parametrize(("family", "agent"), [(name, one) for name, agents in AGENTS.items() for one in agents])
def test_what_pacemaker_tells(family: str, agent: str) -> None:
    """Law: a managed resource whose agent is one of the family may act, whatever its role is; that none is managed, as
    in maintenance mode, is read to the end of the answer. What is cut off shows nothing."""
    assert told(family, crm_mon(resource(agent, "true"))) == ("acts", agent)
    assert told(family, crm_mon(OTHER, resource(agent, "true", "Stopped"), OTHER)) == ("acts", agent)
    assert told(family, crm_mon(resource(agent, "false"), resource(agent, "true"))) == ("acts", agent)
    assert told(family, crm_mon(resource(agent, "false"), OTHER)) == ("none", "")
    assert told(family, crm_mon(resource(agent, "false"), maintenance=True)) == ("none", "")
    assert told(family, crm_mon(OTHER)) == ("none", "")
    for text in ("", crm_mon(OTHER)[:-20], crm_mon(OTHER).replace('code="0"', 'code="102"')):
        assert told(family, text) == ("unknown", "")


def test_an_agent_of_another_family() -> None:
    """Law: what another product's agent manages is nothing to this one."""
    for family in AGENTS:
        others = [resource(agents[0], "true") for name, agents in AGENTS.items() if name != family]
        assert told(family, crm_mon(*others)) == ("none", "")


@pytest.fixture(params=list(AGENTS))
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """What a site says whose ``cluster_host`` is the argument, with the stand-in for ssh."""
    file = read_family(SHIPPED / f"{request.param}.yaml").result()
    family = family_of(file, None)
    kind: Any = family.adapters[request.param]
    opened = []

    def ask(host: str, shown: str = "") -> tuple[str, Manager]:
        stand_in(tmp_path, shown)
        options = {**OPTIONS[request.param], "programs": str(tmp_path), "cluster_host": host}
        site = Site(name="ny", adapter=request.param, devices=(Device(name="ny1"),), options=options)
        opened.append(kind.fitted(site)(site, AdapterContext(SystemClock(), Secretless())))
        model = family.readings["cluster"]
        lines = opened[-1].readings["cluster"].commands(["x"])
        return " ".join(lines), manager_in(model, opened[-1].probe("cluster", ["x"])["x"])

    yield request.param, ask
    for adapter in opened:
        adapter.close()


@pytest.mark.realtime
def test_how_it_is_asked(asked: Any) -> None:
    """Law: the host that the site names is asked, by the command that a dry run shows; a host that ssh does not reach, or
    whose cluster does not run, leaves it unknown, with the reason; without a host nothing is asked."""
    family, ask = asked
    agent = AGENTS[family][0]
    line, found = ask("host", crm_mon(resource(agent, "true")))
    assert line == "ssh -o BatchMode=yes -o ConnectTimeout=3 -- host crm_mon --output-as=xml"
    assert found == Manager(name="pacemaker", state="acts", who=agent)
    assert ask("host", crm_mon(resource(agent, "false")))[1] == Manager(name="pacemaker", state="none")
    _, found = ask("gone")
    assert (found.state, "exit code 255: ssh: connect to host gone" in found.why) == ("unknown", True), found
    assert ask("") == ("", Manager(name="pacemaker", state="unasked"))
