"""The rooms of the house, and the checkers that hold their order: who may import whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from tests.architecture.source import PRODUCT, Source

# What lies at the top of orchestrator/, below all rooms: with it everything else is said and read.
KERNEL = frozenset(
    {
        "errors",
        "ages",
        "clock",
        "characters",
        "counting",
        "files",
        "interpreter",
        "stopping",
        "suggestions",
        "version",
    },
)
# The folders of orchestrator/, lowest first. Imports go down this list, or stay in the room.
ROOMS = (
    *("model", "family", "core", "documents", "journal", "engine", "notifications", "reports", "schemas"),
    *("operations", "cli"),
)
# These two know every name: adapters, the simulator, the validator, the pipeline and the proof.
KNOW_ALL = frozenset({"operations", "cli"})

# What adapters may use of orchestrator/: the kernel, the nouns, and what is made for them.
SEEN_BY_ADAPTERS = KERNEL | {"model", "family"}

# The world must not know what a step expects, or every runbook would pass on it.
UNSEEN_BY_WORLD = frozenset(f"orchestrator.model.{name}" for name in ("runbook", "plan", "events", "transactions"))

# Sessions, and processes, that several families use. Every other directory of adapters/ is a family.
SHARED = frozenset({"ssh", "http", "local"})


def room_of(module: str) -> str | None:
    """The room of ``orchestrator.room.x``; empty for the kernel, None for a module that has no place."""
    name = module.split(".")[1]
    return "" if name in KERNEL else name if name in ROOMS else None


def edges(sources: Sequence[Source], *, at_run_time: bool = False) -> Iterator[tuple[Source, int, str]]:
    """Every import of one of our own modules: importing file, line, imported module."""
    known = frozenset(source.module for source in sources)
    for source in sources:
        for one in source.imports:
            is_ours = one.level == 0 and one.top in PRODUCT
            if is_ours and not (at_run_time and one.for_types):
                yield source, one.line, one.target(known)


def homeless(sources: Sequence[Source]) -> list[str]:
    """Modules of orchestrator/ that are in no room."""
    ours = (source for source in sources if source.module.startswith("orchestrator."))
    return [
        f"{source.path}: is in no room; put it into one, or name it in {__name__} and in CONTRIBUTING.md"
        for source in ours
        if room_of(source.module) is None
    ]


def crowded(paths: Iterable[str], most: int) -> list[str]:
    """Folders with more than ``most`` Python files of their own, without the one that makes a package."""
    folders: dict[str, int] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        folders[folder] = folders.get(folder, 0) + (name != "__init__.py")
    return [f"{folder}/ has {files} files; it needs rooms" for folder, files in folders.items() if files > most]


def hidden_imports(sources: Iterable[Source]) -> list[str]:
    """Imports that the other checkers could not follow: relative ones, and ``importlib.import_module``."""
    found = []
    for source in sources:
        for one in source.imports:
            if one.level:
                found.append(f"{source.path}:{one.line}: a relative import; spell it out")
            if one.module == "importlib" and one.name in (None, "import_module"):
                found.append(f"{source.path}:{one.line}: importlib hides an import; the registry loads entry points")
    return found


def upward(sources: Sequence[Source]) -> list[str]:
    """Imports inside orchestrator/ that climb, and imports of anything else of ours from below the use cases."""
    order = ("", *ROOMS)
    found = []
    for source, line, target in edges(sources):
        if not source.module.startswith("orchestrator."):
            continue
        own = room_of(source.module)
        where = f"{source.path}:{line}: {own or 'the kernel'} imports {target}"
        if not target.startswith("orchestrator"):
            if own not in KNOW_ALL:
                found.append(f"{where}; only operations and the command line know every name")
        elif target != "orchestrator":
            other = room_of(target)
            if own is not None and other is not None and order.index(other) > order.index(own):
                found.append(f"{where}, which is above it")
    return found


def cycles(sources: Sequence[Source]) -> list[str]:
    """One circle of imports, if there is any; late imports count, they only hide a circle.

    Imports for types alone do not: a part may name the whole that it belongs to.
    """
    graph: dict[str, set[str]] = {source.module: set() for source in sources}
    for source, _, target in edges(sources, at_run_time=True):
        # A package's own names are reached through it by all its modules; that file imports nothing.
        if target not in (*PRODUCT, source.module):
            graph[source.module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def trespassing(sources: Sequence[Source]) -> list[str]:
    """Imports of adapters/, simulator/ and validator/ that see too much of ours."""
    found = []
    for source, line, target in edges(sources):
        top = source.module.split(".")[0]
        reason = _TRESPASSES[top](source, target) if top in _TRESPASSES else ""
        if reason:
            found.append(f"{source.path}:{line}: imports {target}; {reason}")
    return found


def _of_adapters(source: Source, target: str) -> str:
    top, *parts = target.split(".")
    family = source.module.split(".")[1]
    if top == "orchestrator" and parts:
        if parts[0] not in SEEN_BY_ADAPTERS:
            return "adapters see the kernel, the nouns and the seam only"
        return _of_worlds(target) if family == "mock" else ""
    if top == "adapters" and len(parts) > 1 and _is_copy_of(source.module, target):
        return ""
    if top == "adapters" and parts and parts[0] != family:
        return "families never see each other" if parts[0] not in SHARED or family in SHARED | {"mock"} else ""
    if top == "simulator":
        return "" if family == "mock" else "a real device's adapter knows no simulated one"
    return _of_others(top, {"orchestrator", "adapters"})


def _is_copy_of(importer: str, target: str) -> bool:
    """A family and its simulated copy: ``adapters/F/family.py`` offers the scene in ``adapters/mock/F``, and that is made
    of what the devices of F report, so it reads them as F does."""
    own, seen = importer.split(".")[1:], target.split(".")[1:]
    offers = own[1:] == ["family"] and seen[:2] == ["mock", own[0]]
    reads = own[0] == "mock" and (seen[1:2] == ["reading_models"] or (len(own) > 2 and own[1] == seen[0]))
    return offers or reads


def _of_simulator(source: Source, target: str) -> str:
    top, *parts = target.split(".")
    if top == "orchestrator" and parts:
        if parts[0] not in SEEN_BY_ADAPTERS:
            return "a world sees the kernel, the nouns and the seam only"
        return _of_worlds(target)
    serves = source.is_under("simulator/lab/", "simulator/ssh/", "simulator/http/")
    if target.startswith(("simulator.ssh", "simulator.http", "adapters.http")):
        return "" if serves else "only the lab serves real ports"
    return _of_others(top, {"orchestrator", "simulator"})


def _of_validator(source: Source, target: str) -> str:
    del source
    top, *parts = target.split(".")
    if top == "orchestrator" and parts:
        return "" if parts[0] in KERNEL else "the validator reads files, and knows no runs"
    if target.startswith("adapters.amps.config"):
        return ""
    return _of_others(top, {"orchestrator", "validator"})


def _of_worlds(target: str) -> str:
    return "the world must not know what a runbook expects" if target in UNSEEN_BY_WORLD else ""


def _of_others(top: str, seen: set[str]) -> str:
    return "" if top in seen else "it knows nothing of that part of the house"


_TRESPASSES = {"adapters": _of_adapters, "simulator": _of_simulator, "validator": _of_validator}


def partial(sources: Sequence[Source]) -> list[str]:
    """Imports of proof/ that see the command line, or that make its judge share code with what it judges."""
    found = []
    for source, line, target in edges(sources):
        if not source.module.startswith("proof."):
            continue
        where = f"{source.path}:{line}: imports {target}"
        if target.startswith(("orchestrator.cli", "orchestrator.operations")):
            found.append(f"{where}; a proof plays runs below the command line")
        elif source.module.startswith("proof.promises") and not target.startswith("proof.promises"):
            found.append(f"{where}; the judge of the promises shares no code with the engine or the world")
        elif target.startswith("adapters") and not (
            target.startswith("adapters.mock") or target.endswith(".reading_models")
        ):
            found.append(f"{where}; a proof knows what a vendor's readings hold, and none of its words")
    return found
