"""Leads a run from the command line: screen, desk, signals, and the end of it. Shared by move and resume."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from orchestrator import events as ev
from orchestrator.cli.desk import TerminalDesk
from orchestrator.cli.outcome import show_result
from orchestrator.cli.screen import JsonScreen, LiveScreen, PlainScreen
from orchestrator.cli.terminal import is_attended, say
from orchestrator.cli.wiring import Tools, user_name
from orchestrator.engine import Engine, Observer
from orchestrator.errors import FailoverError
from orchestrator.fleet import ThreadedFleet
from orchestrator.journal import Journal, Writer
from orchestrator.lease import Lease, create_run, service_key, take
from orchestrator.reports.report import RunReport, build
from orchestrator.state import Run, begin, fold
from orchestrator.version import VERSION


def new_run_name(now: float) -> str:
    """A name that sorts by time and can be typed: ``20261120-030501-7f3a``."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)) + "-" + secrets.token_hex(2)


def lead_new(tools: Tools, plan: ev.Plan, *, as_json: bool) -> int:
    """Start a run of ``plan`` and lead it. Returns the process exit code."""
    journal = tools.journal()
    try:
        # Sessions first: a wrong password or host key must not leave a run behind.
        with tools.adapters(plan):
            pass
        now = tools.clock.now()
        created = ev.RunCreated(plan=plan, by=user_name(), version=VERSION)
        lease, writer = create_run(journal, tools.clock, new_run_name(now), created)
        record = ev.Record(run=lease.run, seq=1, at=now, lane=None, event=created)
        return _lead(tools, journal, lease, writer, begin(record), as_json=as_json)
    finally:
        journal.close()


def lead_again(
    tools: Tools, journal: Journal, name: str, *, as_json: bool, policy: ev.Policy | None, abort: str | None
) -> int:
    """Go on with run ``name`` from its record; with ``abort`` (the reason), on the way back where possible."""
    run = fold(journal.records(name))
    keys = {service_key(run.plan, lane.service): lane.service for lane in run.lanes.values() if not lane.settled}
    lease, writer = take(journal, tools.clock, name, keys)
    # Nobody else can have written between reading and taking, or the records are read once more.
    if writer.seq != run.seq:
        run = fold(journal.records(name))
    asked = None if abort is None else ev.AbortAsked(by=user_name(), reason=abort)
    return _lead(tools, journal, lease, writer, run, as_json=as_json, policy=policy, abort=asked)


def _lead(
    tools: Tools,
    journal: Journal,
    lease: Lease,
    writer: Writer,
    run: Run,
    *,
    as_json: bool,
    policy: ev.Policy | None = None,
    abort: ev.AbortAsked | None = None,
) -> int:
    attended = is_attended() and not as_json
    screen = JsonScreen() if as_json else LiveScreen() if attended else PlainScreen()
    desk = TerminalDesk(user_name(), screen.quiet) if attended else None
    observers: list[Observer] = [screen] if desk is None else [desk, screen]
    fleet = ThreadedFleet(tools.make_adapters(run.plan), lease, tools.clock, desk=desk)
    engine = Engine(
        journal,
        lease,
        writer,
        run,
        fleet,
        tools.clock,
        by=user_name(),
        attended=attended,
        observers=observers,
    )
    try:
        with _pausing(engine):
            engine.run(policy=policy, abort=abort)
    except FailoverError as error:
        screen.close()
        say(f"run {lease.run} stopped; go on when the cause is mended: failover resume {lease.run}")
        raise error
    finally:
        screen.close()
    report = build(journal.records(lease.run))
    show_result(tools, run.plan, report, as_json=as_json, journal=journal)
    return report.exit_code


@contextmanager
def _pausing(engine: Engine) -> Iterator[None]:
    """Ctrl-C and SIGTERM pause at a safe point; the second one ends the process at once."""

    def pause(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        say(f"{name}: stopping at the next safe point; once more ends it at once (the record stays good)")
        signal.signal(number, signal.SIG_DFL)
        engine.pause(f"{name} from outside")

    before = {number: signal.signal(number, pause) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def find_run(journal: Journal, name: str | None) -> str:
    """The run called ``name``, by a beginning of it, or ``last``; without a name the only one that is unfinished."""
    rows = journal.runs()
    if name == "last" and rows:
        return rows[0].run
    if name is not None:
        fits = [row.run for row in rows if row.run.startswith(name)]
        if len(fits) == 1:
            return fits[0]
        if len(fits) > 1:
            raise _ambiguous(f"{name} fits several runs", fits)
        return journal.row(name).run
    open_runs = [row.run for row in rows if _report(journal, row.run).resumable]
    if len(open_runs) != 1:
        raise _ambiguous("several runs are unfinished" if open_runs else "no run is unfinished", open_runs)
    return open_runs[0]


def _report(journal: Journal, run: str) -> RunReport:
    return build(journal.records(run))


def _ambiguous(sentence: str, runs: list[str]) -> FailoverError:
    from orchestrator.errors import NoSuchRun

    return NoSuchRun(sentence, hint=f"name one: {', '.join(runs[:5])}" if runs else "see `failover runs list`")
