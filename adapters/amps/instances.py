"""One instance of a site, for the readings of its service: its session, its samples, and the configuration that it
serves."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from adapters.amps.client import AdminReader, AdminWriter
from adapters.amps.options import AdminAssumptions, AmpsOptions, ServiceOptions
from adapters.amps.samples import Samples
from adapters.amps.served import INTERVAL_S, Served, read_dumped, read_served
from orchestrator.clock import Clock
from orchestrator.errors import AdapterError, DefinitionError
from orchestrator.family.retry import Backoff, Retry
from orchestrator.model.inventory import Device, Site

if TYPE_CHECKING:
    from adapters.http.session import HttpSession

_READING = Backoff(attempts_max=3, first_s=0.1, longest_s=1.0)
# An instance reads its configuration only when it starts, so the served configuration changes no more often.
_CONFIGURATION_S = 60.0


class AmpsInstance:
    """One device of the site. ``writer`` is None when the setting is read-only."""

    def __init__(
        self,
        device: Device,
        site: Site,
        options: AmpsOptions,
        session: HttpSession,
        *,
        clock: Clock,
        random: Random,
        read_only: bool,
    ) -> None:
        self.device = device
        self._options = options
        self._clock = clock
        kind = AdminReader if read_only else AdminWriter
        self.reader: AdminReader = kind(
            session,
            Retry(clock, random, _READING),
            within_s=site.command_timeout,
            by_ticket=options.auth == "negotiate",
        )
        self.samples = Samples(clock, acts=not read_only)
        self._served: Served | None = None
        self._served_until = 0.0

    @property
    def writer(self) -> AdminWriter | None:
        """The part that can act; None in a read-only session."""
        return self.reader if isinstance(self.reader, AdminWriter) else None

    @property
    def assume(self) -> AdminAssumptions:
        """The assumptions about undocumented behaviour."""
        return self._options.assume

    @property
    def outage_s(self) -> float:
        """The length of an outage of the mate that the inventory wants to survive."""
        return self._options.outage

    def of(self, service: str) -> ServiceOptions:
        """The options of ``service`` in the inventory."""
        return self._options.of(service)

    def is_application(self, client: str) -> bool:
        """Does a client of this name count as an application?"""
        pattern = self._options.not_applications
        return not pattern or re.search(pattern, client) is None

    def configuration(self) -> str:
        """The configuration that the instance serves, or the inventory's file in its place. Raises ``AdapterError``,
        and ``DefinitionError`` for a file that was made from another configuration than the instance serves now."""
        reply = self.reader.configuration()
        dumped = self._options.configurations.get(self.device.name)
        return reply.text if dumped is None else read_dumped(dumped, reply.body, self.device.name)

    def served(self) -> Served | None:
        """The configuration that the instance serves; None if it cannot be fetched or read. Values that depend on it
        are unknown then."""
        if self._clock.now() >= self._served_until:
            try:
                self._served = read_served(self.configuration(), self.device.name)
            except (AdapterError, DefinitionError):
                self._served = None
            self._served_until = self._clock.now() + _CONFIGURATION_S
        return self._served

    def interval_s(self) -> float:
        """Seconds between two samples: from the inventory, else from the configuration, else AMPS's default."""
        if self._options.interval is not None:
            return self._options.interval
        served = self.served()
        return INTERVAL_S if served is None else served.interval_s

    def close(self) -> None:
        """End the session; never raises. The served configuration is read again afterwards."""
        self._served_until = 0.0
        self.reader.close()
