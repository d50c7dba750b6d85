"""Readings of the adapter: one command for many services, an answer for each, and never a guess."""

from __future__ import annotations

import pytest

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.reading_models import (
    Bridge,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.errors import (
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    HostKeyRejected,
    NotServing,
    Unreachable,
    UnreadableReply,
)
from orchestrator.model.inventory import SERVICE_NAME
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Role
from tests.seam import Permits, read, told
from tests.solace.layouts import ACTIVE, STANDBY, queues, replication, transaction_details, transactions
from tests.solace.stage import adapter_of, node

QUEUE = "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn {} detail"


def failure(answer: object, kind: str, *, definite: bool = False) -> bool:
    return isinstance(answer, Failure) and answer.kind == kind and answer.definite is definite


# Replication.


def test_one_wildcard_serves_many_services() -> None:
    """A thousand lanes cost two commands."""
    device = node()
    answers = adapter_of(device).probe("replication", ["a", "b"])
    assert answers["a"] == ReplicationStatus(
        enabled=True,
        role=Role.ACTIVE,
        remote_bridge_up=True,
        queue_bound=True,
        sync_eligible=True,
        reject_when_ineligible=False,
        transaction_mode="async",
    )
    standby = told(ReplicationStatus, answers["b"])
    assert (standby.role, standby.bridge) == (Role.STANDBY, Bridge.BOUND)
    assert device.shown == ["show redundancy", "show message-vpn * replication"]


def test_a_single_service_is_asked_for_by_its_name() -> None:
    """In quotes when it has blanks."""
    device = node(answers={'show message-vpn "A B" replication': replication({"A B": ACTIVE})})
    adapter = adapter_of(device)
    assert set(adapter.probe("replication", ["A B"])) == {"A B"}
    assert set(adapter.probe("replication", ["a", "a"])) == {"a"}
    assert device.shown[1::2] == ['show message-vpn "A B" replication', "show message-vpn a replication"]


def test_a_service_that_a_readable_table_lacks_is_definitely_absent() -> None:
    """The device answered, and the service is not there."""
    answers = adapter_of(node()).probe("replication", ["a", "c"])
    assert failure(answers["c"], "NoSuchService", definite=True)
    assert isinstance(answers["a"], ReplicationStatus)


def test_a_service_that_the_device_does_not_know_is_definitely_absent() -> None:
    """Asked for by name, the device says so in its own words."""
    device = node(refuses={"show message-vpn c replication": "Message VPN 'c' does not exist"})
    answers = adapter_of(device).probe("replication", ["c"])
    assert failure(answers["c"], "NoSuchService", definite=True)
    assert "'c' does not exist" in told(Failure, answers["c"]).text


def test_an_unreadable_table_is_nobodys_answer() -> None:
    """Neither absent nor anything else: the whole reading failed, and its text is kept."""
    device = node(answers={"show message-vpn * replication": "\n"})
    with pytest.raises(UnreadableReply) as caught:
        adapter_of(device).probe("replication", ["a", "b"])
    assert caught.value.device == "ny1"


def test_nothing_is_asked_for_nobody() -> None:
    """No services, no session."""
    device = node()
    assert adapter_of(device).probe("replication", []) == {}
    assert device.connections == 0


BAD_NAMES = [
    'a"b',
    "a'b",
    "a;b",
    "a`b",
    "a?",
    "*",
    "a*",
    "a|b",
    "a\nb",
    "a\rb",
    "a\x00",
    "",
    " a",
    "a ",
    "a\u2028b",
    "x" * 33,
]


@pytest.mark.parametrize("reading", ["replication", "replication_queue", "transactions", "health"])
@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_not_one_is_never_put_into_a_command(reading: str, name: str) -> None:
    """Its answer is a failure, nothing of it is sent, and the others are read as ever."""
    device = node(answers={QUEUE.format("a"): queues({"a": 0}), "show transaction message-vpn a": transactions([])})
    answers = adapter_of(device).probe(reading, [name, "a"])
    assert failure(answers[name], "Forbidden")
    assert not isinstance(answers["a"], Failure)
    assert all(line in ("no paging", *device.answers) for line in device.heard)


def test_the_inventorys_pattern_lets_no_such_name_through_either() -> None:
    """Two lines of defence that agree, but for what only the terminal minds; that is found when the inventory is read."""
    import re

    passed = [name for name in BAD_NAMES if re.fullmatch(SERVICE_NAME, name)]
    assert passed == ["a ", "a\u2028b"]


# Replication queues.


def test_the_depth_of_one_service_is_asked_for_by_name_and_with_detail() -> None:
    """Newer versions print the labels only then."""
    device = node(answers={QUEUE.format("a"): queues({"a": 7})})
    assert adapter_of(device).probe("replication_queue", ["a"]) == {
        "a": QueueDepth(messages=7, usage_mb=0.0042, quota_mb=60000.0)
    }
    assert device.shown == ["show redundancy", QUEUE.format("a"), "show redundancy"]


def test_one_wildcard_serves_the_queues_of_many_services() -> None:
    """And the services that nobody asked for are left out."""
    device = node(answers={QUEUE.format("*"): queues({"a": 7, "b": 0, "stranger": 9})})
    answers = adapter_of(device).probe("replication_queue", ["a", "b"])
    assert {service: told(QueueDepth, depth).messages for service, depth in answers.items()} == {"a": 7, "b": 0}
    assert device.shown == ["show redundancy", QUEUE.format("*"), "show redundancy"]


@pytest.mark.parametrize("wildcard", ["Invalid command input", "Message VPN '*' does not exist", "", "what?"])
def test_a_device_without_the_wildcard_is_asked_one_by_one(wildcard: str) -> None:
    """The wildcard is an assumption; what it rests on is not."""
    device = node(
        answers={
            QUEUE.format("*"): wildcard + "\n",
            QUEUE.format("a"): queues({"a": 1}),
            QUEUE.format("b"): queues({"b": 2}),
        }
    )
    answers = adapter_of(device).probe("replication_queue", ["a", "b"])
    assert {service: told(QueueDepth, depth).messages for service, depth in answers.items()} == {"a": 1, "b": 2}


def test_a_service_missing_in_the_wildcards_answer_is_asked_for_by_name() -> None:
    """A queue that is missing is missing in the device's own word, and never 0."""
    device = node(
        answers={QUEUE.format("*"): queues({"a": 1}), QUEUE.format("b"): "\n", QUEUE.format("c"): queues({"a": 0})},
        refuses={QUEUE.format("d"): "Queue '#MSGVPN_REPLICATION_DATA_QUEUE' does not exist"},
    )
    answers = adapter_of(device).probe("replication_queue", ["a", "b", "c", "d"])
    assert isinstance(answers["a"], QueueDepth)
    assert failure(answers["b"], "UnreadableReply")
    assert failure(answers["c"], "UnreadableReply")
    assert failure(answers["d"], "CommandRejected")


def test_an_unreadable_depth_of_one_service_is_that_services_failure() -> None:
    """With the text that could not be read."""
    device = node(answers={QUEUE.format("a"): queues({"a": 1}).replace("Current Messages", "Messages")})
    answer = adapter_of(device).probe("replication_queue", ["a"])["a"]
    assert failure(answer, "UnreadableReply")
    assert "Messages Spooled" in told(Failure, answer).excerpt


# Transactions.


def test_no_transactions_is_a_table_without_rows() -> None:
    """Law: a header without rows, or a sentence, says that there are none."""
    for none in (transactions([]), "No transactions found\n", "0 transactions\n"):
        device = node(answers={"show transaction message-vpn a": none})
        assert adapter_of(device).probe("transactions", ["a"]) == {"a": Transactions()}
        assert "show transaction" not in device.heard


@pytest.mark.parametrize(
    ("wider", "found"),
    [
        ("\n", []),
        (transactions([]), []),
        (transactions([("1-1-1", "b", "X A Y")]), []),
        (transactions([("1-1-1", "b", "X A Y"), ("2-2-2", "a", "X C Y")]), ["2-2-2"]),
        ("ERROR: message-spool operational status is not AD-ACTIVE\nCommand Failed\n", None),
        ("Command Failed\n", None),
        ("Something else\n", None),
    ],
)
def test_nothing_printed_is_none_only_once_a_wider_form_confirms_it(wider: str, found: list[str] | None) -> None:
    """Law: a bare prompt is unknown until the same command without its filter shows none either."""
    device = node(answers={"show transaction message-vpn a": "\n", "show transaction": wider})
    try:
        answer = adapter_of(device).probe("transactions", ["a"])["a"]
    except NotServing:
        assert found is None
        return
    assert "show transaction" in device.heard
    if found is None:
        assert isinstance(answer, Failure)
    else:
        assert isinstance(answer, Transactions)
        assert [item.xid for item in answer.items] == found


def test_nothing_printed_of_a_message_vpn_that_is_not_there() -> None:
    """Law: that no transaction is listed of it does not make a message VPN exist."""
    gone = "ERROR: Message VPN 'x' not found.\nCommand Failed\n"
    device = node(answers={"show transaction": "\n", "show message-vpn x replication": gone})
    device.answers["show transaction message-vpn x"] = "\n"
    assert failure(adapter_of(device).probe("transactions", ["x"])["x"], "NoSuchService", definite=True)


def test_nothing_printed_for_many_is_confirmed_as_well() -> None:
    """Law: for many services the wildcard has to show none too."""
    device = node(answers={"show transaction": "\n", "show transaction message-vpn *": "\n"})
    assert adapter_of(device).probe("transactions", ["a", "b"]) == {"a": Transactions(), "b": Transactions()}
    device.answers["show transaction message-vpn *"] = "perhaps\n"
    with pytest.raises(UnreadableReply):
        adapter_of(device).probe("transactions", ["a", "b"])


def test_a_letter_that_is_not_known_is_asked_for_in_words() -> None:
    """Law: a state whose letter no legend has is read in its word, with ``detail``."""
    detail = transaction_details([("1-1-1", "a", "app/7")]).replace("PREPARED", "HEURISTICALLY-COMMITTED")
    device = node(
        answers={
            "show transaction message-vpn a": transactions([("1-1-1", "a", "X H Y")]),
            "show transaction message-vpn a detail": detail,
        }
    )
    answer = adapter_of(device).probe("transactions", ["a"])["a"]
    assert isinstance(answer, Transactions)
    assert [item.state for item in answer.items] == [TransactionState.COMPLETE]


@pytest.mark.parametrize("text", ["\n", "Command Failed\n", "SolOS startup in progress, status: 'x'\n"])
def test_nothing_printed_of_the_replication_queue_is_never_0(text: str) -> None:
    """Law: the depth is a number that was printed, and nothing else is 0."""
    device = node(answers={QUEUE.format("a"): text})
    answer = adapter_of(device).probe("replication_queue", ["a"])["a"]
    assert isinstance(answer, Failure)


def test_a_prepared_transaction_is_shown_with_its_client() -> None:
    """Whoever must decide needs to know whose it is; the detail is asked for only then."""
    device = node(
        answers={
            "show transaction message-vpn a": transactions([("1-1-1", "a", "X P Y"), ("2-2-2", "a", "X C Y")]),
            "show transaction message-vpn a state PREPARED detail": transaction_details([("1-1-1", "a", "app/7")]),
        }
    )
    assert adapter_of(device).probe("transactions", ["a"])["a"] == Transactions(
        items=(
            Transaction(
                xid="1-1-1",
                state=TransactionState.PREPARED,
                type="xa",
                replicated=True,
                in_state_s=1.0,
                client="app/7",
                published=3,
                consumed=7,
            ),
            Transaction(xid="2-2-2", state=TransactionState.COMPLETE, type="xa", replicated=True, in_state_s=1.0),
        )
    )


def test_a_detail_that_cannot_be_read_hides_no_transaction() -> None:
    """It is there all the same; what is not known of it stays unknown."""
    device = node(answers={"show transaction message-vpn a": transactions([("1-1-1", "a", "X P Y")])})
    items = read(adapter_of(device), Transactions, "a").items
    assert [(item.xid, item.client) for item in items] == [("1-1-1", None)]


def test_many_services_are_asked_for_at_once_and_absent_ones_are_found() -> None:
    """Without a name the device lists all; one that does not exist must not look like one without transactions."""
    device = node(
        answers={"show transaction": transactions([("1-1-1", "a", "X I Y"), ("9-9-9", "stranger", "X A N")])}
    )
    answers = adapter_of(device).probe("transactions", ["a", "b", "c"])
    assert [item.xid for item in told(Transactions, answers["a"]).items] == ["1-1-1"]
    assert answers["b"] == Transactions()
    assert failure(answers["c"], "NoSuchService", definite=True)
    assert device.shown == [
        "show redundancy",
        "show message-vpn * replication",
        "show transaction",
        "show redundancy",
    ]


def test_another_services_transaction_is_never_passed_on() -> None:
    """What was not asked for makes the answer unreadable."""
    device = node(answers={"show transaction message-vpn a": transactions([("1-1-1", "b", "X P Y")])})
    assert failure(adapter_of(device).probe("transactions", ["a"])["a"], "UnreadableReply")


def test_a_service_without_transactions_because_it_does_not_exist_is_absent() -> None:
    """In the device's own words."""
    device = node(refuses={"show transaction message-vpn c": "Message VPN 'c' does not exist"})
    assert failure(adapter_of(device).probe("transactions", ["c"])["c"], "NoSuchService", definite=True)


# Sessions.


def test_a_session_stays_open_between_readings() -> None:
    """One log-in for a whole drain."""
    device = node()
    adapter = adapter_of(device)
    for _ in range(10):
        adapter.probe("replication", ["a"])
    assert device.connections == 1
    adapter.close()
    assert device.lines[0].is_open is False
    adapter.close()


def test_a_reading_is_asked_once_more_when_the_session_breaks_under_it() -> None:
    """A reading changes nothing, so it may."""
    device = node(mishaps={"show message-vpn a replication": "drop-after"})
    assert isinstance(adapter_of(device).probe("replication", ["a"])["a"], ReplicationStatus)
    assert device.connections == 2


def test_a_reading_that_times_out_is_not_repeated_here() -> None:
    """It took the whole time a command has; the engine decides whether to ask again."""
    device = node(mishaps={"show message-vpn a replication": "silent"})
    with pytest.raises(CommandTimedOut):
        adapter_of(device).probe("replication", ["a"])
    assert device.shown.count("show message-vpn a replication") == 1


def test_a_session_that_keeps_breaking_is_a_lost_connection() -> None:
    """Twice is enough."""
    device = node()
    adapter = adapter_of(device)

    def drop() -> str:
        device.lines[-1].drop()
        return ""

    device.answers["show message-vpn a replication"] = drop
    with pytest.raises((ConnectionLost, UnreadableReply)):
        adapter.probe("replication", ["a"])
    assert device.connections <= 2


def test_a_connection_that_is_refused_is_tried_again_within_limits() -> None:
    """A few times, a moment apart; then the site is unreachable."""
    device = node(down=Unreachable("refused", device="ny1"))
    adapter = adapter_of(device)
    before = device.clock.now()
    with pytest.raises(Unreachable):
        adapter.probe("replication", ["a"])
    assert device.attempts == 3
    assert device.clock.now() - before < 1
    device.down = None
    assert "a" in adapter.probe("replication", ["a"])


def test_a_rejected_host_key_is_tried_once() -> None:
    """It does not pass by itself."""
    device = node(down=HostKeyRejected("changed", device="ny1"))
    with pytest.raises(HostKeyRejected):
        adapter_of(device).open()
    assert device.attempts == 1


# Definitions.


def test_options_it_does_not_know_are_refused_by_name() -> None:
    """A misspelt option is found before the night it matters."""
    with pytest.raises(DefinitionError, match="options of site ny: look_for_key"):
        adapter_of(node(), look_for_key=True)
    with pytest.raises(DefinitionError, match="allow_agent"):
        adapter_of(node(), allow_agent="perhaps")


def test_readings_and_actions_it_does_not_have_are_the_callers_mistake() -> None:
    """Lint refuses them long before; here they are a bug."""
    adapter = adapter_of(node())
    with pytest.raises(ValueError, match="no reading"):
        adapter.probe("weather", ["a"])
    with pytest.raises(ValueError, match="no action"):
        adapter.apply("reboot", [], Permits())


def test_what_it_declares() -> None:
    """Exactly these readings and actions; it is not simulated; and commands can be shown without connecting."""
    of_site = {"fence", "endpoints", "platform"}
    assert set(SolaceCliAdapter.readings) == {"replication", "replication_queue", "transactions", "health", *of_site}
    assert set(SolaceCliAdapter.actions) == {
        "set_role",
        "complete_transaction",
        "delete_transaction",
        "set_backbone",
        "set_reject_on_discard",
    }
    assert SolaceCliAdapter.simulated is False
    shown = {name: list(spec.commands(["a", "b"])) for name, spec in SolaceCliAdapter.readings.items()}
    assert shown == {
        "replication": ["show redundancy", "show message-vpn * replication"],
        "replication_queue": ["show redundancy", QUEUE.format("*"), "show redundancy"],
        "transactions": [
            "show redundancy",
            "show message-vpn * replication",
            "show transaction",
            "show redundancy",
        ],
        "health": ["show redundancy"],
        "fence": ["show service", "show client *", "show message-vpn * replication"],
        "endpoints": [
            "show redundancy",
            "show queue * message-vpn a",
            "show topic-endpoint * message-vpn a",
            "show queue * message-vpn b",
            "show topic-endpoint * message-vpn b",
            "show redundancy",
        ],
        "platform": [
            "show redundancy",
            "show version",
            "show message-spool detail",
            "show config-sync",
            "show replication",
            "show clock",
        ],
    }
    assert list(SolaceCliAdapter.readings["replication_queue"].commands(["A B"])) == [
        "show redundancy",
        QUEUE.format('"A B"'),
        "show redundancy",
    ]


@pytest.mark.parametrize("reading", ["replication", "replication_queue", "transactions", "health"])
def test_a_probe_sends_what_it_declares_and_nothing_that_changes(reading: str) -> None:
    """In either kind of session."""
    device = node(answers={QUEUE.format("*"): queues({"a": 0, "b": 0})})
    for read_only in (False, True):
        device.heard.clear()
        adapter_of(device, read_only=read_only).probe(reading, ["a", "b"])
        assert device.heard == ["no paging", *SolaceCliAdapter.readings[reading].commands(["a", "b"])]
    assert device.obeyed == []


def test_standby_rows_are_readable_in_every_printed_form() -> None:
    """With W, without it, over nine columns or eight."""
    for letters, flags in [("A C B R Q S M T", STANDBY), ("A C W B R Q S M T", "U S N U - - - N A")]:
        for columns in (8, 9):
            if columns < len(letters.split()):
                continue
            table = replication({"a": flags}, letters=letters, columns=columns)
            device = node(answers={"show message-vpn a replication": table})
            status = read(adapter_of(device), ReplicationStatus, "a")
            assert (status.role, status.bridge) == (Role.STANDBY, Bridge.BOUND)
