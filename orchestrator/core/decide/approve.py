"""Approvals by people: of the plan before anything starts, of an open question, of a risk that was found. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.core.approvals import APPROVAL_GATE, Approvals
from orchestrator.core.decide.decision import Next, Observe, emit
from orchestrator.core.decide.evaluate import is_current, judge_one, observe, patience, poll_again
from orchestrator.core.decide.gates import answer, opened
from orchestrator.core.run import Lane
from orchestrator.counting import counted
from orchestrator.family.contract import NOT_OFFERED
from orchestrator.model import events as ev
from orchestrator.model.comparisons import compared_by, comparison
from orchestrator.model.reading import Reading, describe
from orchestrator.model.requests import ApprovalRequest
from orchestrator.model.runbook import Answer, Approval, Check, Step, format_duration

# How many reasons a question names. The record of the readings has all of them.
_REASONS_SHOWN = 5
# Answers that give up a guarantee, or that cannot be undone.
GRAVE: frozenset[Answer] = frozenset({"escalate", "commit", "rollback", "waive", "attest", "accept"})
# How far the clocks of bastions may differ, seconds. A vote that was signed long before the question belongs to another
# question.
_SKEW = 120


def approve(plan: ev.Plan, lane: Lane, step: Step, ask: Approval, attended: bool) -> Next:
    """Ask the question of the step, once, and wait for the answer."""
    gate = lane.open_gate(ask.gate)
    if gate is not None:
        return answer(plan, lane, gate, attended)
    if step.only_if and not is_current(lane):
        return Next(requests=(observe(lane, step.only_if),))
    return emit(opened(lane, ask, step.id, why=" ".join([ask.text, *_shown(plan, lane, step)])))


def _shown(plan: ev.Plan, lane: Lane, step: Step) -> Iterator[str]:
    """The values, as numbers or names, of the readings under which the question is asked."""
    for check in step.only_if:
        seen = lane.reading(check.on, check.reading)
        value = None if seen is None else seen.value
        if value is None:
            continue
        names = [name for name in type(value).model_fields if type(getattr(value, name)) is int]
        said = describe(value, names) if names else value.remark(list(check.where))
        if said:
            yield f"{plan.site_name(check.on)}: {said}."


def compare(plan: ev.Plan, lane: Lane, step: Step, now: float, attended: bool) -> Next:
    """Read both sites in one round and judge them by the rule of the step. If no adapter of a site offers a reading that
    the rule needs, people answer instead."""
    assert step.compare is not None  # the caller checks
    rule = comparison(step.compare)
    gate = lane.open_gate(rule.gate)
    if gate is not None:
        return answer(plan, lane, gate, attended)
    request = Observe(lane.service, lane.mark, compared_by(step.compare))
    if not is_current(lane):
        return Next(requests=(request,))
    values: list[Reading] = []
    unread: list[str] = []
    for side, reading in request.asks:
        seen = lane.reading(side, reading)
        if seen is not None and seen.value is not None:
            values.append(seen.value)
        elif seen is not None and seen.failure is not None and seen.failure.kind == NOT_OFFERED:
            # A further reading cannot succeed, so people are asked.
            unread.append(f"{plan.site_name(side)}: {seen.failure.text}")
        else:
            # The check only serves to name the missing reading.
            missing = Check(on=side, reading=reading, where={"items": ""})
            return patience(lane, step, judge_one(plan, lane, missing), request, now, undo=False)
    is_refuted = not unread and rule.is_refuted(values[0], values[1], plan.outage)
    reasons = unread or rule.reasons(values[0], values[1], plan.outage)
    if not reasons:
        return emit(ev.StepDone(step=step.id, note=f"{counted(_size(values[1]), rule.noun)}, {rule.good}"))
    if rule.settles and now - lane.stage_at < step.patience:
        return poll_again(lane, request, now, step.poll.max)
    option = f" (in advance: {rule.option})" if rule.option else ""
    more = f", and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    return emit(
        ev.GateOpened(
            gate=rule.gate,
            step=step.id,
            choices=tuple(choice for choice in rule.choices if choice != "attest" or not is_refuted),
            unattended="stop",
            why=f"{rule.why}: " + "; ".join(reasons[:_REASONS_SHOWN]) + more + option,
        )
    )


def _size(value: Reading) -> int:
    return len(getattr(value, "items", None) or ())


def request_approval(plan: ev.Plan, approvals: Approvals, now: float) -> tuple[ev.Event, ...]:
    """The run's own next events about the approval of its plan. Empty while people decide, and after the decision.

    A decision remains valid: it is recorded in one commit with the start of the first lanes. After that, other decisions
    in advance belong to the same run and do not make another plan.
    """
    rule, sought = plan.approval, approvals.sought
    if rule is None or approvals.decided is not None:
        return ()
    if sought is None:
        return (_question(plan, rule, now),)
    if sought.plan != asked_about(plan, sought).digest:
        return (_withdrawn(),)
    if len(approvals.given) >= sought.needed:
        names = ", ".join(one.by for one in approvals.given)
        return (_decided("approve", f"{len(approvals.given)} of {sought.needed} agreed", ev.Who(names)),)
    if now >= sought.expires_at:
        return (_decided("deny", f"{len(approvals.given)} of {sought.needed} agreed in time", ev.Who("policy")),)
    return ()


def asked_about(plan: ev.Plan, sought: ev.ApprovalSought) -> ev.Plan:
    """The plan that people are asked about: the plan of the run, or the same plan with other decisions in advance."""
    return plan if sought.policy is None else plan.model_copy(update={"policy": sought.policy})


def propose(plan: ev.Plan, rule: ev.ApprovalRule, policy: ev.Policy, now: float) -> ev.GateOpened:
    """Ask people about other decisions for a run that they approved. Until they agree, the earlier decisions apply."""
    return _question(plan, rule, now, policy)


def record_vote(
    plan: ev.Plan, approvals: Approvals, request: ApprovalRequest, now: float, *, signer: str = ""
) -> tuple[ev.Event, ...]:
    """The events that follow from a person's vote on the plan; empty if no question is open. ``signer``: the approver
    whose signature over the vote was verified, or empty."""
    sought, choice = approvals.sought, request.choice
    who, host, reason = request.who, request.host, request.reason
    rule = plan.approval
    if rule is None or sought is None:
        return ()
    if rule.signed and choice in ("approve", "deny"):
        why = _unsigned(rule, sought, request, now, signer)
        if why:
            return (ev.ApprovalRefused(host=host, why=why, **who._asdict()),)
    signed = request.signed if rule.signed and signer == who.by else None
    if choice == "deny":
        return (_decided("deny", reason, who, signed),)
    why = "the answer came too late" if now >= sought.expires_at else _objection(rule, approvals, sought, request)
    if why:
        return (ev.ApprovalRefused(host=host, why=why, **who._asdict()),)
    if choice == "break-glass":
        return (_decided("break-glass", reason, who, signed),)
    return (ev.ApprovalGiven(host=host, plan=sought.plan, reason=reason, signed=signed, **who._asdict()),)


def _unsigned(
    rule: ev.ApprovalRule, sought: ev.ApprovalSought, request: ApprovalRequest, now: float, signer: str
) -> str:
    """Why the signature of a vote that must be signed does not count, or empty."""
    signed = request.signed
    if signed is None:
        return "the answer is not signed, but this plan accepts only answers that an approver has signed"
    if signer != request.by:
        whose = f"{signer} signed it" if signer else "no approver has a key that fits the signature"
        return f"the answer names {request.by}, but {whose}"
    if not sought.expires_at - rule.within - _SKEW <= signed.at <= now + _SKEW:
        return "the signature is older than the question, or its time is in the future; check the clock of the signer"
    return ""


def alone(plan: ev.Plan, approvals: Approvals, choice: str, signer: str) -> str:
    """Why one person may not give the answer ``choice`` to a question of an approved run. Empty: one person may.
    ``signer``: the approver who signed the answer, or empty."""
    rule = plan.approval
    if rule is None or not rule.signed or choice not in GRAVE or approvals.is_glass_broken:
        return ""
    if not signer:
        return (
            f"{choice} was not approved with the plan, so an approver other than the leader of the run must sign it"
        )
    stake = approvals.stake_of(rule.requester, signer)
    return f"{signer} {stake}; {choice} needs another approver" if stake else ""


def why_denied(approvals: Approvals) -> str:
    """The reason with which every lane of a denied plan ends."""
    assert approvals.decided is not None  # a denial is a decision
    ruling = approvals.decided.ruling
    if ruling.by == "policy":
        return f"the plan was not approved: {ruling.reason}"
    return f"the plan was denied by {ruling.by}" + (f": {ruling.reason}" if ruling.reason else "")


def _objection(
    rule: ev.ApprovalRule, approvals: Approvals, sought: ev.ApprovalSought, request: ApprovalRequest
) -> str:
    """Why this vote does not count, or empty."""
    by = request.by
    if request.plan != sought.plan:
        return "the answer is for another plan, not for the plan of the open question"
    if request.choice == "break-glass" and not rule.break_glass:
        return "the inventory does not allow --break-glass"
    if request.choice == "break-glass":
        return "" if request.reason.strip() else "--break-glass needs a reason"
    if request.choice != "approve":
        return f"{request.choice} is not a valid answer to an approval question"
    stake = approvals.stake_of(rule.requester, by)
    if stake:
        return f"{by} {stake}; another person must approve the plan"
    if by in (one.by for one in approvals.given):
        return f"{by} has already approved the plan"
    return ""


def _question(plan: ev.Plan, rule: ev.ApprovalRule, now: float, policy: ev.Policy | None = None) -> ev.GateOpened:
    people = "approval by another person" if rule.needed == 1 else f"approvals by {rule.needed} other persons"
    what = "the plan needs" if policy is None else "the changed decisions need"
    sought = ev.ApprovalSought(needed=rule.needed, plan="", expires_at=now + rule.within, policy=policy)
    return ev.GateOpened(
        gate=APPROVAL_GATE,
        step="",
        choices=("approve", "deny", *(("break-glass",) if rule.break_glass else ())),
        unattended="deny",
        why=f"{what} {people} within {format_duration(rule.within)}",
        approval=sought.model_copy(update={"plan": asked_about(plan, sought).digest}),
    )


def _withdrawn() -> ev.GateWithdrawn:
    return ev.GateWithdrawn(gate=APPROVAL_GATE, why="the plan was changed, so earlier approvals are void")


def _decided(choice: Answer, reason: str, who: ev.Who, signed: ev.Signed | None = None) -> ev.GateDecided:
    ruling = ev.Ruling(choice=choice, reason=reason, signed=signed, **who._asdict())
    return ev.GateDecided(gate=APPROVAL_GATE, step="", ruling=ruling)
