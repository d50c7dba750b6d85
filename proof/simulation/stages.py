"""Which stage a story is played on: by the family of its runbook."""

from __future__ import annotations

from orchestrator.clock import Clock
from proof.simulation.amps.stage import AmpsStage
from proof.simulation.solace.stage import SolaceStage
from proof.simulation.stage import Stage
from proof.simulation.story import Story
from simulator.amps.layout import FabricLayout


def stage_of(story: Story, clock: Clock) -> Stage:
    """The simulated sites of the story, from now on."""
    if isinstance(story.layout, FabricLayout):
        return AmpsStage(story.layout, clock)
    return SolaceStage(story.layout, clock, story.fence, story.own)
