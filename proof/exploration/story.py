"""Describes a counter-example in words: one line for each transition, with the ids of the runbook.

The description must never omit a fact that a person needs to follow it: step, outcome, decision, kill and readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from adapters.solace.reading_models import Endpoints, Transactions
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, describe, items_of
from proof.exploration.rules import RULES
from proof.exploration.search import Counterexample

# The fields of a reading that a line shows: those in which the models differ. For other readings, every known field.
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "replication": ("role", "bridge", "queue_bound"),
    "replication_queue": ("messages", "rejects_on_discard"),
    "health": ("spool_active",),
    "fence": ("closed", "open", "idle"),
    "external_fence": ("closed",),
    "reachability": ("answers", "role"),
    "other_manager": ("other_manager",),
    "instance": ("recovered",),
    "transports": ("open", "closed"),
    "clients": ("count",),
    "links": ("connected", "sync", "configured_sync", "behind_s", "keeping_up"),
    "queues": ("owned", "proxied"),
    "transaction_log": ("empty",),
    "bootstrap": ("configured", "empty"),
    "permissions": ("granted",),
}


def story(found: Counterexample) -> list[str]:
    """The way to the broken rule, line by line. The last line names the broken rule."""
    lines = [f"at first: {found.start}"]
    for what, events in found.ways:
        who, named, told = what.rpartition(": ")
        happened = f"{who}{named}{_readings(events)}" if told == "readings" else what
        then = ", ".join(_words(events))
        lines.append(f"{happened}: {then}" if then else happened)
    return [*lines, f"then {RULES[found.rule]}"]


def _readings(events: Iterable[ev.Event]) -> str:
    seen = next((event.seen for event in events if isinstance(event, ev.Observed)), ())
    return "read " + "; ".join(f"{one.on} {one.reading} {_value(one.value, one.failure)}" for one in seen)


def _value(value: Reading | None, failure: Failure | None) -> str:
    if value is None:
        return "unknown" if failure is None else f"not had ({failure.kind})"
    if isinstance(value, Transactions):
        return ", ".join(str(item.state) for item in value.items) or "none"
    if isinstance(value, Endpoints):
        return ", ".join(f"{item.messages} messages" for item in value.items)
    shown = _SHOWN.get(value.kind) or [name for name in type(value).model_fields if name not in ("kind", "items")]
    if not shown:
        return f"{len(items_of(value) or ())} listed"
    names = [name for name in shown if getattr(value, name) is not None]
    return f"({describe(value, names)})" if names else "unknown"


def _words(events: Iterable[ev.Event]) -> Iterator[str]:
    return (word for event in events if (word := _of_step(event) or _of_lane(event)))


def _of_step(event: ev.Event) -> str:
    match event:
        case ev.StepStarted():
            return f"step {event.step} begins"
        case ev.StepDone():
            return f"step {event.step} is done"
        case ev.StepSkipped():
            return f"step {event.step} is left out"
        case ev.StepFailed():
            return f"{'taking back' if event.undo else 'step'} {event.step} fails"
        case ev.ActionIntended():
            args = "".join(f" {value}" for name, value in sorted(event.args.items()) if name != "xid")
            return f"{'rolling back: ' if event.undo else ''}{event.action}{args} at the {event.on} is to be sent"
        case ev.UndoDone():
            return f"{event.step} is {'not rolled back' if event.skipped else 'rolled back'}"
        case _:
            return ""


def _of_lane(event: ev.Event) -> str:
    match event:
        case ev.DoubtResolved():
            return f"the doubt is settled: {'half an effect' if event.partly else 'no effect'}"
        case ev.GateOpened():
            return f"gate {event.gate} opens ({' / '.join(event.choices)}; unattended {event.unattended})"
        case ev.LaneEnded():
            return f"it ends {event.outcome}"
        case _:
            return _PLAIN.get(type(event), "")


_PLAIN: dict[type, str] = {
    ev.RevertStarted: "it rolls back",
    ev.Escalated: "it continues without the guarantee",
    ev.PointOfNoReturnPassed: "the point of no return is passed",
    ev.AbortDeclined: "it cannot be aborted",
    ev.GuardBroke: "the guard is broken",
    ev.Stalled: "it is stalled",
}
