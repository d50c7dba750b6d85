"""The change that fixes a failed check, as XML to paste.

Each fix is the smallest element that can be pasted without change, with its place. The configurations do not contain
the host of another instance, so the fix has ``HOST`` instead. This module never edits a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from xml.sax.saxutils import escape

from adapters.amps.config.configuration import address as split_address
from adapters.amps.config.model import Check, Destination, Instance, Place, Queue, ReplicatedTopic, SowTopic, Topic
from adapters.amps.config.patterns import quote
from adapters.amps.config.xmltree import Element
from validator.checks import Case, Verdict
from validator.report import Fix, Spot

HOST = "HOST"


def fix_for(case: Case, verdict: Verdict) -> Fix | None:
    """The change for one verdict; None when only the operator knows the intention."""
    return _FIXES[verdict.check](case, verdict)


def relaxed_entry(topic: ReplicatedTopic, add: Iterable[Check]) -> str:
    """The Topic entry of a Destination with further checks excluded."""
    return topic_entry(topic.name, topic.message_type, filter=topic.filter, excluded=topic.excluded | set(add))


def topic_entry(name: str | None, message_type: str, *, filter: str = "", excluded: Iterable[Check] = ()) -> str:
    """A ``Topic`` element for Destination or TransactionLog."""
    inner = [leaf("Name", name)] if name is not None else []
    inner.append(leaf("MessageType", message_type))
    if filter:
        inner.append(leaf("Filter", filter))
    names = [check.value for check in Check if check in set(excluded)]
    if names:
        inner.append(leaf("ExcludeValidation", ",".join(names)))
    return f"<Topic>{''.join(inner)}</Topic>"


def rendered(element: Element, *, replace: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """An element as XML. ``replace`` gives the children of a tag new texts; an empty tuple removes these children."""
    replace = replace or {}
    parts: list[str] = []
    done: set[str] = set()
    for child in element.children:
        if child.tag not in replace:
            parts.append(rendered(child))
        elif child.tag not in done:
            done.add(child.tag)
            parts += [leaf(child.tag, text) for text in replace[child.tag]]
    for tag, texts in replace.items():
        if tag not in done:
            parts += [leaf(tag, text) for text in texts]
    return f"<{element.tag}>{escape(element.text)}{''.join(parts)}</{element.tag}>"


def passthrough(existing: str | None, groups: Iterable[str]) -> str:
    """A ``PassThrough`` that lets ``groups`` through in addition to the ``existing`` expression."""
    wanted = [f"^{quote(group)}$" for group in groups]
    return leaf("PassThrough", "|".join([existing, *wanted]) if existing else ".*")


def _txlog(case: Case, _verdict: Verdict) -> Fix:
    topic = case.topic
    container = case.target.sow(topic)
    name = container.name if container is not None and container.pattern is not None else topic.name
    entry = topic_entry(name, topic.message_type)
    log = case.link.target.log
    if log is None:
        xml = f"<TransactionLog><JournalDirectory>./journal</JournalDirectory>{entry}</TransactionLog>"
        return paste(case.link.target, "AMPSConfig", xml, case.link.target.at)
    return paste(case.link.target, "TransactionLog", entry, log.at)


def _replicate(case: Case, _verdict: Verdict) -> Fix:
    entry = topic_entry(case.topic.name, case.topic.message_type, filter=_one_filter(case))
    ways = case.fabric.ways_back(case.link)
    if ways:
        return paste(case.link.target, f"Destination {ways[0].label}", entry, ways[0].at)
    xml = _destination(case.link.source, case.link.destination, entry)
    return paste(case.link.target, "Replication", xml, case.link.target.at)


def _destination(to: Instance, like: Destination, entry: str) -> str:
    """A destination that leads back. The configurations do not contain its host."""
    transport = next(iter(to.replication_transports), None)
    port = next((split_address(text).port for text in transport.addresses), None) if transport else None
    parts = [
        leaf("Name", to.name),
        leaf("Group", to.group),
        leaf("SyncType", like.sync_type or "sync"),
        leaf("PassThrough", ".*"),
        entry,
        "<Transport>",
        leaf("Type", transport.type if transport else "amps-replication"),
        leaf("InetAddr", f"{HOST}:{port if port is not None else 'PORT'}"),
        "</Transport>",
    ]
    return f"<Destination>{''.join(parts)}</Destination>"


def _sow(case: Case, _verdict: Verdict) -> Fix | None:
    here = case.source.sow(case.topic)
    return None if here is None else paste(case.link.target, "SOW", _sow_xml(here, case.topic), case.link.target.at)


def _sow_xml(here: SowTopic, topic: Topic) -> str:
    if here.element is not None:
        return rendered(here.element)
    keys = "".join(leaf("Key", key) for key in here.keys)
    inner = f"{leaf('Name', topic.name)}{leaf('MessageType', topic.message_type)}{keys}"
    return f"<Topic>{inner}<FileName>./sow/%n.sow</FileName></Topic>"


def _keys(case: Case, verdict: Verdict) -> Fix | None:
    here, there = case.source.sow(case.topic), case.target.sow(case.topic)
    if here is None:
        return None
    if there is None or there.element is None:
        return _sow(case, verdict)
    xml = rendered(there.element, replace={"Key": here.keys})
    return paste(case.link.target, _either(case, f"SOW, in place of Topic {there.name}"), xml, there.at)


def _queue(case: Case, _verdict: Verdict) -> Fix | None:
    here = case.source.queue(case.topic)
    if here is None:
        return None
    there = case.target.queue(case.topic) or case.target.local_queue(case.topic)
    where = _either(case, f"SOW, in place of {there.kind} {there.name}") if there else "SOW"
    return paste(case.link.target, where, _queue_xml(here), there.at if there else case.link.target.at)


def _queue_underlying(case: Case, verdict: Verdict) -> Fix | None:
    here, there = case.source.queue(case.topic), case.target.queue(case.topic)
    if here is None:
        return None
    if there is None or there.element is None:
        return _queue(case, verdict)
    underlying = () if here.underlying == here.name else (here.underlying,)
    replace = {"UnderlyingTopic": underlying, "Filter": (here.filter,) if here.filter else ()}
    xml = rendered(there.element, replace=replace)
    return paste(case.link.target, _either(case, f"SOW, in place of {there.kind} {there.name}"), xml, there.at)


def _queue_xml(queue: Queue) -> str:
    if queue.element is not None:
        return rendered(queue.element)
    inner = [leaf("Name", queue.name), leaf("MessageType", queue.message_type)]
    if queue.underlying != queue.name:
        inner.append(leaf("UnderlyingTopic", queue.underlying))
    if queue.filter:
        inner.append(leaf("Filter", queue.filter))
    return f"<{queue.kind}>{''.join(inner)}</{queue.kind}>"


def _queue_passthrough(case: Case, verdict: Verdict) -> Fix | None:
    to = verdict.culprit
    if to is None:
        return None
    xml = passthrough(to.passthrough, [case.link.source.group])
    return paste(case.link.target, f"Destination {to.label}", xml, to.passthrough_at or to.at)


def _replicate_filter(case: Case, verdict: Verdict) -> Fix | None:
    relay = next((relay for relay in case.back if relay.destination is verdict.culprit), None)
    if relay is None or len(case.carriage.filters) != 1:
        return None
    entry = relay.entry
    xml = topic_entry(entry.name, entry.message_type, filter=_one_filter(case), excluded=entry.excluded)
    where = f"Destination {relay.destination.label}"
    return paste(case.link.target, _either(case, where) if relay.filters != {""} else where, xml, entry.at)


def _cascade(case: Case, _verdict: Verdict) -> Fix:
    entry = case.carriage.entry
    xml = relaxed_entry(entry, {Check.CASCADE})
    return paste(case.link.source, f"Destination {case.link.destination.label}", xml, entry.at)


def _either(case: Case, where: str) -> str:
    """``where``. If the other direction proposes the opposite change, the text also says that only one of the two may be
    made. Both changes together would swap the difference."""
    if not case.fabric.ways_back(case.link):
        return where
    return f"{where}: make either this change or the opposite change in {case.link.source.name}, but not both"


def _one_filter(case: Case) -> str:
    return next(iter(case.carriage.filters)) if len(case.carriage.filters) == 1 else ""


def paste(instance: Instance, where: str, xml: str, at: Place) -> Fix:
    """A change to the configuration of ``instance``: ``xml`` goes to ``where``, near ``at``."""
    return Fix(instance=instance.name, where=where, xml=xml, at=Spot(file=at.file, line=at.line))


def leaf(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>"


_FIXES: Mapping[Check, Callable[[Case, Verdict], Fix | None]] = {
    Check.TXLOG: _txlog,
    Check.REPLICATE: _replicate,
    Check.SOW: _sow,
    Check.CASCADE: _cascade,
    Check.QUEUE: _queue,
    Check.KEYS: _keys,
    Check.REPLICATE_FILTER: _replicate_filter,
    Check.QUEUE_PASSTHROUGH: _queue_passthrough,
    Check.QUEUE_UNDERLYING: _queue_underlying,
}
