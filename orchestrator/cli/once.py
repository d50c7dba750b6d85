"""``--idempotency-key``: who asks twice gets the first run's result, and never a second run."""

from __future__ import annotations

from contextlib import closing

from orchestrator import events as ev
from orchestrator.cli.outcome import show_result
from orchestrator.cli.terminal import say
from orchestrator.cli.wiring import Tools, checked_text
from orchestrator.errors import DefinitionError
from orchestrator.hooks.outbox import Outbox
from orchestrator.journal import Journal
from orchestrator.lease import is_led, run_of_key
from orchestrator.reports.report import build

KEY_LENGTH_MAX = 200
# How often a run is looked at that another process leads, seconds.
_LOOK_EVERY = 0.5


def checked_key(text: str) -> str:
    """The key as it was typed. Raises ``DefinitionError`` for one that is empty, too long, or no plain text."""
    key = checked_text(text, "--idempotency-key")
    if not 0 < len(key) <= KEY_LENGTH_MAX or not key.isprintable():
        raise DefinitionError(f"--idempotency-key takes 1 to {KEY_LENGTH_MAX} characters, without control characters")
    return key


def first_result(tools: Tools, plan: ev.Plan, key: str, *, wait: bool, as_json: bool) -> int | None:
    """Print the result of the run that ``key`` has begun, and return its exit code; None when there is none yet.

    With ``wait``, first until no process leads it any more. Raises ``DefinitionError`` when that run was for
    something else than ``plan``.
    """
    with closing(tools.journal()) as journal:
        name = run_of_key(journal, key)
        if name is None:
            return None
        first = Outbox(journal).plan(name)
        _refuse_another_wish(key, name, first, plan)
        say(f"run {name} was begun with this key; no other is begun")
        if wait:
            _await(tools, journal, name)
        report = build(journal.records(name))
        led = is_led(journal.row(name), tools.clock.now())
        show_result(tools, first, report, as_json=as_json, journal=journal, is_led=led)
        return report.exit_code


def _refuse_another_wish(key: str, name: str, first: ev.Plan, wish: ev.Plan) -> None:
    if _wish(first) == _wish(wish):
        return
    services = ", ".join(first.services[:5]) + (f" and {len(first.services) - 5} more" if first.services[5:] else "")
    raise DefinitionError(
        f"the key {key!r} was used for something else: run {name}, {first.runbook.runbook}, "
        f"{first.source} to {first.target}, {services}",
        hint="a key stands for one wish; give another wish a key of its own",
    )


def _wish(plan: ev.Plan) -> tuple[object, ...]:
    return plan.runbook.runbook, plan.pair, plan.source, plan.target, frozenset(plan.services)


def _await(tools: Tools, journal: Journal, name: str) -> None:
    row = journal.row(name)
    if is_led(row, tools.clock.now()):
        say(f"{row.holder.split()[0]} leads it; waiting for its end")
    while is_led(journal.row(name), tools.clock.now()):
        tools.clock.sleep(_LOOK_EVERY)
