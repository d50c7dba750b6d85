"""The API of one site over HTTP: a kept-alive session, the requests of a family file, and their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from adapters.declared.requests import Answer, Requests, Values, head_of, target_of
from adapters.http.exchange import Limits, Reply, Request
from adapters.http.options import HttpOptions, origin_of, proof_of, trust_of
from orchestrator.errors import AuthenticationFailed, DefinitionError
from orchestrator.family.contract import AdapterContext
from orchestrator.model.declared.requests import RequestFile
from orchestrator.model.inventory import Site

_EXCHANGE_S = 15.0  # each reading and action has its own time-out
_DENIED = (401, 403)


def options_of(site: Site) -> HttpOptions:
    """The site's options for HTTP. Raises ``DefinitionError``."""
    try:
        return HttpOptions.model_validate({k: v for k, v in site.options.items() if k in HttpOptions.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(f"options of site {site.name}: {name}: {first['msg']}") from error


class Api(Requests[RequestFile]):
    """The API of one site. ``port``: the port where it listens."""

    def __init__(self, site: Site, port: int, context: AdapterContext) -> None:
        options = options_of(site)
        device = site.devices[0].model_copy(update={"port": port})
        has_login = site.login is not None and site.login.password is not None
        self.where = device.name
        # httpx is loaded only for a connection, not to show what the adapter can do.
        from adapters.http.session import HttpSession

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

    def exchange(self, request: RequestFile, values: Values, body: Any, timeout_s: float, *, is_read: bool) -> Answer:
        """See ``Requests``. Raises ``AuthenticationFailed`` for 401 and 403, unless they are answers."""
        reply = self._session.exchange(
            Request(
                request.method,
                target_of(request, values),
                None if body is None else json.dumps(body).encode(),
                "" if body is None else "application/json",
                is_read=is_read and request.method == "GET",
                within_s=timeout_s,
            )
        )
        if reply.status in _DENIED and reply.status not in request.statuses:
            raise AuthenticationFailed(_said(request, values, reply), device=self.where)
        is_answer = 200 <= reply.status < 300 or reply.status in request.statuses
        return Answer(reply.status, reply.text, is_answer, _said(request, values, reply))


def _said(request: RequestFile, values: Mapping[str, Any], reply: Reply) -> str:
    words = " ".join(reply.text.split())[:300]
    return f"{head_of(request, values)} was answered with HTTP {reply.status}" + (f": {words}" if words else "")
