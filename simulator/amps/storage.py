"""The places where an instance stores the messages of a topic. Computed once from the layout, used for every message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simulator.amps.layout import InstanceLayout, QueueLayout


class QueueOver(NamedTuple):
    """A queue over a topic. ``owner``: the instance that owns arriving messages. None: the instance of publication."""

    name: str
    owner: str | None


class Keeping(NamedTuple):
    """The storage of one topic: whether it is in the log, the id of its SOW if it has one, and the queues over it."""

    logged: bool = False
    sow: str | None = None
    queues: tuple[QueueOver, ...] = ()


NOWHERE = Keeping()  # for a topic that an instance does not know


def keepings_of(layout: InstanceLayout) -> Mapping[str, Keeping]:
    """The storage of each topic that an instance knows or has a queue over."""
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
