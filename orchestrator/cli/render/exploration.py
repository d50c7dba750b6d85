"""Explores a runbook and prints the result: counts, the shortest counter-examples, and the parts not checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.cli.render.terminal import say_unless, show, show_json
from orchestrator.counting import counted
from orchestrator.documents.loader import load_runbook
from orchestrator.errors import DefinitionError
from orchestrator.family.composite import compose
from orchestrator.family.contract import ActionSpec
from orchestrator.family.registry import Registry
from orchestrator.model.findings import Finding, Level
from orchestrator.model.runbook import Do, Runbook
from proof.exploration.commands import ACTIONS as COMMANDS
from proof.exploration.families import fitting, is_modelled
from proof.exploration.rules import RULES
from proof.exploration.search import Counterexample, Exploration, explore
from proof.exploration.story import story
from proof.exploration.together import explore_together

# The limits of lint, which take a few seconds. Lint explores everything with one disturbance, up to this many states.
LINT_STATES, LINT_DISTURBANCES = 30_000, 1
# The limit with two services, for one run and for two runs.
LINT_STATES_TOGETHER = 10_000
_WARNINGS = frozenset({"waits-unattended"})


def explore_runbook(source: str, *, states: int, disturbances: int, as_json: bool) -> int:
    """Explore a runbook and print the findings. Returns 0, or 4 if there is a finding or an unexplored part."""
    runbook = load_runbook(source)
    see_explorable(runbook)
    say_unless(as_json)(f"exploring {runbook.runbook}")
    declared = _declared(runbook)
    found = explore(runbook, declared, states_max=states, disturbances_max=disturbances)
    together = explore_together(runbook, declared, states_max=states, disturbances_max=disturbances)
    if as_json:
        show_json(as_data(found, runbook, together))
    else:
        for line in (*lines_of(found, runbook), *lines_of_two(together)):
            show(line)
    is_broken = found.found or found.unexplored or any(one.found for one in together.values())
    return 4 if is_broken or is_not_judged(runbook) else 0


def is_explorable(runbook: Runbook) -> bool:
    """Does the model know the family? An operator's own runbook without a family is explored by its words."""
    return is_modelled(runbook.family)


def see_explorable(runbook: Runbook) -> None:
    """Raise ``DefinitionError`` for a runbook of a family without a model."""
    if not is_explorable(runbook):
        raise DefinitionError(
            str(no_model(runbook, None).message), hint="lint and rehearse the runbook with the tools of its author"
        )


def no_model(runbook: Runbook, file: str | None) -> Finding:
    """The finding that the order of the runbook's steps was not checked, with the reason."""
    message = (
        f"not explored: the family {runbook.family} has no model, so failover cannot check whether the order of these "
        "steps keeps promises 1 to 4"
    )
    return Finding(level=Level.NOTE, code="no-model", message=message, file=file)


def own_adapters(registry: Registry, runbook: Runbook) -> list[str]:
    """The adapters of the runbook's family, with the operator's own commands. Raises ``DefinitionError``."""
    return _adapters_of(runbook.family, registry)


def _adapters_of(family: str, registry: Registry) -> list[str]:
    own = registry.of_family(family)[:1]
    if not own:
        raise DefinitionError(
            f"there is no adapter for the family {family}", hint="name an adapter with --adapter NAME"
        )
    return [*own, "local"]


NOT_JUDGED = "promises 1-4 were not judged: the model does not know what these commands do"


def unproven_commands(runbook: Runbook) -> list[str]:
    """Commands and actions that no reading proves and no family declares. Only their author knows their effect."""
    return fitting(runbook).harmless(runbook)


def is_not_judged(runbook: Runbook) -> bool:
    """Does the runbook change things only by such commands? Then an exploration finds nothing and proves nothing."""
    harmless = unproven_commands(runbook)
    changes = list(_changes(runbook))
    return bool(changes) and not any(is_known and do.action not in harmless for do, is_known in changes)


def _changes(runbook: Runbook) -> Iterator[tuple[Do, bool]]:
    """The actions of the runbook, each with whether the model knows its effect."""
    for step in runbook.steps:
        for do, expect in (
            (step.do, step.expect),
            *([] if step.undo is None else [(step.undo.do, step.undo.expect)]),
        ):
            if do is not None:
                yield do, do.action not in COMMANDS or bool(expect)


def _declared(runbook: Runbook) -> Mapping[str, ActionSpec]:
    """The actions that the model knows, from the declarations of the built-in adapters of the runbook's family."""
    registry = Registry()
    return compose([registry.get(name) for name in simulated_for(runbook)]).actions


def simulated_for(runbook: Runbook) -> Sequence[str]:
    """The adapters of a site of the runbook's family, with the operator's own commands. The adapters are
    simulated, if there are simulated ones."""
    family = fitting(runbook)
    return (family.adapter, "local") if family.adapter else _adapters_of(family.name, Registry())


Explored = tuple[Exploration, Mapping[int, Exploration], list[Finding]]


def explored(runbook: Runbook, actions: Mapping[str, ActionSpec], *, file: str | None) -> Explored:
    """A short exploration with one service, the explorations with two services, and their findings in the form of lint.
    An unexplored part is a separate finding."""
    known = {**_declared(runbook), **actions}
    found = explore(runbook, known, states_max=LINT_STATES, disturbances_max=LINT_DISTURBANCES)
    blind = [_not_judged(runbook, file)] if is_not_judged(runbook) else []
    together = explore_together(runbook, known, states_max=LINT_STATES_TOGETHER, disturbances_max=LINT_DISTURBANCES)
    broken = {one.rule: one for walk in (*together.values(), found) for one in walk.found}
    return found, together, [*blind, *_unexplored(found, file), *(_finding(one, file) for one in broken.values())]


def _not_judged(runbook: Runbook, file: str | None) -> Finding:
    message = f"{NOT_JUDGED}: {', '.join(unproven_commands(runbook))}"
    hint = "prove each command by a reading (`expect`), because failover cannot check the order of these commands"
    return Finding(level=Level.UNKNOWN, code="not-judged", message=message, hint=hint, file=file)


def _unexplored(found: Exploration, file: str | None) -> Iterable[Finding]:
    for what in found.unexplored:
        yield Finding(level=Level.UNKNOWN, code="not-explored", message=f"not explored: {what}", file=file)


def _finding(one: Counterexample, file: str | None) -> Finding:
    level = Level.WARNING if one.rule in _WARNINGS else Level.ERROR
    return Finding(level=level, code=one.rule, message=RULES[one.rule], file=file)


def lines_of(found: Exploration, runbook: Runbook) -> list[str]:
    """The counts, the extent of the exploration, each counter-example as a numbered list, and the parts not judged."""
    if found.unexplored:
        return [f"{found.runbook}: not explored: {what}" for what in found.unexplored]
    commands = ", ".join(unproven_commands(runbook))
    if is_not_judged(runbook):
        return [f"{found.runbook}: {NOT_JUDGED}: {commands}"]
    given = f", if these commands do not change a value that is read: {commands}" if commands else ""
    lines = [f"{found.runbook}: {extent(found)}", f"ends: {_ends(found)}"]
    for one in found.found:
        lines += ["", f"[{one.rule}] the shortest way to this problem:", *steps_of(one)]
    return (
        lines
        if found.found
        else [*lines, f"no promise is broken, there is no dead end, and every end has a name{given}"]
    )


def lines_of_two(together: Mapping[int, Exploration]) -> list[str]:
    """The same lines for the explorations with two services, by the number of their runs."""
    lines = []
    for runs, found in together.items():
        lines += ["", f"two services of the same sites, {IN_RUNS[runs]}: {extent(found)}", f"ends: {_ends(found)}"]
        for one in found.found:
            lines += ["", f"[{one.rule}] the shortest way to this problem:", *steps_of(one)]
        if not found.found:
            lines.append("no promise is broken, and there is no dead end")
    return lines


IN_RUNS = {1: "in one run", 2: "in two runs at once"}


def steps_of(one: Counterexample) -> Sequence[str]:
    """A counter-example, one numbered line each."""
    return [f"  {number}. {line}" for number, line in enumerate(story(one), 1)]


def extent(found: Exploration) -> str:
    """The extent of the exploration in one clause. It claims no more than was checked."""
    size = f"{counted(found.states, 'state')} and {counted(found.transitions, 'transition')}"
    counts = f"explored {size} to depth {found.depth}"
    if found.is_exhausted:
        return f"{counts}; exhausted"
    whole = (
        "nothing is complete",
        "all paths without a disturbance are complete",
        "all paths with up to one disturbance are complete",
    )
    number = found.disturbances
    what = whole[number + 1] if number < 2 else f"all paths with up to {number} disturbances are complete"
    return f"{counts}; not exhausted: {what}"


def _ends(found: Exploration) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(found.ends.items())) or "none"


def as_data(
    found: Exploration, runbook: Runbook, together: Mapping[int, Exploration] | None = None
) -> dict[str, Any]:
    """The same as JSON data, with the stories of counter-examples. ``not_judged`` is the reason, or null.
    ``assumed_harmless`` are commands assumed to change nothing that is read. ``two_services`` are the explorations with
    two services, each with its number of ``runs``."""
    commands = unproven_commands(runbook)
    is_blind = is_not_judged(runbook)
    return {
        "not_judged": f"{NOT_JUDGED}: {', '.join(commands)}" if is_blind else None,
        "assumed_harmless": [] if is_blind else commands,
        "runbook": found.runbook,
        **_counts(found),
        "not_explored": found.unexplored,
        "two_services": [{"runs": runs, **_counts(walk)} for runs, walk in (together or {}).items()],
    }


def _counts(found: Exploration) -> dict[str, Any]:
    return {
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "disturbances": found.disturbances,
        "exhausted": found.is_exhausted,
        "ends": dict(sorted(found.ends.items())),
        "found": [{"code": one.rule, "message": RULES[one.rule], "story": story(one)} for one in found.found],
    }
