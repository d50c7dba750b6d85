"""The part of a simulated run that a family draws: a world, its past, and the faults. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from orchestrator.model.runbook import Choice
from proof.simulation.story import Further, Kind, Layout, OwnCommand, Part, Story


@dataclass(frozen=True, slots=True)
class Scene:
    """``prelude``: faults in the ``wait`` seconds before the run starts. ``faults``: faults that start with the run.
    ``more``: further fields of ``Story``, by name. ``xids``: transactions that a person may rule on in advance."""

    layout: Layout
    sites: tuple[str, str]
    source: str
    services: tuple[str, ...]
    prelude: tuple[str, ...]
    wait: float
    faults: tuple[str, ...]
    xids: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


class FamilyDraw(Protocol):
    """How a family's simulated runs are drawn.

    ``weights``: the weights of its kinds. ``choices``: the possible answers of a person or a policy at each gate.
    ``pressing``: the higher probability with which a policy answers a gate. ``omitted``: fields of readings that some
    devices do not report. ``lags``: the seconds by which its management may lag behind. ``calls``: actions next to which
    a process may be hit. ``endless``: kinds that may wait for a day. ``naps``: longer absences of a machine or a device,
    in seconds. ``clocks``: the seconds by which another machine's clock may be off. ``slow_readings``: readings and
    actions for which a device may be slow. ``waits``: can an answer in advance be to wait?
    """

    weights: Mapping[Kind, int]
    choices: Mapping[str, Sequence[Choice]]
    pressing: Mapping[str, float]
    omitted: Sequence[tuple[str, str]]
    lags: Sequence[float]
    calls: Sequence[str]
    endless: frozenset[Kind]
    naps: Sequence[float]
    clocks: Sequence[float]
    slow_readings: Sequence[str]
    waits: bool

    def scene(self, chance: Random, kind: Kind) -> Scene:
        """A scene for a run of this kind."""
        ...

    def episode(self, chance: Random, part: Part) -> tuple[str, ...]:
        """The manual changes of a person at the devices, one after the other, or faults of the devices."""
        ...

    def further(self, chance: Random, story: Story) -> tuple[Further, ...]:
        """Runs that may come after the first one, or beside it."""
        ...

    def apart(self, chance: Random, story: Story) -> dict[str, Any]:
        """The changes of the story that make the services of the run end differently. Often empty."""
        ...

    def own(self, chance: Random, kind: Kind) -> OwnCommand | None:
        """A step for the operator's own command. Often None."""
        ...
