"""The findings about two instances' SOW topics that an operator should check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from orchestrator.counting import counted
from orchestrator.model.findings import Finding, Level
from pipeline.amps.instance import Topic
from pipeline.amps.journals import findings_of_log, findings_of_unread
from pipeline.amps.report import CAUSES, HARMLESS, InstanceReport, KeptTopic, SowReport

if TYPE_CHECKING:
    from pipeline.amps.sow import SowSide


def findings_of_sow(
    report: SowReport, left: SowSide, right: SowSide, other_keys: Mapping[Topic, int]
) -> Iterator[Finding]:
    """All findings of the report. ``other_keys``: common records for which AMPS's own keys differ."""
    for side in (report.left, report.right):
        yield from _of_instance(side)
    names = (report.left.log.name, report.right.log.name)
    for topic in sorted({*left.instance.sow} ^ {*right.instance.sow}):
        have, lack = names if topic in left.instance.sow else reversed(names)
        text = f"{topic} is not compared, because {have} has a SOW dump of it but {lack} does not"
        yield Finding(level=Level.UNKNOWN, code="sow-no-dump", message=text)
    for topic in sorted({*left.instance.sow} & {*right.instance.sow}):
        yield from _of_definitions(topic, left, right, other_keys.get(topic, 0))
    for one in report.topics:
        for which, counts in (
            (f"only in {names[0]}", one.only_left),
            (f"only in {names[1]}", one.only_right),
            ("with other content", one.differing),
        ):
            for cause, count in sorted(counts.items()):
                text = f"{one.topic} ({one.message_type}): {counted(count, 'record')} {which}: {CAUSES[cause]}"
                yield Finding(level=_level(cause), code=f"sow-{cause}", message=text)


def _of_instance(side: InstanceReport) -> Iterator[Finding]:
    yield from findings_of_log(side.log)
    yield from findings_of_unread(side.unread, side.unread_pieces)
    if not side.log.files:
        text = f"{side.log.name}: no journal dumps were given, so no SOW can be rebuilt"
        yield Finding(level=Level.UNKNOWN, code="journal-none", message=text)
    for topic in side.topics:
        label = f"{side.log.name}: {topic.topic} ({topic.message_type})"
        if not topic.is_rebuilt:
            why = "its keys are unknown" if not topic.keys else "its keys cannot be read"
            text = f"{label}: the SOW was not rebuilt, because {why}"
            hint = "name the keys with --keys TOPIC.TYPE=/FIELD" if not topic.keys else ""
            yield Finding(level=Level.UNKNOWN, code="sow-not-rebuilt", message=text, hint=hint)
        if topic.keyless and topic.is_rebuilt and topic.keys:
            yield _of_keyless(label, topic)
        for cause, count in sorted(topic.differences.items()):
            # docs/sources/amps.md, 9.8: a record may normally exist longer than its message in the log. It is a problem
            # only if the SOW is lost.
            level = Level.NOTE if cause == "aged-out" else _level(cause)
            which = f"{counted(count, 'record differs', 'records differ')} from the SOW that was rebuilt from the log"
            text = f"{label}: {which}: {CAUSES[cause]}"
            yield Finding(level=level, code=f"sow-log-{cause}", message=text)


def _of_keyless(label: str, topic: KeptTopic) -> Finding:
    """The finding for messages without any field of the key. If no message has the key, its name is wrong."""
    fields = " and ".join(topic.keys or ())
    has = f"; the first of these messages has the fields {topic.fields}" if topic.fields else ""
    if topic.keyless == topic.messages:
        text = f"{label}: no message has {fields}{has}"
        hint = f"name the key with --keys {topic.topic}.{topic.message_type}=/FIELD"
        return Finding(level=Level.UNKNOWN, code="sow-key-absent", message=text, hint=hint)
    text = f"{label}: {counted(topic.keyless, 'message has', 'messages have')} no {fields}{has}"
    return Finding(level=Level.UNKNOWN, code="sow-key-missing", message=text)


def _of_definitions(topic: Topic, left: SowSide, right: SowSide, other_keys: int) -> Iterator[Finding]:
    one, other = left.keys_of(topic), right.keys_of(topic)
    if one and other and one.fields != other.fields:
        text = (
            f"{topic} has the keys {', '.join(one.fields)} at one instance and {', '.join(other.fields)} at the other"
        )
        yield Finding(
            level=Level.ERROR,
            code="sow-keys-differ",
            message=text,
            hint="`failover validate` checks the keys of both instances",
        )
    elif other_keys:
        which = counted(other_keys, "record has", "records have")
        text = f"{topic}: {which} the same key fields but different SowKeys at the two instances"
        hint = "check that KeyDomain and KeyGenerator are the same at both instances"
        yield Finding(level=Level.WARNING, code="sow-own-keys-differ", message=text, hint=hint)


def _level(cause: str) -> Level:
    if cause == "unknown":
        return Level.UNKNOWN
    return Level.NOTE if cause in HARMLESS else Level.ERROR
