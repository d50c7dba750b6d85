"""The work of links: they connect, are validated, start at the first missing message, carry and acknowledge messages.

Sources: docs/sources/amps.md, 9.7 (what sync and async mean), 5, 5.2 and 9. ``Fabric`` decides
whether a link can connect. Nothing here moves time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.amps.instance import Instance
from simulator.amps.journal import Entry
from simulator.amps.layout import DestinationLayout, InstanceLayout
from simulator.amps.link import Link
from simulator.amps.rules import is_routed, refusals

if TYPE_CHECKING:
    from simulator.amps.fabric import Fabric


def run_links(fabric: Fabric, source: Instance, passed: float) -> None:
    """Run all links out of a serving instance for ``passed`` seconds."""
    layout, persisted = fabric.described(source.name), source.journal.next
    for described in layout.destinations:
        link = source.links[described.name]
        if link.to is not None and not fabric.can_link(source.name, link.to):
            lose(fabric, source, described, link)
        if link.to is None and fabric.now >= link.try_at:
            _connect(fabric, layout, source, described, link)
        if link.acked < source.journal.next:
            _skip(fabric, source, described, link)
        if link.to is not None:
            _carry(fabric, source, described, link, passed)
        if link.acked < persisted and is_sync(described, link):
            persisted = link.acked
    source.persist(persisted)


def linked(layout: InstanceLayout, source: Instance) -> list[tuple[DestinationLayout, Link]]:
    """The links of an instance, each with its configuration and its state."""
    return [(one, source.links[one.name]) for one in layout.destinations if one.name in source.links]


def is_sync(described: DestinationLayout, link: Link) -> bool:
    """Do publishers now wait for this link?"""
    return described.sync and not link.downgraded


def can_persist(layout: InstanceLayout, source: Instance) -> bool:
    """Are all links connected that must acknowledge the messages in the log?"""
    return all(link.to is not None for described, link in linked(layout, source) if is_sync(described, link))


def client_name(source: InstanceLayout, described: DestinationLayout) -> str:
    """The name of the connection on both sides (docs/sources/amps.md, 5.2, as in 5.3.5.135)."""
    sync = "sync" if described.sync else "async"
    return f"{source.name}!{described.name}@{described.group}!{sync}!amps-replication"


def lose(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link) -> None:
    """The connection breaks. Both sides log it."""
    name = client_name(fabric.described(source.name), described)
    for one in (source, fabric.instances[link.to] if link.to else None):
        if one is not None and one.phase != "down":
            one.note(
                fabric.now, "warning", "07-0013", f"AMPS client session disconnect: {name} reason: connection closed"
            )
    link.stop(fabric.now, try_at=fabric.now + fabric.layout.reconnect)


def oldest_unacked(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link) -> float | None:
    """When the oldest message was written that this link must still acknowledge, or None."""
    owed = _first_owed(fabric, source, described, link)
    return None if owed is None else owed.at


def _first_owed(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link) -> Entry | None:
    """The entry of the oldest message that this link must still acknowledge. The entry may start with other messages."""
    destination = _destination(described, link)
    for entry in source.journal.since(link.acked):
        if is_routed(entry, described, destination, fabric.group_of):
            return entry
    return None


def _destination(described: DestinationLayout, link: Link) -> str:
    return link.to or described.addresses[0]


def _connect(
    fabric: Fabric, layout: InstanceLayout, source: Instance, described: DestinationLayout, link: Link
) -> None:
    """Try the addresses in order. The next try is after the layout's ``reconnect`` seconds."""
    link.try_at = fabric.now + fabric.layout.reconnect
    for server in described.addresses:
        if not fabric.can_link(source.name, server):
            continue
        destination = fabric.instances[server]
        why = _refused(fabric, layout, described, server)
        if why:
            _note_refusal(fabric, source, destination, link, why)
            continue
        link.start(
            server, _first_missing(fabric, source, described, link, destination), source.journal.next, fabric.now
        )
        name = client_name(layout, described)
        destination.note(fabric.now, "info", "1F-0004", f"AMPS replication client session logon: {name}")
        source.note(fabric.now, "info", "", f"AMPS replication resync started for replication client: {name}")
        return


def _refused(fabric: Fabric, layout: InstanceLayout, described: DestinationLayout, server: str) -> str:
    """Why the connection is refused, or ""."""
    other = fabric.described(server)
    if described.group != other.group_name:
        return f"group {described.group} expected, {other.name} is in group {other.group_name}"
    failed = next(refusals(fabric.layout, layout, described, other), None)
    return f"validation check {failed.check} failed for topic {failed.topic}" if failed else ""


def _note_refusal(fabric: Fabric, source: Instance, destination: Instance, link: Link, why: str) -> None:
    """The side that detects the reason logs it. The other side only logs that validation failed
    (docs/sources/amps.md, 5)."""
    if link.refused == why:
        return  # the link retries, but logs the same reason only once
    link.refused = why
    detects, other = (source, destination) if fabric.layout.assume.detects == "source" else (destination, source)
    between = f"{source.name} to {destination.name}"
    detects.note(fabric.now, "error", "", f"AMPS replication configuration validation error, {between}: {why}")
    other.note(fabric.now, "error", "", f"AMPS replication connection failed validation, {between}")


def _first_missing(
    fabric: Fabric, source: Instance, described: DestinationLayout, link: Link, destination: Instance
) -> int:
    """The position at which the link starts."""
    log = source.journal
    if fabric.layout.assume.resync == "acknowledged":
        return min(max(link.acked, log.lowest), log.next)
    for entry in log.all():
        known = destination.highest.get(entry.publisher, 0)
        if entry.stop - 1 > known and is_routed(entry, described, destination.name, fabric.group_of):
            return entry.position + max(0, known + 1 - entry.first)
    return log.next


def _skip(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link) -> None:
    """Skip messages that are not for the destination. They need no acknowledgement."""
    owed = _first_owed(fabric, source, described, link)
    position = source.journal.next if owed is None else owed.position
    if link.acked < position:
        link.skip(position)


def _carry(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link, passed: float) -> None:
    assert link.to is not None, "asked of a connected link only"
    destination = fabric.instances[link.to]
    while link.flying and link.flying[0][0] <= fabric.now:
        _, end = link.flying.pop(0)
        for entry in source.journal.between(link.delivered, end):
            if is_routed(entry, described, link.to, fabric.group_of):
                fabric.write(destination, entry.passed_on(source.name, fabric.now))
        link.delivered = max(link.delivered, end)
    _send(fabric, source, described, link, passed)
    if fabric.now >= link.ack_at:
        if link.acked < link.delivered:
            link.acked = _acknowledged(fabric, source, described, link)
        link.ack_at = fabric.now + fabric.layout.ack_interval
    if link.replay_end is not None and link.acked >= link.replay_end:
        link.replay_end = None
        name = client_name(fabric.described(source.name), described)
        source.note(fabric.now, "info", "", f"AMPS transaction log replay completed for replication client: {name}")


def _acknowledged(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link) -> int:
    """The position up to which the destination acknowledges."""
    assert link.to is not None, "asked of a connected link only"
    if fabric.layout.assume.acknowledges == "logged":
        return link.delivered
    owed = _owed_onward(fabric, fabric.instances[link.to])
    for entry in source.journal.between(link.acked, link.delivered):
        lowest = owed.get(entry.publisher, entry.stop)
        if lowest < entry.stop and is_routed(entry, described, link.to, fabric.group_of):
            return entry.position + max(0, lowest - entry.first)
    return link.delivered


def _owed_onward(fabric: Fabric, instance: Instance) -> dict[str, int]:
    """For each publisher, the first message that a sync destination of ``instance`` has not acknowledged."""
    owed: dict[str, int] = {}
    for described, link in linked(fabric.described(instance.name), instance):
        if not is_sync(described, link):
            continue
        for entry in instance.journal.between(link.acked, instance.journal.next):
            if is_routed(entry, described, _destination(described, link), fabric.group_of):
                owed[entry.publisher] = min(entry.first, owed.get(entry.publisher, entry.first))
    return owed


def _send(fabric: Fabric, source: Instance, described: DestinationLayout, link: Link, passed: float) -> None:
    """Send the messages that the link can carry in ``passed`` seconds."""
    assert link.to is not None, "asked of a connected link only"
    link.fraction += fabric.carry_rate(source.name, link.to) * passed
    room = int(link.fraction)
    link.fraction -= room
    start = link.sent
    if start >= source.journal.next:
        return
    for entry in source.journal.since(start):
        end = entry.end
        if not is_routed(entry, described, link.to, fabric.group_of):
            link.sent = end
            continue
        begin = max(entry.position, start)
        taken = min(room, end - begin)
        link.sent = begin + taken
        link.messages_out += taken
        room -= taken
        if link.sent < end:
            break
    if link.sent > start:
        link.flying.append((fabric.now + fabric.layout.latency, link.sent))
