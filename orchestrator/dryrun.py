"""A look ahead that changes nothing: what holds now, and every command that would be sent, per site and in order.

Two walls keep it harmless: the adapters it uses are made ``read_only``, so that their sessions have no way to send a
changing command, and ``ReadOnly`` hands on the reading half of an adapter alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator import events as ev
from orchestrator.clock import Clock
from orchestrator.contract import ActionSpec, Adapter, Call, Failure
from orchestrator.decide.judge import judge_one
from orchestrator.errors import AdapterError
from orchestrator.readings import QueueDepth, Reading, Transactions, matches
from orchestrator.runbook import Check, Do, Side, Step
from orchestrator.state import Lane


class ReadOnly:
    """An adapter that can only look: there is no ``apply`` on it to call."""

    def __init__(self, adapter: Adapter) -> None:
        self._probe = adapter.probe
        self.actions: Mapping[str, ActionSpec] = adapter.actions

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """As ``contract.Adapter.probe``."""
        return self._probe(reading, services)


@dataclass(frozen=True, slots=True)
class CheckNow:
    """A check as it stands. ``holds`` None: unknown now; ``later``: it speaks of a state the run has yet to make."""

    site: str
    text: str
    holds: bool | None
    later: bool


@dataclass(frozen=True, slots=True)
class StepPreview:
    """One step of one service: its checks, and the commands it would send as (site, command line)."""

    id: str
    title: str
    checks: tuple[CheckNow, ...]
    commands: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    point_of_no_return: bool = False


@dataclass(frozen=True, slots=True)
class LanePreview:
    """What a run would do for one service, judged now."""

    service: str
    steps: tuple[StepPreview, ...]

    @property
    def would_refuse(self) -> str:
        """Why a run started now would refuse, or empty."""
        for step in self.steps:
            for check in step.checks:
                if not check.later and check.holds is not True:
                    return check.text
        return ""


def preview(plan: ev.Plan, adapters: Mapping[Side, ReadOnly], clock: Clock) -> list[LanePreview]:
    """Read once what can be read, and lay the runbook out for every service of ``plan``."""
    seen = _read(plan, adapters, clock)
    return [_lane(plan, adapters, service, seen[service]) for service in plan.services]


def _read(plan: ev.Plan, adapters: Mapping[Side, ReadOnly], clock: Clock) -> dict[str, list[ev.Seen]]:
    wanted = dict.fromkeys(ask for step in plan.runbook.steps for ask in _asks(step))
    seen: dict[str, list[ev.Seen]] = {service: [] for service in plan.services}
    for on, reading in wanted:
        asked_at = clock.now()
        try:
            answers = adapters[on].probe(reading, plan.services)
        except AdapterError as error:
            answers = dict.fromkeys(plan.services, Failure.of(error))
        for service in plan.services:
            found = answers.get(service) or Failure(kind="UnreadableReply", text="no answer")
            seen[service].append(
                ev.Seen(on=on, reading=reading, asked_at=asked_at, failure=found)
                if isinstance(found, Failure)
                else ev.Seen(on=on, reading=reading, asked_at=asked_at, value=found)
            )
    return seen


def _asks(step: Step) -> list[tuple[Side, str]]:
    asks: list[tuple[Side, str]] = [(check.on, check.reading) for check in (*step.require, *step.until, *step.guard)]
    if step.for_each is not None:
        asks.append((step.for_each.on, step.for_each.reading))
    return asks


def _lane(plan: ev.Plan, adapters: Mapping[Side, ReadOnly], service: str, seen: Sequence[ev.Seen]) -> LanePreview:
    lane = replace(Lane(service), seen=tuple(seen), seen_mark=0)
    steps, changed = [], False
    for step in plan.runbook.steps:
        steps.append(_step(plan, adapters, lane, step, changed))
        changed = changed or step.changes
    return LanePreview(service, tuple(steps))


def _step(plan: ev.Plan, adapters: Mapping[Side, ReadOnly], lane: Lane, step: Step, changed: bool) -> StepPreview:
    checks = [_check(plan, lane, check, later=changed) for check in step.require]
    checks += [_check(plan, lane, check, later=True) for check in (*step.until, *step.guard, *step.expect)]
    commands: list[tuple[str, str]] = []
    if step.do is not None and step.for_each is None:
        commands = _commands(plan, adapters, lane, step.do, step.do.args)
    if step.for_each is not None:
        commands = [
            command for do in _item_calls(plan, lane, step) for command in _commands(plan, adapters, lane, *do)
        ]
    return StepPreview(
        step.id, step.title, tuple(checks), tuple(commands), tuple(_notes(plan, lane, step)), step.point_of_no_return
    )


def _check(plan: ev.Plan, lane: Lane, check: Check, *, later: bool) -> CheckNow:
    site = plan.site_name(check.on)
    wanted = ", ".join(f"{name.replace('_', ' ')} {_wanted(value)}" for name, value in check.where.items())
    if later:
        return CheckNow(site, f"{site}: {wanted}", None, True)
    verdict = judge_one(plan, lane, check)
    return CheckNow(site, verdict.why or f"{site}: {wanted}", verdict.holds, False)


def _wanted(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _commands(
    plan: ev.Plan, adapters: Mapping[Side, ReadOnly], lane: Lane, do: Do, args: Mapping[str, str]
) -> list[tuple[str, str]]:
    spec = adapters[do.on].actions[do.action]
    return [(plan.site_name(do.on), line) for line in spec.commands(Call(lane.service, args))]


def _item_calls(plan: ev.Plan, lane: Lane, step: Step) -> Iterator[tuple[Do, Mapping[str, str]]]:
    """The calls for the items that are listed now and have a decision already."""
    assert step.for_each is not None
    assert step.do is not None
    for item in _items_now(plan, lane, step):
        ruling = plan.policy.transactions.get(item)
        if ruling is None:
            continue
        outcome = {"outcome": str(ruling.choice)} if step.decide is not None else {}
        yield step.do, {**step.do.args, "xid": item, **outcome}


def _items_now(plan: ev.Plan, lane: Lane, step: Step) -> list[str]:
    """Items of the step as they are listed now; for a step that follows up on decisions, those to be decided."""
    assert step.for_each is not None
    each = step.for_each
    if each.decided_in is not None:
        earlier = plan.runbook.steps[plan.runbook.index_of(each.decided_in)]
        return _items_now(plan, lane, earlier)
    seen = lane.reading(each.on, each.reading)
    if seen is None or not isinstance(seen.value, Transactions):
        return []
    return [item.key for item in seen.value.items if matches(item, each.where)]


def _notes(plan: ev.Plan, lane: Lane, step: Step) -> Iterator[str]:
    if step.for_each is not None:
        items = _items_now(plan, lane, step)
        undecided = [item for item in items if item not in plan.policy.transactions]
        if step.decide is not None and undecided:
            yield f"prepared now, decision needed: {', '.join(undecided)}"
        elif not items:
            yield "none at the moment"
    if step.progress is not None:
        seen = lane.reading(step.progress.on, step.progress.reading)
        if seen is not None and isinstance(seen.value, QueueDepth) and seen.value.messages is not None:
            yield f"{seen.value.messages} messages in the queue now"
    if step.when_guard_breaks is not None:
        rule = step.when_guard_breaks
        chosen = plan.policy.on_gate.get(rule.gate, rule.unattended)
        yield f"if the bridge is lost for {rule.grace:g}s: {' / '.join(rule.choices)} (unattended: {chosen})"
