"""A runbook's steps in words, for people who read the procedure before they trust it."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.model.reading import in_words
from orchestrator.model.runbook import Check, Do, GuardBreak, Stall, Step, format_duration


def step_lines(step: Step) -> Iterator[str]:
    """All parts of a step in words, in order of importance."""
    yield from _checks("only if", step.only_if)
    if step.unless_escalated:
        yield "only if  the run was not escalated"
    yield from _checks("require", step.require)
    yield from _checks("confirm", step.reconfirm)
    if step.claim is not None:
        yield f"claim    {step.claim} what belongs to the whole site"
    if step.foresee is not None:
        yield f"list     what step {step.foresee} will decide"
    if step.for_each is not None:
        each = step.for_each
        after = "" if each.decided_in is None else f", decided in {each.decided_in}"
        yield f"for each {each.on} {each.reading}: {in_words(each.where)}{after}"
    if step.delay:
        yield f"after    {format_duration(step.delay)}: what is still listed"
    if step.decide is not None:
        yield f"decide   {' / '.join(step.decide.choices)}; unattended: {step.decide.unattended}"
    if step.ask is not None:
        asked = step.ask.text.removesuffix(".")
        yield f"ask      {asked}: {' / '.join(step.ask.choices)}; unattended: {step.ask.unattended}"
    if step.compare is not None:
        yield f"compare  both sites: {step.compare}"
    if step.do is not None:
        yield f"do       {_action(step.do)}"
    yield from _checks("expect", step.expect)
    yield from _wait_lines(step)
    if step.undo is not None:
        yield f"undo     {_action(step.undo.do)}"
        yield from (f"  {line}" for line in _checks("require", step.undo.require))
        yield from (f"  {line}" for line in _checks("expect", step.undo.expect))
    yield from (f"report   {look.on} {look.reading}" for look in step.report)
    if step.leaves:
        yield f"leaves   {step.leaves}"


def _wait_lines(step: Step) -> Iterator[str]:
    yield from _checks("until", step.until)
    if step.hold:
        yield f"hold     for {format_duration(step.hold)}"
    yield from _checks("never", step.never)
    yield from _checks("guard", step.guard)
    if step.when_guard_breaks is not None:
        yield _gate("the guard breaks", step.when_guard_breaks.grace, step.when_guard_breaks)
    if step.when_stalled is not None:
        yield _gate("nothing moves", step.when_stalled.after, step.when_stalled)
    if step.timeout is not None:
        yield f"at most  {format_duration(step.timeout)}"


def _gate(what: str, after: float, rule: GuardBreak | Stall) -> str:
    choices = f"{' / '.join(rule.choices)}; unattended: {rule.unattended}"
    may_wait = "wait" in (*rule.choices, rule.unattended)
    bound = f" (wait, decided in advance: for {format_duration(rule.wait_at_most)} at most)" if may_wait else ""
    return f"if {what} for {format_duration(after)}: {choices}{bound}"


def _checks(word: str, checks: tuple[Check, ...]) -> Iterator[str]:
    for check in checks:
        yield f"{word:<8} {check.on} {check.reading}: {in_words(check.where)}"


def _action(do: Do) -> str:
    return f"{do.on}: {do.action} {' '.join(f'{name}={value}' for name, value in do.args.items())}".rstrip()
