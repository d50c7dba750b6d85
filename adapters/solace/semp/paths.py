"""Puts names into URLs. Each part is percent-encoded by itself, and each separator is literal.

docs/sources/solace.md, 1.1: an unescaped ``#`` becomes a fragment, and the request hits the whole collection with a
200. An encoded comma in ``select`` is refused. So this is the only module that builds targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, unquote_to_bytes

Api = Literal["config", "monitor", "action"]
Part = str | tuple[str, ...]  # a name, or the names of a compound key

BASE = "/SEMP/v2/"
V1 = "/SEMP"
REPLICATION_QUEUE = "#MSGVPN_REPLICATION_DATA_QUEUE"
PAGE = 100  # the most objects that a page of these collections may have (section 1.1)


def path_of(api: Api, *parts: Part) -> str:
    """``path_of("monitor", "msgVpns", "a#b")`` is ``/SEMP/v2/monitor/msgVpns/a%23b``; no part: the broker."""
    return f"{BASE}{api}/" + "/".join(_encoded(part) for part in parts)


def is_same_path(one: str, other: str) -> bool:
    """Do both paths name the same object, regardless of escaping? An escaped separator is part of a name."""
    return _names(one) == _names(other)


def _names(path: str) -> list[list[bytes]]:
    return [[unquote_to_bytes(name) for name in part.split(",")] for part in path.split("/")]


def query_of(*, select: Sequence[str] = (), count: int | None = None, where: str | None = None) -> str:
    """``?select=a,b.c&count=100``; attribute names come from this program, and only the sign in ``where`` needs
    encoding."""
    words = [f"select={','.join(select)}"] if select else []
    if where is not None:
        words.append(f"where={quote(where, safe='')}")
    if count is not None:
        words.append(f"count={count}")
    return "?" + "&".join(words) if words else ""


def _encoded(part: Part) -> str:
    return ",".join(map(_name, part)) if isinstance(part, tuple) else _name(part)


def _name(name: str) -> str:
    # "." and ".." have a meaning in a path, and a message VPN may have such a name.
    return "%2E" * len(name) if set(name) == {"."} else quote(name, safe="")
