"""Every path that is requested from an AMPS instance, and the lists of the paths that may be sent.

A plain GET starts an administrative action (docs/sources/amps.md, 6.1), so only the path tells a reading from a change.
This module does not connect. A path on neither list is never sent.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import quote

from adapters.http.exchange import Request
from orchestrator.errors import Forbidden

Collection = Literal["transports", "replication", "queues"]
INSTANCE = "/amps/instance"
_SEGMENT = r"[^/?#]+"
# Statistics and the configuration: no path below /amps/instance changes anything (docs/sources/amps.md, 6.1).
_LOOK = re.compile(rf"{INSTANCE}/[a-z_]+\.(?:json|xml)")
# The entitlement check, which only reads. The documentation spells the segment in two ways.
_MAY = re.compile(r"/amps/administrator/authorization/entitlement/transports?/amps-admin/check\.json\?path=[^?#&]+")
_ACT = re.compile(
    r"/amps/administrator/(?:"
    rf"transports/{_SEGMENT}/(?:enable|disable)"
    rf"|replication/{_SEGMENT}/(?:upgrade|downgrade)"
    rf"|queues/{_SEGMENT}/(?:enable|disable)_proxied_transfer)"
)


def look_at(name: str) -> str:
    """``/amps/instance/transports.json``: a node of the statistics, with its children."""
    return f"{INSTANCE}/{name}.json"


CONFIGURATION = f"{INSTANCE}/config.xml"


def act_on(collection: Collection, id_: str, verb: str) -> str:
    """``/amps/administrator/transports/1/disable``. Raises ``Forbidden`` for an id that would lead to another path."""
    return f"/amps/administrator/{collection}/{_segment(id_)}/{verb}"


def may(action: str, segment: str) -> str:
    """The entitlement check for the path of an action; ``segment`` is ``transport`` or ``transports``."""
    path = quote(action, safe="/")
    return f"/amps/administrator/authorization/entitlement/{segment}/amps-admin/check.json?path={path}"


def is_look(target: str) -> bool:
    """Is ``target`` a reading, or the check of a permission?"""
    return bool(_LOOK.fullmatch(target) or _MAY.fullmatch(target))


def is_action(target: str) -> bool:
    """Is ``target`` one of the six changes that a run may make?"""
    return bool(_ACT.fullmatch(target))


def only_reads(request: Request) -> bool:
    """May a read-only session send ``request``?"""
    return request.method == "GET" and request.is_read and is_look(request.target)


def reads_and_acts(request: Request) -> bool:
    """May the session of a run send ``request``? A change is never marked as a reading, because a reading may be
    repeated."""
    return request.method == "GET" and (is_look(request.target) if request.is_read else is_action(request.target))


def _segment(text: str) -> str:
    if not text or set(text) <= {"."} or not text.isprintable():
        raise Forbidden(f"{text!r} is not a valid id")
    return quote(text, safe="")
