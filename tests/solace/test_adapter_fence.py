"""The backbone of every node, and reject-on-discard, over the CLI: with its question, its modes, and its doubts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.reading_models import Fence, QueueDepth
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import Forbidden, Unreachable
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.outcome import Effect
from simulator.lab.of_world import serve_world
from simulator.lab.server import Lab, LabSettings
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.seam import Permits, apply, read
from tests.solace.layouts import STANDING_BY, redundancy
from tests.solace.stage import adapter_of, node
from tests.ssh.scripted import Obeyed, ScriptedDevice

SHUT, OPEN = Call("V", {"state": "down"}), Call("V", {"state": "up"})
SHUTDOWN, NO_SHUTDOWN = "service msg-backbone shutdown", "no service msg-backbone shutdown"


def pair() -> tuple[ScriptedDevice, ScriptedDevice]:
    clock = VirtualClock()
    one = node("ny1", clock, answers={"show redundancy": redundancy()}, asks={SHUTDOWN})
    return one, node("ny2", clock, answers={"show redundancy": STANDING_BY}, asks={SHUTDOWN})


def test_the_question_is_expected_and_answered() -> None:
    """The one command that is known to ask (docs/sources/solace.md, 3.1); opening asks nothing."""
    device = node(asks={SHUTDOWN})
    for call, line in ((SHUT, SHUTDOWN), (OPEN, NO_SHUTDOWN)):
        [result] = apply(adapter_of(device), "set_backbone", call)
        assert (result.effect, result.sent) == (Effect.ACCEPTED, ("configure", line))
        assert result.sent == tuple(SolaceCliAdapter.actions["set_backbone"].commands(call))
    assert [one.line for one in device.obeyed] == [SHUTDOWN, NO_SHUTDOWN]


def test_a_device_that_does_not_ask_is_fine_too() -> None:
    """The question differs by version."""
    device = node()
    [result] = apply(adapter_of(device), "set_backbone", SHUT)
    assert result.effect is Effect.ACCEPTED


def test_an_unexpected_question_is_answered_no() -> None:
    """Opening is not known to ask: whatever it asks, nobody has agreed to it."""
    device = node(asks={NO_SHUTDOWN})
    [result] = apply(adapter_of(device), "set_backbone", OPEN)
    assert (result.effect, device.obeyed) == (Effect.REJECTED, [])


def test_every_node_is_told() -> None:
    """The one that stands by too, and nobody has to serve; shut from the last, opened from the first."""
    one, two = pair()
    one.answers["show redundancy"] = STANDING_BY
    [result] = apply(adapter_of(one, two), "set_backbone", SHUT)
    assert (result.effect, len(result.sent)) == (Effect.ACCEPTED, 4)
    assert [len(device.obeyed) for device in (one, two)] == [1, 1]
    assert one.shown == two.shown == []


def test_a_node_that_is_away_leaves_a_doubt_that_names_it() -> None:
    """The site is only as fenced as its nodes; when none could be told, nothing was sent."""
    one, two = pair()
    two.down = Unreachable("ny2 is off", device="ny2")
    [result] = apply(adapter_of(one, two), "set_backbone", SHUT)
    assert result.effect is Effect.DOUBTFUL
    assert "ny1 accepted the change" in result.detail
    assert "ny2" in result.detail
    one.down = Unreachable("ny1 is off", device="ny1")
    one.lines[-1].close()
    [result] = apply(adapter_of(one, two), "set_backbone", SHUT)
    assert (result.effect, result.sent) == (Effect.NOT_SENT, ())


def test_a_permit_lost_between_two_nodes() -> None:
    """One of them has obeyed by then."""
    [result] = apply(adapter_of(*pair()), "set_backbone", SHUT, permit=Permits(allowed=1))
    assert result.effect is Effect.DOUBTFUL
    with pytest.raises(Forbidden):
        apply(adapter_of(*pair()), "set_backbone", SHUT, permit=Permits(allowed=0))


def test_reject_on_discard_is_two_modes_deeper() -> None:
    """docs/sources/solace-procedure.md, uncontrolled 3: below replication, in queue."""
    device = node()
    doors = ("configure", 'message-vpn "A B"', "replication", "queue")
    for enabled, line in (("no", "no reject-msg-to-sender-on-discard"), ("yes", "reject-msg-to-sender-on-discard")):
        [result] = apply(adapter_of(device), "set_reject_on_discard", Call("A B", {"enabled": enabled}))
        assert (result.effect, result.sent) == (Effect.ACCEPTED, (*doors, line))
    assert device.obeyed == [
        Obeyed("A B", "no reject-msg-to-sender-on-discard"),
        Obeyed("A B", "reject-msg-to-sender-on-discard"),
    ]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Two pairs, served over SSH and SEMP."""
    sites = (SiteLayout("ny", ("ny1", "ny2")), SiteLayout("nj", ("nj1", "nj2")))
    world = World(WorldLayout(sites, (VpnLayout("V", backlog=5),)), SystemClock())
    served = serve_world(world, directory=tmp_path / "lab", settings=LabSettings(semp="https"))
    with served as lab:
        yield lab


@pytest.mark.realtime
def test_over_real_ssh_as_over_semp(lab: Lab) -> None:
    """What one changed the other reads: both nodes, their clients, and the queue's behaviour."""
    from adapters.solace.semp.adapter import SolaceSempAdapter

    context = AdapterContext(SystemClock(), SecretStore())
    over_ssh = SolaceCliAdapter(load_inventory(lab.inventory_path)[0].sites["ny"], context)
    over_semp = SolaceSempAdapter(load_inventory(lab.semp_inventory_path)[0].sites["ny"], context)
    with closing(over_ssh), closing(over_semp):
        for state, closed in (("down", True), ("up", False)):
            [result] = apply(over_ssh, "set_backbone", Call("V", {"state": state}))
            assert result.effect is Effect.ACCEPTED, result
            assert read(over_semp, Fence, "V").closed is closed
        for enabled, rejects in (("no", False), ("yes", True)):
            [result] = apply(over_ssh, "set_reject_on_discard", Call("V", {"enabled": enabled}))
            assert result.effect is Effect.ACCEPTED, result
            assert read(over_semp, QueueDepth, "V").rejects_on_discard is rejects
