"""The plan on the screen: before a run is confirmed, and as the whole result of a dry run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from orchestrator import events as ev
from orchestrator.cli.terminal import show, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.dryrun import CheckNow, LanePreview, ReadOnly, preview

_LANES_IN_FULL = 5


def take_preview(tools: Tools, plan: ev.Plan) -> list[LanePreview]:
    """Read both sites through sessions that can only look."""
    with tools.adapters(plan, read_only=True) as adapters:
        return preview(plan, {side: ReadOnly(adapter) for side, adapter in adapters.items()}, tools.clock)


def show_preview(tools: Tools, plan: ev.Plan, *, as_json: bool) -> int:
    """The dry run's result on stdout. Returns the exit code: 3 when a run now would refuse."""
    lanes = take_preview(tools, plan)
    refusing = [lane for lane in lanes if lane.would_refuse]
    code = 3 if refusing else 0
    if as_json:
        show_json(
            {"dry_run": [asdict(lane) | {"would_refuse": lane.would_refuse} for lane in lanes], "exit_code": code}
        )
        return code
    for line in _headline(plan, "DRY RUN, nothing was changed"):
        show(line)
    for lane in lanes:
        for line in _whole(lane):
            show(line)
    show("")
    if refusing:
        show(f"A run started now would refuse: {', '.join(lane.service for lane in refusing)}")
    else:
        show("Everything that can be checked now holds.")
    return code


def brief(tools: Tools, plan: ev.Plan) -> Iterator[str]:
    """The plan before the one question: direction, what was found, and the commands in order."""
    lanes = take_preview(tools, plan)
    yield from _headline(plan, "the plan")
    for lane in lanes[:_LANES_IN_FULL]:
        yield from _whole(lane)
    if len(lanes) > _LANES_IN_FULL:
        rest = lanes[_LANES_IN_FULL:]
        refusing = sum(bool(lane.would_refuse) for lane in rest)
        yield f"  and {len(rest)} more services, the same steps; {refusing} of them would refuse now"
    yield ""


def _headline(plan: ev.Plan, what: str) -> Iterator[str]:
    marker = "SIMULATED  " if plan.simulated else ""
    sites = plan.inventory.sites
    yield f"{marker}{plan.runbook.runbook}: {what}"
    yield f"  {plan.runbook.summary}"
    for side, name in (("source", plan.source), ("target", plan.target)):
        devices = ", ".join(device.name for device in sites[name].devices)
        yield f"  {side}: {name} {sites[name].title and f'({sites[name].title})'} on {devices}"


def _whole(lane: LanePreview) -> Iterator[str]:
    yield ""
    yield f"  {lane.service}" + (f"  WOULD REFUSE: {lane.would_refuse}" if lane.would_refuse else "")
    for number, step in enumerate(lane.steps, 1):
        turning = "  (point of no return)" if step.point_of_no_return else ""
        yield f"  {number}. {step.title}{turning}"
        for check in step.checks:
            yield f"       {_sign(check)} {check.text}"
        for site, line in step.commands:
            yield f"       {site}> {line}"
        for note in step.notes:
            yield f"       · {note}"


def _sign(check: CheckNow) -> str:
    if check.later:
        return "later"
    return {True: "ok   ", False: "NO   ", None: "?    "}[check.holds]
