"""Plays a story: processes start and die one after the other in one world, until each run has its end.

The engine, the fleet, the lease and the journal are the product's own, on the injected clock and on this thread. If one
process acts while another process is paused, its actions are played at that instant, inside the call of the paused
process. This module judges nothing itself.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Sequence
from typing import Any

from orchestrator.engine.dry_run import preview
from orchestrator.engine.dry_run_lines import ReadOnly
from orchestrator.family.contract import AdapterContext
from proof.promises import Broken
from proof.simulation.adapter import Omissions, Quirks
from proof.simulation.afterwards import record_findings, secrets_told, tampering, tries_again
from proof.simulation.effects import ANOTHER_CLOCK, FURTHER, MEANWHILE, STALE, kind_of
from proof.simulation.families import stage_of
from proof.simulation.journal import SECRETS, Absence, SimulatedJournal
from proof.simulation.lagging import Lagging
from proof.simulation.led import SIDES, Led
from proof.simulation.process import Endless, OffsetClock, Process, SimulatedClock
from proof.simulation.slowness import Slowness
from proof.simulation.stores import Stores
from proof.simulation.story import FaultEvent, Further, Story
from proof.simulation.striking import FaultEvents
from proof.simulation.telling import Telling as Telling

RUN = "night"
_INSTANTS_MAX = 60_000
_SETTLE_S = 30.0  # after the end, at most: everything in transit arrives


def play(story: Story, stores: Stores) -> Telling:
    """Plays the story once. An exception that the product must never raise is a broken promise too."""
    simulation = SimulatedRun(story, stores)
    try:
        return simulation.play()
    finally:
        simulation.close()


class SimulatedRun:
    """One simulation of one story."""

    def __init__(self, story: Story, stores: Stores) -> None:
        self.story = story
        self.clock = SimulatedClock()
        self.stage = stage_of(story, self.clock)
        self.store: SimulatedJournal = stores.file() if story.on_disk else stores.memory()
        self.store.scrub_with(SECRETS.redactor.scrub if story.secret else str)
        self.effects: Counter[str] = Counter()
        self.hit: Counter[str] = Counter()
        self.omissions = Omissions(story.omissions, self.effects)
        self.lagging = Lagging(story.lags, self.clock, self.effects)
        self.slowness = Slowness(story.slow, self.effects)
        self.quirks = Quirks(story.quirks, self.effects)
        self.absence = Absence()
        self.last: FaultEvent | None = None
        self.living: list[tuple[Led, Process]] = []
        self.secret_forms = _forms(story.secret)
        self._striking = FaultEvents(self, story.strikes)
        self._instants = 0
        self._processes = 0
        self._error = ""
        self._bugs: list[Broken] = []
        self.first = Led(self, RUN, story)
        self.further = [Led(self, f"{RUN}-{number}", one) for number, one in enumerate(story.further, 2)]

    def close(self) -> None:
        """Free the resources for the next simulation."""
        self.stage.close()
        if self.story.on_disk:
            self.store.close()

    # The whole simulation

    def play(self) -> Telling:
        """Plays the story from the prelude to the verdict."""
        self.stage.inject(self.story.prelude)
        self.clock.advance(self.story.wait)
        self.first.make_plan()
        if self.story.rehearsed:
            self._rehearse()
        self.stage.inject(self.story.faults)
        try:
            self._play_all()
        except Endless as error:
            self._bugs.append(Broken(4, str(error)))
        except Exception as error:  # noqa: BLE001 - whatever the product raises here is what is searched for
            self._error = type(error).__name__
            self._bugs.append(Broken(4, f"the process ended in {self._error}: {error}"))
        return self._telling()

    def _telling(self) -> Telling:
        run = self.first.run
        ends = () if run is None else tuple(str(lane.outcome or lane.status) for lane in run.lanes.values())
        outcome = None if run is None else str(run.outcome or run.status)
        if self.first.is_lost:
            outcome = "record lost"
        judged = [broken for led in self.leds if led.is_planned for broken in (*led.judge.broken, *led.bugs)]
        happened = tuple(self.stage.happened())
        self.effects[STALE] += sum(led.judge.stale for led in self.leds if led.is_planned)
        broken = (*dict.fromkeys((*judged, *self._bugs)),)
        return Telling(
            self.story, outcome, ends, broken, self._instants, self.hit, happened, self.effects, self._error
        )

    @property
    def leds(self) -> Sequence[Led]:
        """Every run of the simulation."""
        return (self.first, *self.further)

    def _play_all(self) -> None:
        """Plays the first run together with the runs beside it, and then the others."""
        self._to_the_end(self.first)
        for led in self.further:
            if led.is_over:
                if not led.is_lost:
                    self.verdict(led)
                continue
            assert isinstance(led.part, Further)
            self.clock.advance(led.part.wait)
            self.begin(led)
            self._to_the_end(led)
        for led in self.leds:
            if led.run is not None:
                led.judge.lasting(self.look())
        self.absence.until = 0.0
        self._striking.keep_journal()
        if self.secret_forms and not self.first.is_lost:
            self._bugs += secrets_told(self.store, self.secret_forms)
        for led in self.leds:
            if led.is_over and led.run is not None and not led.is_lost:
                self._bugs += tries_again(self, led)
                self._bugs += tampering(self.store, led.name, self.story.seed)

    def begin(self, led: Led) -> None:
        """Plans a further run, unless it is planned already."""
        if led.is_planned:
            return
        led.make_plan()
        self.effects[f"{FURTHER}: {led.part.kind}"] += 1
        for other in self.leds:
            if other.is_planned and other is not led:
                other.judge.case.others.append(led.judge.case)
                led.judge.case.others.append(other.judge.case)

    def _to_the_end(self, led: Led) -> None:
        """Leads a run to its end, and judges it."""
        if led.to_the_end() is not None:
            self.verdict(led)

    def verdict(self, led: Led) -> None:
        """Judges a run that no process leads any more, after the judge has heard everything."""
        for seconds in self.stage.settling(_SETTLE_S, counts=led.judge.counts):
            self.clock.advance(seconds)
        led.elsewhere.count([ruling for lane in led.judge.case.lanes.values() for _, ruling in lane.decided])
        seen = self.look(count=True)
        led.judge.end(seen)
        if led.run is not None:
            believed = None if self.story.secret else led.run
            is_one = not any(kind_of(effect) == ANOTHER_CLOCK for effect in self.effects)
            found = record_findings(self.store, led.name, believed, led.judge, seen, is_of_one_clock=is_one)
            self._bugs += found

    def _rehearse(self) -> None:
        """Makes a dry run, which must change nothing."""
        plan = self.first.plan
        context = AdapterContext(clock=self.clock, secrets=SECRETS, read_only=True)
        sites = plan.inventory.sites
        adapters = {side: self.stage.adapter(sites[plan.site_name(side)], context) for side in SIDES}
        before = self.look(count=True)
        preview(plan, {side: ReadOnly(adapter) for side, adapter in adapters.items()}, self.clock)
        self.first.judge.previewed(before, self.look(count=True))

    # Services for runs and processes

    def born(self, offset: float, lives: int | None = None, *, is_threaded: bool = False) -> Process:
        """A new process, with its clock."""
        self._processes += 1
        return Process(self._processes, self.clock_off_by(offset), lives, is_threaded=is_threaded)

    def clock_off_by(self, offset: float) -> OffsetClock:
        """The simulation's time on a machine whose clock is off by ``offset`` seconds."""
        return OffsetClock(self.clock, offset)

    def opened(self, process: Process, led: Led) -> SimulatedJournal:
        """The journal, opened by a process."""
        return self.store.of(process, led, self.absence)

    def is_taken(self, led: Led) -> bool:
        """Does another run, which is not finished, have a service of this one?"""
        return any(
            lane.service in led.part.services and lane.outcome in (None, "needs-operator", "stuck") and not lane.left
            for other in self.leds
            if other is not led and other.is_planned and other.has_begun
            for lane in other.judge.case.lanes.values()
        )

    def let_go(self, led: Led) -> None:
        """Resumes ended runs that still have services of this one, so that they release them."""
        for other in self.leds:
            if (
                other is not led
                and other.is_over
                and not other.is_lost
                and set(other.part.services) & set(led.part.services)
            ):
                other.let_go()

    def key_of(self, led: Led) -> str | None:
        """The caller's own key for a run. None: the story has no keys."""
        return f"key of {led.name}" if self.story.keyed else None

    def said(self, reason: str) -> str:
        """A person's reason, with a secret in it if one is drawn."""
        return f"{reason} {' '.join(self.secret_forms)}" if self.secret_forms and reason else reason

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """The present true state, for the judge."""
        return {**self.stage.look(count=count), "lags": self.lagging.most}

    def failed_over_at(self, led: Led) -> float | None:
        """The world's moment at which the source of a further run took over. None for a run that does not follow a
        fail-over."""
        if not isinstance(led.part, Further) or not led.part.after_failover:
            return None
        services = self.look()["services"]
        taken = [
            change[0]
            for service in led.part.services
            for change in services[service]["changes"]
            if change[1] == led.part.source and change[2] == "active"
        ]
        return max(taken, default=None)

    def meanwhile(self, faults: Sequence[str]) -> None:
        """Injects ``faults`` into the world, from now on."""
        if faults:
            self.stage.inject(faults)
            self.effects[f"{MEANWHILE}: {' '.join(faults[0].split()[2:3])}"] += 1

    def instant(self, led: Led, process: Process, place: str) -> None:
        """A process could die here, and perhaps it does."""
        self._instants += 1
        if self._instants > _INSTANTS_MAX:
            raise Endless(f"still running after {_INSTANTS_MAX} instants")
        self._striking.instant(led, process, place, self._instants)


def _forms(secret: str) -> tuple[str, ...]:
    """A secret as people and devices write it."""
    return (secret, urlsafe_b64encode(secret.encode()).decode()) if secret else ()
