"""A simulated copy of a pair of a declared family: names of the inventory, effects of its file, rates from the seed.

No site is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from adapters.mock.declared.adapter import mock_name
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.family.rehearsal import (
    AWAY_S,
    DARK_S,
    REHEARSAL,
    SERVES_S,
    WELL_S,
    Prelude,
    Rehearsal,
    RehearsalClock,
    attested_fence,
    with_sides,
)
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.inventory import Device, Inventory, Site
from simulator.generic.faults import parse_generic_fault
from simulator.generic.layout import GenericLayout, GenericService, generic_layout
from simulator.generic.world import GenericWorld
from simulator.generic.worlds import GENERIC_WORLDS


class DeclaredScene:
    """See ``Scene``."""

    drills = "declared"

    def __init__(self, file: FamilyFile, rehearsal: Rehearsal) -> None:
        self._file, self._rehearsal = file, rehearsal
        self._layout = _layout(file, rehearsal)
        self._world: GenericWorld | None = None

    def fitted(self, fault: str) -> Iterator[str]:
        """See ``Scene``."""
        text = with_sides(fault, self._rehearsal.source, self._rehearsal.target)
        parse_generic_fault(text)
        yield text

    @contextmanager
    def up(self, clock: RehearsalClock, file: Path | None) -> Iterator[Inventory]:
        """See ``Scene``."""
        world = GenericWorld(self._layout, clock, path=file)
        with GENERIC_WORLDS.standing(world, REHEARSAL, file=file, clock=clock) as (self._world, reference):
            sites = self._rehearsal.inventory.sites
            yield self._rehearsal.copied(
                {name: self._copied(sites[name], reference) for name in self._rehearsal.pair.sites}
            )

    def _copied(self, site: Site, world: str) -> Site:
        return Site(
            title=site.title,
            adapter=mock_name(self._file.family),
            devices=tuple(Device(name=device.name) for device in site.devices),
            options={"world": world},
            fence=attested_fence(site),
        )

    def play(self, prelude: Prelude) -> None:
        """See ``Scene``."""
        assert self._world is not None  # it is up
        clock, kind, source = prelude.clock, self._rehearsal.kind, self._rehearsal.source
        clock.advance(WELL_S)
        if kind == "controlled":
            return
        self._lose(source)
        if kind == "uncontrolled":
            clock.advance(DARK_S)
            return
        if kind == "repair":
            raise DefinitionError(f"the family {self._file.family} has no repair that can be rehearsed")
        prelude.lead(f"{self._file.family}/uncontrolled", {"unfenced": "attest"})
        clock.advance(AWAY_S)
        self._turn(source, up=True)
        if kind == "failback":
            prelude.lead(f"{self._file.family}/restore", {"data-loss": "accept"})
            clock.advance(SERVES_S)

    def _lose(self, site: str) -> None:
        """Let the site fail. If its fence plan needs its machine, the machine still answers."""
        assert self._world is not None
        if self._rehearsal.inventory.sites[site].own_fence is None or not self._file.stopping:
            self._turn(site, up=False)
            return
        with self._world.request():
            for service in self._rehearsal.services:
                self._world.act(site, service, self._file.stopping[0], {}, by="somebody")

    def _turn(self, site: str, *, up: bool) -> None:
        assert self._world is not None
        with self._world.request():
            self._world.turn(site, up=up)

    def lines(self) -> Iterator[str]:
        """See ``Scene``."""
        unit = self._file.words.backlog or "unit"
        for one in self._layout.services:
            yield f"{one.name}: {one.rate:,.0f} {unit}s/s are written; the link carries {one.drain:,.0f}"
        yield f"assumed: actions have the effects that {self._file.family} declares in makes and model; nothing was read"

    def facts(self) -> dict[str, object]:
        """See ``Scene``."""
        return {"publish_rates": {one.name: one.rate for one in self._layout.services}}

    def openness(self, intervals: int) -> str:
        """See ``Scene``."""
        return f"BOTH SITES WERE ACTIVE, {counted(intervals, 'time')}" if intervals else "never two active sites"


def _layout(file: FamilyFile, rehearsal: Rehearsal) -> GenericLayout:
    draw = Random(f"declared:{rehearsal.seed}")
    return generic_layout(
        file,
        sites=rehearsal.pair.sites,
        source=rehearsal.source,
        services=tuple(_service(name, rehearsal.seed) for name in rehearsal.services),
        latency=round(draw.uniform(0.002, 0.02), 4),
    )


def _service(name: str, seed: int) -> GenericService:
    draw = Random(f"{name}:{seed}")
    rate = float(round(10 ** draw.uniform(1.3, 2.9)))
    return GenericService(
        name=name,
        rate=rate,
        drain=float(round(rate * draw.uniform(1.2, 4.0))),
        waiting=round(rate * draw.uniform(2.0, 6.0)),
        clients=draw.randint(1, 8),
    )
