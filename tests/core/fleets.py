"""What the tests of the fleets share: commands in one line, and a site that counts its requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.core.decide import Observe
from orchestrator.engine.dispatch import Act
from orchestrator.family.contract import Call, Permit, Result
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Progress, Side
from tests.core.scripted import ScriptedPair, ScriptedSite

MANY = [f"service-{number}" for number in range(1000)]
BOTH: tuple[tuple[Side, str], ...] = (("source", "replication_queue"), ("target", "replication"))
GATE = ev.GateOpened(gate="g", step="s", choices=("wait", "stop"), unattended="stop", why="")


class Counting(ScriptedSite):
    """A site that notes the requests as they come: how many services or calls each one carried."""

    def __init__(self, pair: ScriptedPair, side: Side) -> None:
        super().__init__(pair, side)
        self.requests: list[tuple[str, int]] = []

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self.requests.append((reading, len(services)))
        return super().probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        self.requests.append((action, len(calls)))
        return super().apply(action, calls, permit)


def observe(service: str, *asks: tuple[Side, str], mark: int = 1, gauge: Progress | None = None) -> Observe:
    return Observe(service, mark, asks or BOTH, gauge)


def promote(service: str, intent: int = 1) -> Act:
    return Act(service, intent, "target", "set_role", {"role": "active"})
