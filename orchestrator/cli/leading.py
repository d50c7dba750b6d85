"""Leads a run from the command line: screen, desk, signals, and the end of it. Shared by all that move services."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

from orchestrator import events as ev
from orchestrator.cli.approving import break_the_glass
from orchestrator.cli.desk import TerminalDesk
from orchestrator.cli.outcome import show_result
from orchestrator.cli.outgoing import hooks_of, telling
from orchestrator.cli.planning import recordable
from orchestrator.cli.screen import JsonScreen, PlainScreen, Screen
from orchestrator.cli.terminal import is_attended, say, say_at_once
from orchestrator.cli.wiring import Tools, user_name
from orchestrator.engine import Engine, Observer
from orchestrator.errors import FailoverError, JournalCorrupt, JournalLost, LeaseLost, OutputLost
from orchestrator.journal import Journal, Writer
from orchestrator.keys import stored
from orchestrator.lease import Lease, create_run, service_key, take
from orchestrator.patience import ALONE, WATCHED, Patience
from orchestrator.reports.report import build
from orchestrator.state import Run, begin, fold
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

    ``asked``: all that ``key`` stands for (``once``). ``break_glass``: why it begins without the approvals that the plan
    asks for.
    """
    journal = tools.journal()
    try:
        # Sessions first: a wrong password or host key must not leave a run behind.
        with tools.adapters(plan):
            pass
        now = tools.clock.now()
        created = ev.RunCreated(plan=recordable(plan), by=user_name(), version=VERSION)
        lease, writer = create_run(
            journal, tools.clock, new_run_name(now), created, key=key, asked=stored(asked or {})
        )
        record = ev.Record(run=lease.run, seq=1, at=now, lane=None, event=created)
        # What people agree to is what is stored: read again, in case a free text in it was redacted on its way.
        run = begin(record) if plan.approval is None else fold(journal.records(lease.run))
        if break_glass is not None:
            break_the_glass(tools, journal, lease.run, run.plan, break_glass)
        leader = _Leader(tools, journal, lease, writer, run, plan, as_json=as_json)
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
    """Resume run ``name``, whose record leads to ``run``; with ``abort``, on the way back where possible."""
    tools.ask_secrets(run.plan)
    keys = {service_key(run.plan, lane.service): lane.service for lane in run.lanes.values() if not lane.settled}
    lease, writer = take(journal, tools.clock, name, keys)
    # Nobody else can have written between reading and taking, or the records are read once more.
    if writer.seq != run.seq:
        run = fold(journal.records(name))
    leader = _Leader(tools, journal, lease, writer, run, run.plan, as_json=as_json)
    return leader.lead(policy=policy, abort=abort)


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
    ) -> None:
        self._tools, self._journal, self._lease, self._run = tools, journal, lease, run
        self._as_json = as_json
        attended = is_attended() and not as_json
        self._screen = _screen(attended, as_json)
        self._patience = journal.patience = Patience(tools.clock, WATCHED if attended else ALONE, self._say)
        caveat = journal.insist(journal.caveat)
        if caveat and not as_json:
            say(caveat)
        desk = TerminalDesk(user_name(), self._screen.quiet, run) if attended else None
        self._hooks = hooks_of(tools, plan, lease.run)
        observers: list[Observer] = [self._screen, self._hooks] if desk is None else [desk, self._screen, self._hooks]
        fleet = tools.make_fleet(plan, lease, desk)
        self._engine = Engine(
            journal,
            lease,
            writer,
            run,
            fleet,
            tools.clock,
            by=user_name(),
            account=tools.account,
            attended=attended,
            observers=observers,
        )

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
        name = self._lease.run
        try:
            if first is not None and self._as_json:
                with suppress(OutputLost):
                    self._screen(first, self._run)
            with _pausing(self._engine, self._patience):
                self._engine.run(policy=policy, abort=abort)
        except (LeaseLost, JournalLost, JournalCorrupt):
            raise
        except FailoverError:
            self._screen.close()
            say(f"run {name} stopped; go on when the cause is mended: failover resume {name}")
            raise
        finally:
            self._screen.close()
        report = self._journal.insist(lambda: build(self._journal.records(name)))
        try:
            show_result(self._tools, self._run.plan, report, as_json=self._as_json, journal=self._journal)
        except OutputLost as error:
            # What became of the run is known and recorded; that nobody could read it changes nothing.
            if not error.is_reader_gone:
                say(str(error))
        return report.exit_code


def _screen(attended: bool, as_json: bool) -> Screen:
    if as_json:
        return JsonScreen()
    if not attended:
        return PlainScreen()
    from orchestrator.cli.live import LiveScreen

    return LiveScreen()


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
