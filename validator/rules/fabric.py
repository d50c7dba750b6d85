"""The rules about several instances together: fail-over sets.

Source: 60East, user guide, "Replication Best Practices". This module must not use the checks of a single topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adapters.amps.config.model import Instance
from orchestrator.errors import DefinitionError
from validator.fabric.fabric import Fabric, Link
from validator.fixes import leaf, paste
from validator.report import ValidationFinding
from validator.rules.broken import broken


def fabric_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """All findings about fail-over sets."""
    yield from _failover(fabric)


def failover_sets(fabric: Fabric) -> list[tuple[Instance, ...]]:
    """The instances of one group (declared equivalent for fail-over), and the sets of the options.

    Raises ``DefinitionError`` for a set that names an instance that was not given.
    """
    sets = [tuple(members) for members in fabric.directory.by_group.values() if len(members) > 1]
    for names in fabric.options.failover_sets:
        missing = [name for name in names if name not in fabric.directory.by_name]
        if missing:
            raise DefinitionError(
                f"the fail-over set {', '.join(names)} names {missing[0]}, but this instance was not given"
            )
        sets.append(tuple(fabric.directory.by_name[name][0] for name in names))
    return sets


def _failover(fabric: Fabric) -> Iterator[ValidationFinding]:
    told: set[Link] = set()
    for members in failover_sets(fabric):
        inside = set(members)
        if not any(link.target in inside for each in members for link in fabric.outgoing[each]):
            if any(fabric.outgoing[each] or fabric.incoming[each] for each in members):
                yield _unconnected(members[0], members[1], members)
            continue
        weak = [
            link
            for each in members
            for link in fabric.outgoing[each]
            if link.target in inside and not link.is_sync and link not in told
        ]
        for link in weak:
            told.add(link)
            at = link.destination.at
            message = f"clients fail over between {link.source.name} and {link.target.name}, but {link} is async"
            fix = paste(link.source, f"Destination {link.destination.label}", leaf("SyncType", "sync"), at)
            yield broken("failover-async", message, at, link=link, other_at=link.target.at, fix=fix)
        start = members[0]
        for ways in (fabric.outgoing, fabric.incoming):
            missing = _out_of_reach(start, members, ways, forward=ways is fabric.outgoing)
            if missing is not None:
                yield _unconnected(start, missing, members)
                break


def _out_of_reach(
    start: Instance, members: Sequence[Instance], ways: Mapping[Instance, Sequence[Link]], *, forward: bool
) -> Instance | None:
    """The first member that links inside the set do not reach from ``start`` (``forward``), or that cannot reach it."""
    inside, seen, fresh = set(members), {start}, [start]
    while fresh:
        for link in ways[fresh.pop()]:
            near = link.target if forward else link.source
            if near in inside and near not in seen:
                seen.add(near)
                fresh.append(near)
    return next((each for each in members if each not in seen), None)


def _unconnected(one: Instance, other: Instance, members: Sequence[Instance]) -> ValidationFinding:
    message = (
        f"clients fail over between {one.name} and {other.name}, but the links do not lead both ways between them"
    )
    if len(members) > 2:
        message += f" within {', '.join(each.name for each in members[:5])}{' …' if len(members) > 5 else ''}"
    return broken("failover-unconnected", message, one.at, source=one, target=other, other_at=other.at)
