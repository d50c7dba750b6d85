"""What ``failover runs verify`` finds, and what it says that it cannot know: each kind of forgery, by who could do it.

A *careless* forger changes records. A *knowing* one also computes every hash anew and moves the run's own row; what he
does not have is the signing key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock, iso
from orchestrator.journal.database.schema import EVENTS, RUNS, SIGNATURES
from orchestrator.journal.hash_chain import GENESIS, link_hash
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run, take
from orchestrator.journal.signing import Signer, Verifier, generate
from orchestrator.model import events as ev
from orchestrator.operations.runs.run_document import exported
from orchestrator.operations.verify import Doubts, Exported, Stored, Verdict, verdict_of
from tests.core.builders import a_plan, created
from tests.journal.ageing import forget, wait_out

Line = dict[str, Any]
Forgery = Callable[[list[Line], list[Line]], list[Line]]
STARTED = (None, ev.RunStarted(by="ann", epoch=1, attended=False))
PAUSED = (None, ev.RunPaused(reason="SIGINT"))
LANE: list[tuple[str | None, ev.Event]] = [
    ("Trading", ev.LaneStarted()),
    ("Trading", ev.StepStarted(step="demote")),
    ("Trading", ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason="no")),
]
FINISHED = (None, ev.RunFinished(outcome=ev.Outcome.REFUSED))


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    generate(tmp_path / "key")
    return Signer(tmp_path / "key")


@pytest.fixture
def verifier(signer: Signer) -> Verifier:
    return Verifier([signer.public()])


@pytest.fixture
def open_as(url: str) -> Iterator[Callable[[Signer | None], Journal]]:
    """The test's journal, as a process with this key, or none, opens it."""
    made: list[Journal] = []

    def opened(signer: Signer | None) -> Journal:
        made.append(Journal(url, signer=signer))
        return made[-1]

    yield opened
    for journal in made:
        journal.close()


def two_runs(journal: Journal) -> Journal:
    """``run-1`` in five commits, with a pause in the middle; and ``other``."""
    clock = VirtualClock()
    for name, plan in (("run-1", a_plan()), ("other", a_plan(services=("Other",)))):
        _, writer = create_run(journal, clock, name, created(plan))
        lane = [(None if service is None else plan.services[0], event) for service, event in LANE]
        for commit in ([STARTED], [PAUSED], [STARTED, *lane], [FINISHED]):
            clock.advance(0.5)
            writer = journal.append(writer, clock.now(), commit)
    return journal


def lines_of(journal: Journal, run: str = "run-1") -> list[Line]:
    return [dict(line) for line in exported(journal, run)]


def rehashed(lines: Sequence[Line]) -> list[Line]:
    """The same with numbers and hashes that fit; a signature stays where it was, as nobody can make another one."""
    done: list[Line] = []
    for seq, line in enumerate(lines, 1):
        before = done[-1]["hash"] if done else GENESIS
        digest = link_hash(before, "run-1", seq, line["at"], line["lane"], line["event"])
        done.append({**line, "run": "run-1", "seq": seq, "hash": digest})
    return done


def put_back(journal: Journal, lines: Sequence[Line], *, knowing: bool) -> None:
    """Replace what the database holds of ``run-1``; only who knows also moves the run's row, and tidies up, also what
    is noted beside the database."""
    if knowing:
        forget(journal)
    fields = EVENTS.columns.keys()
    with journal.engine.begin() as connection:
        connection.execute(sa.delete(EVENTS).where(EVENTS.c.run == "run-1"))
        connection.execute(sa.insert(EVENTS), [{name: line[name] for name in fields} for line in lines])
        if knowing:
            row = {"seq": lines[-1]["seq"], "head": lines[-1]["hash"]}
            connection.execute(sa.update(RUNS).where(RUNS.c.run == "run-1").values(**row))
            gone = SIGNATURES.c.seq > lines[-1]["seq"]
            connection.execute(sa.delete(SIGNATURES).where(SIGNATURES.c.run == "run-1", gone))


def in_file(folder: Path, lines: Sequence[Line]) -> Path:
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def judged(path: Path, doubts: Doubts) -> Verdict:
    with path.open("rb") as file:
        return verdict_of(Verdict("file"), Exported(file), doubts)


def stored(journal: Journal, doubts: Doubts) -> Verdict:
    return verdict_of(Verdict("run"), Stored(journal, "run-1"), doubts)


def _edited(lines: list[Line], _: list[Line]) -> list[Line]:
    event = lines[6]["event"].replace('"no"', '"yes"')
    assert event != lines[6]["event"]
    return [*lines[:6], {**lines[6], "event": event}, *lines[7:]]


def _spliced(lines: list[Line], others: list[Line]) -> list[Line]:
    return [*lines[:6], {**others[6], "lane": "Trading"}, *lines[7:]]


FORGERIES: dict[str, Forgery] = {
    "edit": _edited,
    "another moment": lambda lines, _: [*lines[:4], {**lines[4], "at": 1.0, "time": iso(1.0)}, *lines[5:]],
    "deletion": lambda lines, _: [*lines[:4], *lines[5:]],
    "reordering": lambda lines, _: [*lines[:4], lines[5], lines[4], *lines[6:]],
    "truncation": lambda lines, _: lines[:6],
    "splice from another run": _spliced,
    "addition": lambda lines, _: [*lines[:7], lines[3], *lines[7:]],
    "another end": lambda lines, _: [*lines[:-1], {**lines[-1], "event": lines[-1]["event"].replace("refused", "done")}],
}  # fmt: skip
ALL = pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
NOBODY = Doubts(None, False)


def test_a_whole_record_proves_itself(
    open_as: Callable[[Signer | None], Journal], signer: Signer, verifier: Verifier, tmp_path: Path
) -> None:
    """A signed run and its export are whole and signed; without a key the chain is checked, and the signature not."""
    journal = two_runs(open_as(signer))
    for verdict in (
        stored(journal, Doubts(verifier, True)),
        judged(in_file(tmp_path, lines_of(journal)), Doubts(verifier, True)),
    ):
        assert (verdict.records, verdict.signature, verdict.problem) == (8, "signed", "")
    assert (stored(journal, NOBODY).signature, stored(journal, NOBODY).problem) == ("not checked", "")


def test_an_old_record_is_unsigned(
    open_as: Callable[[Signer | None], Journal], verifier: Verifier, tmp_path: Path
) -> None:
    """What was recorded without a key is whole and unsigned; only who demands a signature finds fault with it."""
    journal = two_runs(open_as(None))
    path = in_file(tmp_path, lines_of(journal))
    assert all("signature" not in line for line in lines_of(journal))
    for judge in both_ways(journal, path):
        assert (judge(NOBODY).signature, judge(Doubts(verifier, False)).problem) == ("unsigned", "")
        assert judge(Doubts(verifier, True)).problem == "run run-1: the record is not signed"


def both_ways(journal: Journal, path: Path) -> tuple[Callable[[Doubts], Verdict], Callable[[Doubts], Verdict]]:
    """The same record, judged in the database and as it was exported."""
    return partial(stored, journal), partial(judged, path)


@ALL
def test_a_careless_forger_is_found(
    open_as: Callable[[Signer | None], Journal], forge: Forgery, tmp_path: Path
) -> None:
    """Promise 11, without any key: a change of records alone is found, in the database and in the export."""
    journal = two_runs(open_as(None))
    forged = forge(lines_of(journal), lines_of(journal, "other"))
    path = in_file(tmp_path, forged)
    assert judged(path, NOBODY).problem
    put_back(journal, [{**line, "run": "run-1", "seq": seq} for seq, line in enumerate(forged, 1)], knowing=False)
    assert stored(journal, NOBODY).problem


@ALL
def test_a_knowing_forger_is_found_by_the_signature(
    open_as: Callable[[Signer | None], Journal], signer: Signer, verifier: Verifier, forge: Forgery, tmp_path: Path
) -> None:
    """Promise 11 with a key: who computes every hash anew still has no signature for it. Without one he is not found,
    which is the truth that the documentation tells; but a run under way is never taken for a whole export."""
    journal = two_runs(open_as(signer))
    forged = rehashed(forge(lines_of(journal), lines_of(journal, "other")))
    path = in_file(tmp_path, forged)
    assert judged(path, Doubts(verifier, True)).problem
    assert bool(judged(path, NOBODY).problem) == (forge is FORGERIES["truncation"])
    put_back(journal, forged, knowing=True)
    found = stored(journal, Doubts(verifier, False))
    assert found.problem, found
    with journal.engine.begin() as connection:
        connection.execute(sa.delete(SIGNATURES))
    assert (stored(journal, NOBODY).problem, stored(journal, NOBODY).signature) == ("", "unsigned")
    assert stored(journal, Doubts(verifier, True)).problem == "run run-1: the record is not signed"


def test_who_puts_back_an_older_record_is_found_by_a_noted_head(
    open_as: Callable[[Signer | None], Journal], signer: Signer, verifier: Verifier, tmp_path: Path
) -> None:
    """An older state of a run, signed and at rest, is a whole record; only a head that was noted tells that it was
    not the last one."""
    journal = two_runs(open_as(signer))
    last = stored(journal, NOBODY)
    older = lines_of(journal)[:3]
    put_back(journal, older, knowing=True)
    path = in_file(tmp_path, older)
    for judge in both_ways(journal, path):
        assert (judge(Doubts(verifier, True)).problem, judge(Doubts(verifier, True)).signature) == ("", "signed")
        assert judge(Doubts(verifier, True, (last.records, last.head))).problem == (
            "run run-1: records 4 to 8 existed earlier, but are missing now"
        )
        assert (
            judge(Doubts(None, False, (2, GENESIS))).problem
            == "run run-1: record 2 differs from the record that was noted"
        )
        assert judge(Doubts(verifier, True, (3, older[2]["hash"]))).problem == ""


def test_a_signature_that_outlives_its_records(
    open_as: Callable[[Signer | None], Journal], signer: Signer, url: str
) -> None:
    """Cut off in the database, with the run's row moved, a run is given away by the signatures that were left."""
    journal = two_runs(open_as(signer))
    lines = lines_of(journal)
    forget(journal)
    with journal.engine.begin() as connection:
        connection.execute(sa.delete(EVENTS).where(EVENTS.c.run == "run-1", EVENTS.c.seq > 3))
        row = {"seq": 3, "head": lines[2]["hash"]}
        connection.execute(sa.update(RUNS).where(RUNS.c.run == "run-1").values(**row))
    assert stored(journal, NOBODY).problem == "run run-1: record 8 was signed, but is missing now"


def test_signatures_of_other_heads_do_not_fit(
    open_as: Callable[[Signer | None], Journal], signer: Signer, verifier: Verifier
) -> None:
    """A signature is of one run and one number: taken from another run, from an earlier commit, or broken, it is none."""
    journal = two_runs(open_as(signer))
    mine, others = journal.signatures("run-1"), journal.signatures("other")
    for value in (others[0].value, mine[1].value, mine[0].value[:-8] + "AAAAAA==", "not base 64", "\u20ac", ""):
        with journal.engine.begin() as connection:
            last = (SIGNATURES.c.run == "run-1") & (SIGNATURES.c.seq == 8)
            connection.execute(sa.update(SIGNATURES).where(last).values(value=value))
        assert (
            stored(journal, Doubts(verifier, False)).problem == "run run-1: record 8 was changed after it was signed"
        )


def test_another_key_is_not_the_key(
    open_as: Callable[[Signer | None], Journal], signer: Signer, tmp_path: Path
) -> None:
    """Signed by a key that is not among those demanded is as bad as not signed; otherwise it is said to be unchecked."""
    generate(tmp_path / "auditor")
    stranger = Verifier([Signer(tmp_path / "auditor").public()])
    journal = two_runs(open_as(signer))
    assert stored(journal, Doubts(stranger, False)).signature == "not checked"
    assert "the record is signed with another key" in stored(journal, Doubts(stranger, True)).problem
    both = Verifier([Signer(tmp_path / "auditor").public(), signer.public()])
    assert stored(journal, Doubts(both, True)).signature == "signed"


def test_a_process_without_the_key_goes_on_unsigned_and_is_told(
    open_as: Callable[[Signer | None], Journal], signer: Signer, verifier: Verifier
) -> None:
    """A run that was begun with a key and continued without one is whole as far as it is signed, and says up to where;
    signed again at its end, it is whole."""
    journal, clock = two_runs(open_as(signer)), VirtualClock(1_800_001_000.0)
    without = open_as(None)
    wait_out(journal, VirtualClock())
    _, writer = take(without, clock, "run-1", {})
    writer = without.append(writer, clock.now(), [STARTED, PAUSED])
    assert stored(journal, Doubts(verifier, False)).problem == "run run-1: records 9 to 10 are not signed"
    assert judged_problem(journal) == "run run-1: records 9 to 10 are not signed"
    journal.append(writer, clock.now(), [STARTED])
    assert stored(journal, Doubts(verifier, True)).problem == ""


def judged_problem(journal: Journal) -> str:
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in lines_of(journal))
    return verdict_of(Verdict("file"), Exported(BytesIO(lines)), NOBODY).problem


def test_a_signed_run_is_verified_while_it_is_written(
    open_as: Callable[[Signer | None], Journal], signer: Signer, verifier: Verifier
) -> None:
    """Records that are added between two looks of the verifier are no unsigned tail."""
    journal = two_runs(open_as(signer))
    source = Stored(journal, "run-1")
    clock = VirtualClock(1_800_001_000.0)
    wait_out(journal, VirtualClock())
    _, writer = take(journal, clock, "run-1", {})
    journal.append(writer, clock.now(), [STARTED])
    verdict = verdict_of(Verdict("run"), source, Doubts(verifier, True))
    assert (verdict.records, verdict.signature, verdict.problem) == (9, "signed", "")


@pytest.mark.parametrize(
    ("field", "value"), [("time", "2027-01-15T08:00:09.500Z"), ("simulated", False), ("time", ""), ("simulated", 1)]
)
@pytest.mark.parametrize("number", [1, 4, 8])
def test_what_an_export_says_in_other_words_is_what_was_recorded(
    open_as: Callable[[Signer | None], Journal], tmp_path: Path, field: str, value: object, number: int
) -> None:
    """Promise 11: people read the time in words, and whether it was a simulation; neither is hashed, and each has to
    agree with the record itself, on every line."""
    lines = lines_of(two_runs(open_as(None)))
    before = lines[number - 1]
    assert before[field] is not value
    lines[number - 1] = {**before, field: value}
    assert judged(in_file(tmp_path, lines), NOBODY).problem == (
        f"run run-1: record {number} says {field} {value!r}, but something else was recorded"
    )
