"""GET of SEMP v2: finds the objects of a target and builds the envelope. Nothing here changes an appliance.

The paths come from docs/sources/solace.md, 1.2 and 1.4 to 1.10. Any other path is refused as not found. It is never
answered with a similar object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.lab.cli.plans import Level
from simulator.lab.semp.objects import SEMP_VERSION, Objects, Thing, constant, consumer_messages
from simulator.lab.semp.query import (
    Selection,
    Target,
    condition_of,
    cursor_at,
    invalid,
    not_found,
    page_of,
    selection_of,
)
from simulator.solace.appliance import Appliance

Body = dict[str, Any]

# The attributes of the configuration API. They are a subset of those of the monitoring API.
CONFIG_OF_VPN = (
    "msgVpnName",
    "enabled",
    "replicationEnabled",
    "replicationRole",
    "replicationRejectMsgWhenSyncIneligibleEnabled",
    "replicationTransactionMode",
    "replicationQueueMaxMsgSpoolUsage",
    "replicationQueueRejectMsgToSenderOnDiscardEnabled",
)
CONFIG_OF_BROKER = (
    "serviceMsgBackboneEnabled",
    "configSyncEnabled",
    "guaranteedMsgingEnabled",
    "guaranteedMsgingTransactionReplicationCompatibilityMode",
)
# The collections below a message VPN, with the attributes that identify an object.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "queues": ("queueName",),
    "topicEndpoints": ("topicEndpointName",),
    "clients": ("clientName",),
    "transactions": ("xid",),
    "bridges": ("bridgeName", "bridgeVirtualRouter"),
}
_KINDS = {"queues": "queue", "topicEndpoints": "topic-endpoint"}
# Collections whose pages have their size in meta.count.
_COUNTED = frozenset({"msgs", "transactions", "clients", "txFlows"})
_EMPTY: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # The known attributes, also for an empty collection: a valid selection must not depend on the existing objects.
    "clients": (("msgVpnName", "clientName", "clientUsername"), ()),
    "queues": (("msgVpnName", "queueName", "durable", "msgSpoolUsage", "lowestMsgId"), ("msgs",)),
    "topicEndpoints": (("msgVpnName", "topicEndpointName", "durable", "msgSpoolUsage", "lowestMsgId"), ("msgs",)),
    "msgs": (
        (
            *("msgVpnName", "msgId", "spooledTime", "replicationState", "replicationGroupMsgId", "undelivered"),
            *("contentSize", "attachmentSize", "redeliveryCount", "expiryTime", "dmqEligible", "priority"),
        ),
        (),
    ),
    "transactions": (
        ("msgVpnName", "xid", "type", "state", "replicated", "timeInState", "clientName", "clientUsername"),
        ("consumerMsgs", "publisherMsgs"),
    ),
    "bridges": (("msgVpnName", "bridgeName", "bridgeVirtualRouter", "enabled", "inboundState", "boundToQueue"), ()),
}


class Reads:
    """The answers of one appliance to GET. ``origin`` is ``https://host:port``, for links and further pages."""

    def __init__(self, appliance: Appliance, *, user: str, level: Level, origin: str, has_session: bool) -> None:
        self._appliance = appliance
        self._objects = Objects(appliance)
        self._user = user
        self._level = level
        self._origin = origin
        self._has_session = has_session

    def answer(self, target: Target) -> Body:
        """The envelope, without the request's part of ``meta``. Raises ``Problem``, ``Refused``."""
        found, collection = self._look(target)
        if collection is None:
            return self._one(target, found[0])
        return self._many(target, found, collection)

    def _look(self, target: Target) -> tuple[list[Thing], str | None]:
        """The objects, and the name of the collection if the target is a collection."""
        is_config = target.api == "config"
        match target.parts:
            case ():
                return [_only(self._objects.broker(), CONFIG_OF_BROKER, is_config)], None
            case (("about",), (what,), *more):
                return self._about(target, what, more)
            case (("msgVpns",),):
                return [_only(vpn, CONFIG_OF_VPN, is_config) for vpn in self._objects.vpns()], "msgVpns"
            case (("msgVpns",), (vpn,)):
                return [_only(self._objects.vpn(vpn), CONFIG_OF_VPN, is_config)], None
            case (("msgVpns",), (vpn,), (collection,), *more) if target.api == "monitor":
                self._appliance.replication(vpn)  # raises the appliance's own error for an unknown name
                return self._below(target, vpn, collection, more)
            case _:
                raise not_found(f"Unknown path {target.path}")

    def _below(
        self, target: Target, vpn: str, collection: str, more: Sequence[tuple[str, ...]]
    ) -> tuple[list[Thing], str | None]:
        keys = _KEYS.get(collection)
        if keys is None:
            raise not_found(f"Unknown path {target.path}")
        match more:
            case []:
                return self._listed(vpn, collection), collection
            case [names] if len(names) == len(keys):
                return [_named(self._listed(vpn, collection), target, dict(zip(keys, names, strict=True)))], None
            case [(name,), ("msgs",)] if collection in _KINDS:
                return self._objects.messages(vpn, _KINDS[collection], name)[0], "msgs"
            case [(name,), ("msgs",), (number,)] if collection in _KINDS and number.isdecimal():
                messages = self._objects.messages(vpn, _KINDS[collection], name)[0]
                return [_named(messages, target, {"msgId": int(number)})], None
            case [(xid,), ("consumerMsgs",)] if collection == "transactions":
                views = [one for one in self._appliance.transactions(vpn) if one.xid == xid]
                return [message for view in views for message in consumer_messages(view)], "consumerMsgs"
            case _:
                raise not_found(f"Unknown path {target.path}")

    def _listed(self, vpn: str, collection: str) -> list[Thing]:
        lists = {
            "queues": self._objects.queues,
            "topicEndpoints": self._objects.topic_endpoints,
            "clients": self._objects.clients,
            "transactions": self._objects.transactions,
            "bridges": self._objects.bridges,
        }
        return lists[collection](vpn)

    def _about(self, target: Target, what: str, more: Sequence[tuple[str, ...]]) -> tuple[list[Thing], str | None]:
        match what, more:
            case "api", []:
                return [Thing({"platform": constant("Appliance"), "sempVersion": constant(SEMP_VERSION)})], None
            case "user", []:
                return [
                    Thing(
                        {
                            "username": constant(self._user),
                            "globalAccessLevel": constant(self._level),
                            "sessionActive": constant(self._has_session),
                        }
                    )
                ], None
            case "user", [("msgVpns",)]:
                return [self._own_level(name) for name in sorted(self._appliance.vpn_names())], "about"
            case "user", [("msgVpns",), (vpn,)]:
                self._appliance.replication(vpn)
                return [self._own_level(vpn)], None
            case _:
                raise not_found(f"Unknown path {target.path}")

    def _own_level(self, vpn: str) -> Thing:
        level = "read-write" if self._level == "admin" else "read-only"
        return Thing({"msgVpnName": constant(vpn), "accessLevel": constant(level)})

    def _one(self, target: Target, thing: Thing) -> Body:
        for name in ("where", "count", "cursor"):
            if name in target.query:
                raise invalid(f"'{name}' is not a valid query parameter here")
        selection = selection_of(target.query, list(thing.attributes), list(thing.sizes))
        body: Body = {"data": _data(thing, selection), "links": {"uri": self._origin + target.path}, "meta": {}}
        if target.api == "monitor":
            body["collections"] = _sizes(thing, selection)
        return body

    def _many(self, target: Target, things: Sequence[Thing], collection: str) -> Body:
        attributes, sizes = _known(things, collection)
        selection = selection_of(target.query, attributes, sizes)
        holds, page = condition_of(target.query, attributes), page_of(target.query)
        fitting = [one for one in things if holds(one.attributes)]
        shown = fitting[page.start : page.start + page.count]
        body: Body = {
            "data": [_data(one, selection) for one in shown],
            "links": [{} for _ in shown],
            "meta": {},
        }
        if target.api == "monitor":
            body["collections"] = [_sizes(one, selection) for one in shown]
            if collection in _COUNTED:
                body["meta"]["count"] = self._size(target, collection, len(fitting))
        if page.start + page.count < len(fitting):
            cursor = cursor_at(page.start + page.count)
            rest = [f"{name}={value}" for name, value in target.query.items() if name != "cursor"]
            uri = f"{self._origin}{target.path}?{'&'.join([f'cursor={cursor}', *rest])}"
            body["meta"]["paging"] = {"cursorQuery": cursor, "nextPageUri": uri}
        return body

    def _size(self, target: Target, collection: str, listed: int) -> int:
        if collection != "msgs" or "where" in target.query:
            return listed
        vpn, kind, name = target.parts[1][0], _KINDS[target.parts[2][0]], target.parts[3][0]
        return self._objects.messages(vpn, kind, name)[1]


def _named(things: Sequence[Thing], target: Target, keys: Mapping[str, object]) -> Thing:
    for thing in things:
        if all(thing.attributes[name]() == value for name, value in keys.items()):
            return thing
    raise not_found(f"Could not find match for {target.path}")


def _only(thing: Thing, names: Sequence[str], is_wanted: bool) -> Thing:
    if not is_wanted:
        return thing
    return Thing({name: look for name, look in thing.attributes.items() if name in names})


def _known(things: Sequence[Thing], collection: str) -> tuple[list[str], list[str]]:
    attributes, sizes = _EMPTY.get(collection, ((), ()))
    seen = dict.fromkeys(attributes) | {name: None for thing in things for name in thing.attributes}
    counted = dict.fromkeys(sizes) | {name: None for thing in things for name in thing.sizes}
    return list(seen), list(counted)


def _data(thing: Thing, selection: Selection) -> Body:
    """The selected attributes that have a value. An attribute that does not apply is left out, not false."""
    wanted = {name: look() for name, look in thing.attributes.items() if selection.wants(name)}
    return {name: value for name, value in wanted.items() if value is not None}


def _sizes(thing: Thing, selection: Selection) -> Body:
    wanted = {name: look() for name, look in thing.sizes.items() if selection.wants(f"{name}.count")}
    return {name: {"count": value} for name, value in wanted.items() if value is not None}
