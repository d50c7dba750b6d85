"""The account counts single deliveries, whatever runs they come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulator.solace.account import CommandCount, CommandKey, Ledger
from simulator.world.intervals import Numbers

SPAN = st.tuples(st.integers(1, 40), st.integers(1, 10)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(SPAN, max_size=12))
def test_duplicates_and_disorder_equal_counting_message_by_message(runs: list[tuple[int, int]]) -> None:
    """Again received is duplicated; first received after a later one is out of order."""
    ledger = Ledger("V")
    received, duplicated, disorder = set[int](), 0, 0
    for run in runs:
        ledger.deliver([run])
        for number in range(*run):
            if number in received:
                duplicated += 1
            elif received and number < max(received):
                disorder += 1
            received.add(number)
    assert (ledger.duplicated, ledger.out_of_order, ledger.received.count) == (duplicated, disorder, len(received))


def test_lost_is_acknowledged_unreceived_and_not_deliverable() -> None:
    """What another site still holds is lost all the same, and named stranded."""
    ledger = Ledger("V")
    ledger.acknowledge(1, 11)
    ledger.deliver([(1, 4)])
    tally = ledger.tally(9.0, Numbers([(6, 9)]), Numbers([(5, 9)]))
    assert (tally.acknowledged, tally.received, tally.waiting) == (10, 3, 3)
    assert (tally.lost, tally.stranded) == (4, 1)


def test_intervals_follow_from_who_was_active_when() -> None:
    """Two active, none active, and an open end that reaches until now."""
    ledger = Ledger("V")
    for moment, sites in ((0.0, ("ny",)), (1.0, ("ny", "nj")), (2.0, ("nj",)), (5.0, ()), (5.0, ("ny",)), (7.0, ())):
        ledger.note_active(moment, sites)
    tally = ledger.tally(10.0, Numbers(), Numbers())
    assert tally.both_active == ((1.0, 2.0),)
    assert tally.outages == ((7.0, 10.0),)
    assert tally.outage_seconds == 3.0


def test_commands_are_counted_by_what_they_ask() -> None:
    """The same action with other arguments, or at another site, is another command."""
    ledger = Ledger("V")
    for site, xid, effect in (("ny", "A", True), ("ny", "A", False), ("nj", "A", True), ("ny", "B", False)):
        ledger.note_command(site, "delete_transaction", {"xid": xid}, effect=effect)
    assert ledger.commands == {
        CommandKey("ny", "delete_transaction", (("xid", "A"),)): CommandCount(2, 1),
        CommandKey("nj", "delete_transaction", (("xid", "A"),)): CommandCount(1, 1),
        CommandKey("ny", "delete_transaction", (("xid", "B"),)): CommandCount(1, 0),
    }


def test_a_ledger_comes_back_from_its_data() -> None:
    """Nothing of the account is left out of the file."""
    ledger = Ledger("V")
    ledger.acknowledge(1, 9)
    ledger.deliver([(1, 4), (2, 3)])
    ledger.note_active(0.0, ("ny",))
    ledger.note_role(0.5, "ny", "standby")
    ledger.note_completion(0.7, "ny", "X", "commit", "command")
    ledger.note_command("ny", "set_role", {"role": "standby"}, effect=True)
    twin = Ledger.load("V", ledger.dump())
    assert twin.tally(3.0, Numbers(), Numbers()) == ledger.tally(3.0, Numbers(), Numbers())
