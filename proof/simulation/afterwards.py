"""Checks after a simulated run: the record is valid, agrees with the last process, and says SIMULATED."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from orchestrator.core.run import Run, fold
from orchestrator.errors import JournalCorrupt, KeyUsed, LeaseHeld
from orchestrator.journal.hash_chain import follow_exported, parse_line, record_of
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from orchestrator.reports.report import run_and_report
from proof.promises import Broken, Judge

if TYPE_CHECKING:
    from proof.simulation.journal import SimulatedJournal
    from proof.simulation.led import Led
    from proof.simulation.night import SimulatedRun

# docs/reference/outcomes.md, "Exit codes". A run that has not finished needs an operator.
_EXIT_CODES = {"done": 0, "refused": 3, "reverted": 5, "escalated": 9, "needs-operator": 6, "stuck": 7}
_TAMPERED_EVERY = 10  # seeds


def record_findings(
    journal: Journal,
    run: str,
    believed: Run | None,
    judge: Judge,
    world: Mapping[str, Any],
    *,
    is_of_one_clock: bool = True,
) -> Iterator[Broken]:
    """Promises 11, 12, 13 and 17, once no process leads the run any more. ``judge`` hears the statements of its report.
    ``is_of_one_clock``: if False, clocks differed, and the record cannot tell durations. ``believed``: the run as the
    last process saw it. None: people said a secret, which must not be on record."""
    try:
        links = list(journal.links(run))
    except JournalCorrupt as error:
        yield Broken(11, str(error))
        return
    records = [record_of(run, link) for link in links]
    recorded, report = run_and_report(records)
    # Another process may have found nothing left to do, and recorded that.
    if believed is not None and _as_of(believed, recorded, records) != believed:
        yield Broken(12, "the record folds to something else than the process believed")
    wanted = 6 if recorded.outcome is None else _EXIT_CODES[recorded.outcome]
    if report.exit_code != wanted:
        yield Broken(12, f"the record says {recorded.outcome}, the report exit code {report.exit_code}")
    if not report.simulated:
        yield Broken(13, "the report does not say that it was simulated")
    claims = {lane.service: lane.model_dump(mode="json", include=_CLAIMS) for lane in report.lanes}
    judge.claimed(
        claims if is_of_one_clock else {name: {**one, "outage_seconds": None} for name, one in claims.items()}, world
    )


def _as_of(believed: Run, recorded: Run, records: Sequence[ev.Record]) -> Run:
    """The run as it was on record when the process ended."""
    return recorded if believed.seq == len(records) else fold(records[: believed.seq])


# The statements of a report about a service that the world can check.
_CLAIMS = {"roles", "lets_clients_in", "outage_seconds"}


def tampering(journal: Journal, run: str, seed: int) -> Iterator[Broken]:
    """Promise 11, for some seeds: a later change by a person is noticed."""
    if seed % _TAMPERED_EVERY == 0:
        lines = [{"run": run, **link._asdict()} for link in journal.links(run)]
        yield from _tampering(lines, Random(seed))
        yield from _tampered_store(journal, run, Random(seed))


def _tampering(lines: Sequence[Mapping[str, Any]], chance: Random) -> Iterator[Broken]:
    """Promise 11: an edit, a deletion, a reordering and a missing end are found offline."""
    at = chance.randrange(len(lines) - 1)
    ways: Mapping[str, list[Mapping[str, Any]]] = {
        "an edit": [*lines[:at], {**lines[at], "at": lines[at]["at"] + 1.0}, *lines[at + 1 :]],
        "a deletion": [*lines[:at], *lines[at + 1 :]],
        "a reordering": [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
        "a missing end": list(lines[: at + 1]),
    }
    for what, changed in ways.items():
        if what == "a missing end" and parse_line(lines[at]).event.kind in ("run.finished", "run.paused"):
            continue  # the cut is where an earlier process had stopped, so the record is complete
        try:
            for _ in follow_exported(changed):
                pass
        except JournalCorrupt:
            continue
        yield Broken(11, f"{what} of record {at + 1} is not found")


# The ways in which a person changes the store itself. Each must be noticed.
_CHANGES = {
    "a missing end": "DELETE FROM events WHERE run = :run AND seq = (SELECT seq FROM runs WHERE run = :run)",
    "another end": "UPDATE runs SET head = 'x' || substr(head, 2) WHERE run = :run",
    "an end that was undone": "UPDATE runs SET seq = seq - 1 WHERE run = :run",
}


def _tampered_store(journal: Journal, run: str, chance: Random) -> Iterator[Broken]:
    """Promise 11: a change of the store itself is found. The change is undone afterwards."""
    what = chance.choice(sorted(_CHANGES))
    with journal.engine.begin() as connection:
        row = connection.exec_driver_sql("SELECT seq, head FROM runs WHERE run = ?", (run,)).one()
        last = connection.exec_driver_sql("SELECT * FROM events WHERE run = ? AND seq = ?", (run, row.seq)).one()
        connection.exec_driver_sql(_CHANGES[what].replace(":run", f"'{run}'"))
    try:
        list(journal.links(run))
    except JournalCorrupt:
        pass
    else:
        yield Broken(11, f"{what} in the store is not found")
    with journal.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE runs SET seq = ?, head = ? WHERE run = ?", (row.seq, row.head, run))
        places = ", ".join("?" * len(last))
        connection.exec_driver_sql(f"INSERT OR IGNORE INTO events VALUES ({places})", tuple(last))


def secrets_told(store: SimulatedJournal, forms: Sequence[str]) -> Iterator[Broken]:
    """Promise 10: no written text contains a secret."""
    for text in store.texts():
        if any(form in text for form in forms):
            yield Broken(10, "a secret is on record")
            return


def tries_again(simulation: SimulatedRun, led: Led) -> Iterator[Broken]:
    """Promise 5: the services of a run that has ended are free for other runs. Those of a run that can be resumed are not
    free. A run with the same key is not started again."""
    lanes = led.judge.case.lanes.values()
    is_free = all(lane.left or lane.outcome not in (None, "needs-operator", "stuck") for lane in lanes)
    made = ev.RunCreated(plan=led.plan, by="bob", version="0")
    if simulation.story.keyed:
        try:
            create_run(simulation.store, simulation.clock, f"{led.name}-again", made, key=simulation.key_of(led))
        except (KeyUsed, LeaseHeld):
            pass
        else:
            yield Broken(5, "the same run was started once more with one and the same key")
            return
    if simulation.is_taken(led) or any(one.is_refused for one in simulation.leds):
        return
    if is_free and not _can_begin(simulation, led, made):
        # The last process may have died between its last record and the release of its services. Then the run is resumed,
        # as people are told to do.
        led.let_go()
        simulation.let_go(led)
        if not _can_begin(simulation, led, made):
            yield Broken(5, "the run has ended, and its services are still claimed")
    elif not is_free and _can_begin(simulation, led, made):
        yield Broken(5, "another run could start with services of an unfinished run")


def _can_begin(simulation: SimulatedRun, led: Led, made: ev.RunCreated) -> bool:
    """Could a person start the same run now?"""
    again = f"{led.name}-again"
    try:
        create_run(simulation.store, simulation.clock, again, made)
    except LeaseHeld:
        return False
    simulation.store.forget_claims(again)
    return True
