"""The plan on the screen: before a run is confirmed, and as the whole result of a dry run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import get_args

from orchestrator.cli.pairs.check import last_checks_of
from orchestrator.cli.render.terminal import is_attended, show, show_json
from orchestrator.engine.dry_run import CheckNow, LanePreview, preview
from orchestrator.engine.dry_run_lines import CommandAhead, Phase, ReadOnly
from orchestrator.errors import LeaseHeld
from orchestrator.journal.lease import claims, service_key
from orchestrator.model import events as ev
from orchestrator.model.families import amount
from orchestrator.model.runbook import format_duration
from orchestrator.operations.forecast import with_forecast
from orchestrator.operations.runtime import Tools
from orchestrator.reports.next_steps import after_refusal
from orchestrator.reports.report import EXIT_CODES

_LANES_IN_FULL = 5
_LOCKED, _REFUSED, _FINDINGS = LeaseHeld.exit_code, 3, 4
_NUMBER = re.compile(r"\d[\d,.]*")
_NOTHING_CHECKED = (
    "NOTHING COULD BE CHECKED: this plan reads nothing before it acts, and what its commands do is unknown here."
)
# Kinds of runbooks for which a pair has to be ready; in an outage nobody has the time to make it so.
_PLANNED = ("controlled", "failback")


def take_preview(tools: Tools, plan: ev.Plan, *, attended: bool) -> list[LanePreview]:
    """Read both sites through sessions that can only read."""
    with tools.adapters(plan, read_only=True) as adapters:
        sites = {side: ReadOnly(adapter) for side, adapter in adapters.items()}
        return preview(plan, sites, tools.clock, attended=attended)


def show_preview(tools: Tools, plan: ev.Plan, *, as_json: bool) -> int:
    """The dry run's result on stdout. Returns the exit code a run started now would end with, if that is known."""
    lanes = with_forecast(tools, plan, take_preview(tools, plan, attended=is_attended() and not as_json))
    held = _held(tools, plan)
    code = _LOCKED if held else _code_of(lanes)
    code = code if code or _is_any_checked(lanes) else _FINDINGS
    if as_json:
        show_json({"result": _result(plan, lanes, held, code) | {"last_checks": list(_ages(tools, plan))}})
        return code
    for line in (*_headline(plan, "DRY RUN, nothing was changed"), *_checked(tools, plan)):
        show(line)
    for lane in lanes:
        for line in _whole(lane):
            show(line)
    show("")
    for line in _conclusion(plan, lanes, held):
        show(line)
    return code


def _code_of(lanes: Sequence[LanePreview]) -> int:
    """The worst of what the services would end with, as far as that is known now."""
    if any(lane.would_stop and not lane.would_refuse for lane in lanes):
        return EXIT_CODES[ev.Outcome.NEEDS_OPERATOR]
    return _REFUSED if any(lane.would_refuse for lane in lanes) else 0


@dataclass(frozen=True, slots=True)
class Brief:
    """The plan before the one question. ``code`` is not 0 where there is nothing to ask: a run cannot begin, and would
    end with that exit code."""

    lines: tuple[str, ...]
    code: int


def brief(tools: Tools, plan: ev.Plan) -> Brief:
    """Direction, what was found, and the commands in order; at the end whether a run can begin.

    What could not be read is no reason not to ask: a run reads it again.
    """
    lanes = with_forecast(tools, plan, take_preview(tools, plan, attended=True))
    held = _held(tools, plan)
    code = _LOCKED if held else _REFUSED if all(lane.is_refused for lane in lanes) else 0
    return Brief(tuple(_brief(tools, plan, lanes, held)), code)


def _brief(tools: Tools, plan: ev.Plan, lanes: Sequence[LanePreview], held: Mapping[str, str]) -> Iterator[str]:
    yield from _headline(plan, "the plan")
    yield from _checked(tools, plan)
    in_full, alike = _sorted_out(lanes)
    for lane in in_full:
        yield from _whole(lane)
    if alike:
        yield ""
    for lane in alike:
        yield f"  {lane.service}: as {in_full[-1].service}{_queued(plan, lane)}"
    yield ""
    yield from _conclusion(plan, lanes, held)


def question(plan: ev.Plan) -> str:
    """What is asked once: it names everything that matters, as the plan may have left the screen."""
    services = ", ".join(plan.services[:3]) + (
        f" and {len(plan.services) - 3} more" if len(plan.services) > 3 else ""
    )
    marker = "SIMULATED  " if plan.simulated else ""
    kind = plan.runbook.runbook.rpartition("/")[2]
    if kind.startswith("repair"):
        return f"{marker}Make {plan.target} the only active site of {services}, and {plan.source} standby, now?"
    if kind.startswith("restore"):
        return f"{marker}Bring {plan.source} back for {services}, beside {plan.target}, now?"
    if kind == "proxied-transfer":
        return f"{marker}Let {plan.target} deliver the queue messages of {services} that {plan.source} owned, now?"
    if kind == "suspend":
        return f"{marker}Suspend the replication of {services} at {plan.target} once its queue is full, now?"
    return f"{marker}Move {services} from {plan.source} to {plan.target} now?"


def _held(tools: Tools, plan: ev.Plan) -> dict[str, str]:
    """Services that belong to a run that is not at its end, with its name."""
    with closing(tools.journal()) as journal:
        claimed = claims(journal)
    owners = {service: claimed.get(service_key(plan, service)) for service in plan.services}
    return {service: run for service, run in owners.items() if run is not None}


def _result(plan: ev.Plan, lanes: Sequence[LanePreview], held: Mapping[str, str], code: int) -> dict[str, object]:
    return {
        "dry_run": True,
        "simulated": plan.simulated,
        "runbook": plan.runbook.runbook,
        "source": plan.source,
        "target": plan.target,
        "exit_code": code,
        "approvals_needed": plan.approval.needed if plan.approval else 0,
        "lanes": [
            asdict(lane) | {"would_refuse": lane.would_refuse, "held_by_run": held.get(lane.service)}
            for lane in lanes
        ],
    }


def _headline(plan: ev.Plan, what: str) -> Iterator[str]:
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
        worth = "" if rule.signed else " (a second look: their words are not signed)"
        yield f"  begins only once {people} approved it, within {format_duration(rule.within)}: failover approve{worth}"


def _checked(tools: Tools, plan: ev.Plan) -> Iterator[str]:
    """How old the last good check of each service is: of interest before a planned move. Of many services it is said
    once for all that share it."""
    lines = list(_ages(tools, plan))
    if len(lines) <= _LANES_IN_FULL:
        yield from (f"  {line}" for line in lines)
        return
    ages: dict[str, list[str]] = {}
    for line in lines:
        service, _, words = line.partition(": ")
        ages.setdefault(words, []).append(service)
    for words, services in ages.items():
        yield f"  {', '.join(services)}: {words}"


def _ages(tools: Tools, plan: ev.Plan) -> Iterator[str]:
    if plan.runbook.runbook.rpartition("/")[2] in _PLANNED and not tools.is_rehearsal:
        yield from last_checks_of(tools, plan.inventory, plan.inventory.pairs[0], plan.services)


def _whole(lane: LanePreview) -> Iterator[str]:
    yield ""
    yield f"  {lane.service}" + (f"  {_verdict(lane)}" if _verdict(lane) else "")
    for number, step in enumerate(lane.steps, 1):
        turning = "  (point of no return)" if step.point_of_no_return else ""
        yield f"  {number}. {step.title}{turning}"
        for phase in get_args(Phase):
            for command in step.commands:
                if command.phase == phase:
                    yield f"       {_word(command):<9} {command.typed}"
            for check in step.checks:
                if check.phase == phase:
                    yield f"       {_sign(check):<9} {check.text}"
        for note in step.notes:
            yield f"       {'note':<9} {note}"


def _word(command: CommandAhead) -> str:
    if command.purpose == "read":
        return "perhaps" if command.when else "read"
    return f"{command.when}?" if command.when else "SEND"


def _sign(check: CheckNow) -> str:
    if check.later:
        return "then"
    return {True: "ok", False: "NO", None: "?"}[check.holds]


def _conclusion(plan: ev.Plan, lanes: Sequence[LanePreview], held: Mapping[str, str]) -> Iterator[str]:
    """Can a run begin? It stands last, for what is above may have left the screen."""
    for service, run in held.items():
        yield f"{service} belongs to run {run}, which is not at its end: a run started now would be locked out."
    for run in dict.fromkeys(held.values()):
        yield f"See it with `failover runs show {run}`; `failover resume {run}` or `failover abort {run}` ends it."
    refusing = [lane for lane in lanes if lane.would_refuse]
    if refusing:
        yield f"A run started now would refuse: {', '.join(lane.service for lane in refusing)}"
        for lane in refusing[:_LANES_IN_FULL]:
            yield f"  {lane.service}: {_verdict(lane)}"
            if lane.is_refused and lane.service not in held:
                yield f"    what to do: {_advice(plan, lane)}"
    if not refusing and not held:
        yield "Everything that can be checked now holds." if _is_any_checked(lanes) else _NOTHING_CHECKED
    for lane in lanes:
        if not lane.would_refuse and _verdict(lane):
            yield f"{lane.service}: {_verdict(lane)}"


def _verdict(lane: LanePreview) -> str:
    """What a run started now would come to before it is done, if that is known."""
    if lane.would_refuse:
        return f"WOULD REFUSE: {lane.would_refuse}"
    if lane.would_stop:
        return f"WOULD STOP: {lane.would_stop}"
    return f"WOULD ASK: {lane.would_ask}" if lane.would_ask else ""


def _sorted_out(lanes: Sequence[LanePreview]) -> tuple[list[LanePreview], list[LanePreview]]:
    """Those to show in full, and those of which a row is enough: of many services, the ones that differ come first, then
    one of those that are alike; each of the others is as that one."""
    if len(lanes) <= _LANES_IN_FULL:
        return list(lanes), []
    kinds = [_kind(lane) for lane in lanes]
    [(usual, _)] = Counter(kinds).most_common(1)
    alike = [lane for lane, kind in zip(lanes, kinds, strict=True) if kind == usual]
    others = [lane for lane, kind in zip(lanes, kinds, strict=True) if kind != usual]
    return [*others, alike[0]], alike[1:]


def _kind(lane: LanePreview) -> Hashable:
    """What makes a service another one than its neighbour: how checks turned out, what would be sent and decided, and
    the notes but for their numbers."""
    return tuple(
        (
            step.id,
            tuple((check.holds, check.later) for check in step.checks),
            frozenset((command.purpose, command.when) for command in step.commands),
            tuple(_NUMBER.sub("#", note) for note in step.notes),
        )
        for step in lane.steps
    )


def _queued(plan: ev.Plan, lane: LanePreview) -> str:
    gauge = next((step.gauge for step in lane.steps if step.gauge is not None), None)
    return "" if gauge is None else f"; {amount(gauge, plan.runbook.family)} in the queue now"


def _is_any_checked(lanes: Sequence[LanePreview]) -> bool:
    """Was anything judged that is so now?"""
    return any(not check.later for lane in lanes for step in lane.steps for check in step.checks)


def _advice(plan: ev.Plan, lane: LanePreview) -> str:
    return after_refusal(plan.runbook.runbook, plan.source, plan.target, lane)
