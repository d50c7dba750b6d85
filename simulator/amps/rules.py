"""The routing of messages, and the links that validation refuses: the world's own small table of the nine checks.

Sources: docs/sources/amps.md, 5 (the checks), 9.6 (routing). This module is written
independently of the product's validation, so the two can be compared. Nothing here changes an instance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from simulator.amps.journal import Entry
from simulator.amps.layout import (
    Check,
    DestinationLayout,
    FabricLayout,
    InstanceLayout,
    LinkTopic,
    QueueLayout,
    Refusal,
)

CHECKS: tuple[Check, ...] = (
    *("txlog", "replicate", "sow", "keys", "queue", "queue_underlying", "queue_passthrough", "cascade"),
    "replicate_filter",  # the world's links have no filter, so this check always holds
)
_MANDATORY = frozenset[Check]({"queue", "queue_underlying"})


def is_routed(entry: Entry, link: DestinationLayout, destination: str, group_of: Callable[[str], str]) -> bool:
    """Does the link send this entry to ``destination``? The topic must match, and the entry must not have been at
    ``destination``. The entry must have been published here or come from a group that the link passes through."""
    if destination in entry.path or link.topic(entry.topic) is None:
        return False
    if not entry.path:
        return True
    return link.pass_through is not None and re.search(link.pass_through, group_of(entry.path[-1])) is not None


def refusals(
    layout: FabricLayout, source: InstanceLayout, link: DestinationLayout, destination: InstanceLayout
) -> Iterator[Refusal]:
    """Every check that the link fails. The refusals of the layout come first."""
    for given in layout.refusals:
        if (given.source, given.destination) == (source.name, destination.name):
            yield given
    if not layout.validates:
        return
    for topic in _topics(source, destination):
        entry = link.topic(topic)
        if entry is not None:
            for check in CHECKS:
                enforced = check in _MANDATORY or check not in entry.exclude
                if enforced and not _RULES[check](topic, entry, source, destination):
                    yield Refusal(source=source.name, destination=destination.name, check=check, topic=topic)


def _topics(*instances: InstanceLayout) -> list[str]:
    """Every topic that one of the instances knows, including queues."""
    names = {topic.name for one in instances for topic in one.topics} | {
        queue.name for one in instances for queue in one.queues
    }
    return sorted(names)


def _back(topic: str, source: InstanceLayout, destination: InstanceLayout) -> list[LinkTopic]:
    """The destination's topic entries for this topic on its links back to the source."""
    found = [link.topic(topic) for link in destination.destinations if source.name in link.addresses]
    return [one for one in found if one is not None]


def _onward(topic: str, destination: InstanceLayout) -> list[DestinationLayout]:
    return [link for link in destination.destinations if link.topic(topic) is not None]


def _queue(instance: InstanceLayout, topic: str) -> QueueLayout | None:
    """The replicated queue of this name. A LocalQueue is not replicated."""
    return next((one for one in instance.queues if one.name == topic and one.kind != "LocalQueue"), None)


def _keys(instance: InstanceLayout, topic: str) -> tuple[str, ...]:
    known = instance.topic(topic)
    return known.keys if known is not None else ()


Rule = Callable[[str, LinkTopic, InstanceLayout, InstanceLayout], bool]


def _txlog(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    return destination.logs(topic) or (source.topic(topic) is None and _queue(destination, topic) is not None)


def _replicate(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    return bool(_back(topic, source, destination))


def _sow(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    return not _keys(source, topic) or bool(_keys(destination, topic))


def _same_keys(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    return not _keys(source, topic) or _keys(source, topic) == _keys(destination, topic)


def _is_queue(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    return _queue(source, topic) is None or _queue(destination, topic) is not None


def _underlying(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    ours, theirs = _queue(source, topic), _queue(destination, topic)
    return ours is None or theirs is None or ours.topic == theirs.topic


def _passes(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    if _queue(source, topic) is None:
        return True
    onward = _onward(topic, destination)
    return all(
        link.pass_through is not None and re.search(link.pass_through, source.group_name) is not None
        for link in onward
    )


def _cascade(topic: str, entry: LinkTopic, source: InstanceLayout, destination: InstanceLayout) -> bool:
    onward = [link.topic(topic) for link in _onward(topic, destination)]
    return all(one.exclude <= entry.exclude for one in onward if one is not None)


_RULES: Mapping[Check, Rule] = {
    "txlog": _txlog,
    "replicate": _replicate,
    "sow": _sow,
    "keys": _same_keys,
    "queue": _is_queue,
    "queue_underlying": _underlying,
    "queue_passthrough": _passes,
    "cascade": _cascade,
    "replicate_filter": lambda topic, entry, source, destination: True,
}
