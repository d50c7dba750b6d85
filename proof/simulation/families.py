"""The families whose runbooks are simulated: how a run of each is drawn, its simulated sites, and its rules.

Solace and AMPS have a separate world. A family in a file is simulated on the generic pair that its file defines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator.clock import Clock
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.errors import DefinitionError
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.families import Family, needed_family
from orchestrator.model.installed import remembered
from proof.exploration.generic.family import can_be_modelled
from proof.meaning import meaning_of
from proof.promises.amps import AMPS
from proof.promises.generic import rules_by_world
from proof.promises.rules import Rules
from proof.promises.solace import SOLACE
from proof.simulation.amps.draw import AmpsDraw
from proof.simulation.amps.stage import AmpsStage
from proof.simulation.generic.draw import GenericDraw
from proof.simulation.generic.stage import GenericStage
from proof.simulation.scene import FamilyDraw
from proof.simulation.solace.draw import SolaceDraw
from proof.simulation.solace.stage import SolaceStage
from proof.simulation.stage import Stage
from proof.simulation.story import Kind, Story, family_of
from simulator.amps.layout import FabricLayout
from simulator.generic.layout import GenericLayout
from simulator.solace.layout import WorldLayout


@dataclass(frozen=True, slots=True)
class Simulation:
    """The parts of a simulation that one family provides."""

    draw: FamilyDraw
    stage: Callable[[Story, Clock], Stage]
    rules: Rules


def simulation_of(family: str) -> Simulation:
    """The simulation of this family. Raises ``DefinitionError`` for a family that is not installed, or has no
    simulation."""
    return SIMULATIONS.get(family) or _declared(family)


@remembered
def _declared(name: str) -> Simulation:
    """The simulation of a family in a file."""
    family = needed_family(name)
    file = getattr(family, "file", None)
    if not isinstance(file, FamilyFile) or not can_be_modelled(family):
        raise DefinitionError(
            f"the family {name} does not offer a simulation",
            hint="a family in a file does, if it says who serves (facet serves) and what its actions make",
        )
    return Simulation(
        GenericDraw(file, kinds_of(name)),
        lambda story, clock: _generic(story, clock, family),
        rules_by_world(meaning_of(family), {one for one, action in file.actions.items() if action.per == "site"}),
    )


def kinds_of(family: str) -> tuple[Kind, ...]:
    """The runbooks of a family in a file, its own and those that its facets give."""
    return tuple(name for name in shipped_runbooks() if name.startswith(f"{family}/"))


def stage_of(story: Story, clock: Clock) -> Stage:
    """The simulated sites of the story, from now on."""
    return simulation_of(family_of(story.kind)).stage(story, clock)


def _generic(story: Story, clock: Clock, family: Family) -> Stage:
    assert isinstance(story.layout, GenericLayout)
    return GenericStage(story.layout, clock, family, story.fence)


def _solace(story: Story, clock: Clock) -> Stage:
    assert isinstance(story.layout, WorldLayout)
    return SolaceStage(story.layout, clock, story.fence, story.own)


def _amps(story: Story, clock: Clock) -> Stage:
    assert isinstance(story.layout, FabricLayout)
    return AmpsStage(story.layout, clock)


SIMULATIONS: Mapping[str, Simulation] = {
    "solace": Simulation(SolaceDraw(), _solace, SOLACE),
    "amps": Simulation(AmpsDraw(), _amps, AMPS),
}
