"""Leads a run, new or from its record: lease, dispatch to the sites, hooks, engine.

The caller shows the run and answers its questions: through observers and a desk.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from orchestrator.core.approvals import APPROVAL_GATE
from orchestrator.core.run import Run, fold
from orchestrator.engine.approvers import Approvers
from orchestrator.engine.dispatch import Prompter
from orchestrator.engine.engine import Engine
from orchestrator.engine.held import Held, hold_again, hold_new
from orchestrator.engine.observers import Observer
from orchestrator.journal.approval_policies import keep, replace
from orchestrator.journal.idempotency_keys import stored
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.operations.declared_families import know_recorded
from orchestrator.operations.forecast import with_predictions
from orchestrator.operations.runs.approval import break_the_glass, terms_of
from orchestrator.operations.runs.hooks import hooks_of, telling
from orchestrator.operations.runs.plan import recordable
from orchestrator.operations.runtime import Tools
from orchestrator.version import VERSION


@dataclass(frozen=True, slots=True)
class Request:
    """A new run of ``plan``. ``key``: the caller's own name for it. ``asked``: the whole request of the key
    (``idempotency``). ``break_glass``: why it starts without the approvals that the plan requires."""

    plan: ev.Plan
    key: str | None = None
    asked: Mapping[str, str] | None = None
    break_glass: str | None = None


@dataclass(frozen=True, slots=True)
class Leadership:
    """A run that this process may lead now. ``plan``: the run's plan, with the secrets that its record does not have.
    ``first``: the first record of a new run."""

    held: Held
    plan: ev.Plan
    approvers: Approvers
    terms: ev.ApprovalRule | None = None
    first: ev.Record | None = None

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.held.lease.run


def begin_run(tools: Tools, journal: Journal, request: Request) -> Leadership:
    """Record a run and hold its lease. Raises ``KeyUsed`` if the key has started one, ``NotStarted`` if no session can
    be opened, ``LeaseHeld``."""
    plan = with_predictions(tools, request.plan)
    # Sessions first: a wrong password or host key must not leave a run behind.
    with tools.adapters(plan):
        pass
    if not tools.is_rehearsal:
        # From now on the approval policy of its inventory is kept for its services.
        keep(journal, plan)
    created = ev.RunCreated(plan=recordable(plan), version=VERSION, **tools.who()._asdict())
    now = tools.clock.now()
    held = hold_new(
        journal, tools.clock, new_run_name(now), created, key=request.key, asked=stored(request.asked or {})
    )
    first = ev.Record(run=held.lease.run, seq=1, at=now, lane=None, event=created)
    if plan.approval is not None:
        # People approve the stored plan. So it is read again, in case a free text in it was redacted.
        held = held._replace(run=fold(journal.records(held.lease.run)))
    if request.break_glass is not None:
        break_the_glass(tools, journal, held.lease.run, held.run.plan, request.break_glass)
    return Leadership(held, plan, tools.approvers(), first=first)


def take_run(tools: Tools, journal: Journal, name: str, run: Run, *, to_abort: bool = False) -> Leadership:
    """Hold run ``name``, whose record leads to ``run``. ``to_abort``: to roll it back, which needs no approval.

    Raises ``LeaseHeld``, and ``NotStarted`` for a run that requires more approvals than are possible here.
    """
    know_recorded(run.plan)
    approvers = tools.approvers()
    terms = None if to_abort else terms_of(approvers, run.plan, _requester(tools, journal, name))
    tools.ask_secrets(run.plan)
    held = hold_again(journal, tools.clock, name, run)
    return Leadership(held, held.run.plan, approvers, terms)


@contextmanager
def leading(
    tools: Tools,
    journal: Journal,
    leadership: Leadership,
    *,
    observers: Sequence[Observer] = (),
    desk: Prompter | None = None,
    tell: Callable[[str], object],
) -> Iterator[Engine]:
    """The engine that leads the run, for the block to call. Its hooks get events meanwhile and after the block.

    ``desk`` answers the questions of the run; without a desk the run is unattended. ``tell`` is told about events that
    were not delivered to hooks.
    """
    held, plan = leadership.held, leadership.plan
    hooks = hooks_of(tools, plan, held.lease.run)
    engine = Engine(
        journal,
        *held,
        tools.make_fleet(plan, held.lease, desk),
        tools.clock,
        **tools.who()._asdict(),
        attended=desk is not None,
        observers=[*observers, hooks, _PolicyKeeper(journal)],
        approvers=leadership.approvers,
        approval=leadership.terms,
    )
    with telling(hooks, journal, held.lease.run, tell):
        yield engine


def new_run_name(now: float) -> str:
    """A name that sorts by time and can be typed: ``20261120-030501-7f3a``."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)) + "-" + secrets.token_hex(2)


def _requester(tools: Tools, journal: Journal, name: str) -> str:
    """The account that planned the run. Old records do not contain it; then it is this account."""
    created = next(iter(journal.records(name))).event
    return created.account if isinstance(created, ev.RunCreated) and created.account else tools.account


class _PolicyKeeper:
    """After people have approved a plan, replaces the kept policies of its services by its inventory's approval
    policy."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __call__(self, record: ev.Record, run: Run) -> None:
        event = record.event
        is_plan = isinstance(event, ev.GateDecided) and event.gate == APPROVAL_GATE and record.lane is None
        if is_plan and isinstance(event, ev.GateDecided) and event.ruling.choice == "approve":
            replace(self._journal, run.plan)
