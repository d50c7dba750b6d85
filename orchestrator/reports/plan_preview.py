"""The words of a previewed plan: the moves, the expected outcome of a run, and the only question. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from orchestrator.counting import counted
from orchestrator.engine.dry_run import LanePreview
from orchestrator.model import events as ev
from orchestrator.model.families import amount
from orchestrator.model.runbook import format_duration
from orchestrator.reports.next_steps import after_refusal

LANES_IN_FULL = 5
_NAMES_WIDE = 30  # the most characters of names in a question
_NUMBER = re.compile(r"\d[\d,.]*")
_NOTHING_CHECKED = (
    "NOTHING COULD BE CHECKED: this plan reads nothing before it acts, and the effect of its commands is unknown."
)


def question(plan: ev.Plan) -> str:
    """The question that is asked once, before the run starts. It names the services and the sites."""
    names = ", ".join(plan.services)
    services = names if len(names) <= _NAMES_WIDE else counted(len(plan.services), "service")
    marker = "SIMULATED  " if plan.simulated else ""
    kind = plan.runbook.runbook.rpartition("/")[2]
    if kind.startswith("repair"):
        return f"{marker}Make {plan.target} the only active site of {services}, and {plan.source} standby, now?"
    if kind.startswith("restore"):
        return f"{marker}Bring {plan.source} back as the mate of {plan.target} for {services} now?"
    if kind == "proxied-transfer":
        return f"{marker}Let {plan.target} deliver the queue messages of {services} that {plan.source} owned, now?"
    if kind == "suspend":
        return f"{marker}Let {plan.target} suspend the replication of {services} when its queue is full?"
    if kind.startswith("uncontrolled"):
        return f"{marker}Fail over {services} from {plan.source} to {plan.target} now?"
    if kind.startswith("failback"):
        return f"{marker}Fail back {services} from {plan.source} to {plan.target} now?"
    return f"{marker}Move {services} from {plan.source} to {plan.target} now?"


def headline(plan: ev.Plan, what: str) -> Iterator[str]:
    """Lines with the runbook, both sides with their devices, the notes, and the required approvals."""
    marker = "SIMULATED  " if plan.simulated else ""
    sites = plan.inventory.sites
    yield f"{marker}{plan.runbook.runbook}: {what}"
    yield f"  {plan.runbook.summary}"
    for side, name in (("source", plan.source), ("target", plan.target)):
        devices = ", ".join(device.name for device in sites[name].devices)
        title = f" ({sites[name].title})" if sites[name].title else ""
        yield f"  {side}: {name}{title} on {devices}"
    for note in plan.notes:
        yield f"  {note}"
    rule = plan.approval
    if rule is not None:
        people = "1 other person" if rule.needed == 1 else f"{rule.needed} other people"
        worth = "" if rule.signed else " (their approvals are not signed)"
        yield (
            f"  the run starts only after {people} approved it, within {format_duration(rule.within)}: failover "
            f"approve{worth}"
        )


def conclusion(plan: ev.Plan, lanes: Sequence[LanePreview], held: Mapping[str, str]) -> Iterator[str]:
    """Lines that state if a run can start. They come last, because earlier lines may have left the screen."""
    for service, run in held.items():
        yield f"{service} belongs to run {run}, which has not finished, so a new run would be locked out."
    for run in dict.fromkeys(held.values()):
        yield (
            f"Show run {run} with `failover runs show {run}`; end it with `failover resume {run}` or `failover abort "
            f"{run}`."
        )
    refusing = [lane for lane in lanes if lane.would_refuse]
    if refusing:
        yield f"A new run would refuse: {', '.join(lane.service for lane in refusing)}"
        for lane in refusing[:LANES_IN_FULL]:
            yield f"  {lane.service}: {verdict(lane)}"
            if (lane.is_refused or lane.remedy) and lane.service not in held:
                yield f"    what to do: {_advice(plan, lane)}"
    if not refusing and not held:
        yield holds(lanes) if is_any_checked(lanes) else _NOTHING_CHECKED
    for lane in lanes:
        if not lane.would_refuse and verdict(lane):
            yield f"{lane.service}: {verdict(lane)}"


def holds(lanes: Sequence[LanePreview]) -> str:
    """The sentence for a run that would not refuse. Other lines state if the run would stop or ask."""
    rest = " other" if any(map(verdict, lanes)) else ""
    return f"Every{rest} check that is possible now passes."


def verdict(lane: LanePreview) -> str:
    """The reason why a run started now would refuse, stop or ask. Empty if no reason is known."""
    if lane.would_refuse:
        return f"WOULD REFUSE: {lane.would_refuse}"
    if lane.would_stop:
        return f"WOULD STOP: {lane.would_stop}"
    return f"WOULD ASK: {lane.would_ask}" if lane.would_ask else ""


def sorted_out(lanes: Sequence[LanePreview]) -> tuple[list[LanePreview], list[LanePreview]]:
    """The lanes to show in full, and the lanes to show as a row. If there are many services, the full lanes are the
    services that differ, then one of the services that are alike. The rows are the other alike services."""
    if len(lanes) <= LANES_IN_FULL:
        return list(lanes), []
    kinds = [_kind(lane) for lane in lanes]
    [(usual, _)] = Counter(kinds).most_common(1)
    alike = [lane for lane, kind in zip(lanes, kinds, strict=True) if kind == usual]
    others = [lane for lane, kind in zip(lanes, kinds, strict=True) if kind != usual]
    return [*others, alike[0]], alike[1:]


def _kind(lane: LanePreview) -> Hashable:
    """A key that is equal for services that are alike. It has the results of checks, the commands and decisions, and the
    notes without their numbers."""
    return tuple(
        (
            step.id,
            tuple((check.holds, check.later) for check in step.checks),
            frozenset((command.purpose, command.when) for command in step.commands),
            tuple(_NUMBER.sub("#", note) for note in step.notes),
        )
        for step in lane.steps
    )


def queued(plan: ev.Plan, lane: LanePreview) -> str:
    """The present backlog of the service, after a semicolon. Empty if the backlog is unknown."""
    gauge = next((step.gauge for step in lane.steps if step.gauge is not None), None)
    return "" if gauge is None else f"; {amount(gauge, plan.runbook.family)} in the queue now"


def is_any_checked(lanes: Sequence[LanePreview]) -> bool:
    """Was any check judged by present readings?"""
    return any(not check.later for lane in lanes for step in lane.steps for check in step.checks)


def _advice(plan: ev.Plan, lane: LanePreview) -> str:
    return after_refusal(plan.runbook.runbook, plan.source, plan.target, lane)
