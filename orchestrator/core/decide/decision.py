"""What a decision consists of: events to record, readings to take, questions to ask. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.model import events as ev
from orchestrator.model.runbook import Claim, Progress, Side

# What a lane may ask the journal for. ``leave`` claims nothing: it asks whether another service relies on the thing.
ClaimKind = Claim | Literal["leave"]
SITE_CLAIMS = "site_claims"


@dataclass(frozen=True, slots=True)
class Observe:
    """Take these readings, together. ``gauge`` is the number among them that a wait follows. ``after``: the readings that
    are asked for only once all others were answered, since they are compared with values of the others."""

    service: str
    mark: int
    asks: tuple[tuple[Side, str], ...]
    gauge: Progress | None = None
    after: frozenset[tuple[Side, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Ask:
    """Put this question to a person."""

    service: str
    gate: ev.GateOpened


@dataclass(frozen=True, slots=True)
class ClaimSite:
    """Ask the journal for a claim on ``thing``, which belongs to the whole site ``on``. The answer is a reading
    ``site_claims``."""

    service: str
    mark: int
    on: Side
    thing: str
    wish: ClaimKind


Request = Observe | Ask | ClaimSite


@dataclass(frozen=True, slots=True)
class Next:
    """Either ``events`` to record now, or ``requests``, and ``wake``: when to decide again even without an answer."""

    events: tuple[ev.Event, ...] = ()
    requests: tuple[Request, ...] = ()
    wake: float | None = None


IDLE = Next()


def emit(*events: ev.Event) -> Next:
    return Next(events=events)
