"""Bootstrap initialization: an empty instance fetches its state from another one before it does anything else.

Source: docs/sources/amps.md, 3.5. An instance bootstraps only if its log is empty or an earlier bootstrap was
interrupted. It tries the addresses in order, then from the first again. It also fetches messages that replication
would not return. ``Assumptions.interrupted_bootstrap`` says whether an interrupted bootstrap keeps its data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.amps.instance import Fetching, Instance
from simulator.amps.journal import Entry
from simulator.amps.layout import BootstrapLayout, InstanceLayout, names_topic

if TYPE_CHECKING:
    from simulator.amps.fabric import Fabric


def fetch(fabric: Fabric, instance: Instance, passed: float) -> None:
    """Continue with the bootstrap of ``instance`` for ``passed`` seconds."""
    layout = fabric.described(instance.name)
    described, state = layout.bootstrap, instance.fetching
    assert described is not None, "only a configured bootstrap is started"
    if state.source is not None and not fabric.can_link(instance.name, state.source):
        instance.note(fabric.now, "error", "1E", f"AMPS bootstrap initialization: connection to {state.source} lost")
        _look_elsewhere(fabric, instance, layout)
        state = instance.fetching
    if state.source is None:
        if fabric.now < state.try_at:
            return
        state.source = next((one for one in described.servers if fabric.can_link(instance.name, one)), None)
        if state.source is None:
            state.try_at = fabric.now + fabric.layout.reconnect
            return
        instance.note(fabric.now, "info", "1E", f"AMPS bootstrap initialization from {state.source}")
        state.position = fabric.instances[state.source].journal.lowest
    state.fraction += described.rate * passed
    room = int(state.fraction)
    state.fraction -= room
    for data in fabric.layout.assume.bootstrap_order:
        if data in described.data:
            room = (_fetch_sow if data == "sow" else _fetch_log)(fabric, instance, layout, described, room)
            if room < 0:
                return
    instance.interrupted = False
    instance.note(fabric.now, "info", "1E", "AMPS bootstrap initialization completed")
    instance.persisted = instance.journal.next
    for link in instance.links.values():
        link.forget_log(instance.journal.next)
    instance.recover(layout, fabric.now)


def waiting_for_ever(fabric: Fabric) -> tuple[str, ...]:
    """Empty instances that can only wait for each other (docs/sources/amps.md, 3.5, warning). An instance that can
    wait for a source that is down is not included."""
    waiting = {
        name for name, one in fabric.instances.items() if one.phase == "bootstrapping" and one.fetching.source is None
    }
    if not waiting:
        return ()  # the usual case
    while hopeful := {name for name in waiting if not set(_servers(fabric, name)) <= waiting}:
        waiting -= hopeful
    return tuple(name for name in fabric.instances if name in waiting)


def report_circle(fabric: Fabric) -> None:
    """Each instance that waits for ever logs this once in its event log."""
    for name in waiting_for_ever(fabric):
        instance = fabric.instances[name]
        if not instance.fetching.warned:
            instance.fetching.warned = True
            servers = ", ".join(_servers(fabric, name))
            text = f"AMPS bootstrap initialization waits for {servers}, empty and bootstrapping too: neither will recover"
            instance.note(fabric.now, "error", "1E", text)


def _servers(fabric: Fabric, name: str) -> tuple[str, ...]:
    described = fabric.described(name).bootstrap
    return described.servers if described is not None else ()


def _look_elsewhere(fabric: Fabric, instance: Instance, layout: InstanceLayout) -> None:
    warned = instance.fetching.warned
    if fabric.layout.assume.interrupted_bootstrap == "anew":
        instance.forget_fetched(layout)
    instance.interrupted = True
    instance.fetching = Fetching(try_at=fabric.now + fabric.layout.reconnect, warned=warned)


def _wants(described: BootstrapLayout, topic: str) -> bool:
    return any(names_topic(pattern, topic) for pattern in described.topics)


def _fetch_sow(
    fabric: Fabric, instance: Instance, layout: InstanceLayout, described: BootstrapLayout, room: int
) -> int:
    """Copy the present records. Returns the unused part of ``room``, or -1 while the copy is not complete."""
    state = instance.fetching
    if state.snapshot >= 0:
        return room
    assert state.source is not None, "asked of one that has a source"
    source = fabric.instances[state.source]
    wanted = [
        topic for topic in layout.topics if topic.keys and _wants(described, topic.name) and topic.id in source.sow
    ]
    total = sum(len(source.sow[topic.id]) for topic in wanted)
    state.records += room
    if state.records < total:
        return -1
    for topic in wanted:
        instance.sow[topic.id] = dict(source.sow[topic.id])
        instance.sow_counts[topic.id] = [len(source.sow[topic.id]), 0, 0]
    state.snapshot = source.journal.next
    return state.records - total


def _fetch_log(
    fabric: Fabric, instance: Instance, layout: InstanceLayout, described: BootstrapLayout, room: int
) -> int:
    """Copy the log in order, including messages published at ``instance`` itself. Returns the unused part of
    ``room``, or -1 while the copy is not complete."""
    state = instance.fetching
    assert state.source is not None, "asked of one that has a source"
    source = fabric.instances[state.source]
    for name, queue in instance.queues.items():
        if name in source.queues:
            queue.hear(source.queues[name])
    for entry in source.journal.between(state.position, source.journal.next):
        if room <= 0:
            return -1
        part = entry.part(entry.position, min(entry.end, entry.position + room))
        room -= part.count
        state.position = part.end
        if not _wants(described, entry.topic) or not layout.logs(entry.topic):
            continue
        own = part.path and part.path[0] == instance.name
        path = () if own else (*part.path, state.source)
        _keep(fabric, instance, replace(part, path=path))
        if part.end < entry.end:
            return -1
    return room


def _keep(fabric: Fabric, instance: Instance, entry: Entry) -> None:
    """Write the messages of a fetched entry that an earlier try did not fetch. The entry changes the SOW only if the
    fetched snapshot of the SOW does not include the entry."""
    fetched_end = entry.end
    known = instance.highest.get(entry.publisher, 0)
    if entry.stop - 1 <= known:
        return
    entry, keeping = entry.above(known), fabric.keeping(instance.name, entry.topic)
    instance.journal.append(entry)
    instance.highest[entry.publisher] = entry.stop - 1
    instance.persisted_of[entry.publisher] = entry.stop - 1
    instance.to_queues(entry, keeping)
    if fetched_end > instance.fetching.snapshot:
        instance.to_sow(entry, keeping)
