"""A simulated copy of a pair of AMPS instances, made from the inventory and the reports of the instances.

A value that neither gives is assumed, and every assumption is named before the rehearsal starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from adapters.mock.amps.known import ReadSite, read_site
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import Registry
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
from orchestrator.model.inventory import Device, Inventory, Site
from simulator.amps.copies import Known, assumptions, copied_fabric, let_in
from simulator.amps.faults import parse_amps_fault
from simulator.amps.layout import FabricLayout
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS

# The option of the rehearsed command which says that an instance lost its data.
_BOOTSTRAP = "--bootstrap"
_ALWAYS = (
    "publishers, their rates and the content of journals are drawn from the seed",
    "replication validation passes: `failover validate --from-inventory` checks it",
    "behaviour that 60East does not document is as in docs/how-to/amps-lab.md",
)


class AmpsScene:
    """See ``Scene``. Reads the instances when it is made; raises ``DefinitionError``."""

    drills = "amps"

    def __init__(self, rehearsal: Rehearsal, registry: Registry, context: AdapterContext) -> None:
        self._rehearsal = rehearsal

        def read(name: str) -> ReadSite:
            site, unread = rehearsal.inventory.sites[name], rehearsal.unread.get(name, "")
            return read_site(registry, context, site, rehearsal.services, unread=unread)

        with ThreadPoolExecutor(2) as pool:
            source, target = pool.map(read, (rehearsal.source, rehearsal.target))
        self._source, self._target = _renamed(source, target)
        self._is_sync = all(known.sync for known in self._source.known.values())
        self._layout = self._fabric()
        self._world: AmpsWorld | None = None

    def _fabric(self) -> FabricLayout:
        pairs = {
            (self._source.known[name].name, self._target.known[name].name): name for name in self._rehearsal.services
        }
        for end in (self._source, self._target):
            names = {end.known[service].name for service in pairs.values()}
            if len(names) < len(pairs):
                raise DefinitionError(
                    f"services share an instance of {end.site} but have different mates; a copy cannot have that",
                    hint="rehearse one service at a time: name one service",
                )
        known = [(self._source.known[service], self._target.known[service]) for service in pairs.values()]
        return copied_fabric(known, seed=self._rehearsal.seed, bootstrap=_BOOTSTRAP in self._rehearsal.more)

    def fitted(self, fault: str) -> Sequence[str]:
        """See ``Scene``."""
        return fitted_faults(fault, self._instances)

    @property
    def _instances(self) -> list[tuple[str, str]]:
        """The instances of each service: the source's, the target's."""
        both = (self._source.known, self._target.known)
        found = [(both[0][service].name, both[1][service].name) for service in self._rehearsal.services]
        return list(dict.fromkeys(found))

    # The copy

    @contextmanager
    def up(self, clock: RehearsalClock, file: Path | None) -> Iterator[Inventory]:
        """See ``Scene``."""
        world = AmpsWorld(self._layout, clock, path=file)
        with AMPS_WORLDS.standing(world, REHEARSAL, file=file, clock=clock) as (self._world, reference):
            yield self._copy(reference)

    def _copy(self, world: str) -> Inventory:
        """The inventory of the copy: names, fence plans and the declared kinds of links, and nothing that leads to a
        device."""
        sites = {}
        for end in (self._source, self._target):
            site = self._rehearsal.inventory.sites[end.site]
            names = {service: known.name for service, known in end.known.items()}
            sites[end.site] = Site(
                title=site.title,
                adapter="mock-amps",
                devices=tuple(Device(name=name) for name in dict.fromkeys(names.values())),
                options={"world": world, "services": names, "link": "sync" if end.says_sync else "async"},
                fence=attested_fence(site),
            )
        return self._rehearsal.copied(sites)

    def play(self, prelude: Prelude) -> None:
        """See ``Scene``."""
        assert self._world is not None  # it is up
        clock, kind, world = prelude.clock, self._rehearsal.kind, self._world
        for source, target in self._instances:
            let_in(world, source, is_open=True)
            let_in(world, target, is_open=self._target_is_open)
        # An instance reports only its samples, so three samples are taken first.
        clock.advance(max(WELL_S, 3 * max(one.interval for one in self._layout.instances)))
        if kind == "controlled":
            return
        for source, _ in self._instances:
            world.kill(source)
        if kind == "uncontrolled":
            clock.advance(DARK_S)
            return
        prelude.lead(self._runbook("uncontrolled"), {"unfenced": "attest", "data-loss": "accept"})
        clock.advance(AWAY_S)
        for source, _ in self._instances:
            if _BOOTSTRAP in self._rehearsal.more:
                world.lose(source)
            world.start(source)
        if kind == "failback":
            prelude.lead("amps/restore", {"stale-tail": "accept"})
            clock.advance(SERVES_S)

    def _runbook(self, kind: str) -> str:
        return f"amps/{kind}" if self._source.says_sync else f"amps/{kind}-async"

    @property
    def _target_is_open(self) -> bool:
        """Does the target let clients in? As it does now; if that is unknown, as the procedure for these links
        expects."""
        states = set(self._target.is_open.values())
        return states.pop() is True if len(states) == 1 and None not in states else self._is_sync

    # What the copy is made of

    def lines(self) -> Iterator[str]:
        """See ``Scene``."""
        for source, target in self._instances:
            words = [self._described(one) for one in (source, target)]
            rate = sum(one.rate for one in self._layout.publishers if source in one.servers)
            yield f"{' and '.join(words)}; {rate:,.0f} messages/s are published"
        for end in (self._source, self._target):
            yield f"{end.site}: {'as read from it now' if not end.unread else f'not read: {end.unread}'}"
        for text in self._assumed():
            yield f"assumed: {text}"

    def _described(self, name: str) -> str:
        one = self._layout.instance(name)
        sync = "sync" if one.destinations[0].sync else "async"
        return f"{name} at {one.site} (group {one.group_name}, {sync}, a sample each {one.interval:g}s)"

    def _assumed(self) -> Iterator[str]:
        """Every assumption, with the instances that it is about."""
        sources = {one.name for one in self._source.known.values()}
        about: dict[str, list[str]] = {}
        both = (self._source.known, self._target.known)
        ends = [(here[name], there[name]) for here, there in (both, both[::-1]) for name in self._rehearsal.services]
        for known, mate in ends:
            for text in assumptions(known, mate):
                names = about.setdefault(text, [])
                names += [known.name] if known.name not in names else []
        for text, names in about.items():
            yield f"{', '.join(names)}: {text}"
        if any(is_open is False for is_open in self._source.is_open.values()):
            yield f"{', '.join(sorted(sources))}: the copy lets clients in, although the instance does not now"
        if None in self._target.is_open.values() or not self._target.is_open:
            yield f"{self._target.site}: it {'lets clients in' if self._target_is_open else 'is closed to clients'}"
        for end in (self._source, self._target):
            for odd in end.oddities:
                yield f"{end.site}: {odd}"
        yield from _ALWAYS

    def facts(self) -> dict[str, object]:
        """See ``Scene``."""
        return {
            "publish_rates": {one.name: one.rate for one in self._layout.publishers},
            "read": [one.site for one in (self._source, self._target) if not one.unread],
            "assumed": list(self._assumed()),
        }

    def openness(self, intervals: int) -> str:
        """See ``Scene``. Across sync links both instances may let clients in, so nothing is reported."""
        if self._is_sync:
            return ""
        return (
            f"BOTH LET CLIENTS IN, {counted(intervals, 'time')}"
            if intervals
            else "both instances never let clients in at the same time"
        )


def fitted_faults(text: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The fault for each service. ``pairs``: the instances of each, the source's and then the target's."""
    fitting = list(dict.fromkeys(with_sides(text, source, target) for source, target in pairs))
    for fault in fitting:
        parse_amps_fault(fault)
    return fitting


def _renamed(*ends: ReadSite) -> tuple[ReadSite, ...]:
    """Instances of both sites in one fabric: if two have the same name, each gets the name of its site in front."""
    names: dict[str, set[str]] = {}
    for end in ends:
        for known in end.known.values():
            names.setdefault(known.name, set()).add(end.site)
    return tuple(
        replace(end, known={service: _named(known, names) for service, known in end.known.items()}) for end in ends
    )


def _named(known: Known, names: Mapping[str, set[str]]) -> Known:
    return replace(known, name=f"{known.site}-{known.name}") if len(names[known.name]) > 1 else known
