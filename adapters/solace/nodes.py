"""The nodes of one site, and which of them serves.

Which node serves is asked anew for every step and never remembered: an HA pair may switch at any time, and a command
sent to the wrong member is lost at best. Only SSH sessions stay open between steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from adapters.solace.dialect import SOLACE
from adapters.solace.parse_redundancy import Redundancy, Spool, parse_message_spool, parse_redundancy
from adapters.ssh.line import Connect
from adapters.ssh.session import ShellSession, ShowSession
from orchestrator.clock import Clock
from orchestrator.errors import AdapterError, AuthenticationFailed, HostKeyRejected, NotServing, Unreachable
from orchestrator.readings import DeviceHealth
from orchestrator.retrying import Backoff, Retry
from orchestrator.site import Device, Site

# A refused connection costs a fraction of a second this way; the engine, too, asks again what it could not read.
_CONNECTING = Backoff(attempts_max=3, first_s=0.1, longest_s=1.0)
_READING = Backoff(attempts_max=2, first_s=0.1)
# While another node serves, one that could not be reached is left alone for so long: dialling a node that is switched
# off costs the whole connect_timeout, and a drain is read many times a minute.
_LEAVE_ALONE_S = 30.0


class Node:
    """One device of the site, with its session. ``shell`` is None when the setting is read-only."""

    def __init__(
        self, device: Device, site: Site, connect: Connect, *, clock: Clock, random: Random, read_only: bool
    ):
        self.device = device
        self._site = site
        self._clock = clock
        self._reading = Retry(clock, random, _READING)
        connecting = Retry(clock, random, _CONNECTING)
        kind = ShowSession if read_only else ShellSession
        self.session: ShowSession = kind(
            device,
            lambda: connecting.connect(connect, within_s=site.connect_timeout),
            dialect=SOLACE,
            clock=clock,
            timeout_s=site.command_timeout,
        )
        self._leave_alone_until = 0.0

    @property
    def shell(self) -> ShellSession | None:
        return self.session if isinstance(self.session, ShellSession) else None

    @property
    def is_left_alone(self) -> bool:
        """Could it not be reached a moment ago?"""
        return not self.session.is_connected and self._clock.now() < self._leave_alone_until

    def read(self, command: str) -> str:
        """What a ``show`` command says; asked once more if the session broke. Raises ``AdapterError``."""
        try:
            return self._reading.read(lambda: self.session.show(command), within_s=self._site.command_timeout)
        except Unreachable:
            self._leave_alone_until = self._clock.now() + _LEAVE_ALONE_S
            raise


@dataclass(frozen=True, slots=True)
class Seen:
    """What one node said of itself, or why it could not be asked. ``serving`` is None in the latter case."""

    node: Node
    redundancy: Redundancy | None = None
    spool: Spool | None = None
    error: AdapterError | None = None
    serving: bool | None = None

    @property
    def spool_active(self) -> bool | None:
        if self.spool is not None:
            return self.spool is Spool.ACTIVE
        return self.redundancy.spool_active if self.redundancy is not None else None


class Nodes:
    """All nodes of a site."""

    def __init__(self, nodes: Sequence[Node], site: Site) -> None:
        self._nodes = tuple(nodes)
        self._site = site

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def serving(self, *, thorough: bool) -> Node:
        """The node that serves now. ``thorough``: leave none unasked, as before a change.

        Raises ``NotServing`` when none or more than one says that it serves, or the error of the node that could not
        be asked when it might be that one.
        """
        return self._choose(self.survey(thorough=thorough)).node

    def confirm(self, node: Node) -> None:
        """Raise ``NotServing`` unless ``node``, which served before something was read of it, still does.

        A member that has just stopped serving shows an empty queue and no transactions, as if all were done.
        """
        seen = self._ask(node, tell_spool=False)
        if seen.error is not None:
            raise seen.error
        if not seen.serving:
            raise NotServing(f"{node.device.name} stopped serving while it was read", device=node.device.name)

    def health(self) -> DeviceHealth:
        """Which node serves, as a reading. Raises what keeps this from being known."""
        seen = self.survey(thorough=False, tell_spool=True)
        if all(one.serving is False for one in seen):
            only = seen[0] if len(seen) == 1 else None
            return DeviceHealth(
                node=only.node.device.name if only else None,
                serving=False,
                spool_active=any_true(one.spool_active for one in seen),
                redundancy_up=all_true(one.redundancy.group_up for one in seen if one.redundancy is not None),
            )
        chosen = self._choose(seen)
        mates = [node.device.name for node in self._nodes if node is not chosen.node]
        return DeviceHealth(
            node=chosen.node.device.name,
            serving=True,
            spool_active=chosen.spool_active,
            mate_node=mates[0] if len(mates) == 1 else None,
            redundancy_up=chosen.redundancy.group_up if chosen.redundancy is not None else None,
        )

    def survey(self, *, thorough: bool, tell_spool: bool = False) -> list[Seen]:
        """Every node's word, in the order of the inventory, one after the other.

        ``tell_spool``: ask for the message spool as well where the redundancy does not tell.
        """
        seen: dict[Node, Seen] = {}
        for node in sorted(self._nodes, key=lambda node: node.is_left_alone):
            is_found = any(one.serving for one in seen.values())
            if is_found and node.is_left_alone and not thorough:
                error = Unreachable(f"{node.device.name} was out of reach a moment ago", device=node.device.name)
                seen[node] = Seen(node, error=error)
            else:
                seen[node] = self._ask(node, tell_spool=tell_spool)
        return [seen[node] for node in self._nodes]

    def _ask(self, node: Node, *, tell_spool: bool) -> Seen:
        name = node.device.name
        try:
            redundancy = parse_redundancy(node.read("show redundancy"), name)
            serving = redundancy.serves(alone=len(self._nodes) == 1)
            spool = None
            if serving is None or (tell_spool and redundancy.spool_active is None):
                spool = parse_message_spool(node.read("show message-spool"), name)
        except AdapterError as error:  # a member that cannot be asked does not stop the site while the other serves
            return Seen(node, error=error)
        return Seen(node, redundancy, spool, serving=spool is Spool.ACTIVE if serving is None else serving)

    def _choose(self, seen: Sequence[Seen]) -> Seen:
        serving = [one for one in seen if one.serving]
        if len(serving) == 1:
            return serving[0]
        if serving:
            names = " and ".join(one.node.device.name for one in serving)
            raise NotServing(
                f"{names} of {self._site.name or 'the site'} both say that they serve",
                device=self._site.name,
                hint="look at `show redundancy` on each of them; nothing is sent to either until one gives way",
            )
        errors = [one.error for one in seen if one.error is not None]
        if not errors:
            names = " and ".join(one.node.device.name for one in seen)
            raise NotServing(
                f"no node of {self._site.name or 'the site'} serves (asked: {names})",
                device=self._site.name,
                hint="look at `show redundancy`: a node serves that is Local Active with an AD-Active message spool",
            )
        # What needs a person comes before what may pass by itself.
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
