"""Makes a finding of one of our rules: level and consequence come from the table, the rest from the caller."""

from __future__ import annotations

from adapters.amps.config.model import Instance, Place, Topic
from validator.fabric.fabric import Link
from validator.report import Fix, Level, Spot, ValidationFinding
from validator.rules.catalogue import RULES


def broken(
    rule_id: str,
    message: str,
    at: Place,
    *,
    source: Instance | None = None,
    target: Instance | None = None,
    link: Link | None = None,
    topic: Topic | None = None,
    other_at: Place | None = None,
    fix: Fix | None = None,
    level: Level | None = None,
) -> ValidationFinding:
    """A finding of one of our rules. ``level`` None: the level of the rule."""
    rule = RULES[rule_id]
    source, target = (link.source, link.target) if link else (source, target)
    return ValidationFinding(
        check=rule.id,
        level=level or rule.level,
        source=source.name if source else None,
        destination=target.name if target else None,
        topic=topic.name if topic else None,
        message_type=topic.message_type if topic else None,
        message=message,
        consequence=rule.consequence,
        source_at=Spot.of(at),
        destination_at=Spot.of(other_at),
        fix=fix,
    )
