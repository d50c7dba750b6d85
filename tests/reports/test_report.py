"""The report of a run: how long nobody served, what was at risk, and where every service stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.errors import CommandRejected, ConnectionLost
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.readings import Role
from orchestrator.reports.report import EXIT_CODES, UNFINISHED_EXIT_CODE, build
from tests.core.builders import CHECK, DEMOTE, a_plan
from tests.core.leading import When, pausing
from tests.reports.conftest import RULING, Told

Tell = Callable[..., Told]
REPLY_LOST = ConnectionLost("the session broke")


def demoted_at(told: Told) -> float:
    return next(took.at for took in told.pair.took if took.args == (("role", "standby"),))


def promoted_at(told: Told) -> float:
    return next(took.at for took in told.pair.took if took.args == (("role", "active"),))


def test_the_outage_is_never_told_shorter_than_it_was(tell: Tell) -> None:
    """Law: "at most so long without an active site" covers what the sites themselves saw."""
    told = tell(depth=300, rate=100)
    told.lead.start()
    lane = told.lane()
    assert lane.outage_seconds is not None
    assert 3 <= promoted_at(told) - demoted_at(told) <= lane.outage_seconds < 4
    assert lane.drained_messages == 300
    assert (lane.roles, lane.no_active_site_since) == ({"ny": Role.STANDBY, "nj": Role.ACTIVE}, None)


@pytest.mark.parametrize("obeyed", [True, False])
def test_an_outage_whose_end_was_only_read(tell: Tell, obeyed: bool) -> None:
    """Law: a promotion whose answer was lost ends the outage when a reading shows it."""
    told = tell()
    told.pair.fail("set_role", REPLY_LOST, on="target", obeyed=obeyed)
    told.lead.start()
    lane = told.lane()
    assert lane.outcome is ev.Outcome.DONE
    assert lane.outage_seconds is not None
    assert promoted_at(told) - demoted_at(told) <= lane.outage_seconds


def test_nothing_is_under_way_in_a_service_that_was_called_off(tell: Tell) -> None:
    """Law: a step that had begun when its service was refused is no longer under way."""
    told = tell()
    told.lead.start(observers=[When(ev.StepStarted, pausing(told.lead))])
    assert [step.status for step in told.lane().steps] == ["under way"]
    told.lead.resume(abort=ev.AbortAsked(by="ann", reason="not tonight"))
    lane = told.lane()
    assert (lane.outcome, [step.status for step in lane.steps]) == (ev.Outcome.REFUSED, ["abandoned"])


def test_no_outage_where_activity_never_moved(tell: Tell) -> None:
    """Law: a refused lane had no outage, also if the device was asked to give up activity and said no."""
    told = tell()
    told.pair.fail("set_role", CommandRejected("no"), on="source")
    told.lead.start()
    lane = told.lane()
    assert (lane.outcome, lane.outage_seconds, lane.no_active_site_since) == (ev.Outcome.REFUSED, None, None)


def test_the_outage_of_a_move_that_was_taken_back(tell: Tell) -> None:
    """Law: turning back ends the outage; the decision has the number at risk when it was made."""
    told = tell(depth=1_000)
    told.pair.once_told("set_role", "source", 1.0, told.pair.lose_bridge)
    told.lead.start()
    lane = told.lane()
    assert lane.outcome is ev.Outcome.REVERTED
    [decision] = lane.decisions
    assert (decision.choice, decision.by) == ("revert", "policy")
    assert decision.at_risk is not None
    assert decision.at_risk > 800
    assert lane.outage_seconds is not None
    assert lane.outage_seconds > 60
    assert lane.at_risk_messages is None
    assert [step.status for step in lane.steps] == ["done", "rolled back", "abandoned"]


def test_what_an_escalation_put_at_risk(tell: Tell) -> None:
    """Law: an escalated lane has its number at risk for good."""
    told = tell(depth=1_000)
    told.pair.once_told("set_role", "source", 1.0, told.pair.lose_bridge)
    told.lead.start(a_plan(policy=ev.Policy(on_gate={"bridge-lost": "escalate"})))
    lane = told.lane()
    assert (lane.outcome, lane.decisions[0].at_risk) == (ev.Outcome.ESCALATED, lane.at_risk_messages)
    assert [step.status for step in lane.steps].count("abandoned") == 1


def test_a_lane_that_waits_for_decisions(tell: Tell) -> None:
    """Law: it says since when nobody serves, what it waits for, and that it can still turn back."""
    told = tell()
    told.pair.prepare("1-a-b")
    told.lead.start()
    lane = told.lane()
    assert (lane.outcome, lane.undecided, lane.can_turn_back) == (ev.Outcome.NEEDS_OPERATOR, "xa", True)
    assert lane.no_active_site_since is not None
    assert lane.outage_seconds is None
    told.lead.resume(policy=ev.Policy(transactions={"1-a-b": RULING}))
    lane = told.lane()
    assert (lane.outcome, lane.undecided, lane.can_turn_back) == (ev.Outcome.DONE, None, False)
    assert lane.no_active_site_since is None
    assert [one.item for one in lane.decisions] == ["1-a-b"]


def test_past_the_point_of_no_return(tell: Tell) -> None:
    """Law: a lane that stopped after its point of no return cannot turn back, and the report says so."""
    told = tell()
    told.pair.prepare("1-a-b")
    told.pair.fail("delete_transaction", CommandRejected("no"), times=9)
    told.lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": RULING})))
    lane = told.lane()
    assert (lane.outcome, lane.undecided, lane.can_turn_back) == (ev.Outcome.NEEDS_OPERATOR, None, False)
    assert lane.roles["nj"] is Role.ACTIVE


def test_every_beginning_of_a_record_has_a_report(tell: Tell) -> None:
    """Law: however far a run got before it was killed, its report can be made, and never claims an end it has not."""
    told = tell(depth=150)
    told.pair.prepare("1-a-b")
    told.lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": RULING})))
    records = told.records()
    for length in range(1, len(records)):
        report = build(records[:length])
        assert (report.outcome, report.exit_code) == (None, UNFINISHED_EXIT_CODE)
        assert report.resumable
        assert report.seconds >= 0
        for step in report.lanes[0].steps[:-1]:
            assert step.status == "done"
    whole = build(records)
    assert (whole.outcome, whole.exit_code, whole.resumable) == (ev.Outcome.DONE, 0, False)
    assert build(iter(records)) == whole


@pytest.mark.parametrize("on", ["source", "target"])
def test_a_command_that_nobody_knows_the_end_of(tell: Tell, on: str) -> None:
    """Law: between the intent of a change and the reading that shows what came of it, where a kill may leave the record
    for ever, the site's role is not known, whatever the device answered: the report claims neither the one before nor the
    one that was wanted. A device that refused is what it was."""
    told = tell()
    told.lead.start()
    records = told.records()
    sites = {"source": "ny", "target": "nj"}
    [told_to] = [
        place
        for place, record in enumerate(records)
        if isinstance(record.event, ev.ActionIntended) and record.event.on == on and "role" in record.event.args
    ]
    [before] = build(records[:told_to]).lanes
    [between] = build(records[: told_to + 1]).lanes
    assert set(before.roles) - set(between.roles) == {sites[on]}
    assert between.no_active_site_since is not None
    intent = records[told_to].event
    assert isinstance(intent, ev.ActionIntended)
    for effect in Effect:
        ended = ev.ActionEnded(intent=intent.intent, effect=effect, detail="")
        [after] = build([*records[: told_to + 1], records[told_to + 1]._replace(event=ended)]).lanes
        known = None if effect in (Effect.ACCEPTED, Effect.DOUBTFUL) else before.roles[sites[on]]
        assert after.roles.get(sites[on]) == known


def test_each_outcome_has_its_exit_code() -> None:
    """Law: no two ends of a run share an exit code, and every end has one."""
    assert set(EXIT_CODES) == set(ev.Outcome)
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)


def test_a_check_alone_moves_nothing(tell: Tell) -> None:
    """Law: a runbook without actions has no outage, no roles taken, and nothing sent."""
    told = tell()
    told.lead.start(a_plan(CHECK))
    lane = told.lane()
    assert (lane.outcome, lane.actions_sent, lane.outage_seconds) == (ev.Outcome.DONE, 0, None)


def test_a_site_that_gave_up_activity_and_nothing_else(tell: Tell) -> None:
    """Law: nobody serves after a demotion alone; the report does not wait for a failure to say so."""
    told = tell()
    told.lead.start(a_plan(CHECK, DEMOTE))
    assert told.lane().no_active_site_since is not None
