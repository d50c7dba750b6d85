"""Which node serves: asked anew for each step, of both members, and never assumed."""

from __future__ import annotations

import pytest

from adapters.solace.reading_models import DeviceHealth
from orchestrator.clock import VirtualClock
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    HostKeyRejected,
    NotServing,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from tests.seam import apply
from tests.solace import layouts
from tests.solace.layouts import BACKUP_SERVES, STANDALONE, STANDING_BY, message_spool, redundancy
from tests.solace.stage import adapter_of, node
from tests.ssh.scripted import ScriptedDevice

REPLICATION = "show message-vpn a replication"


def pair(first: str, second: str) -> tuple[ScriptedDevice, ScriptedDevice]:
    """Two nodes, by what they say to ``show redundancy``."""
    clock = VirtualClock()
    return (
        node("ny1", clock, answers={"show redundancy": first}),
        node("ny2", clock, answers={"show redundancy": second}),
    )


@pytest.mark.parametrize(
    ("first", "second", "serving"), [(redundancy(), STANDING_BY, 0), (STANDING_BY, BACKUP_SERVES, 1)]
)
def test_the_member_that_serves_is_asked(first: str, second: str, serving: int) -> None:
    """Primary or backup: a pair may rest on either."""
    nodes = pair(first, second)
    adapter_of(*nodes).probe("replication", ["a"])
    assert [REPLICATION in one.shown for one in nodes] == [number == serving for number in (0, 1)]
    assert all(one.shown[0] == "show redundancy" for one in nodes)


def test_it_is_found_anew_for_each_step() -> None:
    """The pair switched between two steps."""
    one, two = pair(redundancy(), STANDING_BY)
    adapter = adapter_of(one, two)
    adapter.probe("replication", ["a"])
    one.answers["show redundancy"], two.answers["show redundancy"] = STANDING_BY, BACKUP_SERVES
    adapter.probe("replication", ["a"])
    assert (one.shown.count(REPLICATION), two.shown.count(REPLICATION)) == (1, 1)
    assert (one.connections, two.connections) == (1, 1)
    [result] = apply(adapter, "set_role", Call("a", {"role": "standby"}))
    assert (result.effect, result.device, one.obeyed, len(two.obeyed)) == (Effect.ACCEPTED, "ny2", [], 1)


def test_nobody_serving_is_said_of_both() -> None:
    """Standing by on both, or a spool that is not ready: nothing is sent to either."""
    for second in (STANDING_BY, redundancy("Local Active", "AD-Activating")):
        nodes = pair(STANDING_BY, second)
        adapter = adapter_of(*nodes)
        with pytest.raises(NotServing, match="ny1 and ny2"):
            adapter.probe("replication", ["a"])
        with pytest.raises(NotServing):
            apply(adapter, "set_role", Call("a", {"role": "standby"}))
        assert [one.obeyed for one in nodes] == [[], []]


def test_both_serving_is_said_of_both() -> None:
    """A split pair: neither is spoken to."""
    nodes = pair(redundancy(), BACKUP_SERVES)
    adapter = adapter_of(*nodes)
    for reading in ("replication", "health"):
        with pytest.raises(NotServing, match="ny1 and ny2 of ny both report"):
            adapter.probe(reading, ["a"])
    with pytest.raises(NotServing):
        apply(adapter, "set_role", Call("a", {"role": "active"}))
    assert [one.obeyed for one in nodes] == [[], []]


def test_a_site_of_one_device_is_asked_whether_it_serves_too() -> None:
    """The inventory may name one member of a pair only."""
    with pytest.raises(NotServing, match="ny1"):
        adapter_of(node(answers={"show redundancy": STANDING_BY})).probe("replication", ["a"])
    with pytest.raises(NotServing):
        adapter_of(node(answers={"show redundancy": layouts.fixture("redundancy_not_ready")})).probe(
            "transactions", ["a"]
        )
    assert "a" in adapter_of(node(answers={"show redundancy": STANDALONE})).probe("replication", ["a"])


def test_a_member_without_redundancy_does_not_serve_by_that_alone() -> None:
    """In a pair, "Shutdown" is not "standalone"."""
    off = redundancy("Shutdown", "AD-Disabled", configuration="Shutdown", status="Down")
    nodes = pair(off, STANDING_BY)
    with pytest.raises(NotServing):
        adapter_of(*nodes).probe("replication", ["a"])


def test_a_spool_that_the_redundancy_does_not_tell_is_asked_for() -> None:
    """A blank cell is not an active spool."""
    told = redundancy("Local Active", "")
    for state, serves in [("AD-Active", True), ("AD-Standby", False)]:
        device = node(answers={"show redundancy": told, "show message-spool": message_spool(state)})
        if serves:
            assert "a" in adapter_of(device).probe("replication", ["a"])
        else:
            with pytest.raises(NotServing):
                adapter_of(device).probe("replication", ["a"])
        assert device.shown[:2] == ["show redundancy", "show message-spool"]


@pytest.mark.parametrize(
    "error", [Unreachable("away", device="ny1"), AuthenticationFailed("no", device="ny1"), HostKeyRejected("no")]
)
def test_a_member_that_cannot_be_asked_does_not_stop_the_one_that_serves(error: AdapterError) -> None:
    """Half a pair is what a fail-over is for."""
    one, two = pair(redundancy(), BACKUP_SERVES)
    one.down = error
    adapter = adapter_of(one, two)
    assert "a" in adapter.probe("replication", ["a"])
    [result] = apply(adapter, "set_role", Call("a", {"role": "standby"}))
    assert result.effect is Effect.ACCEPTED


def test_a_member_that_cannot_be_asked_may_be_the_one_that_serves() -> None:
    """Then the site is unreachable, not "not serving"."""
    one, two = pair(redundancy(), STANDING_BY)
    one.down = Unreachable("away", device="ny1")
    adapter = adapter_of(one, two)
    with pytest.raises(Unreachable, match="away"):
        adapter.probe("replication", ["a"])
    with pytest.raises(Unreachable):
        adapter.probe("health", ["a"])


def test_what_needs_a_person_is_told_before_what_may_pass() -> None:
    """A changed host key on one member, the other switched off."""
    one, two = pair(redundancy(), STANDING_BY)
    one.down, two.down = Unreachable("away", device="ny1"), HostKeyRejected("changed", device="ny2")
    with pytest.raises(HostKeyRejected):
        adapter_of(one, two).probe("replication", ["a"])


def test_an_unreadable_redundancy_stops_a_change_before_it_is_sent() -> None:
    """Not a doubt: nothing left."""
    device = node(answers={"show redundancy": "\n"})
    adapter = adapter_of(device)
    with pytest.raises(UnreadableReply):
        adapter.probe("replication", ["a"])
    with pytest.raises(Unreachable, match="it is not known which node serves"):
        apply(adapter, "set_role", Call("a", {"role": "standby"}))
    assert device.obeyed == []


def test_a_member_that_is_away_is_left_alone_while_the_other_serves() -> None:
    """Dialling costs the whole connect time-out, and a drain is read many times a minute; later it is tried again."""
    one, two = pair(redundancy(), BACKUP_SERVES)
    one.down = Unreachable("away", device="ny1")
    adapter = adapter_of(one, two)
    for _ in range(5):
        adapter.probe("replication", ["a"])
    assert one.attempts == 3
    one.clock.advance(31)
    adapter.probe("replication", ["a"])
    assert one.attempts == 6


def test_a_member_left_alone_is_asked_when_nobody_else_serves_and_before_a_change() -> None:
    """It may have come back as the one that serves; and a change wants to know of two that claim to."""
    one, two = pair(redundancy(), BACKUP_SERVES)
    one.down = Unreachable("away", device="ny1")
    adapter = adapter_of(one, two)
    adapter.probe("replication", ["a"])
    one.down = None
    with pytest.raises(NotServing, match="both report"):
        apply(adapter, "set_role", Call("a", {"role": "standby"}))
    two.answers["show redundancy"] = STANDING_BY
    one.lines[0].drop()
    assert "a" in adapter.probe("replication", ["a"])
    assert REPLICATION in one.shown


# Opening.


def test_opening_tells_of_a_refused_account_or_key_on_any_member() -> None:
    """Early, while there is time to mend it."""
    for error in (AuthenticationFailed("no", device="ny2"), HostKeyRejected("no", device="ny2")):
        one, two = pair(redundancy(), STANDING_BY)
        two.down = error
        with pytest.raises(type(error)):
            adapter_of(one, two).open()


def test_opening_needs_one_member() -> None:
    """One that is away may be why we are here; both away is the site."""
    one, two = pair(redundancy(), STANDING_BY)
    one.down = Unreachable("away", device="ny1")
    adapter_of(one, two).open()
    assert two.connections == 1
    two.down = Unreachable("away", device="ny2")
    with pytest.raises(Unreachable):
        adapter_of(one, two).open()


# Health.


def test_health_names_the_member_that_serves() -> None:
    """By its name in the inventory, with its mate and the state of the pair; the same for every service."""
    one, two = pair(STANDING_BY, BACKUP_SERVES)
    expected = DeviceHealth(node="ny2", serving=True, spool_active=True, mate_node="ny1", redundancy_up=True)
    assert adapter_of(one, two).probe("health", ["a", "b"]) == {"a": expected, "b": expected}
    assert (one.shown, two.shown) == (["show redundancy"], ["show redundancy"])


def test_health_of_a_node_that_is_alone() -> None:
    """No mate, and no pair whose state could be told."""
    assert adapter_of(node(answers={"show redundancy": STANDALONE})).probe("health", ["a"]) == {
        "a": DeviceHealth(node="ny1", serving=True, spool_active=True)
    }


def test_health_when_nobody_serves_is_a_reading() -> None:
    """Every member answered, and none serves: that is known, and said."""
    assert adapter_of(*pair(STANDING_BY, STANDING_BY)).probe("health", ["a"]) == {
        "a": DeviceHealth(serving=False, spool_active=False, redundancy_up=True)
    }
    seed = node(answers={"show redundancy": layouts.fixture("redundancy_not_ready")})
    assert adapter_of(seed).probe("health", ["a"]) == {
        "a": DeviceHealth(node="ny1", serving=False, spool_active=False, redundancy_up=False)
    }


def test_health_asks_for_the_spool_where_the_redundancy_does_not_tell() -> None:
    """A standalone node with blank cells."""
    text = redundancy("Local Active", "", configuration="Disabled", status=None)
    device = node(answers={"show redundancy": text, "show message-spool": message_spool("AD-NotReady")})
    assert adapter_of(device).probe("health", ["a"]) == {
        "a": DeviceHealth(node="ny1", serving=True, spool_active=False)
    }


@pytest.mark.parametrize(
    ("reading", "command", "shown"),
    [
        (
            "replication_queue",
            "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn a detail",
            layouts.queues({"a": 0}),
        ),
        ("transactions", "show transaction message-vpn a", layouts.transactions([])),
    ],
)
def test_a_switch_while_it_is_read_makes_the_reading_worthless(reading: str, command: str, shown: str) -> None:
    """A member that has just stopped serving shows an empty queue and no transactions: that is not "drained"."""
    one, two = pair(redundancy(), STANDING_BY)

    def switched() -> str:
        one.answers["show redundancy"], two.answers["show redundancy"] = STANDING_BY, BACKUP_SERVES
        return shown

    one.answers[command] = switched
    with pytest.raises(NotServing, match="ny1"):
        adapter_of(one, two).probe(reading, ["a"])
