"""Changes over SEMP: one request each, after one permission, never twice, and never taken for granted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.solace.actions import ACTIONS as OVER_CLI
from adapters.solace.semp.actions import ACTIONS
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import VirtualClock
from orchestrator.errors import CommandTimedOut, Forbidden, NotObeyed, Unreachable
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from simulator.http.server import Incoming, Outgoing
from tests.seam import Permits, apply
from tests.semp import v1_replies as v1
from tests.semp.stage import MONITOR, Answer, Reply, Scripted, adapter_of, no, ok, scripted

XID = "0021B028-00-01"
VPN = "Trading_VPN"
CONFIG, ACTION = f"/SEMP/v2/config/msgVpns/{VPN}", f"/SEMP/v2/action/msgVpns/{VPN}/transactions/{XID}"
DEMOTE = Call(VPN, {"role": "standby"})
REJECTS = "replicationQueueRejectMsgToSenderOnDiscardEnabled"
CHANGES = [
    ("set_role", DEMOTE, f'PATCH {CONFIG} {{"replicationRole":"standby"}}'),
    ("set_role", Call(VPN, {"role": "active"}), f'PATCH {CONFIG} {{"replicationRole":"active"}}'),
    ("complete_transaction", Call(VPN, {"xid": XID, "outcome": "commit"}), f"PUT {ACTION}/commit {{}}"),
    ("complete_transaction", Call(VPN, {"xid": XID, "outcome": "rollback"}), f"PUT {ACTION}/rollback {{}}"),
    ("delete_transaction", Call(VPN, {"xid": XID}), f"PUT {ACTION}/delete {{}}"),
    ("set_reject_on_discard", Call(VPN, {"enabled": "no"}), f'PATCH {CONFIG} {{"{REJECTS}":false}}'),
    ("set_reject_on_discard", Call(VPN, {"enabled": "yes"}), f'PATCH {CONFIG} {{"{REJECTS}":true}}'),
    ("set_backbone", Call(VPN, {"state": "down"}), 'PATCH /SEMP/v2/config/ {"serviceMsgBackboneEnabled":false}'),
    ("set_backbone", Call(VPN, {"state": "up"}), 'PATCH /SEMP/v2/config/ {"serviceMsgBackboneEnabled":true}'),
]
every_change = pytest.mark.parametrize(
    ("action", "call", "line"), CHANGES, ids=[f"{a} {dict(c.args)}" for a, c, _ in CHANGES]
)


def obeying(request: Incoming) -> Answer:
    return ok({}, None)


def node(answers: Mapping[str, Reply] | None = None, clock: VirtualClock | None = None) -> Scripted:
    """A node that obeys every change, but for what ``answers`` say."""
    return scripted({line.rpartition(" ")[0]: obeying for _, _, line in CHANGES} | dict(answers or {}), clock)


def answering(line: str, answer: Reply) -> dict[str, Reply]:
    return {line.rpartition(" ")[0]: answer}


@every_change
def test_a_change_is_one_request(action: str, call: Call, line: str) -> None:
    """What was declared is what left, once; a body even where an action has no arguments."""
    wire = node()
    [result] = apply(adapter_of(wire), action, call)
    assert (result.call, result.effect, result.device) == (call, Effect.ACCEPTED, "ny1")
    assert result.sent == (line,) == tuple(SolaceSempAdapter.actions[action].commands(call))
    assert wire.changes == [line]
    [sent] = [one for one in wire.sent if one.method in ("PATCH", "PUT")]
    assert sent.headers["content-type"] == "application/json"


def test_the_shared_actions_are_those_of_the_cli() -> None:
    """Same runbooks over either: names, arguments, what may be sent twice and what takes it back."""
    for name in ("set_role", "complete_transaction", "delete_transaction"):
        over_cli, over_semp = OVER_CLI[name], ACTIONS[name]
        assert (over_semp.idempotent, over_semp.inverse, over_semp.arguments) == (
            over_cli.idempotent,
            over_cli.inverse,
            over_cli.arguments,
        )


def test_a_plan_is_shown_before_it_is_complete() -> None:
    """An outcome nobody has decided yet is a gap one can see."""
    assert ACTIONS["complete_transaction"].commands(Call("A B", {"xid": XID})) == (
        f"PUT /SEMP/v2/action/msgVpns/A%20B/transactions/{XID}/%3Coutcome%3E {{}}",
    )


def test_a_name_is_escaped() -> None:
    """Or its # would make it another request."""
    wire = scripted({"PATCH /SEMP/v2/config/msgVpns/A%23B%2F%20C": obeying})
    [result] = apply(adapter_of(wire), "set_role", Call("A#B/ C", {"role": "standby"}))
    assert result.effect is Effect.ACCEPTED


# The permit.


def test_the_permit_is_asked_right_before_each_change() -> None:
    """After everything that is read, and once for each."""
    wire = node()
    permits = Permits(heard=lambda: wire.lines)
    apply(adapter_of(wire), "set_role", DEMOTE, Call(VPN, {"role": "active"}), permit=permits)
    assert permits.checks == 2
    assert wire.lines[len(permits.heard_at[0])].startswith("PATCH")
    assert wire.lines[len(permits.heard_at[1])].startswith("PATCH")


def test_a_permit_that_is_gone_stops_everything_not_yet_sent() -> None:
    """The error speaks for the calls not yet yielded: forbidden, hence not sent."""
    wire = node()
    results = adapter_of(wire).apply("set_role", [DEMOTE, DEMOTE], Permits(allowed=1))
    assert next(results).effect is Effect.ACCEPTED
    with pytest.raises(Forbidden):
        next(results)
    assert len(wire.changes) == 1


@every_change
def test_a_read_only_adapter_applies_nothing(action: str, call: Call, line: str) -> None:
    """Forbidden at once: nothing is even asked, and its session has no method to send such a request."""
    wire = node()
    adapter = adapter_of(wire, read_only=True)
    with pytest.raises(Forbidden):
        apply(adapter, action, call)
    assert wire.sent == []
    assert all(one.writer is None for one in adapter._nodes)


# What comes of it.


@every_change
@pytest.mark.parametrize(
    ("answer", "effect"),
    [
        (no(400, 89, text="not prepared"), Effect.REJECTED),
        (no(400, 6, text="unknown"), Effect.REJECTED),
        (no(503, 2, text="busy reconciling"), Effect.REJECTED),
        (no(403, 72, text="level"), Effect.REJECTED),
        (no(401, 72), Effect.REJECTED),
        (no(529, 2), Effect.NOT_SENT),
        (no(400, 229, text="timed out"), Effect.DOUBTFUL),
        (no(500, 2), Effect.DOUBTFUL),
        (Outgoing(502, b"<html/>"), Effect.DOUBTFUL),
        (Outgoing(200, b"{"), Effect.DOUBTFUL),
        (Outgoing(200, b'{"data":{}}'), Effect.DOUBTFUL),
        (Outgoing(200, b"x", mishap="drop"), Effect.DOUBTFUL),
        (Outgoing(200, b"x", mishap="freeze"), Effect.DOUBTFUL),
    ],
    ids=lambda value: f"{value.status}{value.mishap or ''}" if isinstance(value, Outgoing) else str(value),
)
def test_what_the_answer_means(action: str, call: Call, line: str, answer: Outgoing, effect: Effect) -> None:
    """A no is a no, a doubt is a doubt, and nothing is sent again."""
    wire = node(answering(line, answer))
    [result] = apply(adapter_of(wire), action, call)
    assert result.effect is effect
    assert result.detail
    assert result.sent == (() if effect is Effect.NOT_SENT else (line,))
    assert wire.changes == [line]


@every_change
@pytest.mark.parametrize(
    ("failure", "effect"),
    [
        (httpx.ConnectError, Effect.NOT_SENT),
        (httpx.ConnectTimeout, Effect.NOT_SENT),
        (httpx.ReadTimeout, Effect.DOUBTFUL),
        (httpx.WriteTimeout, Effect.DOUBTFUL),
        (httpx.WriteError, Effect.DOUBTFUL),
        (httpx.ReadError, Effect.DOUBTFUL),
        (httpx.RemoteProtocolError, Effect.DOUBTFUL),
    ],
)
def test_a_change_whose_answer_is_lost_is_in_doubt(
    action: str, call: Call, line: str, failure: type[httpx.HTTPError], effect: Effect
) -> None:
    """Once it may have left; and it is sent once, whatever became of it."""

    def fail(request: Incoming) -> Outgoing:
        raise failure("lost")

    wire = node(answering(line, fail))
    [result] = apply(adapter_of(wire), action, call)
    assert result.effect is effect
    assert wire.changes == [line]


def test_a_200_is_not_proof() -> None:
    """It is accepted, whatever the answer shows as the new value: only a reading counts."""
    wire = node(answering(CHANGES[0][2], ok({"replicationRole": "active"})))
    [result] = apply(adapter_of(wire), *CHANGES[0][:2])
    assert result.effect is Effect.ACCEPTED


def test_after_a_doubt_the_rest_is_left() -> None:
    """The pair may have switched; who serves is a question for a new step."""
    wire = node(answering(CHANGES[0][2], Outgoing(200, b"{")))
    results = adapter_of(wire).apply("set_role", [DEMOTE, DEMOTE, DEMOTE], Permits())
    assert next(results).effect is Effect.DOUBTFUL
    with pytest.raises(Unreachable, match="2 more commands were not sent") as caught:
        next(results)
    assert isinstance(caught.value, NotObeyed)
    assert len(wire.changes) == 1


def test_after_a_no_the_rest_goes_on() -> None:
    """A refusal is about one message VPN."""
    wire = node(answering(CHANGES[0][2], no(400, 89)) | {"PATCH /SEMP/v2/config/msgVpns/b": obeying})
    results = apply(adapter_of(wire), "set_role", DEMOTE, Call("b", {"role": "standby"}))
    assert [one.effect for one in results] == [Effect.REJECTED, Effect.ACCEPTED]


def test_who_serves_must_be_known_first() -> None:
    """A node that does not say whether it serves is sent nothing, and nothing is in doubt."""
    wire = node()
    wire.fails = [(True, httpx.ReadTimeout)] * 3
    with pytest.raises(NotObeyed):
        apply(adapter_of(wire), "set_role", DEMOTE)
    assert wire.changes == []
    assert not issubclass(CommandTimedOut, NotObeyed)


def test_nothing_to_do_asks_nothing() -> None:
    """No calls, no requests."""
    wire = node()
    assert apply(adapter_of(wire), "set_role") == []
    assert apply(adapter_of(wire), "set_backbone") == []
    assert wire.sent == []


@pytest.mark.parametrize(
    ("action", "call"),
    [
        ("set_role", Call('a"b', {"role": "standby"})),
        ("set_role", Call(VPN, {"role": "primary"})),
        ("delete_transaction", Call(VPN, {"xid": "1/../2"})),
        ("set_backbone", Call(VPN, {"state": "sideways"})),
        ("set_backbone", Call("a;b", {"state": "up"})),
    ],
)
def test_words_that_must_not_become_a_request(action: str, call: Call) -> None:
    """They were checked before; here is where a slip would become a change."""
    wire = node()
    [result] = apply(adapter_of(wire), action, call)
    assert (result.effect, wire.changes) == (Effect.NOT_SENT, [])


def test_a_missing_word_is_a_mistake() -> None:
    """Of the caller."""
    with pytest.raises(ValueError, match="needs role"):
        apply(adapter_of(node()), "set_role", Call(VPN))
    with pytest.raises(ValueError, match="no action reboot"):
        apply(adapter_of(node()), "reboot", Call(VPN))


# The account's level.

ABOUT = f"GET {MONITOR}about/user"


@pytest.mark.parametrize(
    ("action", "level", "own", "is_enough"),
    [
        ("set_role", "admin", None, True),
        ("set_role", "read-write", None, True),
        ("set_role", "mesh-manager", None, True),
        ("set_role", "read-only", "read-write", False),
        ("set_role", "none", "read-write", False),
        ("set_role", "novel", None, True),
        ("set_backbone", "mesh-manager", None, False),
        ("set_backbone", "read-write", None, True),
        ("delete_transaction", "mesh-manager", "read-only", False),
        ("delete_transaction", "none", "read-write", True),
        ("delete_transaction", "read-only", None, True),
        ("set_reject_on_discard", "none", "read-only", False),
    ],
)
def test_the_level_is_asked_before_anything_is_sent(
    action: str, level: str, own: str | None, is_enough: bool
) -> None:
    """docs/sources/solace.md, 0.10: roles and backbone need a global level, the rest one for the message VPN; what
    nobody tells is left to the broker."""
    answers: dict[str, Reply] = {ABOUT: ok({"globalAccessLevel": level}, {})}
    if own is not None:
        answers[f"{ABOUT}/msgVpns/{VPN}"] = ok({"accessLevel": own}, {})
    wire = node(answers)
    call, line = next((call, line) for name, call, line in CHANGES if name == action)
    [result] = apply(adapter_of(wire), action, call)
    if is_enough:
        assert (result.effect, wire.changes) == (Effect.ACCEPTED, [line])
    else:
        assert (result.effect, wire.changes, result.sent) == (Effect.REJECTED, [], ())
        assert level in result.detail
        assert "read-only" in result.detail or own is None or action == "set_role"


def test_a_level_that_cannot_be_asked_sends_nothing() -> None:
    """The node went away between two requests: not sent, and not in doubt."""
    wire = node({ABOUT: Outgoing(200, b"x", mishap="drop")})
    [result] = apply(adapter_of(wire), "set_role", DEMOTE)
    assert (result.effect, wire.changes) == (Effect.NOT_SENT, [])


# The backbone, which belongs to the nodes.

SHUT, OPEN = Call(VPN, {"state": "down"}), Call(VPN, {"state": "up"})
BACKBONE = "PATCH /SEMP/v2/config/"


def pair(first: Reply = obeying, second: Reply = obeying) -> tuple[Scripted, Scripted]:
    clock = VirtualClock()
    return (
        node({v1.SHOW_REDUNDANCY: v1.SERVING, BACKBONE: first}, clock),
        node({v1.SHOW_REDUNDANCY: v1.STANDING_BY, BACKBONE: second}, clock),
    )


@pytest.mark.parametrize(("call", "first"), [(SHUT, 1), (OPEN, 0)])
def test_every_node_is_told(call: Call, first: int) -> None:
    """The one that stands by too; the primary is closed last and opened first (docs/sources/solace.md, 3.8)."""
    order: list[int] = []

    def note(number: int, request: Incoming) -> Answer:
        order.append(number)
        return ok()

    wires = pair(partial(note, 0), partial(note, 1))
    [result] = apply(adapter_of(*wires), "set_backbone", call)
    assert result.effect is Effect.ACCEPTED
    assert len(result.sent) == 2
    assert order == [first, 1 - first]


def test_no_node_has_to_serve() -> None:
    """A failed site is fenced all the same."""
    one, two = pair()
    one.handler.answers[v1.SHOW_REDUNDANCY] = v1.PRIMARY_STANDS_BY
    [result] = apply(adapter_of(one, two), "set_backbone", SHUT)
    assert result.effect is Effect.ACCEPTED


@pytest.mark.parametrize(
    ("first", "second", "effect"),
    [
        (obeying, None, Effect.DOUBTFUL),
        (None, None, Effect.NOT_SENT),
        (obeying, no(400, 89), Effect.DOUBTFUL),
        (no(400, 89), no(400, 89), Effect.REJECTED),
        (no(400, 89), None, Effect.REJECTED),
        (obeying, Outgoing(200, b"{"), Effect.DOUBTFUL),
        (Outgoing(200, b"{"), None, Effect.DOUBTFUL),
    ],
)
def test_a_site_is_only_as_fenced_as_its_nodes(first: Reply | None, second: Reply | None, effect: Effect) -> None:
    """What some of them took is in doubt, and the sentence names the others."""
    wires = pair(first or obeying, second or obeying)
    wires[0].is_away, wires[1].is_away = first is None, second is None
    [result] = apply(adapter_of(*wires), "set_backbone", SHUT)
    assert result.effect is effect
    for name, answer in (("ny1", first), ("ny2", second)):
        assert answer is obeying or name in result.detail


def test_calls_that_want_the_same_share_one_attempt() -> None:
    """A thousand lanes fence a site once."""
    wires = pair()
    calls = [Call(name, {"state": "down"}) for name in ("a", "b", "c")]
    results = apply(adapter_of(*wires), "set_backbone", *calls)
    assert [one.call for one in results] == calls
    assert [len(wire.changes) for wire in wires] == [1, 1]


def test_a_permit_lost_between_two_nodes() -> None:
    """One of them has obeyed by then: that is a doubt, not "nothing was sent"."""
    wires = pair()
    [result] = apply(adapter_of(*wires), "set_backbone", SHUT, permit=Permits(allowed=1))
    assert (result.effect, len(result.sent)) == (Effect.DOUBTFUL, 1)
    with pytest.raises(Forbidden):
        apply(adapter_of(*pair()), "set_backbone", SHUT, permit=Permits(allowed=0))


@settings(deadline=None)
@given(st.binary(max_size=80), st.sampled_from([200, 201, 204, 400, 404, 409, 500, 503]))
def test_whatever_comes_back_is_one_of_four(body: bytes, status: int) -> None:
    """No answer makes it fall over, and a success needs the shape of one."""
    wire = node(answering(CHANGES[0][2], Outgoing(status, body)))
    [result] = apply(adapter_of(wire), *CHANGES[0][:2])
    assert result.effect in Effect
    if result.effect is Effect.ACCEPTED:
        assert json.loads(body)["meta"]["responseCode"] == 200
