"""The floors of the house, and the checkers that hold them: who may import whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from tests.architecture.source import PRODUCT, Source, imports_of

# Lowest first. A name is a module or a package of orchestrator/; imports go down, or stay on the floor.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset(
        {"errors", "clock", "findings", "files", "counting", "interpreter", "characters", "facets", "installed"}
    ),
    frozenset(
        {"runbook", "site", "plan", "events", "events_run", "contract", "reading", "readings", "decisions"}
        | {"readings_amps", "readings_solace", "families", "approval_policy", "exchanges"}
    ),
    frozenset(
        {"lifecycle", "lane", "lane_fold", "state", "decide", "drain", "filling", "failback", "waves", "approval"}
        | {"standing", "position", "comparisons", "pairing"}
    ),
    frozenset(
        {
            *(
                "journal",
                "lease",
                "fleet",
                "dryrun",
                "dryrun_lines",
                "abilities",
                "retrying",
                "registry",
                "composite",
                "redact",
                "loader",
                "lint",
            ),
            *(
                "fleet_threaded",
                "definitions",
                "located",
                "lint_words",
                "lint_inventory",
                "version",
                "probing",
                "looks",
                "dialling",
            ),
            *("sites", "fitted", "lint_promises", "approvers", "kept_policies", "last_read"),
            *("holder", "tables", "statements", "database", "checks", "hooks", "pseudonyms", "chain", "signing"),
            *("connections", "embedded", "heads", "journal_errors", "keys", "migration", "patience"),
        }
    ),
    frozenset({"engine", "acting", "draft", "hearing", "observers"}),
    frozenset({"reports", "schemas"}),
    frozenset({"cli"}),
)
PURE = 2

# What adapters may use of orchestrator/: the nouns and the seam, and three tools that every device session needs.
SEEN_BY_ADAPTERS = FLOORS[0] | FLOORS[1] | {"redact", "retrying", "dialling"}

# The world must not know what a step expects, or every runbook would pass on it.
UNSEEN_BY_MOCK = frozenset({"runbook", "plan", "events", "decisions"})

# Sessions that several families use. Every other directory of adapters/ is a family.
SHARED = frozenset({"ssh", "http"})


def floor_of(module: str) -> int | None:
    """The floor of ``orchestrator.x[.y…]``; None for a module that has none."""
    name = module.split(".")[1]
    return next((number for number, names in enumerate(FLOORS) if name in names), None)


def edges(sources: Sequence[Source], *, at_run_time: bool = False) -> Iterator[tuple[Source, int, str]]:
    """Every import of one of our own modules: importing file, line, imported module."""
    known = frozenset(source.module for source in sources)
    for source in sources:
        for one in imports_of(source):
            is_ours = one.level == 0 and one.top in PRODUCT
            if is_ours and not (at_run_time and one.for_types):
                yield source, one.line, one.target(known)


def homeless(sources: Sequence[Source], floors: Sequence[frozenset[str]] = FLOORS) -> list[str]:
    """Modules of orchestrator/ that stand on no floor; and names on a floor that are no module."""
    ours = [source for source in sources if source.module.startswith("orchestrator.")]
    names = {source.module.split(".")[1] for source in ours}
    return [
        f"{source.path}: stands on no floor; give it one in {__name__} and in CONTRIBUTING.md"
        for source in ours
        if not any(source.module.split(".")[1] in floor for floor in floors)
    ] + [
        f"{name} has floor {number}, and is no module"
        for number, floor in enumerate(floors)
        for name in floor - names
    ]


def hidden_imports(sources: Iterable[Source]) -> list[str]:
    """Imports that the other checkers could not follow: relative ones, and ``importlib.import_module``."""
    found = []
    for source in sources:
        for one in imports_of(source):
            if one.level:
                found.append(f"{source.path}:{one.line}: a relative import; spell it out")
            if one.module == "importlib" and one.name in (None, "import_module"):
                found.append(f"{source.path}:{one.line}: importlib hides an import; the registry loads entry points")
    return found


def upward(sources: Sequence[Source]) -> list[str]:
    """Imports inside orchestrator/ that climb, and imports of adapters/ from anywhere but the top floor."""
    found = []
    for source, line, target in edges(sources):
        if not source.module.startswith("orchestrator."):
            continue
        own = floor_of(source.module)
        where = f"{source.path}:{line}: floor {own} imports {target}"
        if target.startswith(("adapters", "pipeline", "proof")):
            if own != len(FLOORS) - 1:
                found.append(f"{where}; only the command line knows every name")
        elif target != "orchestrator":
            other = floor_of(target)
            if own is not None and other is not None and other > own:
                found.append(f"{where}, which is on floor {other}")
    return found


def cycles(sources: Sequence[Source]) -> list[str]:
    """One circle of imports, if there is any; late imports count, they only hide a circle.

    Imports for types alone do not: a part may name the whole that it belongs to.
    """
    graph: dict[str, set[str]] = {source.module: set() for source in sources}
    for source, _, target in edges(sources, at_run_time=True):
        # A package's own names are reached through it by all its modules; that file imports nothing.
        if target not in ("orchestrator", "adapters", source.module):
            graph[source.module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def trespassing(sources: Sequence[Source]) -> list[str]:
    """Imports of adapters/ that see too much of orchestrator/, or another family."""
    found = []
    for source, line, target in edges(sources):
        if not source.module.startswith("adapters."):
            continue
        where = f"{source.path}:{line}: imports {target}"
        family = source.module.split(".")[1]
        parts = target.split(".")
        if parts[0] == "orchestrator" and len(parts) > 1:
            if parts[1] not in SEEN_BY_ADAPTERS:
                found.append(f"{where}; adapters see the nouns and the seam only")
            elif family == "mock" and parts[1] in UNSEEN_BY_MOCK:
                found.append(f"{where}; the world must not know what a runbook expects")
        elif parts[0] == "adapters" and len(parts) > 1 and parts[1] != family:
            if parts[1] not in SHARED or family in SHARED:
                found.append(f"{where}; families never see each other")
            elif family == "mock" and not source.is_under("adapters/mock/lab/"):
                found.append(f"{where}; only the lab serves real ports")
        elif parts[0] in ("pipeline", "proof"):
            found.append(f"{where}; the pipeline reads exports, the proof plays runs, and both are read by nobody")
    return found


def partial(sources: Sequence[Source]) -> list[str]:
    """Imports of proof/ that see the command line, or that make its judge share code with what it judges."""
    found = []
    for source, line, target in edges(sources):
        if not source.module.startswith("proof."):
            continue
        where = f"{source.path}:{line}: imports {target}"
        if target.startswith("orchestrator.cli"):
            found.append(f"{where}; a proof plays runs below the command line")
        elif source.module.startswith("proof.promises") and not target.startswith("proof.promises"):
            found.append(f"{where}; the judge of the promises shares no code with the engine or the world")
        elif target.startswith("adapters") and not target.startswith("adapters.mock"):
            found.append(f"{where}; a proof knows no vendor's words, only the world")
    return found
