"""Simulates runs for the command line, and shows the outcome."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.clock import SystemClock
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.model.families import known_families
from orchestrator.operations.declared_families import offer_families
from orchestrator.suggestions import suggest
from proof.simulation.draw import draw
from proof.simulation.effects import kind_of
from proof.simulation.families import SIMULATIONS, kinds_of, simulation_of
from proof.simulation.many import Failing, Figures, play_many
from proof.simulation.shrink import shrink
from proof.simulation.stores import Stores
from proof.simulation.story import KINDS, Kind, Story

_FINDINGS = 4
_REPORT_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """The typed request. Empty ``kinds`` means all."""

    seeds: int
    first: int
    jobs: int
    kinds: tuple[Kind, ...]
    shrink: bool
    as_json: bool


def kinds_named(names: Sequence[str]) -> tuple[Kind, ...]:
    """The typed runbooks. The name of a file-based family means all of its runbooks. Raises ``DefinitionError`` for a
    runbook that cannot be simulated."""
    return tuple(dict.fromkeys(kind for name in names for kind in _kinds_named(name)))


def _kinds_named(name: str) -> Sequence[Kind]:
    if name in KINDS:
        return (name,)
    offer_families()
    family, slash, _ = name.partition("/")
    if family not in known_families() or family in SIMULATIONS:
        raise DefinitionError(
            f"--kind {name}: there is no simulated runbook with this name", hint=suggest(name, KINDS)
        )
    simulation_of(family)  # raises for a family without a simulation
    known = kinds_of(family)
    if slash and name not in known:
        raise DefinitionError(
            f"--kind {name}: there is no simulated runbook with this name", hint=suggest(name, known)
        )
    return (name,) if slash else known


def run_simulation(request: SimulationRequest) -> int:
    """Simulate the seeds, and show the outcome. Returns the exit code: 4 if a promise was broken."""
    clock = SystemClock()
    started = reported_at = clock.now()
    figures = Figures()
    seeds = range(request.first, request.first + request.seeds)
    for batch in play_many(seeds, request.kinds or KINDS, jobs=request.jobs, ready=offer_families):
        figures.add(batch)
        for one in batch.failing:
            _show_failing(request, one)
        if clock.now() - reported_at >= _REPORT_EVERY_S:
            reported_at = clock.now()
            rate = figures.seeds / (reported_at - started)
            say(f"SIMULATED  {figures.seeds:,} of {counted(request.seeds, 'seed')}, {rate:.0f} a second")
    _show_all(request, figures, clock.now() - started)
    return _FINDINGS if figures.failing else 0


def _show_failing(request: SimulationRequest, failing: Failing) -> None:
    """Print the promises that the run broke, and the command that simulates it again."""
    again = f"failover simulate --seeds 1 --from {failing.seed}"
    again += "".join(f" --kind {kind}" for kind in request.kinds)
    lines = [str(broken) for broken in failing.broken]
    smallest = None
    if request.shrink:
        stores = Stores()
        try:
            smallest = shrink(draw(failing.seed, request.kinds or KINDS), stores).story
        finally:
            stores.close()
    if request.as_json:
        found = {"seed": failing.seed, "kind": failing.kind, "broken": lines, "again": again}
        story = {} if smallest is None else {"story": smallest.model_dump(mode="json", exclude_defaults=True)}
        show_json({"simulated": True, "failing": {**found, **story}})
        return
    show(f"seed {failing.seed} ({failing.kind}): {'; '.join(lines)}")
    if smallest is not None:
        for line in _troubles(smallest):
            show(f"  {line}")
    show(f"  to repeat this run: {again}")


def _troubles(story: Story) -> Iterator[str]:
    """The faults of a simulated run, one line each."""
    yield from (f"fault before the run: {fault}" for fault in story.prelude)
    yield from (f"fault in the run: {fault}" for fault in story.faults)
    for strike in story.strikes:
        where = f"{strike.near}, call {strike.at}" if strike.near else f"instant {strike.at}"
        yield f"at {where}: {strike.kind}"
    yield from (f"not reported: the field {one.field} of {one.reading}" for one in story.omissions)
    yield from (f"{lag.site} lags by {lag.seconds:g}s" for lag in story.lags)
    yield from (f"{slow.site} is slow by {slow.seconds:g}s: {slow.reading or 'any call'}" for slow in story.slow)
    yield from (f"{quirk.site} gives wrong answers: {quirk.kind}" for quirk in story.quirks)


def _show_all(request: SimulationRequest, figures: Figures, seconds: float) -> None:
    rate = figures.seeds / seconds if seconds > 0 else 0.0
    if request.as_json:
        result = {
            "exit_code": _FINDINGS if figures.failing else 0,
            "seeds": figures.seeds,
            "failing": [one.seed for one in figures.failing],
            "ends": dict(figures.ends),
            "kinds": dict(figures.kinds),
            "faults": figures.faults,
            "processes_hit": dict(figures.hit),
            "effects": _by_family(figures),
            "instants": figures.instants,
            "seconds": round(seconds, 1),
            "seeds_per_second": round(rate, 1),
        }
        show_json({"result": {"simulated": True, **result}})
        return
    for line in _lines(figures, rate):
        show(line)
    sys.stdout.flush()


def _lines(figures: Figures, rate: float) -> Iterator[str]:
    yield f"SIMULATED  {counted(figures.seeds, 'run')}, {rate:.0f} a second"
    yield f"  kinds: {_counted(figures.kinds)}"
    yield f"  ends: {_counted(figures.ends)}"
    yield f"  faults of the simulated world: {figures.faults:,}"
    yield f"  faults of processes: {_counted(figures.hit) or 'nothing'}"
    yield f"  other effects: {_counted(_by_kind(figures)) or 'nothing'}"
    yield f"  points at which a process could be killed: {figures.instants:,}"
    if figures.failing:
        yield f"  {len(figures.failing):,} of these runs broke a promise"
    else:
        yield "  no promise was broken"


def _by_family(figures: Figures) -> dict[str, dict[str, int]]:
    """The effects by family, in words, except faults of the world and of processes."""
    families = sorted({family for family, _ in figures.effects})
    return {
        one: {effect: count for (family, effect), count in sorted(figures.effects.items()) if family == one}
        for one in families
    }


def _by_kind(figures: Figures) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (_, effect), count in figures.effects.items():
        found[kind_of(effect)] += count
    return found


def _counted(counter: dict[str, int]) -> str:
    ordered = sorted(counter.items(), key=lambda one: -one[1])
    return ", ".join(f"{name} {count:,}" for name, count in ordered)
