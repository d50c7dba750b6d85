"""Events of earlier runs that their hooks have not taken. They are found, counted, delivered, or given up by a person.

The hooks of a run are recorded with the run. If a process leads a run now, that process delivers its events.
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

# Failures that only the receiver can cause. A time-out is not listed, because the event may cause it.
_AWAY = frozenset({"Unreachable", "HostKeyRejected", "not started", LEFT})


@dataclass(frozen=True, slots=True)
class Owed:
    """The number of ``events`` of a run that a hook has not taken yet, or None if the record cannot be read.

    ``failed`` is the known reason why the hook has not taken them, or empty.
    """

    run: str
    hook: str
    events: int | None
    failed: str


@dataclass(frozen=True, slots=True)
class Flushed:
    """The outcome for one hook: the number of ``delivered`` events, and in ``failed`` the reason if some were not."""

    run: str
    hook: str
    delivered: int
    failed: str


def owed(outbox: Outbox, run: str | None = None) -> Iterator[Owed]:
    """The undelivered events by run and hook, of all runs or one, oldest run first. Raises ``JournalError``."""
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
    """Deliver the undelivered events, to each hook until it fails once. ``skip`` is true for runs that another process
    delivers.

    A receiver that does not answer is not tried again for the next run, because a long list would wait for it each time.
    Ends early if ``may_go_on`` returns False. Raises ``JournalError`` if the list itself cannot be read.
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
    """Give up the undelivered events of a run for ``hook``, or for all of its hooks. Yields what was given up."""
    for lost in owed(outbox, run):
        if hook in (None, lost.hook):
            outbox.done_with(run, lost.hook, outbox.last(run))
            yield lost


def _wanted(outbox: Outbox, behind: Behind) -> Iterator[int]:
    """The numbers of the records that a hook has not taken yet."""
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
