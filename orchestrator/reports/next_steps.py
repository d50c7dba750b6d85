"""The next action for each outcome of a lane, in sentences for a tired operator."""

from __future__ import annotations

import re
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

_PLANNED = ("controlled", "failback")
"""How the names of planned moves start."""

_REPAIRED: Mapping[tuple[Role | None, Role | None], str] = {
    (Role.STANDBY, Role.STANDBY): "NO SITE IS ACTIVE.",
    (Role.ACTIVE, Role.ACTIVE): "BOTH SITES ARE ACTIVE: clients may be on either.",
}
"""The states that `failover repair` is for, by the roles of source and target."""

_OTHERS_FIRST = "The run still moves other services: wait until it has ended. "
"""The leader of the run locks out every other process."""


def advice(report: RunReport, lane: LaneReport, *, is_led: bool = False, is_kept: bool = True) -> str:
    """The next action for ``lane``, or empty. ``is_led``: a process is known to lead the run at this moment.
    ``is_kept``: the record of the run is kept. Without its record a run cannot be resumed, so no resume is advised."""
    if not is_kept and lane.outcome in (None, ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK):
        return ""
    if report.approval is not None and report.approval.is_waiting:
        return f"It waits for approvals. If no process leads it now: `failover resume {report.run}`."
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
                f"Nothing of it was changed. Resume the run: `failover resume {report.run}`. Or end it without this "
                f"service: `failover abort {report.run}`."
            )
        case None if is_led:
            back = f" Or ask it to {_turn_back(report)}: `failover abort {report.run}`."
            return f"It is under way: wait, and answer its questions.{back * lane.can_turn_back}"
        case None:
            return f"It is not finished. Resume it: `failover resume {report.run}`.{_way_back(report, lane)}"


def _after_success(report: RunReport, lane: LaneReport) -> str:
    kind = report.runbook.partition("/")[2]
    it = typed(lane.service)
    if kind.startswith("uncontrolled"):
        return (
            f"What only {report.source} holds stays there. Keep clients away from it: `failover guard --site "
            f"{report.source}` makes it safe once it answers. Then bring it back: `failover restore {it} "
            f"--site {report.source}` (with the same inventory)."
        )
    own = _of_family(report.runbook)
    said = "" if own is None else own.after_success(kind, report.source, report.target, it)
    if said:
        return said
    if kind.startswith("restore"):
        return (
            f"To give activity back to {report.source}, once that is shown to be safe: `failover failback {it} --site "
            f"{report.source}` (with the same inventory)."
        )
    if kind.startswith("repair"):
        return _after_repair(report, lane, it)
    lifted = f"`failover restore {it} --site {report.source}` (with the same inventory)"
    if kind == "suspend":
        return f"What does not fit the replication queue is kept at {report.target} only, until {lifted} lifts that."
    if kind == "proxied-transfer":
        return f"{report.target} delivers what {report.source} owned, until {lifted} turns that off."
    return ""


def _after_repair(report: RunReport, lane: LaneReport, it: str) -> str:
    """The remaining work at the standby site after a repair, because a repair only sets roles."""
    left = lane.left_behind
    if left is not None and left.messages is not None:
        queued = amount(left.messages, report.runbook.partition("/")[0])
        held = f"The replication queue of {report.source} holds {queued}."
    else:
        held = f"How many messages the replication queue of {report.source} holds was not read: unknown."
    restored = (
        f"{held} To complete the prepared transactions of {report.source} and wait until both sites are synchronised: "
        f"`failover restore {it} --site {report.source}` (with the same inventory)."
    )
    if left is None or left.is_nothing:
        return restored
    return (
        f"{restored} What is in the replication queue of {report.source} reaches {report.target} once {report.source} is "
        f"active again: after that, `failover controlled {it} --site {report.target}`."
    )


def _after_revert(report: RunReport, lane: LaneReport) -> str:
    remedy = _with_names(lane.remedy, SERVICE=typed(lane.service), SOURCE=report.source, TARGET=report.target)
    again = f"{_sentence(remedy or 'fix the cause, and check with `failover status`')} Then run it again."
    if report.runbook.partition("/")[2] == "suspend" and lane.suspended.get(report.target) is False:
        return (
            f"Replication is not suspended: publishers are refused once the replication queue of {report.target} is "
            "full. Fix the cause, and try it again: "
            f"`failover watch {typed(lane.service)} --suspend-at {HIGH_SET:.0f}%`."
        )
    done = _left(lane) if lane.left_changed else "What was done is rolled back."
    if report.runbook.partition("/")[2].startswith("uncontrolled"):
        done = f"{done} {report.target} was not activated by this run."
    return f"{done} {_stands(report, lane)} {again}"


def _left(lane: LaneReport) -> str:
    """A sentence with the changes that stay, if they are known."""
    what = f": {'; '.join(lane.left_changed)}" if lane.left_changed else ""
    return f"Not every change could be rolled back{what}."


def _stands(report: RunReport, lane: LaneReport) -> str:
    """The last readings of the sites after all changes. What was not read since is reported as unknown."""
    source, target = report.source, report.target
    if report.runbook.partition("/")[2] == "suspend":
        return "Whether replication is suspended was not read since: unknown."
    if lane.lets_clients_in.get(source):
        return f"{source} was read to let its clients in."
    roles = lane.roles.get(source), lane.roles.get(target)
    if roles == (Role.ACTIVE, Role.STANDBY):
        # The queue is at the serving site, and no other site served.
        lost = ": nothing was lost" if _is_planned_move(report) and not lane.left_changed else ""
        return f"{source} was read active again and {target} standby{lost}."
    if roles == (Role.ACTIVE, Role.ACTIVE):
        return f"BOTH SITES ARE ACTIVE by the last readings: {source} and {target}."
    if Role.ACTIVE in roles:
        return (
            f"{source if roles[0] is Role.ACTIVE else target} was read active; what its mate is was not read since."
        )
    return "Which site serves now was not read: unknown."


def after_refusal(runbook: str, source: str, target: str, lane: Stood, *, why: str = "") -> str:
    """The next action if ``runbook`` refused a service, or would refuse it. It depends on the last readings of the sites.
    If ``why``, the reason of the refusal, names a command, no other command is advised."""
    kind = runbook.partition("/")[2]
    is_move = kind.startswith(_PLANNED)
    it = typed(lane.service)
    remedy = _with_names(lane.remedy, SERVICE=it, SOURCE=source, TARGET=target)
    own = _of_family(runbook)
    said = "" if own is None else own.after_refusal(kind, source, target, lane, it)
    if said:
        return said
    standing = lane.roles.get(source), lane.roles.get(target)
    if standing == (Role.STANDBY, Role.ACTIVE):
        return (
            f"Nothing was changed. {target} is active already. To move activity to {source}, run: "
            f"`failover controlled {it} --site {target}` (with the same inventory)."
        )
    if standing in _REPAIRED:
        return f"Nothing was changed. {_repair(runbook, source, target, it, standing, why)}"
    if is_move and lane.suspended.get(source):
        return (
            f"Nothing was changed. What {target} lacks may be at {source} only. Bring {target} back as standby first, "
            f"which lifts the suspension once it is synchronised: `failover restore {it} --site {target}`. Activity "
            f"then moves to it, once that is shown to be safe, with `failover failback {it} --site {target}` (both with "
            "the same inventory)."
        )
    if is_move and standing == (Role.STANDBY, None):
        return (
            f"Nothing was changed. Check with `failover status`: if {target} is active already, there is nothing to do. "
            f"Otherwise {remedy or 'fix the cause'}, and run it again."
        )
    if "`failover " in why:
        return "Nothing was changed."
    if remedy:
        return f"Nothing was changed. {_sentence(remedy)}"
    if kind.startswith("failback"):
        return (
            f"Nothing was changed. If {target} was not restored since it failed: `failover restore {it} --site {target}` "
            "(with the same inventory). If it was, wait until both sites are synchronised (`failover status`), and run "
            "it again."
        )
    return "Nothing was changed."


def _sentence(remedy: str) -> str:
    return f"{remedy[0].upper()}{remedy[1:]}."


def _with_names(remedy: str, **names: str) -> str:
    """A remedy of a runbook, with the names of this run in place of the words in capitals."""
    return re.sub("|".join(rf"\b{word}\b" for word in names), lambda found: names[found[0]], remedy)


def _repair(
    runbook: str, source: str, target: str, it: str, standing: tuple[Role | None, Role | None], why: str
) -> str:
    """The advice when both sites have the same role. ``runbook`` is the runbook that refused."""
    state = _REPAIRED[standing]
    family, _, kind = runbook.partition("/")
    if kind.startswith("repair") and "--accept-loss" in why:
        return (
            f"{state} An operator can accept by name what stays at {source}: `failover repair {it} --site {target} "
            f"--accept-loss 'who agreed, and why'` (with the same inventory). Or choose the other site: `failover repair "
            f"{it} --site {source}`."
        )
    both = standing == (Role.ACTIVE, Role.ACTIVE)
    how = one_active(family, it, source, target, both=both)
    holds = " It shows what each site's replication queue holds, which its mate may lack." * offers_repair(family)
    return f"{state} If a run stopped half-way (`failover runs list`), resume or abort it. Otherwise {how}.{holds}"


def one_active(family: str, it: str, source: str, target: str, *, both: bool) -> str:
    """The instruction that gives a pair one active site, without a full stop. ``both``: both sites are active, otherwise
    none is. ``it`` is the service as the operator types it."""
    if offers_repair(family):
        return (
            f"choose the site to be active: `failover repair {it} --site {source}` or `failover repair {it} --site "
            f"{target}` (with the same inventory)"
        )
    if not both:
        return "open the site that served last with the tools of its product: only that one may have everything"
    if family_called(family) is None or offering(family).guard() is None:
        return "close one of them with the tools of its product"
    return (
        f"close one of them: `failover guard {it} --site {source}` or `failover guard {it} --site {target}` (with the "
        "same inventory)"
    )


def _of_family(runbook: str) -> NextSteps | None:
    """The advice that the runbook's family adds. None if the family is not installed or adds nothing."""
    name = runbook.partition("/")[0]
    return offering(name).next_steps() if family_called(name) is not None else None


def _when_stopped(report: RunReport, lane: LaneReport) -> str:
    if lane.left_as_is:
        return (
            f"It is left as it is, and no command continues it: other runs may move {lane.service} now. What was changed "
            f"stays changed, fences too (`failover runs show {report.run}`). Read both sites first: `failover status "
            f"{typed(lane.service)}`."
        )
    if lane.outcome is ev.Outcome.STUCK:
        return (
            f"{_left(lane)} Check both sites (`failover status`), fix the cause, and let it try again: "
            f"`failover resume {report.run}`. {_give_up(report)}"
        )
    if lane.undecided is not None:
        go_on = f"`failover resume {report.run} --{lane.undecided} FILE` with decisions, or without it on a terminal"
    else:
        go_on = f"`failover resume {report.run}`"
    return f"Nothing continues by itself. Resume it: {go_on}.{_way_back(report, lane)}"


def _way_back(report: RunReport, lane: LaneReport) -> str:
    if not lane.can_turn_back:
        return f" It is past the point of no return, so it cannot be rolled back. {_give_up(report)}"
    if lane.no_active_site_since is not None and report.target not in lane.roles:
        return (
            f" Once {report.target} can be read it is known whether it took over; if not, it can still "
            f"{_turn_back(report)}: `failover abort {report.run}`."
        )
    return f" Or {_turn_back(report)}: `failover abort {report.run}`."


def _give_up(report: RunReport) -> str:
    return (
        f"If it can never continue, end it as it is: `failover abort {report.run} --leave --reason 'who decided it, and "
        "why'`."
    )


def _turn_back(report: RunReport) -> str:
    """The effect of an abort in words. Only a planned move took activity from its source."""
    return f"give activity back to {report.source}" if _is_planned_move(report) else "roll back what was done"


def _is_planned_move(report: RunReport) -> bool:
    return report.runbook.partition("/")[2].startswith(_PLANNED)


def _after_escalation(report: RunReport, lane: LaneReport) -> str:
    family, _, kind = report.runbook.partition("/")
    kept = words_of(family).keeps
    risk = amount(lane.at_risk_messages, family)
    return (
        f"{risk[0].upper()}{risk[1:]} may be held by {report.source} alone. Keep {kept}, and keep clients away "
        "from it until both sites are synchronised."
        + f" {_after_repair(report, lane, typed(lane.service))}"
        * kind.startswith("repair")
    )
