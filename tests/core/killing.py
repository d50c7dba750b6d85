"""Killing a run at every instant, and judging what became of it by the world's own account.

A ``Story`` says what is moved and in which world. ``kill_everywhere`` tells it once undisturbed to count the
instants (before and after every journal write, before and after every call of a device), and then once more for each
instant, killed there and resumed from the journal. Nothing here trusts the engine: the verdict is ``complaints`` of
the world and the journal's own proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.core.run import Run, fold
from orchestrator.engine.dispatch import InlineFleet, Prompter
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.family.contract import ActionSpec, Adapter, Call, Permit, ReadingSpec, Result
from orchestrator.journal.database.schema import RUNS
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import create_run, service_key, take
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from orchestrator.model.runbook import Side
from proof.simulation.process import Killed
from tests.core.scripted import ScriptedPair
from tests.proof.mutants.recording import ForgetsDoubt, HastyFleet, PerformsFirst

RUN = "run-1"


class Fuse:
    """Counts the instants of a run and kills at one of them. ``at`` None never kills; the first instant is 1."""

    def __init__(self, at: int | None = None, *, every: int | None = None) -> None:
        self.at = at
        self.every = every
        self.count = 0
        self.places: list[str] = []

    def instant(self, place: str) -> None:
        self.count += 1
        self.places.append(place)
        if self.count == self.at or (self.every and self.count % self.every == 0):
            raise Killed(f"instant {self.count}: {place}")


class KillingJournal(Journal):
    """A journal whose process may die right before or right after a write is durable."""

    fuse = Fuse()

    def __init__(self, url: str, **more: Any) -> None:
        super().__init__(url, **more)
        self.engine.dispose()
        sa.event.listen(self.engine, "connect", _hurry)

    def append(self, writer: Writer, at: float, events: Sequence[tuple[str | None, ev.Event]], **more: Any) -> Writer:
        what = "+".join(event.kind for _, event in events)
        self.fuse.instant(f"before writing {what}")
        written = super().append(writer, at, events, **more)
        self.fuse.instant(f"after writing {what}")
        return written


def _hurry(connection: Any, _: Any) -> None:
    # A process that dies leaves what it wrote with the system; only a power cut would need the disk's word for it.
    connection.execute("PRAGMA synchronous=OFF")


def killing(inner: Adapter, fuse: Fuse) -> Adapter:
    """``inner``, whose process may die right before or right after a device is asked or told something."""

    class Declared(_KillingAdapter):
        readings = inner.readings
        actions = inner.actions
        simulated = inner.simulated

    return Declared(inner, fuse)


class _KillingAdapter:
    readings: ClassVar[Mapping[str, ReadingSpec]]
    actions: ClassVar[Mapping[str, ActionSpec]]
    simulated: ClassVar[bool]

    def __init__(self, inner: Adapter, fuse: Fuse) -> None:
        self.inner = inner
        self.fuse = fuse

    def open(self) -> None:
        self.inner.open()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self.fuse.instant(f"before reading {reading}")
        answers = self.inner.probe(reading, services)
        self.fuse.instant(f"after reading {reading}")
        return answers

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        results = self.inner.apply(action, calls, permit)
        for _ in calls:
            self.fuse.instant(f"before {action}")
            result = next(results)
            self.fuse.instant(f"after {action}")
            yield result

    def close(self) -> None:
        self.inner.close()


class World(Protocol):
    """What is needed of a world to be killed in: adapters on its clock, and its own account of what went wrong."""

    clock: VirtualClock

    def adapters(self) -> Mapping[Side, Adapter]: ...


@dataclass(frozen=True, slots=True)
class Story:
    """One run. ``world`` makes it anew each time; ``judge`` lists what the world's account holds against us."""

    name: str
    plan: ev.Plan
    world: Callable[[], Any]
    judge: Callable[[Any, ev.Outcome | None], list[str]]
    ends: frozenset[ev.Outcome]
    desk: Callable[[], Prompter] | None = None
    engine: type[Engine] = Engine
    fleet: type[InlineFleet] = InlineFleet
    restart_s: float = 0.1  # seconds between a death and the next process


@dataclass(slots=True)
class Telling:
    """One telling of a story: killed at ``instant`` (None: never), and how it ended."""

    instant: int | None
    place: str
    outcome: ev.Outcome | None
    complaints: list[str] = field(default_factory=list)


def lead(
    story: Story,
    world: Any,
    journal: Journal,
    fuse: Fuse,
    *,
    resume: bool,
    observers: Sequence[Observer] = (),
) -> Run:
    """One process: takes the run, as new or from its record, and leads it to its end (or to its death)."""
    clock = world.clock
    if resume:
        plan = fold(journal.records(RUN)).plan
        lease, writer = take(journal, clock, RUN, {service_key(plan, one): one for one in plan.services})
        state = fold(journal.records(RUN))
    else:
        made = ev.RunCreated(plan=story.plan, by="ann", version="0.1.0")
        lease, writer = create_run(journal, clock, RUN, made)
        state = fold(journal.records(RUN))
    adapters = {side: killing(adapter, fuse) for side, adapter in world.adapters().items()}
    desk = story.desk() if story.desk else None
    fleet = story.fleet(adapters, lease, clock, prompter=desk)
    attended = desk is not None
    engine = story.engine(
        journal, lease, writer, state, fleet, clock, by="ann", attended=attended, observers=observers
    )
    return engine.run()


def tell(story: Story, folder: Path, fuse: Fuse) -> Telling:
    """The story with one fuse; after each death the run is resumed, ``restart_s`` later."""
    world = story.world()
    path = folder / "journal.db"
    path.unlink(missing_ok=True)
    state: Run | None = None
    lives = 0
    while state is None:
        lives += 1
        if lives > 200:
            raise AssertionError(f"{story.name}: still not ended after {lives} lives")
        journal = KillingJournal.at(path)
        journal.fuse = fuse
        try:
            state = lead(story, world, journal, fuse, resume=lives > 1)
        except Killed:
            bury(journal)
            world.clock.advance(story.restart_s)
        finally:
            journal.close()
    place = fuse.places[fuse.at - 1] if fuse.at is not None and len(fuse.places) >= fuse.at else ""
    told = Telling(fuse.at, place, state.outcome)
    told.complaints = [*story.judge(world, state.outcome), *_record_complaints(path, state, story)]
    return told


def bury(journal: Journal) -> None:
    """What the next process would find out by itself: the holder of the lease is dead, nobody has to wait for it."""
    with journal.engine.begin() as connection:
        connection.execute(sa.update(RUNS).values(expires_at=0.0))


def _record_complaints(path: Path, state: Run, story: Story) -> list[str]:
    """The record must prove itself, and tell the same as the memory of the process that wrote it."""
    journal = Journal.at(path)
    try:
        recorded = fold(journal.records(RUN))
    finally:
        journal.close()
    complaints = []
    if recorded != state:
        complaints.append("the record folds to something else than the process believed")
    if state.outcome not in story.ends:
        complaints.append(f"ended {state.outcome}: {[lane.reason for lane in state.lanes.values()]}")
    return complaints


def kill_everywhere(story: Story, folder: Path, *, stride: int = 1) -> Iterator[Telling]:
    """Every telling: the undisturbed one first, then one for each instant (each ``stride``-th of them)."""
    counting = Fuse()
    yield tell(story, folder, counting)
    for at in range(1, counting.count + 1, stride):
        yield tell(story, folder, Fuse(at))


def guilty(tellings: Iterable[Telling]) -> Iterator[str]:
    """All complaints, each with the instant it belongs to."""
    for one in tellings:
        yield from (f"killed at {one.instant} ({one.place}): {text}" for text in one.complaints)


# --- the account of the scripted pair -----------------------------------------------------------------------------


def judge_pair(pair: ScriptedPair, outcome: ev.Outcome | None) -> list[str]:
    """What the pair's own account holds against the run, whatever the record says."""
    return [*judge_safety(pair, outcome), *_sent_twice(pair)]


def judge_safety(pair: ScriptedPair, outcome: ev.Outcome | None, *, escalated: bool = False) -> list[str]:
    """The same for a pair that misbehaves, where sending something again may be right: only never after its effect.

    ``escalated``: somebody decided to go on without the guarantee.
    """
    early = [] if escalated or outcome is ev.Outcome.ESCALATED else _too_early(pair)
    return [*_two_actives(pair), *early, *_again_after_effect(pair), *_wrong_end(pair, outcome)]


def _two_actives(pair: ScriptedPair) -> Iterator[str]:
    for took in pair.took:
        other = took.roles[1] if took.side == "source" else took.roles[0]
        if took.action == "set_role" and ("role", "active") in took.args and other is Role.ACTIVE:
            yield f"{took.service}: {took.side} was activated while the other site was active"


def _too_early(pair: ScriptedPair) -> Iterator[str]:
    for took in pair.took:
        activated = took.action == "set_role" and took.side == "target" and ("role", "active") in took.args
        if activated and (took.depth > 0 or not took.drained):
            yield f"{took.service}: activated with {took.depth:g} messages left, drained: {took.drained}"


def _sent_twice(pair: ScriptedPair) -> Iterator[str]:
    heard = Counter((one.side, one.verb, one.services, one.args) for one in pair.heard)
    for (side, verb, services, args), times in heard.items():
        action = pair.site(side).actions.get(verb)
        if action is not None and not action.idempotent and times > 1:
            yield f"{services[0]}: {verb} {dict(args)} was sent to {side} {times} times"


def _again_after_effect(pair: ScriptedPair) -> Iterator[str]:
    for took in pair.took:
        key = (took.side, took.action, (took.service,), took.args)
        again = [one for one in pair.heard[took.heard :] if (one.side, one.verb, one.services, one.args) == key]
        if again and not pair.site(took.side).actions[took.action].idempotent:
            yield f"{took.service}: {took.action} {dict(took.args)} was sent again after it had taken effect"


def _wrong_end(pair: ScriptedPair, outcome: ev.Outcome | None) -> Iterator[str]:
    """Where activity must be, by the name of the end."""
    home = {"source": Role.ACTIVE, "target": Role.STANDBY}
    away = {"source": Role.STANDBY, "target": Role.ACTIVE}
    wanted = {
        ev.Outcome.DONE: away,
        ev.Outcome.ESCALATED: away,
        ev.Outcome.REVERTED: home,
        ev.Outcome.REFUSED: home,
    }
    for name, one in pair.services.items():
        if outcome in wanted and one.roles != wanted[outcome]:
            yield f"{name}: ended {outcome} with roles {dict(one.roles)}"


__all__ = [
    "RUN",
    "ForgetsDoubt",
    "Fuse",
    "HastyFleet",
    "Killed",
    "KillingJournal",
    "PerformsFirst",
    "Story",
    "Telling",
    "bury",
    "guilty",
    "judge_pair",
    "judge_safety",
    "kill_everywhere",
    "killing",
    "lead",
    "tell",
]
