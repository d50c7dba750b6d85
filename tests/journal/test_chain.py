"""The record proves itself: what was written is read back, and every kind of tampering is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.core.run import fold
from orchestrator.errors import JournalCorrupt, NoSuchRun
from orchestrator.journal.database.schema import EVENTS, RUNS
from orchestrator.journal.hash_chain import follow_exported, link_hash
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from tests.core.builders import a_plan, bridge, created, depth

OWN: list[tuple[str | None, ev.Event]] = [
    (None, ev.RunStarted(by="ann", epoch=1, attended=False)),
    ("Trading", ev.LaneStarted()),
]
MORE: list[tuple[str | None, ev.Event]] = [
    ("Trading", ev.StepStarted(step="demote")),
    ("Trading", ev.Observed(mark=1, seen=(depth(3), bridge("bound")), gauge=3.0)),
    ("Trading", ev.ActionEnded(intent=1, effect=Effect.DOUBTFUL, detail="ünïcode\x00 \u2028 'quoted' \"twice\"")),
]


def a_run(journal: Journal, clock: VirtualClock, name: str = "run-1", service: str = "Trading") -> Writer:
    """A run of six records."""
    _, writer = create_run(journal, clock, name, created(a_plan(services=(service,))))
    writer = journal.append(writer, clock.now(), OWN)
    return journal.append(writer, clock.now() + 0.123456789, MORE)


def test_what_is_written_is_read_back(journal: Journal, clock: VirtualClock) -> None:
    """Every record comes back whole: number, moment to the last digit, lane, and event."""
    writer = a_run(journal, clock)
    records = list(journal.records("run-1"))
    assert [record.seq for record in records] == [1, 2, 3, 4, 5, 6]
    assert [(record.lane, record.event) for record in records[1:]] == [*OWN, *MORE]
    assert {record.at for record in records[3:]} == {clock.now() + 0.123456789}
    assert records[0].event == created()
    assert writer == journal.writer("run-1")


def test_a_moment_without_a_fraction_is_the_same_moment(journal: Journal) -> None:
    """A clock that counts whole seconds, as an int, writes records that prove themselves too."""
    whole = VirtualClock(start=1_800_000_000)
    a_run(journal, whole)
    assert len(list(journal.records("run-1"))) == 6


def test_reading_goes_on_from_anywhere(journal: Journal, clock: VirtualClock) -> None:
    """A reader may begin after any record, also after the last; the chain is checked from there."""
    a_run(journal, clock)
    for after in range(7):
        assert [record.seq for record in journal.records("run-1", after=after)] == list(range(after + 1, 7))


def test_a_run_that_does_not_exist(journal: Journal) -> None:
    """Asking for an unknown run says so, and where to look."""
    for ask in (journal.row, journal.writer, lambda name: list(journal.records(name))):
        with pytest.raises(NoSuchRun, match="there is no run nowhere"):
            ask("nowhere")


def test_runs_are_listed_newest_first(journal: Journal, clock: VirtualClock) -> None:
    """The list of runs begins with the newest."""
    for name in ("a", "b", "c"):
        a_run(journal, clock, name, service=f"service-{name}")
        clock.advance(60)
    assert [row.run for row in journal.runs()] == ["c", "b", "a"]


def test_nothing_to_write_is_no_record(journal: Journal, clock: VirtualClock) -> None:
    """An append of nothing writes nothing and leaves the chain as it is."""
    writer = a_run(journal, clock)
    assert journal.append(writer, clock.now(), []) == writer
    assert len(list(journal.records("run-1"))) == 6


# --- tampering -----------------------------------------------------------------------------------------------------

Forgery = Callable[[sa.Connection], Any]


def _where(seq: int) -> Any:
    return (EVENTS.c.run == "run-1") & (EVENTS.c.seq == seq)


def _edit(**values: Any) -> Forgery:
    return lambda connection: connection.execute(sa.update(EVENTS).where(_where(3)).values(**values))


def _delete(*seqs: int) -> Forgery:
    gone = sa.delete(EVENTS).where(EVENTS.c.run == "run-1", EVENTS.c.seq.in_(seqs))
    return lambda connection: connection.execute(gone)


def _move(seq: int, to: int) -> Forgery:
    return lambda connection: connection.execute(sa.update(EVENTS).where(_where(seq)).values(seq=to))


def _swap(connection: sa.Connection) -> None:
    for seq, to in ((3, 99), (4, 3), (99, 4)):
        _move(seq, to)(connection)


def _delete_and_renumber(connection: sa.Connection) -> None:
    _delete(4)(connection)
    _move(5, 4)(connection)
    _move(6, 5)(connection)


def _splice(connection: sa.Connection) -> None:
    row = connection.execute(sa.select(EVENTS).where(EVENTS.c.run == "other", EVENTS.c.seq == 4)).mappings().one()
    _delete(4)(connection)
    connection.execute(sa.insert(EVENTS), [{**row, "run": "run-1"}])


def _rewrite_the_last(connection: sa.Connection) -> None:
    """An edit by somebody who knows how the hash is made, but leaves the run's row alone."""
    rows = {row.seq: row for row in connection.execute(sa.select(EVENTS).where(EVENTS.c.run == "run-1"))}
    event = rows[6].event.replace("doubtful", "accepted")
    forged = link_hash(rows[5].hash, "run-1", 6, rows[6].at, rows[6].lane, event)
    connection.execute(sa.update(EVENTS).where(_where(6)).values(event=event, hash=forged))


def _add_one(connection: sa.Connection) -> None:
    last = connection.execute(sa.select(EVENTS).where(_where(6))).mappings().one()
    event = ev.RunFinished(outcome=ev.Outcome.DONE).model_dump_json()
    forged = link_hash(last["hash"], "run-1", 7, last["at"], None, event)
    connection.execute(sa.insert(EVENTS), [{**last, "seq": 7, "lane": None, "event": event, "hash": forged}])


FORGERIES: dict[str, Forgery] = {
    "an event edited": _edit(event=ev.LaneStarted().model_dump_json().replace("lane", "step")),
    "a moment edited": _edit(at=1.0),
    "a lane edited": _edit(lane="Other"),
    "a lane removed": _edit(lane=None),
    "a hash edited": _edit(hash="0" * 64),
    "a record in the middle deleted": _delete(3),
    "the first record deleted": _delete(1),
    "all records deleted": _delete(1, 2, 3, 4, 5, 6),
    "deleted and closed up": _delete_and_renumber,
    "two swapped": _swap,
    "cut off by one": _delete(6),
    "cut off by three": _delete(4, 5, 6),
    "a record of another run": _splice,
    "the last one rewritten with a fitting hash": _rewrite_the_last,
    "one added with a fitting hash": _add_one,
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_tampering_is_found(journal: Journal, clock: VirtualClock, forgery: Forgery) -> None:
    """Promise 11: edit, deletion, reordering, truncation, splicing and addition of a record are found offline."""
    a_run(journal, clock)
    a_run(journal, clock, "other", service="Other")
    list(journal.records("run-1"))
    with journal.engine.begin() as connection:
        forgery(connection)
    with pytest.raises(JournalCorrupt, match="run run-1"):
        list(journal.records("run-1"))
    assert len(list(journal.records("other"))) == 6


def test_a_reader_of_the_rest_notices_that_its_place_is_gone(journal: Journal, clock: VirtualClock) -> None:
    """Reading on after a record that was deleted is corruption, not an empty rest."""
    a_run(journal, clock)
    with journal.engine.begin() as connection:
        _delete(4)(connection)
    with pytest.raises(JournalCorrupt, match="record 4 is missing"):
        list(journal.records("run-1", after=4))


def test_an_event_nobody_wrote(journal: Journal, clock: VirtualClock) -> None:
    """A record whose chain holds and whose event no version wrote is corruption, with its place."""
    writer = a_run(journal, clock)
    event = '{"kind":"lane.abducted"}'
    digest = link_hash(writer.head, "run-1", 7, clock.now(), "Trading", event)
    row = {"run": "run-1", "seq": 7, "at": clock.now(), "lane": "Trading", "event": event, "hash": digest}
    with journal.engine.begin() as connection:
        connection.execute(sa.insert(EVENTS), [row])
        connection.execute(sa.update(RUNS).values(seq=7, head=digest))
    with pytest.raises(JournalCorrupt, match="record 7 cannot be read"):
        list(journal.records("run-1"))


# --- exports -------------------------------------------------------------------------------------------------------


def exported(journal: Journal, clock: VirtualClock) -> list[dict[str, Any]]:
    writer = a_run(journal, clock)
    journal.append(writer, clock.now(), [(None, ev.RunPaused(reason="SIGINT"))])
    return [dict(line) for line in journal.lines("run-1")]


def test_an_export_proves_itself(journal: Journal, clock: VirtualClock) -> None:
    """An export is checked without the database, line by line, and folds to the same state."""
    lines = exported(journal, clock)
    assert len(list(follow_exported(lines))) == 7
    first_two = list(journal.records("run-1"))[:3]
    assert fold(first_two).lanes["Trading"].status == "running"


@pytest.mark.parametrize(
    "forge",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[1:],
        lambda lines: [*lines[:3], *lines[4:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines[:3], {**lines[3], "at": 1.0}, *lines[4:]],
        lambda lines: [*lines[:3], {**lines[3], "run": "other"}, *lines[4:]],
        lambda lines: [],
    ],
)
def test_a_forged_export_is_found(journal: Journal, clock: VirtualClock, forge: Any) -> None:
    """Promise 11 for the exported file: cut off, shortened, reordered, edited, spliced or empty, it is found."""
    with pytest.raises(JournalCorrupt):
        list(follow_exported(forge(exported(journal, clock))))


def test_a_reader_may_stop_early(journal: Journal, clock: VirtualClock) -> None:
    """Who only wants the first record leaves nothing open behind."""
    writer = a_run(journal, clock)
    assert next(journal.records("run-1")).seq == 1
    journal.append(writer, clock.now(), [(None, ev.RunPaused(reason="SIGINT"))])
