"""Connections to devices by name, in a bounded time: whatever the resolver does, and whichever addresses are dead.

A name is looked up once for a connection, for no longer than the whole may take; its addresses share what is left, so
that each is tried, and a name of four dead addresses takes no longer than a device that is dead. Must never read or
send anything.
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

_EACH_AT_LEAST_S = 0.1  # of an answer that comes at the last instant something is made yet

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
    """What ``connect`` makes of the first address that answers; it gets a numeric address and its seconds.

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
    """At least one."""
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
    """The resolver's answer, when it comes. Nothing interrupts the system's resolver: it is asked on a thread that
    ends when it gives up, and until then whoever asks the same waits for that answer: no second thread is left."""
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
        with _lock:  # first, so that the next caller asks again
            _under_way.pop(question, None)  # a signal may have come before it was noted
        return answer

    with _lock:
        if question not in _under_way:
            threading.Thread(target=ask, name=f"look-up-{host}", daemon=True).start()
            _under_way[question] = answer
        return _under_way[question]


def _numeric(address: tuple[Any, ...]) -> Address:
    """An address of IPv6 may be one of a link, and is none without its number."""
    host, port, *more = address
    scope = more[1] if len(more) > 1 else 0
    return (f"{host}%{scope}" if scope and "%" not in host else host, port)
