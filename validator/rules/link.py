"""The rules about one link, or a destination without a link: do both ends agree that the link exists?

Sources: AMPS configuration guide ("Configuring Outgoing Replication Destinations", "Configuring Incoming Replication
Transports"). Never checks topics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from validator.checks import passes
from validator.fabric.fabric import Fabric, Link
from validator.fixes import leaf, paste
from validator.report import ValidationFinding
from validator.rules.broken import broken


def link_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """All findings about links and destinations."""
    yield from _strays(fabric)
    yield from _duplicates(fabric)
    for source in fabric.instances:
        groups = sorted({link.source.group for link in fabric.incoming[source]})
        for link in fabric.outgoing[source]:
            yield from _group(link)
            yield from _transport(fabric, link)
            yield from _regexes(link)
            yield from _anchoring(fabric, link, groups)


def _strays(fabric: Fabric) -> Iterator[ValidationFinding]:
    for source, destination, resolution in fabric.strays:
        if resolution.is_itself:
            message = f"the destination {destination.label} of {source.name} leads to {source.name} itself"
            yield broken("self-destination", message, destination.at, source=source)
        else:
            message = f"{source.name} replicates to {destination.label}, but its configuration was not given"
            yield broken("destination-unknown", message, destination.at, source=source)
    for source, destination, resolution in fabric.ambiguous:
        names = ", ".join(target.name for target in resolution.targets)
        message = f"the destination {destination.label} of {source.name} may lead to any of {names}"
        yield broken("destination-ambiguous", message, destination.at, source=source)


def _duplicates(fabric: Fabric) -> Iterator[ValidationFinding]:
    for source in fabric.instances:
        count = Counter(link.target for link in fabric.outgoing[source])
        told = set()
        for link in fabric.outgoing[source]:
            if count[link.target] > 1 and link.target not in told:
                told.add(link.target)
                labels = ", ".join(
                    each.destination.label for each in fabric.outgoing[source] if each.target is link.target
                )
                message = f"several destinations of {source.name} lead to {link.target.name}: {labels}"
                yield broken("duplicate-destination", message, link.destination.at, link=link)


def _group(link: Link) -> Iterator[ValidationFinding]:
    wanted, group = link.destination.group, link.target.group
    if wanted and wanted != group:
        message = (
            f"the destination {link.destination.label} has the group {wanted}, "
            f"but {link.target.name} has the group {group}"
        )
        fix = paste(link.source, f"Destination {link.destination.label}", leaf("Group", group), link.destination.at)
        yield broken("group-mismatch", message, link.destination.at, link=link, other_at=link.target.at, fix=fix)


def _transport(fabric: Fabric, link: Link) -> Iterator[ValidationFinding]:
    """Does the target listen on the port and with the transport type that the source connects to?

    Without an address the source waits for the target to connect. AMPS uses a connection from the target for both
    directions. In both cases the target needs no transport that listens.
    """
    listening = link.target.replication_transports
    source, target, at = link.source.name, link.target.name, link.destination.at
    if not listening:
        if link.destination.addresses and not fabric.ways_back(link):
            message = f"{target} has no replication transport for {source} to connect to"
            inner = f"{leaf('Name', 'amps-replication')}{leaf('Type', 'amps-replication')}"
            port = next((each.port for each in link.destination.addresses if each.port is not None), "PORT")
            xml = f"<Transport>{inner}{leaf('InetAddr', str(port))}</Transport>"
            fix = paste(link.target, "Transports", xml, link.target.at)
            yield broken("no-replication-transport", message, at, link=link, other_at=link.target.at, fix=fix)
        return
    types, there = set(link.destination.transport_types), {transport.type for transport in listening}
    if types and not types & there:
        message = (
            f"{source} connects as {', '.join(sorted(types))}, but {target} listens as {', '.join(sorted(there))}"
        )
        yield broken("transport-mismatch", message, at, link=link, other_at=listening[0].at)
    wanted = {each.port for each in link.destination.addresses if each.port is not None}
    ports = fabric.directory.ports(link.target)
    if wanted and ports and not wanted & ports:
        tried = ", ".join(str(port) for port in sorted(wanted))
        message = f"{source} connects to port {tried}, but {target} listens on {', '.join(map(str, sorted(ports)))}"
        yield broken("port-mismatch", message, at, link=link, other_at=listening[0].at)


def _regexes(link: Link) -> Iterator[ValidationFinding]:
    if link.source.regexes != link.target.regexes:
        off = link.target if link.source.regexes else link.source
        message = f"RegexTopicSupport is off on {off.name} but on at the other end of the link"
        yield broken("regex-support-differs", message, link.destination.at, link=link, other_at=link.target.at)


def _anchoring(fabric: Fabric, link: Link, groups: Sequence[str]) -> Iterator[ValidationFinding]:
    """Findings for groups that a ``PassThrough`` matches in part. An assumption decides whether they pass."""
    destination = link.destination
    if destination.passthrough is None:
        return
    pattern = fabric.book.pattern(destination.passthrough)
    if pattern.is_universal or (pattern.is_regex and pattern.regex is None):
        return
    for group in groups:
        whole = pattern.regex.fullmatch(group) if pattern.regex else pattern.text == group
        if (pattern.matches(group) or pattern.text in group) and whole is False:
            verb = "is assumed to pass" if passes(fabric, destination, group) else "is assumed not to pass"
            message = f"the PassThrough {destination.passthrough} matches a part of {group} and {verb} that group"
            at = destination.passthrough_at or destination.at
            yield broken("passthrough-anchoring", message, at, link=link)
