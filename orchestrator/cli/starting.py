"""From a plan to its run: look ahead only, or ask once and lead. Shared by every command that moves services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.terminal import is_attended, say
from orchestrator.errors import DefinitionError, KeyUsed

if TYPE_CHECKING:
    from orchestrator import events as ev
    from orchestrator.cli.approving import Eyes
    from orchestrator.cli.wiring import Tools


def start(
    tools: Tools,
    plan: ev.Plan,
    eyes: Eyes,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    fault: Sequence[str] | None = None,
    key: str | None = None,
    no_wait: bool = False,
) -> int:
    """Lead a run of ``plan``, or only preview it, with the approvals that it takes. Returns the process exit code.

    With a ``key`` that has begun a run already, that run's result is printed instead, and its exit code returned.
    With ``no_wait`` the run is left to a process of its own; one that has begun already is shown as it stands.
    """
    from orchestrator.cli.approving import with_approval

    plan = with_approval(tools, plan, eyes)
    if key is not None and not dry_run:
        from orchestrator.cli.once import checked_key, first_result

        code = first_result(tools, plan, checked_key(key), wait=not no_wait, as_json=as_json)
        if code is not None:
            return code
    if dry_run:
        from orchestrator.cli.preview import show_preview

        return show_preview(tools, plan, as_json=as_json)
    if not yes:
        _confirm(tools, plan, as_json)
    if fault:
        from orchestrator.cli.simulation import script_faults

        script_faults(tools, plan, fault)
    try:
        if no_wait:
            from orchestrator.cli.background import begin

            return begin(tools, plan, as_json=as_json, key=key, break_glass=eyes.break_glass)
        from orchestrator.cli.leading import lead_new

        return lead_new(tools, plan, as_json=as_json, key=key, break_glass=eyes.break_glass)
    except KeyUsed:  # at the same moment, by another process
        assert key is not None  # or nothing could have used it
        code = first_result(tools, plan, key, wait=not no_wait, as_json=as_json)
        assert code is not None  # since that run is recorded
        return code


def in_waves(plan: ev.Plan, wave: int | None, canary: str | None, max_failed: int) -> ev.Plan:
    """The plan with its services in waves; as it is when neither a wave nor a canary is asked for."""
    if wave is None and canary is None:
        return plan
    from orchestrator.plan import Waves

    if canary is not None and canary not in plan.services:
        raise DefinitionError(f"the canary {canary!r} is not among the services of this run")
    size = wave or len(plan.services)
    return plan.model_copy(update={"waves": Waves(size=size, canary=canary, max_failed=max_failed)})


def _confirm(tools: Tools, plan: ev.Plan, as_json: bool) -> None:
    """Show the plan and ask once; without a terminal, refuse."""
    from orchestrator.cli.preview import brief, question

    if not is_attended() or as_json:
        raise DefinitionError("nobody is there to be asked", hint="add --yes to start without asking")
    for line in brief(tools, plan):
        say(line)
    try:
        agreed = typer.confirm(question(plan), default=False, err=True)
    except (typer.Abort, KeyboardInterrupt):
        agreed = False
        say("")
    if not agreed:
        say("not started; nothing was changed")
        raise typer.Exit(3)
