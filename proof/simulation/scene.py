"""What a family draws of a simulated run: a world, what happened in it before, and what goes wrong. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from orchestrator.model.runbook import Choice
from proof.simulation.story import Further, Kind, Layout, OwnCommand, Part, Story


@dataclass(frozen=True, slots=True)
class Scene:
    """``prelude`` happens in the ``wait`` seconds before the run starts, ``faults`` start with it. ``more``: what the
    plan is told besides, by the names of ``Story``. ``xids``: transactions that a person may rule on in advance."""

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

    ``weights``: of its kinds. ``choices``: what a person or a policy may say at each gate; ``pressing``: gates that a
    policy is likelier to answer. ``omitted``: fields of readings that some devices do not report. ``lags``: by how many
    seconds its management may lag behind. ``calls``: actions that a process may be hit next to. ``endless`` kinds wait
    for what may take a day. ``naps``: for how long a machine or a device may be away, beyond seconds. ``clocks``: by how
    much another machine's clock may be off. ``slow_readings``: that a device may take its time for. ``waits``: can an
    answer in advance be to wait?
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
        """What a person does at the devices by hand, one thing after the other, or what happens to them."""
        ...

    def further(self, chance: Random, story: Story) -> tuple[Further, ...]:
        """Runs that may come after the first one, or beside it."""
        ...

    def apart(self, chance: Random, story: Story) -> dict[str, Any]:
        """What makes the services of the run end apart, as changes of the story; often nothing."""
        ...

    def own(self, chance: Random, kind: Kind) -> OwnCommand | None:
        """A step of the operator's own."""
        ...
