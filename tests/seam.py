"""What tests give to an adapter at its seam, and how they take what it answers for what it has to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from orchestrator.errors import Forbidden
from orchestrator.family.contract import Adapter, Call, Permit, Result
from orchestrator.model.reading import ReadingModel
from orchestrator.model.readings import known_readings

T = TypeVar("T")
ReadingT = TypeVar("ReadingT", bound=ReadingModel)


class Secretless:
    """For sites that ask for no secret: who asks fails the test."""

    def reveal(self, reference: object, *, what: str) -> str:
        raise AssertionError(f"asked for {what}")


@dataclass
class Permits:
    """Allows the first ``allowed`` changes. ``heard``: what the device has heard so far; ``heard_at``: at each check."""

    allowed: int = 1_000_000
    heard: Callable[[], Sequence[str]] = tuple
    heard_at: list[Sequence[str]] = field(default_factory=list)

    def check(self) -> None:
        self.heard_at.append(tuple(self.heard()))
        if self.checks > self.allowed:
            raise Forbidden("the lease is no longer ours")

    @property
    def checks(self) -> int:
        """How often it was asked."""
        return len(self.heard_at)


def apply(adapter: Adapter, action: str, *calls: Call, permit: Permit | None = None) -> Sequence[Result]:
    """All results of one ``apply``."""
    return list(adapter.apply(action, calls, permit or Permits()))


def read(adapter: Adapter, kind: type[ReadingT], service: str) -> ReadingT:
    """What ``adapter`` reads of one service; of which reading, its type tells."""
    [name] = [name for name, one in known_readings().items() if one is kind]
    return told(kind, adapter.probe(name, [service])[service])


def told(kind: type[T], answer: object) -> T:
    """``answer``, which has to be of this kind; if not, the test fails and shows what it is."""
    assert isinstance(answer, kind), answer
    return answer
