"""Scenarios as stories to be killed in: the same folders, the full mock world, the real adapters, every instant.

The instants are those of ``tests.core.killing`` and, besides, the one right before each single change leaves, so that
the middle of a request that carries several is covered too. The judge is that of ``proof.promises``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from orchestrator.clock import VirtualClock
from orchestrator.core.run import Run, fold
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.family.contract import Adapter, AdapterContext, Permit
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import Lease
from orchestrator.model import events as ev
from orchestrator.model.requests import AbortRequest
from orchestrator.model.runbook import Runbook, Side
from proof.promises.solace.facts import NOT_IDEMPOTENT
from proof.simulation.solace.looks import look
from simulator.solace.account import Tally
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.core.killing import RUN, Fuse, Story
from tests.scenarios.script import CallOff, Phase, Scenario, read_scenario
from tests.scenarios.staging import (
    AnsweringDesk,
    PatientClock,
    Stage,
    fast_journal,
    label_of,
    mock_inventory,
)
from tests.scenarios.watch import Watch

_REGISTRY = Registry()  # finding out what is installed takes longer than a whole run

# Waits of the shipped runbooks, cut so that a run is not a thousand instants long. None of them is about safety.
SHORTER: Mapping[str, Mapping[str, Any]] = {
    "drain": {"when_guard_breaks": {"grace": 3.0}, "when_stalled": {"after": 4.0}},
    "source-lost": {"hold": 2.0},
}


class Watched(Protocol):
    """One telling's world, and who looks on."""

    watch: Watch


@dataclass
class KillStage:
    """One telling's world, as ``tests.core.killing`` wants it; made anew for each."""

    scenario: Scenario
    phase: Phase
    plan: ev.Plan
    clock: VirtualClock
    world: World
    journal: Path
    watch: Watch

    def adapters(self) -> dict[Side, Adapter]:
        """Both sides' adapters, watched."""
        setting = AdapterContext(clock=self.clock, secrets=SecretStore(None))
        sides: tuple[Side, Side] = ("source", "target")
        sites = self.plan.inventory.sites
        return {
            side: self.watch.adapter(side, _REGISTRY.adapter_for(sites[self.plan.site_name(side)], setting))
            for side in sides
        }

    def judge(self, outcome: ev.Outcome | None) -> list[str]:
        """Every promise broken, by the world's account, and what was sent twice."""
        self.clock.sleep(self.phase.plan.settle)
        journal = Journal.at(self.journal)
        broken = self.watch.verdict(journal, fold(journal.records(RUN)))
        journal.close()
        return [*broken, *_sent_twice(self.world.tallies())]


def _sent_twice(account: Mapping[str, Tally]) -> Iterator[str]:
    """Stricter than the promise: with nothing lost on the way, nothing of the kind even arrives twice."""
    for service, tally in account.items():
        for key, count in tally.commands.items():
            if key.action in NOT_IDEMPOTENT and count.received > 1:
                yield f"{service}: {key.action} {dict(key.args)} was sent to {key.site} {count.received} times"


def story(
    name: str,
    folder: Path,
    *ends: ev.Outcome,
    phase: int = 0,
    engine: type[Engine] = Engine,
    fleet: type[InlineFleet] | None = None,
) -> Story:
    """The scenario ``name``, told in ``folder``; ``phase`` is the one that is killed, those before it are played."""
    scenario = read_scenario(name)
    chosen = scenario.phases[phase]
    stages: list[KillStage] = []

    first = stage_of(scenario, phase, folder)

    def make() -> KillStage:
        stages.append(stage_of(scenario, phase, folder, plan=first.plan))
        return stages[-1]

    answers = chosen.plan.answers
    return Story(
        name=name,
        plan=first.plan,
        world=make,
        judge=lambda world, outcome: world.judge(outcome),
        ends=frozenset(ends),
        desk=(lambda: AnsweringDesk(answers, stages[-1].clock, chosen.plan.thinks)) if answers else None,
        engine=watched(engine, stages, chosen.plan.call_off),
        fleet=fleet or ExactFleet,
    )


def stage_of(scenario: Scenario, number: int, folder: Path, *, plan: ev.Plan | None = None) -> KillStage:
    """The world as it is when phase ``number`` begins; ``plan``: the phase's, if it has been made before."""
    clock = PatientClock()
    world = World(scenario.scene.world.layout, clock)
    reference = f"crash-{folder}"
    WORLDS.forget(reference)
    inventory = mock_inventory(world, WORLDS.register(reference, world))
    phase = scenario.phases[number]
    if plan is None or number:
        (folder / "earlier.sqlite").unlink(missing_ok=True)
        earlier = Stage(scenario, clock, world, fast_journal(folder / "earlier.sqlite"), inventory, _REGISTRY)
        for one in scenario.phases[:number]:
            earlier.play(one)
        plan = earlier.plan(phase.plan)
        plan = plan.model_copy(update={"runbook": shortened(plan.runbook)})
        earlier.journal.close()
    world.inject(phase.faults)
    clock.sleep(phase.plan.wait)
    return KillStage(
        scenario, phase, plan, clock, world, folder / "journal.db", Watch(partial(look, world), RUN, plan)
    )


def sampled(places: Sequence[str], most: int) -> list[int]:
    """The instants of ``evenly``, and those right around each command: that is where a death leaves a doubt. ``places``
    are those of an undisturbed telling, from instant 1 on."""
    commands = [
        at
        for at, place in enumerate(places, start=1)
        if place.startswith(("before ", "after ")) and place.split()[1] not in ("writing", "reading")
    ]
    return sorted({*evenly(len(places), most), *commands})


def shortened(runbook: Runbook) -> Runbook:
    """The same steps with the waits of ``SHORTER``."""
    steps = []
    for step in runbook.steps:
        changed: dict[str, Any] = {}
        for name, value in SHORTER.get(step.id, {}).items():
            rule = getattr(step, name)
            changed[name] = rule.model_copy(update=value) if isinstance(value, dict) and rule is not None else value
        steps.append(step.model_copy(update=changed))
    return runbook.model_copy(update={"steps": tuple(steps)})


class ExactFleet(InlineFleet):
    """Has an instant right before every single change leaves, whatever else its request carries."""

    def __init__(self, adapters: Mapping[Side, Any], permit: Permit, clock: Any, **more: Any) -> None:
        super().__init__(adapters, _KillingPermit(permit, adapters["source"].fuse), clock, **more)


@dataclass(frozen=True, slots=True)
class _KillingPermit:
    inner: Permit
    fuse: Fuse

    def check(self) -> None:
        self.inner.check()
        self.fuse.instant("before a change leaves")


def watched(engine: type[Engine], stages: Sequence[Watched], wish: CallOff | None = None) -> type[Engine]:
    """The engine before the eyes of the newest stage's judge, and of somebody who calls the run off as ``wish`` says."""

    class BeforeEyes(engine):  # type: ignore[valid-type, misc]
        def __init__(
            self, journal: Journal, lease: Lease, *args: Any, observers: Iterable[Observer] = (), **more: Any
        ) -> None:
            def call(record: ev.Record, run: Run) -> None:
                if wish is not None and label_of(record.event) == wish.on:
                    journal.ask(RUN, AbortRequest(by="ann", reason=wish.reason))

            watch = stages[-1].watch
            watch.lead(journal, lease)
            super().__init__(journal, lease, *args, observers=[*observers, watch, call], **more)

    return BeforeEyes


class FuseAt(Fuse):
    """Kills at several instants, counted over all lives."""

    def __init__(self, *kills: int) -> None:
        super().__init__(min(kills))
        self.kills = frozenset(kills)

    def instant(self, place: str) -> None:
        self.at = self.count + 1 if self.count + 1 in self.kills else self.at
        super().instant(place)


def evenly(count: int, most: int) -> list[int]:
    """At most ``most`` of the instants 1 to ``count``, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(index * (count - 1) / (most - 1)) for index in range(most)})
