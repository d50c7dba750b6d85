"""What runs of the past still owe their hooks: found, counted, delivered, or given up by a person.

Each run's hooks are those that were recorded with it. A run that a process leads now is left to that process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.errors import FailoverError, JournalCorrupt
from orchestrator.journal.outbox import Behind, Outbox
from orchestrator.model.inventory import Hook
from orchestrator.notifications.command import LEFT
from orchestrator.notifications.delivery_context import Office
from orchestrator.notifications.message import kind_of, wants

# Failures that are about the receiver, and never about an event: a time-out may be either.
_AWAY = frozenset({"Unreachable", "HostKeyRejected", "not started", LEFT})


@dataclass(frozen=True, slots=True)
class Owed:
    """What a hook of a run has not taken yet: so many ``events``; None when the record cannot be read.

    ``failed`` is what keeps it from taking them, as far as is known, or empty.
    """

    run: str
    hook: str
    events: int | None
    failed: str


@dataclass(frozen=True, slots=True)
class Flushed:
    """The outcome of one hook's backlog: so many events were ``delivered``, and ``failed`` says why not all."""

    run: str
    hook: str
    delivered: int
    failed: str


def owed(outbox: Outbox, run: str | None = None) -> Iterator[Owed]:
    """What is still to be delivered, of all runs or one, oldest run first. Raises ``JournalError``."""
    for behind in outbox.behind(run):
        try:
            events: int | None = sum(1 for _ in _wanted(outbox, behind))
        except JournalCorrupt as error:
            yield Owed(behind.run, behind.hook, None, str(error))
            continue
        if events:
            yield Owed(behind.run, behind.hook, events, behind.failed)


def flush(
    office: Office,
    outbox: Outbox,
    *,
    skip: Callable[[str], bool],
    may_go_on: Callable[[], bool],
    run: str | None = None,
) -> Iterator[Flushed]:
    """Deliver what is owed, each hook until it fails once. ``skip`` says which runs are another person's to deliver.

    A receiver that does not answer is not tried again for the next run: a long list would wait for it as often.
    Ends early when ``may_go_on`` says no. Raises ``JournalError`` if the list itself cannot be read.
    """
    away: dict[Hook, str] = {}
    for behind in outbox.behind(run):
        if not may_go_on():
            return
        if skip(behind.run):
            continue
        try:
            plan = outbox.plan(behind.run)
            hook = _hook(plan.inventory.hooks, behind)
        except FailoverError as error:
            yield Flushed(behind.run, behind.hook, 0, str(error))
            continue
        if hook in away:
            yield Flushed(behind.run, behind.hook, 0, away[hook])
            continue
        courier = office.courier(
            behind.run, hook, outbox, simulated=plan.simulated, is_halted=lambda: not may_go_on()
        )
        courier.work(may_go_on)
        courier.settle()
        failed = "" if courier.failure is None else str(courier.failure)
        if courier.failure is not None and courier.failure.cause in _AWAY:
            away[hook] = failed
        if courier.delivered or failed:
            yield Flushed(behind.run, behind.hook, courier.delivered, failed)


def drop(outbox: Outbox, run: str, hook: str | None) -> Iterator[Owed]:
    """Give up what a run owes to ``hook``, or to all of its hooks; what that was."""
    for lost in owed(outbox, run):
        if hook in (None, lost.hook):
            outbox.done_with(run, lost.hook, outbox.last(run))
            yield lost


def _wanted(outbox: Outbox, behind: Behind) -> Iterator[int]:
    """The numbers of the records that a hook is still to be told of."""
    hook = _hook(outbox.plan(behind.run).inventory.hooks, behind)
    seq = behind.seq
    while lines := outbox.after(behind.run, seq):
        yield from (line["seq"] for line in lines if wants(hook, kind_of(line)))
        seq = lines[-1]["seq"]


def _hook(hooks: tuple[Hook, ...], behind: Behind) -> Hook:
    found = next((hook for hook in hooks if hook.name == behind.hook), None)
    if found is None:
        raise JournalCorrupt(f"run {behind.run} has no hook that is called {behind.hook}")
    return found
