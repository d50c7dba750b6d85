"""The administration interface of one simulated AMPS instance: statistics, its configuration, and actions on GET.

It turns a request into an answer, as the ``handler`` of ``simulator.http.server``. Sources: docs/sources/amps.md, 6 and
6.1. It is strict: a path that is neither documented nor listed in docs/how-to/amps-lab.md gets "not found".
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from simulator.amps.admin.configuration import configuration_xml
from simulator.amps.admin.console import ACTIONS, Console
from simulator.amps.fault_injection import Asked
from simulator.amps.world import AmpsWorld
from simulator.http.server import Incoming, Mishap, Outgoing
from simulator.lab.amps.tree import NoNode, as_csv, as_json, as_xml, cut_out, leaf
from simulator.lab.command_log import CommandLog, Kind
from simulator.solace.appliance import NoSuchObject, Refused
from simulator.world.fault_lines import AnswerFault

_INSTANCE, _ADMINISTRATOR = "instance", "administrator"
_STAMP = re.compile(r"\d{8}T\d{6}")
_TYPES: Mapping[str, str] = {"json": "application/json", "xml": "text/xml", "csv": "text/csv"}
_CHECKS = frozenset(
    f"authorization/entitlement/{spelled}/amps-admin/check.json" for spelled in ("transport", "transports")
)
_GARBAGE = b"\xef\xbf\xbd\x07~#>{%garbage%}<#~\x00\n"


@dataclass(frozen=True, slots=True)
class Gate:
    """The access control. ``login``: ``user:password`` for basic authentication, or None. ``anonymous``: an
    expression for paths without authentication (AnonymousPaths). ``denied``: an expression for paths that are refused
    to all users."""

    login: str | None = None
    anonymous: str = "^/amps$"
    denied: str | None = None


class _Problem(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class AmpsAdmin:
    """One instance's administration. ``log`` records every request before it is obeyed. ``address`` appears in the served
    configuration."""

    def __init__(
        self,
        world: AmpsWorld,
        instance: str,
        log: CommandLog,
        *,
        gate: Gate | None = None,
        address: Callable[[], str] = lambda: "localhost:8085",
    ) -> None:
        self._world = world
        self._name = instance
        self._log = log
        self._gate = gate if gate is not None else Gate()
        self._address = address

    def __call__(self, request: Incoming) -> Outgoing:
        with self._world.request():
            console = self._world.console(self._name)
            if not console.answers:
                return Outgoing(503, mishap="drop" if console.instance.phase == "down" else "freeze")
            try:
                return self._answer(console, request)
            except _Problem as problem:
                headers = {"WWW-Authenticate": 'Basic realm="AMPS Admin"'} if problem.status == 401 else {}
                return Outgoing(problem.status, f"{problem}\n".encode(), "text/plain", headers)

    def _answer(self, console: Console, request: Incoming) -> Outgoing:
        url = urlsplit(request.target)
        parts = tuple(unquote(part) for part in url.path.split("/")[1:])
        acts = parts[:2] == ("amps", _ADMINISTRATOR) and "check.json" not in parts
        asked = Asked("action" if acts else "look", self._name, parts[-1] if acts else "")
        fault = self._world.answer_fault(asked)
        self._record(request, "change" if acts else "show")
        try:
            self._world.notice(asked)
        except Refused as refusal:
            raise _Problem(403, str(refusal)) from refusal
        self._let_in(url.path, request, fault)
        if request.method != "GET" or request.body:
            raise _Problem(405, "only GET is served here, without a body")
        if parts[0] in ("amps.json", "amps.xml"):  # the whole tree
            parts = ("amps", f"{_INSTANCE}.{parts[0].partition('.')[2]}")
        if parts[0] != "amps" or "" in parts[1:]:
            raise _Problem(404, f"there is nothing at {url.path}")
        query = _query_of(url.query)
        if acts:
            return self._act(console, parts[2:], query, fault)
        answer = self._look(console, parts[1:], query, url.path)
        return _spoilt(answer, fault)

    def _let_in(self, path: str, request: Incoming, fault: AnswerFault | None) -> None:
        gate = self._gate
        is_wrong = fault is not None and fault.kind == "wrong password"
        if gate.login is not None and not re.search(gate.anonymous, path):
            kind, _, proof = request.headers.get("authorization", "").partition(" ")
            wanted = base64.b64encode(gate.login.encode()).decode()
            if kind.lower() != "basic" or not hmac.compare_digest(proof.strip(), wanted) or is_wrong:
                raise _Problem(401, "authentication is required")
        elif is_wrong:
            raise _Problem(401, "authentication is required")
        if gate.denied is not None and re.search(gate.denied, path):
            raise _Problem(403, "not entitled")

    # Readings

    def _look(self, console: Console, parts: Sequence[str], query: Mapping[str, str], path: str) -> Outgoing:
        if parts and parts[0] == _ADMINISTRATOR:
            return self._check(console, parts[1:], query)
        if not parts:
            return Outgoing(200, b"<html><body>AMPS (SIMULATED)</body></html>", "text/html")
        *nodes, last = parts
        name, dot, format_ = last.rpartition(".")
        if not dot or format_ not in _TYPES:
            raise _Problem(404, f"{path}: a node ends in .json, .xml or .csv")
        nodes.append(name)
        if nodes == ["amps"] or nodes[0] != _INSTANCE:
            raise _Problem(404, f"there is nothing at {path}")
        if nodes[1:2] and nodes[1] in self._world.layout.assume.absent_nodes:
            raise _Problem(404, f"{path}: this edition has no {nodes[1]}")
        if nodes == [_INSTANCE, "config"] and format_ == "xml":
            text = configuration_xml(self._world.layout, console.layout, admin=self._address())
            return Outgoing(200, text.encode(), _TYPES["xml"])
        try:
            return self._node(console, nodes[1:], format_, query)
        except NoNode as missing:
            raise _Problem(404, f"{path}: there is no {missing}") from missing
        except NoSuchObject as missing:
            raise _Problem(404, f"{path}: {missing}") from missing

    def _node(self, console: Console, path: Sequence[str], format_: str, query: Mapping[str, str]) -> Outgoing:
        if len(path) == 3 and path[0] == "queues" and path[2] == "details":  # live, not sampled
            tree = {"queues": [{"id": path[1], "details": dict(console.details(path[1]))}]}
            return Outgoing(200, as_json(tree) if format_ == "json" else as_xml(tree), _TYPES[format_])
        trees = _chosen(console, query)
        if format_ == "csv":
            history = [(str(one["timestamp"]), leaf(one, path)) for one in trees]
            return Outgoing(200, as_csv(history), _TYPES["csv"])
        if len(trees) != 1 and query:
            raise _Problem(400, "t0 and t1 of a node that is no leaf must be one existing timestamp")
        if not trees:
            raise _Problem(503, "no statistics have been taken yet")
        tree = cut_out(trees[-1], path)
        return Outgoing(200, as_json(tree) if format_ == "json" else as_xml(tree), _TYPES[format_])

    def _check(self, console: Console, parts: Sequence[str], query: Mapping[str, str]) -> Outgoing:
        """Answer whether this action is allowed, without running it. The documentation spells ``transport`` in two
        ways."""
        fits = (
            len(parts) == 5
            and parts[:2] == ("authorization", "entitlement")
            and parts[2] in ("transport", "transports")
        )
        if not fits or parts[3:] != ("amps-admin", "check.json"):
            raise _Problem(404, "there is no such check")
        if set(query) != {"path"}:
            raise _Problem(400, "check takes a path")
        granted = self._gate.denied is None or not re.search(self._gate.denied, query["path"])
        return Outgoing(200, b"true" if granted else b"false", _TYPES["json"])

    # Actions

    def _act(
        self, console: Console, parts: Sequence[str], query: Mapping[str, str], fault: AnswerFault | None
    ) -> Outgoing:
        if query:
            raise _Problem(400, "an action takes no parameter")
        *where, action = parts or ("",)
        target = _target(where, action)
        if fault is not None and fault.kind in ("lose request", "late"):
            if fault.kind == "late":
                self._world.obey_later(self._name, action, target, fault.late)
            return Outgoing(200, mishap="freeze")
        try:
            if target:
                console.obey(action, target)
        except NoSuchObject as missing:
            raise _Problem(404, str(missing)) from missing
        except Refused as refusal:
            raise _Problem(403, str(refusal)) from refusal
        # Assumption: the answer to an action is not documented.
        return _spoilt(Outgoing(200, b"ok\n", "text/plain"), fault)

    def _record(self, request: Incoming, kind: Kind) -> None:
        line = f"{request.method} {request.target}"
        self._log.record(user="admin", origin=f"http {request.peer}", session=0, mode="admin", kind=kind, line=line)


def _query_of(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True) if text else []
    except ValueError as error:
        raise _Problem(400, f"a query that cannot be read: {text}") from error
    if len({name for name, _ in pairs}) != len(pairs):
        raise _Problem(400, "a parameter is there twice")
    return dict(pairs)


def _chosen(console: Console, query: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    """The newest sample. With ``t0`` and ``t1`` (UTC, ``YYYYMMDDThhmmss``): the samples between them, inclusive."""
    if not query:
        return [console.tree_of(one) for one in console.samples[-1:]]
    if set(query) != {"t0", "t1"} or not all(_STAMP.fullmatch(one) for one in query.values()):
        raise _Problem(400, "t0 and t1 are given together, each as YYYYMMDDThhmmss")
    trees = map(console.tree_of, console.samples)
    return [one for one in trees if query["t0"] <= str(one["timestamp"])[:15] <= query["t1"]]


def _target(where: Sequence[str], action: str) -> str:
    """The target of an action: ``transports/1`` for ``transports/1/disable``. Empty for an action without effect here."""
    match where:
        case ["transaction_log", "journals", id_]:
            return f"journals/{id_}"
        case ["diagnostics"] if action == "dump":
            return ""
        case [("replication" | "transports" | "clients" | "queues" | "sow") as kind, id_] if action in ACTIONS[kind]:
            return f"{kind}/{id_}"
    raise _Problem(404, "there is no such action")


def _spoilt(answer: Outgoing, fault: AnswerFault | None) -> Outgoing:
    mishap: Mishap | None = None
    match fault.kind if fault is not None else None:
        case "lose reply":
            mishap = "drop"
        case "truncate reply":
            mishap = "cut"
        case "garbage reply":
            return Outgoing(answer.status, _GARBAGE, answer.content_type)
        case "lose request":
            mishap = "freeze"
    return Outgoing(answer.status, answer.body, answer.content_type, answer.headers, mishap)
