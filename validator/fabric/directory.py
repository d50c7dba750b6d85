"""Finds the instances that a destination leads to: by name, by address, by group.

AMPS itself only uses addresses. A configuration rarely names the host of its instance, so names and groups are used
too. Each assumption has a name in ``Assumptions``. This module never guesses between equal candidates: it returns all
of them, and each is validated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adapters.amps.config.configuration import address as split_address
from adapters.amps.config.model import Address, Destination, Instance
from adapters.amps.config.settings import Assumptions


@dataclass(frozen=True, slots=True)
class Resolution:
    """The instances a destination may lead to. ``is_itself``: the destination names the instance that has it."""

    targets: tuple[Instance, ...]
    is_itself: bool = False
    is_ambiguous: bool = False


class Directory:
    """All instances of a fabric, found by name, group and address."""

    def __init__(
        self, instances: Sequence[Instance], hosts: Mapping[str, Sequence[str]], assumptions: Assumptions
    ) -> None:
        self._assumptions = assumptions
        self.by_name: dict[str, list[Instance]] = defaultdict(list)
        self.by_group: dict[str, list[Instance]] = defaultdict(list)
        self._by_host: dict[str, list[Instance]] = defaultdict(list)
        self._by_port: dict[int, list[Instance]] = defaultdict(list)
        self._ports: dict[Instance, frozenset[int]] = {}
        for instance in instances:
            self.by_name[instance.name].append(instance)
            self.by_group[instance.group].append(instance)
            listening = [split_address(text) for each in instance.replication_transports for text in each.addresses]
            self._ports[instance] = frozenset(entry.port for entry in listening if entry.port is not None)
            for port in self._ports[instance]:
                self._by_port[port].append(instance)
            for host in {*hosts.get(instance.name, ()), *_concrete_hosts(listening), *self._name_as_host(instance)}:
                self._by_host[host.casefold()].append(instance)

    def ports(self, instance: Instance) -> frozenset[int]:
        """The ports on which the instance's replication transports listen."""
        return self._ports[instance]

    def targets(self, source: Instance, destination: Destination) -> Resolution:
        """The instances that ``destination`` of ``source`` leads to, without repetition."""
        named = self.by_name.get(destination.name, []) if destination.name else []
        if named and all(each is source for each in named):
            return Resolution((), is_itself=True)
        group = destination.group or destination.name
        grouped = [each for each in self.by_group.get(group, []) if each is not source]
        sure = _distinct([*named, *self._addressed(destination.addresses)], without=source)
        if sure and len(sure) >= len(destination.addresses):
            return Resolution(sure)
        likely = self._listening(grouped, destination.addresses)
        if sure:
            return Resolution(_distinct([*sure, *likely], without=source))
        if likely:
            return Resolution(_distinct(likely), is_ambiguous=len(likely) > max(1, len(destination.addresses)))
        return Resolution(self._by_unique_port(source, destination.addresses))

    def at(self, source: Instance, addresses: Iterable[Address]) -> Resolution:
        """The instances at plain addresses, as in ``Bootstrap``."""
        found: list[Instance] = []
        for entry in addresses:
            found += self._addressed([entry]) or self._by_unique_port(source, [entry])
        return Resolution(_distinct(found, without=source), is_itself=source in found)

    def _addressed(self, addresses: Iterable[Address]) -> list[Instance]:
        found: list[Instance] = []
        for entry in addresses:
            host = entry.host.casefold()
            at_host = self._by_host.get(host) or self._by_host.get(host.partition(".")[0], [])
            found += [each for each in at_host if self._may_listen(each, entry.port)]
        return found

    def _may_listen(self, instance: Instance, port: int | None) -> bool:
        ports = self._ports[instance]
        return port is None or not ports or port in ports

    def _listening(self, instances: list[Instance], addresses: Sequence[Address]) -> list[Instance]:
        """The instances that listen on one of the ports; all instances when none does."""
        ports = {entry.port for entry in addresses if entry.port is not None}
        listening = [each for each in instances if self._ports[each] & ports]
        return listening or instances

    def _by_unique_port(self, source: Instance, addresses: Sequence[Address]) -> tuple[Instance, ...]:
        if not self._assumptions.unique_port:
            return ()
        found: list[Instance] = []
        for entry in addresses:
            if entry.port is not None:
                there = [each for each in self._by_port.get(entry.port, []) if each is not source]
                found += there if len(there) == 1 else []
        return _distinct(found)

    def _name_as_host(self, instance: Instance) -> Iterable[str]:
        return (instance.name,) if self._assumptions.host_names_instance else ()


def _concrete_hosts(listening: Iterable[Address]) -> Iterable[str]:
    """The addresses of this machine only. A bare port, a wildcard and a loopback address fit every machine."""
    vague = {"", "0.0.0.0", "::", "*", "localhost", "127.0.0.1", "::1"}
    return (entry.host for entry in listening if entry.host not in vague)


def _distinct(instances: Iterable[Instance], without: Instance | None = None) -> tuple[Instance, ...]:
    return tuple(each for each in dict.fromkeys(instances) if each is not without)
