"""Labels and column headers are the same in every spelling of every version."""

from __future__ import annotations

import pytest

from adapters.solace.labels import Term, labels_in, plain
from adapters.solace.parse_queue import parse_queues
from adapters.solace.parse_redundancy import parse_redundancy
from adapters.solace.parse_replication import parse_replication
from adapters.solace.parse_transactions import parse_transactions
from adapters.solace.reading_models import TransactionState
from tests.solace import layouts

QUEUE = layouts.queues({"a": 3})


@pytest.mark.parametrize(
    "label",
    [
        "Reject Msg To Sender On Discard",
        "Reject Msg to Sender on Discard",
        "reject-msg-to-sender-on-discard",
        "Reject Messages To Sender On Discard",
    ],
)
@pytest.mark.parametrize(("word", "rejects"), [("Yes", True), ("no", False), ("Enabled", True), ("perhaps", None)])
def test_reject_on_discard_in_every_spelling(label: str, word: str, rejects: bool | None) -> None:
    """Law: the spelling of a label does not change what is read; a value that is not known is unknown."""
    text = f"{QUEUE.rstrip()}\n{label:<37}: {word}\n"
    assert parse_queues(text)["a"].rejects_on_discard is rejects


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title])
def test_a_queue_in_any_case(change: object) -> None:
    """Law: case of labels never matters: neither for the depth, nor for the name."""
    assert callable(change)
    lines = [line.partition(":") for line in QUEUE.split("\n")]
    text = "\n".join(f"{change(label)}{colon}{value}" for label, colon, value in lines)
    assert parse_queues(text) == parse_queues(QUEUE)


def test_headers_in_any_case() -> None:
    """Law: the headers of tables are found in any case, and mean the same."""
    replication = layouts.replication({"a": layouts.ACTIVE})
    assert parse_replication(replication.replace("Message VPN", "MESSAGE VPN")) == parse_replication(replication)
    assert parse_replication(replication.replace("Message VPN", "Message-Vpn")) == parse_replication(replication)
    table = layouts.transactions([("0A-01-02", "a", "X P Y")])
    header = "Message VPN"
    assert parse_transactions(table.replace(header, header.upper())) == parse_transactions(table)
    assert parse_transactions(table.replace("XID  ", "Xid  ")) == parse_transactions(table)


@pytest.mark.parametrize(
    "word", ["COMPLETE", "Completed", "HEURISTICALLY-COMMITTED", "heuristically rolled back", "Heuristic-Commit"]
)
def test_words_of_a_heuristically_completed_transaction(word: str) -> None:
    """Law: the documents' words for a heuristic outcome are the state Complete."""
    text = layouts.transaction_details([("0A-01-02", "a", "c")]).replace("PREPARED", word)
    [found] = parse_transactions(text)
    assert found.transaction.state is TransactionState.COMPLETE


def test_a_state_that_is_not_known_is_unknown() -> None:
    """Law: a word that no source has is no state."""
    [found] = parse_transactions(layouts.transaction_details([("0A-01-02", "a", "c")]).replace("PREPARED", "LIMBO"))
    assert found.transaction.state is None


@pytest.mark.parametrize(
    ("word", "configured"), [("Enabled-Released", True), ("Released", True), ("Shutdown", False)]
)
def test_configuration_status_of_a_released_node(word: str, configured: bool) -> None:
    """Law: a released node is one of a pair, in the CLI's word and in that of the documentation."""
    assert parse_redundancy(layouts.redundancy(configuration=word)).configured is configured


def test_a_mate_is_named_without_its_virtual_router() -> None:
    """Law: identity is compared without the prefix ``v:``."""
    text = layouts.redundancy().replace(": mate", ": v:mate")
    assert parse_redundancy(text).mate_router == "mate"


def test_a_cell_that_does_not_apply() -> None:
    """Law: N/A in a cell is a blank cell, and no activity."""
    found = parse_redundancy(layouts.redundancy(backup=("N/A", "N/A")))
    assert (found.backup.activity, found.backup.spool) == (None, None)


def test_every_alias_is_of_one_term_in_its_output() -> None:
    """Law: no two terms of one output share a name, or a value would be read as another."""
    outputs = [
        (Term.QUEUE_NAME, Term.MESSAGE_VPN, Term.DEPTH, Term.USAGE_MB, Term.QUOTA_MB, Term.REJECTS),
        (Term.XID, Term.MESSAGE_VPN, Term.STATE, Term.TRANSACTION_TYPE, Term.CLIENT, Term.PUBLISHED, Term.CONSUMED),
        (
            Term.MESSAGE_ID,
            Term.SPOOLED_AT,
            Term.GROUP_ID,
            Term.IS_REPLICATED,
            Term.CONTENT_SIZE,
            Term.ATTACHMENT_SIZE,
        ),
        (Term.CONFIGURATION, Term.REDUNDANCY, Term.MATE_ROUTER, Term.ADB_LINK, Term.ADB_HELLO),
        (Term.OPERATIONAL, Term.TRANSACTION_MODE, Term.ADMIN),
    ]
    for terms in outputs:
        names = [plain(name) for term in terms for name in term.value]
        of = {name: sum(term.is_named(name) for term in terms) for name in names}
        assert set(of.values()) == {1}


def test_labels_at_the_left_edge_count_once() -> None:
    """Law: the first label at the edge counts; an indented one is of a part."""
    lines = ["Oper Status : Up", "  Oper Status : Down", "Oper Status : Later"]
    assert Term.OPERATIONAL.of(labels_in(lines)) == "Up"
