"""Collects the facts about AMPS instances for a simulated copy of them: from the inventory, and from the instances
through read-only sessions. An instance that cannot be read is no error: less is known of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TypeVar

from adapters.amps.config.model import Instance as Configured
from adapters.amps.config.patterns import has_metacharacters, is_dotted_name
from adapters.amps.live import configurations_of
from adapters.amps.options import interval_of
from adapters.amps.reading_models import Instance, Links, Queues, Transports
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import AdapterContext, family_named
from orchestrator.family.reachability import probe
from orchestrator.family.registry import Registry
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from simulator.amps.copies import Known
from simulator.amps.layout import QueueLayout, TopicLayout

Read = TypeVar("Read")
_READINGS = ("instance", "transports", "links", "queues")
Answers = Mapping[str, Mapping[str, Reading | Failure]]


@dataclass(frozen=True, slots=True)
class ReadSite:
    """One site. ``known``: the facts about each service's instance. ``says_sync``: whether the inventory says that its
    link is sync. ``is_open``: whether the instance lets clients in now. ``oddities``: present states with which no copy
    starts. ``unread``: why the site was not read, or not completely."""

    site: str
    known: Mapping[str, Known]
    says_sync: bool
    is_open: Mapping[str, bool | None] = field(default_factory=dict)
    oddities: Sequence[str] = ()
    unread: str = ""


def read_site(
    registry: Registry, context: AdapterContext, site: Site, services: Sequence[str], *, unread: str = ""
) -> ReadSite:
    """Everything that can be known of a site; ``unread``: why its instances must not be read. Raises
    ``DefinitionError`` for a mistake in the inventory."""
    part = next(one for one in site.parts if family_named(registry.get(one.adapter)) == "amps")
    written = {service: _written(part, service) for service in services}
    nothing = ReadSite(site.name, written, part.options.get("link") == "sync", unread=unread)
    if unread:
        return nothing
    with closing(registry.adapter_for(site, context)) as adapter:
        first = probe(adapter, _READINGS[0], services)
        silent = [one.text for one in first.values() if isinstance(one, Failure)]
        if len(silent) == len(services):
            return replace(nothing, unread=silent[0])
        answers = {_READINGS[0]: first, **{name: probe(adapter, name, services) for name in _READINGS[1:]}}
    configured = configurations_of(registry, context, site, services)
    known = {
        service: _with_configuration(
            _with_readings(written[service], answers, service), configured[(site.name, service)]
        )
        for service in services
    }
    transports = {service: _of(answers, "transports", service, Transports) for service in services}
    return replace(
        nothing,
        known=known,
        is_open={service: None if found is None else found.open for service, found in transports.items()},
        oddities=[odd for service in services for odd in _oddities(service, answers)],
        unread=silent[0] if silent else "",
    )


def _written(site: Site, service: str) -> Known:
    """The facts in the inventory."""
    return Known(
        _device_of(site, service),
        site.name,
        sync=site.options.get("link") == "sync",
        interval_s=interval_of(site),
    )


def _device_of(site: Site, service: str) -> str:
    """The instance of a service, as adapters of AMPS find it."""
    own = (site.options.get("services") or {}).get(service)
    named = own.get("device") if isinstance(own, Mapping) else own
    names = [device.name for device in site.devices]
    found = named or (service if service in names else names[0] if len(names) == 1 else None)
    if not isinstance(found, str):
        hint = "name its device in the site's options: services: {NAME: {device: …}}"
        raise DefinitionError(f"no device of {site.name} is the instance of {service!r}", hint=hint)
    return found


def _with_readings(known: Known, answers: Answers, service: str) -> Known:
    instance = _of(answers, "instance", service, Instance)
    links = _of(answers, "links", service, Links)
    queues = _of(answers, "queues", service, Queues)
    if instance is not None:
        known = replace(known, group=instance.group, version=instance.version)
    if links is not None:
        configured = links.configured_sync
        sync = known.sync if configured is None else configured
        known = replace(known, interval_s=links.interval_s or known.interval_s, sync=sync)
    if queues is not None and queues.items is not None:
        items = tuple(QueueLayout(name=one.name, message_type=one.message_type or "json") for one in queues.items)
        known = replace(known, queues=items)
    return known


def _with_configuration(known: Known, found: Configured | str) -> Known:
    """``known`` with the facts in the served configuration. Expressions are left out: a client cannot publish to
    one."""
    if isinstance(found, str):
        return known
    states = {one.is_enabled for one in found.client_transports}
    topics = [
        TopicLayout(name=one.name, message_type=one.message_type, keys=one.keys)
        for one in found.sow
        if one.pattern is None and not _is_expression(one.name)
    ]
    topics += [
        TopicLayout(name=one.name, message_type=one.message_type)
        for one in (found.log.topics if found.log else ())
        if not _is_expression(one.name) and one.name not in {topic.name for topic in topics}
    ]
    queues = [
        QueueLayout(
            name=one.name,
            message_type=one.message_type,
            kind="LocalQueue" if one.kind == "LocalQueue" else "Queue",
            underlying="" if _is_expression(one.underlying) else one.underlying,
        )
        for one in found.queues
    ]
    names = {one.name for one in queues}
    return replace(
        known,
        starts_open=states.pop() if len(states) == 1 else None,
        topics=tuple(one for one in topics if one.name not in names) or None,
        queues=tuple(queues),
    )


def _oddities(service: str, answers: Answers) -> Iterator[str]:
    links = _of(answers, "links", service, Links)
    queues = _of(answers, "queues", service, Queues)
    if links is not None and links.connected is False:
        yield f"the link of {service} is connected in the copy, but not at the site"
    if links is not None and links.downgraded:
        yield f"the link of {service} is downgraded at the site, but not in the copy"
    if queues is not None and queues.unproxied is False:
        yield f"proxied transfer of {service} is on at the site, but off in the copy"


def _is_expression(name: str) -> bool:
    return has_metacharacters(name) and not is_dotted_name(name)


def _of(answers: Answers, reading: str, service: str, kind: type[Read]) -> Read | None:
    found = answers[reading].get(service)
    return found if isinstance(found, kind) else None
