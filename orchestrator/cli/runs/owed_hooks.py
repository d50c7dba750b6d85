"""The work of ``failover hooks list``, ``flush`` and ``drop``."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict

from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import Outbox
from orchestrator.notifications.backlog import flush, owed
from orchestrator.operations.find_run import find_run
from orchestrator.operations.runs.hooks import dropped_of, event_count, office_of, owed_words
from orchestrator.operations.runtime import Tools


def print_owed(tools: Tools, name: str | None, *, as_json: bool) -> None:
    """Print one line for each hook of a run with undelivered events."""
    with closing(tools.journal()) as journal:
        outbox, run = Outbox(journal), _named(journal, name)
        found = False
        for left in owed(outbox, run):
            found = True
            led = outbox.is_led(left.run, tools.clock.now())
            if as_json:
                show_json({**asdict(left), "led": led})
            else:
                show(owed_words(left) + ("; the process that leads the run will deliver them" if led else ""))
    if not found:
        say("all hooks have received all events")


def flush_owed(tools: Tools, name: str | None, *, as_json: bool) -> int:
    """Deliver the undelivered events. Returns 0, or 4 if events remain that no process will deliver."""
    with closing(tools.journal()) as journal:
        outbox, run = Outbox(journal), _named(journal, name)

        def is_led(one: str) -> bool:
            return outbox.is_led(one, tools.clock.now())

        for done in flush(office_of(tools), outbox, skip=is_led, may_go_on=lambda: True, run=run):
            if as_json:
                show_json({"flushed": asdict(done)})
            else:
                failed = f"; then: {done.failed}" if done.failed else ""
                show(f"hook {done.hook}: {done.delivered:,} delivered for run {done.run}{failed}")
        left = list(owed(outbox, run))
        for one in left:
            if is_led(one.run):
                say(f"the process that leads run {one.run} delivers to hook {one.hook} itself")
            elif as_json:
                show_json({"left": asdict(one)})
            else:
                show(owed_words(one))
        mine = [one for one in left if not is_led(one.run)]
    if not left:
        say("all hooks have received all events")
    return 4 if mine else 0


def drop_owed(tools: Tools, name: str, hook: str | None, *, as_json: bool) -> None:
    """Give up the undelivered events of a run. Raises ``LeaseHeld`` while a process leads the run, and
    ``DefinitionError`` if there is no such hook."""
    with closing(tools.journal()) as journal:
        dropped = dropped_of(tools, Outbox(journal), find_run(journal, name), hook)
    for lost in dropped:
        if as_json:
            show_json({"dropped": asdict(lost)})
        else:
            show(f"hook {lost.hook}: {event_count(lost)} of run {lost.run} dropped")
    if not dropped:
        say("no event was waiting for delivery")


def _named(journal: Journal, name: str | None) -> str | None:
    return None if name is None else find_run(journal, name)
