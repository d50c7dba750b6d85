"""Declares the readings of the CLI adapter: the commands that each reading sends, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adapters.solace.dialogue import Dialogue
from adapters.solace.readings import SHOW_REDUNDANCY, show_details, show_queues, show_replication, show_transactions
from adapters.solace.serving import ONLY_WHILE_SERVING
from adapters.solace.site_readings import endpoint_lines, fence_lines, oldest_lines, platform_lines
from orchestrator.family.contract import EVERY_NODE, ReadingSpec

Lines = Callable[[Sequence[str]], Sequence[str]]


def _nothing(services: Sequence[str]) -> Sequence[str]:
    return ()


def _reading(
    name: str, summary: str, shows: Lines, perhaps: Lines = _nothing, *, tells_less: bool = False
) -> ReadingSpec:
    after = [SHOW_REDUNDANCY] if name in ONLY_WHILE_SERVING else []
    return ReadingSpec(
        name,
        summary,
        lambda services: [SHOW_REDUNDANCY, *shows(services), *after],
        perhaps=perhaps,
        tells_less=tells_less,
        dialogue=Dialogue,
    )


def fence_spec(interface: str | None = None) -> ReadingSpec:
    """The reading ``fence`` of a site whose fence plan shuts ``interface``, or the message backbone."""
    return ReadingSpec(
        "fence",
        "Whether clients can connect, for every node",
        lambda services: fence_lines(interface),
        place=EVERY_NODE,
        tells_less=True,
        dialogue=Dialogue,
    )


READINGS: Mapping[str, ReadingSpec] = {
    one.name: one
    for one in (
        _reading(
            "replication",
            "Replication state of the message VPN as this site sees it",
            lambda services: [show_replication(services)],
        ),
        _reading(
            "replication_queue",
            "Messages in the replication queue, held for the mate",
            lambda services: [show_queues(services)],
        ),
        _reading(
            "transactions",
            "Transactions of the message VPN, in every state",
            show_transactions,
            lambda services: [show_details(service, " state PREPARED") for service in services],
        ),
        _reading("health", "Which node serves, and whether its message spool is active", _nothing),
        fence_spec(),
        _reading(
            "endpoints",
            "Number and age of the messages in durable endpoints",
            endpoint_lines,
            oldest_lines,
            tells_less=True,
        ),
        _reading(
            "platform",
            "Version, modes, mate and clock of the node",
            lambda services: platform_lines(),
            tells_less=True,
        ),
    )
}
