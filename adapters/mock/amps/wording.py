"""The requests to a real instance, as plans show them. Nothing here connects."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.family.contract import ActionSpec, ArgumentSpec, Call, ReadingSpec

# Each action: its argument, the verb of each of its values, the collection, and a member of it in words.
VERBS = {
    "set_client_transports": (
        "state",
        {"enabled": "enable", "disabled": "disable"},
        "transports",
        "client transport",
    ),
    "set_link_mode": ("mode", {"sync": "upgrade", "async": "downgrade"}, "replication", "link to the mate"),
    "set_proxied_transfer": (
        "state",
        {"enabled": "enable_proxied_transfer", "disabled": "disable_proxied_transfer"},
        "queues",
        "queue",
    ),
}


def path_of(action: str, value: str, id_: str) -> tuple[str, str]:
    """The verb and the target (``transports/1``) of an action on one member."""
    _, verbs, collection, _ = VERBS[action]
    return verbs[value], f"{collection}/{id_}"


def request_line(verb: str, target: str) -> str:
    """The request as it is sent."""
    return f"GET /amps/administrator/{target}/{verb}"


def action_spec(name: str, summary: str) -> ActionSpec:
    """An action, with ``<…>`` in place of the ids that only the instance knows."""
    argument, verbs, collection, each = VERBS[name]

    def lines(call: Call) -> Sequence[str]:
        value = call.args.get(argument, f"<{argument}>")
        return (request_line(verbs.get(value, value), f"{collection}/<{each}>"),)

    return ActionSpec(
        name,
        summary,
        idempotent=True,
        commands=lines,
        arguments={argument: ArgumentSpec(choices=tuple(verbs))},
        inverse=name,
        batch=1,
    )


def reading_spec(name: str, summary: str, *nodes: str) -> ReadingSpec:
    """A reading of some nodes of the statistics."""
    lines = [f"GET /amps/instance/{node}" for node in nodes]
    return ReadingSpec(name, summary, lambda services: lines)
