"""Requests to one instance: readings that may be repeated, and actions that are never repeated.

``AdminReader`` has no method that requests an action path, and its session refuses every request that is not a reading.
Nothing is fetched ahead, and no link of an answer is followed, because a GET may change something here
(docs/sources/amps.md, 6.1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adapters.amps.document import Node, instance_in, yes_or_no
from adapters.amps.paths import CONFIGURATION, is_look, look_at, may
from adapters.http.exchange import Reply, Request
from adapters.http.redirects import AS_IT_IS, not_carried_out
from orchestrator.characters import printable
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    Forbidden,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.retry import READ_MAY_RETRY, Retry

if TYPE_CHECKING:
    from adapters.http.session import HttpSession

_OK = range(200, 300)
# The request was understood, and refused: it had no effect.
_REFUSED = frozenset({400, 404, 405, 409, 410, 422, 501})
_NOT_ENTITLED = 403
_NOT_BY_PASSWORD = (
    "AMPS asks for Negotiate (Kerberos) if Admin has no WWWAuthenticate: add `auth: negotiate` to the site's options, "
    'or configure `<WWWAuthenticate>Basic realm="AMPS"</WWWAuthenticate>` in Admin; see docs/systems/amps.md'
)
_NOT_BY_TICKET = "give the site a login instead of `auth: negotiate`, or set WWWAuthenticate of Admin to Negotiate"
_LOOK_AT_LOGIN = "check the login in the inventory, and check Entitlement of Admin in the configuration of AMPS"
_LOOK_AT_TICKET = (
    "check with `klist` who owns the ticket; check also Entitlement of Admin in the configuration of AMPS, and the "
    "keytab of the AMPS service principal"
)
# A scheme is a word alone or before its parameters (RFC 9110, section 11.6.1); ``realm="x"`` is a parameter.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9-]{1,30})(?:\s|$)")


class AdminReader:
    """Reads one instance. A reading is repeated after a broken or late answer, for at most ``within_s`` seconds.
    ``by_ticket``: the session logs in by Negotiate."""

    def __init__(self, session: HttpSession, retry: Retry, *, within_s: float, by_ticket: bool = False) -> None:
        self._session = session
        self._retry = retry
        self._within_s = within_s
        self._by_ticket = by_ticket

    @property
    def device(self) -> str:
        """The instance's name in the inventory."""
        return self._session.device

    def node(self, name: str) -> Node:
        """A node of the statistics below ``/amps/instance``, as the object around it. Raises ``AdapterError``."""
        return instance_in(self._look(look_at(name)).body, self.device)

    def leaf(self, name: str) -> Node:
        """A node that not every release or account has. Empty if the instance refuses it (404, or 403, since
        entitlement is by path), or answers with something else, such as a page. Raises ``AdapterError`` otherwise."""
        try:
            reply = self._look(look_at(name), may_refuse=True)
            return instance_in(reply.body, self.device) if reply.status in _OK else {}
        except UnreadableReply:
            return {}

    def configuration(self) -> Reply:
        """The configuration file that the instance was started with (docs/sources/amps.md, 6.3). Raises
        ``AdapterError``."""
        return self._look(CONFIGURATION)

    def may(self, action: str, segment: str) -> bool | None:
        """May the account request ``action``, a path? The answer comes from the entitlement check, which changes
        nothing. None if the instance does not report."""
        try:
            return yes_or_no(self._look(may(action, segment)).body)
        except (AuthenticationFailed, CommandRejected, UnreadableReply):
            return None  # the check itself is refused, or has another path there

    def close(self) -> None:
        """End the session; never raises."""
        self._session.close()

    def _refusal(self, reply: Reply) -> AdapterError:
        return refusal_of(reply, self.device, by_ticket=self._by_ticket)

    def _look(self, target: str, *, may_refuse: bool = False) -> Reply:
        if not is_look(target):
            raise Forbidden(f"{target} was not sent: it is not the path of a reading", device=self.device)

        def attempt() -> Reply:
            reply = self._session.exchange(Request("GET", target, is_read=True))
            is_refused = may_refuse and (reply.status in _REFUSED or reply.status == _NOT_ENTITLED)
            if reply.status not in _OK and not is_refused:
                raise self._refusal(reply)
            return reply

        return self._retry.read(attempt, within_s=self._within_s, on=READ_MAY_RETRY)


class AdminWriter(AdminReader):
    """Readings and actions of one instance."""

    def act(self, target: str) -> None:
        """Request an action path once. Raises ``AdapterError``. A return says only that the instance accepted the
        request, since the answer to an action is not documented. The instance may carry out an action and answer 301,
        302 or 303 to a page, so these are doubts. 307 and 308 say that the action was not carried out here."""
        try:
            reply = self._session.exchange(Request("GET", target))
        except AuthenticationFailed as error:  # nothing was sent: a refusal would be an answer
            raise Unreachable(str(error), device=self.device, hint=error.hint) from error
        if reply.status not in _OK:
            raise not_carried_out(reply, self.device, AS_IT_IS) or self._refusal(reply)


def _schemes(reply: Reply) -> tuple[str, ...]:
    """The ways to log in that a 401 offers: ``Negotiate``, ``NTLM``, ``Basic``; several may be in one header."""
    text = reply.headers.get("www-authenticate", "")
    found = (_SCHEME.match(part.strip()) for part in text.split(","))
    return tuple(dict.fromkeys(one[1] for one in found if one))


def refusal_of(reply: Reply, device: str, *, by_ticket: bool = False) -> AdapterError:
    """The error for an answer other than a success. ``by_ticket``: the session logs in by Negotiate."""
    said = printable(reply.text, 200)
    wanted = _schemes(reply) if reply.status == 401 else ()
    ours = {"negotiate"} if by_ticket else {"basic", "bearer"}
    if wanted and not ours & {one.lower() for one in wanted}:
        return AuthenticationFailed(
            f"{device} rejects the login (HTTP 401): it asks for {' or '.join(wanted)}, but the inventory is set to "
            f"{'Negotiate' if by_ticket else 'Basic'}",
            device=device,
            hint=_NOT_BY_TICKET if by_ticket else _NOT_BY_PASSWORD,
        )
    if reply.status in (401, 403):
        return AuthenticationFailed(
            f"{device} rejects the login, or does not permit this request (HTTP {reply.status})",
            device=device,
            hint=_LOOK_AT_TICKET if by_ticket else _LOOK_AT_LOGIN,
        )
    if reply.status in _REFUSED:
        return CommandRejected(f"{device} refused the request (HTTP {reply.status}): {said}", device=device)
    return UnreadableReply(f"{device} answered HTTP {reply.status}: {said}", text=reply.text[:4000], device=device)
