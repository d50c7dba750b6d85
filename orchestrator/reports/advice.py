"""What to do next, for each way a lane can end. Sentences for a person at three in the morning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from orchestrator import events as ev
from orchestrator.counting import counted
from orchestrator.filling import HIGH_SET
from orchestrator.readings import Role
from orchestrator.reports.report import LaneReport, RunReport

_DOWNGRADE_THE_TARGET = frozenset({"amps/controlled", "amps/failback"})
"""Planned moves that leave the target's link downgraded, so that the source may be stopped."""

_PLANNED = ("controlled", "failback")
"""What the kinds of planned moves begin with."""

_OTHERS_FIRST = "The run still moves other services: wait until it has ended. "
"""Whoever leads the run locks out everybody who would go on with it."""


class Stood(Protocol):
    """How the sites of a service were seen to stand, by site; a site that did not tell is not in it."""

    @property
    def service(self) -> str: ...
    @property
    def roles(self) -> Mapping[str, Role]: ...
    @property
    def lets_clients_in(self) -> Mapping[str, bool]: ...
    @property
    def suspended(self) -> Mapping[str, bool]: ...


def advice(report: RunReport, lane: LaneReport, *, is_led: bool = False) -> str:
    """The next thing to do about ``lane``, or empty. ``is_led``: a process is known to lead the run at this moment."""
    if report.approval is not None and report.approval.is_waiting:
        return f"It waits for approvals. If no process leads it any more: `failover resume {report.run}`."
    match lane.outcome:
        case ev.Outcome.DONE:
            return _after_success(report, lane)
        case ev.Outcome.REFUSED:
            return after_refusal(report.runbook, report.source, report.target, lane)
        case ev.Outcome.REVERTED:
            return _after_revert(report, lane)
        case ev.Outcome.ESCALATED:
            return _after_escalation(report, lane)
        case ev.Outcome.NEEDS_OPERATOR:
            return _OTHERS_FIRST * is_led + _when_stopped(report, lane)
        case ev.Outcome.STUCK:
            return _OTHERS_FIRST * is_led + (
                "A change could not be taken back. Look at both sites (`failover status`), mend the cause, and let "
                f"it try again: `failover resume {report.run}`."
            )
        case None if is_led:
            back = f" Or ask it to {_turn_back(report)}: `failover abort {report.run}`."
            return f"It is under way: wait, and answer what it asks.{back * lane.can_turn_back}"
        case None:
            return f"It is not at its end. Go on: `failover resume {report.run}`.{_way_back(report, lane)}"


def _after_success(report: RunReport, lane: LaneReport) -> str:
    kind = report.runbook.partition("/")[2]
    it = named(report.runbook, lane.service)
    if kind.startswith("uncontrolled"):
        return (
            f"What only {report.source} holds stays there. Keep clients away from it: `failover guard --site "
            f"{report.source}` makes it safe once it answers. Then bring it back: `failover restore {it} "
            f"--site {report.source}` (with the same inventory)."
        )
    if report.runbook in _DOWNGRADE_THE_TARGET:
        return (
            f"{report.source} may be stopped now. The link to it is downgraded, so {report.target} has no fail-over "
            f"target until {report.source} is brought back: `failover restore {it} --site {report.source}` "
            "(with the same inventory)."
        )
    if kind.startswith("restore"):
        return (
            f"{report.source} stands by. To give activity back to it, once that is shown to be safe: `failover "
            f"failback {it} --to {report.source}` (with the same inventory)."
        )
    lifted = f"`failover restore {it} --site {report.source}` (with the same inventory)"
    if kind == "suspend":
        return f"What does not fit the replication queue is kept at {report.target} only, until {lifted} lifts that."
    if kind == "proxied-transfer":
        return f"{report.target} delivers what {report.source} owned, until {lifted} turns that off."
    return ""


def _after_revert(report: RunReport, lane: LaneReport) -> str:
    again = "Mend the cause, look with `failover status`, and run it again."
    family, _, kind = report.runbook.partition("/")
    if kind == "suspend":
        return (
            f"Replication is not suspended: publishers are refused once the replication queue of {report.target} is "
            "full. Mend the cause, and try it again: "
            f"`failover watch {named(report.runbook, lane.service)} --suspend-at {HIGH_SET:.0f}%`."
        )
    if kind.startswith("uncontrolled"):
        return f"What was done at {report.source} is taken back, and {report.target} was not activated. {again}"
    if not _is_planned_move(report):
        return f"What was done is taken back. {again}"
    if family == "amps":
        return f"What was done is taken back, and {report.source} lets its clients in again. {again}"
    return f"{report.source} is active again and nothing was lost. {again}"


def after_refusal(runbook: str, source: str, target: str, lane: Stood) -> str:
    """What to do where ``runbook`` did not begin with a service, or would not: by how its sites were seen to stand."""
    family, _, kind = runbook.partition("/")
    is_move = kind.startswith(_PLANNED)
    it = named(runbook, lane.service)
    is_closed = [lane.lets_clients_in.get(site) is False for site in (source, target)]
    if family == "amps" and is_move and is_closed[0]:
        if is_closed[1]:
            return (
                "Nothing was changed. NEITHER INSTANCE LETS CLIENTS IN: if an earlier run stopped half-way "
                "(`failover runs list`), go on with it or call it off; otherwise somebody must decide which one is to "
                "serve, and open that one at the instance itself: no command here does."
            )
        restored = f"`failover restore {it} --site {source}`, then " * (runbook in _DOWNGRADE_THE_TARGET)
        return (
            f"Nothing was changed. {source} lets no client in. If {target} does (`failover status`), its clients move "
            f"to {source} with: {restored}`failover failback {it} --to {source}` (with the same inventory)."
        )
    standing = lane.roles.get(source), lane.roles.get(target)
    if standing == (Role.STANDBY, Role.ACTIVE):
        return (
            f"Nothing was changed. {target} is active already. To move activity to {source}, run: "
            f"`failover controlled {it} --from {target}` (with the same inventory)."
        )
    if standing == (Role.STANDBY, Role.STANDBY):
        return (
            "Nothing was changed. NO SITE IS ACTIVE: if an earlier run stopped half-way (`failover runs list`), "
            "go on with it or call it off; otherwise somebody must decide which site is to serve, and make that one "
            "active at its own device: no command here does. What a site's replication queue holds (`failover "
            "status`), its mate may lack."
        )
    if standing == (Role.ACTIVE, Role.ACTIVE):
        return (
            "Nothing was changed. BOTH SITES ARE ACTIVE: clients may be on either. Somebody must decide which one "
            "gives up activity before anything can be moved."
        )
    if is_move and lane.suspended.get(source):
        return (
            f"Nothing was changed. What {target} lacks may be at {source} only. Bring {target} back as standby first, "
            f"which lifts the suspension once it is synchronised: `failover restore {it} --site {target}`. Activity "
            f"then moves to it, once that is shown to be safe, with `failover failback {it} --to {target}` (both with "
            "the same inventory)."
        )
    if is_move and standing == (Role.STANDBY, None):
        return (
            f"Nothing was changed. Look with `failover status`: if {target} is active already, there is nothing to do; "
            "else mend the cause, and run it again."
        )
    return "Nothing was changed. Mend the cause, look with `failover status`, and run it again."


def named(runbook: str, service: str) -> str:
    """The option that names a service, as it is typed; a name holds no quotes (``site.SERVICE_NAME``)."""
    word = service if service.replace("_", "").replace("-", "").isalnum() else f'"{service}"'
    return f"--service {word}" if runbook.startswith("amps/") else f"--vpn {word}"


def _when_stopped(report: RunReport, lane: LaneReport) -> str:
    if lane.undecided is not None:
        go_on = f"`failover resume {report.run} --{lane.undecided} FILE` with decisions, or without it on a terminal"
    else:
        go_on = f"`failover resume {report.run}`"
    return f"Nothing goes on by itself. Go on: {go_on}.{_way_back(report, lane)}"


def _way_back(report: RunReport, lane: LaneReport) -> str:
    if not lane.can_turn_back:
        return " It is past the point of no return: the only way is forward."
    if lane.no_active_site_since is not None and report.target not in lane.roles:
        return (
            f" Once {report.target} can be read it is known whether it took over; if not, it can still "
            f"{_turn_back(report)}: `failover abort {report.run}`."
        )
    return f" Or {_turn_back(report)}: `failover abort {report.run}`."


def _turn_back(report: RunReport) -> str:
    """What calling the run off does: only a planned move took activity from its source."""
    return f"give activity back to {report.source}" if _is_planned_move(report) else "take back what was done"


def _is_planned_move(report: RunReport) -> bool:
    return report.runbook.partition("/")[2].startswith(_PLANNED)


def _after_escalation(report: RunReport, lane: LaneReport) -> str:
    kept = "journals" if report.runbook.startswith("amps/") else "message spool"
    number = lane.at_risk_messages
    risk = "An unknown number of messages" if number is None else counted(number, "message")
    return (
        f"{risk} may be held by {report.source} alone. Keep its {kept}, and keep clients away "
        "from it until both sites are synchronised."
    )
