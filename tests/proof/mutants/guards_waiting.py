"""Guards removed one by one: waits, progress, gates, conditions, items, and what a reading is taken for."""

from __future__ import annotations

from adapters.amps.reading_models import Links, Transports
from adapters.solace.offers.failback import _of_endpoint, unsafe_reasons
from adapters.solace.reading_models import Fence, NodeFence, QueueDepth
from orchestrator.core.decide.evaluate import patience
from orchestrator.core.decide.for_each import _act_on_items, _concerns, _decide_items, _stand, each, listed
from orchestrator.core.decide.gates import answer, apply_ruling
from orchestrator.core.decide.wait import (
    _answer,
    _at_risk,
    _is_over,
    _not_yet,
    _on_stall,
    _reached,
    guard_broken,
    only_if,
    require,
    wait,
)
from orchestrator.core.lane_fold import _gate_decided, _goal_lost, _guard_broke, _moved_at, _observed
from orchestrator.model.reading import _in_bounds
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

DRAIN = (
    Mutant(
        "guard-unknown-passes",
        "a wait ends though its guard is unknown",
        (edit(wait, ("if not guard.holds:", "if guard.holds is False:")),),
    ),
    Mutant(
        "guard-not-read-at-the-end",
        "a wait ends once its goal is reached, whatever its guard",
        (edit(wait, ("if not guard.holds:", "if not guard.holds and not judge(plan, lane, step.until).holds:")),),
    ),
    Mutant(
        "never-not-looked-at",
        "what must never be is not looked at",
        (edit(wait, ("for check in step.never if judge", "for check in () if judge")),),
    ),
    Mutant(
        "hold-ignored",
        "a goal that has to hold for a while is reached at once",
        (edit(_reached, ("if step.hold and lane.goal_since is None:", "if False:")),),
    ),
    Mutant(
        "hold-through-a-break",
        "the time a goal has held goes on though it was lost in between",
        (edit(_goal_lost, ("goal_since=None", "goal_since=lane.goal_since")),),
    ),
    Mutant(
        "hold-through-a-broken-guard",
        "the time a goal has held goes on though the guard broke in between",
        (edit(_guard_broke, ("guard_broke_at=at, goal_since=None", "guard_broke_at=at")),),
    ),
    Mutant(
        "grace-ignored",
        "a guard that breaks for a moment is a question at once",
        (edit(guard_broken, ("<= rule.grace", "< 0")),),
    ),
    Mutant(
        "grace-without-end",
        "a guard that stays broken is never a question",
        (edit(guard_broken, ("lane.seen_at - lane.guard_broke_at <= rule.grace", "True")),),
    ),
    Mutant(
        "stall-not-noticed",
        "a queue that does not move is waited for without an end",
        (edit(_on_stall, ("if lane.seen_at - lane.moved_at <= rule.after:", "if True:")),),
    ),
    Mutant(
        "wavering-is-progress",
        "a depth that only wavers counts as progress",
        (edit(_observed, ("event.gauge < lane.low", "event.gauge != lane.low")),),
    ),
    Mutant(
        "broken-time-counts-as-stalled",
        "time in which the guard was broken counts against the queue",
        (edit(_moved_at, ("at - max(0.0, lane.guard_broke_at - lane.moved_at)", "lane.moved_at")),),
    ),
    Mutant(
        "timeout-ignored",
        "a wait goes on after its time",
        (edit(_is_over, ("step.timeout is not None and", "False and")),),
    ),
    Mutant(
        "wait-at-most-ignored",
        "what was decided in advance is waited for without an end",
        (edit(_answer, ("is_over = since is not None and", "is_over = False and")),),
    ),
    Mutant(
        "unknown-goal-waived",
        "a goal that cannot be read counts as waived",
        (edit(_not_yet, ("if goal.holds is None and lane.waived:", "if goal.holds is None:")),),
    ),
    Mutant(
        "patience-without-end",
        "what is unknown is asked for ever",
        (edit(patience, ("now - known_at(lane) >= step.patience", "False")),),
    ),
    Mutant(
        "patience-stops-nothing",
        "what stays unknown long enough counts as it should be",
        (
            edit(
                require,
                (
                    "if verdict.holds is None and not lane.waived:",
                    "if verdict.holds is None and now - lane.stage_at < 3:",
                ),
            ),
        ),
    ),
    Mutant(
        "nothing-at-risk",
        "an escalation says that nothing is at risk",
        (edit(_at_risk, ("return int(lane.gauge[-1][1])", "return 0")),),
    ),
    Mutant(
        "risk-of-the-beginning",
        "an escalation says what was at risk when the wait began",
        (edit(_at_risk, ("lane.gauge[-1][1]", "lane.gauge[0][1]")),),
    ),
)

CONDITIONS = (
    Mutant(
        "unknown-condition-skips",
        "a step is left out though nobody knows whether it applies",
        (
            edit(
                only_if,
                ("if verdict.holds is None:", "if False:"),
                ("if verdict.holds is False:", "if not verdict.holds:"),
            ),
        ),
    ),
    Mutant(
        "condition-not-read",
        "a step is done though it does not apply",
        (edit(only_if, ("if verdict.holds is False:", "if False:")),),
    ),
    Mutant(
        "check-not-believed",
        "a check that was read as false passes",
        (edit(require, ("if verdict.holds is False:", "if False:")),),
    ),
)

READINGS = (
    Mutant(
        "nearly-drained",
        "a queue that holds one message counts as empty",
        (edit(QueueDepth.drained, ("self.messages == 0", "self.messages <= 1")),),
        "solace",
    ),
    Mutant(
        "unread-is-drained",
        "a depth that was not read counts as empty",
        (edit(QueueDepth.drained, ("None if self.messages is None else self.messages == 0", "not self.messages")),),
        "solace",
    ),
    Mutant(
        "one-node-is-the-site",
        "a site counts as shut as soon as one of its nodes is",
        (edit(Fence.closed, ("for node in self.nodes]", "for node in self.nodes[:1]]")),),
        "solace",
    ),
    Mutant(
        "clients-inside-the-fence",
        "a node counts as shut though clients are on it",
        (edit(NodeFence.closed, ("None if self.clients is None else self.clients == 0", "True")),),
        "solace",
    ),
    Mutant(
        "idle-not-asked",
        "a site counts as idle though services are active there",
        (edit(Fence.idle, ("None if node.active is None else node.active == 0", "True")),),
        "solace",
    ),
    Mutant(
        "one-door-is-all",
        "an instance counts as closed as soon as one of its transports is",
        (edit(Transports.closed, ("in self._for_clients]", "in self._for_clients[:1]]")),),
        "amps",
    ),
    Mutant(
        "calm-for-a-moment",
        "a link counts as caught up at the first sample that says so",
        (edit(Links._lasts, ("CALM_INTERVALS * self.interval_s", "0")),),
        "amps",
    ),
    Mutant(
        "bound-below-only",
        "the upper bound of a check is not looked at",
        (edit(_in_bounds, ("value <= wanted.at_most", "True")),),
    ),
)

ITEMS = (
    Mutant(
        "others-transactions-deleted",
        "completed transactions that nobody decided on are deleted",
        (edit(_concerns, ("each.decided_in is None or", "True or")),),
        "solace",
    ),
    Mutant(
        "item-preconditions-ignored",
        "transactions are completed though their site is active again",
        (edit(each, ("if allowed.holds is False:", "if False:")),),
        "solace",
    ),
    Mutant(
        "item-accepted-and-sent-again",
        "a transaction that is still listed is completed once more",
        (
            edit(
                _stand,
                ("if lane.seen_at < due:", "if False:"),
                (
                    'return None if retried else failed(why=f"{item.key} is still',
                    'return None if last else failed(why=f"{item.key} is still',
                ),
            ),
        ),
        "solace",
    ),
    Mutant(
        "item-refused-and-sent-again",
        "a refused transaction is tried for ever",
        (
            edit(
                _stand,
                (
                    'return None if retried else failed(why=f"the action on {item.key} was refused',
                    'return None if last else failed(why=f"the action on {item.key} was refused',
                ),
            ),
        ),
        "solace",
    ),
    Mutant(
        "unclear-items-passed-over",
        "transactions whose state is not told are passed over",
        (edit(listed, ("if unclear is not None:", "if False:")),),
        "solace",
    ),
    Mutant(
        "some-decisions-are-enough",
        "transactions are completed while others wait for a decision",
        (edit(_decide_items, ("    if not undecided:\n", "    if len(undecided) < len(items):\n")),),
        "solace",
    ),
    Mutant(
        "undecided-left-over",
        "unattended, transactions that nobody decided on are left as they are",
        (edit(_decide_items, ("    if not asks:\n", "    if not asks and plan is None:\n")),),
        "solace",
    ),
    Mutant(
        "items-listed-once",
        "whether a transaction is gone is not read",
        (
            edit(
                _act_on_items,
                (
                    "    if events:\n",
                    "    if not events:\n        return emit(ev.StepDone(step=step.id))\n    if events:\n",
                ),
            ),
        ),
        "solace",
    ),
    Mutant(
        "stop-taken-for-a-ruling",
        "who stops at a transaction has decided on it",
        (edit(_gate_decided, ('if event.item is not None and event.ruling.choice == "stop":', "if False:")),),
        "solace",
    ),
)

GATES = (
    Mutant(
        "answer-not-offered",
        "a question is answered beforehand with what it does not offer",
        (edit(answer, ("if chosen is not None and chosen in gate.choices", "if chosen is not None")),),
    ),
    Mutant(
        "person-not-asked",
        "what holds unattended is decided though a person is there",
        (edit(answer, ("    if attended:\n", "    if False:\n")),),
    ),
    Mutant(
        "wait-is-over-at-once",
        "who decides to wait is asked again at once",
        (
            edit(
                _gate_decided,
                ("broke_at = None if lane.guard_broke_at is None else at", "broke_at = lane.guard_broke_at"),
            ),
        ),
    ),
    Mutant(
        "escalated-without-a-number",
        "an escalation does not say what was at risk",
        (edit(apply_ruling, ("at_risk=gate.at_risk", "at_risk=None")),),
    ),
    Mutant(
        "waive-is-no-end",
        "who waives a failed step has it done",
        (
            edit(
                apply_ruling,
                ('case "waive" if gate.gate == FAILURE_GATE:', 'case "never" if gate.gate == FAILURE_GATE:'),
            ),
        ),
    ),
)

RETURN = (
    Mutant(
        "failback-skew-wrong-way",
        "a message from just before the fail-over counts as from after it",
        (edit(_of_endpoint, ("outage.at + outage.skew", "outage.at - outage.skew")),),
        "solace",
    ),
    Mutant(
        "failback-more-is-equal",
        "more messages at the other site count as equally many",
        (edit(_of_endpoint, ("other.messages == item.messages", "other.messages >= item.messages")),),
        "solace",
    ),
    Mutant(
        "failback-unknown-depth",
        "an endpoint whose depth is unknown counts as safe",
        (
            edit(
                _of_endpoint,
                ("if item.messages is None:", "if item.messages is None and name is None:"),
                ("if item.messages == 0:", "if not item.messages:"),
            ),
        ),
        "solace",
    ),
    Mutant(
        "failback-suspended-unknown",
        "that nobody knows of a suspension counts as none",
        (edit(unsafe_reasons, ("outage.suspended is None", "outage is None")),),
        "solace",
    ),
    Mutant(
        "failback-suspended",
        "a suspension since the fail-over is no risk",
        (
            edit(
                unsafe_reasons,
                ("outage is not None and outage.suspended:", "outage is not None and outage.suspended == 2:"),
            ),
        ),
        "solace",
    ),
    Mutant(
        "failback-spool-lost",
        "a site that lost its spool is whole",
        (edit(unsafe_reasons, ("outage.spool_lost", "outage is None")),),
        "solace",
    ),
    Mutant(
        "failback-other-not-looked-at",
        "an endpoint that only one site has counts as equal",
        (
            edit(
                _of_endpoint,
                (
                    "if other is not None and other.messages == item.messages:",
                    "if other is None or other.messages == item.messages:",
                ),
            ),
        ),
        "solace",
    ),
)
