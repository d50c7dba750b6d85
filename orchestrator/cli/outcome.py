"""The end of a run on the screen: what was done, what it cost, what to do next, and where the record is."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator import events as ev
from orchestrator.cli.terminal import show, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.journal import Journal
from orchestrator.reports.advice import advice
from orchestrator.reports.report import LaneReport, RunReport

_LANES_IN_FULL = 20


def show_result(tools: Tools, plan: ev.Plan, report: RunReport, *, as_json: bool, journal: Journal) -> None:
    """The result on stdout: a few lines, or one JSON object."""
    account = simulated_account(tools, plan)
    if as_json:
        show_json({"result": report.model_dump(mode="json"), "simulated_account": account})
        return
    show("")
    for line in report_lines(report):
        show(line)
    for service, words in (account or {}).items():
        figures = f"{words['lost']} lost, {words['duplicated']} duplicated, {words['out_of_order']} out of order"
        show(f"  {service}, by the simulated world's own account: {figures}")
    show(f"Record: run {report.run} in {_place(journal)}  (failover runs show {report.run})")


def report_lines(report: RunReport) -> Iterator[str]:
    """The report for a person."""
    marker = "SIMULATED  " if report.simulated else ""
    outcome = report.outcome or report.status
    way = f"{report.source} to {report.target}"
    yield f"{marker}{report.runbook}: {way}: {str(outcome).upper()} after {report.seconds:.1f}s"
    shown = [
        lane for lane in report.lanes if lane.outcome is not ev.Outcome.DONE or len(report.lanes) <= _LANES_IN_FULL
    ]
    for lane in shown:
        yield from _lane_lines(report, lane)
    rest = len(report.lanes) - len(shown)
    if rest:
        outages = [lane.outage_seconds for lane in report.lanes if lane.outage_seconds is not None]
        longest = f"; the longest had no active site for at most {max(outages):.1f}s" if outages else ""
        yield f"  {rest} more services: done{longest}"


def _lane_lines(report: RunReport, lane: LaneReport) -> Iterator[str]:
    reason = f": {lane.reason}" if lane.reason else ""
    yield f"  {lane.service}: {lane.outcome or lane.status}{reason}"
    if lane.outage_seconds is not None:
        drained = "" if lane.drained_messages is None else f"; {lane.drained_messages:,} messages drained"
        yield f"    no active site for at most {lane.outage_seconds:.2f}s{drained}"
    if lane.outcome is ev.Outcome.ESCALATED:
        risk = "an unknown number of" if lane.at_risk_messages is None else f"{lane.at_risk_messages:,}"
        yield f"    {risk} messages at risk"
    for decision in lane.decisions:
        item = f" {decision.item}" if decision.item else ""
        yield f"    decided on {decision.gate}{item}: {decision.choice}, by {decision.by} ({decision.reason})"
    next_thing = advice(report, lane)
    if next_thing:
        yield f"    what to do: {next_thing}"


def simulated_account(tools: Tools, plan: ev.Plan) -> dict[str, dict[str, int]] | None:
    """What the simulated world says became of the messages; None when the devices were real."""
    source = plan.inventory.sites[plan.source]
    if not plan.simulated or "world" not in source.options:
        return None  # real devices, or a lab, whose world is in another process
    from adapters.mock.account_view import accounts

    return accounts(source, tools.clock, plan.services)


def _place(journal: Journal) -> str:
    return journal.url.removeprefix("sqlite:///")
