"""Simulated pairs for the benchmarks, and functions that run a plan over them with the product's own parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import Clock
from orchestrator.core.run import Run
from orchestrator.documents.loader import load_runbook
from orchestrator.engine.dispatch import Fleet, InlineFleet
from orchestrator.engine.dispatch_threaded import ThreadedFleet
from orchestrator.engine.engine import Engine
from orchestrator.engine.held import hold_new
from orchestrator.family.contract import AdapterContext
from orchestrator.family.secrets import SecretStore
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import Lease
from orchestrator.model import events as ev
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS

SITES = ("ny", "nj")


@dataclass(frozen=True, slots=True)
class Bench:
    """A simulated world, and the plan that moves all its services."""

    world: World
    plan: ev.Plan
    clock: Clock


@contextmanager
def bench_pair(
    clock: Clock, services: int, *, latency: float = 0.0, backlog: int = 0, drain_rate: float = 1_000.0
) -> Iterator[Bench]:
    """A pair of sites in memory; every service has the same ``backlog`` and no new messages."""
    names = tuple(f"vpn-{number:04}" for number in range(services))
    layout = WorldLayout(
        sites=(SiteLayout("ny", ("ny1",), latency), SiteLayout("nj", ("nj1",), latency)),
        vpns=tuple(VpnLayout(name, publish_rate=0.0, backlog=backlog, drain_rate=drain_rate) for name in names),
    )
    world = World(layout, clock)
    reference = WORLDS.register("bench", world)
    sites = {
        name: Site(adapter="mock", devices=(Device(name=f"{name}1"),), options={"world": reference}) for name in SITES
    }
    inventory = Inventory(sites=sites, pairs=(Pair(name="bench", sites=SITES, services=names),))
    plan = ev.Plan(
        runbook=load_runbook("solace/controlled"),
        inventory=inventory,
        pair="bench",
        source="ny",
        target="nj",
        services=names,
        simulated=True,
    )
    try:
        yield Bench(world, plan, clock)
    finally:
        WORLDS.forget("bench")


def lead(bench: Bench, *, threads: bool) -> Run:
    """Lead the run until it is finished, with journal and leases in a separate SQLite file."""
    with TemporaryDirectory() as folder:
        journal = Journal.at(Path(folder) / "journal.sqlite")
        run = lead_in(journal, bench, threads=threads)
        journal.close()
    return run


def lead_in(journal: Journal, bench: Bench, *, threads: bool) -> Run:
    """Lead the run until it is finished, in the caller's ``journal``, as run ``bench``."""
    created = ev.RunCreated(plan=bench.plan, by="bench", version="bench")
    held = hold_new(journal, bench.clock, "bench", created)
    run = Engine(journal, *held, _fleet(bench, held.lease, threads), bench.clock, by="bench").run()
    if run.outcome is not ev.Outcome.DONE:
        raise RuntimeError(f"the benchmark's run ended {run.outcome}")
    return run


def _fleet(bench: Bench, lease: Lease, threads: bool) -> Fleet:
    context = AdapterContext(bench.clock, SecretStore())
    source = MockAdapter(bench.plan.inventory.sites["ny"], context)
    target = MockAdapter(bench.plan.inventory.sites["nj"], context)
    kind = ThreadedFleet if threads else InlineFleet
    return kind({"source": source, "target": target}, lease, bench.clock)
