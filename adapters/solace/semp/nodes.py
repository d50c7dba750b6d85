"""One node of a site over SEMP: its session, and what it reports about itself.

SEMP v1 tells which node serves, as the CLI does. If a broker refuses v1, the state of its message spool is read in v2,
which is the only public hint (docs/sources/solace.md, 1.10).
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from adapters.solace.parse_redundancy import Spool
from adapters.solace.semp.client import SempReader, SempWriter
from adapters.solace.semp.envelope import text_in
from adapters.solace.semp.paths import path_of
from adapters.solace.semp.v1 import SHOW_MESSAGE_SPOOL, SHOW_REDUNDANCY, redundancy_in, spool_in
from adapters.solace.serving import NodeStatus
from orchestrator.clock import Clock
from orchestrator.errors import CommandRejected, Unreachable, UnreadableReply
from orchestrator.family.retry import Backoff, Retry
from orchestrator.model.inventory import Device, Site

if TYPE_CHECKING:
    from adapters.http.session import HttpSession

# With these limits, a refused connection costs a fraction of a second. The engine, too, repeats a failed reading.
_READING = Backoff(attempts_max=3, first_s=0.1, longest_s=1.0)
# While another node serves, a node that could not be reached is not tried again for this time. A connection to a node
# that is switched off costs the whole connect_timeout, and a drain is read many times a minute.
_LEAVE_ALONE_S = 30.0

BROKER = path_of("monitor")
SPOOL_STATUS = "guaranteedMsgingOperationalStatus"
_SPOOLS = {
    "active": Spool.ACTIVE,
    "standby": Spool.STANDBY,
    "activating": Spool.ACTIVATING,
    "not-ready": Spool.NOT_READY,
    "disabled": Spool.DISABLED,
}


class Node:
    """One device of the site. ``writer`` is None when the setting is read-only."""

    def __init__(
        self, device: Device, site: Site, session: HttpSession, *, clock: Clock, random: Random, read_only: bool
    ) -> None:
        self._device = device
        self._clock = clock
        self._session = session
        kind = SempReader if read_only else SempWriter
        self.reader: SempReader = kind(session, Retry(clock, random, _READING), within_s=site.command_timeout)
        self._leave_alone_until = 0.0

    @property
    def device(self) -> Device:
        return self._device

    @property
    def writer(self) -> SempWriter | None:
        return self.reader if isinstance(self.reader, SempWriter) else None

    @property
    def is_left_alone(self) -> bool:
        return self._clock.now() < self._leave_alone_until

    def tell(self, *, alone: bool, tell_spool: bool) -> NodeStatus:
        """The state that the node reports now. Raises ``AdapterError``."""
        try:
            told = self._tell(alone=alone, tell_spool=tell_spool)
        except Unreachable:
            self._leave_alone_until = self._clock.now() + _LEAVE_ALONE_S
            raise
        self._leave_alone_until = 0.0
        return told

    def _tell(self, *, alone: bool, tell_spool: bool) -> NodeStatus:
        name = self.device.name
        try:
            redundancy = redundancy_in(self.reader.show(SHOW_REDUNDANCY), name)
            serving = redundancy.serves(alone=alone)
            if serving is not None and not tell_spool:
                return NodeStatus(serving, redundancy)
            spool = spool_in(self.reader.show(SHOW_MESSAGE_SPOOL), name)
        except (CommandRejected, UnreadableReply):
            return self._tell_in_v2()
        return NodeStatus(spool is Spool.ACTIVE if serving is None else serving, redundancy, spool)

    def _tell_in_v2(self) -> NodeStatus:
        broker = self.reader.one(BROKER, select=[SPOOL_STATUS])
        status = text_in(broker.data, SPOOL_STATUS)
        spool = _SPOOLS.get(status or "")
        if spool is None:
            name = self.device.name
            raise UnreadableReply(
                f"{name} does not report whether its message spool is active", text=str(broker.data), device=name
            )
        return NodeStatus(spool is Spool.ACTIVE, spool=spool)

    def close(self) -> None:
        """End the session on the node and on this machine; never raises."""
        if not self.is_left_alone:
            self.reader.log_out()
        self._session.close()
