"""Turns the verdicts of the nine checks into findings: the level, the reaction of AMPS, and the fix.

It also judges the part of an expression that no known topic covers. It never repeats a comparison of ``checks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adapters.amps.config.model import Check, Instance, ReplicatedTopic, Topic
from validator.checks import Case, Verdict, verdicts
from validator.fabric.fabric import Fabric, Link
from validator.fabric.holdings import Carriage
from validator.fabric.remainder import remainder
from validator.fixes import fix_for, paste, topic_entry
from validator.report import Level, Spot, ValidationFinding
from validator.rules.broken import broken

REFUSED = (
    "AMPS refuses the link {link}: the instance that detects it logs the reason and closes the connection, "
    "and nothing is replicated over the link"
)
UNKNOWN = "the configurations do not show whether AMPS refuses the link {link}"

# The consequence when AMPS makes the link because the check is excluded ("Replication Configuration Validation").
GIVES_UP: Mapping[Check, str] = {
    Check.TXLOG: "{target} does not log {topic}, so it cannot replay it, pass it on or base a queue on it",
    Check.REPLICATE: "messages published to {topic} on {target} never reach {source}, so they are missing after a "
    "fail-over to {target} and back",
    Check.SOW: "{target} keeps no current values of {topic}, so a query there finds nothing, but {source} answers it",
    Check.CASCADE: "an instance behind {target} may hold messages of {topic} that {source} does not have, and "
    "{source} does not receive them",
    Check.QUEUE: "the queue {topic} does not work",
    Check.KEYS: "the same messages make different records of {topic} on {target} and on {source}",
    Check.REPLICATE_FILTER: "{target} does not send back the same part of {topic} that it received",
    Check.QUEUE_PASSTHROUGH: "a message of the queue {topic} may become undeliverable when a connection is down "
    "or an instance is added",
    Check.QUEUE_UNDERLYING: "the queue {topic} does not hold the same messages on {source} and {target}",
}


def judge(fabric: Fabric) -> Iterator[ValidationFinding]:
    """The findings of the nine checks on every link, for every topic of the link, in no particular order."""
    relaxed = _relaxed(fabric)
    needed: set[tuple[ReplicatedTopic, Check]] = set()
    for link in fabric.links:
        failed: set[tuple[ReplicatedTopic, Check]] = set()
        for topic, carriage in fabric.traffic(link):
            case = Case(fabric, link, topic, carriage)
            for verdict in verdicts(case):
                failed |= {(entry, verdict.check) for entry in carriage.entries}
                yield _finding(case, verdict, harmless=link.source not in relaxed)
        needed |= failed
        if not fabric.options.topics_complete:
            yield from _remainder(fabric, link, failed, needed)
    if fabric.options.extra_rules:
        yield from _unneeded(fabric, needed)


def _unneeded(fabric: Fabric, needed: set[tuple[ReplicatedTopic, Check]]) -> Iterator[ValidationFinding]:
    """Exclusions of checks that pass for every topic, on every link of the entry.

    ``cascade`` beside another exclusion is not reported: 60East's own example for a view server excludes both, because of
    instances that are not part of this fabric.
    """
    told: set[ReplicatedTopic] = set()
    for link in fabric.links:
        for entry in link.destination.topics:
            useless = sorted(check for check in entry.excluded if (entry, check) not in needed)
            if len(entry.excluded) > len(useless) or len(useless) > 1:
                useless = [check for check in useless if check is not Check.CASCADE]
            if useless and entry not in told:
                told.add(entry)
                topic = Topic(entry.name or ".*", entry.message_type)
                message = f"the exclusion of {', '.join(useless)} for {topic.name} is not needed"
                xml = topic_entry(
                    entry.name, entry.message_type, filter=entry.filter, excluded=entry.excluded - set(useless)
                )
                fix = paste(link.source, f"Destination {link.destination.label}", xml, entry.at)
                yield broken("exclusion-not-needed", message, entry.at, link=link, topic=topic, fix=fix)


def _finding(case: Case, verdict: Verdict, *, harmless: bool) -> ValidationFinding:
    excluded = verdict.check not in case.carriage.enforced
    level = _level(verdict, excluded=excluded, harmless=harmless)
    link, entry = case.link, _entry(case.carriage, verdict.check)
    return ValidationFinding(
        check=verdict.check,
        level=level,
        source=link.source.name,
        destination=link.target.name,
        topic=case.topic.name,
        message_type=case.topic.message_type,
        message=verdict.message,
        consequence=_consequence(level, link, case.topic, verdict),
        excluded=excluded,
        source_at=Spot.of(entry.at),
        destination_at=Spot.of(verdict.at_target),
        fix=fix_for(case, verdict) if verdict.is_decided else None,
    )


def _level(verdict: Verdict, *, excluded: bool, harmless: bool) -> Level:
    if not verdict.is_decided:
        return Level.UNDECIDED
    if not excluded:
        return Level.ERROR
    return Level.NOTE if harmless and verdict.missing == {Check.CASCADE} else Level.RISK


def _consequence(level: Level, link: Link, topic: Topic, verdict: Verdict) -> str:
    match level:
        case Level.ERROR:
            return REFUSED.format(link=link)
        case Level.UNDECIDED:
            return UNKNOWN.format(link=link)
        case Level.RISK:
            return f"AMPS makes the link: {gives_up(verdict.check, link, topic.name)}"
        case _:
            return "AMPS makes the link; a fabric that excludes only cascade fully meets the rules"


def gives_up(check: Check, link: Link, topic: str) -> str:
    """The consequence when ``check`` is excluded although it would fail."""
    return GIVES_UP[check].format(topic=topic, source=link.source.name, target=link.target.name)


def _entry(carriage: Carriage, check: Check) -> ReplicatedTopic:
    """The Topic entry to show: the entry that excludes the check, else the first matching entry."""
    return next((entry for entry in carriage.entries if check in entry.excluded), carriage.entry)


def _relaxed(fabric: Fabric) -> set[Instance]:
    """The instances that are connected with an instance that excludes more than ``cascade``.

    If only ``cascade`` is excluded, a fabric can be considered to fully meet the rules (60East, same chapter,
    "cascade validation check").
    """
    fresh = [each for each in fabric.instances if _excludes_more_than_cascade(each)]
    found = set(fresh)
    while fresh:
        instance = fresh.pop()
        near = {link.target for link in fabric.outgoing[instance]} | {
            link.source for link in fabric.incoming[instance]
        }
        fresh += near - found
        found |= near
    return found


def _excludes_more_than_cascade(instance: Instance) -> bool:
    return any(topic.excluded - {Check.CASCADE} for out in instance.destinations for topic in out.topics)


def _remainder(
    fabric: Fabric,
    link: Link,
    failed: set[tuple[ReplicatedTopic, Check]],
    needed: set[tuple[ReplicatedTopic, Check]],
) -> Iterator[ValidationFinding]:
    """The findings for topics that only an expression covers. A check that already failed for a known topic is not
    reported again."""
    for left in remainder(fabric, link):
        needed.add((left.entry, left.verdict.check))
        if (left.entry, left.verdict.check) in failed:
            continue
        excluded = left.verdict.check in left.entry.excluded
        level = _level(left.verdict, excluded=excluded, harmless=False)
        topic = Topic(left.entry.name or ".*", left.entry.message_type)
        yield ValidationFinding(
            check=left.verdict.check,
            level=level,
            source=link.source.name,
            destination=link.target.name,
            topic=topic.name,
            message_type=topic.message_type,
            message=left.verdict.message,
            consequence=_consequence(level, link, topic, left.verdict),
            excluded=excluded,
            source_at=Spot.of(left.entry.at),
            destination_at=Spot.of(left.verdict.at_target),
        )
