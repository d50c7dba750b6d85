"""PATCH and PUT of SEMP v2: the possible changes of a simulated broker, and its refusals.

docs/sources/solace.md, 1.1, 1.4, 1.5 and 1.8. The whole request is checked before any change.
A change that only a real broker supports is refused, never silently accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from simulator.lab.cli.commands import Fenceable, Suspendable
from simulator.lab.semp.query import Problem, Target, invalid, not_allowed, not_found, unparsed
from simulator.lab.semp.reads import CONFIG_OF_BROKER, CONFIG_OF_VPN
from simulator.solace.appliance import Appliance, Refused

_MISSING = 228
LOGOUT = (("about",), ("user",), ("logout",))


def plan_of(appliance: Appliance, method: str, target: Target, body: bytes) -> Callable[[], None]:
    """A function that runs the change of the request. Raises ``Problem`` for an invalid or unsupported request."""
    if method == "DELETE":
        if body:
            raise unparsed("DELETE takes no body")
        raise not_allowed("the simulated broker deletes nothing")
    attributes = _object(body)
    match method, target.api:
        case "PATCH", "config":
            return _patch(appliance, target, attributes)
        case "PUT", "action":
            return _action(appliance, target, attributes)
        case "PUT" | "POST", "config":
            raise not_allowed(f"the simulated broker takes no {method} of configuration")
        case _:
            raise not_found(f"{method} is not offered by {target.path}")


def _object(body: bytes) -> Mapping[str, Any]:
    if not body:
        raise Problem(400, _MISSING, "MISSING_PARAMETER", "a JSON body is required")  # assumption: the code's name
    try:
        found = json.loads(body)
    except ValueError as error:
        raise unparsed("the body is no JSON") from error
    if not isinstance(found, dict):
        raise unparsed("the body is no JSON object")
    return found


def _patch(appliance: Appliance, target: Target, attributes: Mapping[str, Any]) -> Callable[[], None]:
    if target.query.keys() - {"select"}:
        raise invalid("PATCH takes no such query parameter")
    match target.parts:
        case ():
            return _all_of([_of_broker(appliance, name, value) for name, value in attributes.items()])
        case (("msgVpns",), (vpn,)):
            deeds = [_of_vpn(appliance, vpn, name, value) for name, value in attributes.items()]
            return _all_of([lambda: _known(appliance, vpn), *deeds])
        case _:
            raise not_found(f"Unknown path {target.path}")


def _of_broker(appliance: Appliance, name: str, value: object) -> Callable[[], None]:
    if name == "serviceMsgBackboneEnabled":
        up = _flag(name, value)
        return lambda: _fenceable(appliance).set_msg_backbone(up=up)
    raise _unwritable(name, CONFIG_OF_BROKER)


def _of_vpn(appliance: Appliance, vpn: str, name: str, value: object) -> Callable[[], None]:
    match name, value:
        case "replicationRole", "active":
            return lambda: appliance.set_role(vpn, "active")
        case "replicationRole", "standby":
            return lambda: appliance.set_role(vpn, "standby")
        case "replicationRole", _:
            raise invalid(f"'{value}' is not a valid value of replicationRole")
        case "replicationQueueRejectMsgToSenderOnDiscardEnabled", _:
            enabled = _flag(name, value)
            return lambda: _suspendable(appliance).set_reject_on_discard(vpn, enabled=enabled)
        case _:
            raise _unwritable(name, CONFIG_OF_VPN)


def _action(appliance: Appliance, target: Target, attributes: Mapping[str, Any]) -> Callable[[], None]:
    if attributes:
        raise invalid(f"'{next(iter(attributes))}' not a valid attribute")
    if target.query:
        raise invalid("an action takes no query")
    match target.parts:
        case (("msgVpns",), (vpn,), ("transactions",), (xid,), ("commit" | "rollback" | "delete" as verb,)):
            return lambda: _end(appliance, vpn, xid, verb)
        case _ if target.parts == LOGOUT:
            return lambda: None
        case _:
            raise not_found(f"Unknown path {target.path}")


def _end(appliance: Appliance, vpn: str, xid: str, verb: str) -> None:
    if verb == "delete":
        appliance.delete_transaction(vpn, xid)
    else:
        appliance.complete_transaction(vpn, xid, "commit" if verb == "commit" else "rollback")


def _all_of(deeds: list[Callable[[], None]]) -> Callable[[], None]:
    def run() -> None:
        for deed in deeds:
            deed()

    return run


def _known(appliance: Appliance, vpn: str) -> None:
    if vpn not in appliance.vpn_names():
        appliance.replication(vpn)  # raises the appliance's own error for an unknown name


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"'{name}' takes true or false")
    return value


def _unwritable(name: str, known: tuple[str, ...]) -> Problem:
    if name in known:
        return not_allowed(f"the simulated broker does not change {name}")
    return invalid(f"'{name}' not a valid attribute")


def _fenceable(appliance: Appliance) -> Fenceable:
    if not isinstance(appliance, Fenceable):
        raise Refused("this simulated appliance cannot change its backbone")
    return appliance


def _suspendable(appliance: Appliance) -> Suspendable:
    if not isinstance(appliance, Suspendable):
        raise Refused("this simulated appliance cannot change reject-msg-to-sender-on-discard")
    return appliance
