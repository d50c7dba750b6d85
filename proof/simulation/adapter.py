"""A watched adapter of a site: the simulation sees every call of one process to the site.

It lets a process die between any two calls, shows outdated or incomplete readings, waits for a slow device, and loses
results as a broken session does. It must never answer for a device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.errors import ConnectionLost, HostKeyRejected
from orchestrator.family.contract import Adapter, Call, Permit, Result
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from proof.simulation.effects import QUIRK, left_out
from proof.simulation.process import Onlooker, Process
from proof.simulation.story import Omission, Quirk


class SimulatedAdapter:
    """Calls go out one by one, so that a process can die between any two of them."""

    def __init__(
        self, inner: Adapter, side: Side, site: str, process: Process, onlooker: Onlooker, quirks: Quirks
    ) -> None:
        self._inner = inner
        self._side = side
        self._site = site
        self._process = process
        self._onlooker = onlooker
        self._quirks = quirks
        self.readings = inner.readings
        self.actions = inner.actions
        self.simulated = inner.simulated

    def open(self) -> None:
        self._inner.open()

    def delay(self, name: str) -> tuple[float, float]:
        """See ``fleet.Delayed``: a process that uses both sites at the same time does not wait here."""
        return self._onlooker.slowness.of(self._site, name)

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self._onlooker.asking(self._side, reading)
        self._onlooker.instant(self._process, f"before reading {reading}")
        after = self._wait(reading)
        if self._quirks.is_due(self._site, "host key"):
            raise HostKeyRejected(f"{self._site} shows another host key", device=self._site)
        answers = self._onlooker.lagging.shown(self._site, reading, self._inner.probe(reading, services))
        self._process.clock.sleep(after)
        self._onlooker.instant(self._process, f"after reading {reading}")
        return {service: self._told(reading, answer) for service, answer in answers.items()}

    def _wait(self, name: str) -> float:
        """Waits for a slow device. Returns the seconds that its answer takes."""
        if self._process.is_threaded:
            return 0.0
        before, after = self._onlooker.slowness.of(self._site, name)
        self._process.clock.sleep(before)
        return after

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        after = self._wait(action)
        swapped: Result | None = None
        for number, call in enumerate(calls):
            self._onlooker.instant(self._process, f"before {action}")
            if self._quirks.is_due(self._site, "host key"):
                raise HostKeyRejected(f"{self._site} shows another host key", device=self._site)
            self._onlooker.lagging.before_change(self._site, self._inner)
            watched = _WatchedPermit(permit, self, action, call)
            results = list(self._inner.apply(action, [call], watched))
            self._process.clock.sleep(after)
            self._onlooker.instant(self._process, f"after {action}")
            if watched.has_left and number + 1 == len(calls) and self._quirks.is_due(self._site, "mute"):
                return
            if watched.has_left and self._quirks.is_due(self._site, "broken session"):
                raise ConnectionLost(f"{self._site} closed the session", device=self._site)
            if swapped is None and number + 1 < len(calls) and self._quirks.is_due(self._site, "swapped"):
                [swapped] = results
                continue
            yield from results
            if swapped is not None:
                yield swapped
                swapped = None

    def close(self) -> None:
        self._inner.close()

    def leaving(self, action: str, call: Call) -> None:
        """A command is on its way."""
        self._onlooker.leaving(self._process, self._side, action, call)

    def before_permit(self, action: str) -> None:
        """The permit is about to be asked whether a command may leave."""
        self._onlooker.instant(self._process, f"before the permit of {action}")

    def _told(self, reading: str, answer: Reading | Failure) -> Reading | Failure:
        """The answer as this family gives it. Some families leave out fields that others report."""
        if isinstance(answer, Failure):
            return answer
        return self._onlooker.told(reading, answer)


class _WatchedPermit:
    """Checks the permit itself, and then tells the onlooker that the command leaves."""

    def __init__(self, inner: Permit, adapter: SimulatedAdapter, action: str, call: Call) -> None:
        self._inner, self._adapter, self._action, self._call = inner, adapter, action, call
        self.has_left = False

    def check(self) -> None:
        self._adapter.before_permit(self._action)
        self._inner.check()
        self._adapter.leaving(self._action, self._call)
        self.has_left = True


class Quirks:
    """The drawn defects in the answers of adapters. ``effects`` counts those that occurred."""

    def __init__(self, quirks: Sequence[Quirk], effects: Counter[str]) -> None:
        self._effects = effects
        self._left = [(one, [one.skip, one.times]) for one in quirks]

    def is_due(self, site: str, kind: str) -> bool:
        """Does the defect ``kind`` of the site occur in this call?"""
        for quirk, left in self._left:
            if (quirk.site, quirk.kind) != (site, kind) or left[1] <= 0:
                continue
            if left[0]:
                left[0] -= 1
                continue
            left[1] -= 1
            self._effects[f"{QUIRK}: {kind}"] += 1
            return True
        return False


class Omissions:
    """The fields that a family leaves out. ``effects`` counts those that would have been known."""

    def __init__(self, omissions: Sequence[Omission], effects: Counter[str]) -> None:
        self._effects = effects
        self._left = [(one, [one.skip, one.times]) for one in omissions]

    def told(self, reading: str, answer: Reading) -> Reading:
        """The answer without the fields that are left out this time."""
        for omission, left in self._left:
            if omission.reading == reading and self._is_due(left):
                answer = self._without(answer, omission)
        return answer

    @staticmethod
    def _is_due(left: list[int]) -> bool:
        if left[0]:
            left[0] -= 1
            return False
        left[1] -= 1
        return left[1] >= 0

    def _without(self, answer: Reading, omission: Omission) -> Reading:
        name, _, inner = omission.field.partition(".")
        if name not in type(answer).model_fields:
            return answer  # a kept story may name a value that is not a field of the reading
        value = getattr(answer, name)
        if inner:
            is_known = any(getattr(one, inner) is not None for one in value)
            value = tuple(one.model_copy(update={inner: None}) for one in value)
        else:
            is_known, value = value is not None, None
        if is_known:
            self._effects[left_out(omission.reading, omission.field)] += 1
        return answer.model_copy(update={name: value})
