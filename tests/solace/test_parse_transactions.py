"""``show transaction``: both forms, and what "none" looks like."""

from __future__ import annotations

import pytest

from adapters.solace.parse_transactions import Listed, parse_transactions
from adapters.solace.reading_models import Transaction, TransactionState
from orchestrator.errors import CommandRejected, NoSuchService, UnreadableReply
from tests.solace.layouts import fixture, transaction_details, transactions


def test_the_seeds_table() -> None:
    """docs/sources/solace-procedure.md, controlled 4: two lines a row, the XID alone on the first."""
    assert parse_transactions(fixture("transactions_table")) == (
        Listed(
            "blue_02",
            Transaction(
                xid="0021ABC4-00-01", state=TransactionState.PREPARED, type="xa", replicated=True, in_state_s=1.0
            ),
        ),
    )


def test_the_seeds_detail() -> None:
    """docs/sources/solace-procedure.md, controlled 4: labels, then tables of messages that are passed over."""
    assert parse_transactions(fixture("transactions_detail")) == (
        Listed(
            "blue_02",
            Transaction(
                xid="0021B028-00-01",
                state=TransactionState.PREPARED,
                type="xa",
                replicated=True,
                client="username/15848/#000c0001",
                published=0,
                consumed=150,
                in_state_s=0.0,
            ),
        ),
    )


def test_every_letter_of_the_legend_has_its_meaning() -> None:
    """Type, state and replicated; a letter that is not in it is unknown."""
    rows = [("1-1-1", "v", f"{t} {s} {r}") for t, s, r in zip("XLX?X", "ASIPC", "YNY?Y", strict=True)]
    found = [one.transaction for one in parse_transactions(transactions(rows))]
    assert [one.state for one in found] == list(TransactionState)
    assert [one.type for one in found] == ["xa", "local", "xa", None, "xa"]
    assert [one.replicated for one in found] == [True, False, True, None, True]


def test_many_rows_names_with_blanks_and_repeated_headers() -> None:
    """A long table repeats its header between two rows."""
    first, second = transactions([("1-1-1", "A B", "X P Y")]), transactions([("2-2-2", "c", "L C N")])
    repeated = first + second[second.index("XID") :] + "\nsolace1>"
    assert [(one.vpn, one.transaction.xid) for one in parse_transactions(repeated)] == [
        ("A B", "1-1-1"),
        ("c", "2-2-2"),
    ]


def test_none_is_a_table_without_rows() -> None:
    """Only a header and a rule say that there are no transactions."""
    assert parse_transactions(transactions([])) == ()


@pytest.mark.parametrize(
    ("age", "seconds"),
    [
        ("1s", 1.0),
        ("2m 3s", 123.0),
        ("0d 0h 0m 0s", 0.0),
        ("1d 1h 1m 1s", 90061.0),
        ("3d", 259200.0),
        ("5", None),
        ("soon", None),
        ("1s 2m", None),
        ("", None),
    ],
)
def test_ages_are_read_or_unknown(age: str, seconds: float | None) -> None:
    """The two printed forms and what lies between them; anything else is unknown."""
    text = transaction_details([("1-1-1", "v", "c")]).replace("0d 0h 1m 1s", age)
    assert parse_transactions(text)[0].transaction.in_state_s == seconds


def test_a_topic_that_looks_like_a_label_is_a_topic() -> None:
    """What stands in the tables of messages is not the transaction's."""
    text = transaction_details([("1-1-1", "v", "c"), ("2-2-2", "v", "N/A")]).replace(
        "Consumer Messages:", "State: COMPLETE\n17                   State: x\nConsumer Messages:"
    )
    found = [one.transaction for one in parse_transactions(text)]
    assert [(one.xid, one.state, one.client) for one in found] == [
        ("1-1-1", TransactionState.PREPARED, "c"),
        ("2-2-2", TransactionState.PREPARED, None),
    ]


GOOD = transactions([("1-1-1", "v", "X P Y"), ("2-2-2", "v", "X C Y")])
DETAIL = transaction_details([("1-1-1", "v", "c")])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "solace1>",
        "Flags Legend\n",
        GOOD.replace("XID  ", "XIX  "),
        GOOD.replace("Message VPN", "Message VNP"),
        GOOD.replace("-" * 45 + " - - -", ""),
        GOOD[: GOOD.index("-----")],
        GOOD[: GOOD.index("2-2-2") + 6],
        GOOD.rstrip()[:-1],
        GOOD.rstrip()[:-30],
        GOOD.replace("2-2-2\n", ""),
        GOOD.replace("2-2-2", "two words"),
        GOOD.replace("X C Y", "XC Y "),
        GOOD.replace("X C Y", "X C YY"),
        GOOD.replace("T S R", "T S S"),
        GOOD + "1-2-3\n",
        DETAIL.replace("State:", "Stated:"),
        DETAIL.replace("State: PREPARED", "State:"),
        DETAIL.replace("Message VPN:", "VPN:"),
        DETAIL.replace("XID: 1-1-1", "XID:"),
        DETAIL.replace("XID: 1-1-1", "XID: 1 1"),
        DETAIL.replace("Type: XA", "State: COMPLETE"),
        DETAIL[:20],
    ],
)
def test_what_is_cut_short_or_out_of_place_is_unreadable(text: str) -> None:
    """A half row, a lost header, a label gone: never fewer transactions than there are."""
    with pytest.raises(UnreadableReply) as caught:
        parse_transactions(text, "ny1")
    assert caught.value.text == text


def test_refusals_are_told_by_their_words() -> None:
    """As everywhere; an XID is not a message VPN."""
    with pytest.raises(NoSuchService):
        parse_transactions("Message VPN 'Nope' does not exist")
    with pytest.raises(CommandRejected):
        parse_transactions("Transaction 1-1-1 not found in message-vpn v")
    with pytest.raises(CommandRejected):
        parse_transactions(GOOD + "Error: cut off\n")
    with pytest.raises(CommandRejected):
        parse_transactions(DETAIL[: DETAIL.index("Publisher")] + "Error: cut off\n")
