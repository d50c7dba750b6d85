"""The three changes: the paths that each change requests, and one attempt at it. There is never a second attempt.

Sources: docs/sources/amps.md, 6.1 (actions by path), 9.2 (downgrade), 9.1 (proxied transfer). The ids are in the
collections that the instance shows. A path is requested regardless of the last sample, since the sample may be old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from adapters.amps.client import AdminWriter
from adapters.amps.config.model import REPLICATION_TYPES
from adapters.amps.document import Node, list_in, text_in
from adapters.amps.instances import AmpsInstance
from adapters.amps.paths import Collection, act_on
from orchestrator.counting import counted
from orchestrator.errors import AdapterError, CommandRejected, Forbidden, HostKeyRejected, NotObeyed, Unreachable
from orchestrator.family.contract import ActionSpec, ArgumentSpec, Call, Permit, Result
from orchestrator.model.outcome import Effect

_NEVER_LEFT = (Unreachable, HostKeyRejected, Forbidden)


class _Kind(NamedTuple):
    """One action: its argument and words, the verb of each word, and the collection that it changes."""

    argument: str
    verbs: Mapping[str, str]
    collection: Collection
    each: str
    summary: str


_KINDS: Mapping[str, _Kind] = {
    "set_client_transports": _Kind(
        "state",
        {"enabled": "enable", "disabled": "disable"},
        "transports",
        "client transport",
        "Let clients in, or disconnect them and keep them out",
    ),
    "set_link_mode": _Kind(
        "mode",
        {"sync": "upgrade", "async": "downgrade"},
        "replication",
        "link to the mate",
        "Choose whether publishers wait until the mate has acknowledged their messages",
    ),
    "set_proxied_transfer": _Kind(
        "state",
        {"enabled": "enable_proxied_transfer", "disabled": "disable_proxied_transfer"},
        "queues",
        "queue",
        "Choose whether this instance delivers the queue messages that a lost instance owned",
    ),
}


def links_out(node: Node) -> Sequence[Node] | None:
    """The links that start at this instance. An instance also lists links that end at it, as sources."""
    nodes = list_in(node, "replication")
    return None if nodes is None else [one for one in nodes if text_in(one, "client_type") != "source"]


def line_of(action: str, call: Call) -> str:
    """The request, with ``<…>`` in place of the ids that only the instance knows."""
    kind = _KINDS[action]
    word = call.args.get(kind.argument, f"<{kind.argument}>")
    return f"GET /amps/administrator/{kind.collection}/<{kind.each}>/{kind.verbs.get(word, word)}"


def check_call(action: str, call: Call) -> None:
    """Raise ``ValueError`` for a call that does not fit the declaration."""
    kind = _KINDS[action]
    if call.args.get(kind.argument) not in kind.verbs:
        raise ValueError(f"{kind.argument} of {action} must be one of {', '.join(kind.verbs)}")


def perform(instance: AmpsInstance, action: str, call: Call, permit: Permit) -> Result:
    """Make one attempt. A failure of the device is returned as a result. Only the refusal by ``permit`` is raised, and
    only while nothing of the call was sent."""
    writer = instance.writer
    if writer is None:
        raise Forbidden("this session is read-only", device=instance.device.name)
    kind = _KINDS[action]
    try:
        ids = _ids(instance, action, call.service)
        paths = [act_on(kind.collection, one, kind.verbs[call.args[kind.argument]]) for one in ids]
    except CommandRejected as error:
        return Result(call, Effect.REJECTED, detail=str(error), device=writer.device)
    except AdapterError as error:
        return Result(call, Effect.NOT_SENT, detail=f"not sent: {error}", device=writer.device)
    sent: list[str] = []
    for path in paths:
        try:
            permit.check()
        except NotObeyed as error:
            if not sent:
                raise
            return _half_done(writer, call, error, sent, len(paths))
        # Called also before the request is sent: its effect is unknown, so the last sample counts as old from now on.
        instance.samples.acted()
        try:
            writer.act(path)
        except AdapterError as error:
            if not isinstance(error, _NEVER_LEFT):
                sent.append(f"GET {path}")
                if len(sent) == 1:
                    return Result.of(call, error, sent)
            return _half_done(writer, call, error, sent, len(paths)) if sent else Result.of(call, error)
        finally:
            instance.samples.acted()
        sent.append(f"GET {path}")
    return Result(call, Effect.ACCEPTED, device=writer.device, sent=tuple(sent))


def _half_done(writer: AdminWriter, call: Call, error: AdapterError, sent: Sequence[str], wanted: int) -> Result:
    """The result when a part of ``call`` was obeyed, or may have been. Only a reading tells the present state."""
    detail = f"sent {len(sent)} of {counted(wanted, 'request')}, then failed: {error}"
    return Result(call, Effect.DOUBTFUL, detail=detail, device=writer.device, sent=tuple(sent))


def _ids(instance: AmpsInstance, action: str, service: str) -> list[str]:
    """The ids of the objects that ``action`` changes. Raises ``CommandRejected`` if there is none, or if there are too
    many."""
    return _FINDERS[action](instance, service)


def _transports(instance: AmpsInstance, service: str) -> list[str]:
    nodes = list_in(instance.reader.node("transports"), "transports") or []
    wanted = instance.of(service).client_transports
    if wanted is None:
        untold = [text_in(node, "name") or "one" for node in nodes if text_in(node, "type") is None]
        if untold:  # it may be the transport for the mate's link
            names = ", ".join(untold)
            raise _nothing(
                instance,
                f"the instance does not report the type of the transports {names}; set client_transports in the options",
            )
        nodes = [node for node in nodes if text_in(node, "type") not in REPLICATION_TYPES]
    else:
        missing = set(wanted) - {text_in(node, "name") for node in nodes}
        if missing:
            raise _nothing(instance, f"the instance has no transport named {', '.join(sorted(missing))}")
        nodes = [node for node in nodes if text_in(node, "name") in wanted]
    return _told(instance, nodes, "client transport")


def _link(instance: AmpsInstance, service: str) -> list[str]:
    nodes = links_out(instance.reader.node("replication")) or []
    wanted = instance.of(service).mate
    if wanted is not None:
        named = [node for node in nodes if wanted in (text_in(node, "name"), text_in(node, "destination_name"))]
        nodes = named or [node for node in nodes if text_in(node, "destination_group_name") == wanted]
    if len(nodes) > 1:
        raise _nothing(instance, "the instance has several links; set `mate` in the options to the name of one link")
    return _told(instance, nodes, "link to the mate")


def _queues(instance: AmpsInstance, service: str) -> list[str]:
    return _told(instance, list_in(instance.reader.node("queues"), "queues") or [], "queue")


_FINDERS: Mapping[str, Callable[[AmpsInstance, str], list[str]]] = {
    "set_client_transports": _transports,
    "set_link_mode": _link,
    "set_proxied_transfer": _queues,
}


def _told(instance: AmpsInstance, nodes: Sequence[Node], what: str) -> list[str]:
    ids = [text_in(node, "id") or "" for node in nodes]
    if not ids or "" in ids:
        raise _nothing(instance, f"the instance lists no {what}, or one without an id")
    return ids


def _nothing(instance: AmpsInstance, why: str) -> CommandRejected:
    return CommandRejected(f"{instance.device.name}: {why}", device=instance.device.name)


def permission_paths(instance: AmpsInstance, service: str) -> list[str]:
    """One path of each kind of action that is possible on this instance now, to check whether it is permitted."""
    paths = []
    for action, kind in _KINDS.items():
        try:
            ids = _ids(instance, action, service)
        except CommandRejected:
            continue  # no queue, or no link: nothing that could be refused
        paths += [act_on(kind.collection, ids[0], verb) for verb in kind.verbs.values()]
    return paths


def _spec(name: str) -> ActionSpec:
    kind = _KINDS[name]
    return ActionSpec(
        name,
        kind.summary,
        idempotent=True,
        commands=lambda call: (line_of(name, call),),
        arguments={kind.argument: ArgumentSpec(choices=tuple(kind.verbs))},
        inverse=name,
        batch=4,
    )


ACTIONS: Mapping[str, ActionSpec] = {name: _spec(name) for name in _KINDS}
