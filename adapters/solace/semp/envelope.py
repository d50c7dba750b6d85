"""Reads the envelope of a SEMP v2 reply, or raises the error for it. Errors are distinguished by code, never by text.

docs/sources/solace.md, 1.1 and 1.3. This module sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.http.exchange import Reply
from adapters.http.redirects import AS_IT_IS, ELSEWHERE, not_carried_out, target_of
from orchestrator.characters import printable
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    NoSuchService,
    Unreachable,
    UnreadableReply,
)

NOT_FOUND, INVALID_PARAMETER, UNAUTHORIZED, NOT_ALLOWED, TIME_OUT = 6, 11, 72, 89, 229
OK, _NO_SESSION = 200, 529
_BUSY = frozenset({429, 503})
_LEVEL_HINT = "the account's level is too low: roles need global mesh-manager (read-write before 10.26) or above"
_TEXT_MAX = 4000
_COUNT_END = 2**63  # no counter of a broker is longer than 64 bits
_MOMENT_END = 10**11  # seconds since the epoch, in the year 5138: no clock that is set shows such a time

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Envelope:
    """A reply that succeeded. ``data`` and ``collections`` are one object, or parallel lists of them.

    ``count`` is the size of the collection if the broker reports it, ``next_page`` the whole URI of the next page.
    """

    data: Object | list[Object]
    collections: Object | list[Object] = field(default_factory=dict)
    count: int | None = None
    next_page: str | None = None


def is_invalid_parameter(reply: Reply) -> bool:
    """Does the broker not know an attribute or value of the request?"""
    meta = (_json(reply) or {}).get("meta")
    error = meta.get("error") if isinstance(meta, dict) else None
    return isinstance(error, dict) and error.get("code") == INVALID_PARAMETER


def envelope_of(reply: Reply, device: str, *, is_read: bool) -> Envelope:
    """The envelope in ``reply``. Raises the ``AdapterError`` of ``refusal_of``, or ``UnreadableReply`` for other
    answers.

    ``NoSuchService`` is raised for every object that is not there: the caller knows which one it asked for.
    """
    body = _json(reply)
    meta = body.get("meta") if body is not None else None
    if body is None or not isinstance(meta, dict):
        raise _without_envelope(reply, device, is_read=is_read)
    if reply.status != OK or "error" in meta:
        raise refusal_of(reply, meta, device, is_read=is_read)
    if meta.get("responseCode") != OK:
        raise unreadable("its response code differs from its HTTP status", reply, device)
    data, collections = body.get("data", {}), body.get("collections", {})
    if not (_is_plain(data) and _is_plain(collections)):
        raise unreadable("its data is neither an object nor a list of objects", reply, device)
    paging = meta.get("paging")
    next_page = paging.get("nextPageUri") if isinstance(paging, dict) else None
    if paging is not None and not isinstance(next_page, str):
        raise unreadable("it has more pages, but no address of the next page", reply, device)
    return Envelope(data, collections, count_in(meta, "count"), next_page)


def refusal_of(reply: Reply, meta: Object, device: str, *, is_read: bool) -> AdapterError:
    """The error for an answer that refuses the request, or that reports a failure inside the broker."""
    error = meta.get("error")
    error = error if isinstance(error, dict) else {}
    code, text = error.get("code"), printable(str(error.get("description", "")))
    said = f"{device} refused: {text or 'no reason given'} ({error.get('status', '?')}, code {code})"
    if reply.status == 401:
        return _not_accepted(device)
    if reply.status == _NO_SESSION:
        return _no_session(device)
    if code == UNAUTHORIZED or reply.status == 403:
        return CommandRejected(said, device=device, hint=_LEVEL_HINT)
    if code == NOT_FOUND:
        return NoSuchService(said, device=device)
    if code == TIME_OUT:
        # The broker gave up on the request. It does not say whether a change had started by then.
        return CommandTimedOut(f"{device} did not finish in time: {text}", device=device)
    if reply.status in _BUSY and code != NOT_ALLOWED and is_read:
        return Unreachable(f"{device} is busy: {text or reply.status}", device=device)
    if reply.status >= 500 and reply.status not in _BUSY and not is_read:
        return unreadable(f"it reports an internal error ({reply.status}: {text})", reply, device)
    hint = "this is normal after an HA event, while configurations are reconciled" if reply.status in _BUSY else ""
    return CommandRejected(said, device=device, hint=hint)


def status_refusal(reply: Reply, device: str, *, is_read: bool) -> AdapterError:
    """The error for an answer with a status but without SEMP content."""
    if reply.status == 401:
        return _not_accepted(device)
    if reply.status == 403:
        return CommandRejected(f"{device} forbids the request (403)", device=device, hint=_LEVEL_HINT)
    if reply.status == _NO_SESSION:
        return _no_session(device)
    moved = None if is_read else not_carried_out(reply, device, AS_IT_IS)
    if moved is not None:
        return moved
    if reply.status in ELSEWHERE:
        return unreadable(f"it redirects to {target_of(reply)} ({reply.status})", reply, device)
    if reply.status in _BUSY | {502, 504} and is_read:
        return Unreachable(f"{device} is busy ({reply.status})", device=device)
    return unreadable(f"it has the status {reply.status} and no SEMP content", reply, device)


def unreadable(why: str, reply: Reply, device: str) -> UnreadableReply:
    """The error for an answer that no rule covers, with its text."""
    return UnreadableReply(
        f"the answer of {device} cannot be read: {why}", text=reply.text[:_TEXT_MAX], device=device
    )


def text_in(data: Object, name: str) -> str | None:
    """The text of an attribute; None when it is not reported: absent is not empty."""
    value = data.get(name)
    return value if isinstance(value, str) and value else None


def flag_in(data: Object, name: str) -> bool | None:
    """True, False, or None when it is not reported: absent is not false (docs/sources/solace.md, 0.4)."""
    value = data.get(name)
    return value if isinstance(value, bool) else None


def count_in(data: Object, name: str) -> int | None:
    """A number from 0; None when it is not reported. A flag is not a number, and a number that no counter can hold
    counts as not reported."""
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _COUNT_END else None


def moment_in(data: Object, name: str) -> float | None:
    """A moment, seconds since the epoch; None when it is not reported, or lies beyond every clock."""
    return moment_of(count_in(data, name))


def moment_of(seconds: int | None) -> float | None:
    """``seconds`` since the epoch as a moment; None when they are not reported, or lie beyond every clock."""
    return float(seconds) if seconds is not None and seconds < _MOMENT_END else None


def size_of(collections: Object, name: str) -> int | None:
    """``collections.<name>.count``: how many there are now."""
    collection = collections.get(name)
    return count_in(collection, "count") if isinstance(collection, dict) else None


def _json(reply: Reply) -> dict[str, Any] | None:
    try:
        body = json.loads(reply.body)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _is_plain(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and all(isinstance(one, dict) for one in value))


def _without_envelope(reply: Reply, device: str, *, is_read: bool) -> AdapterError:
    if reply.status == OK:
        return unreadable("it is not a SEMP v2 envelope", reply, device)
    moved = None if is_read else not_carried_out(reply, device, ELSEWHERE)  # a change is a PATCH or a PUT
    return moved or status_refusal(reply, device, is_read=is_read)


def _not_accepted(device: str) -> AuthenticationFailed:
    return AuthenticationFailed(
        f"{device} does not accept the account",
        device=device,
        hint="check the site's login or token; the program does not repeat a refused login",
    )


def _no_session(device: str) -> Unreachable:
    return Unreachable(
        f"{device} has no free SEMP session", device=device, hint="end unused sessions, or use a token"
    )
