"""Builders with sane defaults: plans, lanes in any stage, readings. Tests name only what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.solace.reading_models import (
    Bridge,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.core.decide import Next, Observe, decide
from orchestrator.core.run import Intent, Lane, Stage, fold_lane
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from orchestrator.model.runbook import Runbook, Side, Step

T0 = 1_800_000_000.0
Data = Mapping[str, Any]

CHECK: Data = {
    "id": "bridge-bound",
    "title": "The bridge is bound",
    "require": [
        {"on": "source", "reading": "replication", "where": {"role": "active", "queue_bound": True}},
        {"on": "target", "reading": "replication", "where": {"role": "standby", "bridge": "bound"}},
    ],
}
DEMOTE: Data = {
    "id": "demote",
    "title": "The source gives up activity",
    "do": {"on": "source", "action": "set_role", "role": "standby"},
    "expect": [{"on": "source", "reading": "replication", "where": {"role": "standby"}}],
    "undo": {
        "require": [{"on": "target", "reading": "replication", "where": {"role": "standby"}}],
        "do": {"on": "source", "action": "set_role", "role": "active"},
        "expect": [{"on": "source", "reading": "replication", "where": {"role": "active"}}],
    },
}
DRAIN: Data = {
    "id": "drain",
    "title": "The replication queue drains",
    "until": [{"on": "source", "reading": "replication_queue", "where": {"drained": True}}],
    "guard": [{"on": "target", "reading": "replication", "where": {"bridge": "bound"}, "say": "the bridge is lost"}],
    "when_guard_breaks": {
        "grace": "60s",
        "gate": "bridge-lost",
        "choices": ["wait", "revert", "escalate"],
        "unattended": "revert",
    },
    "progress": {"on": "source", "reading": "replication_queue", "field": "messages"},
    "when_stalled": {
        "after": "2m",
        "gate": "drain-stalled",
        "choices": ["wait", "revert", "escalate"],
        "unattended": "revert",
    },
    "poll": {"min": "50ms", "max": "1s"},
}
COMPLETE: Data = {
    "id": "transactions",
    "title": "Prepared transactions are decided",
    "for_each": {"on": "source", "reading": "transactions", "where": {"state": "prepared", "replicated": True}},
    "decide": {"gate": "xa", "choices": ["commit", "rollback"]},
    "do": {"on": "source", "action": "complete_transaction"},
}
ACTIVATE: Data = {
    "id": "activate",
    "title": "The target takes over activity",
    "point_of_no_return": True,
    "require": [
        {"on": "source", "reading": "replication", "where": {"role": "standby"}},
        {"on": "target", "reading": "replication", "where": {"role": "standby"}},
    ],
    "do": {"on": "target", "action": "set_role", "role": "active"},
    "expect": [{"on": "target", "reading": "replication", "where": {"role": "active"}}],
}
DELETE_AT_SOURCE: Data = {
    "id": "delete-at-source",
    "title": "Completed transactions are deleted at the source",
    "for_each": {
        "on": "source",
        "reading": "transactions",
        "where": {"state": "complete"},
        "decided_in": "transactions",
    },
    "do": {"on": "source", "action": "delete_transaction"},
}
DELETE_AT_TARGET: Data = {
    "id": "delete-at-target",
    "title": "Completed transactions that were left are deleted at the target",
    "delay": "5s",
    "for_each": {
        "on": "target",
        "reading": "transactions",
        "where": {"state": "complete"},
        "decided_in": "transactions",
    },
    "do": {"on": "target", "action": "delete_transaction"},
}
CONTROLLED = (CHECK, DEMOTE, DRAIN, COMPLETE, ACTIVATE, DELETE_AT_SOURCE, DELETE_AT_TARGET)


def a_runbook(*steps: Data) -> Runbook:
    """The controlled fail-over, or a runbook of just these steps."""
    return Runbook.model_validate(
        {"runbook": "scripted/controlled", "summary": "A test.", "steps": list(steps or CONTROLLED)}
    )


def an_inventory(services: Sequence[str] = ("Trading",)) -> Inventory:
    def site(name: str) -> Data:
        return {"adapter": "scripted", "devices": [{"name": f"{name}-1", "address": f"{name}.example"}]}

    return Inventory.model_validate(
        {
            "sites": {"ny": site("ny"), "nj": site("nj")},
            "pairs": [{"name": "east", "sites": ["ny", "nj"], "services": list(services)}],
        }
    )


def a_plan(*steps: Data, services: Sequence[str] = ("Trading",), policy: ev.Policy | None = None) -> ev.Plan:
    """From ny to nj: the controlled fail-over, or just these steps."""
    return ev.Plan(
        runbook=a_runbook(*steps),
        inventory=an_inventory(services),
        pair="east",
        source="ny",
        target="nj",
        services=tuple(services),
        policy=policy or ev.Policy(),
        simulated=True,
    )


def created(plan: ev.Plan | None = None) -> ev.RunCreated:
    return ev.RunCreated(plan=plan or a_plan(), by="ann", version="0.1.0")


def a_lane(**changes: Any) -> Lane:
    """A running lane at its first step, in stage ``require``, at ``T0``."""
    base = Lane(
        "Trading", status="running", stage=Stage.REQUIRE, mark=5, stage_at=T0, step_at=T0, known_at=T0, moved_at=T0
    )
    return replace(base, **changes)


def proving(
    effect: Effect,
    *,
    item: str | None = None,
    attempt: int = 1,
    at: float = T0,
    before: tuple[ev.Seen, ...] = (),
    repeatable: bool = False,
    **changes: Any,
) -> Lane:
    """A lane whose (last) action ended with ``effect`` at ``at``, and ``before`` which this was read."""
    ended: dict[str, Any] = {
        "effect": effect,
        "ended_at": at,
        "detail": "the device's word",
        "repeatable": repeatable,
    }
    intent = Intent(1, "set_role", attempt, item, at, before=before, **ended)
    return a_lane(
        **{"stage": Stage.PROVE, "stage_at": at, "known_at": at, "intents": (intent,), "intended": 1, **changes}
    )


def see(lane: Lane, *seen: ev.Seen, at: float | None = None, gauge: float | None = None) -> Lane:
    """The lane after one round of readings, asked under its present mark."""
    return fold_lane(
        lane, ev.Observed(mark=lane.mark, seen=seen, gauge=gauge), seen[0].asked_at if at is None else at
    )


def seen(on: Side, value: Reading, at: float = T0) -> ev.Seen:
    return ev.Seen(on=on, reading=value.kind, asked_at=at, value=value)


def unread(on: Side, reading: str, at: float = T0, *, kind: str = "Unreachable", text: str = "no route") -> ev.Seen:
    return ev.Seen(on=on, reading=reading, asked_at=at, failure=Failure(kind=kind, text=text))


def role(on: Side, value: Role | str | None, at: float = T0, **more: Any) -> ev.Seen:
    return seen(on, ReplicationStatus(enabled=True, role=None if value is None else Role(value), **more), at)


def bridge(value: Bridge | str | None, at: float = T0) -> ev.Seen:
    return role("target", "standby", at, bridge=None if value is None else Bridge(value))


def depth(messages: int | None, at: float = T0) -> ev.Seen:
    return seen("source", QueueDepth(messages=messages), at)


def a_transaction(xid: str = "1-a-b", state: str | None = "prepared", **more: Any) -> Transaction:
    given = {"type": "xa", "replicated": True, **more}
    return Transaction(xid=xid, state=None if state is None else TransactionState(state), **given)


def listing(*items: Transaction, on: Side = "source", at: float = T0) -> ev.Seen:
    return seen(on, Transactions(items=items), at)


def step_of(plan: ev.Plan, step_id: str) -> tuple[int, Step]:
    index = plan.runbook.index_of(step_id)
    return index, plan.runbook.steps[index]


def kinds(move: Next) -> list[str]:
    """What a decision wants recorded, by kind."""
    return [event.kind for event in move.events]


def asked(move: Next) -> list[tuple[str, str]]:
    """What a decision wants read, as (side, reading)."""
    return [ask for request in move.requests if isinstance(request, Observe) for ask in request.asks]


def after(lane: Lane, move: Next, at: float) -> Lane:
    """The lane after everything the decision wants recorded."""
    for event in move.events:
        lane = fold_lane(lane, event, at)
    return lane


def all_events(plan: ev.Plan, lane: Lane, now: float, *, attended: bool = False) -> list[ev.Event]:
    """Everything that one turn wants recorded: it decides until it has to wait."""
    events: list[ev.Event] = []
    while move := decide(plan, lane, now, attended=attended).events:
        events += move
        lane = after(lane, Next(events=move), now)
    return events


def wait_of(move: Next, at: float) -> float | None:
    """Seconds from ``at`` until the decision wants to be asked again; None when it does not wait for time."""
    return None if move.wake is None else round(move.wake - at, 6)
