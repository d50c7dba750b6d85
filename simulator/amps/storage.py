"""Where an instance puts the messages of a topic: told once by its layout, and asked for every message that arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simulator.amps.layout import InstanceLayout, QueueLayout


class QueueOver(NamedTuple):
    """A queue over a topic. ``owner``: the instance that owns what arrives; None for the one it was published at."""

    name: str
    owner: str | None


class Keeping(NamedTuple):
    """Of one topic: is it in the log, the id of its SOW if it has one, and the queues over it."""

    logged: bool = False
    sow: str | None = None
    queues: tuple[QueueOver, ...] = ()


NOWHERE = Keeping()  # of a topic that an instance does not know


def keepings_of(layout: InstanceLayout) -> Mapping[str, Keeping]:
    """What an instance does with each topic that it knows, or has a queue over."""
    names = [*(one.name for one in layout.topics), *(one.topic for one in layout.queues)]
    return {name: _keeping_of(layout, name) for name in names}


def _keeping_of(layout: InstanceLayout, name: str) -> Keeping:
    topic = layout.topic(name)
    return Keeping(
        logged=layout.logs(name),
        sow=topic.id if topic is not None and topic.keys else None,
        queues=tuple(QueueOver(one.name, _owner(layout, one)) for one in layout.queues if one.topic == name),
    )


def _owner(layout: InstanceLayout, queue: QueueLayout) -> str | None:
    match queue.kind:
        case "LocalQueue":
            return layout.name
        case "GroupLocalQueue":
            return queue.initial_owner
        case "Queue":
            return None
