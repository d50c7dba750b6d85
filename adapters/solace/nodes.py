"""One node of a site over the CLI: its session, and what it reports about itself.

Only SSH sessions stay open between steps. The module ``serving`` finds the node that serves.
"""

from __future__ import annotations

from random import Random

from adapters.solace.dialect import SOLACE
from adapters.solace.names import router_name
from adapters.solace.parse_redundancy import Spool, parse_message_spool, parse_redundancy
from adapters.solace.serving import NodeStatus
from adapters.ssh.line import Connect
from adapters.ssh.session import ShellSession, ShowSession
from orchestrator.clock import Clock
from orchestrator.errors import Unreachable
from orchestrator.family.retry import Backoff, Retry
from orchestrator.model.exchanges import Witness
from orchestrator.model.inventory import Device, Site

# With these limits, a refused connection costs a fraction of a second. The engine, too, repeats a failed reading.
_CONNECTING = Backoff(attempts_max=3, first_s=0.1, longest_s=1.0)
_READING = Backoff(attempts_max=2, first_s=0.1)
# While another node serves, a node that could not be reached is not tried again for this time. A connection to a node
# that is switched off costs the whole connect_timeout, and a drain is read many times a minute.
_LEAVE_ALONE_S = 30.0


class Node:
    """One device of the site, with its session. ``shell`` is None when the setting is read-only."""

    def __init__(
        self,
        device: Device,
        site: Site,
        connect: Connect,
        *,
        clock: Clock,
        random: Random,
        read_only: bool,
        witness: Witness | None = None,
    ):
        self._device = device
        self._site = site
        self._clock = clock
        self._reading = Retry(clock, random, _READING)
        connecting = Retry(clock, random, _CONNECTING)
        kind = ShowSession if read_only else ShellSession
        named = device.router_name
        # An inventory may name the virtual router, `v:NAME`, as `show replication` does; the prompt has the bare name.
        own = device if named is None else device.model_copy(update={"router_name": router_name(named)})
        self.session: ShowSession = kind(
            own,
            lambda: connecting.connect(connect, within_s=site.connect_timeout),
            dialect=SOLACE,
            clock=clock,
            timeout_s=site.command_timeout,
            witness=witness,
        )
        self._leave_alone_until = 0.0

    @property
    def device(self) -> Device:
        return self._device

    @property
    def clock(self) -> Clock:
        """The clock of this machine, to compare the node's clock with."""
        return self._clock

    @property
    def shell(self) -> ShellSession | None:
        return self.session if isinstance(self.session, ShellSession) else None

    @property
    def is_left_alone(self) -> bool:
        """Was the node unreachable a moment ago?"""
        return not self.session.is_connected and self._clock.now() < self._leave_alone_until

    def read(self, command: str) -> str:
        """The output of a ``show`` command. The command is repeated once if the session broke. Raises
        ``AdapterError``."""
        try:
            return self._reading.read(lambda: self.session.show(command), within_s=self._site.command_timeout)
        except Unreachable:
            self._leave_alone_until = self._clock.now() + _LEAVE_ALONE_S
            raise

    def tell(self, *, alone: bool, tell_spool: bool) -> NodeStatus:
        """The state that the node reports now. It includes the message spool if the redundancy does not report it.
        Raises ``AdapterError``."""
        name = self.device.name
        redundancy = parse_redundancy(self.read("show redundancy"), name)
        serving = redundancy.serves(alone=alone)
        spool = None
        if serving is None or (tell_spool and redundancy.spool_active is None):
            spool = parse_message_spool(self.read("show message-spool"), name)
        return NodeStatus(spool is Spool.ACTIVE if serving is None else serving, redundancy, spool)
