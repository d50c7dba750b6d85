"""Computes which messages reach which instance by the routing rules of AMPS, for many publishers at once.

A message goes over a link when it was published at the link's source, or came there from an instance whose group the
destination's ``PassThrough`` matches. It does not go to an instance where it has been (AMPS user guide, "Understanding
Replication Message Routing"). Each link has one integer, and each publisher is one bit of it, so a thousand publishers
are computed together. Topics with the same links share one computation. This module blocks only the direct way back,
not longer loops. So it may wrongly count a message as arriving, but never the reverse.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adapters.amps.config.model import Instance, Topic
from validator.checks import passes
from validator.fabric.fabric import Fabric, Link
from validator.fixes import passthrough, paste
from validator.report import ValidationFinding
from validator.rules.broken import broken

_NAMES_MAX = 5


@dataclass(frozen=True, slots=True)
class Gap:
    """``link`` does not pass on messages from ``groups``. Messages of ``publishers`` never reach the link's target."""

    link: Link
    groups: tuple[str, ...]
    publishers: tuple[str, ...]


def gap_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """One finding for each link and topic where messages stop, and do not arrive on another way."""
    for links, topics in topic_classes(fabric):
        for gap in gaps(fabric, links):
            for topic in topics:
                yield _finding(gap, topic)


def topic_classes(fabric: Fabric) -> Iterator[tuple[Sequence[Link], list[Topic]]]:
    """The topics in classes: all topics of a class use exactly the same links."""
    travels: dict[Topic, list[int]] = defaultdict(list)
    for index, link in enumerate(fabric.links):
        for topic, _ in fabric.traffic(link):
            travels[topic].append(index)
    classes: dict[tuple[int, ...], list[Topic]] = defaultdict(list)
    for topic, indices in travels.items():
        classes[tuple(indices)].append(topic)
    for members, topics in classes.items():
        yield [fabric.links[index] for index in members], sorted(topics)


def gaps(fabric: Fabric, links: Sequence[Link]) -> Iterator[Gap]:
    """The places where messages stop on ``links``. All links carry the same topics."""
    network = _Network(fabric, links)
    with_rules, without = network.spread(rules=True), network.spread(rules=False)
    arrives: dict[Instance, int] = defaultdict(int)
    could: dict[Instance, int] = defaultdict(int)
    for link in links:
        arrives[link.target] |= with_rules[link]
        could[link.target] |= without[link]
    for link in links:
        lost = could[link.target] & ~arrives[link.target] & ~network.bit[link.target]
        if not lost:
            continue
        stopped = [
            before
            for before in network.incoming[link.source]
            if before.source is not link.target
            and with_rules[before] & lost
            and network.passes(link, before.source.group) is False
        ]
        if stopped:
            bits = 0
            for before in stopped:
                bits |= with_rules[before] & lost
            groups = tuple(sorted({before.source.group for before in stopped}))
            yield Gap(link, groups, network.names(bits))


class _Network:
    """The links of one class of topics."""

    def __init__(self, fabric: Fabric, links: Sequence[Link]) -> None:
        self._fabric = fabric
        self._links = links
        members = dict.fromkeys(each for link in links for each in (link.source, link.target))
        self._members: list[Instance] = list(members)
        self.bit = {instance: 1 << index for index, instance in enumerate(self._members)}
        self.incoming: dict[Instance, list[Link]] = defaultdict(list)
        self._outgoing: dict[Instance, list[Link]] = defaultdict(list)
        for link in links:
            self.incoming[link.target].append(link)
            self._outgoing[link.source].append(link)
        self._passes: dict[tuple[str | None, str], bool | None] = {}

    def passes(self, link: Link, group: str) -> bool | None:
        """Does the link pass on messages from ``group``? None: unknown; callers then treat the messages as passed on."""
        key = (link.destination.passthrough, group)
        if key not in self._passes:
            self._passes[key] = passes(self._fabric, link.destination, group)
        return self._passes[key]

    def names(self, bits: int) -> tuple[str, ...]:
        return tuple(sorted(each.name for each in self._members if self.bit[each] & bits))

    def spread(self, *, rules: bool) -> Mapping[Link, int]:
        """For each link, the publishers (bits) whose messages go over it. Without ``rules``, everything is passed on."""
        carried = {link: self.bit[link.source] for link in self._links}
        waiting = deque(self._members)
        queued = set(waiting)
        while waiting:
            instance = waiting.popleft()
            queued.discard(instance)
            for link, bits in self._onward(instance, carried, rules=rules):
                if bits | carried[link] != carried[link]:
                    carried[link] |= bits
                    if link.target not in queued:
                        queued.add(link.target)
                        waiting.append(link.target)
        return carried

    def _onward(self, instance: Instance, carried: Mapping[Link, int], *, rules: bool) -> Iterable[tuple[Link, int]]:
        """The incoming publishers that each outgoing link takes, except from the instance that the link leads to."""
        outgoing, incoming = self._outgoing[instance], self.incoming[instance]
        if not outgoing or not incoming:
            return
        by_passthrough: dict[str | None, list[Link]] = defaultdict(list)
        for link in outgoing:
            by_passthrough[link.destination.passthrough if rules else None].append(link)
        for links in by_passthrough.values():
            taken: dict[Instance, int] = defaultdict(int)
            for before in incoming:
                if not rules or self.passes(links[0], before.source.group) is not False:
                    taken[before.source] |= carried[before]
            total, but = _all_but_one(taken)
            for link in links:
                yield link, but.get(link.target, total)


def _all_but_one(taken: Mapping[Instance, int]) -> tuple[int, dict[Instance, int]]:
    """All bits together, and for each sender all bits except its own. Takes time linear in the number of senders."""
    senders = list(taken)
    before = [0]
    for sender in senders:
        before.append(before[-1] | taken[sender])
    but: dict[Instance, int] = {}
    after = 0
    for index in range(len(senders) - 1, -1, -1):
        but[senders[index]] = before[index] | after
        after |= taken[senders[index]]
    return after, but


def _finding(gap: Gap, topic: Topic) -> ValidationFinding:
    link = gap.link
    what = f"passes on only messages from «{link.destination.passthrough}»"
    if link.destination.passthrough is None:
        what = "passes no messages on"
    shown = ", ".join(gap.publishers[:_NAMES_MAX])
    if len(gap.publishers) > _NAMES_MAX:
        shown += f" and {len(gap.publishers) - _NAMES_MAX} more"
    message = (
        f"messages published to {topic.name} on {shown} reach {link.source.name} from group "
        f"{', '.join(gap.groups)} but never reach {link.target.name}, because the link {link} {what}"
    )
    existing = link.destination.passthrough
    xml = passthrough(existing, gap.groups)
    at = link.destination.passthrough_at or link.destination.at
    fix = paste(link.source, f"Destination {link.destination.label}", xml, at)
    return broken("passthrough-gap", message, at, link=link, topic=topic, fix=fix)
