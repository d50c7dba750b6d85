"""The events that hit a process at an instant: it dies, is stopped, has a rival, loses its journal, gets a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.errors import JournalUnavailable, KeyUsed, LeaseHeld, LeaseLost
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from proof.promises import Broken
from proof.simulation.process import Killed, Process
from proof.simulation.stores import replaced, torn
from proof.simulation.story import FaultEvent

if TYPE_CHECKING:
    from proof.simulation.led import Led
    from proof.simulation.night import SimulatedRun

# These kinds may have to wait, for a question or for a write. They are counted when they happen.
_WAITING = frozenset({"answer", "torn", "disk full", "journal replaced", "beside"})
_OF_ITS_PROCESS = frozenset({"kill", "torn", "pause", "race", "signal", "disk full"})


class FaultEvents:
    """The fault events of one simulation, each at its instant."""

    def __init__(self, simulation: SimulatedRun, strikes: Sequence[FaultEvent]) -> None:
        self._simulation = simulation
        self._strikes = {(strike.near, strike.at): strike for strike in strikes}
        self._near: Counter[str] = Counter()
        self._tearing: FaultEvent | None = None

    def keep_journal(self) -> None:
        """Stops replacing the journal, because the simulation ends with checks of its records."""
        self._strikes = {key: one for key, one in self._strikes.items() if one.kind != "journal replaced"}

    def instant(self, led: Led, process: Process, place: str, number: int) -> None:
        """The ``number``-th of all instants: before or after a write of the journal or a call of a device."""
        if process.lives is not None:
            process.lives -= 1
            if process.lives < 0:
                self._die(process, place)
        if self._tearing is not None and place == "after writing":
            self._tear(led, process, self._tearing)
        if not self._strikes:
            return  # nothing more happens to processes
        call = place.rpartition(" ")[2]
        self._near[call] += 1
        for key in (("", number), (call, self._near[call])):
            strike = self._strikes.pop(key, None)
            if strike is not None:
                self._strike(led, process, strike, place)

    def _strike(self, led: Led, process: Process, strike: FaultEvent, place: str) -> None:
        simulation = self._simulation
        if strike.kind not in _WAITING:
            simulation.hit[strike.kind] += 1
        with simulation.stage.released():
            simulation.meanwhile(strike.meanwhile)
            if strike.kind in _OF_ITS_PROCESS:
                self._strike_process(led, process, strike, place)
            else:
                self._strike_run(led, strike)

    def _strike_process(self, led: Led, process: Process, strike: FaultEvent, place: str) -> None:
        """Applies an event to the process at this instant."""
        simulation = self._simulation
        match strike.kind:
            case "kill":
                self._kill(process, strike, place)
            case "torn":
                self._tearing = strike
                if place == "after writing":
                    self._tear(led, process, strike)
            case "pause":
                simulation.clock.advance(strike.seconds)
                self._another(led, process, strike)
            case "race":
                self._another(led, process, strike)
                self._second_run(led, process)
            case "signal" if process.engine is not None:
                simulation.last, led.signalled = strike, True
                process.engine.pause("interrupted")
            case "disk full" if process.journal is not None:
                simulation.last = strike
                process.journal.fill_disk()
            case _:
                return  # the process has no engine or no journal yet

    def _strike_run(self, led: Led, strike: FaultEvent) -> None:
        """Applies an event to the run, its journal or the world. The process at this instant does not matter."""
        simulation = self._simulation
        match strike.kind:
            case "step":
                simulation.clock.advance(strike.seconds)
            case "journal away":
                simulation.absence.until = simulation.clock.now() + strike.seconds
            case "journal replaced":
                self._replace(led)
            case "beside":
                self._beside(strike)
            case "abort":
                led.put({"kind": "abort", "by": "ann", "reason": "the run is over"})
            case "late word":
                led.late_words += 1
            case "answer":
                led.answer(strike)
            case _:
                return  # only the faults of the world happen

    def _die(self, process: Process, place: str) -> None:
        process.is_dead = True
        raise Killed(place)

    def _kill(self, process: Process, strike: FaultEvent, place: str) -> None:
        self._simulation.last = strike
        self._die(process, place)

    def _tear(self, led: Led, process: Process, strike: FaultEvent) -> None:
        """The power fails while the journal writes, if the journal is a file and no other process has it open."""
        simulation, opened = self._simulation, process.journal
        if not simulation.story.on_disk or opened is None or any(one is not process for _, one in simulation.living):
            return
        self._tearing = None
        written = self._written(led)
        simulation.store.tail = opened.tail
        opened.leave()
        simulation.store = torn(simulation.store, strike.tear)
        simulation.hit["torn"] += self._written(led) < written
        self._kill(process, strike, "writing")

    def _written(self, led: Led) -> int:
        """The number of records of the run in the store."""
        return next((row.seq for row in self._simulation.store.runs() if row.run == led.name), 0)

    def _replace(self, led: Led) -> None:
        """A person replaces the journal's file with an empty one."""
        if not self._simulation.story.on_disk or not led.has_begun:
            return
        self._simulation.hit["journal replaced"] += 1
        last = {one.name: self._written(one) for one in self._simulation.leds}
        replaced(self._simulation.store)
        for one in self._simulation.leds:
            one.is_lost = True
            if one.is_planned:
                one.judge.lose_record(last[one.name])

    def _another(self, led: Led, process: Process, strike: FaultEvent) -> None:
        """A second orchestrator tries to take the run, while this one is stopped."""
        simulation = self._simulation
        heir = simulation.born(process.clock.offset + strike.clock_s, strike.lives, is_threaded=process.is_threaded)
        try:
            led.lead(heir, is_new=not led.has_begun)
        except (Killed, LeaseHeld, LeaseLost, JournalUnavailable):
            return

    def _second_run(self, led: Led, process: Process) -> None:
        """A person enters the same command again."""
        simulation = self._simulation
        journal = simulation.opened(simulation.born(process.clock.offset), led)
        made = ev.RunCreated(plan=led.plan, by="bob", version="0")
        open_services = [lane for lane in led.judge.case.lanes.values() if lane.outcome is None]
        has_begun = led.has_begun
        try:
            create_run(journal, process.clock, "second", made, key=simulation.key_of(led))
        except (LeaseHeld, KeyUsed, JournalUnavailable):
            return
        finally:
            journal.leave()
        simulation.store.forget_claims("second")
        if open_services:
            led.bugs.append(Broken(5, "a second run of the same services could start"))
        if has_begun and simulation.story.keyed:
            led.bugs.append(Broken(5, "a second run could start with one and the same key"))

    def _beside(self, strike: FaultEvent) -> None:
        """Another run starts, or continues, in the middle of this one."""
        simulation = self._simulation
        led = next((one for one in simulation.further if one.is_beside and not one.is_over and not one.is_lost), None)
        if led is None or any(one is led for one, _ in simulation.living):
            return
        simulation.hit["beside"] += 1
        simulation.begin(led)
        process = simulation.born(led.part.clock_s, strike.lives, is_threaded=led.part.threads is not None)
        led.live_beside(process)
