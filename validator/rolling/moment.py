"""Computes what AMPS would refuse at one time of a rolling change, when some instances have the new configuration.

Only the links of the last restarted instance can have changed, so only these links are checked again. For this check,
the instance and its neighbours form a small fabric. The targets of destinations are computed before the change.
This module writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from adapters.amps.config.model import Check, Destination, Instance
from adapters.amps.config.settings import ValidateOptions
from validator.checks import Case, verdicts
from validator.fabric.directory import Directory, Resolution
from validator.fabric.fabric import Fabric, Link
from validator.fabric.remainder import remainder
from validator.rolling.amend import EntryKey, key_of


class Refusal(NamedTuple):
    """An active check that fails on the link from ``source`` to ``target``, for topics of one entry."""

    source: str
    target: str
    entry: EntryKey
    check: Check

    @property
    def link(self) -> str:
        return f"{self.source} → {self.target}"


Routes = Mapping[tuple[str, str], frozenset[str]]  # (instance, destination) to the names of the target instances


def routes(*fabrics: Fabric) -> Routes:
    """The names of the instances that every destination of the fabrics leads to."""
    found: dict[tuple[str, str], set[str]] = {}
    for fabric in fabrics:
        for link in fabric.links:
            found.setdefault((link.source.name, link.destination.label), set()).add(link.target.name)
    return {key: frozenset(names) for key, names in found.items()}


class Moment:
    """The currently running instances, and the links that AMPS refuses between them."""

    def __init__(self, instances: Iterable[Instance], leads: Routes, options: ValidateOptions) -> None:
        self._running = {each.name: each for each in instances}
        self._leads = leads
        self._options = options
        self._near: dict[str, set[str]] = {name: set() for name in self._running}
        for (source, _), targets in leads.items():
            for target in targets:
                self._near.setdefault(source, set()).add(target)
                self._near.setdefault(target, set()).add(source)
        self.refusals: set[Refusal] = set()
        for name in list(self._running):
            self._look_again(name)

    def restart(self, instance: Instance) -> None:
        """Restart the instance with another configuration, or start it for the first time."""
        self._running[instance.name] = instance
        self._look_again(instance.name)

    def stop(self, name: str) -> None:
        """Remove the instance permanently."""
        self._running.pop(name, None)
        self._forget(name)

    def _look_again(self, name: str) -> None:
        self._forget(name)
        names = [each for each in (name, *sorted(self._near.get(name, ()))) if each in self._running]
        small = [self._running[each] for each in names]
        fabric = Fabric(small, self._options, directory=_Settled(small, self._leads, self._options))
        for link in fabric.links:
            if name in (link.source.name, link.target.name):
                self.refusals |= set(refusals(fabric, link))

    def _forget(self, name: str) -> None:
        self.refusals = {each for each in self.refusals if name not in (each.source, each.target)}


def refusals(fabric: Fabric, link: Link) -> Iterator[Refusal]:
    """The active checks that certainly fail on a link."""
    source, target = link.source.name, link.target.name
    for topic, carriage in fabric.traffic(link):
        for verdict in verdicts(Case(fabric, link, topic, carriage)):
            if verdict.is_decided and verdict.check in carriage.enforced:
                yield Refusal(source, target, key_of(link.source, link.destination, carriage.entry), verdict.check)
    for left in remainder(fabric, link):
        if left.verdict.is_decided and left.verdict.check not in left.entry.excluded:
            yield Refusal(source, target, key_of(link.source, link.destination, left.entry), left.verdict.check)


class _Settled(Directory):
    """A directory with fixed targets for destinations, so checking a part of the fabric finds the same targets."""

    def __init__(self, instances: Iterable[Instance], leads: Routes, options: ValidateOptions) -> None:
        super().__init__(list(instances), options.hosts, options.assumptions)
        self._leads = leads

    def targets(self, source: Instance, destination: Destination) -> Resolution:
        names = self._leads.get((source.name, destination.label), frozenset())
        return Resolution(tuple(self.by_name[name][0] for name in sorted(names) if name in self.by_name))
