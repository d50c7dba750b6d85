"""Changes: what is sent, in which mode, after which permission, and what is said when it goes wrong."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.solace.adapter import SolaceCliAdapter
from orchestrator.errors import Forbidden, NotObeyed, Unreachable
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from tests.seam import Permits, apply
from tests.solace.stage import adapter_of, node
from tests.ssh.scripted import MishapKind, Obeyed

XID = "0021B028-00-01"
DEMOTE = Call("Trading_VPN", {"role": "standby"})
COMMIT = Call("Trading_VPN", {"xid": XID, "outcome": "commit"})
CHANGES = [
    ("set_role", DEMOTE, "replication state standby"),
    ("set_role", Call("Trading_VPN", {"role": "active"}), "replication state active"),
    ("complete_transaction", COMMIT, f"commit-transaction xid {XID}"),
    (
        "complete_transaction",
        Call("Trading_VPN", {"xid": XID, "outcome": "rollback"}),
        f"rollback-transaction xid {XID}",
    ),
    ("delete_transaction", Call("Trading_VPN", {"xid": XID}), f"delete-transaction xid {XID}"),
]


def doors(action: str, vpn: str = "Trading_VPN") -> tuple[str, ...]:
    if action == "set_role":
        return ("configure", f"message-vpn {vpn}")
    return ("admin", f"message-spool message-vpn {vpn}")


@pytest.mark.parametrize(
    ("action", "call", "line"), CHANGES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_change_goes_through_its_modes_and_is_accepted(action: str, call: Call, line: str) -> None:
    """docs/sources/solace-procedure.md, controlled 2, 4, 5, 6: the lines the documents give, in their modes; what was
    sent is what was declared."""
    device = node()
    [result] = apply(adapter_of(device), action, call)
    assert (result.call, result.effect, result.device) == (call, Effect.ACCEPTED, "ny1")
    assert result.sent == (*doors(action), line) == tuple(SolaceCliAdapter.actions[action].commands(call))
    assert device.obeyed == [Obeyed("Trading_VPN", line)]
    assert device.heard == ["no paging", "show redundancy", "enable", *result.sent]


def test_a_name_with_blanks_is_quoted() -> None:
    """Or its second word would be another argument."""
    device = node()
    [result] = apply(adapter_of(device), "set_role", Call("A B", {"role": "standby"}))
    assert device.obeyed == [Obeyed("A B", "replication state standby")]
    assert 'message-vpn "A B"' in result.sent


def test_several_calls_are_made_in_order_each_in_its_own_mode() -> None:
    """The mode of one message VPN is left before the next is entered; and the node is looked for once a step."""
    device = node()
    results = apply(adapter_of(device), "set_role", *(Call(vpn, {"role": "active"}) for vpn in ("a", "b", "c")))
    assert [result.effect for result in results] == [Effect.ACCEPTED] * 3
    assert device.obeyed == [Obeyed(vpn, "replication state active") for vpn in ("a", "b", "c")]
    assert device.heard.count("end") == 2
    assert device.shown == ["show redundancy"]


def test_a_prompt_shortened_on_the_left_is_recognised() -> None:
    """``(...ssage-vpn)#`` of a device with a long name is where it says it is."""
    device = node(name="n" * 60)
    [result] = apply(adapter_of(device), "set_role", DEMOTE)
    assert result.effect is Effect.ACCEPTED


def test_nothing_to_do_asks_nothing() -> None:
    """No calls, no session."""
    device = node()
    assert apply(adapter_of(device), "set_role") == []
    assert device.connections == 0


# The permit.


def test_the_permit_is_asked_right_before_the_one_line_that_changes() -> None:
    """Behind all doors, and once for each change."""
    device = node()
    permits = Permits(heard=lambda: device.heard)
    apply(adapter_of(device), "set_role", DEMOTE, Call("b", {"role": "standby"}), permit=permits)
    assert permits.checks == 2
    assert permits.heard_at[0][-1] == "message-vpn Trading_VPN"
    assert permits.heard_at[1][-1] == "message-vpn b"


def test_a_permit_that_is_gone_stops_everything_not_yet_sent() -> None:
    """The error speaks for the calls not yet yielded: forbidden, hence not sent."""
    device = node()
    results = adapter_of(device).apply("set_role", [DEMOTE, Call("b", {"role": "standby"})], Permits(allowed=1))
    assert next(results).effect is Effect.ACCEPTED
    with pytest.raises(Forbidden):
        next(results)
    assert device.obeyed == [Obeyed("Trading_VPN", "replication state standby")]


def test_after_a_refused_permit_the_next_step_begins_at_the_top() -> None:
    """The session was left inside a mode; it is not taken for granted."""
    device = node()
    adapter = adapter_of(device)
    with pytest.raises(Forbidden):
        apply(adapter, "set_role", DEMOTE, permit=Permits(allowed=0))
    [result] = apply(adapter, "complete_transaction", COMMIT)
    assert result.effect is Effect.ACCEPTED
    assert device.obeyed == [Obeyed("Trading_VPN", f"commit-transaction xid {XID}")]


# Read-only.


@pytest.mark.parametrize(("action", "call"), [(action, call) for action, call, _ in CHANGES])
def test_a_read_only_adapter_applies_nothing(action: str, call: Call) -> None:
    """Forbidden at once: it does not even connect, and its session has no method to send such a line."""
    device = node()
    permits = Permits()
    with pytest.raises(Forbidden):
        apply(adapter_of(device, read_only=True), action, call, permit=permits)
    assert (device.connections, permits.checks) == (0, 0)


# Refused.


@pytest.mark.parametrize(
    ("action", "call", "line"), CHANGES, ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("text", ["Error: not allowed", "Invalid command input", "system is busy"])
def test_a_change_the_device_refuses_is_rejected_with_its_word(action: str, call: Call, line: str, text: str) -> None:
    """It answered no: it did not obey."""
    device = node(refuses={line: text})
    [result] = apply(adapter_of(device), action, call)
    assert result.effect is Effect.REJECTED
    assert text in result.detail
    assert result.sent[-1] == line


def test_a_message_vpn_that_is_not_there_is_rejected_before_the_change() -> None:
    """The door did not open; the permit was not even asked."""
    device = node(refuses={"message-vpn Trading_VPN": "Message VPN 'Trading_VPN' does not exist"})
    permits = Permits()
    [result] = apply(adapter_of(device), "set_role", DEMOTE, permit=permits)
    assert (result.effect, permits.checks, device.obeyed) == (Effect.REJECTED, 0, [])
    assert "no such message VPN" in result.detail
    assert result.sent == doors("set_role")


def test_an_account_of_too_low_a_level_is_rejected() -> None:
    """At ``enable`` or at ``configure``, whichever the device keeps."""
    for device in (node(knows_enable=False), node(refuses={"configure": "Error: access level is too low"})):
        [result] = apply(adapter_of(device), "set_role", DEMOTE)
        assert result.effect is Effect.REJECTED
        assert device.obeyed == []


def test_one_refusal_does_not_stop_the_others() -> None:
    """Each message VPN has its own fate."""
    device = node(refuses={"message-vpn b": "Message VPN 'b' does not exist"})
    results = apply(adapter_of(device), "set_role", *(Call(vpn, {"role": "active"}) for vpn in ("a", "b", "c")))
    assert [result.effect for result in results] == [Effect.ACCEPTED, Effect.REJECTED, Effect.ACCEPTED]


def test_a_question_nobody_foresaw_is_answered_with_no_and_rejected() -> None:
    """None of these commands is known to ask; a yes would confirm something nobody read."""
    device = node(asks={"replication state standby"})
    [result] = apply(adapter_of(device), "set_role", DEMOTE)
    assert result.effect is Effect.REJECTED
    assert "Do you want to continue" in result.detail
    assert "All clients will be disconnected" in result.detail
    assert device.obeyed == []


# Doubt.


def test_an_unexpected_word_after_the_change_is_a_doubt() -> None:
    """Success prints nothing. Anything else that is not a refusal may mean anything."""
    device = node(says={"replication state standby": "Note: replication is in a state\r\n"})
    [result] = apply(adapter_of(device), "set_role", DEMOTE)
    assert result.effect is Effect.DOUBTFUL
    assert "Note: replication is in a state" in result.detail


def test_an_unexpected_word_before_the_change_keeps_it_from_being_sent() -> None:
    """A door that says something is not gone through."""
    device = node(says={"configure": "Somebody else is configuring\r\n"})
    permits = Permits()
    [result] = apply(adapter_of(device), "set_role", DEMOTE, permit=permits)
    assert (result.effect, result.sent, permits.checks, device.obeyed) == (Effect.NOT_SENT, (), 0, [])
    assert "Somebody else is configuring" in result.detail


@pytest.mark.parametrize(
    ("action", "call", "line"), CHANGES, ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("mishap", ["drop-before", "drop-after", "silent", "cut-short", "no-echo"])
def test_a_change_whose_answer_is_lost_is_a_doubt_and_is_never_repeated(
    action: str, call: Call, line: str, mishap: MishapKind
) -> None:
    """Obeyed or not, nobody can say; and one line left, not two."""
    device = node(mishaps={line: mishap})
    [result] = apply(adapter_of(device), action, call)
    assert result.effect is Effect.DOUBTFUL
    assert result.sent == (*doors(action), line)
    assert device.heard.count(line) <= 1


@pytest.mark.parametrize("mishap", ["drop-before", "drop-after", "silent", "cut-short", "no-echo"])
@pytest.mark.parametrize("at", ["enable", "configure", "message-vpn Trading_VPN"])
def test_a_loss_before_the_change_means_not_sent(at: str, mishap: MishapKind) -> None:
    """Though lines were lost, the one that changes never left: it may be tried again."""
    device = node(mishaps={at: mishap})
    permits = Permits()
    [result] = apply(adapter_of(device), "set_role", DEMOTE, permit=permits)
    assert (result.effect, result.sent, permits.checks, device.obeyed) == (Effect.NOT_SENT, (), 0, [])


def test_a_session_lost_between_the_doors_and_the_change_means_not_sent() -> None:
    """The permit took its time, and the device hung up meanwhile."""
    device = node()

    class Slow:
        def check(self) -> None:
            device.lines[-1].drop()

    [result] = apply(adapter_of(device), "set_role", DEMOTE, permit=Slow())
    assert (result.effect, device.obeyed, device.connections) == (Effect.NOT_SENT, [], 1)


@pytest.mark.parametrize("at", ["configure", "replication state standby"])
def test_a_broken_session_ends_the_step_for_the_calls_that_follow(at: str) -> None:
    """Who serves may have changed with it; that is for a new step to find out. Nothing more was sent."""
    device = node(mishaps={at: "drop-after"})
    results = adapter_of(device).apply("set_role", [DEMOTE, Call("b", {"role": "standby"})], Permits())
    assert next(results).effect in (Effect.DOUBTFUL, Effect.NOT_SENT)
    with pytest.raises(Unreachable, match="1 more commands were not sent"):
        next(results)
    assert [one.vpn for one in device.obeyed] in ([], ["Trading_VPN"])


def test_a_site_that_cannot_be_reached_sends_nothing() -> None:
    """The error speaks for all calls: not sent."""
    device = node(down=Unreachable("away", device="ny1"))
    with pytest.raises(NotObeyed):
        apply(adapter_of(device), "set_role", DEMOTE)


# Injection.

EVIL = [
    'a"b',
    "a;reload",
    "a\nreload",
    "a\rreload",
    "a b\x00",
    "*",
    "a?",
    "a|b",
    "a`b",
    "",
    "a\u2028b",
    "a ",
    "a>b",
    "a&b",
]


@pytest.mark.parametrize("action", ["set_role", "complete_transaction", "delete_transaction"])
@pytest.mark.parametrize("name", EVIL)
def test_a_service_name_that_is_more_than_a_name_is_not_sent(action: str, name: str) -> None:
    """Checked again right where the command is made: nothing of it leaves, and the permit is not asked."""
    device = node()
    permits = Permits()
    call = Call(name, {"role": "standby", "xid": XID, "outcome": "commit"})
    [result] = apply(adapter_of(device), action, call, permit=permits)
    assert (result.effect, result.sent, permits.checks) == (Effect.NOT_SENT, (), 0)
    assert device.heard == ["no paging", "show redundancy"]


@pytest.mark.parametrize("xid", ["", "1 2", 'a"b', "1-2-3\nreload", "1;2", "1?", "*", "-1", "x" * 267, "1\u2028"])
@pytest.mark.parametrize("action", ["complete_transaction", "delete_transaction"])
def test_an_xid_that_is_more_than_an_xid_is_not_sent(action: str, xid: str) -> None:
    """It came from a device, or from somebody who writes decision files: both are strangers."""
    device = node()
    [result] = apply(adapter_of(device), action, Call("a", {"xid": xid, "outcome": "commit"}))
    assert result.effect is Effect.NOT_SENT
    assert device.heard == ["no paging", "show redundancy"]


def test_the_longest_xid_there_is_can_be_sent() -> None:
    """266 characters (docs/sources/solace.md, 1.8) fit on one line of the terminal."""
    xid = "0021B028-" + "A" * 128 + "-" + "B" * 128
    assert len(xid) == 266
    device = node()
    [result] = apply(adapter_of(device), "complete_transaction", Call("v" * 32, {"xid": xid, "outcome": "rollback"}))
    assert result.effect is Effect.ACCEPTED


@pytest.mark.parametrize(("action", "args"), [("set_role", {"role": "both"}), ("set_role", {"role": "active\n"})])
def test_a_word_that_is_no_choice_is_not_sent(action: str, args: dict[str, str]) -> None:
    """Arguments with choices take no other word."""
    device = node()
    [result] = apply(adapter_of(device), action, Call("a", args))
    assert result.effect is Effect.NOT_SENT
    assert device.obeyed == []


def test_a_missing_argument_is_the_callers_mistake() -> None:
    """Lint refuses it; here it is a bug, not a device's failure."""
    with pytest.raises(ValueError, match="needs xid"):
        apply(adapter_of(node()), "delete_transaction", Call("a"))


# Declarations.


def test_what_an_action_declares() -> None:
    """Idempotence, inverses, arguments and who fills them in."""
    actions = SolaceCliAdapter.actions
    assert {name: (one.idempotent, one.inverse) for name, one in actions.items()} == {
        "set_role": (True, "set_role"),
        "complete_transaction": (False, None),
        "delete_transaction": (False, None),
        "set_backbone": (True, "set_backbone"),
        "set_reject_on_discard": (True, "set_reject_on_discard"),
    }
    assert {
        name: {key: (argument.choices, argument.filled_by) for key, argument in one.arguments.items()}
        for name, one in actions.items()
    } == {
        "set_role": {"role": (("active", "standby"), "runbook")},
        "complete_transaction": {"xid": ((), "item"), "outcome": (("commit", "rollback"), "decision")},
        "delete_transaction": {"xid": ((), "item")},
        "set_backbone": {"state": (("up", "down"), "runbook")},
        "set_reject_on_discard": {"enabled": (("yes", "no"), "runbook")},
    }


def test_a_plan_shows_what_is_not_known_yet_as_such() -> None:
    """Before any transaction was seen, a dry-run can still print the commands."""
    commands = SolaceCliAdapter.actions["complete_transaction"].commands(Call("a"))
    assert list(commands) == ["admin", "message-spool message-vpn a", "<outcome>-transaction xid <xid>"]


# All of it at once.

CHANGE = "replication state standby"
LINES = ["no paging", "show redundancy", "enable", "configure", "message-vpn a", "message-vpn b", CHANGE]
MISHAPS: tuple[MishapKind, ...] = ("drop-before", "drop-after", "silent", "cut-short", "no-echo")
Kind = MishapKind | Literal["refuses", "babbles", "asks"]
KINDS: tuple[Kind, ...] = (*MISHAPS, "refuses", "babbles", "asks")


def check_the_words(wrong: list[tuple[str, Kind]], chunk: int, allowed: int) -> None:
    """Demote two services while ``wrong``, pairs of line and kind, goes wrong; compare the words with the truth."""
    device = node(chunk=chunk)
    for line, kind in wrong:
        if kind == "asks":
            device.asks.add(line)
        elif kind != "refuses" and kind != "babbles":
            device.mishaps[line] = kind
        elif line not in ("no paging", "show redundancy"):
            device.refuses[line] = "Error: no" if kind == "refuses" else "what?"
    permits = Permits(allowed=allowed)
    calls = [Call(vpn, {"role": "standby"}) for vpn in ("a", "b")]
    told: dict[str, Effect] = {}
    try:
        for result in adapter_of(device).apply("set_role", calls, permits):
            told[result.call.service] = result.effect
    except NotObeyed:
        told |= {call.service: Effect.NOT_SENT for call in calls if call.service not in told}
    obeyed = [one.vpn for one in device.obeyed]
    assert len(obeyed) == len(set(obeyed)) <= min(permits.checks, allowed)
    for vpn, effect in told.items():
        assert effect is Effect.DOUBTFUL or (effect is Effect.ACCEPTED) == (vpn in obeyed)
    assert set(told) == {"a", "b"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", LINES)
def test_the_four_words_are_never_wrong_when_one_thing_goes_wrong(line: str, kind: Kind) -> None:
    """ "Accepted" was obeyed, "rejected" and "not sent" were not; no change leaves twice, or without its permit."""
    for chunk in (1, 7, 1000):
        for allowed in (0, 1, 2):
            check_the_words([(line, kind)], chunk, allowed)


@given(
    wrong=st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(KINDS)), max_size=4),
    chunk=st.integers(1, 60),
    allowed=st.sampled_from([2, 1]),
)
@settings(deadline=None, max_examples=100)
def test_the_four_words_are_never_wrong_when_much_goes_wrong(
    wrong: list[tuple[str, Kind]], chunk: int, allowed: int
) -> None:
    """The same law, with several mishaps in one step."""
    check_the_words(wrong, chunk, allowed)
