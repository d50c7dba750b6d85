"""Shows the end of a run: the changes, the outage, the next action, and the place of the record."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.counting import counted, named
from orchestrator.errors import FailoverError
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.families import amount, words_of
from orchestrator.operations.journal_location import place_of
from orchestrator.operations.runtime import JOURNAL_VARIABLE, STATE_VARIABLE, Tools
from orchestrator.reports.abort import AbortVerdict
from orchestrator.reports.approval import ApprovalReport
from orchestrator.reports.document import LaneReport, RunReport
from orchestrator.reports.next_steps import advice
from orchestrator.reports.wording import direction

_LANES_IN_FULL = 20
_FEW = 3  # up to this many alike services are all shown in full

Account = Mapping[str, Mapping[str, int]]


def show_result(
    tools: Tools,
    plan: ev.Plan,
    report: RunReport,
    *,
    as_json: bool,
    journal: Journal,
    is_led: bool = False,
    verdict: AbortVerdict | None = None,
) -> None:
    """Print the result on stdout: a few lines, or one JSON object. ``is_led``: another process leads the run at this
    moment. ``verdict`` is the outcome of an abort by this command, and is the last line. Raises ``OutputLost``."""
    account = simulated_account(tools, plan)
    if as_json:
        result = report.model_dump(mode="json") | ({} if verdict is None else verdict.as_data())
        show_json({"result": result, "simulated_account": account})
        return
    show("")
    for line in report_lines(report, account, is_led=is_led, is_kept=tools.keeps_records):
        show(line)
    if not tools.is_rehearsal:  # a rehearsal prints itself what happens to its record
        show(f"Record: run {report.run} in {place_of(journal)}  ({_here()}failover runs show {report.run})")
    if verdict is not None and verdict.text:
        show(f"{'SIMULATED  ' if plan.simulated else ''}{verdict.text}")


def _here() -> str:
    """The variable to type before a command, so the command finds the same record. Empty for a shared journal, because
    its own variable may contain a password."""
    named = None if os.environ.get(JOURNAL_VARIABLE) else os.environ.get(STATE_VARIABLE)
    return f"{STATE_VARIABLE}={shlex.quote(named)} " if named else ""


def report_lines(
    report: RunReport, account: Account | None = None, *, is_led: bool = False, is_kept: bool = True
) -> Iterator[str]:
    """The report for a person: alarms first, then the services that differ, in full, then the other services.
    ``account`` has the simulated world's counts of messages, by service. ``is_led``: a process leads the run at this
    moment. ``is_kept``: the record of the run is kept."""
    marker = "SIMULATED  " if report.simulated else ""
    for alarm in report.alarms:
        yield f"{marker}{alarm.text}"
    way = direction(report.runbook, report.source, report.target)
    state = state_of(report, is_led=is_led).upper()
    last = "" if report.ended_at is not None else ", according to its last record"
    yield f"{marker}{report.runbook}: {way}: {state} after {report.seconds:.1f}s{last}"
    for note in report.notes:
        yield f"  {note}"
    if report.approval is not None:
        yield from _approval_lines(report, report.approval)
    for in_full, alike in _sorted_out(report.lanes):
        for lane in in_full:
            yield from _lane_lines(report, lane, is_led, is_kept)
            if account is not None and lane.service in account:
                yield f"    the simulation has counted so far: {_figures(account[lane.service])}"
        yield from _rows(alike, report, in_full[0] if in_full else None, is_led)
    if len(report.lanes) > _LANES_IN_FULL:
        yield _in_all(report, is_led)


def state_of(report: RunReport, *, is_led: bool) -> str:
    """The outcome of a run, or its state if it has none yet. A run is running only if a process leads it."""
    if report.outcome is not None:
        return str(report.outcome)
    return report.status if is_led or report.status == "paused" else "interrupted"


def _sorted_out(lanes: Sequence[LaneReport]) -> list[tuple[list[LaneReport], list[LaneReport]]]:
    """Groups of services that are alike: in each group the services to show in full, and the services to show as a row.
    The most common group of done services comes last. Of the other groups, smaller groups come first, because they
    differ most."""
    groups: dict[tuple[object, ...], list[LaneReport]] = {}
    for lane in lanes:
        groups.setdefault(_kind(lane), []).append(lane)
    done = [kind for kind in groups if kind[0] is ev.Outcome.DONE]
    usual = max(done, key=lambda kind: len(groups[kind]), default=None)
    others = [found for kind, found in groups.items() if kind != usual]
    if len(lanes) <= _LANES_IN_FULL:
        shown = {lane.service for found in others for lane in found}
        first: list[tuple[list[LaneReport], list[LaneReport]]] = [
            ([one for one in lanes if one.service in shown], [])
        ]
        return first if usual is None else [*first, (groups[usual], [])]
    parts = [(found, []) if len(found) <= _FEW else (found[:1], found[1:]) for found in sorted(others, key=_concern)]
    if usual is not None:
        most, told = groups[usual], 0 if usual == _PLAIN else 1
        parts.append((most[:told], most[told:]))
    return parts


def _concern(alike: Sequence[LaneReport]) -> tuple[bool, int]:
    """The sort key of a group. Groups that are not done come first, and smaller groups before larger groups."""
    return alike[0].outcome is ev.Outcome.DONE, len(alike)


def _kind(lane: LaneReport) -> tuple[object, ...]:
    """A key that is equal for services that are alike. For a service that is not done, it also has the place and the
    reason."""
    left = lane.left_behind is not None and not lane.left_behind.is_nothing
    decided = tuple((one.gate, one.item, one.choice) for one in lane.decisions)
    bad = bool(lane.both_active or lane.not_aborted or lane.no_active_site_since)
    if lane.outcome is ev.Outcome.DONE:
        return lane.outcome, decided, bad, left
    at = lane.steps[-1].id if lane.steps else ""
    return lane.outcome, decided, bad, left, lane.status, at, lane.reason.replace(lane.service, "")


# Done, with nothing else to report.
_PLAIN = (ev.Outcome.DONE, (), False, False)


def _rows(lanes: Sequence[LaneReport], report: RunReport, first: LaneReport | None, is_led: bool) -> Iterator[str]:
    """A row for each service that is like ``first``. ``first`` was shown in full."""
    width = max((len(lane.service) for lane in lanes), default=0)
    for lane in lanes:
        state = lane.outcome or (state_of(report, is_led=is_led) if lane.steps else "not started")
        same = f", the same as {first.service}" if first is not None and lane.outcome is not ev.Outcome.DONE else ""
        yield f"  {lane.service:<{width}}  {state}{same}{_dark(lane, report)}{_outage(lane, report)}"
    known = [lane for lane in lanes if lane.outage_seconds is not None]
    if known:
        longest = max(known, key=lambda lane: lane.outage_seconds or 0.0)
        yield f"  the longest of these {len(lanes)}: {longest.service}{_outage(longest, report)}"


def _dark(lane: LaneReport, report: RunReport) -> str:
    """The words for a service that no site serves, with the duration."""
    if lane.no_active_site_since is None:
        return ""
    perhaps = "PERHAPS " if _unread(report, lane) else ""
    what = words_of(report.runbook.partition("/")[0]).none_serves
    return f", {perhaps}{what} for {lane.no_active_site_seconds or 0.0:.0f} s"


def _in_all(report: RunReport, is_led: bool) -> str:
    """The last line, which stays on the screen: the number of services by outcome, the services that are not done, and
    the number of services without an active site."""
    states = Counter(str(lane.outcome or state_of(report, is_led=is_led)) for lane in report.lanes)
    counts = ", ".join(f"{many:,} {state}" for state, many in states.most_common())
    left = [lane.service for lane in report.lanes if lane.outcome is not ev.Outcome.DONE]
    which = f"; not done: {named(left)}" if left else ""
    dark = sum(lane.no_active_site_since is not None for lane in report.lanes)
    outage = f"; no active site is known for {dark:,}" if dark else ""
    return f"  of {len(report.lanes):,} services: {counts}{outage}{which}"


def _approval_lines(report: RunReport, approval: ApprovalReport) -> Iterator[str]:
    for one in approval.given:
        worth = f", signed by key {one.key}" if one.key else ", not signed"
        yield f"  approved by {one.by} on {one.host} at {one.at}{worth}" + (f": {one.reason}" if one.reason else "")
    for one in approval.refused:
        yield f"  the answer of {one.by} on {one.host} at {one.at} does not count: {one.reason}"
    decision = approval.decision
    if approval.is_waiting:
        left = approval.needed - len(approval.given)
        yield f"  WAITS for {left} of {counted(approval.needed, 'approval')} until {approval.expires_at}"
        yield f"    what to do: ask a person other than {approval.requester} to approve: failover approve {report.run}"
    elif decision is not None and decision.choice == "break-glass":
        yield f"  BREAK-GLASS by {decision.by}: started without the approval of others ({decision.reason})"


def _lane_lines(report: RunReport, lane: LaneReport, is_led: bool, is_kept: bool) -> Iterator[str]:
    family = report.runbook.partition("/")[0]
    reason = f": {lane.reason}" if lane.reason else ""
    yield f"  {lane.service}: {lane.outcome or _position(report, lane, is_led)}{reason}"
    if lane.no_active_site_since is not None:
        unread = _unread(report, lane)
        perhaps, unless = ("PERHAPS ", f": the present role of {unread} was not read") if unread else ("", "")
        by = "now, according to the readings" if report.status == "interrupted" else "the last record"
        so_far = f", for {lane.no_active_site_seconds or 0.0:.0f} s by {by}"
        yield f"    {perhaps}{words_of(family).none_serves} since {lane.no_active_site_since}{so_far}{unless}"
    for both in lane.both_active:
        until = f"until {both.until}" if both.until else f"last read at {both.last}, and no reading shows the end"
        most = "" if both.at_most_seconds is None else f", at most {both.at_most_seconds:.1f}s"
        least = f"for at least {both.at_least_seconds:.1f}s"
        yield f"    both sites were read active from {both.first}, {least}{most}; {until}"
    if _outage(lane, report):
        yield f"    {_outage(lane, report).lstrip(', ')}"
    if lane.outcome is ev.Outcome.ESCALATED:
        yield f"    {amount(lane.at_risk_messages, family)} at risk"
    for decision in lane.decisions:
        item = f" {decision.item}" if decision.item else ""
        risk = "" if decision.at_risk is None else f"; at risk: {amount(decision.at_risk, family)}"
        took = f" after {decision.seconds:.0f}s" if decision.seconds is not None and decision.seconds >= 1 else ""
        by = f"{decision.choice}, by {decision.by}{took}"
        yield f"    decided on {decision.gate}{item}: {by} ({decision.reason}){risk}"
    next_thing = advice(report, lane, is_led=is_led, is_kept=is_kept)
    if next_thing:
        yield f"    what to do: {next_thing}"


def _unread(report: RunReport, lane: LaneReport) -> str:
    """The sites that were not read since they were changed."""
    return " or ".join(site for site in (report.source, report.target) if not _is_read(lane, site))


def _is_read(lane: LaneReport, site: str) -> bool:
    return site in lane.roles or site in lane.lets_clients_in


def _outage(lane: LaneReport, report: RunReport) -> str:
    """The outage of a service: its total and its longest interval, and the number of drained messages."""
    if not lane.gaps:
        return ""
    family = report.runbook.partition("/")[0]
    seconds = sum(one.seconds for one in lane.gaps)
    bound = "at least" if any(one.had_begun for one in lane.gaps) else "at most"
    many = f", in {len(lane.gaps)} intervals, the longest {max(one.seconds for one in lane.gaps):.2f}s"
    # With any other outcome the messages were returned, or are at risk.
    is_drained = lane.outcome is ev.Outcome.DONE and lane.drained_messages is not None
    drained = f"; {amount(lane.drained_messages, family)} drained" if is_drained else ""
    what = words_of(family).outage
    return f", {what} for {bound} {seconds:.2f}s{many * (len(lane.gaps) > 1)}{drained}"


def _position(report: RunReport, lane: LaneReport, is_led: bool) -> str:
    """The position of a lane without an outcome."""
    if not lane.steps:
        return "not started"
    return f"{state_of(report, is_led=is_led)}, in the step: {lane.steps[-1].title}"


def _figures(words: Mapping[str, int]) -> str:
    return f"{words['lost']:,} lost, {words['duplicated']:,} duplicated, {words['out_of_order']:,} out of order"


def simulated_account(tools: Tools, plan: ev.Plan) -> Account | None:
    """The simulated world's present counts of messages. None if the devices are real."""
    source = plan.inventory.sites[plan.source]
    if not plan.simulated or "world" not in source.options:
        return None  # real devices, or a lab, because its world is in another process
    from simulator.world.account_figures import accounts

    try:
        return accounts(source, tools.clock, plan.services)
    except FailoverError as error:
        say(f"the counts of the simulation cannot be read: {error}")
        return None
