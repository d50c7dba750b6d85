"""Connections to devices by name, in a bounded time, even with a slow resolver or dead addresses.

A name is looked up once for a connection, and the look-up may take no longer than the whole connection. The addresses
share the rest of the time, so that each is tried. A name with four dead addresses takes no longer than one dead device.
This module must never read or send anything.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

from orchestrator.clock import Clock

# As socket.getaddrinfo: each row ends with the address.
LookUp = Callable[..., Sequence[tuple[Any, ...]]]
Address = tuple[str, int]
Made = TypeVar("Made")

_EACH_AT_LEAST_S = 0.1  # so that an answer at the last moment can still be used

_Rows = Sequence[tuple[Any, ...]]
_lock = threading.Lock()
_under_way: dict[tuple[LookUp, str, int], Future[_Rows]] = {}


def dial(
    host: str,
    port: int,
    within_s: float,
    *,
    clock: Clock,
    connect: Callable[[Address, float], Made],
    failures: tuple[type[Exception], ...] = (OSError,),
    look_up: LookUp = socket.getaddrinfo,
) -> Made:
    """The result of ``connect`` for the first address that answers. ``connect`` gets a numeric address and a time limit
    in seconds.

    Raises ``OSError`` or ``UnicodeError`` for a name that cannot be looked up, else the failure of the first address.
    """
    deadline = clock.now() + within_s
    first, *others = _looked_up(host, port, within_s, look_up)
    each_s = max(_EACH_AT_LEAST_S, (deadline - clock.now()) / (1 + len(others)))
    try:
        return connect(first, each_s)
    except failures:
        for other in others:
            with suppress(*failures):
                return connect(other, each_s)
        raise


def _looked_up(host: str, port: int, within_s: float, look_up: LookUp) -> list[Address]:
    """The addresses of ``host``, at least one."""
    answer = _answer_to(host, port, look_up)
    if not wait([answer], within_s).done:
        raise socket.gaierror(
            socket.EAI_AGAIN,
            f"this machine's resolver did not answer within {within_s:g} s for the name {host} "
            "(its servers: /etc/resolv.conf)",
        )
    rows = answer.result()
    if not rows:
        raise socket.gaierror(socket.EAI_NONAME, f"the name {host} has no address")
    return [_numeric(row[-1]) for row in rows]


def _answer_to(host: str, port: int, look_up: LookUp) -> Future[_Rows]:
    """The resolver's answer, as a future. The system's resolver cannot be interrupted, so a separate thread asks it,
    and ends when the resolver gives up. Until then, further calls with the same question wait for the same answer, so
    at most one thread for each question is left."""
    question = (look_up, host, port)
    answer: Future[_Rows] = Future()

    def ask() -> None:
        try:
            rows = look_up(host, port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:  # a name that cannot be encoded is a ValueError
            finished().set_exception(error)
        else:
            finished().set_result(rows)

    def finished() -> Future[_Rows]:
        with _lock:  # before the answer is set, so that the next caller asks again
            _under_way.pop(question, None)  # a signal may have come before it was noted
        return answer

    with _lock:
        if question not in _under_way:
            threading.Thread(target=ask, name=f"look-up-{host}", daemon=True).start()
            _under_way[question] = answer
        return _under_way[question]


def _numeric(address: tuple[Any, ...]) -> Address:
    """The numeric address. A link-local IPv6 address is valid only with the number of its interface."""
    host, port, *more = address
    scope = more[1] if len(more) > 1 else 0
    return (f"{host}%{scope}" if scope and "%" not in host else host, port)
