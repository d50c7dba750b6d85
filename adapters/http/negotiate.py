"""Logs in over HTTP by a Kerberos ticket (Negotiate, RFC 4559). Only this module uses httpx-gssapi and gssapi.

Both come with the extra ``kerberos``, so they are imported only where an inventory asks for Negotiate. A request is
never sent twice here, because it may be an action. The library's own flow would send a request again after a 401.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import TYPE_CHECKING

import httpx

from orchestrator.characters import printable
from orchestrator.clock import Clock
from orchestrator.errors import AuthenticationFailed, DefinitionError, UnreadableReply

if TYPE_CHECKING:
    from gssapi import Credentials

_UNAUTHORIZED = 401
_NO_TICKET = (
    "get a ticket with `kinit` (cache: KRB5CCNAME), or set KRB5_CLIENT_KTNAME to a keytab; `klist` shows tickets"
)
_NO_SERVICE = (
    "the ticket is for HTTP/ADDRESS with the address in the inventory; check that address, krb5.conf and the KDC"
)


def ticket_auth(device: str, *, clock: Clock, within_s: float) -> httpx.Auth:
    """Proves each request to ``device`` with a ticket for ``HTTP`` at the host of its URL. The ticket comes from the
    environment of the process: the cache of KRB5CCNAME, or the keytab of KRB5_CLIENT_KTNAME.

    ``within_s``: if a KDC takes longer, the request is not sent. Raises ``DefinitionError`` if the extra is missing. An
    exchange raises ``AuthenticationFailed`` before anything is sent if there is no ticket, and ``UnreadableReply`` for
    an answer whose proof is wrong. An answer without a proof is accepted, since TLS has shown who sent it.
    """
    try:
        import gssapi
        import httpx_gssapi
    except ImportError as error:
        raise DefinitionError(
            f"`auth: negotiate` needs the Kerberos library for Python: {error}",
            hint="pip install 'failover[kerberos]'; on Debian this needs libkrb5-dev, gcc and python3-dev",
        ) from error
    del gssapi
    # The library logs each failure with its stack, and each token at its finest level. Our errors say what failed.
    logging.getLogger(httpx_gssapi.__name__).setLevel(logging.CRITICAL + 1)
    return _Ticket(device, clock, within_s)


class _Ticket(httpx.Auth):
    def __init__(self, device: str, clock: Clock, within_s: float) -> None:
        self._device = device
        self._clock = clock
        self._within_s = within_s

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        from gssapi.raw import GSSError
        from httpx_gssapi import OPTIONAL, HTTPSPNEGOAuth
        from httpx_gssapi.exceptions import MutualAuthenticationError, SPNEGOExchangeError

        asked_at = self._clock.now()
        spnego = HTTPSPNEGOAuth(creds=self._credentials(), mutual_authentication=OPTIONAL, opportunistic_auth=True)
        try:
            context = spnego.set_auth_header(request)
        except SPNEGOExchangeError as error:
            raise AuthenticationFailed(
                f"Kerberos gives no ticket for HTTP/{request.url.host} ({self._device}): {_words(error.__context__)}",
                device=self._device,
                hint=_NO_SERVICE,
            ) from error
        took_s = self._clock.now() - asked_at
        if took_s > self._within_s:
            raise AuthenticationFailed(
                f"Kerberos took {took_s:.0f} s to give a ticket for {self._device}, so nothing was sent",
                device=self._device,
                hint="check the KDCs that krb5.conf names; the first one may not answer",
            )
        response = yield request
        has_proof = "negotiate" in response.headers.get("www-authenticate", "").lower()
        if response.status_code == _UNAUTHORIZED or not has_proof:
            return
        try:
            spnego.handle_mutual_auth(response, context)
            is_proven = context.complete  # gssapi reports some failures only here; the library misses them
        except (MutualAuthenticationError, GSSError, ValueError):  # ValueError: no base64
            is_proven = False
        if not is_proven:
            raise UnreadableReply(
                f"the answer of {self._device} does not prove the identity HTTP/{request.url.host}",
                text="",
                device=self._device,
            )

    def _credentials(self) -> Credentials:
        """The ticket, searched for each time, since ``kinit`` may have replaced it."""
        from gssapi import Credentials, MechType
        from gssapi.exceptions import ExpiredCredentialsError
        from gssapi.raw import GSSError

        try:
            found = Credentials(usage="initiate", mechs=[MechType.kerberos])
            if found.lifetime == 0:
                raise self._no_ticket("it has expired")
        except ExpiredCredentialsError as error:
            raise self._no_ticket("it has expired") from error
        except GSSError as error:
            raise self._no_ticket(_words(error)) from error
        return found

    def _no_ticket(self, why: str) -> AuthenticationFailed:
        return AuthenticationFailed(
            f"there is no Kerberos ticket for the login to {self._device} (get one with `kinit`): {why}",
            device=self._device,
            hint=_NO_TICKET,
        )


def _words(error: BaseException | None) -> str:
    """The text of the mechanism; the major status says only that it failed."""
    statuses = getattr(error, "get_all_statuses", None)
    if statuses is None:
        return printable(str(error))
    return printable("; ".join(statuses(getattr(error, "min_code", 0), False)))
