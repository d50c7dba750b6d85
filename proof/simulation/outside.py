"""The simulated command of a fence plan: it keeps clients off a site by a means outside of its devices.

It behaves as ``adapters/local`` describes such commands. If its check shows that the work is done, the command is not run
again. Exit code 0 means done. Another exit code means refused. The outcome of a command that was cut short is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.clock import Clock
from orchestrator.family.contract import ActionSpec, Adapter, ArgumentSpec, Call, Permit, ReadingSpec, Result
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import ExternalFence
from proof.simulation.story import CommandEnd, FenceCommand

READING, ACTION = "external_fence", "set_external_fence"


class OutsideFence:
    """The switch behind the command, and the end of each run of the command. ``turn``: closes or opens the site in its
    world."""

    def __init__(self, how: FenceCommand, clock: Clock, turn: Callable[[bool], None]) -> None:
        self.site = how.site
        self.ran: list[str] = []  # the states that it was told to set
        self._clock = clock
        self._in_world = turn
        self._ends = list(how.ends)
        self._silent = list(how.silent)
        self._late: list[tuple[float, bool]] = []
        self._closed = False
        self._looks = 0
        self._turn(closed=how.closed)

    def settle(self) -> None:
        """Makes the delayed changes that are due."""
        now = self._clock.now()
        for due, closed in [one for one in self._late if one[0] <= now]:
            self._late.remove((due, closed))
            self._turn(closed=closed)

    def check(self) -> bool | None:
        """The result of the check: closed or not. None: the check gives no result."""
        self.settle()
        self._looks += 1
        return None if self._looks in self._silent else self._closed

    def run(self, state: str) -> CommandEnd:
        """Runs the command or its undo."""
        self.settle()
        self.ran.append(state)
        end = self._ends.pop(0) if self._ends else CommandEnd()
        if end.after is not None:
            self._late.append((self._clock.now() + end.after, state == "closed"))
            self.settle()
        return end

    def _turn(self, *, closed: bool) -> None:
        self._closed = closed
        self._in_world(closed)


class FencedAdapter:
    """The simulated devices of a site, and the command of its fence plan."""

    def __init__(self, inner: Adapter, clock: Clock, fence: OutsideFence) -> None:
        self._inner, self._clock, self._fence = inner, clock, fence
        self.simulated = inner.simulated
        self.readings: Mapping[str, ReadingSpec] = {
            **inner.readings,
            READING: ReadingSpec(READING, "Whether the command keeps clients away", lambda _: ["is-cut"]),
        }
        self.actions: Mapping[str, ActionSpec] = {
            **inner.actions,
            ACTION: ActionSpec(
                ACTION,
                "Keep clients away by the command, or let them back in by its undo",
                idempotent=False,
                commands=lambda call: [f"fence {call.args['state']}"],
                arguments={"state": ArgumentSpec(choices=("closed", "open"))},
                inverse=ACTION,
            ),
        }

    def open(self) -> None:
        """See ``contract.Adapter``."""
        self._inner.open()

    def close(self) -> None:
        """See ``contract.Adapter``."""
        self._inner.close()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. The check covers the whole site."""
        if reading != READING:
            return self._inner.probe(reading, services)
        return dict.fromkeys(services, ExternalFence(closed=self._fence.check()))

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``."""
        if action != ACTION:
            return self._inner.apply(action, calls, permit)
        return (self._run(call, permit) for call in calls)

    def _run(self, call: Call, permit: Permit) -> Result:
        if self._fence.check() is (call.args["state"] == "closed"):
            return Result(call, Effect.ACCEPTED, detail="it was not run: it is done already")
        permit.check()
        end = self._fence.run(call.args["state"])
        self._clock.sleep(end.lasts)
        return Result(call, Effect(end.effect), detail="as it ended", sent=(f"fence {call.args['state']}",))


def as_effects(fence: OutsideFence | None) -> list[list[Any]]:
    """The runs of the command as the judge sees them, the same for every service."""
    if fence is None:
        return []
    return [[fence.site, ACTION, {"state": state}, fence.ran.count(state)] for state in dict.fromkeys(fence.ran)]
