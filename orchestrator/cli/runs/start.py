"""From a plan to its run: look ahead only, or ask once and lead. Shared by every command that moves services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.render.terminal import agrees, is_attended, say, say_unless
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
    """Lead a run of ``plan``, or only preview it, with the approvals that it takes. Returns the process exit code.

    ``command`` is what the inventory's policy on approvals calls it, ``options`` what was asked and is not in the plan.
    With a key that has begun a run already, that run's result is printed instead, and its exit code returned. With
    ``no_wait`` the run is left to a process of its own; one that has begun already is shown as it stands.
    """
    from orchestrator.operations.runs.approval import Eyes, with_approval
    from orchestrator.operations.runs.lead import Request

    if begin.dry_run and begin.fault:
        raise DefinitionError(
            "--dry-run changes nothing, not even the simulated pair, so --fault does not go with it"
        )
    as_json, key, glass = begin.as_json, begin.key, begin.break_glass
    plan = _in_waves(plan, begin)
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
    say_unless(as_json)(f"{'SIMULATED  ' if plan.simulated else ''}connecting to {_devices(plan)}")
    if begin.dry_run:
        from orchestrator.cli.render.preview import show_preview
        from orchestrator.operations.runs.preview import take_preview

        return show_preview(take_preview(tools, plan, attended=is_attended() and not as_json), as_json=as_json)
    if not begin.yes:
        _confirm(tools, plan, as_json)
    if begin.fault:
        from orchestrator.operations.simulated_faults import script_faults

        script_faults(tools, plan, begin.fault)
    request = Request(plan, key, asked, glass)
    try:
        if begin.no_wait:
            from orchestrator.cli.runs.background import begin_elsewhere

            return begin_elsewhere(tools, request, as_json=as_json)
        from orchestrator.cli.runs.lead import lead_new

        return lead_new(tools, request, as_json=as_json)
    except KeyUsed:  # at the same moment, by another process
        assert key is not None  # or nothing could have used it
        code = first_result(tools, asked, key, wait=not begin.no_wait, as_json=as_json)
        assert code is not None  # since that run is recorded
        return code


def _devices(plan: ev.Plan) -> str:
    """The devices of both sites, by name: they are spoken to before anything else can be shown."""
    sites = (plan.inventory.sites[name] for name in (plan.source, plan.target))
    return ", ".join(device.name for site in sites for device in site.devices)


def _in_waves(plan: ev.Plan, begin: Beginning) -> ev.Plan:
    """The plan with its services in waves; as it is when neither a wave nor a canary is asked for."""
    wave, canary = begin.wave, begin.canary
    if wave is None and canary is None:
        return plan
    from orchestrator.model.plan import Waves

    if canary is not None and canary not in plan.services:
        raise DefinitionError(f"the canary {canary!r} is not among the services of this run")
    size = wave or len(plan.services)
    return plan.model_copy(update={"waves": Waves(size=size, canary=canary, max_failed=begin.max_failed)})


def _confirm(tools: Tools, plan: ev.Plan, as_json: bool) -> None:
    """Show the plan and ask once; where a run cannot begin there is nothing to ask. Without a terminal, refuse."""
    from orchestrator.cli.render.preview import brief
    from orchestrator.operations.runs.preview import take_preview
    from orchestrator.reports.plan_preview import question

    if not is_attended() or as_json:
        raise DefinitionError("no terminal: cannot ask for confirmation", hint="add --yes to start without asking")
    found = take_preview(tools, plan, attended=True)
    for line in brief(found):
        say(line)
    if found.refusal:
        say("not started; nothing was changed")
        raise typer.Exit(found.refusal)
    if not agrees(question(plan)):
        say("not started; nothing was changed")
        raise typer.Exit(3)
