"""SEMP of one simulated broker, for any ``Appliance``: v2 for configuration, monitoring and actions, and v1.

It turns a request into an answer, without its own transport or clock, so tests run in process. It is the
``handler`` of ``simulator.http.server``. Sources: docs/sources/solace.md, 1 and 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from email.utils import formatdate

from orchestrator.clock import Clock
from simulator.http.server import Incoming, Mishap, Outgoing
from simulator.lab.cli.cli import Spoiling
from simulator.lab.cli.plans import Level
from simulator.lab.command_log import CommandLog, Kind
from simulator.lab.edition import NEWER, Edition
from simulator.lab.semp.accounts import COOKIE, Guest, NotLetIn, Sessions
from simulator.lab.semp.changes import LOGOUT, plan_of
from simulator.lab.semp.query import Problem, Target, not_allowed, not_found, target_of
from simulator.lab.semp.reads import Body, Reads
from simulator.lab.semp.v1 import Asked, asked_of, reply_to
from simulator.solace.appliance import Appliance, Described, NoSuchObject, Refused

_JSON, _XML = "application/json", "application/xml"
_XML_TYPES = frozenset({_XML, "text/xml"})
_GARBAGE = b"\xef\xbf\xbd\x07~#>{%garbage%}<#~\x00\n"
_MISHAPS: Mapping[str, Mishap] = {"drop-after": "drop", "cut-short": "cut", "freeze-after": "freeze"}


class SempNode:
    """One broker's management over HTTP. Safe to use from several threads if ``hold`` serializes the requests.

    ``hold``: a context manager that is entered around every access to the appliance. If it raises ``AdapterError``, the
    node is gone, and the connection breaks. ``log`` records every request before it is obeyed.
    """

    def __init__(
        self,
        appliance: Appliance,
        log: CommandLog,
        sessions: Sessions,
        *,
        clock: Clock,
        level: Level = "admin",
        edition: Edition = NEWER,
        scheme: str = "https",
        hold: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._appliance = appliance
        self._log = log
        self._sessions = sessions
        self._clock = clock
        self._level = level
        self._edition = edition
        self._scheme = scheme
        self._hold = hold
        self._number = log.new_session()

    def __call__(self, request: Incoming) -> Outgoing:
        """The answer to one request. Raises ``AdapterError`` when the node is gone."""
        try:
            guest = self._sessions.admit(request.headers)
        except NotLetIn as refusal:
            return self._not_let_in(request, refusal)
        with self._hold():  # only once per request, because each exit writes the world's file
            answer = self._v1(request, guest) if request.target == "/SEMP" else self._v2(request, guest)
            headers = {"Date": formatdate(self._now(), usegmt=True), **answer.headers}
        if guest.set_cookie:
            headers["Set-Cookie"] = f"{COOKIE}={guest.session}; Path=/SEMP; HttpOnly"
        return Outgoing(answer.status, answer.body, answer.content_type, headers, answer.mishap)

    # SEMP v1

    def _v1(self, request: Incoming, guest: Guest) -> Outgoing:
        if request.method != "POST" or _type_of(request) not in _XML_TYPES:
            self._record(request, guest, "invalid")
            return Outgoing(400, b"SEMP v1 takes POST of XML\n", "text/plain")
        asked = asked_of(request.body)
        self._record(request, guest, _kind_of_v1(asked))
        body = reply_to(asked, self._appliance, self._edition, self._level)
        return self._on_its_way(Outgoing(200, body, _XML))

    # SEMP v2

    def _v2(self, request: Incoming, guest: Guest) -> Outgoing:
        try:
            target = target_of(request.target)
        except Problem as problem:
            self._record(request, guest, "invalid")
            return self._refused(request, problem)
        self._record(request, guest, _kind_of_v2(request, target))
        try:
            body = self._answer(request, target, guest)
        except Problem as problem:
            return self._on_its_way(self._refused(request, problem))
        except NoSuchObject as error:
            return self._on_its_way(self._refused(request, not_found(str(error))))
        except Refused as error:
            return self._on_its_way(self._refused(request, not_allowed(str(error))))
        body["meta"] |= self._meta(request, 200)
        return self._on_its_way(Outgoing(200, _json(body), _JSON))

    def _answer(self, request: Incoming, target: Target, guest: Guest) -> Body:
        origin = f"{self._scheme}://{request.headers.get('host', 'localhost')}"
        reads = Reads(
            self._appliance,
            user=guest.user,
            level=self._level,
            origin=origin,
            has_session=bool(guest.session),
        )
        if request.method == "GET":
            if request.body:
                raise Problem(400, 27, "PARSE_ERROR", "GET takes no body")
            return reads.answer(target)
        if request.body and _type_of(request) != _JSON:
            raise Problem(400, 27, "PARSE_ERROR", f"the body must be {_JSON}")
        change = plan_of(self._appliance, request.method, target, request.body)
        if target.parts == LOGOUT:
            self._sessions.end(guest)
            return {"meta": {}}
        if self._level != "admin":
            raise Problem(403, 72, "UNAUTHORIZED", "the access level is too low for this")
        change()
        return reads.answer(target) if target.api == "config" else {"meta": {}}

    def _refused(self, request: Incoming, problem: Problem) -> Outgoing:
        error = {"code": problem.code, "description": problem.text, "status": problem.name}
        body = {"meta": {"error": error, **self._meta(request, problem.status)}}
        return Outgoing(problem.status, _json(body), _JSON)

    def _meta(self, request: Incoming, status: int) -> Body:
        origin = f"{self._scheme}://{request.headers.get('host', 'localhost')}"
        return {"request": {"method": request.method, "uri": origin + request.target}, "responseCode": status}

    # Both

    def _not_let_in(self, request: Incoming, refusal: NotLetIn) -> Outgoing:
        self._record(request, Guest("?"), "invalid")
        if request.target == "/SEMP":
            return Outgoing(refusal.status, b"", "text/plain")
        text = "No SEMP Session Available" if refusal.status == 529 else "Unauthorized"
        return self._refused(request, Problem(refusal.status, 72, "UNAUTHORIZED", text))

    def _on_its_way(self, answer: Outgoing) -> Outgoing:
        spoilt = self._appliance.take_spoilt() if isinstance(self._appliance, Spoiling) else None
        match spoilt:
            case None:
                return answer
            case "shortened":
                return Outgoing(answer.status, answer.body[: len(answer.body) // 2], answer.content_type)
            case "garbage":
                return Outgoing(answer.status, _GARBAGE, answer.content_type)
            case _:
                return Outgoing(answer.status, answer.body, answer.content_type, mishap=_MISHAPS[spoilt])

    def _now(self) -> float:
        """The time of the node's own clock."""
        return self._appliance.platform().clock if isinstance(self._appliance, Described) else self._clock.now()

    def _record(self, request: Incoming, guest: Guest, kind: Kind) -> None:
        body = request.body.decode("utf-8", "replace")
        line = f"{request.method} {request.target}" + (f" {body}" if body else "")
        self._log.record(
            user=guest.user, origin=f"semp {request.peer}", session=self._number, mode="semp", kind=kind, line=line
        )


def _kind_of_v1(asked: Asked | None) -> Kind:
    return "invalid" if asked is None else "change" if asked.is_change else "show"


def _kind_of_v2(request: Incoming, target: Target) -> Kind:
    if request.method == "GET":
        return "show"
    return "mode" if target.parts == LOGOUT else "change"


def _type_of(request: Incoming) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _json(body: Body) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
