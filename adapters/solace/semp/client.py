"""SEMP requests to one node: reads that may be repeated, and changes that are never repeated.

``SempReader`` has no method that changes anything, and its session refuses every request that is not a reading. So a
read-only session cannot make a change. A success of ``SempWriter`` is never proof; only a reading is
(docs/sources/solace.md, 0).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from adapters.http.exchange import Reply, Request
from adapters.http.xmldoc import MalformedXml, element, parse_xml, written
from adapters.solace.semp.envelope import OK, Envelope, Object, envelope_of, is_invalid_parameter
from adapters.solace.semp.paths import PAGE, V1, is_same_path, path_of, query_of
from adapters.solace.semp.v1 import JSON, XML, reply_root, show_body, succeeded
from orchestrator.errors import AdapterError, UnreadableReply
from orchestrator.family.retry import READ_MAY_RETRY, Retry

if TYPE_CHECKING:
    from adapters.http.session import HttpSession

PAGES_MAX = 10_000
_LOGOUT = Request("PUT", path_of("action", "about", "user", "logout"), b"{}", JSON)


@dataclass(frozen=True, slots=True)
class Item:
    """One object of a collection, with the sizes of its own collections."""

    data: Object
    collections: Object


def only_reads(request: Request) -> bool:
    """Is ``request`` a reading, or the log-out of this session? A read-only session may send only these."""
    if request.method == "GET":
        return True
    if request == _LOGOUT:
        return True
    return request.method == "POST" and request.target == V1 and _is_show(request.body or b"")


def _is_show(body: bytes) -> bool:
    try:
        root = parse_xml(body)
    except MalformedXml:
        return False
    return root.tag == "rpc" and [child.tag for child in root] == ["show"]


class SempReader:
    """Reads of one node. A read is repeated after a broken or late answer, for at most ``within_s`` seconds."""

    def __init__(self, session: HttpSession, retry: Retry, *, within_s: float) -> None:
        self._session = session
        self._retry = retry
        self._within_s = within_s

    @property
    def device(self) -> str:
        return self._session.device

    def one(self, path: str, *, select: Sequence[str] = ()) -> Item:
        """One object. Raises ``NoSuchService``, ``UnreadableReply`` for a collection in its place, …"""
        return self.dated(path, select=select)[0]

    def dated(self, path: str, *, select: Sequence[str] = ()) -> tuple[Item, Reply]:
        """One object, as ``one`` reads it, with the whole reply: its headers contain the node's time."""
        reply, answer = self._get(path, select)
        if isinstance(answer.data, list) or isinstance(answer.collections, list):
            # A "#" that was lost on the way leads to the whole collection, with a 200.
            raise self._unreadable("it is a collection, but the request was for one object", reply)
        return Item(answer.data, answer.collections), reply

    def all(self, path: str, *, select: Sequence[str] = (), where: str | None = None) -> Iterator[Item]:
        """Every object of a collection, page by page: a page may be short, or empty, and still not be the last.

        ``where`` may have no effect: a broker that does not support it lists all objects.
        """
        reply, answer = self._get(path, select, count=PAGE, where=where)
        followed: set[str] = set()
        while True:
            yield from self._items(answer, reply)
            if answer.next_page is None:
                return
            target = self._next_target(answer.next_page, path, reply)
            if target in followed or len(followed) >= PAGES_MAX:
                raise self._unreadable("its pages repeat, or there are too many pages", reply)
            followed.add(target)
            reply, answer = self._read(target)

    def size(self, path: str) -> int | None:
        """How many objects a collection has (``meta.count``); None where the broker does not report."""
        return self._get(path, (), count=1)[1].count

    def show(self, *asked: Element) -> Element:
        """The answer of SEMP v1 to ``<rpc><show>…``: the element ``show`` of the reply. Raises ``AdapterError``."""
        request = Request("POST", V1, show_body(*asked), XML, is_read=True)
        return self._retry.read(
            lambda: reply_root(self._session.exchange(request), self.device),
            within_s=self._within_s,
            on=READ_MAY_RETRY,
        )

    def log_out(self) -> None:
        """Log out, if the node keeps a session for this program; never raises."""
        if not self._session.has_cookie:
            return
        try:
            self._session.exchange(_LOGOUT)
        except AdapterError:
            return  # the session will expire

    def _get(
        self, path: str, select: Sequence[str], *, count: int | None = None, where: str | None = None
    ) -> tuple[Reply, Envelope]:
        """Read ``path``. If the broker is too old for an attribute in ``select``, read again without ``select``."""
        if select:
            reply = self._exchange(path + query_of(select=select, count=count, where=where))
            if not is_invalid_parameter(reply):
                return reply, envelope_of(reply, self.device, is_read=True)
        return self._read(path + query_of(count=count))

    def _read(self, target: str) -> tuple[Reply, Envelope]:
        reply = self._exchange(target)
        return reply, envelope_of(reply, self.device, is_read=True)

    def _exchange(self, target: str) -> Reply:
        """The answer to a GET. The request is repeated while there is no answer, or while the node is busy."""

        def attempt() -> Reply:
            reply = self._session.exchange(Request("GET", target, is_read=True))
            if reply.status != OK and not is_invalid_parameter(reply):
                envelope_of(reply, self.device, is_read=True)
            return reply

        return self._retry.read(attempt, within_s=self._within_s, on=READ_MAY_RETRY)

    def _items(self, answer: Envelope, reply: Reply) -> Iterator[Item]:
        data, sizes = answer.data, answer.collections
        if not isinstance(data, list):
            raise self._unreadable("it is one object, but the request was for a collection", reply)
        if isinstance(sizes, list) and len(sizes) == len(data):
            yield from map(Item, data, sizes)
        else:
            yield from (Item(one, {}) for one in data)

    def _next_target(self, uri: str, path: str, reply: Reply) -> str:
        """Path and query of the next page. Only the query of its URI is used, so the password goes to the intended
        device and the request to the intended collection."""
        elsewhere = self._unreadable(f"its next page belongs to another request: {uri[:200]}", reply)
        try:
            parts = urlsplit(uri)
        except ValueError as error:
            raise elsewhere from error
        if not is_same_path(parts.path, path) or not parts.query or not uri.isascii() or not uri.isprintable():
            raise elsewhere
        return f"{path}?{parts.query}"

    def _unreadable(self, why: str, reply: Reply) -> UnreadableReply:
        return UnreadableReply(
            f"the answer of {self.device} cannot be read: {why}", text=reply.text[:4000], device=self.device
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A request that changes something."""

    method: str
    path: str
    body: Mapping[str, object]

    @property
    def line(self) -> str:
        """``PATCH /SEMP/v2/config/msgVpns/V {"replicationRole":"standby"}``."""
        return f"{self.method} {self.path} {self._json}"

    @property
    def request(self) -> Request:
        return Request(self.method, self.path, self._json.encode(), JSON)

    @property
    def _json(self) -> str:
        return json.dumps(self.body, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ChangeV1:
    """A request of SEMP v1 that changes something: the content of ``<rpc>``."""

    inside: Element

    @property
    def line(self) -> str:
        """``POST /SEMP <rpc>…</rpc>``."""
        return f"POST {V1} {self._body.decode()}"

    @property
    def request(self) -> Request:
        return Request("POST", V1, self._body, XML)

    @property
    def _body(self) -> bytes:
        return written(element("rpc", self.inside))


class SempWriter(SempReader):
    """Reads and changes of one node."""

    def change(self, change: Change | ChangeV1) -> None:
        """Send ``change`` once. Raises ``AdapterError``. A return says only that the node accepted the change."""
        reply = self._session.exchange(change.request)
        if isinstance(change, ChangeV1):
            succeeded(reply, self.device, is_read=False)
        else:
            envelope_of(reply, self.device, is_read=False)
