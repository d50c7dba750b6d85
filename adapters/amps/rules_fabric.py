"""The rules about several instances at once: fail-over sets and bootstrap.

Sources: 60East, "Bootstrap Initialization of AMPS Replication" and user guide, "Replication Best Practices". Never
looks at a single topic's checks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from adapters.amps.broken import broken
from adapters.amps.fabric import Fabric, Link
from adapters.amps.fixes import leaf, paste
from adapters.amps.model import Bootstrap, Instance, Topic
from adapters.amps.report import Fix, ValidationFinding
from orchestrator.errors import DefinitionError


def fabric_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """All findings about fail-over sets and bootstrap."""
    yield from _failover(fabric)
    yield from _bootstrap(fabric)


def failover_sets(fabric: Fabric) -> list[tuple[Instance, ...]]:
    """The instances of one group (declared equivalent for fail-over), and the sets of the options.

    Raises ``DefinitionError`` for a set that names an instance that was not given.
    """
    sets = [tuple(members) for members in fabric.directory.by_group.values() if len(members) > 1]
    for names in fabric.options.failover_sets:
        missing = [name for name in names if name not in fabric.directory.by_name]
        if missing:
            raise DefinitionError(f"the fail-over set {', '.join(names)} names {missing[0]}, which was not given")
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
            message = f"clients fail over between {link.source.name} and {link.target.name}, and {link} is async"
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
    """The first member that links inside the set do not lead to (``forward``), or from which none leads to start."""
    inside, seen, fresh = set(members), {start}, [start]
    while fresh:
        for link in ways[fresh.pop()]:
            near = link.target if forward else link.source
            if near in inside and near not in seen:
                seen.add(near)
                fresh.append(near)
    return next((each for each in members if each not in seen), None)


def _unconnected(one: Instance, other: Instance, members: Sequence[Instance]) -> ValidationFinding:
    message = f"clients fail over between {one.name} and {other.name}, and no links lead both ways between them"
    if len(members) > 2:
        message += f" within {', '.join(each.name for each in members[:5])}{' …' if len(members) > 5 else ''}"
    return broken("failover-unconnected", message, one.at, source=one, target=other, other_at=other.at)


def _bootstrap(fabric: Fabric) -> Iterator[ValidationFinding]:
    sources: dict[Instance, tuple[Instance, ...]] = {}
    for instance in fabric.instances:
        if instance.bootstrap is None:
            continue
        resolution = fabric.directory.at(instance, instance.bootstrap.addresses)
        yield from _unprepared(instance, instance.bootstrap)
        if not resolution.targets and not resolution.is_itself:
            message = f"no configuration given is that of an instance that {instance.name} bootstraps from"
            yield broken("bootstrap-source-unknown", message, instance.bootstrap.at, source=instance)
            continue
        sources[instance] = resolution.targets
        for source in resolution.targets:
            yield from _lacking(fabric, instance, instance.bootstrap, source)
    yield from _deadlocks(sources)


def _unprepared(instance: Instance, bootstrap: Bootstrap) -> Iterator[ValidationFinding]:
    lacks: list[tuple[str, str, str]] = []
    if not instance.replication_transports:
        inner = f"{leaf('Name', 'amps-replication')}{leaf('Type', 'amps-replication')}{leaf('InetAddr', 'PORT')}"
        lacks.append(("replication transport", "Transports", f"<Transport>{inner}</Transport>"))
    if instance.log is None:
        xml = f"<TransactionLog>{leaf('JournalDirectory', './journal')}</TransactionLog>"
        lacks.append(("transaction log", "AMPSConfig", xml))
    for what, where, xml in lacks:
        fix: Fix = paste(instance, where, xml, instance.at)
        message = f"{instance.name} is to bootstrap, and has no {what}"
        yield broken("bootstrap-unprepared", message, bootstrap.at, source=instance, fix=fix)


def _lacking(
    fabric: Fabric, instance: Instance, bootstrap: Bootstrap, source: Instance
) -> Iterator[ValidationFinding]:
    """A source must have the topics in its transaction log or its SOW."""
    holdings = fabric.holdings[source]
    for entry in bootstrap.topics:
        names = fabric.book.pattern(entry.name, regexes=instance.regexes).names
        for name in sorted(names or ()):
            topic = Topic(name, entry.message_type)
            if holdings.logged(topic) is False and holdings.sow(topic) is None:
                message = f"{instance.name} bootstraps {name} from {source.name}, which neither logs nor stores it"
                at = source.at
                yield broken(
                    "bootstrap-source-lacks",
                    message,
                    entry.at,
                    source=source,
                    target=instance,
                    topic=topic,
                    other_at=at,
                )


def _deadlocks(sources: Mapping[Instance, Sequence[Instance]]) -> Iterator[ValidationFinding]:
    """Instances whose every source waits too. One with a source that does not bootstrap gets on in the end."""
    waiting = {instance for instance, found in sources.items() if found}
    askers: dict[Instance, list[Instance]] = defaultdict(list)
    for instance in waiting:
        for source in sources[instance]:
            askers[source].append(instance)
    free = [source for source in askers if source not in waiting]
    while free:
        for asker in askers.pop(free.pop(), ()):
            if asker in waiting:
                waiting.discard(asker)
                free.append(asker)
    for instance in sorted(waiting, key=lambda each: (each.name, each.at)):
        source = sources[instance][0]
        message = (
            f"{instance.name} bootstraps from {', '.join(each.name for each in sources[instance])}, which waits too"
        )
        at = instance.bootstrap.at if instance.bootstrap else instance.at
        other = source.bootstrap.at if source.bootstrap else source.at
        yield broken("bootstrap-deadlock", message, at, source=source, target=instance, other_at=other)
