"""Leads a run from the command line: screen, desk, signals, and the end of it. Shared by all that move services."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

from orchestrator.cli.render.outcome import show_result
from orchestrator.cli.render.prompt import TerminalDesk
from orchestrator.cli.render.screen import JsonScreen, PlainScreen, Screen
from orchestrator.cli.render.terminal import is_attended, say, say_at_once
from orchestrator.cli.runs.approve import break_the_glass, terms_of
from orchestrator.cli.runs.notify import hooks_of, telling
from orchestrator.core.approvals import APPROVAL_GATE
from orchestrator.core.position import Positions
from orchestrator.core.run import Run, begin, fold
from orchestrator.engine.approvers import Approvers
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.errors import FailoverError, JournalCorrupt, JournalLost, LeaseLost, OutputLost
from orchestrator.journal.approval_policies import keep, replace
from orchestrator.journal.idempotency_keys import stored
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease, create_run, service_key, take
from orchestrator.journal.unavailability import ALONE, WATCHED, Patience
from orchestrator.model import events as ev
from orchestrator.operations.runs.plan import recordable
from orchestrator.operations.runtime import Tools
from orchestrator.reports.abort import verdict_on_abort
from orchestrator.reports.report import build
from orchestrator.reports.wording import outage
from orchestrator.version import VERSION

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"


def new_run_name(now: float) -> str:
    """A name that sorts by time and can be typed: ``20261120-030501-7f3a``."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)) + "-" + secrets.token_hex(2)


def lead_new(
    tools: Tools,
    plan: ev.Plan,
    *,
    as_json: bool,
    key: str | None = None,
    asked: Mapping[str, str] | None = None,
    break_glass: str | None = None,
) -> int:
    """Start a run of ``plan`` and lead it. Returns the process exit code. Raises ``KeyUsed`` if ``key`` has begun one.

    ``asked``: all that ``key`` stands for (``idempotency``). ``break_glass``: why it begins without the approvals
    that the plan asks for.
    """
    journal = tools.journal()
    try:
        # Sessions first: a wrong password or host key must not leave a run behind.
        with tools.adapters(plan):
            pass
        keep_policy(tools, journal, plan)
        now = tools.clock.now()
        created = ev.RunCreated(plan=recordable(plan), version=VERSION, **tools.who()._asdict())
        lease, writer = create_run(
            journal, tools.clock, new_run_name(now), created, key=key, asked=stored(asked or {})
        )
        record = ev.Record(run=lease.run, seq=1, at=now, lane=None, event=created)
        # What people agree to is what is stored: read again, in case a free text in it was redacted on its way.
        run = begin(record) if plan.approval is None else fold(journal.records(lease.run))
        if break_glass is not None:
            break_the_glass(tools, journal, lease.run, run.plan, break_glass)
        leader = _Leader(tools, journal, lease, writer, run, plan, as_json=as_json, approvers=tools.approvers())
        return leader.lead(first=record)
    finally:
        journal.close()


def lead_again(
    tools: Tools,
    journal: Journal,
    name: str,
    run: Run,
    *,
    as_json: bool,
    policy: ev.Policy | None = None,
    abort: ev.AbortAsked | None = None,
) -> int:
    """Resume run ``name``, whose record leads to ``run``; with ``abort``, on the way back where possible, which takes
    nobody else."""
    approvers = tools.approvers()
    terms = None if abort is not None else terms_of(approvers, run.plan, _requester(tools, journal, name))
    tools.ask_secrets(run.plan)
    keys = {service_key(run.plan, lane.service): lane.service for lane in run.lanes.values() if not lane.settled}
    lease, writer = take(journal, tools.clock, name, keys)
    # Nobody else can have written between reading and taking, or the records are read once more.
    if writer.seq != run.seq:
        run = fold(journal.records(name))
    leader = _Leader(tools, journal, lease, writer, run, run.plan, as_json=as_json, approvers=approvers, terms=terms)
    return leader.lead(policy=policy, abort=abort)


def keep_policy(tools: Tools, journal: Journal, plan: ev.Plan) -> None:
    """Before a run of ``plan`` is recorded: its inventory's approval policy is its services' from now on."""
    if not tools.is_rehearsal:
        keep(journal, plan)


def _requester(tools: Tools, journal: Journal, name: str) -> str:
    """Whose account planned the run; records of before accounts were recorded do not tell."""
    created = next(iter(journal.records(name))).event
    return created.account if isinstance(created, ev.RunCreated) and created.account else tools.account


class _PolicyKeeper:
    """Once people have agreed to a plan, its services have its inventory's approval policy, and no former one."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __call__(self, record: ev.Record, run: Run) -> None:
        event = record.event
        is_plan = isinstance(event, ev.GateDecided) and event.gate == APPROVAL_GATE and record.lane is None
        if is_plan and isinstance(event, ev.GateDecided) and event.ruling.choice == "approve":
            replace(self._journal, run.plan)


class _Leader:
    """One process leading one run. ``plan`` is the run's, with the secrets that its record does not have."""

    def __init__(
        self,
        tools: Tools,
        journal: Journal,
        lease: Lease,
        writer: Writer,
        run: Run,
        plan: ev.Plan,
        *,
        as_json: bool,
        approvers: Approvers,
        terms: ev.ApprovalRule | None = None,
    ) -> None:
        self._tools, self._journal, self._lease, self._run = tools, journal, lease, run
        self._as_json = as_json
        attended = is_attended() and not as_json
        self._positions = Positions(plan)
        for record in journal.records(lease.run):
            self._positions.take(record)
        self._screen = self._make_screen(attended)
        self._patience = journal.patience = Patience(tools.clock, WATCHED if attended else ALONE, self._say)
        caveat = journal.insist(journal.caveat)
        if caveat and not as_json:
            say(caveat)
        desk = TerminalDesk(tools.who(), self._screen.quiet, run, outage=self._outage) if attended else None
        self._desk = desk
        self._hooks = hooks_of(tools, plan, lease.run)
        # The positions first: the others show them.
        observers: list[Observer] = [lambda record, _: self._positions.take(record)]
        observers += [] if desk is None else [desk]
        observers += [self._screen, self._hooks, _PolicyKeeper(journal)]
        fleet = tools.make_fleet(plan, lease, desk)
        self._engine = Engine(
            journal,
            lease,
            writer,
            run,
            fleet,
            tools.clock,
            **tools.who()._asdict(),
            attended=attended,
            observers=observers,
            approvers=approvers,
            approval=terms,
        )

    def _make_screen(self, attended: bool) -> Screen:
        if self._as_json:
            return JsonScreen(self._positions)
        if not attended:
            return PlainScreen(self._positions)
        from orchestrator.cli.render.live import LiveScreen

        return LiveScreen(self._positions, self._tools.clock.now)

    def _outage(self, service: str) -> str:
        return outage(self._positions.of(service), self._run.plan, self._tools.clock.now())

    def _say(self, text: str) -> None:
        """A line between what the screen shows, from any thread."""
        self._screen.quiet(True)
        say(text)
        self._screen.quiet(False)

    def lead(
        self, *, first: ev.Record | None = None, policy: ev.Policy | None = None, abort: ev.AbortAsked | None = None
    ) -> int:
        """Until the end, a pause, or an error, with its hooks told. Returns the process exit code."""
        with telling(self._hooks, self._journal, self._lease.run):
            return self._lead(first, policy, abort)

    def _lead(self, first: ev.Record | None, policy: ev.Policy | None, abort: ev.AbortAsked | None) -> int:
        name, has_ended = self._lease.run, False
        try:
            if first is not None and self._as_json:
                with suppress(OutputLost):
                    self._screen(first, self._run)
            with _pausing(self._engine, self._patience):
                self._engine.run(policy=policy, abort=abort)
            has_ended = True
        except FailoverError as error:
            error.stands = self._stands()
            if not isinstance(error, (LeaseLost, JournalLost, JournalCorrupt)) and self._tools.keeps_records:
                self._leave_screen()
                say(f"run {name} stopped; resume it when the cause is fixed: failover resume {name}")
            raise
        finally:
            self._leave_screen()
            if not has_ended:
                for line in self._stands():
                    say(line)
        report = self._journal.insist(lambda: build(self._journal.records(name)))
        verdict = None if abort is None else verdict_on_abort(report)
        try:
            show_result(
                self._tools,
                self._run.plan,
                report,
                as_json=self._as_json,
                journal=self._journal,
                verdict=verdict,
            )
        except OutputLost as error:
            # What became of the run is known and recorded; that nobody could read it changes nothing.
            if not error.is_reader_gone:
                say(str(error))
        return report.exit_code if verdict is None else verdict.exit_code

    def _leave_screen(self) -> None:
        """Ask and redraw nothing more, and show what was held back."""
        if self._desk is not None:
            self._desk.close()
        self._screen.close()

    def _stands(self) -> tuple[str, ...]:
        """What a run that breaks off leaves behind: services that no site is known to serve, or both sites do."""
        clocks = ((service, self._outage(service)) for service in self._run.lanes)
        marker = "SIMULATED  " if self._run.plan.simulated else ""
        return tuple(f"{marker}{service}: {clock}, by the last reading" for service, clock in clocks if clock)


@contextmanager
def _pausing(engine: Engine, patience: Patience) -> Iterator[None]:
    """The first signal pauses at a safe point; any second one ends the process at once.

    A terminal that goes away is no such signal: what was confirmed goes on, unattended, and by the rules for that.
    """

    def pause(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        for each in heard:
            signal.signal(each, signal.SIG_DFL)
        # On a terminal the line may be that of a question, or end in ^C.
        fresh = f"{_SHOW_CURSOR}\n" if sys.stderr.isatty() else ""
        say_at_once(
            f"{fresh}{name}: stopping at the next safe point; once more ends it at once (the record stays good)"
        )
        engine.pause(f"{name} from outside")
        patience.give_up()

    # What is ignored stays ignored: a shell starts jobs in the background so.
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pause) for number in heard}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
