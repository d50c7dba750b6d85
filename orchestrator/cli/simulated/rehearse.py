"""Plays a rehearsal: a simulated copy of the pair, its prelude, then the rehearsed command itself, and a debriefing.

The command is the real one, called as if it had been typed, with tools of its own: another inventory, another clock, a
record in a private directory. Nothing that belongs to a device, to a hook or to the real record is in its reach.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol
from uuid import uuid4

from orchestrator.cli.render.terminal import is_attended, say, show, show_json
from orchestrator.cli.simulated.scenario import Cast, Kind, Prelude, Scene, inventory_text
from orchestrator.cli.simulated.scenario_amps import AmpsScene
from orchestrator.cli.simulated.scenario_appliances import ApplianceScene
from orchestrator.clock import Clock, ScaledClock, VirtualClock
from orchestrator.counting import counted
from orchestrator.engine.dispatch import InlineFleet, Prompter
from orchestrator.engine.dispatch_threaded import ThreadedFleet
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, Permit
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.model.runbook import Side
from orchestrator.operations.families import AMPS, known_family, see_offered, see_roles
from orchestrator.operations.rehearsal.drills import drill_file
from orchestrator.operations.runs.plan import PlanRequest, services_of
from orchestrator.operations.runtime import JOURNAL_VARIABLE, STATE_VARIABLE, Tools
from orchestrator.reports.report import build
from pipeline.leavings import make, remove, sweep
from simulator.world.account_figures import accounts

# How many times as fast --fast is while nobody decides.
_HURRY = 10.0
_SEEDS = 10_000
# Exit codes of runs that could be gone on with: needs-operator, stuck.
_RESUMABLE = (6, 7)
# The directory of a rehearsal whose record is not kept is called so.
_PASSING = "passing-"
# Faster than this nobody thought about it, seconds.
_AT_ONCE = 0.1
# By which option each command is told the site.
_SITE_OPTION: Mapping[Kind, str] = {
    "controlled": "--from",
    "uncontrolled": "--failed",
    "restore": "--site",
    "failback": "--to",
    "repair": "--to",
}


class Program(Protocol):
    """The program itself, as its command line understands it."""

    def main(self, args: Sequence[str], prog_name: str, *, obj: Tools) -> Any: ...


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """What a person typed. ``more`` are options of the rehearsed command, as they were typed."""

    kind: Kind
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
    yes: bool
    as_json: bool
    more: tuple[str, ...]


def run_rehearsal(tools: Tools, request: RehearsalRequest, program: Any) -> int:
    """Rehearse, and say what came of it. Returns the exit code of the rehearsed command."""
    inventory = tools.inventory(request.inventory)
    services, pair = services_of(
        inventory,
        PlanRequest(
            "", request.inventory, request.services, request.everything, request.pair, request.site, ev.Policy()
        ),
    )
    source = _source(pair, request.site)
    # What the others at a shared pair publish is not rehearsed: the copy has the services that were named.
    request = replace(request, services=tuple(services), seed=_seed(request, tools))
    seed = request.seed
    assert seed is not None  # drawn when none was given
    cast = Cast(
        request.kind,
        inventory,
        pair,
        request.services,
        source,
        seed,
        request.more,
        request.offline,
        request.both_active,
    )
    family = known_family(tools, inventory.sites[source])
    see_offered(family, "a simulation, so it cannot be rehearsed")
    if request.kind == "repair":
        see_roles(family)
    elif request.both_active:
        raise DefinitionError("--both-active is how a repair starts", hint="leave it out, or rehearse repair")
    is_amps = family == AMPS
    scene: Scene = AmpsScene(tools, cast) if is_amps else ApplianceScene(cast)
    drill = [] if request.drill is None else [str(drill_file(request.drill, "amps" if is_amps else ""))]
    faults = scene.faults([*drill, *request.faults])
    with _private_directory(tools, keep=request.keep) as directory:
        return _Stage(tools, request, cast, scene, directory).play(program, faults)


def _source(pair: Pair, site: str | None) -> str:
    if site is not None and site not in pair.sites:
        one, other = pair.sites
        raise DefinitionError(f"{site!r} is not a site of the pair {pair.name}", hint=f"name {one} or {other}")
    return site or pair.sites[0]


def _seed(request: RehearsalRequest, tools: Tools) -> int:
    return Random(tools.clock.now()).randrange(1, _SEEDS) if request.seed is None else request.seed


@contextmanager
def _private_directory(tools: Tools, *, keep: bool) -> Iterator[Path]:
    """For the record of the rehearsal; taken away afterwards unless it is to be kept, and so is what killed ones left."""
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


class _Stage:
    """One rehearsal."""

    def __init__(self, tools: Tools, request: RehearsalRequest, cast: Cast, scene: Scene, directory: Path) -> None:
        self._request, self._cast, self._scene, self._directory = request, cast, scene, directory
        self._attended = is_attended() and not request.as_json
        # Nobody who watches, and nobody who has time: then all of it passes at once.
        at_once = request.fast and not self._attended
        self._clock = VirtualClock(tools.clock.now()) if at_once else ScaledClock(tools.clock)
        own = replace(tools, state=directory, clock=self._clock, fleet=self._fleet)
        self._tools = replace(own, is_rehearsal=True, keeps_records=request.keep)

    def play(self, program: Program, faults: Sequence[str]) -> int:
        """The whole rehearsal; the exit code of the rehearsed command."""
        file = self._directory / "world.json" if self._request.keep else None
        with self._scene.up(self._clock, file) as copy:
            path = self._directory / "inventory.yaml"
            path.touch(mode=0o600)
            path.write_text(inventory_text(copy), encoding="utf-8")
            prelude = Prelude(self._tools, self._clock, path, self._cast)
            with self._clock.rushing() if isinstance(self._clock, ScaledClock) else nullcontext():
                self._scene.play(prelude)
            if isinstance(self._clock, ScaledClock) and self._request.fast:
                self._clock.set_factor(_HURRY)
            self._announce(faults)
            before = self._newest()
            code = self._type(program, path, faults)
            if not self._request.as_json:
                self._debrief(copy, ran=self._newest() != before, is_open=code in _RESUMABLE)
        return code

    def _type(self, program: Program, inventory: Path, faults: Sequence[str]) -> int:
        """Type the rehearsed command."""
        request = self._request
        words = [
            request.kind,
            "--inventory",
            str(inventory),
            _SITE_OPTION[request.kind],
            self._cast.source,
            *request.more,
        ]
        words += self._named_services
        words += [word for fault in faults for word in ("--fault", fault)]
        words += ["--yes"] if request.yes or not self._attended else []
        words += ["--json"] if request.as_json else []
        try:
            program.main(words, "failover", obj=self._tools)
        except SystemExit as end:
            if getattr(end.__context__, "format_message", None) is not None:
                raise  # what was typed is no command
            return end.code if isinstance(end.code, int) else 0
        return 0

    @property
    def _named_services(self) -> list[str]:
        return [word for name in self._request.services for word in (self._scene.service_option, name)]

    def _fleet(
        self, adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, prompter: Prompter | None
    ) -> Any:
        if not isinstance(clock, ScaledClock):
            return InlineFleet(adapters, permit, clock, prompter=prompter)
        unhurried = None if prompter is None else Unhurried(prompter, clock)
        return ThreadedFleet(adapters, permit, clock, prompter=unhurried, real=clock.real)

    # Telling

    def _announce(self, faults: Sequence[str]) -> None:
        pair = self._cast.pair.name
        if self._request.as_json:
            head = {"command": self._request.kind, "pair": pair, "seed": self._request.seed, "faults": list(faults)}
            show_json({"simulated": True, "rehearsal": {**head, **self._scene.facts()}})
            return
        pace = (
            "" if not self._request.fast else ", at once" if not self._attended else f", {_HURRY:.0f} times as fast"
        )
        say(f"SIMULATED  rehearsal of `failover {self._request.kind}` on a copy of {pair}{pace}")
        for line in self._scene.lines():
            say(f"SIMULATED    {line}")
        for fault in faults:
            say(f"SIMULATED    will go wrong: {fault}")

    def _newest(self) -> str | None:
        with closing(self._tools.journal()) as journal:
            rows = journal.runs()
        return rows[0].run if rows else None

    def _debrief(self, copy: Inventory, *, ran: bool, is_open: bool) -> None:
        """What was decided, how long that took, and what became of the messages."""
        show("")
        show("SIMULATED  the rehearsal")
        for line in self._decided() if ran else ():
            show(f"  {line}")
        account = accounts(copy.sites[self._cast.source], self._clock, self._request.services)
        total = {key: sum(one[key] for one in account.values()) for key in next(iter(account.values()))}
        held = (
            f" ({total['stranded']:,} of them are still held by a site that does not serve)" if total["lost"] else ""
        )
        lost = counted(total["lost"], "message")
        both = self._scene.openness(total["both_active_intervals"])
        show(
            f"  by the world's own account: {lost} lost{held}, {total['duplicated']:,} duplicated, "
            f"{total['out_of_order']:,} out of order{'; ' if both else ''}{both}"
        )
        if self._request.keep:
            # A rehearsal has no part in a shared journal: with that, the command would show a real run.
            alone = f"{JOURNAL_VARIABLE}= " if os.environ.get(JOURNAL_VARIABLE) else ""
            show(f"  its record is kept: {alone}{STATE_VARIABLE}={self._directory} failover runs show")
        elif is_open:
            show("  its record is gone, so it cannot be resumed; add --keep to rehearse that too")
        show(f"  the same again: {self._again()}")

    def _decided(self) -> Iterator[str]:
        with closing(self._tools.journal()) as journal:
            records = list(journal.records(journal.runs()[0].run))
        decisions = [(lane.service, one) for lane in build(records).lanes for one in lane.decisions]
        withdrawn = list(_withdrawn(records))
        if not decisions and not withdrawn:
            yield "nothing had to be decided"
        for service, one in decisions:
            yield f"{service}: {one.gate}: {one.choice}, by {one.by}, {_took(one.seconds)}"
        yield from withdrawn

    def _again(self) -> str:
        request = self._request
        words = ["failover", "rehearse", request.kind, "--seed", str(request.seed)]
        words += ["--all"] if request.everything else self._named_services
        for option, value in (
            ("--pair", request.pair),
            (_SITE_OPTION[request.kind], request.site),
            ("--inventory", request.inventory),
            ("--drill", request.drill),
        ):
            words += [] if value is None else [option, str(value)]
        words += [word for fault in request.faults for word in ("--fault", fault)]
        words += ["--offline"] if request.offline else []
        words += ["--both-active"] if request.both_active else []
        return shlex.join([*words, *request.more, *(["--fast"] if request.fast else [])])


def _withdrawn(records: Sequence[ev.Record]) -> Iterator[str]:
    """Questions that answered themselves before anybody did."""
    asked: dict[tuple[str | None, str, str | None], float] = {}
    for record in records:
        match record.event:
            case ev.GateOpened(gate=gate, item=item):
                asked[(record.lane, gate, item)] = record.at
            case ev.GateWithdrawn(gate=gate, item=item) if (record.lane, gate, item) in asked:
                seconds = record.at - asked.pop((record.lane, gate, item))
                yield f"{record.lane}: {gate}: asked, and answered itself {_took(seconds)}"
            case _:
                continue


def _took(seconds: float | None) -> str:
    if seconds is None:
        return "before it was asked"
    return "at once" if seconds < _AT_ONCE else f"after {seconds:.1f}s"


class Unhurried:
    """Asks a person; while somebody thinks, time runs as it does outside."""

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
