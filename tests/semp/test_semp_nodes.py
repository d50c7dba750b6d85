"""Which node serves: asked anew for each step, of both members, over SEMP v1, and of v2 where v1 is refused."""

from __future__ import annotations

import json

import pytest

from adapters.solace.reading_models import DeviceHealth
from adapters.solace.semp.nodes import SPOOL_STATUS
from orchestrator.clock import VirtualClock
from orchestrator.errors import AuthenticationFailed, CommandRejected, NotServing, Unreachable, UnreadableReply
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from simulator.http.server import Incoming, Outgoing
from tests.seam import apply
from tests.semp import v1_replies as v1
from tests.semp.stage import MONITOR, Answer, Reply, Scripted, adapter_of, no, ok, scripted

ROLE = f"GET {MONITOR}msgVpns/a"
DEMOTE = Call("a", {"role": "standby"})


def pair(first: str, second: str, *, spool: str = "AD-Active") -> tuple[Scripted, Scripted]:
    """Two nodes, by what they say to ``show redundancy``."""
    clock = VirtualClock()
    rest: dict[str, Reply] = {v1.SHOW_SPOOL: v1.spool(spool), "PATCH /SEMP/v2/config/msgVpns/a": ok()}
    one, two = (scripted({v1.SHOW_REDUNDANCY: text, **rest}, clock) for text in (first, second))
    return one, two


def asked(wire: Scripted, words: str) -> int:
    return wire.handler.count(words)


@pytest.mark.parametrize(
    ("first", "second", "serving"), [(v1.SERVING, v1.STANDING_BY, 0), (v1.PRIMARY_STANDS_BY, v1.BACKUP_SERVES, 1)]
)
def test_the_member_that_serves_is_asked(first: str, second: str, serving: int) -> None:
    """Primary or backup: a pair may rest on either."""
    wires = pair(first, second)
    adapter_of(*wires).probe("replication", ["a"])
    assert [asked(wire, ROLE) for wire in wires] == [int(number == serving) for number in (0, 1)]


def test_it_is_found_anew_for_each_step() -> None:
    """The pair switched between two steps."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    adapter = adapter_of(one, two)
    adapter.probe("replication", ["a"])
    one.handler.answers[v1.SHOW_REDUNDANCY] = v1.PRIMARY_STANDS_BY
    two.handler.answers[v1.SHOW_REDUNDANCY] = v1.BACKUP_SERVES
    adapter.probe("replication", ["a"])
    assert (asked(one, ROLE), asked(two, ROLE)) == (1, 1)
    [result] = apply(adapter, "set_role", DEMOTE)
    assert (result.effect, result.device, one.changes, len(two.changes)) == (Effect.ACCEPTED, "ny2", [], 1)


def test_a_spool_that_is_read_while_the_pair_switches_does_not_count() -> None:
    """A member that stopped serving shows an empty queue: who serves is asked again afterwards."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    adapter = adapter_of(one, two)

    def switch(request: Incoming) -> Answer:
        one.handler.answers[v1.SHOW_REDUNDANCY] = v1.PRIMARY_STANDS_BY
        return ok([], [])

    one.handler.answers[f"GET {MONITOR}msgVpns/a/transactions"] = switch
    with pytest.raises(NotServing, match="stopped serving"):
        adapter.probe("transactions", ["a"])


@pytest.mark.parametrize("spool", ["AD-Activating", "AD-Standby"])
def test_activity_without_a_spool_is_not_serving(spool: str) -> None:
    """The procedure wants both: Local Active and AD-Active."""
    wires = pair(v1.SERVING, v1.STANDING_BY, spool=spool)
    adapter = adapter_of(*wires)
    with pytest.raises(NotServing, match="ny1 and ny2"):
        adapter.probe("replication", ["a"])
    with pytest.raises(NotServing):
        apply(adapter, "set_role", DEMOTE)
    assert [wire.changes for wire in wires] == [[], []]


def test_both_serving_is_said_of_both() -> None:
    """A split pair: neither is spoken to."""
    wires = pair(v1.SERVING, v1.BACKUP_SERVES)
    adapter = adapter_of(*wires)
    with pytest.raises(NotServing, match="ny1 and ny2 of ny both report"):
        adapter.probe("replication", ["a"])
    with pytest.raises(NotServing):
        apply(adapter, "set_role", DEMOTE)
    assert [wire.changes for wire in wires] == [[], []]


def test_a_member_that_is_away_does_not_stop_the_site() -> None:
    """While the other says that it serves; and it is not dialled for every reading."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    two.is_away = True
    adapter = adapter_of(one, two)
    for _ in range(3):
        adapter.probe("replication", ["a"])
    assert asked(one, ROLE) == 3
    [result] = apply(adapter, "set_role", DEMOTE)
    assert result.effect is Effect.ACCEPTED


def test_the_member_that_might_serve_is_away() -> None:
    """The other one stands by: its word is not enough to say that nobody serves."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    one.is_away = True
    adapter = adapter_of(one, two)
    with pytest.raises(Unreachable, match="ny1"):
        adapter.probe("replication", ["a"])
    with pytest.raises(Unreachable):
        apply(adapter, "set_role", DEMOTE)


def test_what_needs_a_person_is_said_first() -> None:
    """A wrong password, before a node that is away."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    one.is_away = True
    two.handler.answers[v1.SHOW_REDUNDANCY] = no(401, 72)
    with pytest.raises(AuthenticationFailed):
        adapter_of(one, two).probe("replication", ["a"])


@pytest.mark.parametrize(
    ("status", "serves"), [("active", True), ("standby", False), ("activating", False), ("not-ready", False)]
)
def test_a_broker_that_refuses_v1_is_asked_in_v2(status: str, serves: bool) -> None:
    """Its message spool is the one public hint (docs/sources/solace.md, 1.10)."""
    answers: dict[str, Reply] = {
        v1.SHOW_REDUNDANCY: v1.failed("no v1"),
        f"GET {MONITOR}": ok({SPOOL_STATUS: status}, {}),
    }
    adapter = adapter_of(scripted(answers))
    if serves:
        assert adapter.probe("health", ["a"]) == {
            "a": DeviceHealth(node="ny1", serving=True, spool_active=True, mate_node=None, redundancy_up=None)
        }
    else:
        with pytest.raises(NotServing):
            adapter.probe("transactions", ["a"])


def test_a_broker_that_tells_of_neither_is_unreadable() -> None:
    """It is not assumed to serve because it is alone."""
    node = scripted({v1.SHOW_REDUNDANCY: v1.failed("no v1"), f"GET {MONITOR}": ok({}, {})})
    with pytest.raises(UnreadableReply):
        adapter_of(node).probe("replication", ["a"])


def test_health_of_a_pair() -> None:
    """Who serves, its spool, its mate, and whether the pair is whole."""
    one, two = pair(v1.PRIMARY_STANDS_BY, v1.BACKUP_SERVES)
    assert adapter_of(one, two).probe("health", ["a", "b"]) == dict.fromkeys(
        ["a", "b"],
        DeviceHealth(node="ny2", serving=True, spool_active=True, mate_node="ny1", redundancy_up=True),
    )


def test_health_of_a_pair_that_does_not_serve() -> None:
    """Nobody serving is a reading, not a failure."""
    wires = pair(v1.STANDING_BY, v1.redundancy(status="Down"), spool="AD-NotReady")
    assert adapter_of(*wires).probe("health", ["a"])["a"] == DeviceHealth(
        serving=False, spool_active=False, redundancy_up=False
    )


# Opening.


def test_opening_speaks_to_every_node() -> None:
    """A wrong password of the member that stands by is known early."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    two.handler.answers[f"GET {MONITOR}about/api"] = no(401, 72)
    with pytest.raises(AuthenticationFailed):
        adapter_of(one, two).open()


def test_opening_bears_one_that_is_away() -> None:
    """But not all of them."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    one.is_away = True
    adapter_of(one, two).open()
    two.is_away = True
    with pytest.raises(Unreachable):
        adapter_of(one, two).open()


@pytest.mark.parametrize(
    ("version", "is_enough"),
    [("2.11", False), ("1.9", False), ("2.12", True), ("2.46", True), ("x", True), (None, True)],
)
def test_a_broker_that_is_too_old_is_refused_at_once(version: str | None, is_enough: bool) -> None:
    """Before 2.12 replication is not told (docs/sources/solace.md, 1.6); a version nobody can read is not held
    against it."""
    about = ok({} if version is None else {"sempVersion": version}, {})
    adapter = adapter_of(scripted({f"GET {MONITOR}about/api": about}))
    if is_enough:
        adapter.open()
    else:
        with pytest.raises(CommandRejected, match=f"SEMP {version}"):
            adapter.open()


def test_closing_gives_the_session_back() -> None:
    """Sessions are few (docs/sources/solace.md, 1.2); a node that keeps none for us is left alone."""
    one, two = pair(v1.SERVING, v1.STANDING_BY)
    one.handler.answers[f"GET {MONITOR}about/api"] = _with_cookie()
    adapter = adapter_of(one, two)
    adapter.open()
    adapter.close()
    adapter.close()
    assert [line for line in one.lines if line.startswith("PUT")] == ["PUT /SEMP/v2/action/about/user/logout"]
    assert [line for line in two.lines if line.startswith("PUT")] == []


def test_closing_never_raises() -> None:
    """Not for a session that is already gone."""
    one, _ = pair(v1.SERVING, v1.STANDING_BY)
    one.handler.answers[f"GET {MONITOR}about/api"] = _with_cookie()
    adapter = adapter_of(one)
    adapter.open()
    one.is_away = True
    adapter.close()


def _with_cookie() -> Outgoing:
    return Outgoing(200, json.dumps(ok({}, {})).encode(), headers={"Set-Cookie": "s=1; Path=/SEMP"})
