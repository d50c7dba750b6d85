"""Sends requests and returns their answers, over the NATS protocol. There is one connection with a site, which stays
open. Only this module uses nats-py, which comes with the extra ``nats`` and is imported if a family needs it.

The library is asynchronous, so its loop runs in a separate thread. Nothing is sent again automatically. A connection
that ended is made again for the next request, and this module has its own time-outs. ``tls`` is the default scheme, and
certificates are always checked.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.declared.heard import told
from adapters.declared.requests import Answer, Requests, Values, head_of
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import AdapterContext
from orchestrator.model.declared.requests import MessageFile, filled
from orchestrator.model.inventory import SecretRef, Site, is_this_machine

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

T = TypeVar("T")
# Seconds that the end of a connection may take, and that the loop may be late with an answer.
_CLOSE_S = 1.0
_LATE_S = 1.0
_NO_PART = frozenset(" \t\r\n*>")
# The library checks nothing in the first lines of a server. If they are cut off or are nonsense, it raises one of these.
_NONSENSE = (ValueError, LookupError, TypeError, AttributeError, AssertionError)


class NatsOptions(BaseModel):
    """The options for the connection to a site's server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheme: Literal["tls", "nats"] = Field(default="tls", description="use plain nats only for a lab on this machine")
    ca_file: str | None = Field(
        default=None, description="PEM file of the only CA to trust; by default, the CAs of the system"
    )
    token: SecretRef | None = Field(default=None, description="a token that is used instead of the login")
    insecure_nats: bool = Field(
        default=False, description="allow plain nats to another machine; the password is then sent in clear text"
    )


class Messages(Requests[MessageFile]):
    """The server of one site. ``port``: the port where it listens. Raises ``DefinitionError`` for options that do not
    fit, or if the extra is missing."""

    def __init__(self, site: Site, port: int, context: AdapterContext, options: frozenset[str]) -> None:
        try:
            import nats
        except ImportError as error:
            raise DefinitionError(
                f"the family {site.adapter} needs the NATS client for Python: {error}",
                hint="pip install 'failover[nats]'",
            ) from error
        del nats
        device = site.devices[0]
        self.where = device.name
        self._site, self._context, self._own = site, context, options
        self._options = _options_of(site)
        self._tls = _trust_of(self._options)
        host = device.address or device.name
        if self._options.scheme == "nats" and not self._options.insecure_nats and not is_this_machine(host):
            raise DefinitionError(
                f"plain nats to {host} would send the password of {device.name} in clear text",
                hint="use scheme tls with a ca_file; insecure_nats: true accepts the risk",
            )
        self._server = f"{self._options.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        self._line: _Line | None = None

    def close(self) -> None:
        """End the connection."""
        line, self._line = self._line, None
        if line is not None:
            line.end()

    def exchange(self, request: MessageFile, values: Values, body: Any, timeout_s: float, *, is_read: bool) -> Answer:
        """See ``Requests``. Raises ``Unreachable`` where nothing listens to the subject."""
        if self._context.read_only and not is_read:
            raise Forbidden(f"{head_of(request, values)} was not sent: this session is read-only", device=self.where)
        subject = self._subject(request, values)
        payload = "" if body is None else json.dumps(body)
        with told(self._context, self.where, f"request {subject} {payload}".strip()) as exchange:
            exchange.answer = text = self._text(subject, payload.encode(), timeout_s)
        code, words = _error_in(text)
        says = f"{subject} was answered with error {code}: {words}" if code else f"{subject} was answered"
        return Answer(code, text, not code or code in request.errors, says)

    def _subject(self, request: MessageFile, values: Values) -> str:
        """The subject of ``request``. Raises ``CommandRejected`` for a part that would change the subject. The value of
        an option may have dots."""
        parts = filled(request.subject, {name: str(value) for name, value in values.items()})
        for written, part in zip(request.subject, parts, strict=True):
            tokens = part.split(".") if written[1:-1] in self._own else [part]
            if not all(tokens) or any(_NO_PART & set(one) or "." in one for one in tokens):
                raise CommandRejected(f"{part!r} is not a valid part of a NATS subject", device=self.where)
        return ".".join(parts)

    def _text(self, subject: str, payload: bytes, timeout_s: float) -> str:
        if self._line is not None and self._line.has_ended:
            self.close()
        if self._line is None:
            self._line = _Line(self.where, self._server, self._arguments(), self._site.connect_timeout)
        try:
            return self._line.ask(subject, payload, timeout_s)
        except (ConnectionLost, CommandTimedOut):
            # A late answer would belong to a request that was given up.
            self.close()
            raise

    def _arguments(self) -> dict[str, Any]:
        """The arguments of the client: its proof of identity, and the trusted certificates. Raises
        ``AuthenticationFailed``."""
        login, given = self._site.login, dict[str, Any]()
        reveal = self._context.secrets.reveal
        try:
            if self._options.token is not None:
                given["token"] = reveal(self._options.token, what=f"the token for {self._site.name}")
            elif login is not None and login.password is not None:
                what = f"the password of {login.username} at {self._site.name}"
                given |= {"user": login.username, "password": reveal(login.password, what=what)}
        except DefinitionError as error:
            raise AuthenticationFailed(str(error), device=self.where, hint=error.hint) from error
        return given if self._tls is None else {**given, "tls": self._tls}


class _Line:
    """One connection, with the loop that serves it. Raises ``Unreachable`` or ``AuthenticationFailed`` as it is made."""

    def __init__(self, where: str, server: str, arguments: Mapping[str, Any], connect_s: float) -> None:
        self._where = where
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._over = asyncio.Event()
        self._denied: dict[str, asyncio.Future[str]] = {}
        self._is_made = False
        self._client: Client | None = None
        try:
            self._client = self._do(self._connect(server, arguments, connect_s), connect_s)
        except AdapterError:
            self.end()
            raise
        except TimeoutError as error:
            self.end()
            raise Unreachable(f"no connection within {connect_s:g} s", device=where) from error

    @property
    def has_ended(self) -> bool:
        """Has the connection ended?"""
        return self._over.is_set() or self._client is None or not self._client.is_connected

    def end(self) -> None:
        """End the connection and the loop, whatever state they are in."""
        with suppress(
            Exception
        ):  # the other end may have closed in any way, and the connection is closed in any case
            if self._client is not None:
                self._do(self._client.close(), _CLOSE_S)
        with suppress(Exception):  # tasks that hang are cancelled, whatever they raise
            self._do(_cancelled(), _CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    def ask(self, subject: str, payload: bytes, timeout_s: float) -> str:
        """The answer. Raises ``AdapterError``."""
        late = CommandTimedOut(f"{subject} was not answered within {timeout_s:g} s", device=self._where)
        try:
            return self._do(self._ask(subject, payload, timeout_s, late), timeout_s + _LATE_S)
        except TimeoutError as error:
            raise late from error

    def _do(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except TimeoutError:
            future.cancel()
            raise

    async def _connect(self, server: str, arguments: Mapping[str, Any], connect_s: float) -> Client:
        from nats.errors import Error

        client = _client(needs_tls="tls" in arguments)
        # Verbose: the client waits for the answer to its login before it sends more. A server that refuses the login
        # closes the connection; what arrives after that resets it, and the reason can be lost.
        try:
            await client.connect(
                servers=[server],
                connect_timeout=max(1, int(connect_s)),
                verbose=True,
                allow_reconnect=False,
                max_reconnect_attempts=0,
                name="failover",
                error_cb=self._hear,
                disconnected_cb=self._end,
                closed_cb=self._end,
                **arguments,
            )
            self._is_made = client.is_connected  # a server that ends the connection instead of an answer is no error
            if not self._is_made:
                raise Unreachable("the server ended the connection before the login was complete", device=self._where)
            return client
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"the certificate is not trusted: {error.verify_message}", device=self._where
            ) from error
        except (OSError, Error, TimeoutError) as error:
            words = str(error) or type(error).__name__
            if "authorization" in words.lower():
                raise AuthenticationFailed("the server refused the login", device=self._where) from error
            raise Unreachable(f"no connection: {words}", device=self._where) from error
        except _NONSENSE as error:
            raise Unreachable(
                "no connection: what the server says first cannot be read", device=self._where
            ) from error
        finally:
            if not client.is_connected:
                with suppress(OSError, Error):  # the first error is the one to report
                    await client.close()

    async def _ask(self, subject: str, payload: bytes, timeout_s: float, late: CommandTimedOut) -> str:
        from nats.errors import ConnectionClosedError, Error, MaxPayloadError, NoRespondersError

        assert self._client is not None
        loop = asyncio.get_running_loop()
        over = loop.create_task(self._over.wait())
        denied: asyncio.Future[str] = loop.create_future()
        self._denied[subject] = denied
        asked: asyncio.Task[Msg] = loop.create_task(self._client.request(subject, payload, timeout=timeout_s + 60.0))
        watched: set[asyncio.Future[Any]] = {asked, over, denied}
        try:
            await asyncio.wait(watched, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result().data.decode("utf-8", "replace")
            if denied.done():
                raise AuthenticationFailed(denied.result(), device=self._where)
            if over.done():
                raise ConnectionLost("the connection ended before the answer", device=self._where)
            raise late
        except NoRespondersError as error:
            raise Unreachable(f"no service listens to {subject}", device=self._where) from error
        except MaxPayloadError as error:
            raise CommandRejected(f"{subject}: {error}", device=self._where) from error
        except ConnectionClosedError as error:
            raise ConnectionLost("the connection was closed", device=self._where) from error
        except (Error, OSError) as error:
            raise ConnectionLost(f"{subject}: {error or type(error).__name__}", device=self._where) from error
        finally:
            del self._denied[subject]
            for one in watched:
                one.cancel()

    async def _hear(self, error: Exception) -> None:
        """Handle an error that the server sends by itself: a subject to which the login may not send, or why connecting
        failed. While connecting, the error is raised, since the client would try again until the time is over, even if
        the server is down."""
        if not self._is_made:
            raise error
        for subject, denied in self._denied.items():
            if f'"{subject.lower()}"' in str(error).lower() and not denied.done():
                denied.set_result(f"the login is not permitted to send to {subject}")

    async def _end(self) -> None:
        self._over.set()


def _client(*, needs_tls: bool) -> Client:
    """A client that can insist on TLS. The library sends the login in clear text to a server that does not ask for TLS,
    with any scheme."""
    from nats.aio.client import Client
    from nats.errors import SecureConnWantedError

    class Careful(Client):
        """Ends the connection before the login is sent."""

        async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
            if needs_tls and not info.get("tls_required"):
                raise SecureConnWantedError
            await super()._process_info(info, initial_connection)

    return Careful()


async def _cancelled() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for one in tasks:
        one.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _options_of(site: Site) -> NatsOptions:
    try:
        return NatsOptions.model_validate({k: v for k, v in site.options.items() if k in NatsOptions.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(f"options of site {site.name}: {name}: {first['msg']}") from error


def _trust_of(options: NatsOptions) -> ssl.SSLContext | None:
    if options.scheme == "nats":
        return None
    path = None if options.ca_file is None else Path(options.ca_file).expanduser()
    try:
        return ssl.create_default_context(cafile=None if path is None else str(path))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "the file has no PEM certificate"
        raise DefinitionError(f"ca_file {path} cannot be used: {why}") from error


def _error_in(text: str) -> tuple[int, str]:
    """Code and words of an error, as the API of JetStream has them (ADR-1, ADR-7); 0 and an empty text if the answer is
    no error. Raises ``UnreadableReply`` if the answer is no JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UnreadableReply("the answer is not a JSON object", text=text[:500])
    error = found.get("error")
    if error is None:
        return 0, ""
    told = error if isinstance(error, dict) else {}
    code = told.get("err_code") or told.get("code")
    return (code if isinstance(code, int) and code > 0 else 1), str(told.get("description", error))[:300]
