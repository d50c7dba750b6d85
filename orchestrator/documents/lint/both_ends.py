"""Checks that each comparison of the two sites in a runbook proves something. Both sites are read in one round, the
other site first. A last number counts only if the same step reads that the source is closed. This module must never
connect to anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.documents.lint.vocabulary import checks_of, elsewhere_words, progress_words
from orchestrator.documents.source_map import Diagnostic, Path, quoted
from orchestrator.family.contract import ReadingSpec
from orchestrator.family.reachability import model_of
from orchestrator.model.facets import Facet
from orchestrator.model.findings import Level
from orchestrator.model.reading import Elsewhere
from orchestrator.model.runbook import Check, Progress, Runbook, Side, Step

Readings = Mapping[str, ReadingSpec]
# The facet of each field, by reading and field.
Meanings = Mapping[tuple[str, str], Facet]


def compared(runbook: Runbook, readings: Readings, side: Side | None) -> Iterator[Diagnostic]:
    """All findings. ``side`` is the site whose declarations ``readings`` are. None means both sites. Rules that need the
    declarations of the source are checked only in the call for the source."""
    sides: tuple[Side, ...] = ("source", "target") if side is None else (side,)
    meanings = meanings_of(readings)
    for index, step in enumerate(runbook.steps):
        path: Path = ("steps", index)
        if side in (None, "source"):
            yield from _in_turn(step, path)
        for check, place in checks_of(step, path):
            for other in check.elsewhere:
                if other.on in sides:
                    yield from elsewhere_words(other, (*place, "where"), readings)
                yield from _place(check.on, other, (*place, "where"))
                if side in (None, "source"):
                    yield from _proves(step, check, other, meanings, (*place, "where"))
        up_to = None if step.progress is None else step.progress.up_to
        if up_to is not None and up_to.on in sides:
            yield from progress_words(up_to, (*path, "progress", "up_to"), readings)
        if step.progress is not None:
            yield from _followed(step.progress, (*path, "progress"), meanings)


def meanings_of(readings: Readings) -> Meanings:
    """The facets of ``readings``, by reading and field."""
    models = {name: model_of(spec) for name, spec in readings.items()}
    return {
        (name, field): facet
        for name, model in models.items()
        if model is not None
        for facet, field in model.facets.items()
    }


def _place(on: Side, other: Elsewhere, path: Path) -> Iterator[Diagnostic]:
    if other.on == on:
        sentence = (
            f"{quoted(other.field)} of the {on} is compared with a value of the same site, which proves nothing"
        )
        yield Diagnostic(path, Level.ERROR, "own-side", sentence, "name the other site with `on`")


def _in_turn(step: Step, path: Path) -> Iterator[Diagnostic]:
    """A check's own reading is read after the other site's reading, so no reading can have both roles in one step."""
    pairs = [(check, other) for check in step.checks for other in check.elsewhere if other.on != check.on]
    last = {(check.on, check.reading) for check, _ in pairs}
    first = {(other.on, other.reading) for _, other in pairs}
    for on, reading in sorted(last & first):
        sentence = (
            f"step {step.id} needs {reading} of the {on} before and after the other site, but takes each reading once"
        )
        hint = "write both comparisons as checks on the same site"
        yield Diagnostic(path, Level.ERROR, "read-in-turn", sentence, hint)


def _proves(step: Step, check: Check, other: Elsewhere, meanings: Meanings, path: Path) -> Iterator[Diagnostic]:
    """The number that the target has reached must be compared with the last number of the source, while the source is
    closed."""
    names = [name for name, wanted in check.where.items() if other in getattr(wanted, "elsewhere", ())]
    own = {meanings.get((check.reading, name)) for name in names}
    there = meanings.get((other.reading, other.field))
    if not {Facet.REACHED, Facet.MARK} & {*own, there}:
        return
    fits = own == {Facet.REACHED} and there is Facet.MARK and (check.on, other.on) == ("target", "source")
    if not fits:
        sentence = f"step {step.id} must not compare {' and '.join(names)} of the {check.on}"
        sentence += f" with {other.field} of the {other.on}"
        hint = "compare the number that the target has reached with the last number of the source"
        yield Diagnostic(path, Level.ERROR, "wrong-ends", sentence, hint)
        return
    served = {place for place, facet in meanings.items() if facet is Facet.SERVES}
    if check in step.expect:
        together = step.expect
    else:
        together = (*step.require, *step.reconfirm) if step.changes else (*step.until, *step.guard, *step.require)
    is_gated = any(
        one.on == "source"
        and any((one.reading, name) in served and value is False for name, value in one.where.items())
        for one in together
    )
    if not is_gated:
        sentence = (
            f"step {step.id} uses {other.field} as the last number, but does not check that the source is closed"
        )
        hint = "require in the same step that the source does not serve, because a serving source issues more numbers"
        yield Diagnostic(path, Level.ERROR, "mark-not-gated", sentence, hint)


def _followed(progress: Progress, path: Path, meanings: Meanings) -> Iterator[Diagnostic]:
    """The progress of a wait has to fall to 0. A number that rises is followed as its distance to the other site's
    number."""
    if progress.up_to is not None:
        yield from _place(progress.on, progress.up_to, (*path, "up_to"))
    elif meanings.get((progress.reading, progress.field)) in (Facet.REACHED, Facet.MARK):
        sentence = f"{progress.field} rises, but the progress of a wait must fall to 0"
        yield Diagnostic(
            path, Level.ERROR, "progress-rises", sentence, "add `up_to` with the last number of the source"
        )
