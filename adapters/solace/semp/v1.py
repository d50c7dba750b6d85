"""SEMP v1: requests as elements in the order of its schema, and replies whose HTTP status 200 proves no success.

Only ``<execute-result code="ok"/>`` is success (docs/sources/solace.md, 2.1). This module reads values that SEMP v2
does not offer: redundancy, message spool, replication mate, oldest messages. Nothing here changes a device.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from adapters.http.exchange import Reply
from adapters.http.xmldoc import MalformedXml, element, nested, parse_xml, text_of, written
from adapters.solace.names import router_name
from adapters.solace.parse_redundancy import Activity, Redundancy, Spool, VirtualRouter
from adapters.solace.semp.envelope import moment_of, status_refusal, unreadable
from orchestrator.characters import printable
from orchestrator.errors import CommandRejected, UnreadableReply

JSON, XML = "application/json", "application/xml"

SHOW_REDUNDANCY = nested(["redundancy"])
SHOW_MESSAGE_SPOOL = nested(["message-spool"])
SHOW_REPLICATION = nested(["replication"])

_CONFIGURED = {"enabled": True, "enabled-released": True, "released": True, "disabled": False, "shutdown": False}
_BOOLEANS = {"true": True, "false": False}
_ENABLED = {"yes": True, "true": True, "enabled": True, "no": False, "false": False, "disabled": False}
_UP = {"up": True, "down": False}
_DIGITS = re.compile(r"\d{1,18}", re.ASCII)


def show_oldest(queue: str, vpn: str) -> Element:
    """The oldest message of a queue. Assumption: its elements have the order of the schema (section 2.2)."""
    return element(
        "queue",
        element("name", queue),
        element("vpn-name", vpn),
        element("messages"),
        element("oldest"),
        element("detail"),
        element("count"),
        element("num-elements", "1"),
    )


def show_interface(interface: str) -> Element:
    """The state of one interface; appliances only (section 2.2)."""
    return element("interface", element("phy-interface", interface))


def set_interface(interface: str, *, up: bool) -> Element:
    """Shut or open an interface; ``no`` goes inside the deepest element (section 2.3)."""
    shutdown = element("shutdown")
    return element("interface", element("phy-interface", interface), element("no", shutdown) if up else shutdown)


def show_body(*asked: Element) -> bytes:
    """``<rpc><show>…</show></rpc>``."""
    return written(element("rpc", element("show", *asked)))


def line_of(*asked: Element) -> str:
    """The request as a plan shows it."""
    return f"POST /SEMP {show_body(*asked).decode()}"


def reply_root(reply: Reply, device: str) -> Element:
    """The element ``show`` of a reply that succeeded. Raises as ``succeeded`` does."""
    show = succeeded(reply, device, is_read=True).find("rpc/show")
    if show is None:
        raise unreadable("it has no element show", reply, device)
    return show


def succeeded(reply: Reply, device: str, *, is_read: bool) -> Element:
    """The root of a reply that says that it succeeded.

    Raises ``CommandRejected`` if the node refuses, ``UnreadableReply`` for any other reply without success.
    """
    if reply.status != 200:
        raise status_refusal(reply, device, is_read=is_read)
    try:
        root = parse_xml(reply.body)
    except MalformedXml as error:
        raise unreadable(str(error), reply, device) from error
    if root.tag != "rpc-reply":
        raise unreadable(f"its root is <{printable(root.tag, 60)}>, so it is not a SEMP v1 reply", reply, device)
    for refusal in ("parse-error", "permission-error", "limit-error"):
        found = root.find(refusal)
        if found is not None:
            why = printable(found.text or "")
            hint = "the account's level is too low" if refusal == "permission-error" else ""
            raise CommandRejected(f"{device} refused: {why or refusal}", device=device, hint=hint)
    result = root.find("execute-result")
    code = result.get("code") if result is not None else None
    if result is not None and code == "fail":
        why = f"{printable(result.get('reason', 'no reason given'))} (reason code {result.get('reasonCode', '?')})"
        raise CommandRejected(f"{device} refused: {why}", device=device)
    if code != "ok":
        raise unreadable("it does not report success", reply, device)
    return root


def redundancy_in(show: Element, device: str) -> Redundancy:
    """``show redundancy`` (section 2.4). Raises ``UnreadableReply``.

    A virtual router with nothing to report has only its activity. Neither virtual router reports a message spool.
    """
    configured = _CONFIGURED.get(_plain(text_of(show, "redundancy/config-status")))
    if configured is None:
        raise _unread("its config-status is missing or not known", show, device)
    links = [
        _BOOLEANS.get(_plain(text_of(show, f"redundancy/oper-status/adb-{name}-up"))) for name in ("link", "hello")
    ]
    primary, backup = (_router(show, name, device) for name in ("primary", "backup"))
    if primary.activity is None and backup.activity is None:
        raise _unread("it has no activity of a virtual router", show, device)
    return Redundancy(
        configured=configured,
        up=_UP.get(_plain(text_of(show, "redundancy/redundancy-status"))),
        link_up=None if None in links else all(links),
        mate_router=router_name(text_of(show, "redundancy/mate-router-name") or "") or None,
        primary=primary,
        backup=backup,
    )


def spool_in(show: Element, device: str) -> Spool:
    """The operational status of ``show message-spool``. Raises ``UnreadableReply``."""
    found = text_of(show, "message-spool/message-spool-info/operational-status")
    spool = _SPOOLS.get(_plain(found))
    if spool is None:
        raise _unread(f"{found!r} is not a known state of a message spool", show, device)
    return spool


def interface_in(show: Element, interface: str) -> bool | None:
    """Does ``interface`` let traffic through? None if it is not reported.

    The reply lists the interface under ``interfaces``, with a word in ``enabled``. Assumption: the word means yes or
    no.
    """
    told = [
        _ENABLED.get(_plain(text_of(found, "enabled")))
        for found in show.findall("interface/interfaces/interface")
        if text_of(found, "phy-interface") == interface
    ]
    return told[0] if len(told) == 1 else None


def mate_in(show: Element) -> str | None:
    """The router name of the replication mate; None if there is no mate, or more than one.

    Appliances and software have different layouts (section 2.4): a router-name below the mate counts.
    """
    names = {
        router_name(found.text or "")
        for mate in ("mate", "mate-list")
        for found in show.findall(f"replication/{mate}//router-name")
    } - {""}
    return names.pop() if len(names) == 1 else None


def oldest_in(show: Element, queue: str) -> float | None:
    """When the oldest message of ``queue`` was spooled, seconds since the epoch; None when it is not reported."""
    times = [
        text_of(message, "date-seconds")
        for found in show.findall("queue/queues/queue")
        if text_of(found, "name") == queue
        for message in found.iter("spooled-message")
    ]
    told = [moment for time in times if (moment := moment_of(_whole(time))) is not None]
    return min(told) if told and len(told) == len(times) else None


def _whole(value: str | None) -> int | None:
    return int(value) if value is not None and _DIGITS.fullmatch(value) else None


def _router(show: Element, name: str, device: str) -> VirtualRouter:
    activity = text_of(show, f"redundancy/virtual-routers/{name}/status/activity")
    if activity is not None and _plain(activity) not in _ACTIVITIES:
        raise _unread(f"{activity!r} is not a known activity of a virtual router", show, device)
    return VirtualRouter(_ACTIVITIES.get(_plain(activity)), None)


def _plain(value: str | None) -> str:
    return (value or "").replace(" ", "").lower()


_ACTIVITIES = {_plain(activity): activity for activity in Activity}
_SPOOLS = {_plain(spool): spool for spool in Spool}


def _unread(why: str, show: Element, device: str) -> UnreadableReply:
    text = written(show).decode("utf-8", "replace")[:4000]
    return UnreadableReply(f"the answer of {device} cannot be read: {why}", text=text, device=device)
