"""The API of one site over HTTP: a kept-alive session, requests as a family file has them, and what they answer.

The names of options are put in as whole parts of a path, each percent-encoded (RFC 3986, section 2.1), as whole values of
a query, and as whole texts of a JSON body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from adapters.http.options import HttpOptions, origin_of, proof_of, trust_of
from adapters.http.session import HttpSession, Limits, Reply, Request
from orchestrator.errors import (
    AuthenticationFailed,
    CommandRejected,
    ConnectionLost,
    DefinitionError,
    UnreadableReply,
)
from orchestrator.family.contract import AdapterContext
from orchestrator.model.family_file import RequestFile, filled, filled_in
from orchestrator.model.inventory import Site

_EXCHANGE_S = 15.0  # each reading and action has its own
_DENIED = (401, 403)


def options_of(site: Site) -> HttpOptions:
    """What the site's options say of HTTP. Raises ``DefinitionError``."""
    try:
        return HttpOptions.model_validate({k: v for k, v in site.options.items() if k in HttpOptions.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(f"options of site {site.name}: {name}: {first['msg']}") from error


def line_of(request: RequestFile, values: Mapping[str, Any]) -> str:
    """The request as it is sent, for a person; names whose value is not known stay as they are."""
    body = "" if request.body is None else " " + json.dumps(filled_in(request.body, values), ensure_ascii=False)
    return f"{request.method} {_target(request, values)}{body}"


def _target(request: RequestFile, values: Mapping[str, Any]) -> str:
    texts = {name: str(value) for name, value in values.items()}
    path = "".join(f"/{quote(part, safe='')}" for part in filled(request.path, texts))
    query = {name: filled((value,), texts)[0] for name, value in request.query.items()}
    return path + (f"?{urlencode(query, quote_via=quote)}" if query else "")


class Api:
    """One site's. ``port``: where it listens."""

    def __init__(self, site: Site, port: int, context: AdapterContext) -> None:
        options = options_of(site)
        device = site.devices[0].model_copy(update={"port": port})
        has_login = site.login is not None and site.login.password is not None
        self._where = device.name
        self._session = HttpSession(
            device.name,
            origin_of(device, options),
            proof=proof_of(site, options, context.secrets) if has_login or options.token is not None else lambda: "",
            trust=trust_of(options),
            limits=Limits(site.connect_timeout, _EXCHANGE_S),
            clock=context.clock,
            allows=lambda request: request.is_read or not context.read_only,
            witness=context.witness,
        )

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def ask(self, request: RequestFile, values: Mapping[str, Any], timeout_s: float) -> tuple[int, str]:
        """Status and body of a request that gets something; in a session that had ended unnoticed it is asked once more.

        Raises ``AdapterError``: ``UnreadableReply`` for a status that is no answer.
        """
        try:
            reply = self._exchange(request, values, timeout_s)
        except ConnectionLost:
            reply = self._exchange(request, values, timeout_s)
        if not _answers(request, reply):
            raise UnreadableReply(_said(request, values, reply), text=reply.text[:500], device=self._where)
        return reply.status, reply.text

    def send(
        self, requests: Sequence[RequestFile], values: Mapping[str, Any], timeout_s: float, refused: Sequence[int]
    ) -> None:
        """Send each in order, once. Raises ``CommandRejected`` if the first one was refused, and what means doubt if a
        later one was, or the answer says neither."""
        for number, request in enumerate(requests):
            try:
                reply = self._exchange(request, values, timeout_s)
            except AuthenticationFailed as error:
                if number:
                    raise UnreadableReply(str(error), text="", device=self._where) from error
                raise
            if _answers(request, reply):
                continue
            if not number and reply.status in refused:
                raise CommandRejected(_said(request, values, reply), device=self._where)
            raise UnreadableReply(_said(request, values, reply), text=reply.text[:500], device=self._where)

    def _exchange(self, request: RequestFile, values: Mapping[str, Any], timeout_s: float) -> Reply:
        body = None if request.body is None else json.dumps(filled_in(request.body, values)).encode()
        reply = self._session.exchange(
            Request(
                request.method,
                _target(request, values),
                body,
                "" if body is None else "application/json",
                is_read=request.method == "GET",
                within_s=timeout_s,
            )
        )
        if reply.status in _DENIED and reply.status not in request.statuses:
            raise AuthenticationFailed(_said(request, values, reply), device=self._where)
        return reply


def _answers(request: RequestFile, reply: Reply) -> bool:
    return 200 <= reply.status < 300 or reply.status in request.statuses


def _said(request: RequestFile, values: Mapping[str, Any], reply: Reply) -> str:
    words = " ".join(reply.text.split())[:300]
    return f"{request.method} {_target(request, values)} was answered with HTTP {reply.status}" + (
        f": {words}" if words else ""
    )
