"""Four eyes where the machine has a policy: only words that approvers signed count, on each database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.core.approvals import APPROVAL_GATE
from orchestrator.core.run import Run, fold
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.requests import AbortRequest
from orchestrator.reports.report import build
from tests.core.builders import a_plan
from tests.core.killing import Killed, bury, judge_pair
from tests.core.leading import RUN, Lead, ScriptedDesk, When, lost_bridge, pausing
from tests.core.scripted import ScriptedPair
from tests.journal.people import People, signed_rule

Opener = Callable[..., Journal]
OTHER = ev.Policy(on_gate={"bridge-lost": "escalate"})


@pytest.fixture
def pair(clock: VirtualClock) -> ScriptedPair:
    return ScriptedPair(clock, depth=100, rate=100, lag=0.5)


@pytest.fixture
def lead(opened: Opener, pair: ScriptedPair) -> Lead:
    return Lead(pair, opened())


@pytest.fixture
def people(opened: Opener, tmp_path: Path) -> People:
    return People(opened(), tmp_path)


def the_plan(needed: int = 1, **more: Any) -> ev.Plan:
    return a_plan().model_copy(update={"approval": signed_rule(needed, **more)})


def now(lead: Lead) -> int:
    return int(lead.pair.clock.now())


def refusals(lead: Lead) -> list[str]:
    return [one.why for one in lead.events(ev.ApprovalRefused)]


def started(lead: Lead, people: People, say: Callable[[], dict[str, str]], **more: Any) -> Run:
    """Lead a run of which somebody says something as soon as it asks."""
    leave = When(ev.GateOpened, lambda *_: people.leave(say()))
    return lead.start(
        more.pop("plan", the_plan()), observers=[leave], approvers=people.known(), account="ann", **more
    )


# --- words that count, and words that do not -------------------------------------------------------------------------


def test_a_signed_word_counts(lead: Lead, people: People) -> None:
    """Law: an approver's signed word begins the run; the record has it with its signature, and proves it to others."""
    run = started(lead, people, lambda: people.word("bob", at=now(lead)))
    assert (run.outcome, judge_pair(lead.pair, run.outcome), refusals(lead)) == (Outcome.DONE, [], [])
    [given] = lead.events(ev.ApprovalGiven)
    assert (given.by, given.account, given.uid) == ("bob", "bob", 1000)
    assert people.known().has_agreed(RUN, given)
    assert not people.known().has_agreed("another", given)
    assert not people.known().has_agreed(RUN, given.model_copy(update={"by": "carol"}))


def unsigned_word(people: People, choice: str = "approve") -> dict[str, str]:
    """As everybody can write it who can write the journal."""
    return {"kind": "approval", "choice": choice, "by": "bob", "host": "bobs-laptop", "plan": people.asked()}


FORGERIES: dict[str, tuple[Callable[[People, int], dict[str, str]], str]] = {
    "unsigned, as everybody can write it": (
        lambda people, at: {
            **unsigned_word(people),
            "reason": "looked at it, fine",
        },
        "the answer is not signed",
    ),
    "with ann's own key": (
        lambda people, at: people.word("bob", key_of="ann", at=at),
        "no approver has a key that fits the signature",
    ),
    "carol's, given out as bob's": (
        lambda people, at: people.word("bob", key_of="carol", at=at),
        "the answer names bob, but carol signed it",
    ),
    "bob's, for another run": (
        lambda people, at: people.word("bob", run="run-0", at=at),
        "no approver has a key that fits the signature",
    ),
    "bob's, for another plan": (
        lambda people, at: people.word("bob", plan="0" * 64, at=at),
        "no approver has a key that fits the signature",
    ),
    "bob's no, made a yes": (
        lambda people, at: people.word("bob", signed_choice="deny", at=at),
        "no approver has a key that fits the signature",
    ),
    "bob's, of last week": (lambda people, at: people.word("bob", at=at - 7 * 86_400), "older than the question"),
    "bob's, of tomorrow": (lambda people, at: people.word("bob", at=at + 86_400), "or its time is in the future"),
    "another moment written over bob's": (
        lambda people, at: {**people.word("bob", at=at - 86_400), "at": str(at)},
        "no approver has a key that fits the signature",
    ),
    "no Base64": (lambda people, at: {**people.word("bob", at=at), "signature": "?"}, "no approver has a key"),
    "no number": (lambda people, at: {**people.word("bob", at=at), "at": "now"}, "the answer is not signed"),
    "two lines": (lambda people, at: {**people.word("bob", at=at), "plan": "a\nb"}, "no approver has a key"),
    "by who asked for it": (lambda people, at: people.word("ann", at=at), "no approver has a key"),
}


@pytest.mark.parametrize("forged", FORGERIES)
def test_a_word_that_does_not_verify_does_not_count(lead: Lead, people: People, forged: str) -> None:
    """Law: whatever else somebody writes into the inbox begins nothing; it is recorded as refused, with the reason, and
    at the end of the time the run is refused with nothing told to anybody."""
    make, why = FORGERIES[forged]
    run = started(lead, people, lambda: make(people, now(lead)))
    assert (run.outcome, lead.told(), len(lead.events(ev.ApprovalGiven))) == (Outcome.REFUSED, [], 0)
    [refused] = refusals(lead)
    assert why in refused


@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_an_approver_who_asked_for_the_run(lead: Lead, people: People, choice: str) -> None:
    """Law: an approver's own run takes another one, however well it is signed; a no of theirs is one."""
    people.approvers = ("ann", "bob")
    run = started(lead, people, lambda: people.word("ann", choice, at=now(lead)))
    assert run.outcome is Outcome.REFUSED
    assert refusals(lead) == (
        ["ann requested this run; another person must approve the plan"] if choice == "approve" else []
    )


def test_a_requester_made_up(lead: Lead, people: People) -> None:
    """Law: who leads the run cannot approve it, whoever its plan says has asked for it."""
    people.approvers = ("bob",)
    leave = When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead))))
    run = lead.start(the_plan(), observers=[leave], approvers=people.known(), account="bob")
    assert (run.outcome, refusals(lead)) == (
        Outcome.REFUSED,
        ["bob has led this run; another person must approve the plan"],
    )


def test_two_keys_of_one_person_are_one(lead: Lead, people: People) -> None:
    """Law: an account with two keys is one person."""
    people.approvers = ("bob", "bobs-other-key")
    policy = people.policy()
    both = policy.model_copy(
        update={"approvers": tuple(one.model_copy(update={"account": "bob"}) for one in policy.approvers)}
    )
    from orchestrator.engine.approvers import Approvers

    def leave(*_: object) -> None:
        people.leave(people.word("bob", at=now(lead)), people.word("bob", key_of="bobs-other-key", at=now(lead)))

    run = lead.start(the_plan(2), observers=[When(ev.GateOpened, leave)], approvers=Approvers(both), account="ann")
    assert (run.outcome, refusals(lead)) == (Outcome.REFUSED, ["bob has already approved the plan"])


def test_without_a_policy_no_word_counts(lead: Lead, people: People) -> None:
    """Law: where nobody's key is known, a plan that takes signed words begins by none."""
    leave = When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead))))
    run = lead.start(the_plan(), observers=[leave], account="ann")
    assert (run.outcome, len(refusals(lead))) == (Outcome.REFUSED, 1)


def test_the_report_tells_what_was_signed(lead: Lead, people: People) -> None:
    """Law: the report says whether words had to be signed, and by which key each was."""
    started(lead, people, lambda: people.word("bob", at=now(lead)))
    report = build(lead.journal.records(RUN)).approval
    assert report is not None
    assert (report.signed, [one.key for one in report.given]) == (True, [people.signer("bob").sign_bytes(b"")[0]])


# --- a record that somebody wrote himself ----------------------------------------------------------------------------


def test_an_approval_that_was_written_into_the_record(opened: Opener, lead: Lead, people: People) -> None:
    """Law: who can write the journal can write an approval with a chain that is whole; a process that takes the run over
    asks anew, and nothing is told meanwhile."""
    lead.start(the_plan(), observers=[When(ev.GateOpened, pausing(lead))], approvers=people.known(), account="ann")
    forged = ev.ApprovalGiven(by="bob", host="x", plan=people.asked(), signed=ev.Signed(key="k", signature="s", at=1))
    ruling = ev.Ruling(choice="approve", reason="1 of 1 agreed", by="bob")
    journal = opened()
    writer = journal.writer(RUN)
    moment = lead.pair.clock.now()
    decided = ev.GateDecided(gate=APPROVAL_GATE, step="", ruling=ruling)
    journal.append(writer, moment, [(None, forged), (None, decided), ("Trading", ev.LaneStarted())])
    assert fold(opened().records(RUN)).approvals.is_granted
    run = lead.resume(journal=opened(), approvers=people.known(), account="ann")
    assert lead.told() == []
    withdrawn = lead.events(ev.GateWithdrawn)
    assert [one.why for one in withdrawn] == [
        "0 of 1 approvals in the record are signed by approvers of this machine's policy"
    ]
    assert (run.status, run.outcome) == ("paused", None)  # it had begun, by the record
    again = When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead))))
    run = lead.resume(journal=opened(), approvers=people.known(), account="ann", observers=[again])
    assert (run.outcome, judge_pair(lead.pair, run.outcome)) == (Outcome.DONE, [])


def test_decisions_that_were_written_into_the_record(opened: Opener, lead: Lead, people: People) -> None:
    """Law: nor can other decisions be slipped in behind an approval: the plan is not the one that was agreed to."""
    observers = [
        When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead)))),
        When(ev.StepDone, pausing(lead)),
    ]
    lead.start(the_plan(), observers=observers, approvers=people.known(), account="ann")
    journal = opened()
    journal.append(journal.writer(RUN), lead.pair.clock.now(), [(None, ev.PolicyChanged(policy=OTHER, by="ann"))])
    told = lead.told()
    run = lead.resume(journal=opened(), approvers=people.known(), account="ann")
    assert (run.status, lead.told(), lead.events(ev.GateWithdrawn)[-1].why) == (
        *("paused", told, "the plan differs from the approved plan"),
    )


def test_a_key_that_was_taken_back(opened: Opener, lead: Lead, people: People) -> None:
    """Law: what an approver agreed to does not hold once their key is in the policy no more; others are asked."""
    observers = [
        When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead)))),
        When(ev.StepDone, pausing(lead)),
    ]
    lead.start(the_plan(), observers=observers, approvers=people.known(), account="ann")
    people.approvers = ("carol",)
    again = When(ev.GateOpened, lambda *_: people.leave(people.word("carol", at=now(lead))))
    run = lead.resume(journal=opened(), approvers=people.known(), account="ann", observers=[again])
    assert (run.outcome, len(lead.events(ev.GateWithdrawn))) == (Outcome.DONE, 1)


# --- decisions that are made after the approval -----------------------------------------------------------------------


def begun(lead: Lead, people: People, *, nth: int = 1) -> None:
    """A run that people agreed to, paused after its first steps."""
    observers = [
        When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead)))),
        When(ev.StepDone, pausing(lead), nth=nth),
    ]
    lead.start(the_plan(), observers=observers, approvers=people.known(), account="ann")


def test_other_decisions_are_asked_about(opened: Opener, lead: Lead, people: People) -> None:
    """Law (S5): resumed with other decisions than those that were agreed to, the run stands still until others agree to
    these; only then they are decisions of the run."""
    begun(lead, people)
    told = lead.told()
    seen: list[tuple[list[str], ev.Policy]] = []

    def agree(record: ev.Record, run: Run) -> None:
        seen.append((lead.told(), run.plan.policy))
        people.leave(people.word("carol", at=now(lead)))

    run = lead.resume(
        journal=opened(),
        policy=OTHER,
        approvers=people.known(),
        account="ann",
        observers=[When(ev.GateOpened, agree)],
    )
    assert seen == [(told, ev.Policy())]
    assert (run.outcome, run.plan.policy, judge_pair(lead.pair, run.outcome)) == (Outcome.DONE, OTHER, [])
    kinds = [kind for kind in lead.kinds() if kind.startswith(("gate", "approval", "policy"))]
    assert kinds == [
        *("gate.opened", "approval.given", "gate.decided"),
        *("gate.opened", "approval.given", "gate.decided", "policy.changed"),
    ]
    assert fold(opened().records(RUN)) == run


@pytest.mark.parametrize("denied", [True, False], ids=["denied", "nobody in time"])
def test_other_decisions_that_nobody_agrees_to(opened: Opener, lead: Lead, people: People, denied: bool) -> None:
    """Law: without agreement the run goes on with what was agreed to before, and the others never hold."""
    begun(lead, people)
    no = When(ev.GateOpened, lambda *_: people.leave(people.word("carol", "deny", at=now(lead))) if denied else None)
    run = lead.resume(journal=opened(), policy=OTHER, approvers=people.known(), account="ann", observers=[no])
    assert (run.outcome, run.plan.policy, lead.events(ev.PolicyChanged)) == (Outcome.DONE, ev.Policy(), [])
    assert fold(opened().records(RUN)) == run


def test_killed_while_other_decisions_are_asked_about(opened: Opener, lead: Lead, people: People) -> None:
    """Law (promise 4): the next process asks on, and takes what was said meanwhile; the question is not put twice."""
    begun(lead, people)

    def die(*_: object) -> None:
        raise Killed

    with pytest.raises(Killed):
        lead.resume(
            journal=opened(),
            policy=OTHER,
            approvers=people.known(),
            account="ann",
            observers=[When(ev.GateOpened, die)],
        )
    bury(lead.journal)
    people.leave(people.word("carol", at=now(lead)))
    run = lead.resume(journal=opened(), approvers=people.known(), account="ann")
    assert (run.outcome, run.plan.policy, len(lead.events(ev.GateOpened))) == (Outcome.DONE, OTHER, 2)


def test_still_other_decisions(opened: Opener, lead: Lead, people: People) -> None:
    """Law: resumed with yet other ones while some are asked about, those are withdrawn, and the last ones are asked
    about; what was agreed to first goes on holding."""
    begun(lead, people)
    pause = When(ev.GateOpened, pausing(lead))
    more = {"approvers": people.known(), "account": "ann"}
    lead.resume(journal=opened(), policy=OTHER, observers=[pause], **more)
    third = ev.Policy(on_gate={"bridge-lost": "wait"})
    run = lead.resume(journal=opened(), policy=third, **more)
    assert (run.outcome, run.plan.policy, len(lead.events(ev.GateWithdrawn))) == (Outcome.DONE, ev.Policy(), 1)


def test_calling_it_off_takes_nobody(opened: Opener, lead: Lead, people: People) -> None:
    """Law: an abort is done at once, while other decisions are asked about too."""
    begun(lead, people, nth=3)
    leave = When(ev.GateOpened, lambda *_: lead.journal.ask(RUN, AbortRequest(by="ann")))
    run = lead.resume(journal=opened(), policy=OTHER, approvers=people.known(), account="ann", observers=[leave])
    assert (run.outcome, judge_pair(lead.pair, run.outcome)) == (Outcome.REVERTED, [])


# --- answers to questions ------------------------------------------------------------------------------------------


def escalating(lead: Lead, people: People, answer: Callable[[], dict[str, str]], **more: Any) -> Run:
    """A run that people agreed to, whose bridge is lost in the drain; somebody answers the question that this puts."""
    lost_bridge(lead)
    observers = [
        When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead)))),
        When(ev.GateOpened, lambda *_: people.leave(answer()), nth=2),
        When(ev.ApprovalRefused, lambda *_: people.leave(unsigned("revert"))),
    ]
    return lead.start(the_plan(**more), observers=observers, approvers=people.known(), account="ann", attended=True)


def unsigned(choice: str, by: str = "ann") -> dict[str, str]:
    return {"kind": "decide", "lane": "Trading", "gate": "bridge-lost", "choice": choice, "by": by, "reason": "why"}


def test_an_escalation_takes_another_approver(lead: Lead, people: People) -> None:
    """Law (S5): who leads the run does not give up its guarantee alone, whatever name they write; an approver's signed
    answer is one, and is recorded with its signature."""
    run = escalating(lead, people, lambda: people.decision("carol", "escalate", "bridge-lost", at=now(lead)))
    assert run.outcome is Outcome.ESCALATED
    [ruling] = [one.ruling for one in lead.events(ev.GateDecided) if one.gate == "bridge-lost"]
    assert (ruling.by, ruling.signed is not None) == ("carol", True)


@pytest.mark.parametrize(
    "answer",
    [
        lambda people, at: unsigned("escalate"),
        lambda people, at: unsigned("escalate", by="carol"),
        lambda people, at: people.decision("ann", "escalate", "bridge-lost", at=at),
        lambda people, at: people.decision("carol", "escalate", "bridge-lost", at=at, number=3),
        lambda people, at: {**people.decision("carol", "wait", "bridge-lost", at=at), "choice": "escalate"},
    ],
    ids=["alone", "in another's name", "with an own key", "for an earlier question", "another answer"],
)
def test_an_escalation_by_one(lead: Lead, people: People, answer: Callable[[People, int], dict[str, str]]) -> None:
    """Law: an answer that is not an approver's, to this very question, is recorded as refused; nothing is given up."""
    run = escalating(lead, people, lambda: answer(people, now(lead)))
    assert run.outcome is Outcome.REVERTED
    assert [why.startswith("escalate was not approved with the plan") for why in refusals(lead)] == [True]


def test_what_gives_nothing_up_is_decided_alone(lead: Lead, people: People) -> None:
    """Law: to turn back takes nobody else."""
    run = escalating(lead, people, lambda: unsigned("revert"))
    assert (run.outcome, refusals(lead)) == (Outcome.REVERTED, [])


def test_broken_glass_covers_what_follows(lead: Lead, people: People) -> None:
    """Law: a run that was begun without the others, by name and with a reason, goes on without them."""
    lost_bridge(lead)
    word = {"kind": "approval", "choice": "break-glass", "by": "ann", "reason": "nobody can be reached"}
    observers = [
        When(ev.GateOpened, lambda *_: people.leave({**word, "plan": people.asked()})),
        When(ev.GateOpened, lambda *_: people.leave(unsigned("escalate")), nth=2),
    ]
    run = lead.start(the_plan(), observers=observers, approvers=people.known(), account="ann", attended=True)
    assert (run.outcome, refusals(lead)) == (Outcome.ESCALATED, [])


def test_the_terminal_of_the_leader_is_one_person(lead: Lead, people: People) -> None:
    """Law: what is typed where the run is led is one person's answer; it is refused, recorded, and asked again."""
    lost_bridge(lead)
    desk = ScriptedDesk({"bridge-lost": "escalate"})

    def change_of_mind(record: ev.Record, run: Run) -> None:
        desk.answers = {"bridge-lost": "revert"}

    observers = [
        When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead)))),
        When(ev.ApprovalRefused, change_of_mind),
    ]
    run = lead.start(the_plan(), observers=observers, approvers=people.known(), account="ann", desk=desk)
    assert (run.outcome, len(refusals(lead))) == (Outcome.REVERTED, 1)


# --- other terms than the plan has -----------------------------------------------------------------------------------


def test_a_plan_without_the_terms_of_the_machine(opened: Opener, lead: Lead, people: People) -> None:
    """Law: a run that was recorded without what the policy of this machine asks for, by a version that knew none, or by
    hand, is asked about before anything of it goes on; lanes that have begun stand still meanwhile."""
    lead.start(a_plan(), observers=[When(ev.StepDone, pausing(lead))], account="ann")
    told = lead.told()
    seen: list[list[str]] = []

    def agree(*_: object) -> None:
        seen.append(lead.told())
        people.leave(people.word("bob", at=now(lead)))

    run = lead.resume(
        journal=opened(),
        approvers=people.known(),
        approval=signed_rule(),
        account="ann",
        observers=[When(ev.GateOpened, agree)],
    )
    assert (run.outcome, seen, run.plan.approval) == (Outcome.DONE, [told], signed_rule())
    assert fold(opened().records(RUN)) == run


def test_terms_that_nobody_agrees_to_in_time(opened: Opener, lead: Lead, people: People) -> None:
    """Law: what has begun and is not agreed to stops at the next safe point, and can be asked about again or called off;
    it is not said to have been refused."""
    lead.start(a_plan(), observers=[When(ev.StepDone, pausing(lead))], account="ann")
    told = lead.told()
    more: dict[str, Any] = {"approvers": people.known(), "account": "ann"}
    run = lead.resume(journal=opened(), approval=signed_rule(), **more)
    assert (run.status, run.outcome, lead.told()) == ("paused", None, told)
    assert "the plan was not approved" in lead.events(ev.RunPaused)[-1].reason
    again = When(ev.GateOpened, lambda *_: people.leave(people.word("bob", at=now(lead))))
    run = lead.resume(journal=opened(), observers=[again], **more)
    assert run.outcome is Outcome.DONE
