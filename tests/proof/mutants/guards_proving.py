"""Guards removed one by one: preconditions, freshness, doubt, attempts, the point of no return, and undos."""

from __future__ import annotations

from orchestrator.core.decide import _in_step, _to_be_proven
from orchestrator.core.decide.act import (
    _is_partly_done,
    _passed,
    _prove,
    _reconfirmed,
    _required,
    _start,
    attempts_left,
    backoff,
)
from orchestrator.core.decide.evaluate import is_current, judge, outdated
from orchestrator.core.decide.foresee import foreseen, unanswered
from orchestrator.core.decide.gates import (
    _failure_gate,
    _may_have_changed,
    _perhaps_past,
    _to_undo,
    after_failure,
    on_abort,
    opened,
    revert,
    stopped,
)
from orchestrator.core.lane import Intent
from orchestrator.core.lane_fold import (
    _action_ended,
    _enter,
    _lane_resumed,
    _observed,
    _prove_doubts_first,
    _step_done,
    _step_retried,
)
from orchestrator.engine.dispatch import _Dated
from orchestrator.engine.engine import Engine
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

_GAUGE = '"gauge": lane.gauge, "low": lane.low'

AGE = (
    Mutant(
        "old-readings-decide",
        "an action is intended on readings of any age",
        (edit(outdated, ("if age <= step.max_age:", "if True:")),),
    ),
    Mutant(
        "old-readings-permit",
        "a command that had to wait leaves on readings of any age",
        (edit(_Dated.check, ("if late > 0:", "if False:")),),
    ),
    Mutant(
        "sleep-not-noticed",
        "a process that slept through its lease decides on what it had read before",
        (edit(Engine._keep_lease, ("return had_run_out", "return False")),),
    ),
    Mutant(
        "proven-once-is-enough",
        "at the point of no return what the waits have proven is not read again",
        (edit(_in_step, ('() if lane.status == "escalating" else step.reconfirm', "()")),),
    ),
    Mutant(
        "unknown-is-proven",
        "at the point of no return what cannot be read counts as proven still",
        (edit(_reconfirmed, ("if not verdict.holds:", "if verdict.holds is False:")),),
    ),
    Mutant(
        "proof-ignored",
        "at the point of no return what does not hold any more is passed over",
        (edit(_reconfirmed, ("if not verdict.holds:", "if False:")),),
    ),
)

FORESIGHT = (
    Mutant(
        "question-not-foreseen",
        "unattended, a lane starts though a question on its way has no answer",
        (edit(unanswered, ("if step.ask is not None and is_open and", "if False and step.ask is not None and")),),
    ),
    Mutant(
        "items-not-foreseen",
        "unattended, activity is given up though transactions that are listed wait for a decision",
        (edit(foreseen, ('return "refuses", (', 'return "asks", (')),),
        "solace",
    ),
    Mutant(
        "left-is-reverted",
        "a lane whose changes have no undo ends as reverted",
        (edit(revert, ("if not lane.undo and lane.left:", "if False:")),),
    ),
)

FRESHNESS = (
    Mutant(
        "mark-ignored",
        "a reading that was asked before the lane moved on is believed",
        (
            edit(
                _observed,
                ("event.mark != lane.mark or lane.ended", "lane.ended"),
                ('"seen_mark": event.mark', '"seen_mark": lane.mark'),
            ),
        ),
    ),
    Mutant(
        "mark-not-raised",
        "a reading of an earlier stage counts for the next one",
        (edit(_enter, ("mark=lane.mark + 1", "mark=lane.mark")),),
    ),
    Mutant(
        "precondition-read-once",
        "another attempt does not read its preconditions again",
        (edit(_start, ("    if stands_on:\n", "    if stands_on and lane.stage is not Stage.PROVE:\n")),),
    ),
    Mutant(
        "unknown-precondition-passes",
        "an action is sent though what it stands on is unknown",
        (edit(_required, ("if verdict.holds is None and not lane.waived:", "if False:")),),
    ),
    Mutant(
        "false-precondition-passes",
        "an action is sent though what it stands on was read as false",
        (edit(_required, ("    if verdict.holds is False:\n", "    if False:\n")),),
    ),
    Mutant(
        "first-check-decides",
        "of several checks only the first is judged",
        (edit(judge, ("for check in checks:", "for check in checks[:1]:")),),
    ),
    Mutant(
        "last-check-decides",
        "of several checks only the last is judged",
        (edit(judge, ("for check in checks:", "for check in checks[-1:]:")),),
    ),
    Mutant(
        "anything-is-fresh",
        "what no round under the present mark has seen is judged",
        (edit(is_current, ("lane.seen_mark == lane.mark", "True")),),
    ),
)

DOUBT = (
    Mutant(
        "held-before-is-proof",
        "a doubtful action counts as obeyed though what it was to do was so before",
        (edit(_prove, ("if may_land and not was_otherwise(plan, lane, task.expect, last):", "if False:")),),
    ),
    Mutant(
        "age-of-the-decision",
        "a doubt is settled by the time that has passed, not by the age of the reading",
        (edit(_prove, ("age = lane.seen_at - lane.stage_at", "age = now - lane.stage_at")),),
    ),
    Mutant(
        "late-effect-forgotten",
        "a doubtful action is believed to have failed though its effect may still come",
        (edit(_prove, ("age < task.limits.settle", "False"), ("age >= task.limits.settle", "True")),),
    ),
    Mutant(
        "partly-is-nothing",
        "an action that half of a site obeyed counts as if it had done nothing",
        (edit(Intent.may_have_obeyed, ("(not self.disproved or self.partly)", "not self.disproved")),),
    ),
    Mutant(
        "partly-not-seen",
        "nobody asks whether half of a site has obeyed",
        (
            edit(
                _is_partly_done,
                ("    if task.before:\n", "    if plan:\n        return False\n    if task.before:\n"),
            ),
        ),
    ),
    Mutant(
        "doubt-is-no",
        "a doubtful action counts as not obeyed",
        (
            edit(
                Intent.may_have_obeyed,
                ("(Effect.REJECTED, Effect.NOT_SENT)", "(Effect.REJECTED, Effect.NOT_SENT, Effect.DOUBTFUL)"),
            ),
        ),
    ),
    Mutant(
        "refusal-awaited",
        "the effect of a refused action is waited for",
        (edit(_prove, ("    if last.effect is Effect.REJECTED:\n        return", "    if False:\n        return")),),
    ),
    Mutant(
        "effect-awaited-for-ever",
        "an accepted action without an effect is waited for without an end",
        (edit(_prove, ("if last.effect is Effect.ACCEPTED and not is_tried_again and age", "if False and age")),),
    ),
    Mutant(
        "accepted-action-repeated",
        "an accepted action is sent again after a retry, although it must not be repeated",
        (edit(_prove, ("last.repeatable and", "last.effect is Effect.ACCEPTED and")),),
    ),
    Mutant(
        "action-before-proof",
        "a step that failed in doubt begins with the action again",
        (edit(_prove_doubts_first, ("in_doubt = lane.intents and", "in_doubt = not lane.intents and")),),
    ),
    Mutant(
        "called-off-before-it-is-known",
        "a lane that is called off turns back before it is known what it did",
        (edit(_to_be_proven, ('if lane.status != "running"', "if lane.status")),),
    ),
)

ATTEMPTS = (
    Mutant(
        "attempts-without-end",
        "an action that never has an effect is tried for ever",
        (edit(attempts_left, ("len(tried) - withheld < task.limits.attempts", "True")),),
    ),
    Mutant(
        "one-attempt-more",
        "an action is tried once more often than the runbook allows",
        (edit(attempts_left, ("withheld < task.limits.attempts", "withheld <= task.limits.attempts")),),
    ),
    Mutant(
        "resume-forgives-attempts",
        "after each resume an action is tried as often as before",
        (
            edit(
                _lane_resumed,
                (
                    "len(lane.intents) if failed or lane.ended else lane.attempts_from",
                    "len(lane.intents)",
                ),
            ),
        ),
    ),
    Mutant(
        "no-pause-between-attempts",
        "a failing action is sent again at once",
        (edit(backoff, ("min(0.2 * 2**attempt, 5.0)", "0.0 * attempt")),),
    ),
)

NO_RETURN = (
    Mutant(
        "point-of-no-return-unmarked",
        "the point of no return is passed without a word",
        (
            edit(_prove, ("if task.limits.point_of_no_return and", "if False and")),
            edit(_passed, ("if task.limits.point_of_no_return and", "if False and")),
        ),
    ),
    Mutant(
        "turned-back-in-doubt",
        "a lane turns back though it may have passed its point of no return",
        (edit(_perhaps_past, ("step.point_of_no_return and any(", "False and any(")),),
    ),
    Mutant(
        "way-back-offered-behind-it",
        "behind the point of no return a question offers the way back",
        (edit(opened, ('_CLOSED.get(lane.status, ("revert", "escalate"))', "()")),),
    ),
    Mutant(
        "failure-reverts-behind-it",
        "a step that fails behind the point of no return offers to turn back",
        (edit(after_failure, ('if lane.status == "running" and not _perhaps_past(plan, lane):', "if plan:")),),
    ),
    Mutant(
        "called-off-behind-it",
        "a lane is called off behind its point of no return",
        (edit(on_abort, ('if lane.status != "running":', 'if lane.status == "reverting":')),),
    ),
    Mutant(
        "waived-though-false",
        "a failed step may be waived whatever was read",
        (
            edit(
                after_failure,
                (
                    'may_waive = lane.status == "escalating" and lane.failure_unknown and not lane.waived',
                    "may_waive = True",
                ),
            ),
            edit(
                _required,
                ("    if verdict.holds is False:\n", "    if verdict.holds is False and not lane.waived:\n"),
            ),
        ),
    ),
)

UNDO = (
    Mutant(
        "undo-unguarded",
        "a change is taken back without its precondition",
        (edit(revert, ("step.undo.require,", "(),")),),
    ),
    Mutant(
        "undo-unproven",
        "a change counts as taken back though its proof was read as false",
        (edit(revert, ("step.undo.expect,", "(),")),),
    ),
    Mutant(
        "doubtful-step-left",
        "a lane that turns back leaves the step whose action is in doubt",
        (edit(_to_undo, ("any(intent.may_have_obeyed and", "any(intent.effect == 'accepted' and")),),
    ),
    Mutant(
        "last-undo-left",
        "a lane that turns back leaves its first change",
        (edit(revert, ("if not lane.undo:", "if len(lane.undo) < 2:")),),
    ),
    Mutant(
        "failed-undo-passed-over",
        "a change that could not be taken back is left, and the lane counts as reverted",
        (
            edit(
                revert,
                ("if lane.stage is Stage.FAILED:", "if False:"),
                ("if step.undo is None:", "if step.undo is None or lane.stage is Stage.FAILED:"),
            ),
        ),
    ),
    Mutant(
        "stuck-is-needs-operator",
        "a lane whose undo failed ends as if it could go on",
        (edit(stopped, ("ev.Outcome.STUCK if lane.status", "ev.Outcome.REVERTED if lane.status")),),
    ),
    Mutant(
        "undo-forgotten-after-a-step",
        "a step that is done owes no undo",
        (edit(_step_done, ("(*lane.undo, event.step) if event.reversible", "lane.undo if event.reversible")),),
    ),
    Mutant(
        "change-forgotten",
        "a lane forgets that an earlier step changed something",
        (
            edit(
                _step_done,
                (
                    "changed=lane.changed or event.reversible or has_changed",
                    "changed=False",
                ),
            ),
        ),
    ),
    Mutant(
        "accepted-is-no-change",
        "a lane is refused though an action was accepted",
        (
            edit(
                _may_have_changed,
                ("lane.changed or any(intent.may_have_obeyed for intent in lane.intents)", "lane.undo != ()"),
            ),
            edit(_action_ended, ("lane.changed or any(", "lane.changed and any(")),
        ),
    ),
    Mutant(
        "failed-undo-unasked",
        "nobody is asked about an undo that failed",
        (edit(_failure_gate, ("UNDO_GATE if lane.status", "FAILURE_GATE if lane.status")),),
    ),
)

RESUME = (
    Mutant(
        "condition-survives-a-resume",
        "whether a step applies is not read again after a resume",
        (
            edit(
                _lane_resumed,
                ("**{**_NEW_ATTEMPT, **kept}", '**{**_NEW_ATTEMPT, **kept, "condition_met": lane.condition_met}'),
            ),
        ),
    ),
    Mutant(
        "hold-survives-a-resume",
        "the time a goal has held goes on while nobody reads it",
        (
            edit(
                _lane_resumed,
                ("**{**_NEW_ATTEMPT, **kept}", '**{**_NEW_ATTEMPT, **kept, "goal_since": lane.goal_since}'),
            ),
        ),
    ),
    Mutant(
        "gauge-survives-a-resume",
        "what was queued before a resume counts as what is at risk",
        (edit(_lane_resumed, ("**{**_NEW_ATTEMPT, **kept}", f"**{{**_NEW_ATTEMPT, **kept, {_GAUGE}}}")),),
    ),
    Mutant(
        "failed-stays-failed",
        "a step that failed is not tried again after a resume",
        (edit(_lane_resumed, ("Stage.REQUIRE if failed else lane.stage", "lane.stage")),),
    ),
    Mutant(
        "condition-survives-a-retry",
        "whether a step applies is not read again before another try",
        (edit(_step_retried, ("**_NEW_ATTEMPT", '**{**_NEW_ATTEMPT, "condition_met": lane.condition_met}')),),
    ),
)
