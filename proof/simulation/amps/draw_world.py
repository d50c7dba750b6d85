"""Draws an AMPS pair: one or two services, each with an instance at both sites, and their clients. Most are small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from proof.simulation.story import Kind
from simulator.amps.layout import (
    BootstrapLayout,
    ConsumerLayout,
    DestinationLayout,
    DowngradeLayout,
    FabricLayout,
    InstanceLayout,
    PublisherLayout,
    QueueLayout,
    SubscriberLayout,
    TopicLayout,
    TransportLayout,
)

SITES = ("ny", "ldn")
_SERVICES = ("orders", "trades")
# In an async pair only one instance may let clients in. Its mate starts with its client transports disabled.
_ASYNC: frozenset[Kind] = frozenset({"amps/controlled-async", "amps/uncontrolled-async", "amps/failback-async"})
_EITHER: frozenset[Kind] = frozenset(
    {"amps/restore", "amps/restore-bootstrap", "amps/proxied-transfer", "amps/guard"}
)

# The actions of instances by themselves: they remove journals that no returning instance can need any more. They
# downgrade a link that is behind, and upgrade it again.
_ACTIONS: Mapping[str, Any] = {
    "retention": 3_600.0,
    "downgrade": DowngradeLayout(age=1.5, upgrade_age=1.0, every=0.5),
}


def instance_of(service: str, site: str) -> str:
    """The name of a service's instance at a site."""
    return f"{service}-{site}"


def draw_fabric(chance: Random, kind: Kind, source: str) -> FabricLayout:
    """The fabric before anything happens."""
    services = _SERVICES[: chance.choices((1, 2), (85, 15))[0]]
    is_async = chance.random() < 0.4 if kind in _EITHER else (kind in _ASYNC) is (chance.random() < 0.97)
    shared: dict[str, Any] = {
        "interval": chance.choice((1.0, 1.0, 2.0)),
        "journal_messages": chance.choice((200, 1_000)),
        **chance.choice(({}, {}, _ACTIONS)),
        "recovery": chance.choice((0.2, 1.0, 3.0)),
    }
    instances = [
        InstanceLayout(
            name=instance_of(service, site),
            site=site,
            group=service,
            topics=(TopicLayout(name=service, keys=("/id",)), TopicLayout(name=f"{service}-jobs")),
            queues=(QueueLayout(name=f"{service}-queue", underlying=f"{service}-jobs"),),
            transports=_transports(
                chance, lets_in=_lets_in(chance, kind, is_source=site == source, sync=not is_async)
            ),
            destinations=(
                DestinationLayout(name=_mate(service, site), group=service, sync=not is_async, pass_through=".*"),
            ),
            bootstrap=_bootstrap(chance, kind, service, site) if site == source else None,
            **shared,
        )
        for service in services
        for site in SITES
    ]
    return FabricLayout(
        instances=tuple(instances),
        publishers=tuple(one for service in services for one in _publishers(chance, service, source)),
        subscribers=tuple(
            SubscriberLayout(name=f"{service}-book", servers=_servers(chance, service, source), topic=service)
            for service in services
        ),
        consumers=tuple(
            ConsumerLayout(
                name=f"{service}-worker",
                servers=_servers(chance, service, source),
                queue=f"{service}-queue",
                rate=chance.choice((5.0, 200.0)),
            )
            for service in services
            if chance.random() < 0.85
        ),
        latency=chance.choice((0.005, 0.1)),
        admin_latency=chance.choice((0.002, 0.05, 0.3)),
        link_rate=chance.choice((50.0, 2_000.0)),
        ack_interval=chance.choice((0.5, 1.0)),
        tick=0.5,
    )


def _mate(service: str, site: str) -> str:
    return instance_of(service, next(other for other in SITES if other != site))


def _transports(chance: Random, *, lets_in: bool) -> tuple[TransportLayout, ...]:
    """Some instances have two client transports, so that a request may be obeyed in part."""
    names = ("amps-tcp", "amps-websocket") if chance.random() < 0.2 else ("amps-tcp",)
    doors = (TransportLayout(name=name, enabled=lets_in) for name in names)
    return (*doors, TransportLayout(name="amps-replication", type="amps-replication"))


def _lets_in(chance: Random, kind: Kind, *, is_source: bool, sync: bool) -> bool:
    """Are the client transports enabled after a start? Sometimes they are in the wrong state."""
    if kind in ("amps/restore", "amps/restore-bootstrap") and is_source:
        return chance.random() < 0.3
    if is_source or sync:
        return chance.random() < 0.95
    return kind in _EITHER or chance.random() < 0.05


def _bootstrap(chance: Random, kind: Kind, service: str, site: str) -> BootstrapLayout | None:
    if kind != "amps/restore-bootstrap" or chance.random() < 0.1:
        return None
    return BootstrapLayout(servers=(_mate(service, site),), rate=chance.choice((100.0, 2_000.0)))


def _publishers(chance: Random, service: str, source: str) -> list[PublisherLayout]:
    rate = chance.choice((0.0, 5.0, 20.0, 100.0))
    return [
        PublisherLayout(
            name=f"{service}-feed",
            servers=_servers(chance, service, source),
            topic=service,
            rate=rate,
            store=chance.choice((50, 10_000)),
        ),
        PublisherLayout(
            name=f"{service}-jobs-feed",
            servers=_servers(chance, service, source),
            topic=f"{service}-jobs",
            rate=chance.choice((0.0, 10.0)),
        ),
    ]


def _servers(chance: Random, service: str, source: str) -> Sequence[str]:
    """Most clients prefer the source, because the run has to move them."""
    preferred = tuple(sorted(SITES, key=lambda site: site != source))
    order = preferred if chance.random() < 0.9 else preferred[::-1]
    return tuple(instance_of(service, site) for site in order)
