"""Shows a plan: before a run is confirmed, and as the whole result of a dry run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import get_args

from orchestrator.cli.render.terminal import redacted, show, show_json
from orchestrator.engine.dry_run import CheckNow, LanePreview
from orchestrator.engine.dry_run_lines import CommandAhead, Phase
from orchestrator.operations.runs.preview import PlanPreview
from orchestrator.reports.plan_preview import LANES_IN_FULL, conclusion, headline, queued, sorted_out, verdict
from orchestrator.reports.plan_summary import summary

# A reading of up to twice this length is shown in full.
_READING_LENGTH = 80


def show_preview(found: PlanPreview, *, as_json: bool) -> int:
    """Print the dry run's result on stdout. Returns the exit code of a run started now, if it is known."""
    if as_json:
        show_json({"result": _result(found)})
        return found.exit_code
    for line in (*headline(found.plan, "DRY RUN, nothing was changed"), *_checked(found)):
        show(line)
    for lane in found.lanes:
        for line in _whole(lane):
            show(line)
    show("")
    for line in conclusion(found.plan, found.lanes, found.held):
        show(line)
    return found.exit_code


def in_short(found: PlanPreview, *, breaks_glass: bool = False) -> list[str]:
    """The plan before the confirmation, in at most twelve lines."""
    return summary(
        *(found.plan, found.lanes), took=found.took, checks=found.checks, held=found.held, breaks_glass=breaks_glass
    )


def brief(found: PlanPreview) -> Iterator[str]:
    """The plan in full: direction, findings, and commands in order. The last lines state if a run can start."""
    yield from headline(found.plan, "the plan")
    yield from _checked(found)
    in_full, alike = sorted_out(found.lanes)
    for lane in in_full:
        yield from _whole(lane)
    if alike:
        yield ""
    for lane in alike:
        yield f"  {lane.service}: the same as {in_full[-1].service}{queued(found.plan, lane)}"
    yield ""
    yield from conclusion(found.plan, found.lanes, found.held)


def _result(found: PlanPreview) -> dict[str, object]:
    plan = found.plan
    return {
        "dry_run": True,
        "simulated": plan.simulated,
        "runbook": plan.runbook.runbook,
        "source": plan.source,
        "target": plan.target,
        "exit_code": found.exit_code,
        "approvals_needed": plan.approval.needed if plan.approval else 0,
        "lanes": [
            asdict(lane)
            | {"would_refuse": lane.would_refuse, "remedy": lane.remedy}
            | {"held_by_run": found.held.get(lane.service)}
            for lane in found.lanes
        ],
        "last_checks": [f"{service}: {words}" for service, words in found.checks.items()],
    }


def _checked(found: PlanPreview) -> Iterator[str]:
    """The age of the last good check of each service, which matters before a planned move. With many services, services
    with the same age share a line."""
    if len(found.checks) <= LANES_IN_FULL:
        yield from (f"  {service}: {words}" for service, words in found.checks.items())
        return
    ages: dict[str, list[str]] = {}
    for service, words in found.checks.items():
        ages.setdefault(words, []).append(service)
    for words, services in ages.items():
        yield f"  {', '.join(services)}: {words}"


def _whole(lane: LanePreview) -> Iterator[str]:
    yield ""
    yield f"  {lane.service}" + (f"  {verdict(lane)}" if verdict(lane) else "")
    for number, step in enumerate(lane.steps, 1):
        turning = "  (point of no return)" if step.point_of_no_return else ""
        yield f"  {number}. {step.title}{turning}"
        for phase in get_args(Phase):
            for command in step.commands:
                if command.phase == phase:
                    yield f"       {_word(command):<9} {_shown(command)}"
            for check in step.checks:
                if check.phase == phase:
                    yield f"       {_sign(check):<9} {check.text}"
        for note in step.notes:
            yield f"       {'note':<9} {note}"


def _shown(command: CommandAhead) -> str:
    """The command. A long reading is shortened, because some are scripts; a change is always shown in full."""
    text = redacted(command.typed)  # before a cut, which could leave a part of a secret
    rest = len(text) - _READING_LENGTH
    if command.purpose != "read" or rest <= _READING_LENGTH:
        return text
    return f"{text[:_READING_LENGTH]} … ({rest} more characters, shown by --json)"


def _word(command: CommandAhead) -> str:
    if command.purpose == "read":
        return "perhaps" if command.when else "read"
    return f"{command.when}?" if command.when else "SEND"


def _sign(check: CheckNow) -> str:
    if check.later:
        return "then"
    return {True: "ok", False: "NO", None: "?"}[check.holds]
