"""Plays a story: processes that live and die one after the other over one world, until the run has its end.

The engine, the fleet, the lease and the journal are the product's own, on the injected clock and on this thread. What
one process does while another one is paused is played at that very instant, inside of it. Judges nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from orchestrator import events as ev
from orchestrator.contract import Adapter, Call, Setting
from orchestrator.dryrun import ReadOnly, preview
from orchestrator.engine import Engine
from orchestrator.errors import JournalUnavailable, LeaseHeld, LeaseLost
from orchestrator.fleet import InlineFleet
from orchestrator.lease import create_run, service_key, take
from orchestrator.readings import Reading
from orchestrator.redact import SecretStore
from orchestrator.runbook import Side
from orchestrator.state import Run, begin, fold
from proof.promises import Broken, Judge
from proof.simulation.afterwards import record_findings
from proof.simulation.effects import led_on
from proof.simulation.elsewhere import Elsewhere
from proof.simulation.lagging import Lagging
from proof.simulation.plans import plain, plan_of
from proof.simulation.process import (
    Endless,
    Killed,
    NightAdapter,
    NightClock,
    NightDesk,
    NightJournal,
    OffsetClock,
    Omissions,
    Process,
)
from proof.simulation.stages import stage_of
from proof.simulation.stores import Stores, torn
from proof.simulation.story import Story, Strike
from proof.simulation.telling import Telling as Telling

RUN = "night"
_SIDES: tuple[Side, Side] = ("source", "target")
_SECRETS = SecretStore(None)
_INSTANTS_MAX = 150_000
_LIVES_MAX = 120
_SETTLE_S = 30.0  # after the end, at most: what was on its way arrives
# They may have to wait, for a question or for a write, and are counted where they happen.
_WAITING = frozenset({"answer", "torn", "disk full"})
_DEAD_LEASE_S = 5.0  # how long is waited before a lease is tried again


def play(story: Story, stores: Stores) -> Telling:
    """The story, once. What the product must never raise is a broken promise too."""
    night = Night(story, stores)
    try:
        return night.play()
    finally:
        night.close()


class Night:
    """One playing of one story."""

    def __init__(self, story: Story, stores: Stores) -> None:
        self.story = story
        self._clock = NightClock()
        self._stage = stage_of(story, self._clock)
        self._on_disk = story.on_disk
        self._store = stores.file() if story.on_disk else stores.memory()
        self._strikes = {(strike.near, strike.at): strike for strike in story.strikes}
        self._effects: Counter[str] = Counter()
        self._omissions = Omissions(story.omissions, self._effects)
        self.lagging = Lagging(story.lags, self._clock, self._effects)
        self._instants = 0
        self._near: Counter[str] = Counter()
        self._living: list[Process] = []
        self._processes = 0
        self._led_by = OffsetClock(self._clock, story.clock_s)
        self._last: Strike | None = None
        self._tearing: Strike | None = None
        self._hit: Counter[str] = Counter()
        self._elsewhere = Elsewhere(self._effects, self._hit)
        self._bugs: list[Broken] = []
        self._dated: dict[int, float] = {}  # when records were written, by the world
        self._error = ""

    def close(self) -> None:
        """Make room for the next night."""
        self._stage.close()
        if self._on_disk:
            self._store.close()

    # The whole

    def play(self) -> Telling:
        """From the prelude to the verdict."""
        self._stage.afflict(self.story.prelude)
        self._clock.advance(self.story.wait)
        self._plan = plan_of(self.story, self._stage, self._clock.now() + self.story.clock_s)
        self._judge = Judge(plain(self._plan, self.story), self._look(count=True), is_whole=True)
        if self.story.rehearsed:
            self._rehearse()
        self._stage.afflict(self.story.faults)
        run = None
        try:
            run = self._to_the_end()
            self._look_back(run)
        except Endless as error:
            self._bugs.append(Broken(4, str(error)))
        except Exception as error:  # noqa: BLE001 - whatever the product raises here is what is looked for
            self._error = type(error).__name__
            self._bugs.append(Broken(4, f"the process ended in {self._error}: {error}"))
        ends = () if run is None else tuple(str(lane.outcome or lane.status) for lane in run.lanes.values())
        outcome = None if run is None else str(run.outcome or run.status)
        broken = (*self._judge.broken, *self._bugs)
        happened = tuple(self._stage.happened())
        return Telling(
            self.story, outcome, ends, broken, self._instants, self._hit, happened, self._effects, self._error
        )

    def _look_back(self, run: Run) -> None:
        """The verdict on a run that nobody leads any more, and of which the judge has heard everything."""
        for seconds in self._stage.settling(_SETTLE_S, counts=self._judge.counts):
            self._clock.advance(seconds)
        self._elsewhere.count([ruling for lane in self._judge.case.lanes.values() for _, ruling in lane.decided])
        self._judge.end(self._look(count=True))
        self._bugs += record_findings(self._store, RUN, run, self.story.seed)

    def _rehearse(self) -> None:
        """A dry run changes nothing."""
        setting = Setting(clock=self._clock, secrets=_SECRETS, read_only=True)
        sites = self._plan.inventory.sites
        adapters = {side: self._stage.adapter(sites[self._plan.site_name(side)], setting) for side in _SIDES}
        before = self._look(count=True)
        preview(self._plan, {side: ReadOnly(adapter) for side, adapter in adapters.items()}, self._clock)
        self._judge.previewed(before, self._look(count=True))

    def _to_the_end(self) -> Run:
        """One process after the other, until nobody has to go on."""
        run: Run | None = None
        resumes, is_begun = self.story.resumes, False
        offset, policy = self.story.clock_s, None
        self._judge.planned(self._plan.digest)
        abort: ev.AbortAsked | None = None
        for _ in range(_LIVES_MAX):
            self._last = None
            process = self._born(offset)
            try:
                run = self._as_recorded(self._lead(process, is_new=not is_begun, abort=abort, policy=policy))
            except Killed:
                offset, abort = self._bury_the_dead(offset)
                run = self._ended()
            except JournalUnavailable:
                self._hit["disk full"] += self._last is not None
                self._clock.advance(self._last.seconds if self._last else 1.0)
                run = self._ended()
            except (LeaseHeld, LeaseLost):
                self._clock.advance(_DEAD_LEASE_S)
                run = self._ended()
            is_begun = is_begun or run is not None or self._has_begun()
            if run is not None:
                if run.outcome not in (ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK) and run.status != "paused":
                    return run
                if not resumes:
                    return run
                resumes, policy, abort = resumes - 1, self.story.later, None
        raise Endless(f"no end after {_LIVES_MAX} processes")

    def _bury_the_dead(self, offset: float) -> tuple[float, ev.AbortAsked | None]:
        """What the next process finds: the clock it has, and what it is told."""
        strike = self._last
        if strike is None:
            return offset, None
        self._clock.advance(strike.seconds)
        if not strike.elsewhere:
            self._store.bury(RUN)
        asked = ev.AbortAsked(by="ann", reason="the night is over") if strike.choice == "abort" else None
        return (offset + strike.clock_s if strike.elsewhere else strike.clock_s), asked

    def _has_begun(self) -> bool:
        return any(row.run == RUN for row in self._store.runs())

    def _as_recorded(self, believed: Run) -> Run | None:
        """The same run, unless another process took it up while this one slept at its very end."""
        self._catch_up(self._store)
        return believed if self._judge.case.seq == believed.seq else self._ended()

    def _ended(self) -> Run | None:
        """The run, if another process has led it to its end meanwhile."""
        if not self._has_begun():
            return None
        self._catch_up(self._store)
        return None if self._judge.case.outcome is None else fold(self._store.records(RUN))

    # One process

    def _born(self, offset: float, lives: int | None = None) -> Process:
        self._processes += 1
        return Process(self._processes, OffsetClock(self._clock, offset), lives)

    def _lead(
        self,
        process: Process,
        *,
        is_new: bool,
        abort: ev.AbortAsked | None = None,
        policy: ev.Policy | None = None,
    ) -> Run:
        """Take the run, as new or from its record, and lead it to its end, or to this process's."""
        journal = process.journal = self._store.of(process, self)
        try:
            if is_new:
                made = ev.RunCreated(plan=self._plan, by="ann", version="0")
                lease, writer = create_run(journal, process.clock, RUN, made)
                state = begin(ev.Record(run=RUN, seq=1, at=process.clock.now(), lane=None, event=made))
            else:
                state = fold(journal.records(RUN))
                plan = state.plan
                keys = {
                    service_key(plan, lane.service): lane.service for lane in state.lanes.values() if not lane.settled
                }
                lease, writer = take(journal, process.clock, RUN, keys)
                self._catch_up(journal)
            now = process.clock.now()
            # One that was taken over before has no lease any more, whatever its time, by a clock that is behind.
            rivals = [one for one in self._living if one.epoch == lease.epoch - 1]
            self._judge.lead(lease.epoch, is_held=any(one.holds_lease(now) for one in rivals))
            if process.clock.now() != self._led_by.now():
                self._effects[led_on(self._led_by.now(), process.clock.now())] += 1
            self._led_by = process.clock
            process.lease = lease
            self._living.append(process)
            person = self.story.person
            desk = None if person is None else NightDesk(person, process.clock, self, self._effects)
            fleet = InlineFleet(self._adapters(process), lease, process.clock, desk=desk)
            if abort is not None:
                self._judge.hear({"kind": "abort"})
            engine = Engine(journal, lease, writer, state, fleet, process.clock, by="ann", attended=desk is not None)
            return engine.run(abort=abort, policy=policy)
        finally:
            journal.leave()
            self._living = [one for one in self._living if one is not process]

    def _adapters(self, process: Process) -> Mapping[Side, Adapter]:
        setting = Setting(clock=process.clock, secrets=_SECRETS)
        sites = self._plan.inventory.sites
        found: dict[Side, Adapter] = {}
        for side in _SIDES:
            site = self._plan.site_name(side)
            adapter = self._stage.adapter(sites[site], setting)
            found[side] = cast("Adapter", NightAdapter(adapter, side, site, process, self))
        return found

    # What a process tells

    def instant(self, process: Process, place: str) -> None:
        """The process could die here, and perhaps it does."""
        self._instants += 1
        if self._instants > _INSTANTS_MAX:
            raise Endless(f"still going on after {_INSTANTS_MAX} instants")
        if process.lives is not None:
            process.lives -= 1
            if process.lives < 0:
                raise Killed(place)
        if self._tearing is not None and place == "after writing":
            self._tear(process, self._tearing)
        if not self._strikes:
            return  # nothing more happens to processes
        call = place.rpartition(" ")[2]
        self._near[call] += 1
        for key in (("", self._instants), (call, self._near[call])):
            strike = self._strikes.pop(key, None)
            if strike is not None:
                self._strike(process, strike, place)

    def writing(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Events are about to be written, dated by now."""
        self._dated.update((row["seq"], self._clock.now()) for row in rows)

    def written(self, process: Process, rows: Sequence[Mapping[str, Any]]) -> None:
        """Events are on disk."""
        seen = self._look()
        self._judge.case.batch = self._judge.case.seq
        for row in rows:
            self._judge.written(row, seen, epoch=process.epoch, moment=self._dated.get(row["seq"]))
        self._judge.look(seen)

    def asking(self, side: Side, reading: str) -> None:
        """A reading is asked."""
        self._judge.asked(side, reading, self._clock.now())

    def answered(self, service: str, gate: ev.GateOpened, ruling: ev.Ruling | None) -> None:
        """Somebody at the desk was asked."""
        if ruling is None or ruling.choice not in gate.choices:
            self._judge.left()
        if ruling is not None:
            self._judge.answered(service, gate.model_dump(mode="json"), ruling.choice, ruling.by)

    def leaving(self, process: Process, side: Side, action: str, call: Call) -> None:
        """A command is on its way to a site."""
        seen = self._look()
        order = {
            "service": call.service,
            "on": side,
            "site": self._plan.site_name(side),
            "action": action,
            "args": dict(call.args),
            "epoch": process.epoch,
            "moment": seen["moment"],
        }
        self._judge.order(order, seen)
        self._judge.look(seen)

    def told(self, reading: str, answer: Reading) -> Reading:
        """The answer as this family gives it this time."""
        return self._omissions.told(reading, answer)

    def asked(self) -> bool:
        """Somebody at the desk is asked. Does somebody elsewhere answer, who waited for that?"""
        return self._elsewhere.hear(self._open(), self._put)

    def _look(self, *, count: bool = False) -> dict[str, Any]:
        return {**self._stage.look(count=count), "lags": self.lagging.most}

    def _catch_up(self, journal: NightJournal) -> None:
        """Let the judge hear what a process wrote and could not tell of any more."""
        seen = None
        for line in journal.lines(RUN, after=self._judge.case.seq):
            seen = seen or self._look()  # mostly there is nothing new
            self._judge.written(line, seen, moment=self._dated.get(line["seq"]))

    # What happens to a process

    def _strike(self, process: Process, strike: Strike, place: str) -> None:
        if strike.kind not in _WAITING:
            self._hit[strike.kind] += 1
        match strike.kind:
            case "kill":
                self._kill(strike, place)
            case "torn":
                self._tearing = strike
                if place == "after writing":
                    self._tear(process, strike)
            case "pause":
                self._clock.advance(strike.seconds)
                self._another(process, strike)
            case "race":
                self._another(process, strike)
                self._second_run(process)
            case "step":
                self._clock.advance(strike.seconds)
            case "abort":
                self._put({"kind": "abort", "by": "ann", "reason": "the night is over"})
            case "answer":
                self._elsewhere.answer(strike.choice, self._open(), self._put)
            case "disk full" if self._on_disk and process.journal is not None:
                self._last = strike
                process.journal.fill_disk()
            case "disk full":
                return  # in memory there is room

    def _kill(self, strike: Strike, place: str) -> None:
        self._last = strike
        raise Killed(place)

    def _tear(self, process: Process, strike: Strike) -> None:
        """The power goes while the journal writes, if that is a file, and no other process has it open."""
        opened = process.journal
        if not self._on_disk or opened is None or any(one is not process for one in self._living):
            return
        self._tearing = None
        written = self._written()
        self._store.tail = opened.tail
        opened.leave()
        self._store = torn(self._store, strike.tear)
        self._hit["torn"] += self._written() < written
        self._kill(strike, "writing")

    def _written(self) -> int:
        """How many records of the run are in the store."""
        return next((row.seq for row in self._store.runs() if row.run == RUN), 0)

    def _another(self, process: Process, strike: Strike) -> None:
        """A second orchestrator wants the run, while this one stands still."""
        heir = self._born(process.clock.offset + strike.clock_s, strike.lives)
        try:
            self._lead(heir, is_new=not self._has_begun())
        except (Killed, LeaseHeld, LeaseLost, JournalUnavailable):
            return

    def _second_run(self, process: Process) -> None:
        """Somebody types the same command once more."""
        journal = self._store.of(self._born(process.clock.offset), self)
        made = ev.RunCreated(plan=self._plan, by="bob", version="0")
        open_services = [lane for lane in self._judge.case.lanes.values() if lane.outcome is None]
        try:
            create_run(journal, process.clock, "second", made)
        except LeaseHeld:
            return
        finally:
            journal.leave()
        if open_services:
            self._bugs.append(Broken(5, "a second run of the same services could begin"))

    def _open(self) -> Mapping[str, Mapping[tuple[str, str | None], Mapping[str, Any]]]:
        """The questions that are open, by lane."""
        return {service: lane.gates for service, lane in self._judge.case.lanes.items()}

    def _put(self, wish: Mapping[str, str]) -> None:
        self._judge.hear(wish)
        self._store.ask(RUN, wish)
