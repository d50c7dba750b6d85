"""Whatever a device says, a parser answers with values or with one of three errors, and in time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.solace.parse_queue import parse_queues
from adapters.solace.parse_redundancy import Redundancy, parse_message_spool, parse_redundancy
from adapters.solace.parse_replication import parse_replication
from adapters.solace.parse_transactions import parse_transactions
from adapters.solace.reading_models import QueueDepth
from orchestrator.errors import CommandRejected, NoSuchService, UnreadableReply
from tests.solace.layouts import (
    ACTIVE,
    FIXTURES,
    STANDBY,
    message_spool,
    queues,
    redundancy,
    replication,
    transaction_details,
    transactions,
)

PARSERS: list[Callable[[str, str], object]] = [
    parse_replication,
    parse_queues,
    parse_transactions,
    parse_redundancy,
    parse_message_spool,
]
EXPECTED = (UnreadableReply, CommandRejected, NoSuchService)
SAMPLES = [
    *(file.read_text(encoding="utf-8") for file in sorted(FIXTURES.glob("*.txt"))),
    replication({"a": ACTIVE, "b c": STANDBY}),
    queues({"a": 0, "b": 7}),
    transactions([("1-1-1", "a", "X P Y")]),
    transaction_details([("1-1-1", "a", "c")]),
    redundancy(),
    message_spool("AD-Active"),
]
PIECES = st.sampled_from(
    [line for sample in SAMPLES for line in sample.split("\n")]
    + ["-" * 40, " - - -", "XID:", "a : b", "> ", "\r", "\x85"]
)


def parse(parser: Callable[[str, str], object], text: str) -> object | None:
    try:
        return parser(text, "ny1")
    except EXPECTED as error:
        assert str(error)
        assert error.device == "ny1"
        if isinstance(error, UnreadableReply):
            assert error.text == text
        return None


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(text=st.text(max_size=400) | st.text("-: ABCX\n#>", max_size=400))
@example("")
@example("\x00")
@settings(deadline=None, max_examples=60)
def test_any_text_is_read_or_refused(parser: Callable[[str, str], object], text: str) -> None:
    """No other exception, ever."""
    parse(parser, text)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(lines=st.lists(PIECES, max_size=30))
@settings(deadline=None, max_examples=80)
def test_any_shuffle_of_real_lines_is_read_or_refused(parser: Callable[[str, str], object], lines: list[str]) -> None:
    """Lines that look right in an order that is not."""
    parse(parser, "\n".join(lines))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_any_damage_to_a_real_answer_is_read_or_refused(
    parser: Callable[[str, str], object], data: st.DataObject
) -> None:
    """A sample with a stretch cut out and something else put in."""
    sample = data.draw(st.sampled_from(SAMPLES))
    start = data.draw(st.integers(0, len(sample)))
    end = data.draw(st.integers(start, min(len(sample), start + 80)))
    parse(parser, sample[:start] + data.draw(st.text(max_size=20)) + sample[end:])


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@pytest.mark.parametrize("sample", range(len(SAMPLES)))
def test_an_answer_cut_anywhere_never_tells_more_than_the_whole_one(
    parser: Callable[[str, str], object], sample: int
) -> None:
    """Cut anywhere: unreadable, or a part of the truth. Rows may be missing; none is invented."""
    whole = told(parse(parser, SAMPLES[sample]))
    for end in range(0, len(SAMPLES[sample]), max(1, len(SAMPLES[sample]) // 700)):
        assert told(parse(parser, SAMPLES[sample][:end])) <= whole


def told(found: object | None) -> set[object]:
    """What an answer claims, without numbers and ages: these may lose their last digits with the text."""
    match found:
        case Redundancy():
            return {True} if found.serves(alone=False) else set()
        case tuple():
            return {(one.vpn, one.transaction.xid, one.transaction.state) for one in found}
        case dict():
            return {(vpn, type(one) is QueueDepth or one) for vpn, one in found.items()}
        case _:
            return set()


@given(depth=st.integers(1, 10**9), end=st.integers(0, 10**6))
@settings(deadline=None)
def test_a_queue_that_is_not_empty_is_never_read_as_drained(depth: int, end: int) -> None:
    """Wherever the answer is cut: the one mistake that would lose messages."""
    text = queues({"v": depth})
    found = parse(parse_queues, text[: end % len(text)])
    assert not isinstance(found, dict) or all(one.drained is False for one in found.values())


@given(flags=st.sampled_from([ACTIVE, STANDBY, "U A - D D N Y S", "U S Q - - - N A"]), end=st.integers(0, 10**6))
@settings(deadline=None)
def test_a_state_cut_anywhere_is_the_state_or_none(flags: str, end: int) -> None:
    """A row is read whole or not at all."""
    text = replication({"v": flags})
    found = parse(parse_replication, text[: end % len(text)])
    assert found in (None, {}, parse_replication(text))


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000,
        "-" * 1_000_000,
        "- " * 500_000,
        "a " * 500_000,
        ("a" + " " * 50) * 20_000,
        ":" * 1_000_000,
        "Message VPN " + "A " * 400_000,
        "XID:\n" * 100_000,
        "\n" * 1_000_000,
        replication({f"vpn-{number}": ACTIVE for number in range(10_000)}),
        queues({f"vpn-{number}": number for number in range(5_000)}),
        transactions([(f"{number}-1-1", "v", "X P Y") for number in range(10_000)]),
        transaction_details([(f"{number}-1-1", "v", "c") for number in range(3_000)]),
    ],
    ids=lambda text: repr(text[:8]),
)
def test_time_grows_no_faster_than_the_text(parser: Callable[[str, str], object], text: str) -> None:
    """A megabyte is done with in seconds, whatever is in it: no regular expression runs away."""
    before = time.process_time()
    parse(parser, text)
    assert time.process_time() - before < 5
