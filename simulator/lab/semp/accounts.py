"""The accounts for SEMP of a simulated broker: a login with a limited number of sessions, or a bearer token.

docs/sources/solace.md, 1.2. A session is a cookie. When all sessions are used, the answer is 529. This is not a
security boundary: the port is a loopback port, and there is nothing to protect.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

COOKIE = "SEMP-SESSION"  # assumption: the broker's cookie name is not recorded, and no client may depend on it
SESSIONS_MAX = 10


@dataclass(frozen=True, slots=True)
class Guest:
    """An authenticated client. ``set_cookie``: a session was just started. ``session`` is empty with a token."""

    user: str
    session: str = ""
    set_cookie: bool = False


class NotLetIn(Exception):
    """The account is not accepted, or there is no free session. ``status`` is the HTTP status for this."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Sessions:
    """The sessions of one node. ``approves`` may refuse a login even with valid credentials."""

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
        """The number of sessions now."""
        with self._guard:
            return len(self._sessions)

    def admit(self, headers: Mapping[str, str]) -> Guest:
        """Authenticate a request. Raises ``NotLetIn``."""
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
        """End the session of ``guest``."""
        with self._guard:
            self._sessions.discard(guest.session)

    def forget_all(self) -> None:
        """End all sessions: the node has restarted or lets them expire."""
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
