"""Checks that a runbook is safe to run, without running it. Each rule has one code.

``vocabulary`` checks that the words fit an adapter's declarations. This module checks that every change is proven, that
a change before the point of no return can be rolled back, that every wait ends, and that every gate offers only choices
that are possible there.

A runbook with an error must not be used. A warning asks for a second check. A note states a limit that the runbook cannot
change. This module must never change a runbook, and must not know a vendor's actions by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orchestrator.documents.lint.both_ends import compared
from orchestrator.documents.lint.promises import claimed, foreseen, managed, moved, reconfirmed, unheard
from orchestrator.documents.lint.vocabulary import ALWAYS_LEGAL, lint_words
from orchestrator.documents.source_map import Diagnostic, Lines, Path, findings_of
from orchestrator.family.contract import ActionSpec, Call, ReadingSpec
from orchestrator.model.comparisons import RISK_GATE
from orchestrator.model.findings import Finding, Level
from orchestrator.model.runbook import Choice, Runbook, Side, Step
from orchestrator.suggestions import suggest

# The choices at a wait that does not proceed. Commit and rollback are decisions on an item.
_CHOICES_OF_A_WAIT = ("wait", "revert", "escalate", "retry", "stop")
_CHOICES_OF_A_QUESTION = ("accept", "attest", "waive", "later", "revert", "stop")
# Gates that the program opens itself. A runbook must not reuse these names, because a decision names its gate.
_RESERVED_GATES = ("step-failed", "undo-failed", "left-changed")


def lint(
    runbook: Runbook,
    readings: Mapping[str, ReadingSpec],
    actions: Mapping[str, ActionSpec],
    *,
    side: Side | None = None,
    file: str | None = None,
    lines: Lines | None = None,
) -> list[Finding]:
    """All findings, in the order of the file. ``lines`` comes from the loader's ``Definition``.

    ``side`` is the site whose declarations are given. Another call checks the words on the other side. None: both sides.
    """
    told: list[Diagnostic] = list(lint_words(runbook, readings, actions, side=side))
    point = next((index for index, step in enumerate(runbook.steps) if step.point_of_no_return), None)
    told += _points(runbook)
    told += _gate_names(runbook)
    told += reconfirmed(runbook, readings)
    told += compared(runbook, readings, side)
    told += foreseen(runbook)
    told += managed(runbook, readings, actions)
    if side != "source":
        told += unheard(runbook, readings)
        told += moved(runbook, readings)
    for index, step in enumerate(runbook.steps):
        path: Path = ("steps", index)
        told += _keys_without_effect(step, path)
        told += _change(step, path, actions, is_before=point is None or index < point)
        told += _undo(step, path, actions, is_before=point is None or index < point)
        told += claimed(step, path, actions)
        told += _wait(step, path)
        told += _gates(step, path, is_after=point is not None and index > point)
        told += _decided_in(runbook, index)
    told += _stuck_unattended(runbook)
    return findings_of(told, file=file, lines=lines)


def _points(runbook: Runbook) -> Iterator[Diagnostic]:
    """Two points of no return contradict each other. A runbook that changes both sites needs one."""
    points = [index for index, step in enumerate(runbook.steps) if step.point_of_no_return]
    for index in points[1:]:
        sentence = f"the runbook already has a point of no return, at step {runbook.steps[points[0]].id}"
        yield Diagnostic(("steps", index, "point_of_no_return"), Level.ERROR, "second-point-of-no-return", sentence)
    for index in points[:1]:
        if not runbook.steps[index].changes:
            sentence = f"step {runbook.steps[index].id} is the point of no return, but changes nothing"
            yield Diagnostic(
                ("steps", index, "point_of_no_return"), Level.WARNING, "idle-point-of-no-return", sentence
            )
    end = points[0] if points else len(runbook.steps) - 1
    for index, step in enumerate(runbook.steps[: end + 1]):
        if step.unless_escalated:
            sentence = (
                f"step {step.id} is not after the point of no return, so an escalated run must not skip the step"
            )
            yield Diagnostic(("steps", index, "unless_escalated"), Level.ERROR, "left-out-too-early", sentence)
    sides = {step.do.on for step in runbook.steps if step.do is not None}
    if not points and len(sides) > 1:
        sentence = "the runbook changes both sites, but has no point of no return"
        hint = "add `point_of_no_return: true` to the step that lets the target serve"
        yield Diagnostic((), Level.WARNING, "no-point-of-no-return", sentence, hint)


def _keys_without_effect(step: Step, path: Path) -> Iterator[Diagnostic]:
    """Keys that a step of this shape never uses, so the author meant something else."""
    pointless = {
        "expect": not step.changes or step.for_each is not None,
        "undo": not step.changes,
        "attempts": not step.changes,
        "settle": not step.changes,
        "max_age": not step.changes,
        "leaves": not step.changes or step.undo is not None,
        "guard": not step.until,
        "when_stalled": not step.until,
        "progress": not (step.until or step.reconfirm),
        "poll": not (step.until or step.reconfirm or step.expect),
        "timeout": not (step.until or step.claim == "release"),
        "delay": step.for_each is None,
        "report": step.for_each is not None or bool(step.ask or step.compare or step.foresee),
    }
    of_actions = dict.fromkeys(("expect", "undo", "attempts", "settle", "max_age", "leaves"), "do")
    needs = {**of_actions, "delay": "for_each", "report": "until, and no do without for_each"}
    for key, has_no_effect in pointless.items():
        if has_no_effect and getattr(step, key) != Step.model_fields[key].default:
            reason = f"because the step has no {needs.get(key, 'until')}"
            if key == "expect" and step.for_each is not None:
                reason = "because the step lists its items again instead"
            sentence = f"{key} has no effect in step {step.id}, {reason}"
            yield Diagnostic((*path, key), Level.ERROR, "no-effect", sentence)


def _change(step: Step, path: Path, actions: Mapping[str, ActionSpec], *, is_before: bool) -> Iterator[Diagnostic]:
    """A reading must prove a change, or the change may be sent twice. A change must have an undo if its action has an
    inverse."""
    spec = None if step.do is None else actions.get(step.do.action)
    if spec is None:
        return
    # A step over items lists the items again after each round. An item that is no longer listed is the proof.
    if not spec.idempotent and not step.expect and step.for_each is None:
        sentence = f"step {step.id} has no expect, but its action {spec.name} must not be sent twice"
        yield Diagnostic(
            path, Level.ERROR, "needs-expect", sentence, "add an `expect` with the reading that shows the change"
        )
    if not step.require and not step.only_if and step.for_each is None:
        sentence = f"step {step.id} changes something, but requires no reading right before the change"
        hint = "add a `require` that must hold at that moment, because a run may resume there hours later"
        yield Diagnostic(path, Level.WARNING, "stands-on-nothing", sentence, hint)
    if not is_before or step.undo is not None or step.leaves or _undo_of(step, spec) is not None:
        return
    sentence = f"step {step.id} comes before the point of no return, but has no undo"
    if spec.inverse is not None:
        yield Diagnostic(path, Level.ERROR, "missing-undo", sentence, f"the inverse of its action is {spec.inverse}")
    elif step.for_each is not None:
        sentence = f"step {step.id} comes before the point of no return, but no action undoes {spec.name}"
        yield Diagnostic(path, Level.NOTE, "no-inverse", sentence)
    else:
        hint = "give the step an undo, or write under `leaves` what stays changed after a rollback"
        yield Diagnostic(path, Level.ERROR, "missing-undo", sentence, hint)


def _undo_of(step: Step, spec: ActionSpec) -> Call | None:
    """The undo of this step that the site's options name."""
    return None if step.do is None else spec.undo_of(Call("", step.do.args))


def _undo(step: Step, path: Path, actions: Mapping[str, ActionSpec], *, is_before: bool) -> Iterator[Diagnostic]:
    if step.undo is None or step.do is None:
        return
    place = (*path, "undo")
    if not is_before:
        sentence = f"step {step.id} has an undo, but a run is never rolled back from this step"
        hint = "remove the undo, or move the point of no return"
        yield Diagnostic(place, Level.ERROR, "undo-after-point-of-no-return", sentence, hint)
    spec, undoes = actions.get(step.do.action), actions.get(step.undo.do.action)
    if undoes is not None and not undoes.idempotent and not step.undo.expect:
        sentence = f"the undo of step {step.id} has no expect, but its action {undoes.name} must not be sent twice"
        yield Diagnostic(
            place, Level.ERROR, "needs-expect", sentence, "add an `expect` with the reading that shows the undo"
        )
    if step.undo.do == step.do:
        yield Diagnostic(
            place, Level.ERROR, "undo-repeats-do", f"the undo of step {step.id} repeats the action of the step"
        )
    elif step.undo.do.on != step.do.on:
        sentence = f"the undo of step {step.id} acts on a different site than the step"
        yield Diagnostic(place, Level.WARNING, "undo-elsewhere", sentence)
    elif spec is not None and spec.inverse not in (None, step.undo.do.action):
        sentence = (
            f"the undo of step {step.id} is {step.undo.do.action}, but the inverse of its action is {spec.inverse}"
        )
        yield Diagnostic(place, Level.WARNING, "undo-not-inverse", sentence)


def _wait(step: Step, path: Path) -> Iterator[Diagnostic]:
    if not step.until:
        return
    if step.when_stalled is None and step.timeout is None:
        sentence = f"step {step.id} could wait for ever"
        yield Diagnostic(
            path, Level.ERROR, "waits-for-ever", sentence, "give the step when_stalled (with progress) or a timeout"
        )
    if step.poll.min > step.poll.max:
        yield Diagnostic((*path, "poll"), Level.ERROR, "poll-bounds", "`min` of `poll` must not be longer than `max`")
    if step.when_stalled is not None and step.timeout is not None and step.when_stalled.after >= step.timeout:
        sentence = f"the timeout of step {step.id} ends the wait before `when_stalled` can take effect"
        yield Diagnostic((*path, "timeout"), Level.WARNING, "timeout-before-stall", sentence)
    for index, guard in enumerate(step.guard):
        if any((guard.on, guard.reading, guard.where) == (goal.on, goal.reading, goal.where) for goal in step.until):
            sentence = (
                f"step {step.id} has the same check as guard and goal, so the guard is broken until the wait ends"
            )
            yield Diagnostic((*path, "guard", index), Level.ERROR, "guard-repeats-until", sentence)


class _Gate(NamedTuple):
    name: str
    choices: tuple[Choice, ...]
    unattended: Choice
    path: Path


def _gates_of(step: Step, path: Path) -> Iterator[_Gate]:
    for key in ("when_guard_breaks", "when_stalled", "decide", "ask"):
        gate = getattr(step, key)
        if gate is not None:
            yield _Gate(gate.gate, gate.choices, gate.unattended, (*path, key))


def _gate_names(runbook: Runbook) -> Iterator[Diagnostic]:
    """A decision names its gate, so gates with the same name must have the same choices."""
    seen: dict[str, frozenset[str]] = {}
    for index, step in enumerate(runbook.steps):
        for gate in _gates_of(step, ("steps", index)):
            # An `ask` may use the gate of a comparison, because a family without a comparison has to ask the operator.
            if gate.name in _RESERVED_GATES or (gate.name == RISK_GATE and gate.path[-1] != "ask"):
                sentence = f"the program itself opens gate {gate.name} when something fails"
                yield Diagnostic((*gate.path, "gate"), Level.ERROR, "reserved-gate", sentence, "choose another name")
            choices = frozenset(gate.choices)
            if seen.setdefault(gate.name, choices) != choices:
                sentence = f"gate {gate.name} has different choices at two places of the runbook"
                yield Diagnostic((*gate.path, "gate"), Level.ERROR, "gate-differs", sentence)


def _gates(step: Step, path: Path, *, is_after: bool) -> Iterator[Diagnostic]:
    for gate in _gates_of(step, path):
        # A rollback is for all items of the lane, so it is no choice for one item. An unattended run can roll back.
        legal = (*gate.choices, *ALWAYS_LEGAL, *(("revert",) if gate.path[-1] == "decide" else ()))
        if gate.unattended not in legal:
            sentence = f"gate {gate.name} has `unattended: {gate.unattended}`, which is not one of its choices"
            hint = suggest(gate.unattended, legal, label="choices")
            yield Diagnostic((*gate.path, "unattended"), Level.ERROR, "unattended-not-a-choice", sentence, hint)
        if is_after and "revert" in (*gate.choices, gate.unattended):
            sentence = f"gate {gate.name} offers revert after the point of no return"
            yield Diagnostic((*gate.path, "choices"), Level.ERROR, "revert-after-point-of-no-return", sentence)
        if len(set(gate.choices)) != len(gate.choices):
            yield Diagnostic(
                (*gate.path, "choices"), Level.ERROR, "choice-twice", f"gate {gate.name} offers the same choice twice"
            )
        if gate.path[-1] == "decide":
            continue
        is_wait = gate.path[-1] != "ask"
        fitting = _CHOICES_OF_A_WAIT if is_wait else _CHOICES_OF_A_QUESTION
        for choice in sorted({*gate.choices, gate.unattended} - set(fitting)):
            sentence = f"gate {gate.name} offers {choice}, which is not a valid choice for this kind of gate"
            hint = f"choices of a {'wait' if is_wait else 'question'}: {', '.join(fitting)}"
            yield Diagnostic((*gate.path, "choices"), Level.ERROR, "wrong-choice", sentence, hint)
        if gate.unattended == "retry":
            sentence = f"gate {gate.name} has `unattended: retry`, so an unattended run could retry for ever"
            hint = "use wait, which stops the run after wait_at_most"
            yield Diagnostic((*gate.path, "unattended"), Level.ERROR, "unattended-retry", sentence, hint)


def _stuck_unattended(runbook: Runbook) -> Iterator[Diagnostic]:
    """An unattended rollback cannot finish if a change stays, because a person has to accept that change. Changes to
    items were decided on before."""
    for index, step in enumerate(runbook.steps):
        if not step.leaves or step.leaves_nothing or step.undo is not None or step.for_each is not None:
            continue
        later = (gate for one in runbook.steps[index:] for gate in _gates_of(one, ()) if gate.unattended == "revert")
        gate = next(later, None)
        if gate is not None:
            sentence = f"gate {gate.name} has `unattended: revert`, but the rollback cannot finish: "
            sentence += f"step {step.id} leaves {step.leaves}"
            hint = "give the step an undo, or use `unattended: stop`; write `leaves: nothing` if nothing has to be undone"
            yield Diagnostic(("steps", index, "leaves"), Level.WARNING, "stuck-unattended", sentence, hint)


def _decided_in(runbook: Runbook, index: int) -> Iterator[Diagnostic]:
    step = runbook.steps[index]
    if step.for_each is None or step.for_each.decided_in is None:
        return
    name, reading = step.for_each.decided_in, step.for_each.reading
    earlier = {
        other.id
        for other in runbook.steps[:index]
        if other.decide is not None and other.for_each is not None and other.for_each.reading == reading
    }
    if name not in earlier:
        sentence = f"decided_in names {name}, which is not an earlier step that decides on items of {reading}"
        place = ("steps", index, "for_each", "decided_in")
        yield Diagnostic(
            place, Level.ERROR, "decided-in-unknown", sentence, suggest(name, earlier, label="such steps")
        )
