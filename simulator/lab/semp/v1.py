"""SEMP v1 of a simulated broker: requests by their exact shape, replies in the layout of docs/sources/solace.md, 2.

The shape of a request is its elements in the order of the schema. Any other order or element is a parse error, with
HTTP 200 like every reply. Nothing is guessed: a ``show`` is supported only if a source has its reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from adapters.http.xmldoc import MalformedXml, element, nested, parse_xml, written
from simulator.lab.cli.commands import Fenceable, Interfaced, Suspendable
from simulator.lab.cli.plans import Level
from simulator.lab.edition import Edition
from simulator.lab.semp.objects import REPLICATION_QUEUE
from simulator.solace.appliance import Appliance, Described, Holding, NoSuchObject, RedundancyView, Refused

_SCHEMA_ERROR = "invalid message: schema validation error"
_FAILED = "1"  # assumption: the reason codes are not recorded


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with a known shape. ``is_change``: the request changes the node."""

    shape: str
    texts: Mapping[str, str]

    @property
    def is_change(self) -> bool:
        return not self.shape.startswith("show(")


def asked_of(body: bytes) -> Asked | None:
    """The request in ``body``, or None if the schema does not have its shape."""
    try:
        root = parse_xml(body)
    except MalformedXml:
        return None
    if root.tag != "rpc" or len(root) != 1 or set(root.attrib) - {"semp-version"}:
        return None
    texts: dict[str, str] = {}
    shape = _shape(root[0], texts)
    return Asked(shape, texts) if shape in _HANDLERS else None


def reply_to(asked: Asked | None, appliance: Appliance, edition: Edition, level: Level) -> bytes:
    """The whole reply. Call it only while the appliance is held."""
    if asked is None:
        return _reply(edition, element("parse-error", _SCHEMA_ERROR))
    if asked.is_change and level != "admin":
        return _reply(edition, element("permission-error", "insufficient access level"))
    try:
        shown = _HANDLERS[asked.shape](appliance, asked.texts, edition)
    except Refused as error:
        return _reply(edition, element("execute-result", code="fail", reason=str(error), reasonCode=_FAILED))
    ok = element("execute-result", code="ok")
    inside = [] if shown is None else [element("rpc", element("show", shown))]
    return _reply(edition, *inside, ok)


def _reply(edition: Edition, *inside: Element) -> bytes:
    version = f"soltr/{edition.version.replace('.', '_')}"
    root = element("rpc-reply", *inside)
    root.set("semp-version", version)
    return written(root)


def _shape(one: Element, texts: dict[str, str]) -> str:
    """The shape of an element, such as ``show(queue(name= vpn-name= detail))``. The texts are stored in ``texts`` by
    tag."""
    if len(one):
        return f"{one.tag}({' '.join(_shape(child, texts) for child in one)})"
    if one.text and one.text.strip():
        texts[one.tag] = one.text.strip()
        return one.tag + "="
    return one.tag


# Reads


def _redundancy(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    view = appliance.redundancy()
    link = "true" if view.mate_link_up else "false"
    return element(
        "redundancy",
        element("config-status", view.config_status),
        element("redundancy-status", "Up" if view.up else "Down"),
        element("operating-mode", "Message Routing Node"),
        element("auto-revert", "false"),
        element("redundancy-mode", "Active/Standby" if view.configured else "N/A"),
        element("active-standby-role", view.role),
        element("mate-router-name", view.mate_router_name),
        element("oper-status", element("adb-link-up", link), element("adb-hello-up", link)),
        element("virtual-routers", *(_router(view, name) for name in ("Primary", "Backup"))),
    )


def _router(view: RedundancyView, name: str) -> Element:
    # A node has one of the two virtual routers. For the other it only shows "Shutdown" (the samples).
    activity = view.activity if view.role == name else "Shutdown"
    return nested([name.lower(), "status", "activity"], activity)


def _message_spool(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    view = appliance.redundancy()
    is_disabled = view.spool == "AD-Disabled"
    return nested(
        ["message-spool", "message-spool-info"],
        element("config-status", "Disabled" if is_disabled else f"Enabled ({view.role})"),
        element("operational-status", view.spool),
        element("datapath-up", "true" if view.spool == "AD-Active" else "false"),
    )


def _replication(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    mate = appliance.platform().mate_router if isinstance(appliance, Described) else ""
    return element("replication", element("mate", element("router-name", mate)))


def _interface(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    """``show interface``. The list is empty for an unknown interface."""
    name = texts["phy-interface"]
    known = appliance.interfaces() if isinstance(appliance, Interfaced) else {}
    if name not in known:
        return element("interface", element("interfaces"))
    # Assumption: the word for "enabled". The schema only says that it is a word.
    state = (
        element("enabled", "Yes" if known[name] else "No"),
        element("oper-status", "Up" if known[name] else "Down"),
    )
    return element("interface", element("interfaces", element("interface", element("phy-interface", name), *state)))


def _version(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    description = f"Solace PubSub+ {edition.product} Version {edition.version} (SIMULATED)"
    return element("version", element("description", description))


def _queue(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    """``show queue … detail`` of the replication queue. An unknown queue gives an empty list with code ok (2.4)."""
    name, vpn = texts["name"], texts["vpn-name"]
    if name != REPLICATION_QUEUE:
        return element("queue", element("queues"))
    try:
        view = appliance.replication_queue(vpn)
    except NoSuchObject:
        return element("queue", element("queues"))
    info = element(
        "info",
        element("message-vpn", vpn),
        element("durable", "true"),
        element("quota", str(view.quota_mb)),
        element("num-messages-spooled", str(view.messages)),
        element("current-spool-usage-in-mb", f"{view.usage_mb:.4f}"),
        element("high-water-mark-in-mb", f"{view.high_water_mb:.4f}"),
        element("reject-msg-to-sender-on-discard", "Yes" if view.reject_on_discard else "No"),
    )
    return element("queue", element("queues", element("queue", element("name", name), info)))


def _oldest(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> Element:
    name, vpn = texts["name"], texts["vpn-name"]
    views = appliance.endpoints(vpn) if isinstance(appliance, Holding) else ()
    found = next((one for one in views if one.kind == "queue" and one.name == name), None)
    if found is None:
        return element("queue", element("queues"))
    messages = []
    if found.oldest_id is not None and found.oldest_at is not None:
        messages = [
            element(
                "spooled-message",
                element("message-id", str(found.oldest_id)),
                element("date-seconds", str(int(found.oldest_at))),
                element("replicated", "yes"),
            )
        ]
    return element(
        "queue",
        element("queues", element("queue", element("name", name), element("spooled-messages", *messages))),
    )


# Changes


def _role(role: str) -> Handler:
    def change(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> None:
        appliance.set_role(texts["vpn-name"], "active" if role == "active" else "standby")

    return change


def _reject(enabled: bool) -> Handler:
    def change(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> None:
        if not isinstance(appliance, Suspendable):
            raise Refused("this simulated appliance cannot change reject-msg-to-sender-on-discard")
        appliance.set_reject_on_discard(texts["vpn-name"], enabled=enabled)

    return change


def _backbone(up: bool) -> Handler:
    def change(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> None:
        if not isinstance(appliance, Fenceable):
            raise Refused("this simulated appliance cannot change service msg-backbone")
        appliance.set_msg_backbone(up=up)

    return change


def _set_interface(up: bool) -> Handler:
    def change(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> None:
        if not isinstance(appliance, Interfaced):
            raise Refused("this simulated appliance has no interfaces")
        appliance.set_interface(texts["phy-interface"], up=up)

    return change


def _transaction(verb: str) -> Handler:
    def change(appliance: Appliance, texts: Mapping[str, str], edition: Edition) -> None:
        vpn, xid = texts["vpn-name"], texts["xid"]
        if verb == "delete":
            appliance.delete_transaction(vpn, xid)
        else:
            appliance.complete_transaction(vpn, xid, "commit" if verb == "commit" else "rollback")

    return change


Handler = Callable[[Appliance, Mapping[str, str], Edition], Element | None]

_VPN = "message-vpn(vpn-name= replication({}))"
_HANDLERS: Mapping[str, Handler] = {
    "show(redundancy)": _redundancy,
    "show(redundancy(detail))": _redundancy,
    "show(message-spool)": _message_spool,
    "show(message-spool(detail))": _message_spool,
    "show(replication)": _replication,
    "show(version)": _version,
    "show(interface(phy-interface=))": _interface,
    "show(queue(name= vpn-name= detail))": _queue,
    "show(queue(name= vpn-name= messages oldest detail count num-elements=))": _oldest,
    _VPN.format("state(active)"): _role("active"),
    _VPN.format("state(standby)"): _role("standby"),
    _VPN.format("queue(reject-msg-to-sender-on-discard)"): _reject(True),
    _VPN.format("queue(no(reject-msg-to-sender-on-discard))"): _reject(False),
    "service(msg-backbone(shutdown))": _backbone(False),
    "service(msg-backbone(no(shutdown)))": _backbone(True),
    "interface(phy-interface= shutdown)": _set_interface(False),
    "interface(phy-interface= no(shutdown))": _set_interface(True),
    **{
        f"admin(message-spool(vpn-name= {verb}-transaction(xid=)))": _transaction(verb)
        for verb in ("commit", "rollback", "delete")
    },
}
