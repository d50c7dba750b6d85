"""Previews a plan, or asks once and leads its run. Every command that moves services uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import typer

from orchestrator.cli.commands.watch import seconds_of
from orchestrator.cli.pairs.connecting import say_connecting_for
from orchestrator.cli.render.terminal import answered, is_attended, say, say_cut
from orchestrator.errors import DefinitionError, KeyUsed

if TYPE_CHECKING:
    from orchestrator.cli.run_options import Beginning
    from orchestrator.model import events as ev
    from orchestrator.model.inventory import ApprovedCommand
    from orchestrator.operations.runtime import Tools


def start(
    tools: Tools,
    plan: ev.Plan,
    command: ApprovedCommand,
    begin: Beginning,
    options: Mapping[str, object] | None = None,
) -> int:
    """Lead a run of ``plan`` with the required approvals, or only preview the plan. Returns the process exit code.

    ``command`` is its name in the inventory's approval policy. ``options`` are typed options that are not in the plan.
    If the key has already started a run, that run's result is printed instead, and its exit code returned. With
    ``no_wait`` the run continues in the background, and a run that has already started is shown in its present state.
    """
    from orchestrator.operations.runs.approval import Eyes, with_approval
    from orchestrator.operations.runs.lead import Request

    if begin.dry_run and begin.fault:
        raise DefinitionError(
            "--fault cannot be used with --dry-run, because --dry-run changes nothing, not even the simulated pair"
        )
    as_json, key, glass = begin.as_json, begin.key, begin.break_glass
    slo = seconds_of("--outage-slo", begin.outage_slo)
    plan = _in_waves(plan, begin)
    if begin.timeout is not None:
        policy = plan.policy.model_copy(update={"timeout": seconds_of("--timeout", begin.timeout)})
        plan = plan.model_copy(update={"policy": policy})
    plan = with_approval(tools, plan, Eyes(command, begin.approve_by, begin.approve_within, glass))
    asked: Mapping[str, str] = {}
    if key is not None and not begin.dry_run:
        from orchestrator.cli.runs.idempotency import first_result
        from orchestrator.operations.runs.idempotency import checked_key, what_was_asked

        more = {"command": command, "--break-glass": glass, "--fault": begin.fault, **(options or {})}
        asked = what_was_asked(tools, plan, more)
        code = first_result(tools, asked, checked_key(key), wait=not begin.no_wait, as_json=as_json)
        if code is not None:
            return code
    if key is not None:  # without a key this is printed before the plan is made
        say_connecting_for(plan, as_json=as_json)
    if begin.dry_run:
        from orchestrator.cli.render.preview import show_preview
        from orchestrator.operations.runs.preview import take_preview

        return show_preview(take_preview(tools, plan, attended=is_attended() and not as_json), as_json=as_json)
    if not begin.yes:
        _confirm(tools, plan, as_json, breaks_glass=glass is not None)
    if begin.fault:
        from orchestrator.operations.simulated_faults import script_faults

        script_faults(tools, plan, begin.fault)
    request = Request(plan, key, asked, glass)
    try:
        if begin.no_wait:
            from orchestrator.cli.runs.background import begin_elsewhere

            return begin_elsewhere(tools, request, as_json=as_json)
        from orchestrator.cli.runs.lead import lead_new

        return lead_new(tools, request, as_json=as_json, slo=slo)
    except KeyUsed:  # another process used the key at the same moment
        assert key is not None  # otherwise no process could have used it
        code = first_result(tools, asked, key, wait=not begin.no_wait, as_json=as_json)
        assert code is not None  # because that run is recorded
        return code


def _in_waves(plan: ev.Plan, begin: Beginning) -> ev.Plan:
    """The plan with its services in waves. Without the options for waves and canary, the plan is unchanged."""
    wave, canary = begin.wave, begin.canary
    if wave is None and canary is None:
        return plan
    from orchestrator.model.plan import Waves

    if canary is not None and canary not in plan.services:
        raise DefinitionError(f"the canary {canary!r} is not a service of this run")
    size = wave or len(plan.services)
    return plan.model_copy(update={"waves": Waves(size=size, canary=canary, max_failed=begin.max_failed)})


def _confirm(tools: Tools, plan: ev.Plan, as_json: bool, *, breaks_glass: bool) -> None:
    """Show the plan and ask once. If the run cannot start, do not ask. Without a terminal, refuse."""
    from orchestrator.cli.render.preview import brief, in_short
    from orchestrator.operations.runs.preview import take_preview
    from orchestrator.reports.plan_preview import conclusion

    if not is_attended() or as_json:
        raise DefinitionError("no terminal: cannot ask for confirmation", hint="add --yes to start without asking")
    found = take_preview(tools, plan, attended=True)
    for line in in_short(found, breaks_glass=breaks_glass):
        say_cut(line)
    if found.refusal:
        for line in conclusion(plan, found.lanes, found.held):
            say(line)
        say("not started; nothing was changed")
        raise typer.Exit(found.refusal)
    while (typed := _answer(plan, breaks_glass)) == "details":
        for line in brief(found):
            say(line)
    if not typed:
        say("not started; nothing was changed")
        raise typer.Exit(3)


def _answer(plan: ev.Plan, breaks_glass: bool) -> Literal["yes", "details", ""]:
    """The operator's answer to the only question. If ``y`` is not enough, the operator types the name of a site."""
    from orchestrator.reports.plan_preview import question
    from orchestrator.reports.plan_summary import must_type

    name = must_type(plan, breaks_glass=breaks_glass)
    how = f"type {name} to confirm, d for details" if name else "y/N, d for details"
    typed = answered(f"{question(plan)} [{how}]: ")
    if typed.lower() == "d" and name.lower() != "d":
        return "details"
    return "yes" if (typed == name if name else typed.lower() in ("y", "yes")) else ""
