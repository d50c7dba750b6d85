"""The rules about one topic on one link that AMPS documents but does not check.

Sources: AMPS configuration guide ("State of the World": keys) and user guide ("Replicated Queues", "Configuration for
Queue Replication"). Never repeats one of the nine checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from adapters.amps.config.model import Queue, Topic
from validator.fabric.fabric import Fabric, Link
from validator.fabric.holdings import Carriage
from validator.fixes import paste, rendered, topic_entry
from validator.report import Fix, ValidationFinding
from validator.rules.broken import broken
from validator.rules.instance import underlying_topics


def topic_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """All findings about topics on links, beyond the nine checks."""
    for link in fabric.links:
        if not link.source.sow and not link.source.queues:
            continue
        for topic, carriage in fabric.traffic(link):
            yield from _keys(fabric, link, topic, carriage)
            yield from _queue(fabric, link, topic, carriage)


def _keys(fabric: Fabric, link: Link, topic: Topic, carriage: Carriage) -> Iterator[ValidationFinding]:
    """AMPS makes SowKeys from the key domain and the key fields, so equal keys in another domain make other SowKeys."""
    here, there = fabric.holdings[link.source].sow(topic), fabric.holdings[link.target].sow(topic)
    if here is None or there is None:
        return
    source, target = link.source.name, link.target.name
    at = carriage.entry.at
    if here.keys and there.keys and here.key_domain != there.key_domain:
        message = f"{topic.name} has the KeyDomain {here.key_domain} on {source} but {there.key_domain} on {target}"
        xml = rendered(there.element, replace={"KeyDomain": (here.key_domain,)}) if there.element else ""
        fix = paste(link.target, f"SOW, in place of Topic {there.name}", xml, there.at) if xml else None
        yield broken("key-domain-differs", message, at, link=link, topic=topic, other_at=there.at, fix=fix)
    if here.key_generator != there.key_generator:
        mine, other = here.key_generator or "none", there.key_generator or "none"
        message = f"{topic.name} has the KeyGenerator {mine} on {source} but {other} on {target}"
        yield broken("key-generator-differs", message, at, link=link, topic=topic, other_at=there.at)


def _queue(fabric: Fabric, link: Link, topic: Topic, carriage: Carriage) -> Iterator[ValidationFinding]:
    here = fabric.holdings[link.source].queue(topic)
    if here is None:
        return
    yield from _beneath(fabric, link, topic, carriage, here)
    there = fabric.holdings[link.target].queue(topic)
    if there is None:
        return
    source, target = link.source.name, link.target.name
    at = carriage.entry.at
    if here.kind != there.kind:
        message = f"{topic.name} is a {here.kind} on {source} but a {there.kind} on {target}"
        yield broken("queue-kind-differs", message, at, link=link, topic=topic, other_at=there.at)
    elif here.initial_owner != there.initial_owner:
        mine, other = here.initial_owner or "not set", there.initial_owner or "not set"
        message = f"the InitialOwner of {topic.name} is {mine} on {source} but {other} on {target}"
        fix = _same(link, there, "InitialOwner", here.initial_owner)
        yield broken("initial-owner-differs", message, at, link=link, topic=topic, other_at=there.at, fix=fix)
    if here.semantics != there.semantics:
        message = f"{topic.name} is {here.semantics} on {source} but {there.semantics} on {target}"
        fix = _same(link, there, "Semantics", here.semantics)
        yield broken("queue-settings-differ", message, at, link=link, topic=topic, other_at=there.at, fix=fix)
    mine, other = here.domain or link.source.group, there.domain or link.target.group
    if here.kind == there.kind == "GroupLocalQueue" and (here.domain or there.domain) and mine != other:
        message = f"the domain of {topic.name} is {mine} on {source} but {other} on {target}"
        fix = _same(link, there, "GroupLocalQueueDomain", mine)
        yield broken("queue-settings-differ", message, at, link=link, topic=topic, other_at=there.at, fix=fix)


def _beneath(
    fabric: Fabric, link: Link, topic: Topic, carriage: Carriage, queue: Queue
) -> Iterator[ValidationFinding]:
    """A queue consists of its underlying topics, so the link must also carry these topics, without a filter."""
    filtered = carriage
    for under in underlying_topics(fabric, link.source, queue):
        carried = fabric.carries(link, under)
        if carried is None:
            message = f"{link} carries the queue {topic.name} but not its underlying topic {under.name}"
            xml = topic_entry(under.name, under.message_type)
            fix = paste(link.source, f"Destination {link.destination.label}", xml, carriage.entry.at)
            at = carriage.entry.at
            yield broken("queue-underlying-not-replicated", message, at, link=link, topic=under, fix=fix)
        elif carried.filters != {""}:
            filtered = carried
    if filtered.filters != {""}:
        message = f"{link} carries the queue {topic.name} through a filter"
        yield broken("queue-filtered", message, filtered.entry.at, link=link, topic=topic)


def _same(link: Link, there: Queue, tag: str, value: str) -> Fix | None:
    """A fix that gives the target's queue the source's value of one setting."""
    if there.element is None:
        return None
    xml = rendered(there.element, replace={tag: (value,) if value else ()})
    return paste(link.target, f"SOW, in place of {there.kind} {there.name}", xml, there.at)
