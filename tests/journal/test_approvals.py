"""Four eyes on each database: nothing begins before enough others agreed to the very plan, whatever happens meanwhile."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.core.approvals import Approvals, fold_approvals
from orchestrator.core.decide.approve import record_vote, request_approval
from orchestrator.core.run import Run, fold
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.requests import ApprovalRequest, request_of
from orchestrator.operations.runtime import Tools
from orchestrator.reports.report import build
from tests.cli.processes import Bench, line_with
from tests.core.builders import a_plan
from tests.core.killing import Killed, bury, judge_pair
from tests.core.leading import RUN, Lead, When, asking, pausing
from tests.core.scripted import ScriptedPair

Opener = Callable[..., Journal]
WITHIN = 60.0


def a_rule(needed: int = 2, **more: Any) -> ev.ApprovalRule:
    return ev.ApprovalRule(needed=needed, within=WITHIN, requester="ann", **more)


def the_plan(needed: int = 2, *, services: Iterable[str] = ("Trading",), **more: Any) -> ev.Plan:
    """A controlled fail-over that needs approvals."""
    return a_plan(services=tuple(services)).model_copy(update={"approval": a_rule(needed), **more})


@dataclass
class Colleagues:
    """Other people, each at a terminal of their own."""

    journal: Journal

    def say(self, by: str, choice: str = "approve", *, plan: str | None = None, reason: str = "") -> None:
        """One person's word about the plan as it is stored now, or about another one."""
        digest = fold(self.journal.records(RUN)).plan.digest if plan is None else plan
        word = {"kind": "approval", "choice": choice, "by": by, "host": "bastion-2", "reason": reason}
        self.journal.ask(RUN, request_of({**word, "plan": digest}))

    def saying(self, *words: Mapping[str, Any]) -> Callable[..., None]:
        """An observer's deed: all of these, one after the other."""

        def speak(*_: object) -> None:
            for word in words:
                self.say(**word)

        return speak


@pytest.fixture
def pair(clock: VirtualClock) -> ScriptedPair:
    return ScriptedPair(clock, depth=100, rate=100, lag=0.5)


@pytest.fixture
def lead(opened: Opener, pair: ScriptedPair) -> Lead:
    return Lead(pair, opened())


@pytest.fixture
def others(opened: Opener) -> Colleagues:
    return Colleagues(opened())


def approvals(lead: Lead) -> list[str]:
    return [one.by for one in lead.events(ev.ApprovalGiven)]


def judged(lead: Lead, run: Run) -> list[str]:
    """What the pair's own account holds against it, and whether anything was told before people agreed."""
    kinds = lead.kinds()
    agreed = kinds.index("gate.decided") if "gate.decided" in kinds else len(kinds)
    early = [kind for kind in kinds[:agreed] if kind.startswith(("lane.", "step.", "action.", "observed"))]
    return [*judge_pair(lead.pair, run.outcome), *early]


def test_it_begins_once_enough_have_agreed(lead: Lead, others: Colleagues) -> None:
    """A plan that needs two other people begins when the second has agreed, and not a reading before; the record, the
    state and the report say who it was, from where, and why."""
    words = others.saying({"by": "bob", "reason": "change 4711"}, {"by": "carol"})
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, words)])
    assert (run.outcome, judged(lead, run), approvals(lead)) == (Outcome.DONE, [], ["bob", "carol"])
    assert fold(lead.journal.records(RUN)) == run
    report = build(lead.journal.records(RUN)).approval
    assert report is not None
    assert [(one.by, one.host, one.reason) for one in report.given] == [
        ("bob", "bastion-2", "change 4711"),
        ("carol", "bastion-2", ""),
    ]
    assert report.decision is not None
    assert (report.decision.choice, report.decision.by, report.is_waiting) == ("approve", "bob, carol", False)


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ([{"by": "ann"}, {"by": "bob"}], ["ann requested this run; another person must approve the plan"]),
        ([{"by": "bob"}, {"by": "bob"}], ["bob has already approved the plan"]),
        (
            [{"by": "bob"}, {"by": "carol", "plan": "0" * 64}],
            ["the answer is for another plan, not for the plan of the open question"],
        ),
        ([{"by": "bob"}, {"by": "carol", "choice": "revert"}], ["revert is not a valid answer to an approval question"]),
        ([], []),
    ],
    ids=["the requester", "the same person", "another plan", "no answer", "nobody"],
)  # fmt: skip
def test_words_that_do_not_count_are_recorded_and_too_few_refuse_it(
    lead: Lead, others: Colleagues, words: list[dict[str, str]], refused: list[str]
) -> None:
    """Neither the requester, nor one person twice, nor agreement to another plan counts; it is recorded, and at the end
    of the time the run is refused with nothing changed and nothing told."""
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, others.saying(*words))])
    assert (run.outcome, judged(lead, run), lead.told()) == (Outcome.REFUSED, [], [])
    assert [one.why for one in lead.events(ev.ApprovalRefused)] == refused
    agreed = len(words) - len(refused)
    assert run.lanes["Trading"].reason == f"the plan was not approved: {agreed} of 2 agreed in time"
    report = build(lead.journal.records(RUN))
    assert (report.exit_code, report.seconds >= WITHIN, report.resumable) == (3, True, False)


def test_one_no_is_enough(lead: Lead, others: Colleagues) -> None:
    """Anybody may say no, the requester too: refused at once, with the name and the reason."""
    words = others.saying(
        {"by": "bob"}, {"by": "carol", "choice": "deny", "reason": "market is open"}, {"by": "dave"}
    )
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, words)])
    assert (run.outcome, lead.told(), approvals(lead)) == (Outcome.REFUSED, [], ["bob"])
    assert run.lanes["Trading"].reason == "the plan was denied by carol: market is open"


def test_breaking_the_glass(lead: Lead, others: Colleagues) -> None:
    """One person may begin alone, by name and with a reason, which the record has as a decision of its own."""
    words = others.saying({"by": "ann", "choice": "break-glass", "reason": "nobody can be reached"})
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, words)])
    assert (run.outcome, judged(lead, run), approvals(lead)) == (Outcome.DONE, [], [])
    [decided] = lead.events(ev.GateDecided)
    assert (decided.ruling.choice, decided.ruling.by) == ("break-glass", "ann")
    assert decided.ruling.reason == "nobody can be reached"


def test_no_glass_is_broken_without_a_reason(lead: Lead, others: Colleagues) -> None:
    """Whatever way the word came, without a reason it does not count."""
    words = others.saying(
        {"by": "bob", "choice": "break-glass"}, {"by": "bob", "choice": "break-glass", "reason": " \n"}
    )
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, words)])
    assert (run.outcome, lead.told()) == (Outcome.REFUSED, [])
    assert [one.why for one in lead.events(ev.ApprovalRefused)] == ["--break-glass needs a reason"] * 2


def test_a_glass_that_cannot_be_broken(lead: Lead, others: Colleagues) -> None:
    """Where the policy does not allow it, breaking the glass is refused and recorded."""
    words = others.saying({"by": "bob", "choice": "break-glass", "reason": "hurry"})
    plan = the_plan(approval=a_rule(1, break_glass=False))
    run = lead.start(plan, observers=[When(ev.GateOpened, words)])
    assert (run.outcome, lead.told()) == (Outcome.REFUSED, [])
    assert lead.events(ev.GateOpened)[0].choices == ("approve", "deny")
    assert [one.by for one in lead.events(ev.ApprovalRefused)] == ["bob"]


# --- killed, paused, called off ------------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", [1, 2])
def test_killed_while_it_waits(opened: Opener, lead: Lead, others: Colleagues, nth: int) -> None:
    """Promise 4 for the wait: killed with no, or with one, approval on record, resumed by another process: what was said
    still counts, also what was said while nobody led the run; the question is not put twice."""

    first = others.saying({"by": "bob"})
    with pytest.raises(Killed):
        kind = {1: ev.GateOpened, 2: ev.ApprovalGiven}[nth]
        lead.start(the_plan(), observers=[When(ev.GateOpened, first), When(kind, die_here)])
    bury(lead.journal)
    others.say("carol")
    run = lead.resume(journal=opened())
    assert (run.outcome, judged(lead, run), approvals(lead)) == (Outcome.DONE, [], ["bob", "carol"])
    assert len(lead.events(ev.GateOpened)) == 1


def test_paused_while_it_waits(opened: Opener, lead: Lead, others: Colleagues) -> None:
    """A signal pauses the wait; resumed it goes on with the same time limit, and is refused when that is over."""
    asked_at = lead.pair.clock.now()
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, pausing(lead))])
    assert (run.status, run.outcome) == ("paused", None)
    lead.pair.clock.advance(WITHIN - 10)
    others.say("bob")
    run = lead.resume(journal=opened())
    assert (run.outcome, lead.told(), approvals(lead)) == (Outcome.REFUSED, [], ["bob"])
    assert run.last_at - asked_at < WITHIN + 2


def test_what_was_said_in_time_and_read_too_late_does_not_count(
    opened: Opener, lead: Lead, others: Colleagues
) -> None:
    """When nobody led the run until its time was over, nobody knows when people spoke: it is refused."""
    lead.start(the_plan(needed=1), observers=[When(ev.GateOpened, pausing(lead))])
    others.say("bob")
    lead.pair.clock.advance(WITHIN + 1)
    run = lead.resume(journal=opened())
    assert (run.outcome, lead.told()) == (Outcome.REFUSED, [])


def test_a_word_at_the_last_moment_is_late() -> None:
    """From the very moment at which the time is over no agreement counts, heard before anything else though it is."""
    plan = the_plan(needed=1)
    [asked] = request_approval(plan, Approvals(), 0.0)
    word = ApprovalRequest(choice="approve", by="bob", plan=plan.digest)
    [in_time] = record_vote(plan, fold_approvals(Approvals(), asked), word, WITHIN - 0.1)
    [late] = record_vote(plan, fold_approvals(Approvals(), asked), word, WITHIN)
    assert isinstance(in_time, ev.ApprovalGiven)
    assert isinstance(late, ev.ApprovalRefused)
    assert late.why == "the answer came too late"


def test_called_off_while_it_waits(lead: Lead) -> None:
    """An abort needs nobody's approval: refused, with nothing changed."""
    run = lead.start(the_plan(), observers=[When(ev.GateOpened, asking(lead, kind="abort"))])
    assert (run.outcome, lead.told()) == (Outcome.REFUSED, [])
    assert run.lanes["Trading"].reason == "aborted by bob: the change was called off"
    report = build(lead.journal.records(RUN)).approval
    assert report is not None and not report.is_waiting


# --- a plan that changes -------------------------------------------------------------------------------------------

OTHER_POLICY = ev.Policy(on_gate={"bridge-lost": "escalate"})


def test_a_changed_plan_voids_what_was_said(opened: Opener, lead: Lead, others: Colleagues) -> None:
    """Resumed with other decisions it is another plan: approvals given before are void, and have to be given anew."""
    words = others.saying({"by": "bob"})
    observers = [When(ev.GateOpened, words), When(ev.ApprovalGiven, pausing(lead))]
    lead.start(the_plan(), observers=observers)
    before = lead.events(ev.GateOpened)[0].approval.plan
    again = [When(ev.GateOpened, others.saying({"by": "bob", "plan": before}, {"by": "bob"}, {"by": "carol"}))]
    run = lead.resume(journal=opened(), policy=OTHER_POLICY, observers=again)
    assert (run.outcome, judged(lead, run)) == (Outcome.DONE, [])
    kinds = [kind for kind in lead.kinds() if kind.startswith(("gate", "approval"))]
    assert kinds == [
        *("gate.opened", "approval.given", "gate.withdrawn", "gate.opened"),
        *("approval.refused", "approval.given", "approval.given", "gate.decided"),
    ]
    assert [one.approval.plan for one in lead.events(ev.GateOpened)] == [before, run.plan.digest]


def test_who_changed_the_plan_cannot_approve_it(opened: Opener, lead: Lead, others: Colleagues) -> None:
    """Whoever resumes it with other decisions asks for the changed plan, as much as who began it."""
    lead.start(the_plan(needed=1), observers=[When(ev.GateOpened, pausing(lead))])
    again = [When(ev.GateOpened, others.saying({"by": "bob"}))]
    run = lead.resume(journal=opened(), policy=OTHER_POLICY, observers=again, account="bob")
    assert (run.outcome, lead.told()) == (Outcome.REFUSED, [])
    assert [one.why for one in lead.events(ev.ApprovalRefused)] == [
        "bob changed the decisions of this run; another person must approve the plan"
    ]


def test_approval_and_beginning_are_one_commit(opened: Opener, lead: Lead, others: Colleagues) -> None:
    """There is no moment between approval and beginning in which the plan could be exchanged: killed right after the
    decision was recorded, the lane has begun."""
    observers = [When(ev.GateOpened, others.saying({"by": "bob"})), When(ev.GateDecided, die_here)]
    with pytest.raises(Killed):
        lead.start(the_plan(needed=1), observers=observers)
    assert fold(opened().records(RUN)).lanes["Trading"].status == "running"


def die_here(*_: object) -> None:
    raise Killed


def test_decisions_that_are_changed_once_it_has_begun_are_decisions(
    opened: Opener, lead: Lead, others: Colleagues
) -> None:
    """Once a lane has begun, other decisions are recorded as such, and nobody is asked again in the middle of a move."""
    observers = [When(ev.GateOpened, others.saying({"by": "bob"})), When(ev.StepDone, pausing(lead))]
    lead.start(the_plan(needed=1), observers=observers)
    run = lead.resume(journal=opened(), policy=OTHER_POLICY)
    assert (run.outcome, len(lead.events(ev.GateOpened))) == (Outcome.DONE, 1)


def test_waves_begin_only_after_approval(opened: Opener, clock: VirtualClock, others: Colleagues) -> None:
    """In waves too nothing begins before, one approval is for all of them, and waiting is not taken for a failed wave."""
    pair = ScriptedPair(clock, services=("A", "B", "C"), depth=10, rate=100, lag=0.1)
    lead = Lead(pair, opened())
    plan = the_plan(needed=1, services=("A", "B", "C"), waves=ev.Waves(size=1, canary="B"))
    run = lead.start(plan, observers=[When(ev.GateOpened, others.saying({"by": "bob"}))])
    assert (run.outcome, judged(lead, run), len(lead.events(ev.GateOpened))) == (Outcome.DONE, [], 1)


# --- another account of the system ---------------------------------------------------------------------------------


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")
def test_another_account_approves_through_the_shared_journal(postgresql: str, tmp_path: Path) -> None:
    """Two accounts with state directories of their own see the same run through the database that they share, and the
    account that counts is that of the process."""
    bench = Bench(tmp_path, environment={"FAILOVER_JOURNAL": postgresql})
    journal = Journal(postgresql)
    try:
        process = bench.start("controlled", "--vpn", "V", "--yes", "--approve-by", "1")
        line_with(process, "decision needed: the plan needs approval by another person")
        child = os.fork()
        if not child:
            _approve_as_nobody(postgresql)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        process.communicate(timeout=60)
        [row] = journal.runs()
        report = build(journal.records(row.run))
        assert report.approval is not None
        assert (process.returncode, [one.by for one in report.approval.given]) == (0, [pwd.getpwuid(65534).pw_name])
        assert report.approval.requester == pwd.getpwuid(0).pw_name
    finally:
        bench.close()
        journal.close()


def _approve_as_nobody(url: str) -> None:
    """In a child: be another account for good, whatever the environment says, and approve."""
    os.setgid(65534)
    os.setuid(65534)
    os.environ.update({"FAILOVER_JOURNAL": url, "FAILOVER_USER": "root", "USER": "root", "LOGNAME": "root"})
    tools = Tools(Path("/nonexistent"), SystemClock(), SecretStore(None), Registry())
    os._exit(main(["approve", "--yes"], tools))
