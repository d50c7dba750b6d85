"""The editions of the simulated AMPS instances: possible differences in the answers of a real administration interface.

60East documents paths and fields, not these answers (docs/sources/amps.md, 6 and 12). So each edition is an assumption,
and a reader must work with it. An edition changes one outgoing answer. Nothing here depends on an instance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simulator.http.server import Handler, Incoming, Outgoing
from simulator.lab.catalogue import Catalogue, Named

Wait = Callable[[float], object]
# From a request, a call that returns the plain answer, and a function that waits, to the answer that is sent.
Sending = Callable[[Incoming, Callable[[], Outgoing], Wait], Outgoing]

_INSTANCE, _ACTIONS = "/amps/instance/", "/amps/administrator/"
_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2}\.\d+)Z")
_FLAGS = frozenset({"is_enabled", "is_connected", "is_archived", "is_compressed"})
_WORDS = {"1": "true", "0": "false"}


def with_editions(handler: Handler, names: Iterable[str], wait: Wait) -> Handler:
    """``handler`` with the named editions. ``wait`` sleeps for the given seconds, or until the lab stops.

    Raises ``DefinitionError`` with the list.
    """
    for sending in INSTANCES.chosen(names):
        handler = _behind(sending, handler, wait)
    return handler


def _behind(sending: Sending, handler: Handler, wait: Wait) -> Handler:
    return lambda request: sending(request, lambda: handler(request), wait)


# Missing resources


def _is_action(request: Incoming) -> bool:
    return request.target.startswith(_ACTIONS) and "check.json" not in request.target


def _asks_for(request: Incoming, node: str) -> bool:
    return re.fullmatch(rf"{_INSTANCE}{node}\.(?:json|xml|csv)", request.target.partition("?")[0]) is not None


def _without_node(node: str) -> Sending:
    def sending(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
        answer = ask()
        missing = Outgoing(404, f"there is nothing at {request.target}\n".encode(), "text/plain")
        return missing if answer.status == 200 and _asks_for(request, node) else answer

    return sending


def _empty_is_missing(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
    """Answer 404 for the resource ``queues`` of an instance without queues."""
    answer = ask()
    tree = _tree_of(answer)
    is_empty = tree is not None and _asks_for(request, "queues") and not tree.get("queues")
    return Outgoing(404, b"there are no queues\n", "text/plain") if is_empty else answer


# Changed contents


def _on_tree(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Sending:
    """Apply ``change`` to ``amps.instance`` in every answer that has it."""

    def sending(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
        answer = ask()
        tree = _tree_of(answer)
        if tree is None:
            return answer
        body = json.dumps({"amps": {"instance": change(tree)}}, separators=(",", ":"))
        return replace(answer, body=body.encode())

    return sending


def _tree_of(answer: Outgoing) -> Mapping[str, Any] | None:
    if answer.status != 200 or answer.mishap is not None or answer.content_type != "application/json":
        return None
    try:
        found = json.loads(answer.body)
    except ValueError:  # a fault already damaged the answer
        return None
    tree = found.get("amps", {}).get("instance") if isinstance(found, dict) else None
    return tree if isinstance(tree, dict) else None


def _each(change: Callable[[str, Any], Any]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Apply ``change`` to the name and value of every leaf of the tree."""

    def walk(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(key, inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(name, one) for one in value]
        return change(name, value)

    return lambda tree: {key: walk(key, value) for key, value in tree.items()}


def _word(name: str, value: Any) -> Any:
    return _WORDS.get(value, value) if name in _FLAGS else value


def _other_time(name: str, value: Any) -> Any:
    return _STAMP.sub(r"\1-\2-\3 \4:\5:\6", value) if isinstance(value, str) else value


def _members_without(collection: str, field: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    def change(tree: Mapping[str, Any]) -> Mapping[str, Any]:
        members = tree.get(collection)
        if not isinstance(members, list):
            return tree
        kept = [{key: value for key, value in one.items() if key != field} for one in members]
        return {**tree, collection: kept}

    return change


def _without_empty(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in tree.items() if value != []}


# Changed handling of requests


def _redirects(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
    answer = ask()
    if not _is_action(request) or answer.status != 200 or answer.mishap is not None:
        return answer
    return Outgoing(302, b"", "text/plain", {"Location": "/amps"})


def _takes_post_only(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
    if not _is_action(request):
        return ask()
    return Outgoing(405, b"an action takes POST\n", "text/plain", {"Allow": "POST"})


def _negotiates(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
    """The default of Admin's WWWAuthenticate: passwords are not accepted (configuration guide, "Admin")."""
    if request.target == "/amps":
        return ask()
    return Outgoing(401, b"authentication is required\n", "text/plain", {"WWW-Authenticate": "Negotiate"})


def _included(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
    """The served configuration is the original file, and most of its content is in an included file."""
    answer = ask()
    if answer.status != 200 or request.target != f"{_INSTANCE}config.xml":
        return answer
    name = re.search(rb"<Name>[^<]*</Name>", answer.body)
    text = b"<AMPSConfig>" + (name[0] if name else b"") + b"<Include>/etc/amps/common.xml</Include></AMPSConfig>"
    return replace(answer, body=text)


def _late(seconds: float) -> Sending:
    def sending(request: Incoming, ask: Callable[[], Outgoing], wait: Wait) -> Outgoing:
        answer = ask()
        wait(seconds)
        return answer

    return sending


def _one(sending: Sending) -> Callable[[float], Sending]:
    return lambda _: sending


_ENTRIES: Sequence[Named[Sending]] = (
    Named("no-group", "404 on /amps/instance/group, which the guide does not list.", _one(_without_node("group"))),
    Named("no-queues", "404 on /amps/instance/queues.", _one(_without_node("queues"))),
    Named("queues-if-any", "404 on /amps/instance/queues where there is no queue.", _one(_empty_is_missing)),
    Named("action-redirects", "An action is done; its answer is 302, to a page.", _one(_redirects)),
    Named("post-only", "An action on GET is refused: 405.", _one(_takes_post_only)),
    Named("word-flags", 'Flags are "true" and "false".', _one(_on_tree(_each(_word)))),
    Named("nameless-links", "Links have no name.", _one(_on_tree(_members_without("replication", "name")))),
    Named("typeless-transports", "A transport has no type.", _one(_on_tree(_members_without("transports", "type")))),
    Named("empty-left-out", "An empty list is left out.", _one(_on_tree(_without_empty))),
    Named("other-times", "Moments are written 2025-01-01 00:00:10.000000.", _one(_on_tree(_each(_other_time)))),
    Named("include", "config.xml is served as written, with an <Include>.", _one(_included)),
    Named("negotiate", "401 with WWW-Authenticate: Negotiate, whatever the login.", _one(_negotiates)),
    Named("late", "Each answer comes so many seconds late.", _late, 1.5),
)
INSTANCES: Catalogue[Sending] = Catalogue("AMPS instances", _ENTRIES)
