"""The rules about ``Bootstrap``: can an instance fetch its complete state from the instances it names?

Source: 60East, "Bootstrap Initialization of AMPS Replication" (docs/sources/amps.md, 3.5). For data that replication
cannot restore: "Are SOW topics that are replicated guaranteed to be in sync" (docs/sources/amps.md, 9.8). This module
must not use the checks of a link.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from adapters.amps.config.model import Bootstrap, Instance, LoggedTopic, Topic
from validator.fabric.fabric import Fabric
from validator.fabric.holdings import Selector
from validator.fixes import leaf, paste, topic_entry
from validator.report import Fix, ValidationFinding
from validator.rules.broken import broken

_RESERVED = "/AMPS"


def bootstrap_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """All findings about bootstrap."""
    sources: dict[Instance, tuple[Instance, ...]] = {}
    for instance in fabric.instances:
        if instance.bootstrap is None:
            continue
        resolution = fabric.directory.at(instance, instance.bootstrap.addresses)
        yield from _unprepared(instance, instance.bootstrap)
        if not resolution.targets and not resolution.is_itself:
            message = f"{instance.name} bootstraps from an instance whose configuration was not given"
            yield broken("bootstrap-source-unknown", message, instance.bootstrap.at, source=instance)
            continue
        sources[instance] = resolution.targets
        for source in resolution.targets:
            yield from _of_source(fabric, instance, instance.bootstrap, source)
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
        message = f"{instance.name} has a Bootstrap but no {what}"
        yield broken("bootstrap-unprepared", message, bootstrap.at, source=instance, fix=fix)


def _of_source(
    fabric: Fabric, instance: Instance, bootstrap: Bootstrap, source: Instance
) -> Iterator[ValidationFinding]:
    if not source.replication_transports:
        message = f"{instance.name} bootstraps from {source.name}, which has no replication transport"
        yield broken(
            "bootstrap-source-closed", message, bootstrap.at, source=source, target=instance, other_at=source.at
        )
    asked: Selector[LoggedTopic] = Selector(bootstrap.topics, fabric.book, regexes=instance.regexes)
    # A topic that only the Bootstrap names is missing at its source.
    topics = {*fabric.known(source), *fabric.known(instance), *asked.written_out()}
    for topic in sorted(one for one in topics if not one.name.startswith(_RESERVED)):
        entries = asked.matching(topic)
        if entries:
            yield from _asked(fabric, instance, bootstrap, source, topic, entries[0], asked.is_literal(topic))
        is_known = bool(entries) or not asked.is_uncertain(topic)
        if is_known and _are_partners(fabric, instance, source):
            yield from _left_out(fabric, instance, bootstrap, source, topic, is_asked=bool(entries))


def _asked(
    fabric: Fabric,
    instance: Instance,
    bootstrap: Bootstrap,
    source: Instance,
    topic: Topic,
    entry: LoggedTopic,
    is_literal: bool,
) -> Iterator[ValidationFinding]:
    """A source must log or store each topic asked for. A topic in its SOW needs a SOW topic at this instance."""
    theirs, ours = fabric.holdings[source], fabric.holdings[instance]
    logs, stores = theirs.logged(topic) is not False, theirs.sow(topic) is not None
    asks, missing = f"{instance.name} bootstraps {topic.name} from {source.name}", ""
    if not logs and not stores:
        missing = f"{asks}, but {source.name} neither logs nor stores it" if is_literal else ""
    elif not logs and not bootstrap.fetches("sow"):
        missing = f"{asks} with only DataType txlog, but {source.name} has it only in its SOW"
    elif not stores and not bootstrap.fetches("txlog"):
        missing = f"{asks} with only DataType sow, but {source.name} has it only in its log"
    if missing:
        yield broken(
            "bootstrap-source-lacks",
            missing,
            entry.at,
            source=source,
            target=instance,
            topic=topic,
            other_at=source.at,
        )
    if stores and bootstrap.fetches("sow") and ours.sow(topic) is None:
        message = f"{asks}, which has it in its SOW, but {instance.name} defines no SOW topic for it"
        yield broken("bootstrap-unstored", message, entry.at, source=source, target=instance, topic=topic)


def _are_partners(fabric: Fabric, instance: Instance, source: Instance) -> bool:
    """Do the two instances keep the same state? An offline replica has no link with its source, and may fetch any part
    (docs/sources/amps.md, 3.5, "When to Use Bootstrap Initialization")."""
    links = (*fabric.outgoing[instance], *fabric.outgoing[source])
    is_joined = any({link.source, link.target} == {instance, source} for link in links)
    return is_joined or instance.group == source.group


def _left_out(
    fabric: Fabric, instance: Instance, bootstrap: Bootstrap, source: Instance, topic: Topic, *, is_asked: bool
) -> Iterator[ValidationFinding]:
    """Findings for data that both have and replication does not restore: records whose messages left the log, and
    messages that were first published to this instance."""
    theirs, ours = fabric.holdings[source], fabric.holdings[instance]
    lost = []
    if theirs.sow(topic) is not None and ours.sow(topic) is not None and not (is_asked and bootstrap.fetches("sow")):
        lost.append("SOW records whose messages are no longer in the log")
    if theirs.logged(topic) and ours.logged(topic) and not (is_asked and bootstrap.fetches("txlog")):
        lost.append(f"messages that were first published to {instance.name}")
    if lost:
        how = "leaves out" if not is_asked else f"fetches only {' and '.join(sorted(bootstrap.data or ()))} of"
        message = f"the Bootstrap of {instance.name} {how} {topic.name}, so it does not restore {' and '.join(lost)}"
        xml = leaf("DataType", "sow,txlog") if is_asked else topic_entry(topic.name, topic.message_type)
        fix = paste(instance, "Bootstrap", xml, bootstrap.at)
        yield broken(
            "bootstrap-incomplete", message, bootstrap.at, source=source, target=instance, topic=topic, fix=fix
        )


def _deadlocks(sources: Mapping[Instance, Sequence[Instance]]) -> Iterator[ValidationFinding]:
    """Findings for instances whose sources all wait too. An instance with a source that does not bootstrap can start."""
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
        names = ", ".join(each.name for each in sources[instance])
        message = f"{instance.name} bootstraps from {names}, which also waits for a bootstrap"
        at = instance.bootstrap.at if instance.bootstrap else instance.at
        other = source.bootstrap.at if source.bootstrap else source.at
        yield broken("bootstrap-deadlock", message, at, source=source, target=instance, other_at=other)
