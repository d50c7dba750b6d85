"""The next action for each outcome of a lane, in sentences for a tired operator."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.characters import typed
from orchestrator.documents.shipped import offers_repair
from orchestrator.family.fill_estimate import HIGH_SET
from orchestrator.family.next_steps import NextSteps, Stood
from orchestrator.family.offers import offering
from orchestrator.model import events as ev
from orchestrator.model.families import amount, family_called, words_of
from orchestrator.model.readings import Role
from orchestrator.reports.document import LaneReport, RunReport
from orchestrator.reports.remedies import after_end, resumes, rolled_back

_PLANNED = ("controlled", "failback")
"""How the names of planned moves start."""

_REPAIRED: Mapping[tuple[Role | None, Role | None], str] = {
    (Role.STANDBY, Role.STANDBY): "NO SITE IS ACTIVE.",
    (Role.ACTIVE, Role.ACTIVE): "BOTH SITES ARE ACTIVE: clients may use either site.",
}
"""The states that `failover repair` is for, by the roles of source and target."""

_OTHERS_FIRST = "The run still moves other services: wait until the run has ended. "
"""The leader of the run locks out every other process."""


def advice(report: RunReport, lane: LaneReport, *, is_led: bool = False, is_kept: bool = True) -> str:
    """The next action for ``lane``, or empty. ``is_led``: a process is known to lead the run at this moment.
    ``is_kept``: the record of the run is kept. Without its record a run cannot be resumed, so no resume is advised."""
    if not is_kept and lane.outcome in (None, ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK):
        return ""
    if report.approval is not None and report.approval.is_waiting:
        return f"The run waits for approvals. If no process leads the run now, resume it: `failover resume {report.run}`."
    match lane.outcome:
        case ev.Outcome.DONE:
            return _after_success(report, lane)
        case ev.Outcome.REFUSED:
            return after_refusal(report.runbook, report.source, report.target, lane, why=lane.reason)
        case ev.Outcome.REVERTED:
            return _after_revert(report, lane)
        case ev.Outcome.ESCALATED:
            return _after_escalation(report, lane)
        case ev.Outcome.NEEDS_OPERATOR | ev.Outcome.STUCK:
            return _OTHERS_FIRST * is_led + _when_stopped(report, lane)
        case None if not lane.steps and not is_led and lane.can_turn_back:
            return (
                f"Nothing was changed for this service. Resume the run: `failover resume {report.run}`. Or end the run "
                f"without this service: `failover abort {report.run}`."
            )
        case None if is_led:
            back = f" Or ask the run to {_turn_back(report)}: `failover abort {report.run}`."
            return f"The run is in progress: wait, and answer its questions.{back * lane.can_turn_back}"
        case None:
            return f"The run is not finished. Resume it: `failover resume {report.run}`.{_way_back(report, lane)}"


def _after_success(report: RunReport, lane: LaneReport) -> str:
    kind = report.runbook.partition("/")[2]
    it = typed(lane.service)
    if kind.startswith("uncontrolled"):
        return (
            f"Data that only {report.source} holds stays at {report.source}. Keep clients away from {report.source}: "
            f"`failover guard --site {report.source}` fences it as soon as it answers. Then bring {report.source} back: "
            f"`failover restore {it} --site {report.source}` (with the same inventory)."
        )
    own = _of_family(report.runbook)
    said = "" if own is None else own.after_success(kind, report.source, report.target, it)
    if said:
        return said
    if kind.startswith("restore"):
        return (
            f"To make {report.source} active again, after this is shown to be safe: `failover failback {it} --site "
            f"{report.source}` (with the same inventory)."
        )
    if kind.startswith("repair"):
        return _after_repair(report, lane, it)
    lifted = f"`failover restore {it} --site {report.source}` (with the same inventory)"
    if kind == "suspend":
        return (
            f"Data that does not fit into the replication queue stays only at {report.target}, until {lifted} ends the "
            "suspension."
        )
    if kind == "proxied-transfer":
        return f"{report.target} delivers the queue messages that {report.source} owned, until {lifted} stops this."
    return ""


def _after_repair(report: RunReport, lane: LaneReport, it: str) -> str:
    """The remaining work at the standby site after a repair, because a repair only sets roles."""
    left = lane.left_behind
    if left is not None and left.messages is not None:
        queued = amount(left.messages, report.runbook.partition("/")[0])
        held = f"The replication queue of {report.source} holds {queued}."
    else:
        held = (
            f"The number of messages in the replication queue of {report.source} is unknown, because it was not read."
        )
    restored = (
        f"{held} To complete the prepared transactions of {report.source} and wait until both sites are synchronised: "
        f"`failover restore {it} --site {report.source}` (with the same inventory)."
    )
    if left is None or left.is_nothing:
        return restored
    return (
        f"{restored} Data in the replication queue of {report.source} reaches {report.target} only when "
        f"{report.source} is active again. To make {report.source} active after the restore: "
        f"`failover controlled {it} --site {report.target}`."
    )


def _after_revert(report: RunReport, lane: LaneReport) -> str:
    cause = rolled_back(lane.remedy) or "fix the cause, and check with `failover status`"
    again = f"{_sentence(cause)} If the service still has to move, run the command again."
    if report.runbook.partition("/")[2] == "suspend" and lane.suspended.get(report.target) is False:
        return (
            f"Replication is not suspended. Publishers are refused when the replication queue of {report.target} is "
            "full. Fix the cause, and try again: "
            f"`failover watch {typed(lane.service)} --suspend-at {HIGH_SET:.0f}%`."
        )
    done = _left(lane) if lane.left_changed else "The changes were rolled back."
    if report.runbook.partition("/")[2].startswith("uncontrolled"):
        done = f"{done} This run did not activate {report.target}."
    return f"{done} {_stands(report, lane)} {again}"


def _left(lane: LaneReport) -> str:
    """A sentence with the changes that stay, if they are known."""
    what = f": {'; '.join(lane.left_changed)}" if lane.left_changed else ""
    return f"Not every change could be rolled back{what}."


def _stands(report: RunReport, lane: LaneReport) -> str:
    """The last readings of the sites after all changes. What was not read since is reported as unknown."""
    source, target = report.source, report.target
    if report.runbook.partition("/")[2] == "suspend":
        return "It is unknown whether replication is suspended, because it was not read since."
    if lane.lets_clients_in.get(source):
        return f"A reading shows that {source} lets its clients in."
    roles = lane.roles.get(source), lane.roles.get(target)
    if roles == (Role.ACTIVE, Role.STANDBY):
        # The queue is at the serving site, and no other site served.
        lost = ": nothing was lost" if _is_planned_move(report) and not lane.left_changed else ""
        return f"Readings show that {source} is active again and {target} is standby{lost}."
    if roles == (Role.ACTIVE, Role.ACTIVE):
        return f"BOTH SITES ARE ACTIVE according to the last readings: {source} and {target}."
    if Role.ACTIVE in roles:
        return (
            f"A reading shows that {source if roles[0] is Role.ACTIVE else target} is active; the role of its mate was "
            "not read since."
        )
    return "It is unknown which site serves now, because it was not read."


def after_refusal(runbook: str, source: str, target: str, lane: Stood, *, why: str = "") -> str:
    """The next action if ``runbook`` refused a service, or would refuse it. It depends on the last readings of the sites.
    If ``why``, the reason of the refusal, names a command, no other command is advised."""
    kind = runbook.partition("/")[2]
    is_move = kind.startswith(_PLANNED)
    it = typed(lane.service)
    own = _of_family(runbook)
    said = "" if own is None else own.after_refusal(kind, source, target, lane, it)
    if said:
        return said
    standing = lane.roles.get(source), lane.roles.get(target)
    if standing == (Role.STANDBY, Role.ACTIVE):
        return (
            f"Nothing was changed. {target} is active already. To make {source} active, run: "
            f"`failover controlled {it} --site {target}` (with the same inventory)."
        )
    if standing in _REPAIRED:
        return f"Nothing was changed. {_repair(runbook, source, target, it, standing, why)}"
    if is_move and lane.suspended.get(source):
        return (
            f"Nothing was changed. Perhaps only {source} holds data that {target} lacks. First bring {target} back as "
            f"standby; this ends the suspension when both sites are synchronised: `failover restore {it} --site "
            f"{target}`. Then, after it is shown to be safe, make {target} active: `failover failback {it} --site "
            f"{target}` (both with the same inventory)."
        )
    if is_move and standing == (Role.STANDBY, None):
        return (
            f"Nothing was changed. Check with `failover status`: if {target} is active already, there is nothing to do. "
            f"Otherwise {lane.remedy or 'fix the cause'}, and run the command again."
        )
    if "`failover " in why:
        return "Nothing was changed."
    if lane.remedy:
        return f"Nothing was changed. {_sentence(lane.remedy)}"
    if kind.startswith("failback"):
        return (
            f"Nothing was changed. If {target} was not restored after its failure, restore it: `failover restore {it} "
            f"--site {target}` (with the same inventory). If {target} was restored, wait until both sites are "
            "synchronised (`failover status`), and run the command again."
        )
    return "Nothing was changed."


def _sentence(remedy: str) -> str:
    return f"{remedy[0].upper()}{remedy[1:]}."


def _repair(
    runbook: str, source: str, target: str, it: str, standing: tuple[Role | None, Role | None], why: str
) -> str:
    """The advice when both sites have the same role. ``runbook`` is the runbook that refused."""
    state = _REPAIRED[standing]
    family, _, kind = runbook.partition("/")
    if kind.startswith("repair") and "--accept-loss" in why:
        return (
            f"{state} An operator can accept by name that data stays at {source}: `failover repair {it} --site {target} "
            f"--accept-loss 'who agreed, and why'` (with the same inventory). Or choose the other site: `failover repair "
            f"{it} --site {source}`."
        )
    both = standing == (Role.ACTIVE, Role.ACTIVE)
    how = one_active(family, it, source, target, both=both)
    holds = " The repair shows what each replication queue holds, because the mate may lack it." * offers_repair(
        family
    )
    return (
        f"{state} If a run stopped before its end (`failover runs list`), resume or abort that run. Otherwise {how}."
        f"{holds}"
    )


def one_active(family: str, it: str, source: str, target: str, *, both: bool) -> str:
    """The instruction that gives a pair one active site, without a full stop. ``both``: both sites are active, otherwise
    none is. ``it`` is the service as the operator types it."""
    if offers_repair(family):
        return (
            f"choose the site to be active: `failover repair {it} --site {source}` or `failover repair {it} --site "
            f"{target}` (with the same inventory)"
        )
    if not both:
        return (
            "open the site that served last with the tools of its product, because only that site may have all data"
        )
    if family_called(family) is None or offering(family).guard() is None:
        return "close one of the two sites with the tools of its product"
    return (
        f"close one of the two sites: `failover guard {it} --site {source}` or `failover guard {it} --site {target}` "
        "(with the same inventory)"
    )


def _of_family(runbook: str) -> NextSteps | None:
    """The advice that the runbook's family adds. None if the family is not installed or adds nothing."""
    name = runbook.partition("/")[0]
    return offering(name).next_steps() if family_called(name) is not None else None


def _when_stopped(report: RunReport, lane: LaneReport) -> str:
    if lane.left_as_is:
        return (
            f"The service is left as it is. No command continues this run, so other runs may move {lane.service} now. "
            f"The changes stay, and fences too (`failover runs show {report.run}`). Read both sites first: `failover "
            f"status {typed(lane.service)}`."
        )
    cause = _sentence(after_end(lane.remedy, report.run)) if lane.remedy else ""
    if lane.outcome is ev.Outcome.STUCK and resumes(lane.remedy):
        return f"{_left(lane)} {cause} {_give_up(report)}"
    if lane.outcome is ev.Outcome.STUCK:
        check = cause or "Check both sites (`failover status`), and fix the cause."
        return f"{_left(lane)} {check} Then resume the run: `failover resume {report.run}`. {_give_up(report)}"
    if lane.undecided is not None:
        go_on = (
            f"`failover resume {report.run} --{lane.undecided} FILE` with a file of decisions, or without "
            f"--{lane.undecided} on a terminal"
        )
    else:
        go_on = f"`failover resume {report.run}`"
    if resumes(lane.remedy):
        return f"{cause}{_way_back(report, lane)}"
    if cause:
        return f"{cause} Then resume the run: {go_on}.{_way_back(report, lane)}"
    return f"The run does not continue by itself. Resume it: {go_on}.{_way_back(report, lane)}"


def _way_back(report: RunReport, lane: LaneReport) -> str:
    if not lane.can_turn_back:
        return f" The service is past the point of no return, so it cannot be rolled back. {_give_up(report)}"
    if lane.no_active_site_since is not None and report.target not in lane.roles:
        return (
            f" When {report.target} can be read, it is known whether {report.target} took over. If it did not, you can "
            f"still {_turn_back(report)}: `failover abort {report.run}`."
        )
    return f" Or {_turn_back(report)}: `failover abort {report.run}`."


def _give_up(report: RunReport) -> str:
    return (
        f"If the run can never continue, end it as it is: `failover abort {report.run} --leave --reason 'who decided it, "
        "and why'`."
    )


def _turn_back(report: RunReport) -> str:
    """The effect of an abort in words. Only a planned move took activity from its source."""
    return f"make {report.source} active again" if _is_planned_move(report) else "roll back the changes"


def _is_planned_move(report: RunReport) -> bool:
    return report.runbook.partition("/")[2].startswith(_PLANNED)


def _after_escalation(report: RunReport, lane: LaneReport) -> str:
    family, _, kind = report.runbook.partition("/")
    kept = words_of(family).keeps
    risk = amount(lane.at_risk_messages, family)
    return (
        f"{risk[0].upper()}{risk[1:]} may be only at {report.source}. Keep {kept}, and keep clients away from "
        f"{report.source} until both sites are synchronised."
        + f" {_after_repair(report, lane, typed(lane.service))}"
        * kind.startswith("repair")
    )
