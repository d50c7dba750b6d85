"""What to do next, for each way a service can end; and the commands it names are commands."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from orchestrator.cli.main import app
from orchestrator.model import events as ev
from orchestrator.model.readings import Role
from orchestrator.operations.declared_families import offer_families
from orchestrator.reports.approval import ApprovalReport
from orchestrator.reports.document import LaneReport, RunReport
from orchestrator.reports.next_steps import advice

RUN = "20261120-030501-7f3a"
A, S = Role.ACTIVE, Role.STANDBY


def a_lane(outcome: ev.Outcome | None, **more: Any) -> LaneReport:
    base = {
        "service": "Trading_VPN",
        "status": "running",
        "outcome": outcome,
        "reason": "",
        "steps": (),
        "decisions": (),
        "outage_seconds": None,
        "drained_messages": None,
        "at_risk_messages": None,
        "actions_sent": 0,
    }
    return LaneReport.model_validate({**base, **more})


def advised(
    lane: LaneReport,
    approval: ApprovalReport | None = None,
    *,
    runbook: str = "solace/controlled",
    is_led: bool = False,
    is_kept: bool = True,
) -> str:
    report = RunReport(
        run=RUN,
        runbook=runbook,
        source="ny",
        target="nj",
        simulated=True,
        by="ann",
        account="ann",
        uid=1000,
        status="finished",
        outcome=lane.outcome,
        exit_code=0,
        started_at="",
        last_record_at="",
        ended_at=None,
        seconds=0.0,
        notes=(),
        lanes=(lane,),
        resumable=False,
        approval=approval,
        alarms=(),
    )
    return advice(report, lane, is_led=is_led, is_kept=is_kept)


LANES = {
    "refused": a_lane(ev.Outcome.REFUSED),
    "moved already": a_lane(ev.Outcome.REFUSED, roles={"ny": S, "nj": A}),
    "moved already, a name with a blank": a_lane(ev.Outcome.REFUSED, roles={"ny": S, "nj": A}, service="My VPN"),
    "source is standby": a_lane(ev.Outcome.REFUSED, roles={"ny": S}),
    "nobody active": a_lane(ev.Outcome.REFUSED, roles={"ny": S, "nj": S}),
    "both active": a_lane(ev.Outcome.REFUSED, roles={"ny": A, "nj": A}),
    "reverted": a_lane(ev.Outcome.REVERTED, roles={"ny": A, "nj": S}),
    "reverted, the mate not read": a_lane(ev.Outcome.REVERTED, roles={"ny": A}),
    "reverted, nothing read": a_lane(ev.Outcome.REVERTED),
    "reverted, not everything": a_lane(
        ev.Outcome.REVERTED, roles={"ny": A, "nj": S}, left_changed=("Stop the batch",)
    ),
    "escalated": a_lane(ev.Outcome.ESCALATED, at_risk_messages=1_234),
    "escalated, number unknown": a_lane(ev.Outcome.ESCALATED),
    "stopped": a_lane(ev.Outcome.NEEDS_OPERATOR, can_turn_back=True),
    "stopped, activation in doubt": a_lane(
        ev.Outcome.NEEDS_OPERATOR, can_turn_back=True, roles={"ny": S}, no_active_site_since="2026-11-20T03:05:09Z"
    ),
    "stopped for decisions": a_lane(ev.Outcome.NEEDS_OPERATOR, can_turn_back=True, undecided="xa"),
    "stopped past the point of no return": a_lane(ev.Outcome.NEEDS_OPERATOR),
    "stuck": a_lane(ev.Outcome.STUCK),
    "unfinished": a_lane(None, can_turn_back=True),
}


@pytest.mark.parametrize("case", LANES)
def test_there_is_always_something_to_do(case: str) -> None:
    """Law: whatever is not done has advice, and every command in it is one that can be typed."""
    text = advised(LANES[case])
    assert text
    assert_can_be_typed(text)


def assert_can_be_typed(text: str) -> None:
    for command in re.findall(r"`(failover [^`]*)`", text):
        _, *words = shlex.split(command)
        found: Any = typer.main.get_command(app)
        while hasattr(found, "commands"):
            found = found.commands[words.pop(0)]
        found.make_context("failover", words)


@pytest.mark.parametrize("runbook", ["solace/controlled", "solace/failback", "amps/controlled-async", "solace/guard"])
def test_done_needs_nothing(runbook: str) -> None:
    """Law: there is nothing to do after a planned move that leaves the source a fail-over target."""
    assert advised(a_lane(ev.Outcome.DONE), runbook=runbook) == ""


@pytest.mark.parametrize(
    ("runbook", "commands"),
    [
        (
            "solace/uncontrolled",
            ["`failover guard --site ny`", "`failover restore Trading_VPN --site ny`", "Keep clients away"],
        ),
        ("solace/uncontrolled-isolated", ["`failover guard --site ny`"]),
        ("amps/uncontrolled-async", ["`failover restore Trading_VPN --site ny`"]),
        ("amps/controlled", ["`failover restore Trading_VPN --site ny`", "nj has no fail-over target"]),
        ("amps/failback", ["`failover restore Trading_VPN --site ny`"]),
        ("solace/restore", ["`failover failback Trading_VPN --site ny`"]),
        ("amps/restore-bootstrap", ["`failover failback Trading_VPN --site ny`"]),
        ("solace/suspend", ["stays only at nj", "`failover restore Trading_VPN --site ny`"]),
        ("amps/proxied-transfer", ["`failover restore Trading_VPN --site ny`"]),
    ],
)
def test_a_loss_is_not_over_when_its_run_is_done(runbook: str, commands: list[str]) -> None:
    """Law: after a fail-over of a lost site, after its restore, and after a move that leaves its target without a mate,
    the next command of the way back is named."""
    text = advised(a_lane(ev.Outcome.DONE), runbook=runbook)
    assert [command for command in commands if command not in text] == []
    assert_can_be_typed(text)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("moved already", "`failover controlled Trading_VPN --site nj`"),
        ("moved already, a name with a blank", "`failover controlled 'My VPN' --site nj`"),
        ("source is standby", "if nj is active already, there is nothing to do"),
        ("nobody active", "NO SITE IS ACTIVE"),
        (
            "nobody active",
            "`failover repair Trading_VPN --site ny` or `failover repair Trading_VPN --site nj`",
        ),
        ("nobody active", "The repair shows what each replication queue holds, because the mate may lack it"),
        ("both active", "BOTH SITES ARE ACTIVE"),
        (
            "both active",
            "`failover repair Trading_VPN --site ny` or `failover repair Trading_VPN --site nj`",
        ),
        ("reverted", "Readings show that ny is active again and nj is standby: nothing was lost"),
        ("reverted, the mate not read", "A reading shows that ny is active; the role of its mate was not read since"),
        ("reverted, nothing read", "It is unknown which site serves now, because it was not read"),
        ("reverted, not everything", "Not every change could be rolled back: Stop the batch."),
        ("escalated", "1,234 messages may be only at ny"),
        ("escalated, number unknown", "An unknown number of messages may be only at ny"),
        ("stopped", f"`failover abort {RUN}`"),
        ("stopped, activation in doubt", "When nj can be read, it is known whether nj took over. If it did not,"),
        ("stopped for decisions", f"`failover resume {RUN} --xa FILE`"),
        ("stopped past the point of no return", "it cannot be rolled back"),
        ("stuck", f"`failover resume {RUN}`"),
        ("unfinished", f"`failover resume {RUN}`"),
    ],
)
def test_it_says_the_right_thing(case: str, words: str) -> None:
    """Law: the advice fits the end: what is active, what is at risk, and whether there is a way back."""
    assert words in advised(LANES[case])


@pytest.mark.parametrize(
    "runbook", ["solace/suspend", "solace/uncontrolled", "solace/restore", "amps/proxied-transfer", "own/switch"]
)
@pytest.mark.parametrize("case", ["reverted", "stopped", "stopped, activation in doubt", "unfinished"])
@pytest.mark.parametrize("is_led", [False, True])
def test_only_a_planned_move_gives_activity_back(runbook: str, case: str, is_led: bool) -> None:
    """Law: turning back is said to make the source serve again only of a run that took that from it; of any other, what
    turning back is: its changes are taken back."""
    text = advised(LANES[case], runbook=runbook, is_led=is_led)
    assert "make ny active" not in text
    assert "lost" not in text
    assert_can_be_typed(text)


def test_what_stands_after_a_suspension_that_was_taken_back() -> None:
    """Law: who wanted replication suspended is told that it is not, what that means, and how to try again."""
    text = advised(a_lane(ev.Outcome.REVERTED, suspended={"nj": False}), runbook="solace/suspend")
    assert "Publishers are refused when the replication queue of nj is full" in text
    assert "`failover watch Trading_VPN --suspend-at" in text
    assert "Publishers" not in advised(LANES["reverted, nothing read"], runbook="solace/suspend")


MOVED_AMPS = a_lane(ev.Outcome.REFUSED, service="orders", lets_clients_in={"ny": False})
WAY_BACK = "`failover failback orders --site ny`"


@pytest.mark.parametrize("runbook", ["amps/controlled", "amps/controlled-async", "amps/failback"])
def test_an_instance_that_has_moved_already(runbook: str) -> None:
    """Law: AMPS: a source that lets no client in was moved before, and the command that moves it back is named. Where
    neither does that is said, and no move; where the source was not seen to be closed nothing is guessed."""
    assert WAY_BACK in advised(MOVED_AMPS, runbook=runbook)
    assert_can_be_typed(advised(MOVED_AMPS, runbook=runbook))
    restored_first = "`failover restore orders --site ny`, then " + WAY_BACK
    assert (restored_first in advised(MOVED_AMPS, runbook=runbook)) is (runbook != "amps/controlled-async")
    neither = a_lane(ev.Outcome.REFUSED, service="orders", lets_clients_in={"ny": False, "nj": False})
    assert "NEITHER INSTANCE" in advised(neither, runbook=runbook)
    assert WAY_BACK not in advised(neither, runbook=runbook)
    for known in ({}, {"ny": True}, {"nj": True}):
        unknown = a_lane(ev.Outcome.REFUSED, service="orders", lets_clients_in=known)
        assert "failover failback" not in advised(unknown, runbook=runbook)


@pytest.mark.parametrize("runbook", ["solace/controlled", "solace/failback"])
def test_the_way_on_where_replication_is_suspended(runbook: str) -> None:
    """Law: a planned move that is refused because its source has replication suspended is told the way on: a restore,
    which lifts it, then a fail-back, which proves that nothing is missing. Whoever suspended nothing is not told so."""
    roles = {"ny": A, "nj": S}
    text = advised(a_lane(ev.Outcome.REFUSED, roles=roles, suspended={"ny": True}), runbook=runbook)
    lifted, moved = (
        "`failover restore Trading_VPN --site nj`",
        "`failover failback Trading_VPN --site nj`",
    )
    assert text.index(lifted) < text.index(moved)
    assert_can_be_typed(text)
    for known in ({}, {"ny": False}, {"nj": True}):
        unknown = a_lane(ev.Outcome.REFUSED, roles=roles, suspended=known)
        assert "ends the suspension" not in advised(unknown, runbook=runbook)


def test_a_fail_back_before_a_restore() -> None:
    """Law: a fail-back that is refused names the restore that may be missing. Where the refusal itself names a command,
    no other one stands beneath it."""
    text = advised(a_lane(ev.Outcome.REFUSED, roles={"ny": A}), runbook="solace/failback")
    assert "`failover restore Trading_VPN --site nj`" in text
    assert_can_be_typed(text)
    told = a_lane(ev.Outcome.REFUSED, reason="the failed site still answers as active; use `failover controlled`")
    assert advised(told, runbook="solace/uncontrolled") == "Nothing was changed."


@pytest.mark.parametrize("runbook", ["solace/controlled", "solace/failback", "redis/controlled", "solace/restore"])
def test_a_refusal_has_the_remedy_of_its_condition(runbook: str) -> None:
    """Law: a refusal shows the remedy of the condition that failed. A refusal without one has no general remedy."""
    remedy = "start the bridge, then run `failover restore Trading_VPN --site nj`"
    text = advised(a_lane(ev.Outcome.REFUSED, roles={"ny": A, "nj": S}, remedy=remedy), runbook=runbook)
    assert text == "Nothing was changed. Start the bridge, then run `failover restore Trading_VPN --site nj`."
    assert_can_be_typed(text)
    bare = advised(a_lane(ev.Outcome.REFUSED, roles={"ny": A, "nj": S}), runbook="solace/controlled")
    assert bare == "Nothing was changed."
    silent = a_lane(ev.Outcome.REFUSED, roles={"ny": S}, remedy="check the power of nj")
    assert "Otherwise check the power of nj, and run the command again." in advised(silent)


@pytest.mark.parametrize("outcome", [ev.Outcome.STUCK, ev.Outcome.NEEDS_OPERATOR])
def test_a_stop_half_way_has_the_remedy_of_its_step(outcome: ev.Outcome) -> None:
    """Law: what stopped half-way shows the remedy of the failed step, and names the run in its commands. A remedy that
    does not say how the run continues is followed by that command."""
    whole = (
        "check both roles. If nj is standby, run `failover resume`. If nj is active, end the run with `failover abort"
        " --leave --reason TEXT`"
    )
    text = advised(a_lane(outcome, remedy=whole))
    assert f"Check both roles. If nj is standby, run `failover resume {RUN}`." in text
    assert f"end the run with `failover abort {RUN} --leave --reason TEXT`." in text
    assert text.count("failover resume") == 1
    assert_can_be_typed(text)
    part = advised(a_lane(outcome, remedy="check the power of nj"))
    assert f"Check the power of nj. Then resume the run: `failover resume {RUN}`." in part
    assert_can_be_typed(part)


def test_what_was_rolled_back_is_not_resumed() -> None:
    """Law: the remedy of a failure that was rolled back is shown without the command that continues the run, since that
    run has ended. A remedy that only makes sense for a run that continues is not shown."""
    kept = advised(a_lane(ev.Outcome.REVERTED, remedy="start the bridge, then run `failover resume`"))
    assert "Start the bridge. If the service still has to move, run the command again." in kept
    left = advised(a_lane(ev.Outcome.REVERTED, remedy="run `failover resume` if nj is standby"))
    assert "Fix the cause, and check with `failover status`." in left
    assert "failover resume" not in kept + left


def test_a_service_that_was_not_started() -> None:
    """Law: nothing of it was changed, so nothing of it can be given back; the run is resumed, or ended without it."""
    text = advised(a_lane(None, status="ready", can_turn_back=True))
    assert "Nothing was changed for this service" in text
    assert f"`failover resume {RUN}`" in text
    assert "active again" not in text


@pytest.mark.parametrize("case", ["stopped", "stuck", "unfinished"])
def test_what_is_not_kept_cannot_be_resumed(case: str) -> None:
    """Law: of a run whose record goes with its process nobody is told to resume it."""
    assert advised(LANES[case], is_kept=False) == ""
    assert advised(LANES["reverted"], is_kept=False) == advised(LANES["reverted"])


def test_what_was_lost_is_not_moved_back() -> None:
    """Law: after a loss the way back begins with a restore; a source that is closed is no reason to name another."""
    assert "failover failback" not in advised(MOVED_AMPS, runbook="amps/uncontrolled")


def test_no_way_back_is_offered_where_there_is_none() -> None:
    """Law: past the point of no return nobody is sent to `abort`."""
    ways = advised(LANES["stopped past the point of no return"]).split("failover abort ")[1:]
    assert all(" --leave --reason " in one for one in ways)


@pytest.mark.parametrize("can_turn_back", [True, False])
def test_a_run_that_is_led_is_not_to_be_led_again(can_turn_back: bool) -> None:
    """Law: while a process leads the run nobody is sent to `resume`, which would be locked out; `abort` asks it."""
    text = advised(a_lane(None, can_turn_back=can_turn_back), is_led=True)
    assert text.startswith("The run is in progress")
    assert (f"`failover abort {RUN}`" in text, "resume" in text) == (can_turn_back, False)


@pytest.mark.parametrize("ended", ["stopped", "stopped for decisions", "stuck"])
def test_who_stopped_waits_for_the_others_of_the_run(ended: str) -> None:
    """Law: a service that stopped can be gone on with once the process that moves the others has ended, not before."""
    text = advised(LANES[ended], is_led=True)
    assert text == f"The run still moves other services: wait until the run has ended. {advised(LANES[ended])}"


def test_a_run_that_waits_for_people_says_so() -> None:
    """Law: while people think, nothing is to be done but to see that somebody still leads the run."""
    waiting = ApprovalReport(needed=1, requester="ann", is_waiting=True)
    assert advised(a_lane(None), waiting) == (
        f"The run waits for approvals. If no process leads the run now, resume it: `failover resume {RUN}`."
    )
    assert advised(a_lane(ev.Outcome.DONE), waiting.model_copy(update={"is_waiting": False})) == ""


@pytest.mark.parametrize(
    ("case", "advised_command"), [("both active", "`failover guard Trading_VPN --site ny`"), ("nobody active", "")]
)
def test_a_family_without_a_repair_is_not_sent_there(case: str, advised_command: str) -> None:
    """Law: where no runbook repairs a pair, a guard closes one of two sites; else the product's own tools do."""
    offer_families()
    text = advised(LANES[case], runbook="redis/controlled")
    assert "failover repair" not in text
    assert advised_command in text
    assert ("with the tools of its product" in text) is (not advised_command)
    if advised_command:
        assert_can_be_typed(text)
