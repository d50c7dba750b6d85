"""The families whose runbooks are simulated: how a run of each is drawn, and its simulated sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator.clock import Clock
from proof.simulation.amps.draw import AmpsDraw
from proof.simulation.amps.stage import AmpsStage
from proof.simulation.scene import FamilyDraw
from proof.simulation.solace.draw import SolaceDraw
from proof.simulation.solace.stage import SolaceStage
from proof.simulation.stage import Stage
from proof.simulation.story import Story, family_of
from simulator.amps.layout import FabricLayout
from simulator.solace.layout import WorldLayout


@dataclass(frozen=True, slots=True)
class Simulation:
    """What one family brings."""

    draw: FamilyDraw
    stage: Callable[[Story, Clock], Stage]


def stage_of(story: Story, clock: Clock) -> Stage:
    """The simulated sites of the story, from now on."""
    return SIMULATIONS[family_of(story.kind)].stage(story, clock)


def _solace(story: Story, clock: Clock) -> Stage:
    assert isinstance(story.layout, WorldLayout)
    return SolaceStage(story.layout, clock, story.fence, story.own)


def _amps(story: Story, clock: Clock) -> Stage:
    assert isinstance(story.layout, FabricLayout)
    return AmpsStage(story.layout, clock)


SIMULATIONS: Mapping[str, Simulation] = {
    "solace": Simulation(SolaceDraw(), _solace),
    "amps": Simulation(AmpsDraw(), _amps),
}
