"""Checks that a runbook keeps the promises of the program: claims on whole sites, repeated readings, early questions.

Each rule is one promise of docs/explanation/reliability.md, and names the steps that would break the promise. This
module knows no adapter and no vendor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from orchestrator.documents.lint.both_ends import Meanings, meanings_of
from orchestrator.documents.source_map import Diagnostic, Path
from orchestrator.family.contract import ActionSpec, ReadingSpec
from orchestrator.family.reachability import model_of
from orchestrator.model.facets import Facet
from orchestrator.model.findings import Level
from orchestrator.model.other_manager import OTHER_MANAGER
from orchestrator.model.reading import Bounds, WhereValue, in_words
from orchestrator.model.runbook import Check, Do, Runbook, Step
from orchestrator.suggestions import suggest

# The names of runbooks that move a service start with these words.
_MOVES = ("controlled", "failback", "uncontrolled")


def claimed(step: Step, path: Path, actions: Mapping[str, ActionSpec]) -> Iterator[Diagnostic]:
    """A step that shuts something of the whole site must hold a claim. A step that opens it again must release one."""
    if step.do is not None and _is_of_site(step.do, actions):
        wanted = "hold" if _shuts(step.do, actions) else "release"
        if step.claim != wanted:
            sentence = f"{step.do.action} changes the whole site for every service, but step {step.id} "
            sentence += "has no claim" if step.claim is None else f"has `claim: {step.claim}`"
            yield Diagnostic(
                (*path, "do"), Level.ERROR, "unclaimed-site", sentence, f"add `claim: {wanted}` to the step"
            )
        if step.claim == "release" and step.timeout is None:
            sentence = f"step {step.id} waits until no other service holds a claim, so the step could wait for ever"
            yield Diagnostic(path, Level.ERROR, "waits-for-ever", sentence, "give the step a timeout")
    if step.undo is not None and _is_of_site(step.undo.do, actions):
        is_release = step.claim == "hold" and not _shuts(step.undo.do, actions)
        if not is_release or step.do is None or step.do.action != step.undo.do.action:
            sentence = f"the undo of step {step.id} changes the whole site for every service, but releases no claim"
            hint = "only the undo of a step with `claim: hold` may change the whole site, to open what the step shut"
            yield Diagnostic((*path, "undo"), Level.ERROR, "unclaimed-site", sentence, hint)


def _is_of_site(do: Do, actions: Mapping[str, ActionSpec]) -> bool:
    spec = actions.get(do.action)
    return spec is not None and spec.shuts is not None


def _shuts(do: Do, actions: Mapping[str, ActionSpec]) -> bool:
    shut = actions[do.action].shuts or {}
    return all(do.args.get(name) == value for name, value in shut.items())


def reconfirmed(runbook: Runbook, readings: Mapping[str, ReadingSpec]) -> Iterator[Diagnostic]:
    """The checks that guarded waits have proven since the first change must be read again in the round of the point of no
    return."""
    point = next((index for index, step in enumerate(runbook.steps) if step.point_of_no_return), None)
    if point is None or not runbook.steps[point].changes:
        return
    last = runbook.steps[point]
    read = (*last.require, *last.reconfirm)
    first = next(index for index, step in enumerate(runbook.steps) if step.changes)
    meanings = meanings_of(readings)
    for step in runbook.steps[first:point]:
        for check in (*step.until, *step.guard) if step.guard else ():
            if not any(_includes(one, check) for one in read) and not _is_shown_anew(step, check, read, meanings):
                sentence = (
                    f"step {last.id} is the point of no return, but does not read again what step {step.id} proved: "
                    f"{check.on} {check.reading}: {in_words(check.where)}"
                )
                hint = "add the check to `reconfirm` of that step, because time may pass between the two steps"
                yield Diagnostic(("steps", point), Level.ERROR, "not-reconfirmed", sentence, hint)


def _includes(one: Check, other: Check) -> bool:
    """Does a true check ``one`` show that the check ``other`` is true too?"""
    return (one.on, one.reading) == (other.on, other.reading) and other.where.items() <= one.where.items()


def _is_shown_anew(step: Step, check: Check, read: Sequence[Check], meanings: Meanings) -> bool:
    """Does a source that was stopped later show the same? If a separate reading gives its last number then, this number
    is final. A target that has reached this number no longer needs a link to the source."""
    ends = {(other.on, other.reading) for one in step.until for other in one.elsewhere}
    later = any(
        meanings.get((other.reading, other.field)) is Facet.MARK and (other.on, other.reading) not in ends
        for one in read
        for other in one.elsewhere
    )
    said = {
        (one.on, meanings.get((one.reading, name)), value)
        for one in read
        for name, value in one.where.items()
        if not isinstance(value, Bounds)
    }
    return later and all(
        meanings.get((check.reading, name)) in (Facet.LINK, Facet.REACHED)
        or (check.on, meanings.get((check.reading, name)), value) in said
        for name, value in check.where.items()
    )


def unheard(runbook: Runbook, readings: Mapping[str, ReadingSpec]) -> Iterator[Diagnostic]:
    """If no reading shows that the source is closed or fenced, it is lost only if the target no longer hears from it. So
    the runbook reads the link before an operator attests the fence. It reads the link again at the point of no return,
    because the answer may take long."""
    meanings = meanings_of(readings)
    point = next((index for index, step in enumerate(runbook.steps) if step.point_of_no_return), None)

    def tells(checks: Sequence[Check], side: str, facet: Facet, value: bool) -> bool:
        return any(
            one.on == side and meanings.get((one.reading, name)) is facet and wanted is value
            for one in checks
            for name, wanted in one.where.items()
        )

    if point is None or Facet.LINK not in meanings.values():
        return
    last = runbook.steps[point]
    read = (*last.require, *last.reconfirm)
    is_fenced = any(one.reading == "external_fence" and one.where.get("closed") is True for one in read)
    if (
        is_fenced
        or tells(read, "source", Facet.SERVES, False)
        or not tells(last.expect, "target", Facet.SERVES, True)
    ):
        return
    hint = "add a check that the link is down at the target, because a source that the target hears from is alive"
    if not tells(read, "target", Facet.LINK, False):
        sentence = (
            f"step {last.id} is the point of no return, but does not read whether the target hears from the source"
        )
        yield Diagnostic(("steps", point), Level.WARNING, "link-not-read", sentence, hint)
    for index, step in enumerate(runbook.steps[:point]):
        if tells((*step.until, *step.require), "target", Facet.LINK, False):
            return
        if step.ask is not None and "attest" in step.ask.choices:
            sentence = (
                f"step {step.id} asks an operator to attest the fence, but no earlier step reads whether the target"
            )
            sentence += " hears from the source"
            yield Diagnostic(("steps", index), Level.WARNING, "link-not-read", sentence, hint)


def moved(runbook: Runbook, readings: Mapping[str, ReadingSpec]) -> Iterator[Diagnostic]:
    """A runbook that moves a service must change the target, and read afterwards that the target serves. Without this
    reading, `done` proves nothing."""
    # A family in Python may tell from several fields whether a site serves.
    served = {
        (reading, name if name[0] != "_" else None)
        for (reading, name), facet in meanings_of(readings).items()
        if facet is Facet.SERVES
    }
    if not served or not runbook.runbook.partition("/")[2].startswith(_MOVES):
        return
    changed = next((index for index, step in enumerate(runbook.steps) if step.do and step.do.on == "target"), None)
    later = () if changed is None else runbook.steps[changed:]
    checks = (check for step in later for check in (*step.expect, *step.until) if check.on == "target")
    if not any((check.reading, name) in served for check in checks for name in (None, *check.where)):
        sentence = "no step makes the target serve and checks the result, so the run could end as done without a move"
        hint = "add a step with an action at the target, and `expect` that the target serves"
        yield Diagnostic((), Level.ERROR, "never-moved", sentence, hint)


def managed(
    runbook: Runbook, readings: Mapping[str, ReadingSpec], actions: Mapping[str, ActionSpec]
) -> Iterator[Diagnostic]:
    """If readings show other managers, the runbook must ask about all of them at each changed site before the first
    change. A lost site cannot be asked. If both sites serve, one of them is closed without this question, because both
    would stay open during the wait for the answer."""
    models = {name: model_of(spec) for name, spec in readings.items()}
    served = {(name, one.facets[Facet.SERVES]) for name, one in models.items() if one and Facet.SERVES in one.facets}
    changing = (index for index, step in enumerate(runbook.steps) if step.changes)
    first = next((index for index in changing if not _only_closes(runbook.steps[index], served, actions)), None)
    shown = {name: one.facets[Facet.PILOT] for name, one in models.items() if one and Facet.PILOT in one.facets}
    if first is None or not shown:
        return
    read = {
        (check.on, check.reading)
        for step in runbook.steps[:first]
        if step.ask is not None
        for check in step.only_if
        if _covers(check.where.get(shown.get(check.reading, "")))
    }
    each = [name for name in shown if name != OTHER_MANAGER]
    asked = {
        side
        for side in ("source", "target")
        if (side, OTHER_MANAGER) in read or all((side, one) in read for one in each)
    }
    lost = {"source"} if runbook.runbook.partition("/")[2].startswith("uncontrolled") else set[str]()
    for side in sorted({step.do.on for step in runbook.steps if step.do is not None} - asked - lost):
        sentence = f"step {runbook.steps[first].id} makes the first change, but no earlier step asks"
        sentence += f" about another manager at the {side}"
        wanted = f"{OTHER_MANAGER}: {OTHER_MANAGER} [acts, unknown]"
        hint = (
            f"add a step with `only_if` {wanted}, and an `ask`; lint cannot see other ways to keep the manager away"
        )
        yield Diagnostic(("steps", first), Level.ERROR, "manager-not-asked", sentence, hint)


def _covers(wanted: WhereValue | None) -> bool:
    """Is the question asked in both cases: if a manager may act, and if this is unknown?"""
    return isinstance(wanted, tuple) and {"acts", "unknown"} <= set(wanted)


def _only_closes(step: Step, served: Collection[tuple[str, str]], actions: Mapping[str, ActionSpec]) -> bool:
    """Does the step only end service at the source, by an action with an inverse, and read that the target serves?"""
    spec = None if step.do is None or step.do.on != "source" else actions.get(step.do.action)

    def reads(checks: Sequence[Check], side: str, value: bool) -> bool:
        return any(
            one.on == side and one.where.get(name) is value
            for one in checks
            for reading, name in served
            if one.reading == reading
        )

    return (
        spec is not None
        and spec.inverse is not None
        and reads(step.require, "target", True)
        and reads(step.expect, "source", False)
    )


def foreseen(runbook: Runbook) -> Iterator[Diagnostic]:
    """Decisions on items that are needed after a change must be foreseen before that change. A change that no reading
    shows, such as an operator's own command, does not count, because it takes nothing that a service needs."""
    decides = {step.id for step in runbook.steps if step.decide is not None}
    shown = (index for index, step in enumerate(runbook.steps) if step.changes and step.expect)
    first = next(shown, len(runbook.steps))
    seen = {step.foresee for step in runbook.steps[:first]}
    is_before = True
    for index, step in enumerate(runbook.steps):
        path: Path = ("steps", index)
        if step.foresee is not None and step.foresee not in decides:
            sentence = f"foresee names {step.foresee}, which is not a step that decides on items"
            hint = suggest(step.foresee, decides, label="such steps")
            yield Diagnostic((*path, "foresee"), Level.ERROR, "foresee-unknown", sentence, hint)
        if step.decide is not None and is_before and index > first and step.id not in seen:
            sentence = f"step {step.id} needs decisions after a change, but no earlier step foresees these decisions"
            hint = f"add a step with `foresee: {step.id}` before step {runbook.steps[first].id}"
            yield Diagnostic((*path, "decide"), Level.ERROR, "unforeseen-decisions", sentence, hint)
        is_before = is_before and not step.point_of_no_return
