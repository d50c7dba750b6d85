"""Finds the node of a site that serves, for every kind of session.

The serving node is determined again for every step and never remembered. An HA pair may switch at any time, and a
command to the wrong member is lost at best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from adapters.solace.parse_redundancy import Redundancy, Spool
from adapters.solace.reading_models import DeviceHealth
from orchestrator.errors import AdapterError, AuthenticationFailed, HostKeyRejected, NotServing, Unreachable
from orchestrator.model.inventory import Device, Site

# Readings of the message spool. A member that does not serve shows an empty spool, so the serving node is checked again
# after the reading.
ONLY_WHILE_SERVING = frozenset({"replication_queue", "transactions", "endpoints"})


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The report of one node about itself. ``redundancy`` is None if the node reports only whether its spool is
    active."""

    serving: bool
    redundancy: Redundancy | None = None
    spool: Spool | None = None

    @property
    def spool_active(self) -> bool | None:
        """Is the message spool active on this node?"""
        if self.spool is not None:
            return self.spool is Spool.ACTIVE
        return self.redundancy.spool_active if self.redundancy is not None else None

    @property
    def is_idle(self) -> bool:
        """Is the spool known not to be ready? Then this node does not serve, and does not start to serve by itself."""
        routers = () if self.redundancy is None else (self.redundancy.primary, self.redundancy.backup)
        spools = {self.spool, *(router.spool for router in routers)} - {None}
        return not self.serving and bool(spools) and spools <= _IDLE


# States of a message spool in which no node takes over by itself (docs/sources/solace-procedure.md, uncontrolled 4.2;
# docs/sources/solace.md, 3.5).
_IDLE: frozenset[Spool | None] = frozenset({Spool.NOT_READY, Spool.DISABLED})


class Askable(Protocol):
    """One node of a site, with its session."""

    @property
    def device(self) -> Device: ...

    @property
    def is_left_alone(self) -> bool:
        """Was the node unreachable a moment ago?"""
        ...

    def tell(self, *, alone: bool, tell_spool: bool) -> NodeStatus:
        """Read the node's state now. ``alone``: the site has no other node. ``tell_spool``: the spool's state is needed
        as well.

        Raises ``AdapterError``.
        """
        ...


N = TypeVar("N", bound=Askable)


@dataclass(frozen=True, slots=True)
class Seen(Generic[N]):
    """The report of one node about itself, or the error that prevented the report."""

    node: N
    told: NodeStatus | None = None
    error: AdapterError | None = None

    @property
    def serving(self) -> bool | None:
        """None if the node could not be asked."""
        return None if self.told is None else self.told.serving


class Nodes(Generic[N]):
    """All nodes of a site."""

    def __init__(self, nodes: Sequence[N], site: Site) -> None:
        self._nodes = tuple(nodes)
        self._site = site

    def __iter__(self) -> Iterator[N]:
        return iter(self._nodes)

    def serving(self, *, thorough: bool) -> N:
        """The node that serves now. ``thorough``: ask every node, as before a change.

        Raises ``NotServing`` if no node, or more than one, says that it serves. If the serving node may be one that
        could not be asked, raises that node's error.
        """
        return self._choose(self._survey(thorough=thorough)).node

    def confirm(self, node: N) -> None:
        """Raise ``NotServing`` unless ``node``, which served before a reading, still serves.

        A member that has just stopped serving shows an empty queue and no transactions, as if all were done.
        """
        seen = self._ask(node, tell_spool=False)
        if seen.error is not None:
            raise seen.error
        if not seen.serving:
            raise NotServing(f"{node.device.name} stopped serving while it was read", device=node.device.name)

    def idle(self) -> tuple[N, ...]:
        """All nodes of an idle site: each answers, and none has a spool that is ready or becomes ready by itself.

        Raises ``NotServing`` otherwise, or the error of a node that could not be asked.
        """
        seen = self._survey(thorough=True, tell_spool=True)
        for one in seen:
            if one.error is not None:
                raise one.error
        if all(one.told is not None and one.told.is_idle for one in seen):
            return self._nodes
        self._choose(seen)  # raises the reason why the site does not serve
        raise NotServing(f"a node of {self._site.name or 'the site'} serves again", device=self._site.name)

    def health(self) -> DeviceHealth:
        """The reading ``health``: which node serves. Raises the error that leaves this unknown."""
        seen = self._survey(thorough=False, tell_spool=True)
        if all(one.serving is False for one in seen):
            only = seen[0] if len(seen) == 1 else None
            told = [one.told for one in seen if one.told is not None]
            return DeviceHealth(
                node=only.node.device.name if only else None,
                serving=False,
                spool_active=any_true(one.spool_active for one in told),
                redundancy_up=all_true(one.redundancy.group_up for one in told if one.redundancy is not None),
            )
        chosen = self._choose(seen)
        assert chosen.told is not None, "only a node that could be asked is chosen"
        mates = [node.device.name for node in self._nodes if node is not chosen.node]
        return DeviceHealth(
            node=chosen.node.device.name,
            serving=True,
            spool_active=chosen.told.spool_active,
            mate_node=mates[0] if len(mates) == 1 else None,
            redundancy_up=chosen.told.redundancy.group_up if chosen.told.redundancy is not None else None,
        )

    def _survey(self, *, thorough: bool, tell_spool: bool = False) -> list[Seen[N]]:
        """The report of every node, in the order of the inventory. The nodes are asked one after the other."""
        seen: dict[int, Seen[N]] = {}
        for node in sorted(self._nodes, key=lambda node: node.is_left_alone):
            is_found = any(one.serving for one in seen.values())
            if is_found and node.is_left_alone and not thorough:
                error = Unreachable(f"{node.device.name} could not be reached a moment ago", device=node.device.name)
                seen[id(node)] = Seen(node, error=error)
            else:
                seen[id(node)] = self._ask(node, tell_spool=tell_spool)
        return [seen[id(node)] for node in self._nodes]

    def _ask(self, node: N, *, tell_spool: bool) -> Seen[N]:
        try:
            return Seen(node, node.tell(alone=len(self._nodes) == 1, tell_spool=tell_spool))
        except AdapterError as error:  # a member without an answer does not stop the site while the other serves
            return Seen(node, error=error)

    def _choose(self, seen: Sequence[Seen[N]]) -> Seen[N]:
        serving = [one for one in seen if one.serving]
        if len(serving) == 1:
            return serving[0]
        if serving:
            names = " and ".join(one.node.device.name for one in serving)
            raise NotServing(
                f"{names} of {self._site.name or 'the site'} both report that they serve",
                device=self._site.name,
                hint="check `show redundancy` on both nodes; no command is sent while both serve",
            )
        errors = [one.error for one in seen if one.error is not None]
        if not errors:
            names = " and ".join(one.node.device.name for one in seen)
            raise NotServing(
                f"no node of {self._site.name or 'the site'} serves (asked: {names})",
                device=self._site.name,
                hint="check `show redundancy`: a node serves if it is Local Active and its message spool is AD-Active",
            )
        # Problems that need a person come before those that may end by themselves.
        errors.sort(key=lambda error: not isinstance(error, AuthenticationFailed | HostKeyRejected))
        raise errors[0]


def any_true(values: Iterator[bool | None]) -> bool | None:
    """Three-valued or: True if one is, unknown if one is unknown, else False."""
    told = list(values)
    return True if True in told else None if None in told or not told else False


def all_true(values: Iterator[bool | None]) -> bool | None:
    """Three-valued and: False if one is, unknown if one is unknown, else True."""
    told = list(values)
    return False if False in told else None if None in told or not told else True
