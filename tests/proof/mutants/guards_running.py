"""Guards removed one by one: fleet, journal, inbox, keys, approvals, waves, and the loop around them."""

from __future__ import annotations

from typing import Any

import orchestrator.family.reachability
import orchestrator.journal.idempotency_keys
import orchestrator.journal.lease
from orchestrator.core.approvals import Approvals, fold_approvals
from orchestrator.core.decide import decide
from orchestrator.core.decide.approve import _objection, compare, request_approval
from orchestrator.core.decide.approve import approve as ask_people
from orchestrator.core.drain_estimate import number_left
from orchestrator.core.rollout import _in_waves, called_off, to_begin
from orchestrator.engine.dispatch import SiteWorker, _of_this
from orchestrator.engine.engine import Engine
from orchestrator.engine.signed_words import Hearing
from orchestrator.journal.journal import Journal
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

FLEET = (
    Mutant(
        "answer-of-another-lane",
        "a lane is given what was read of another one",
        (edit(SiteWorker.observe, ("found = answers[one.request.service]", "found = answers[services[0]]")),),
    ),
    Mutant(
        "asked-when-answered",
        "a reading is dated when it was answered, not when it was asked",
        (
            edit(
                SiteWorker.observe,
                ("asked_at = self.clock.now()\n", "\n"),
                (
                    "answers = probe(self.adapter, reading, services)",
                    "answers = probe(self.adapter, reading, services)\n        asked_at = self.clock.now()",
                ),
            ),
        ),
    ),
    Mutant(
        "result-of-another-lane",
        "a lane believes what was done to another one",
        (edit(_of_this, ("if result.call == call:", "if result:")),),
    ),
    Mutant(
        "silence-is-obedience",
        "an action of which the adapter said nothing counts as accepted",
        (
            edit(
                SiteWorker.apply,
                ('Effect.DOUBTFUL, detail="the adapter gave no', 'Effect.ACCEPTED, detail="the adapter gave no'),
            ),
        ),
    ),
    Mutant(
        "silence-is-not-sent",
        "an action of which the adapter said nothing counts as not sent",
        (
            edit(
                SiteWorker.apply,
                ('Effect.DOUBTFUL, detail="the adapter gave no', 'Effect.NOT_SENT, detail="the adapter gave no'),
            ),
        ),
    ),
    Mutant(
        "broken-session-is-not-sent",
        "actions of a session that broke count as not sent",
        (
            edit(
                SiteWorker.apply,
                ("if isinstance(error, NotObeyed) else Effect.DOUBTFUL", "if error else Effect.DOUBTFUL"),
            ),
        ),
    ),
    Mutant(
        "gauge-of-the-other-side",
        "the number that a wait follows is of another reading",
        (
            edit(
                number_left,
                (
                    "found.get((follows.on, follows.reading))",
                    "next((one for one in found.values() if hasattr(one.value, follows.field)), None)",
                ),
            ),
        ),
    ),
    Mutant(
        "refused-login-is-silence",
        "a site that refuses the account counts as gone",
        ((orchestrator.family.reachability, "_SILENCE", lambda silence: silence | {"AuthenticationFailed"}),),
    ),
    Mutant(
        "any-failure-is-silence",
        "a site that answers what nobody can read counts as gone",
        (
            (
                orchestrator.family.reachability,
                "_SILENCE",
                lambda silence: silence | {"UnreadableReply", "NotServing", "CommandRejected"},
            ),
        ),
    ),
)

JOURNAL = (
    Mutant(
        "missing-end-unnoticed",
        "a record that is cut off at its end is read as whole",
        (edit(Journal.links, ("        if seq < head.seq:\n", "        if False:\n")),),
    ),
    Mutant(
        "foreign-head-unnoticed",
        "a last record that is not the one that was written is read as whole",
        (edit(Journal.links, ("if seq == head.seq and link.hash != head.head:", "if False:")),),
    ),
    Mutant(
        "added-records-unnoticed",
        "records that were added behind the end are read",
        (edit(Journal.links, ("        if seq > known:\n", "        if False:\n")),),
    ),
    Mutant(
        "journal-unscrubbed",
        "a secret is recorded",
        (
            edit(
                Journal._chain,
                (
                    "self._scrub(event.model_dump_json(exclude_defaults=False))",
                    "event.model_dump_json(exclude_defaults=False)",
                ),
            ),
        ),
    ),
    Mutant(
        "inbox-unscrubbed",
        "a secret stands in the inbox",
        (
            edit(
                Journal.ask,
                ("self._scrub(request.as_json())", "request.as_json()"),
            ),
        ),
    ),
    Mutant(
        "key-not-used-up",
        "who asks twice with one key begins two runs",
        (
            edit(
                orchestrator.journal.idempotency_keys.use_up,
                ("if first is None:", "if first is None or commit:"),
                ("commit.run(sql.ADD_KEY", "first or commit.run(sql.ADD_KEY"),
            ),
        ),
    ),
    Mutant(
        "clock-runs-backwards",
        "a machine whose clock is behind writes into the past",
        (edit(Engine._draft, ("self._clock.now() + self._ahead", "self._clock.now()")),),
    ),
    Mutant(
        "readings-undated",
        "readings of a machine whose clock is behind are dated by it",
        (edit(Engine._dated, ("if not self._ahead:", "if True:")),),
    ),
)

INBOX = (
    Mutant(
        "request-taken-again-and-again",
        "what was asked once is heard each time",
        (edit(Engine._read_inbox, ("draft.taken.append(number)", "pass")),),
    ),
    Mutant(
        "late-request-surprises",
        "what was asked after the end takes effect at the next beginning",
        (edit(Engine._opening, ('if self.run_state.status == "finished":', "if False:")),),
    ),
    Mutant(
        "request-to-one-lane-only",
        "a run that is called off stops in one lane",
        (
            edit(
                Engine._concerned,
                ("for service in self.run_state.lanes if", "for service in list(self.run_state.lanes)[:1] if"),
            ),
        ),
    ),
    Mutant(
        "inbox-answers-anything",
        "an answer from elsewhere need not be among what was offered",
        (edit(Hearing.requested, ("if gate is None or request.choice not in gate.choices:", "if gate is None:")),),
    ),
    Mutant(
        "inbox-forgets-who",
        "an answer from elsewhere is recorded as the policy's",
        (edit(Hearing.requested, ("**request.who._asdict()}", '**request.who._asdict(), "by": "policy"}')),),
    ),
    Mutant(
        "late-answer-taken",
        "an answer to an earlier question is taken for the present one",
        (edit(Engine._take_answer, ("if gate != answer.gate or lane.ended:", "if gate is None or lane.ended:")),),
    ),
    Mutant(
        "any-answer-taken",
        "a person at the terminal may answer what was not offered",
        (
            edit(
                Engine._take_answer,
                ("answer.ruling is None or answer.ruling.choice not in answer.gate.choices", "answer.ruling is None"),
            ),
        ),
    ),
    Mutant(
        "calling-off-forgotten",
        "a run that is called off goes on",
        (edit(decide, ("if lane.abort is not None and not _to_be_proven(plan, lane):", "if False:")),),
    ),
    Mutant(
        "resumed-as-if-never-away",
        "a run that is resumed believes what was read before",
        (
            edit(
                Engine._opening,
                ('if lane.status != "ready" and not lane.settled:', "if lane.ended and not lane.settled:"),
            ),
        ),
    ),
    Mutant(
        "policy-changed-silently",
        "decisions made for the rest of a run are not recorded",
        (edit(Hearing._change, ("draft.add_own(ev.PolicyChanged(", "str(ev.PolicyChanged(")),),
    ),
    Mutant(
        "stopped-in-the-middle",
        "a run that is interrupted does not await what it sent",
        (edit(Engine._stop_safely, ("while self._acting:", "while False:")),),
    ),
    Mutant(
        "fail-fast-ignored",
        "a lane that failed calls off nobody",
        (edit(Engine._fail_fast, ("if failed is None or", "if True or")),),
    ),
)

APPROVALS = (
    Mutant(
        "approval-not-awaited",
        "a lane begins before its plan is approved",
        (edit(Hearing.holds, ("draft.approvals.is_granted", "True")),),
    ),
    Mutant(
        "one-approval-is-enough",
        "fewer people than are needed approve a plan",
        (edit(request_approval, ("len(approvals.given) >= sought.needed", "approvals.given")),),
    ),
    Mutant(
        "requester-approves",
        "who asked for a run approves it",
        (edit(Approvals.stake_of, ("if account == requester:", "if False:")),),
    ),
    Mutant(
        "changer-approves",
        "who changed the decisions of a run approves it",
        (edit(Approvals.stake_of, ("if account in self.changers:", "if False:")),),
    ),
    Mutant(
        "one-person-approves-twice",
        "one person counts as two",
        (
            edit(_objection, ("if by in (one.by for one in approvals.given):", "if False:")),
            edit(fold_approvals, ("or event.by in (one.by for one in approvals.given)", "")),
        ),
    ),
    Mutant(
        "other-plan-approved",
        "an approval of another plan counts",
        (edit(_objection, ("if request.plan != sought.plan:", "if False:")),),
    ),
    Mutant(
        "approval-never-expires",
        "people may approve for ever",
        (edit(request_approval, ("if now >= sought.expires_at:", "if False:")),),
    ),
    Mutant(
        "denial-ignored",
        "a plan that was denied is carried out",
        (edit(Engine._seek_approval, ("if draft.approvals.is_denied:", "if False:")),),
    ),
    Mutant(
        "glass-broken-without-leave",
        "the glass is broken where the inventory forbids it",
        (edit(_objection, ('if request.choice == "break-glass" and not rule.break_glass:', "if False:")),),
    ),
    Mutant(
        "changed-plan-stays-approved",
        "a plan that was changed is still asked about as it was",
        (edit(request_approval, ("if sought.plan != asked_about(plan, sought).digest:", "if False:")),),
    ),
)

WAVES = (
    Mutant(
        "waves-all-at-once",
        "every lane begins with the first wave",
        (edit(Engine._must_wait, ("return self.run_state.plan.waves is not None and", "return False and")),),
    ),
    Mutant(
        "waves-go-on-after-failures",
        "a wave begins though too many lanes have failed",
        (edit(to_begin, ("if called_off(waves, lanes, forgiven=forgiven):", "if False:")),),
    ),
    Mutant(
        "one-failure-more",
        "one lane more may fail than was said",
        (edit(called_off, ("len(failed) >= waves.max_failed", "len(failed) > waves.max_failed")),),
    ),
    Mutant(
        "canary-failed-unnoticed",
        "a canary that failed stops nobody",
        (edit(called_off, ("or waves.canary in failed", "")),),
    ),
    Mutant(
        "canary-not-first",
        "the canary has no turn of its own",
        (edit(_in_waves, ("if waves.canary is not None and waves.canary in lanes else cut", "if False else cut")),),
    ),
    Mutant(
        "wave-not-awaited",
        "a wave begins before the one before it has ended",
        (
            edit(
                to_begin,
                (
                    "if not all(lanes[service].ended for service in wave):",
                    'if any(lanes[service].status == "ready" for service in wave):',
                ),
            ),
        ),
    ),
    Mutant(
        "refused-is-no-failure",
        "a lane that was refused does not count as failed",
        (
            edit(
                called_off,
                ("lane.outcome is not Outcome.DONE", "lane.outcome not in (Outcome.DONE, Outcome.REFUSED)"),
            ),
        ),
    ),
)


def _unasked(gate: str) -> Any:
    return edit(
        ask_people,
        (
            "    if gate is not None:\n",
            f"    if ask.gate == {gate!r}:\n        return emit(ev.StepDone(step=step.id))\n    if gate is not None:\n",
        ),
    )


ASKING = (
    Mutant(
        "risk-of-return-unasked",
        "a return that is not shown to be safe is not asked about",
        (edit(compare, ("if not reasons:", "if True:")),),
        "solace",
    ),
    Mutant(
        "leaving-behind-unasked",
        "what is left at the failed site is not asked about",
        (_unasked("leave-behind"),),
        "solace",
    ),
    Mutant("fence-unasked", "nobody answers for a fence that cannot be seen", (_unasked("unfenced"),), "solace"),
)
