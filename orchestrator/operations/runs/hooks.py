"""Sends the events of a run to its hooks while this process leads the run, and reports events that were not
delivered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.counting import counted
from orchestrator.errors import DefinitionError, JournalError, LeaseHeld
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import Outbox
from orchestrator.model import events as ev
from orchestrator.notifications.backlog import Owed, drop, owed
from orchestrator.notifications.delivery_context import Office
from orchestrator.notifications.worker import Hooks
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from orchestrator.notifications.webhook import Poster

# How long the end of a run waits for its hooks, and how long of that without a message, seconds.
END_WITHIN = 10.0
_SAY_AFTER = 1.0


def office_of(tools: Tools) -> Office:
    """The resources of couriers in this process."""

    def poster() -> Poster:
        from adapters.http.webhook import WebhookPoster

        return WebhookPoster(tools.clock)

    return Office(tools.journal, tools.clock, tools.secrets, tools.secrets.redactor, poster, os.environ)


def hooks_of(tools: Tools, plan: ev.Plan, run: str) -> Hooks:
    """The hooks of ``run``, not started yet."""
    return Hooks(office_of(tools), run, plan.inventory.hooks, simulated=plan.simulated)


def dropped_of(tools: Tools, outbox: Outbox, run: str, hook: str | None) -> list[Owed]:
    """Drop the undelivered events of a run for ``hook``, or for all hooks. Raises ``LeaseHeld`` while a process leads
    the run, ``DefinitionError`` for an unknown hook."""
    known = [one.name for one in outbox.plan(run).inventory.hooks]
    if hook is not None and hook not in known:
        hint = f"the run has: {', '.join(known)}" if known else "the run has no hooks"
        raise DefinitionError(f"run {run} has no hook that is called {hook!r}", hint=hint)
    if outbox.is_led(run, tools.clock.now()):
        raise LeaseHeld(f"a process leads run {run} and still delivers its events", hint="wait until the run ends")
    return list(drop(outbox, run, hook))


@contextmanager
def telling(hooks: Hooks, journal: Journal, run: str, tell: Callable[[str], object]) -> Iterator[None]:
    """Send events to ``hooks`` while the block leads ``run``. Afterwards wait a short time, and ``tell`` which events
    are left.

    After a block that raises there is no wait: undelivered events stay in the outbox.
    """
    outbox = Outbox(journal)
    hooks.start(with_backlog=_others_are_behind(outbox, run))
    try:
        yield
    except BaseException:
        hooks.halt()
        raise
    hooks.finish(END_WITHIN)
    with suppress(KeyboardInterrupt):
        if not hooks.wait(_SAY_AFTER):
            tell(f"waiting up to {END_WITHIN:.0f}s for hooks; Ctrl-C ends this wait, and no event is lost")
            hooks.wait(END_WITHIN - _SAY_AFTER)
    hooks.halt()
    with suppress(JournalError):  # the end of the run is reported already, and matters more
        for left in owed(outbox, run):
            left = replace(left, failed=left.failed or hooks.ended_by(left.hook))
            tell(f"{owed_words(left)}; deliver later with: failover hooks flush {run}")


def owed_words(left: Owed) -> str:
    """``hook pager: 3 events of run … are not delivered yet (exit code 1)``."""
    failed = f" ({left.failed})" if left.failed else ""
    if left.events is None:
        return f"hook {left.hook}: the record of run {left.run} cannot be read{failed}"
    return f"hook {left.hook}: {event_count(left)} of run {left.run} not delivered yet{failed}"


def event_count(left: Owed) -> str:
    """``1 event``, ``1,200 events``."""
    if left.events is None:
        return "an unknown number of events"
    return counted(left.events, "event")


def _others_are_behind(outbox: Outbox, run: str) -> bool:
    try:
        return any(behind.run != run for behind in outbox.behind())
    except JournalError:
        return False  # the engine gets the same error, and reports it
