"""One run of many trivial steps by this program's engine. ``ours.py URL STEPS`` prints the milliseconds of a step."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from orchestrator.clock import SystemClock
from orchestrator.documents.loader import load_runbook
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.engine.held import hold_new
from orchestrator.family.contract import ActionSpec, Call, Permit, ReadingSpec, Result
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

SITES = ("ny", "nj")


class Trivial:
    """A site that accepts each command immediately. ``done``: the number of commands."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {}
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "count": ActionSpec("count", "count one more", idempotent=True, commands=lambda call: ["count"])
    }
    simulated: ClassVar[bool] = False

    def __init__(self) -> None:
        self.done = 0

    def open(self) -> None:
        """There is no session."""

    def close(self) -> None:
        """There is no session."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """Raises ``ValueError``: the site has no reading."""
        raise ValueError(reading)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``orchestrator.family.contract.Adapter``."""
        for call in calls:
            permit.check()
            self.done += 1
            yield Result(call, Effect.ACCEPTED, device="ny1")


def main(place: str, steps: int) -> None:
    """Lead the run. The record has each intent and each outcome."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "counting.yaml"
        lines = [f"  - {{id: s{n}, title: Count {n}, do: {{on: source, action: count}}}}" for n in range(steps)]
        path.write_text("\n".join(["runbook: trivial/counting", "summary: Count.", "steps:", *lines]))
        runbook = load_runbook(path)
    sites = {name: Site(adapter="trivial", devices=(Device(name=f"{name}1"),)) for name in SITES}
    inventory = Inventory(sites=sites, pairs=(Pair(name="pair", sites=SITES, services=("orders",)),))
    plan = ev.Plan(
        runbook=runbook,
        inventory=inventory,
        pair="pair",
        source="ny",
        target="nj",
        services=("orders",),
        simulated=False,
    )
    journal, clock, source, name = Journal(place), SystemClock(), Trivial(), f"bench-{time.time_ns()}"
    held = hold_new(journal, clock, name, ev.RunCreated(plan=plan, by="bench", version="bench"))
    engine = Engine(
        journal, *held, InlineFleet({"source": source, "target": Trivial()}, held.lease, clock), clock, by="bench"
    )
    start = time.perf_counter()
    run = engine.run()
    taken = time.perf_counter() - start
    assert run.outcome is ev.Outcome.DONE and source.done == steps, (run.outcome, source.done)
    intents = sum(isinstance(one.event, ev.ActionIntended) for one in journal.records(name))
    journal.close()
    print(taken / steps * 1000, intents)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
