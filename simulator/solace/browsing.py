"""The messages of the simulated sites' endpoints, page by page, as the contract's ``Browser`` shows them.

Each page is one request, as on a device. Time passes between pages, and consumers take messages meanwhile. Nothing
here changes the world.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from orchestrator.errors import NoSuchService
from orchestrator.family.contract import BrowsedMessage, Endpoint, EndpointStats
from simulator.solace.appliance import MessageView, NoSuchObject
from simulator.solace.node import SimulatedAppliance
from simulator.solace.world import World

_PAGE = 1_000
# The prefix of the replication group message ids. All simulated sites are in this one group.
_GROUP = "rmid1:0d77c-b0b2e66aece"


class Browsing:
    """The browsing methods of a simulated site's adapter, in addition to the contract."""

    @property
    def _world(self) -> World:
        raise NotImplementedError

    def _serving(self) -> SimulatedAppliance:
        raise NotImplementedError

    def _pause(self) -> None:
        raise NotImplementedError

    def durable_endpoints(self, service: str) -> Sequence[Endpoint]:
        """See ``contract.Browser``."""
        self._pause()
        with self._world.request():
            node = self._serving()
            try:
                found = [Endpoint(service, view.name, view.kind) for view in node.endpoints(service)]
            except NoSuchObject as error:
                raise NoSuchService(str(error), device=node.router_name) from error
        self._pause()
        return sorted(found)

    def count(self, endpoint: Endpoint) -> EndpointStats:
        """See ``contract.Browser``. The simulated nodes keep no life-time counters."""
        self._pause()
        with self._world.request():
            node = self._serving()
            depths = {(one.name, one.kind): one.messages for one in node.endpoints(endpoint.service)}
        self._pause()
        return EndpointStats(messages=depths.get((endpoint.name, endpoint.kind)))

    def browse(self, endpoint: Endpoint, after: BrowsedMessage | None) -> Iterator[BrowsedMessage]:
        """See ``contract.Browser``."""
        last = None if after is None else after.number
        while True:
            self._pause()
            with self._world.request():
                page = self._serving().messages(endpoint.service, endpoint.kind, endpoint.name, last, _PAGE)
            self._pause()
            for one in page:
                last = one.number
                yield _held(endpoint.service, one)
            if len(page) < _PAGE:
                return


def message_id(number: int) -> str:
    """The id of a message, the same at both sites."""
    return f"{_GROUP}-{number >> 32:08x}-{number & 0xFFFFFFFF:08x}"


def _held(service: str, one: MessageView) -> BrowsedMessage:
    return BrowsedMessage(
        number=one.number,
        message_id=message_id(one.number),
        spooled_at=one.spooled_at,
        size=one.size,
        replicated=one.state,
        redeliveries=0,
        # Nothing in the simulated world expires, is discarded or overtakes.
        expires_at=0.0,
        dmq_eligible=False,
        priority=4,
        digest=hashlib.blake2b(f"{service}/{one.number}".encode(), digest_size=16).digest(),
    )
