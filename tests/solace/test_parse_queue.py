"""``show queue``: the depth is a number that was printed, for the message VPN it was printed for."""

from __future__ import annotations

import pytest

from adapters.solace.parse_queue import parse_queues
from adapters.solace.reading_models import QueueDepth
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, UnreadableReply
from tests.solace.layouts import fixture, queues


def test_the_seeds_queue() -> None:
    """docs/sources/solace-procedure.md, controlled 3: labels padded with blanks, other lines elided."""
    assert parse_queues(fixture("queue")) == {"Trading_VPN": QueueDepth(messages=1, usage_mb=0.0006)}


def test_several_queues_in_one_answer_go_by_their_message_vpn() -> None:
    """A wildcard's answer holds a block for each."""
    assert parse_queues(queues({"a": 0, "A B": 12})) == {
        "a": QueueDepth(messages=0, usage_mb=0.0, quota_mb=60000.0),
        "A B": QueueDepth(messages=12, usage_mb=0.0072, quota_mb=60000.0),
    }


def test_drained_is_a_depth_that_was_read_and_was_0() -> None:
    """Promise 2 begins here."""
    depths = parse_queues(queues({"a": 0, "b": 1}))
    assert (depths["a"].drained, depths["b"].drained) == (True, False)


def test_usage_and_quota_are_unknown_when_they_cannot_be_read() -> None:
    """Nothing depends on them."""
    text = queues({"a": 3}).replace("0.0018", "n/a").replace("60000", "unlimited")
    assert parse_queues(text) == {"a": QueueDepth(messages=3)}


def test_a_name_further_right_is_something_elses_name() -> None:
    """Only labels as far left as the queue's own name begin a queue."""
    text = queues({"a": 3}).replace("Durability", "  Name      : other\nDurability")
    assert parse_queues(text) == {"a": QueueDepth(messages=3, usage_mb=0.0018, quota_mb=60000.0)}


GOOD = queues({"Trading_VPN": 5})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\nsolace1>",
        "...",
        GOOD.replace("Current Messages Spooled", "Messages"),
        GOOD.replace(": 5\n", ": \n"),
        GOOD.replace(": 5\n", ":\n"),
        GOOD.replace(": 5\n", ": many\n"),
        GOOD.replace(": 5\n", ": -5\n"),
        GOOD.replace(": 5\n", ": 5.0\n"),
        GOOD.replace(": 5\n", ": 5 of 9\n"),
        GOOD.replace(": 5\n", ": ٥\n"),
        GOOD.replace(": 5\n", f": {'9' * 6000}\n"),
        GOOD.replace("Message VPN", "VPN"),
        GOOD.replace(": Trading_VPN", ": "),
        GOOD.replace("Name ", "Nome "),
        GOOD.replace("#MSGVPN_REPLICATION_DATA_QUEUE", "orders"),
        GOOD + GOOD,
        GOOD.replace("Durability", "Current Messages Spooled : 6\nDurability"),
        GOOD[: GOOD.index("Current Messages")],
        queues({"a": 1}) + queues({"b": 2})[:60],
    ],
)
def test_what_does_not_print_a_number_for_one_queue_each_is_unreadable(text: str) -> None:
    """A missing label, an empty or odd value, two values: an empty answer is never 0."""
    with pytest.raises(UnreadableReply) as caught:
        parse_queues(text, "ny1")
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Message VPN 'Nope' does not exist", NoSuchService),
        ("Queue '#MSGVPN_REPLICATION_DATA_QUEUE' does not exist", CommandRejected),
        ("Invalid command input", CommandRejected),
        (GOOD + "ERROR: cut off\n", CommandRejected),
    ],
)
def test_a_missing_queue_is_a_refusal_and_not_a_depth(text: str, kind: type[AdapterError]) -> None:
    """Only a message VPN that is not there is definite; a queue that is not there is a refused command."""
    with pytest.raises(kind):
        parse_queues(text, "ny1")


@pytest.mark.parametrize(
    ("label", "rejects"),
    [
        ("Reject Msg To Sender On Discard      : Yes\n", True),
        ("Reject Msg To Sender On Discard      : No\n", False),
        ("Reject Msg To Sender On Discard      : perhaps\n", None),
        ("", None),
    ],
)
def test_what_becomes_of_a_full_queue_is_told_or_unknown(label: str, rejects: bool | None) -> None:
    """Assumed label: absent, or with another word, the behaviour is unknown, and not the default."""
    text = (
        "Name                                 : #MSGVPN_REPLICATION_DATA_QUEUE\n"
        "Message VPN                          : V\n"
        f"Current Messages Spooled             : 0\n{label}"
    )
    assert parse_queues(text)["V"].rejects_on_discard is rejects
