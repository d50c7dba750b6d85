"""Prepares a rehearsal: a simulated copy of the pair in a private directory, and the events before the command.

The rehearsed command is the real one, with its own tools: another inventory, another clock, a record in the private
directory. It cannot reach a device, a hook or the real record.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from orchestrator.clock import Clock, ScaledClock, VirtualClock
from orchestrator.engine.dispatch import InlineFleet, Prompter
from orchestrator.engine.dispatch_threaded import ThreadedFleet
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, AdapterContext, Permit
from orchestrator.family.offers import offering
from orchestrator.family.rehearsal import MakeScene, Rehearsal, RehearsedKind, Scene
from orchestrator.model import events as ev
from orchestrator.model.families import Words, known_families
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.model.runbook import Side
from orchestrator.operations.families import known_family, see_roles
from orchestrator.operations.rehearsal.debriefing import Debriefing, debriefing, newest_run
from orchestrator.operations.rehearsal.drills import drill_file, faults_for
from orchestrator.operations.rehearsal.prelude import LeadingPrelude
from orchestrator.operations.runs.plan import PlanRequest
from orchestrator.operations.runtime import Tools
from orchestrator.operations.secret_references import asks_somebody
from orchestrator.operations.selection import services_of
from pipeline.leavings import make, remove, sweep

# The speed-up of --fast while no question is open.
SPEED_UP = 10.0
_SEEDS = 10_000
# The prefix for the directory of a rehearsal whose record is not kept.
_PASSING = "passing-"


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """The request for a rehearsal. ``more``: services and options of the rehearsed command, as typed. ``plain``: those
    services. ``offline``: no device is read. ``attended``: an operator watches it, so time passes for the rehearsed
    command."""

    kind: RehearsedKind
    services: tuple[str, ...]
    everything: bool
    pair: str | None
    site: str | None
    inventory: Path | None
    faults: tuple[str, ...]
    drill: str | None
    seed: int | None
    fast: bool
    keep: bool
    offline: bool
    both_active: bool
    attended: bool
    more: tuple[str, ...]
    plain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """A rehearsal whose copy is ready for the command: with ``tools``, and the ``inventory`` file of the copy.
    ``words``: the family's terms for its services. ``faults``: the faults to come. ``before``: the newest recorded run
    before the command."""

    tools: Tools
    inventory: Path
    copy: Inventory
    rehearsal: Rehearsal
    scene: Scene
    words: Words
    faults: tuple[str, ...]
    before: str | None

    @property
    def directory(self) -> Path:
        """The directory of its record."""
        return self.tools.state

    def debriefing(self) -> Debriefing:
        """The decisions of the rehearsed command, and what happened to the messages."""
        rehearsal = self.rehearsal
        source = self.copy.sites[rehearsal.source]
        return debriefing(self.tools, source, rehearsal.services, before=self.before)


@contextmanager
def rehearsing(tools: Tools, request: RehearsalRequest) -> Iterator[Rehearsing]:
    """The copy of the pair, for the length of the block. Its prelude has ended.

    Raises ``DefinitionError`` if it cannot be rehearsed, ``NotStarted`` if a run of the prelude did not end as done.
    """
    rehearsal = _rehearsal(tools, request)
    family = known_family(tools, rehearsal.inventory.sites[rehearsal.source])
    make_scene = _scene_maker(family)
    if request.kind == "repair":
        see_roles(family)
    elif request.both_active:
        raise DefinitionError(
            "--both-active is only for the rehearsal of a repair", hint="leave it out, or rehearse repair"
        )
    scene = make_scene(rehearsal, tools.registry, AdapterContext(tools.clock, tools.secrets, read_only=True))
    drill = [] if request.drill is None else [str(drill_file(request.drill, scene.drills))]
    faults = tuple(faults_for([*drill, *request.faults], scene.fitted))
    with _private_directory(tools, keep=request.keep) as directory:
        own, clock = _own_tools(tools, request, directory)
        with scene.up(clock, directory / "world.json" if request.keep else None) as copy:
            path = directory / "inventory.yaml"
            path.touch(mode=0o600)
            path.write_text(inventory_text(copy), encoding="utf-8")
            with clock.rushing() if isinstance(clock, ScaledClock) else nullcontext():
                scene.play(LeadingPrelude(own, clock, path, rehearsal))
            if isinstance(clock, ScaledClock) and request.fast:
                clock.set_factor(SPEED_UP)
            words = offering(family).words
            yield Rehearsing(own, path, copy, rehearsal, scene, words, faults, newest_run(own))


def _rehearsal(tools: Tools, request: RehearsalRequest) -> Rehearsal:
    inventory = tools.inventory(request.inventory)
    services, pair = services_of(
        inventory,
        PlanRequest(
            "", request.inventory, request.services, request.everything, request.pair, request.site, ev.Policy()
        ),
    )
    return Rehearsal(
        request.kind,
        inventory,
        pair,
        # The copy has only the named services. The messages of other services of a shared pair are not rehearsed.
        tuple(services),
        _source(pair, request.site),
        Random(tools.clock.now()).randrange(1, _SEEDS) if request.seed is None else request.seed,
        request.more,
        _unread(inventory, pair, offline=request.offline),
        request.both_active,
    )


def _source(pair: Pair, site: str | None) -> str:
    if site is not None and site not in pair.sites:
        one, other = pair.sites
        raise DefinitionError(f"{site!r} is not a site of the pair {pair.name}", hint=f"name {one} or {other}")
    return site or pair.sites[0]


def _unread(inventory: Inventory, pair: Pair, *, offline: bool) -> dict[str, str]:
    """The sites whose devices a rehearsal does not read, with the reason. A rehearsal never asks for a secret."""
    if offline:
        return dict.fromkeys(pair.sites, "--offline")
    typed = [name for name in pair.sites if asks_somebody(inventory.sites[name])]
    return dict.fromkeys(typed, "an operator would have to type its password")


def _scene_maker(family: str) -> MakeScene:
    found = offering(family).rehearsal()
    if found is None:
        offered = [name for name in known_families() if offering(name).rehearsal() is not None]
        raise DefinitionError(
            f"the family {family} does not offer a simulation, so it cannot be rehearsed",
            hint=f"families that offer this: {', '.join(offered)}",
        )
    return found


@contextmanager
def _private_directory(tools: Tools, *, keep: bool) -> Iterator[Path]:
    """A directory for the record of the rehearsal. It is removed afterwards unless it is kept. Directories that killed
    rehearsals left are removed too."""
    parent = tools.folder("rehearsals")
    sweep(parent, f"{_PASSING}*")
    if keep:
        yield Path(tempfile.mkdtemp(dir=parent))
        return
    path = make(parent / f"{_PASSING}{uuid4().hex[:12]}")
    try:
        yield path
    finally:
        remove(path)


def _own_tools(tools: Tools, request: RehearsalRequest, directory: Path) -> tuple[Tools, VirtualClock | ScaledClock]:
    # Without an operator to watch it, --fast plays the whole rehearsal at once.
    at_once = request.fast and not request.attended
    clock = VirtualClock(tools.clock.now()) if at_once else ScaledClock(tools.clock)
    own = replace(tools, state=directory, clock=clock, fleet=_fleet)
    return replace(own, is_rehearsal=True, keeps_records=request.keep), clock


def _fleet(adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, prompter: Prompter | None) -> Any:
    if not isinstance(clock, ScaledClock):
        return InlineFleet(adapters, permit, clock, prompter=prompter)
    unhurried = None if prompter is None else Unhurried(prompter, clock)
    return ThreadedFleet(adapters, permit, clock, prompter=unhurried, real=clock.real)


class Unhurried:
    """Asks an operator. Until the answer, time runs at its real speed."""

    def __init__(self, prompter: Prompter, clock: ScaledClock) -> None:
        self._prompter, self._clock = prompter, clock

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """See ``Prompter``."""
        factor = self._clock.factor
        self._clock.set_factor(1.0)
        try:
            return self._prompter.ask(service, gate)
        finally:
            self._clock.set_factor(factor)


def inventory_text(inventory: Inventory) -> str:
    """The inventory as the text of a file. JSON is valid YAML."""
    plain = inventory.model_dump(mode="json", exclude_defaults=True)
    for site in plain["sites"].values():
        site.pop("name", None)
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
