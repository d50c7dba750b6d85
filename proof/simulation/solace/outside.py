"""The command of a fence plan, simulated: it keeps clients off a site by a means outside of its devices.

It behaves as ``adapters/local`` describes such commands: what its check shows to be done is not done again; exit code 0
says that it was done, another one that it refused, and of one that was cut short nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import Clock
from orchestrator.family.contract import ActionSpec, AdapterContext, ArgumentSpec, Call, Permit, ReadingSpec, Result
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import ExternalFence
from proof.simulation.story import CommandEnd, FenceCommand
from simulator.solace.world import World

READING, ACTION = "external_fence", "set_external_fence"


class OutsideFence:
    """The switch behind the command, and how the command behaves, run after run."""

    def __init__(self, how: FenceCommand, world: World, clock: Clock) -> None:
        self.site = how.site
        self.ran: list[str] = []  # the states that it was told
        self._clock = clock
        self._world = world
        self._ends = list(how.ends)
        self._silent = list(how.silent)
        self._late: list[tuple[float, bool]] = []
        self._closed = False
        self._looks = 0
        self._turn(closed=how.closed)

    def settle(self) -> None:
        """What hung is done by now, if its time has come."""
        now = self._clock.now()
        for due, closed in [one for one in self._late if one[0] <= now]:
            self._late.remove((due, closed))
            self._turn(closed=closed)

    def check(self) -> bool | None:
        """What the check says: closed or not, or nothing."""
        self.settle()
        self._looks += 1
        return None if self._looks in self._silent else self._closed

    def run(self, state: str) -> CommandEnd:
        """The command, or its undo, is run."""
        self.settle()
        self.ran.append(state)
        end = self._ends.pop(0) if self._ends else CommandEnd()
        if end.after is not None:
            self._late.append((self._clock.now() + end.after, state == "closed"))
            self.settle()
        return end

    def _turn(self, *, closed: bool) -> None:
        self._closed = closed
        centre = self._world.centre(self.site)

        def turn() -> None:
            for node in centre.layout.nodes:
                centre.set_interface(node, up=not closed)

        with self._world.request():
            self._world.change(turn)


class FencedAdapter(MockAdapter):
    """The simulated appliances of a site, and the command of its fence plan."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        **MockAdapter.readings,
        READING: ReadingSpec(READING, "Whether the command keeps clients away", lambda _: ["is-cut"]),
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        **MockAdapter.actions,
        ACTION: ActionSpec(
            ACTION,
            "Keep clients away by the command, or let them back in by its undo",
            idempotent=False,
            commands=lambda call: [f"fence {call.args['state']}"],
            arguments={"state": ArgumentSpec(choices=("closed", "open"))},
            inverse=ACTION,
        ),
    }

    def __init__(self, site: Site, context: AdapterContext, fence: OutsideFence) -> None:
        super().__init__(site, context)
        self._fence = fence
        self._clock = context.clock

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. The check is of the whole site."""
        if reading != READING:
            return super().probe(reading, services)
        return dict.fromkeys(services, ExternalFence(closed=self._fence.check()))

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``."""
        if action != ACTION:
            return super().apply(action, calls, permit)
        return (self._run(call, permit) for call in calls)

    def _run(self, call: Call, permit: Permit) -> Result:
        if self._fence.check() is (call.args["state"] == "closed"):
            return Result(call, Effect.ACCEPTED, detail="it was not run: it is done already")
        permit.check()
        end = self._fence.run(call.args["state"])
        self._clock.sleep(end.lasts)
        return Result(call, Effect(end.effect), detail="as it ended", sent=(f"fence {call.args['state']}",))


def as_effects(fence: OutsideFence | None) -> list[list[Any]]:
    """What the judge is told of its runs, for every service."""
    if fence is None:
        return []
    return [[fence.site, ACTION, {"state": state}, fence.ran.count(state)] for state in dict.fromkeys(fence.ran)]
