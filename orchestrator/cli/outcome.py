"""The end of a run on the screen: what was done, what it cost, what to do next, and where the record is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping

from orchestrator import events as ev
from orchestrator.cli.terminal import say, show, show_json
from orchestrator.cli.wiring import JOURNAL_VARIABLE, STATE_VARIABLE, Tools
from orchestrator.counting import counted
from orchestrator.errors import FailoverError
from orchestrator.journal import Journal
from orchestrator.reports.advice import advice
from orchestrator.reports.report import ApprovalReport, LaneReport, RunReport

_LANES_IN_FULL = 20

Account = Mapping[str, Mapping[str, int]]


def show_result(
    tools: Tools, plan: ev.Plan, report: RunReport, *, as_json: bool, journal: Journal, is_led: bool = False
) -> None:
    """The result on stdout: a few lines, or one JSON object. ``is_led``: another process leads the run at this moment.
    Raises ``OutputLost``."""
    account = simulated_account(tools, plan)
    if as_json:
        show_json({"result": report.model_dump(mode="json"), "simulated_account": account})
        return
    show("")
    for line in report_lines(report, account, is_led=is_led):
        show(line)
    if not tools.is_rehearsal:  # that says itself what became of its record
        show(f"Record: run {report.run} in {place_of(journal)}  ({_here()}failover runs show {report.run})")


def _here() -> str:
    """What to type before a command so that it finds the same record. A shared journal is found by its own variable,
    whose value may have a password."""
    named = None if os.environ.get(JOURNAL_VARIABLE) else os.environ.get(STATE_VARIABLE)
    return f"{STATE_VARIABLE}={shlex.quote(named)} " if named else ""


def report_lines(report: RunReport, account: Account | None = None, *, is_led: bool = False) -> Iterator[str]:
    """The report for a person. ``account``: what the simulated world says became of the messages, by service.
    ``is_led``: a process leads the run at this moment."""
    marker = "SIMULATED  " if report.simulated else ""
    outcome = report.outcome or report.status
    way = f"{report.source} to {report.target}"
    yield f"{marker}{report.runbook}: {way}: {str(outcome).upper()} after {report.seconds:.1f}s"
    if report.approval is not None:
        yield from _approval_lines(report, report.approval)
    shown = [
        lane for lane in report.lanes if lane.outcome is not ev.Outcome.DONE or len(report.lanes) <= _LANES_IN_FULL
    ]
    for lane in shown:
        yield from _lane_lines(report, lane, is_led)
        if account is not None and lane.service in account:
            yield f"    the simulated world's own account so far: {_figures(account[lane.service])}"
    rest = len(report.lanes) - len(shown)
    if rest:
        outages = [lane.outage_seconds for lane in report.lanes if lane.outage_seconds is not None]
        longest = f"; the longest had no active site for at most {max(outages):.1f}s" if outages else ""
        yield f"  {counted(rest, 'more service')}: done{longest}"


def _approval_lines(report: RunReport, approval: ApprovalReport) -> Iterator[str]:
    for one in approval.given:
        worth = f", signed by key {one.key}" if one.key else ", not signed"
        yield f"  approved by {one.by} on {one.host} at {one.at}{worth}" + (f": {one.reason}" if one.reason else "")
    for one in approval.refused:
        yield f"  does not count: {one.by} on {one.host} at {one.at}: {one.reason}"
    decision = approval.decision
    if approval.is_waiting:
        left = approval.needed - len(approval.given)
        yield f"  WAITS for {left} of {counted(approval.needed, 'approval')} until {approval.expires_at}"
        yield f"    what to do: somebody else than {approval.requester}: failover approve {report.run}"
    elif decision is not None and decision.choice == "break-glass":
        yield f"  GLASS BROKEN by {decision.by}: begun without the approval of others ({decision.reason})"


def _lane_lines(report: RunReport, lane: LaneReport, is_led: bool) -> Iterator[str]:
    reason = f": {lane.reason}" if lane.reason else ""
    yield f"  {lane.service}: {lane.outcome or _position(report, lane)}{reason}"
    if lane.no_active_site_since is not None:
        unknown = " or ".join(site for site in (report.source, report.target) if site not in lane.roles)
        perhaps, unless = (
            ("PERHAPS ", f": what became of the command to {unknown} is not known") if unknown else ("", "")
        )
        yield f"    {perhaps}NO SITE IS ACTIVE since {lane.no_active_site_since}{unless}"
    if lane.outage_seconds is not None:
        drained = "" if lane.drained_messages is None else f"; {counted(lane.drained_messages, 'message')} drained"
        if lane.outcome is not ev.Outcome.DONE:
            drained = ""  # they went back, or are at risk
        yield f"    no active site for at most {lane.outage_seconds:.2f}s{drained}"
    if lane.outcome is ev.Outcome.ESCALATED:
        yield f"    {_messages(lane.at_risk_messages)} at risk"
    for decision in lane.decisions:
        item = f" {decision.item}" if decision.item else ""
        number = decision.at_risk
        risk = "" if number is None else f"; {counted(number, 'message was', 'messages were')} at risk"
        took = f" after {decision.seconds:.0f}s" if decision.seconds is not None and decision.seconds >= 1 else ""
        by = f"{decision.choice}, by {decision.by}{took}"
        yield f"    decided on {decision.gate}{item}: {by} ({decision.reason}){risk}"
    next_thing = advice(report, lane, is_led=is_led)
    if next_thing:
        yield f"    what to do: {next_thing}"


def _position(report: RunReport, lane: LaneReport) -> str:
    """Where a lane is that has no outcome yet."""
    if not lane.steps:
        return "not begun"
    return f"{report.status}, in the step: {lane.steps[-1].title}"


def _messages(number: int | None) -> str:
    return "an unknown number of messages" if number is None else counted(number, "message")


def _figures(words: Mapping[str, int]) -> str:
    return f"{words['lost']:,} lost, {words['duplicated']:,} duplicated, {words['out_of_order']:,} out of order"


def simulated_account(tools: Tools, plan: ev.Plan) -> Account | None:
    """What the simulated world says became of the messages so far; None when the devices were real."""
    source = plan.inventory.sites[plan.source]
    if not plan.simulated or "world" not in source.options:
        return None  # real devices, or a lab, whose world is in another process
    from adapters.mock.account_view import accounts

    try:
        return accounts(source, tools.clock, plan.services)
    except FailoverError as error:
        say(f"the simulated world's account cannot be read: {error}")
        return None


def place_of(journal: Journal) -> str:
    """Where the record is, without the password that a database's URL may have."""
    return journal.engine.url.render_as_string(hide_password=True).removeprefix("sqlite:///")
