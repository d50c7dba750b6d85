"""Who may speak SEMP with a simulated broker: a login with a limited number of sessions, or a bearer token.

docs/sources/solace.md, 1.2. A session is a cookie; when all are used up, the answer is 529. Not a security boundary:
it depends on a loopback port and guards nothing.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

COOKIE = "SEMP-SESSION"  # assumption: what the broker calls its cookie is not recorded, and no client may care
SESSIONS_MAX = 10


@dataclass(frozen=True, slots=True)
class Guest:
    """A person who was let in. ``set_cookie``: a session was just started; ``session`` is empty with a token."""

    user: str
    session: str = ""
    set_cookie: bool = False


class NotLetIn(Exception):
    """The account is not accepted, or there is no session left; ``status`` is the HTTP status that says so."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Sessions:
    """The sessions of one node. ``approves`` may refuse a login that would fit."""

    def __init__(
        self,
        username: str,
        password: str,
        token: str,
        *,
        approves: Callable[[], bool] = lambda: True,
        sessions_max: int = SESSIONS_MAX,
    ) -> None:
        self._login = f"{username}:{password}".encode()
        self._username = username
        self._token = token.encode()
        self._approves = approves
        self._sessions_max = sessions_max
        self._guard = threading.Lock()
        self._sessions: set[str] = set()

    @property
    def open(self) -> int:
        """How many sessions there are now."""
        with self._guard:
            return len(self._sessions)

    def admit(self, headers: Mapping[str, str]) -> Guest:
        """Raises ``NotLetIn``."""
        kind, _, proof = headers.get("authorization", "").partition(" ")
        if kind == "Bearer":
            if not hmac.compare_digest(proof.encode(), self._token):
                raise NotLetIn(401)
            return Guest(self._username)
        session = _cookie(headers.get("cookie", ""))
        with self._guard:
            if session in self._sessions:
                return Guest(self._username, session)
        if kind != "Basic" or not hmac.compare_digest(_decoded(proof), self._login) or not self._approves():
            raise NotLetIn(401)
        with self._guard:
            if len(self._sessions) >= self._sessions_max:
                raise NotLetIn(529)
            session = secrets.token_urlsafe(18)
            self._sessions.add(session)
        return Guest(self._username, session, set_cookie=True)

    def end(self, guest: Guest) -> None:
        """The session of ``guest`` is over."""
        with self._guard:
            self._sessions.discard(guest.session)

    def forget_all(self) -> None:
        """The node has started again, or let all of them expire."""
        with self._guard:
            self._sessions.clear()


def _cookie(header: str) -> str:
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def _decoded(proof: str) -> bytes:
    try:
        return base64.b64decode(proof, validate=True)
    except (binascii.Error, ValueError):
        return b""
