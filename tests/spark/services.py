"""Whole services at both sites, as chance puts them together, and exports of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from orchestrator.clock import VirtualClock
from pipeline.collect import Job, collect
from pipeline.manifest import ServiceSnapshot
from pipeline.rows import Census, Cursor, EndpointKey, Message
from tests.spark.oracle import NOON, Case, Endpoint, some_case

FAILOVER = NOON - 500
Role = Literal["active", "standby"]
ROLES: Mapping[str, tuple[Role | None, Role | None]] = {
    "left": ("active", "standby"),
    "right": ("standby", "active"),
    "both": ("active", "active"),
    "": (None, None),
}
# What was read of each endpoint of one site, and how much it tells to have beyond that (None: nothing is told).
Ends = dict[EndpointKey, tuple[Endpoint, int | None]]


@dataclass(frozen=True)
class Service:
    """One service at both sites. ``serving`` as its sites say it; ``interrupted``: was replication, as each site's
    record says; ``beyond``: by endpoint and site, how much it tells to have beyond what was read (None: nothing)."""

    name: str
    cases: tuple[Case, ...]
    serving: str
    interrupted: tuple[bool | None, bool | None]
    beyond: tuple[tuple[int | None, int | None], ...]

    @property
    def active(self) -> str | None:
        return self.serving if self.serving in ("left", "right") else None

    @property
    def is_read_in_full(self) -> bool:
        return all(one == 0 for ends in self.beyond for one in ends)

    def told(self, side: int) -> ServiceSnapshot:
        """What the site ``side`` says of it."""
        return ServiceSnapshot(name=self.name, role=ROLES[self.serving][side], was_interrupted=self.interrupted[side])

    def ends(self, side: int) -> Ends:
        """What the site ``side`` holds of it: endpoints ``q0``, ``q1``, …"""
        return {
            EndpointKey(self.name, f"q{number}"): ((case.left, case.right)[side], self.beyond[number][side])
            for number, case in enumerate(self.cases)
        }


def some_service(seed: int) -> Service:
    """One that chance puts together: its messages older than the fail-over, younger or both, its sites often alike,
    sometimes one has lost its spool."""
    chance = random.Random(seed)
    serving = chance.choice(["right"] * 5 + ["left", "left", "both", ""])
    later, is_emptied = chance.choice([0, 0, 450, 600]), chance.random() < 0.15
    cases = []
    for _ in range(chance.randrange(1, 4)):
        case = some_case(chance.randrange(2**32))
        left, right = (_later(side, later) for side in (case.left, case.right))
        left = replace(left, messages=right.messages) if chance.random() < 0.3 else left
        left = replace(left, messages=()) if is_emptied else left
        cases.append(Case(left, right, serving if serving in ("left", "right") else None, FAILOVER))
    interrupted = chance.choice([(False, False), (False, False), (None, False), (True, None), (None, None)])
    beyond = tuple((chance.choice([0] * 40 + [1, None]), chance.choice([0] * 40 + [1, None])) for _ in cases)
    return Service(f"s{seed}", tuple(cases), serving, interrupted, beyond)


def plain_service(name: str, cases: Sequence[Case]) -> Service:
    """One that right serves, whose replication was never interrupted, read in full."""
    return Service(name, tuple(cases), "right", (False, False), ((0, 0),) * len(cases))


def _later(side: Endpoint, seconds: float) -> Endpoint:
    return replace(side, messages=tuple(replace(one, spooled_at=one.spooled_at + seconds) for one in side.messages))


class Held:
    """One site as a ``Source``."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._asked: set[EndpointKey] = set()

    def endpoints(self) -> list[EndpointKey]:
        return list(self._ends)

    def census(self, key: EndpointKey) -> Census:
        one, beyond = self._ends[key]
        at = one.taken_to if key in self._asked else one.taken_from
        self._asked.add(key)
        return Census(at, None if beyond is None else len(one.messages) + beyond)

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        yield from self._ends[key][0].messages[0 if after is None else after.position + 1 :]


def write_services(
    services: Sequence[Service], folder: Path, more: Sequence[Ends] = ({}, {}), told: Sequence[str] = ()
) -> tuple[str, str]:
    """Both sites' exports of them: left is ny, right nj. ``more``: other endpoints of each site, of the services
    ``told``, which right serves."""
    for side, site in enumerate(("ny", "nj")):
        ends = {key: end for one in services for key, end in one.ends(side).items()} | more[side]
        said = [*(one.told(side) for one in services), *(plain_service(name, ()).told(side) for name in told)]
        collect(Held(ends), folder / site, Job(site, said), VirtualClock(NOON))
    return str(folder / "ny"), str(folder / "nj")
