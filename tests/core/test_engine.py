"""The loop over the scripted pair: every way a run can end, judged by the pair's own account."""

from __future__ import annotations

import pytest

from orchestrator.core.run import fold
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    NoSuchService,
    Unreachable,
)
from orchestrator.journal.lease import claims
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Role
from tests.core.builders import CONTROLLED, DRAIN, a_plan
from tests.core.killing import judge_safety
from tests.core.leading import RUN, Lead, ScriptedDesk
from tests.core.scripted import ScriptedPair

COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")
HAPPY = ["source set_role standby", "target set_role active"]
BACK = ["source set_role standby", "source set_role active"]


def ends(lead: Lead, outcome: Outcome, told: list[str]) -> None:
    """The run in the record ended so, these actions reached the pair, and its account holds nothing against us."""
    run = fold(lead.journal.records(RUN))
    assert (run.outcome, lead.told(), judge_safety(lead.pair, run.outcome)) == (outcome, told, [])


def reason(lead: Lead) -> str:
    return fold(lead.journal.records(RUN)).lanes["Trading"].reason


# --- done ----------------------------------------------------------------------------------------------------------


def test_a_controlled_fail_over(lead: Lead) -> None:
    """A healthy pair: checked, demoted, drained, activated; the record tells it step by step, and then lets go."""
    run = lead.start()
    ends(lead, Outcome.DONE, HAPPY)
    assert run == fold(lead.journal.records(RUN))
    acted = ["action.intended", "action.ended"]
    skipped = ["step.started", "step.ready", "step.done"]
    assert lead.kinds() == [
        *("run.created", "run.started", "lane.started"),
        *("step.started", "step.done"),
        *("step.started", *acted, "step.done"),
        *skipped,  # drained
        *skipped,  # no transactions
        *("step.started", *acted, "point-of-no-return", "step.done"),
        *skipped,
        *skipped,
        *("lane.ended", "run.finished"),
    ]
    assert lead.journal.row(RUN).expires_at == 0.0
    assert claims(lead.journal) == {}
    assert sorted(lead.pair.closed) == ["source", "target"]


def test_a_hundred_lanes_at_once(lead: Lead) -> None:
    """A hundred services move together, with far fewer requests and commits than lanes times steps."""
    services = [f"service-{number}" for number in range(100)]
    lead.pair = ScriptedPair(lead.pair.clock, services, depth=50, rate=25)
    run = lead.start()
    assert (run.outcome, judge_safety(lead.pair, run.outcome)) == (Outcome.DONE, [])
    assert {lane.status for lane in run.lanes.values()} == {"done"}
    probes = [one for one in lead.pair.heard if one.verb not in lead.pair.site("source").actions]
    assert len(probes) < 40
    assert len({record.at for record in lead.journal.records(RUN)}) < 40


def test_lanes_fail_on_their_own(lead: Lead) -> None:
    """One service whose bridge is not bound is refused; the others are moved; the run is as good as the worst."""
    lead.pair = ScriptedPair(lead.pair.clock, ("Trading", "Orders"), depth=10)
    lead.pair.lose_bridge("Orders")
    run = lead.start()
    assert {name: lane.outcome for name, lane in run.lanes.items()} == {
        "Trading": Outcome.DONE,
        "Orders": Outcome.REFUSED,
    }
    assert run.outcome is Outcome.REFUSED


def test_transactions_are_decided_and_deleted(lead: Lead) -> None:
    """Promise 7: decided ones are completed at the source, and deleted at both sites after the activation."""
    lead.pair.prepare("1-a-b")
    lead.pair.prepare("1-x-x", replicated=False)
    lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": COMMIT})))
    ends(
        lead,
        Outcome.DONE,
        [
            "source set_role standby",
            "source complete_transaction commit 1-a-b",
            "target set_role active",
            "source delete_transaction 1-a-b",
            "target delete_transaction 1-a-b",
        ],
    )
    left = {side: list(ids) for side, ids in lead.pair.services["Trading"].transactions.items()}
    assert left == {"source": ["1-x-x"], "target": []}
    (decided,) = lead.events(ev.GateDecided)
    assert decided.ruling == COMMIT


def test_what_the_transaction_manager_deletes_is_left_to_it(lead: Lead) -> None:
    """Promise 7: at the target the transaction manager has its chance before we delete what it left."""
    lead.pair.prepare("1-a-b")
    gone = lead.pair.services["Trading"].transactions["target"]

    def deleted() -> None:
        del gone["1-a-b"]

    lead.pair.once_told("set_role", "target", 3.0, deleted)
    lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": COMMIT})))
    assert "target delete_transaction 1-a-b" not in lead.told()
    assert fold(lead.journal.records(RUN)).outcome is Outcome.DONE


# --- refused: nothing was changed ----------------------------------------------------------------------------------


def no_answer(pair: ScriptedPair) -> None:
    pair.fail("replication", Unreachable("no route to nj"), on="target", times=1000)


def unknown_service(pair: ScriptedPair) -> None:
    pair.answer[("target", "replication")] = lambda _: Failure.of(NoSuchService("no such message VPN"))


def already_moved(pair: ScriptedPair) -> None:
    pair.services["Trading"].roles = {"source": Role.STANDBY, "target": Role.ACTIVE}


def two_actives(pair: ScriptedPair) -> None:
    pair.services["Trading"].roles["target"] = Role.ACTIVE


def refuses_to_demote(pair: ScriptedPair) -> None:
    pair.fail("set_role", CommandRejected("not now"))


def gone_before_demotion(pair: ScriptedPair) -> None:
    pair.fail("set_role", Unreachable("no route to ny"), times=1000)


@pytest.mark.parametrize(
    ("arrange", "why", "told"),
    [
        (ScriptedPair.lose_bridge, "queue not bound", []),
        (no_answer, "no route to nj", []),
        (unknown_service, "no such message VPN", []),
        (already_moved, "role standby", []),
        (two_actives, "role active, bridge unknown", []),
        (refuses_to_demote, "ny refused: not now", ["source set_role standby"]),
        (gone_before_demotion, "gave up after 3 attempts", []),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_refused(lead: Lead, arrange: object, why: str, told: list[str]) -> None:
    """A check that fails, or an action that provably did nothing, refuses the lane: the pair is as it was."""
    before = dict(lead.pair.services["Trading"].roles)
    arrange(lead.pair)  # type: ignore[operator]
    if arrange in (already_moved, two_actives):
        before = dict(lead.pair.services["Trading"].roles)
    run = lead.start()
    assert (run.outcome, lead.told(), lead.pair.took) == (Outcome.REFUSED, told, [])
    assert why in reason(lead)
    assert lead.pair.services["Trading"].roles == before
    assert claims(lead.journal) == {}


# --- doubt ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [CommandTimedOut("no answer"), ConnectionLost("the session broke")])
def test_a_lost_answer_of_an_obeyed_command(lead: Lead, error: AdapterError) -> None:
    """The device obeyed and the answer was lost: a reading shows it, and nothing is sent twice."""
    lead.pair.fail("set_role", error, obeyed=True)
    lead.start()
    ends(lead, Outcome.DONE, HAPPY)


def test_a_lost_command(lead: Lead) -> None:
    """The command was lost with its answer: after the settle time a reading shows it, and it is sent again, once."""
    lead.pair.fail("set_role", CommandTimedOut("no answer"))
    lead.start()
    ends(lead, Outcome.DONE, ["source set_role standby", *HAPPY])
    first, second, _ = lead.events(ev.ActionIntended)
    assert (first.attempt, second.attempt) == (1, 2)
    assert len(lead.events(ev.DoubtResolved)) == 1


def test_a_command_that_is_obeyed_late(lead: Lead) -> None:
    """The device obeys after we timed out, within the settle time: it is awaited, and not sent again."""
    lead.pair.fail("set_role", CommandTimedOut("no answer"), obeyed=True, late=1.5)
    lead.start()
    ends(lead, Outcome.DONE, HAPPY)


def test_the_activation_s_answer_is_lost(lead: Lead) -> None:
    """The doubt about the activation itself is resolved by reading, too."""
    lead.pair.fail("set_role", ConnectionLost("broke"), on="target", obeyed=True)
    lead.start()
    ends(lead, Outcome.DONE, HAPPY)


def test_a_completed_transaction_s_answer_is_lost(lead: Lead) -> None:
    """Promise 4: a non-idempotent action in doubt is never repeated blindly."""
    lead.pair.prepare("1-a-b")
    lead.pair.fail("complete_transaction", CommandTimedOut("no answer"), obeyed=True, late=1.0)
    lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": COMMIT})))
    assert lead.told().count("source complete_transaction commit 1-a-b") == 1
    assert fold(lead.journal.records(RUN)).outcome is Outcome.DONE


# --- the bridge ----------------------------------------------------------------------------------------------------


def lose_the_bridge(lead: Lead, *, mended_after: float | None = None) -> None:
    lead.pair.once_told("set_role", "source", 0.3, lead.pair.lose_bridge)
    if mended_after is not None:
        lead.pair.after(mended_after, lead.pair.mend_bridge)


def test_a_bridge_that_comes_back_in_time(lead: Lead) -> None:
    """A bridge that is lost for less than the grace costs time and nothing else."""
    lose_the_bridge(lead, mended_after=30)
    lead.start()
    ends(lead, Outcome.DONE, HAPPY)
    assert len(lead.events(ev.GuardBroke)) == len(lead.events(ev.GuardHealed)) == 1


def test_a_bridge_that_stays_away_unattended(lead: Lead) -> None:
    """Promise 3: unattended, a lane that lost its bridge reverts: activity is where it was, and nothing is lost."""
    lose_the_bridge(lead)
    lead.start()
    ends(lead, Outcome.REVERTED, BACK)
    assert "the bridge is lost" in reason(lead)


def test_escalated_by_policy(lead: Lead) -> None:
    """Promise 3: an escalation is on record with its decision and the messages at risk; the end is ``escalated``."""
    lose_the_bridge(lead)
    lead.start(a_plan(policy=ev.Policy(on_gate={"bridge-lost": "escalate"})))
    ends(lead, Outcome.ESCALATED, HAPPY)
    (escalated,) = lead.events(ev.Escalated)
    assert (escalated.at_risk, escalated.ruling.by) == (70, "policy")


@pytest.mark.parametrize(
    ("choice", "outcome", "told"),
    [("revert", Outcome.REVERTED, BACK), ("escalate", Outcome.ESCALATED, HAPPY)],
)
def test_decided_by_a_person(lead: Lead, choice: str, outcome: Outcome, told: list[str]) -> None:
    """Attended, a person decides, once, and the record has choice, reason and name."""
    lose_the_bridge(lead)
    desk = ScriptedDesk({"bridge-lost": choice})
    lead.start(desk=desk)
    ends(lead, outcome, told)
    assert desk.asked == [("Trading", "bridge-lost", None)]
    (decided,) = lead.events(ev.GateDecided)
    assert (decided.ruling.choice, decided.ruling.reason, decided.ruling.by) == (choice, "why", "ann")


def test_wait_and_then_it_comes_back(lead: Lead) -> None:
    """A person who waits gets the question again after each grace, until the bridge is back."""
    lose_the_bridge(lead, mended_after=150)
    desk = ScriptedDesk({"bridge-lost": "wait"})
    lead.start(desk=desk)
    ends(lead, Outcome.DONE, HAPPY)
    assert len(desk.asked) == 2


def test_nobody_is_there_after_all(lead: Lead) -> None:
    """An attended run whose person does not answer goes on as an unattended one: it reverts."""
    lose_the_bridge(lead)
    lead.start(desk=ScriptedDesk({}))
    ends(lead, Outcome.REVERTED, BACK)


def test_a_stalled_drain(lead: Lead) -> None:
    """A queue that does not move with its bridge bound is called stalled, not slow; unattended the lane reverts."""
    lead.pair.services["Trading"].rate = 0.0
    lead.start()
    ends(lead, Outcome.REVERTED, BACK)
    assert [event.gauge for event in lead.events(ev.Stalled)] == [100.0]


def test_a_slow_drain(lead: Lead) -> None:
    """A queue that takes ten minutes is drained in ten minutes; the lease is renewed all the while."""
    lead.pair.services["Trading"].rate = 100 / 600
    start = lead.pair.clock.now()
    lead.start()
    ends(lead, Outcome.DONE, HAPPY)
    assert 599 <= lead.pair.clock.now() - start <= 610


# --- turning back, and getting stuck -------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [CommandRejected("no"), Unreachable("no route to nj")])
def test_a_target_that_does_not_take_over(lead: Lead, error: AdapterError) -> None:
    """A target that refuses, or cannot be told, leaves both sites standby; unattended the source gets activity back."""
    lead.pair.fail("set_role", error, on="target", times=1000)
    lead.start()
    told = BACK if isinstance(error, Unreachable) else [*HAPPY, "source set_role active"]
    ends(lead, Outcome.REVERTED, told)


def test_a_target_that_is_gone_at_the_activation(lead: Lead) -> None:
    """Promise 1: with the target unreadable the way back is barred too: stuck, both standby, until a person looks."""
    lead.pair.once_told(
        "set_role",
        "source",
        0.1,
        lambda: lead.pair.fail("replication", Unreachable("no route to nj"), on="target", times=1000),
    )
    lead.start()
    ends(lead, Outcome.STUCK, ["source set_role standby"])
    assert "no route to nj" in reason(lead)


def test_a_stuck_lane_is_resumed(lead: Lead) -> None:
    """Once the cause is mended a resume takes back what could not be taken back."""
    lose_the_bridge(lead)
    lead.pair.fail("set_role", CommandRejected("busy"), on="source", skip=1, times=1)
    lead.start()
    ends(lead, Outcome.STUCK, BACK)
    assert len(claims(lead.journal)) == 1
    lead.resume()
    ends(lead, Outcome.REVERTED, [*BACK, "source set_role active"])
    assert claims(lead.journal) == {}


def test_past_the_point_of_no_return_it_needs_an_operator(lead: Lead) -> None:
    """A failure after the activation stops the lane where it is; it never reverts; a resume goes on."""
    lead.pair.prepare("1-a-b")
    lead.pair.fail("delete_transaction", CommandRejected("busy"))
    lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": COMMIT})))
    run = fold(lead.journal.records(RUN))
    assert (run.outcome, run.lanes["Trading"].came_from) == (Outcome.NEEDS_OPERATOR, "committed")
    lead.resume()
    assert fold(lead.journal.records(RUN)).outcome is Outcome.DONE
    assert lead.pair.services["Trading"].transactions == {"source": {}, "target": {}}


def test_undecided_transactions_stop_an_unattended_run(lead: Lead) -> None:
    """Promise 7: nothing is guessed; a resume with the decision goes on."""
    lead.pair.prepare("1-a-b")
    lead.start()
    assert fold(lead.journal.records(RUN)).outcome is Outcome.NEEDS_OPERATOR
    assert "1-a-b" in reason(lead)
    lead.resume(policy=ev.Policy(transactions={"1-a-b": COMMIT}))
    assert fold(lead.journal.records(RUN)).outcome is Outcome.DONE
    assert lead.told().count("source complete_transaction commit 1-a-b") == 1


def test_no_loss_whatever_the_grace(lead: Lead) -> None:
    """Promise 3: with no grace at all a single reading of a lost bridge is read once more, and then acted on."""
    rule = {**DRAIN["when_guard_breaks"], "grace": "0s"}
    steps = [{**step, "when_guard_breaks": rule} if step is DRAIN else step for step in CONTROLLED]
    lose_the_bridge(lead)
    lead.start(a_plan(*steps))
    ends(lead, Outcome.REVERTED, BACK)
