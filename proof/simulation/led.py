"""One run within a simulation: its plan, its judge, and the processes that lead it one after the other to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from orchestrator.core.run import Run, fold
from orchestrator.engine.dispatch import Fleet, InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.engine.held import hold_again, hold_new
from orchestrator.errors import JournalUnavailable, LeaseHeld, LeaseLost
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.model import events as ev
from orchestrator.model.reading import Reading
from orchestrator.model.requests import request_of
from orchestrator.model.runbook import Side
from proof.promises import Broken, Judge
from proof.simulation.adapter import SimulatedAdapter
from proof.simulation.effects import led_on
from proof.simulation.elsewhere import Elsewhere
from proof.simulation.families import simulation_of
from proof.simulation.fleet import SeededFleet
from proof.simulation.journal import SECRETS
from proof.simulation.lagging import Lagging
from proof.simulation.people import Approvers, SimulatedPrompter
from proof.simulation.plans import plain, plan_of
from proof.simulation.process import Endless, Killed, Process
from proof.simulation.slowness import Slowness
from proof.simulation.story import FaultEvent, Further, Part, family_of

if TYPE_CHECKING:
    from proof.simulation.journal import SimulatedJournal
    from proof.simulation.night import SimulatedRun

SIDES: tuple[Side, Side] = ("source", "target")
_LIVES_MAX = 120
_TRIES = 5
_LOCKED_OUT_MAX = 12
_LEASE_S = 15.0
_DEAD_LEASE_S = 5.0  # the wait before the next attempt to take the lease
_UNFINISHED = (ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK)


class Led:
    """One run. ``part``: its drawn description. ``name``: the run's name in the journal."""

    def __init__(self, simulation: SimulatedRun, name: str, part: Part) -> None:
        self.simulation, self.name, self.part = simulation, name, part
        self.run: Run | None = None
        self.is_planned = self.is_over = self.is_refused = self.is_lost = False
        self.bugs: list[Broken] = []
        self.late_words = 0
        self.signalled = False
        self._dated: dict[str, float] = {}  # by the hash of a record: the world's moment at which it was written
        self.elsewhere = Elsewhere(simulation.effects, simulation.hit)
        self._resumes = part.resumes
        self._locked_out = 0
        self._offset = part.clock_s
        self._led_by = simulation.clock_off_by(part.clock_s)

    def make_plan(self) -> None:
        """Makes the plan as a person would who reads the world now."""
        simulation = self.simulation
        self.plan = plan_of(
            self.part, simulation.stage, simulation.clock.now() + self.part.clock_s, simulation.failed_over_at(self)
        )
        rules = simulation_of(family_of(self.part.kind)).rules
        self.judge = Judge(plain(self.plan, self.part), simulation.look(count=True), is_whole=True, rules=rules)
        self.judge.planned(self.plan.digest)
        self._approvers = Approvers(self.part.sought, simulation.clock.now(), simulation.effects)
        self.is_planned = True

    @property
    def is_beside(self) -> bool:
        """Does the run take place in the middle of another run?"""
        return isinstance(self.part, Further) and self.part.beside

    @property
    def has_begun(self) -> bool:
        """Is the run on record?"""
        return any(row.run == self.name for row in self.simulation.store.runs())

    # From process to process

    def to_the_end(self) -> Run | None:
        """Runs one process after the other, until no process has to continue. None: the run's record is lost, or the run
        could not start because other runs have its services."""
        policy: ev.Policy | None = None
        abort: ev.AbortAsked | None = None
        for _ in range(_LIVES_MAX):
            if self.is_lost or self.is_refused:
                return None
            self.simulation.last = None
            run, abort = self._one_life(abort, policy)
            if run is None:
                continue
            if self.signalled and run.outcome is None:
                self.signalled = False
                self.simulation.clock.advance(self.simulation.last.seconds if self.simulation.last else 1.0)
                continue
            is_stopped = run.status == "paused" or not all(lane.settled for lane in run.lanes.values())
            if not is_stopped or not self._resumes:
                self.run, self.is_over = run, True
                return run
            self._resumes, policy, abort = self._resumes - 1, self.part.later, None
            self._be_away()
            if policy is not None:
                self.judge.planned(run.plan.model_copy(update={"policy": policy}).digest)
        raise Endless(f"no end after {_LIVES_MAX} processes")

    def _one_life(
        self, abort: ev.AbortAsked | None, policy: ev.Policy | None
    ) -> tuple[Run | None, ev.AbortAsked | None]:
        """Runs one process. Returns the run as this process left it, and the abort request for the next process."""
        simulation = self.simulation
        process = simulation.born(self._offset, is_threaded=self.part.threads is not None)
        try:
            return self._as_recorded(self.lead(process, is_new=not self.has_begun, abort=abort, policy=policy)), None
        except Killed:
            self._offset, abort = self._bury_the_dead(self._offset)
            return self.ended(), abort
        except JournalUnavailable:
            simulation.hit["disk full"] += simulation.last is not None and simulation.last.kind == "disk full"
            simulation.clock.advance(simulation.last.seconds if simulation.last else 1.0)
            return self.ended(), None
        except (LeaseHeld, LeaseLost) as error:
            if not self.has_begun and simulation.is_taken(self):
                self.is_refused = True
                return None, None
            if not self.has_begun:
                simulation.let_go(self)
            self._locked_out = self._locked_out + 1 if isinstance(error, LeaseHeld) else 0
            if self._locked_out > _LOCKED_OUT_MAX:
                raise Endless(f"no process can lead it: {error}") from None
            simulation.clock.advance(_DEAD_LEASE_S)
            return self.ended(), None

    def let_go(self) -> None:
        """Resumes an ended run whose last process died before it released the services. The resume releases them."""
        for _ in range(_TRIES):
            self.simulation.absence.until = 0.0
            self.simulation.store.bury(self.name)
            try:
                self.lead(self.simulation.born(self.part.clock_s), is_new=False)
                return
            except (Killed, JournalUnavailable, LeaseHeld, LeaseLost):
                self.simulation.clock.advance(_LEASE_S)

    def live_beside(self, process: Process) -> None:
        """Leads the run with one process in the middle of another run. Later processes do the rest."""
        try:
            run = self._as_recorded(self.lead(process, is_new=not self.has_begun))
        except Killed:
            self.simulation.store.bury(self.name)
            return
        except (LeaseHeld, LeaseLost, JournalUnavailable):
            return
        self.is_over = run is not None and run.outcome not in (None, *_UNFINISHED)
        self.run = run if self.is_over else None

    def _bury_the_dead(self, offset: float) -> tuple[float, ev.AbortAsked | None]:
        """The clock offset of the next process in seconds, and its abort request, if any."""
        strike = self.simulation.last
        if strike is None:
            return offset, None
        self.simulation.clock.advance(strike.seconds)
        if not strike.elsewhere:
            self.simulation.store.bury(self.name)
        # Half of the aborts permanently leave changes that cannot be rolled back.
        leave = strike.tear < 0.5
        asked = ev.AbortAsked(by="ann", reason="the run is over", leave=leave) if strike.choice == "abort" else None
        return (offset + strike.clock_s if strike.elsewhere else strike.clock_s), asked

    def _be_away(self) -> None:
        """A person stopped the run, or the run waits for a person. The person comes back later, and the world continues
        meanwhile."""
        for _ in range(self.late_words):
            self.put({"kind": "abort", "by": "ann", "reason": "too late"})
        self.late_words = 0
        self.simulation.meanwhile(self.part.between)
        self.simulation.clock.advance(self.part.back_after)

    def _as_recorded(self, believed: Run) -> Run | None:
        """The same run, unless another process resumed it while this one slept at its end."""
        if self.is_lost:
            return None
        self.catch_up(self.simulation.store)
        return believed if self.judge.case.seq == believed.seq else self.ended()

    def ended(self) -> Run | None:
        """The run, if another process has led it to its end meanwhile. Otherwise None."""
        if self.is_lost or not self.has_begun:
            return None
        self.catch_up(self.simulation.store)
        return None if self.judge.case.outcome is None else fold(self.simulation.store.records(self.name))

    # One process

    def lead(
        self,
        process: Process,
        *,
        is_new: bool,
        abort: ev.AbortAsked | None = None,
        policy: ev.Policy | None = None,
    ) -> Run:
        """Take the run, as new or from its record, and lead it to its end, or until this process ends."""
        simulation = self.simulation
        journal = process.journal = simulation.opened(process, self)
        try:
            if is_new:
                made = ev.RunCreated(plan=self.plan, by="ann", version="0")
                held = hold_new(journal, process.clock, self.name, made, key=simulation.key_of(self))
            else:
                held = hold_again(journal, process.clock, self.name)
                self.catch_up(journal)
            self._has_taken(process, held.lease.epoch)
            process.lease = held.lease
            simulation.living.append((self, process))
            fleet, is_attended = self._fleet(process)
            if abort is not None:
                self.judge.resumed_to_abort()
            engine = Engine(journal, *held, fleet, process.clock, by="ann", attended=is_attended)
            process.engine = engine
            return engine.run(abort=abort, policy=policy)
        except Killed:
            process.is_dead = True
            raise
        finally:
            process.is_over = True
            journal.leave()
            simulation.living = [one for one in simulation.living if one[1] is not process]

    def _has_taken(self, process: Process, epoch: int) -> None:
        """The process has a new lease. The previous holder has lost its lease, even if that lease still runs by a clock
        that is behind."""
        rivals = [one for led, one in self.simulation.living if led is self and one.epoch == epoch - 1]
        self.judge.lead(epoch, is_held=any(_still_has(one, process) for one in rivals))
        if process.clock.now() != self._led_by.now():
            self.simulation.effects[led_on(self._led_by.now(), process.clock.now())] += 1
        self._led_by = process.clock

    def _fleet(self, process: Process) -> tuple[Fleet, bool]:
        """The fleet that carries the process's commands to the sites, and whether a person is at the terminal."""
        person, simulation = self.part.person, self.simulation
        prompter = None
        if person is not None:
            prompter = SimulatedPrompter(
                person, process.clock, self, simulation.effects, simulation.said("as agreed on the call")
            )
        adapters, lease = self._adapters(process), process.lease
        assert lease is not None  # the lease has just been taken
        if self.part.threads is None:
            return InlineFleet(adapters, lease, process.clock, prompter=prompter), prompter is not None
        seed = self.part.threads + process.number
        return (
            SeededFleet(
                adapters, lease, process.clock, prompter=prompter, seed=seed, is_dead=lambda: process.is_dead
            ),
            prompter is not None,
        )

    def _adapters(self, process: Process) -> Mapping[Side, Adapter]:
        context = AdapterContext(clock=process.clock, secrets=SECRETS)
        sites = self.plan.inventory.sites
        found: dict[Side, Adapter] = {}
        for side in SIDES:
            site = self.plan.site_name(side)
            inner = self.simulation.stage.adapter(sites[site], context)
            found[side] = cast("Adapter", SimulatedAdapter(inner, side, site, process, self, self.simulation.quirks))
        return found

    # Notifications from a process

    def instant(self, process: Process, place: str) -> None:
        """The process could die here, and perhaps it does."""
        self.simulation.instant(self, process, place)

    def writing(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Events are about to be written, dated now."""
        self._dated.update((row["hash"], self.simulation.clock.now()) for row in rows)

    def written(self, process: Process, rows: Sequence[Mapping[str, Any]]) -> None:
        """Events are on disk."""
        seen = self.simulation.look()
        self.judge.case.batch = self.judge.case.seq
        for row in rows:
            self.judge.written(row, seen, epoch=process.epoch, moment=self._dated.get(row["hash"]))
        self.judge.look(seen)

    def listening(self) -> None:
        """The inbox is about to be read."""
        self._approvers.speak(self.simulation.clock.now(), self.judge.case.hearing.digest, self.put)

    def asking(self, side: Side, reading: str) -> None:
        """A reading is asked."""
        self.judge.asked(side, reading, self.simulation.clock.now())

    def answered(self, service: str, gate: ev.GateOpened, ruling: ev.Ruling | None) -> None:
        """A person at the terminal was asked."""
        if ruling is None or ruling.choice not in gate.choices:
            self.judge.left()
        if ruling is not None:
            self.judge.answered(service, gate.model_dump(mode="json"), ruling.choice, ruling.by)

    def leaving(self, process: Process, side: Side, action: str, call: Call) -> None:
        """A command is on its way to a site."""
        seen = self.simulation.look()
        order = {
            "service": call.service,
            "on": side,
            "site": self.plan.site_name(side),
            "action": action,
            "args": dict(call.args),
            "epoch": process.epoch,
            "moment": seen["moment"],
            "now": self.simulation.clock.now(),
            "lease_left": process.lease_left,
            "is_over": process.is_over,
            "is_away": self.simulation.clock.now() < self.simulation.absence.until,
        }
        self.judge.order(order, seen)
        self.judge.look(seen)

    def told(self, reading: str, answer: Reading) -> Reading:
        """The answer without the fields that this family leaves out this time."""
        return self.simulation.omissions.told(reading, answer)

    def asked(self) -> bool:
        """A person at the terminal is asked. True if a person at another terminal has waited for a question and answers
        this one."""
        return self.elsewhere.hear(self.open_gates(), self.put)

    @property
    def lagging(self) -> Lagging:
        return self.simulation.lagging

    @property
    def slowness(self) -> Slowness:
        return self.simulation.slowness

    def catch_up(self, journal: SimulatedJournal) -> None:
        """Passes to the judge the records that a process wrote but could no longer report."""
        seen = None
        for line in journal.lines(self.name, after=self.judge.case.seq):
            seen = seen or self.simulation.look()  # mostly there is nothing new
            self.judge.written(line, seen, moment=self._dated.get(line["hash"]))

    def open_gates(self) -> Mapping[str, Mapping[tuple[str, str | None], Mapping[str, Any]]]:
        """The questions that are open, by lane."""
        return {service: lane.gates for service, lane in self.judge.case.lanes.items()}

    def put(self, wish: Mapping[str, str]) -> None:
        """A person leaves a request."""
        wish = {**wish, "reason": self.simulation.said(wish.get("reason", ""))}
        self.judge.hear(wish, is_led=any(led is self for led, _ in self.simulation.living))
        self.simulation.store.ask(self.name, request_of(wish))

    def answer(self, strike: FaultEvent) -> None:
        """A person answers every open question from elsewhere."""
        self.elsewhere.answer(strike.choice, self.open_gates(), self.put)


def _still_has(one: Process, heir: Process) -> bool:
    """Does a process still have its lease, by its own clock and by that of its successor? If the clocks differ by more
    than the length of a lease, one clock is wrong, and epochs keep the two processes apart."""
    is_near = abs(one.clock.offset - heir.clock.offset) < _LEASE_S
    return is_near and not one.is_dead and one.holds_lease(one.clock.now()) and one.holds_lease(heir.clock.now())
