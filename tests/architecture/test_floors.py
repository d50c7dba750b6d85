"""Imports go down the rooms, never in a circle, and families of adapters never see each other."""

from __future__ import annotations

import pytest

from tests.architecture.floors import (
    KERNEL,
    ROOMS,
    crowded,
    cycles,
    hidden_imports,
    homeless,
    partial,
    trespassing,
    upward,
)
from tests.architecture.source import ROOT, Source, code, listed

_FOR_TYPES = ("from typing import TYPE_CHECKING", "if TYPE_CHECKING:", "    from simulator.amps import a")
# A folder with more files than this is not taken in at a glance.
_FILES_MAX = 20
# These have no rooms yet.
_UNSORTED = frozenset({"adapters/solace"})


def test_every_module_has_a_room(product: list[Source]) -> None:
    """Every module of orchestrator/ is in a room or in the kernel: a new one is given its place first."""
    assert not (found := homeless(product)), listed(found)


def test_the_tree_shows_the_rooms() -> None:
    """Every room, and every module of the kernel, is there."""
    house = ROOT / "orchestrator"
    assert [name for name in ROOMS if not (house / name / "__init__.py").is_file()] == []
    assert [name for name in KERNEL if not (house / f"{name}.py").is_file()] == []


def test_no_folder_is_crowded(product: list[Source]) -> None:
    """A folder of the house is taken in at a glance; where there is more, it has rooms."""
    house = ("orchestrator", "adapters", "simulator", "validator")
    ours = [source.path for source in product if source.path.split("/")[0] in house]
    found = crowded((path for path in ours if path.rpartition("/")[0] not in _UNSORTED), _FILES_MAX)
    assert not found, listed(found)
    assert {line.split("/ ")[0] for line in crowded(ours, _FILES_MAX)} == _UNSORTED


def test_imports_can_be_seen(product: list[Source]) -> None:
    """Every import is written so that it can be followed by reading."""
    assert not (found := hidden_imports(product)), listed(found)


def test_imports_go_down(product: list[Source]) -> None:
    """A module imports from its own room or lower ones; only operations and the command line import adapters."""
    assert not (found := upward(product)), listed(found)


def test_no_circles(product: list[Source]) -> None:
    """No module needs itself, over however many others."""
    assert not (found := cycles(product)), listed(found)


def test_adapters_keep_apart(product: list[Source]) -> None:
    """Adapters see the nouns and the seam; families share sessions and nothing else; worlds know no runbook."""
    assert not (found := trespassing(product)), listed(found)


def test_proof_is_impartial(product: list[Source]) -> None:
    """The proof plays runs below the command line, and its judge of the promises shares no code with the engine."""
    assert not (found := partial(product)), listed(found)


def test_contributing_shows_the_same_rooms() -> None:
    """The list of rooms in CONTRIBUTING.md is the one that is held here, in the same order."""
    lines = (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()
    start = lines.index("| room of `orchestrator/` | what it is |") + 2
    kernel, *rooms = [line.split("|")[1].split() for line in lines[start : start + len(ROOMS) + 1]]
    assert {name.strip("`") for name in kernel} == KERNEL
    assert [one for (one,) in rooms] == [f"`{name}/`" for name in ROOMS]


def test_control_floors() -> None:
    """The checkers of rooms find a climb, a circle, a late import, a homeless module and hidden imports."""
    engine = code("orchestrator/engine/engine.py", "import orchestrator.clock")
    state = code("orchestrator/core/run.py", "def f() -> None:", "    from orchestrator.engine import engine")
    clock = code("orchestrator/clock.py", "from orchestrator.core.run import f")
    stray = code("orchestrator/stray.py", "from . import clock", "import importlib")
    reader = code("orchestrator/reports/page.py", "from simulator.solace.world import World")
    house = [engine, state, clock, stray, reader]
    assert upward(house) == [
        "orchestrator/core/run.py:2: core imports orchestrator.engine.engine, which is above it",
        "orchestrator/clock.py:1: the kernel imports orchestrator.core.run, which is above it",
        "orchestrator/reports/page.py:1: reports imports simulator.solace.world; "
        "only operations and the command line know every name",
    ]
    assert [line.split(":")[0] for line in homeless(house)] == ["orchestrator/stray.py"]
    assert crowded(["a/x.py", "a/y.py", "a/__init__.py", "b/x.py"], 1) == ["a/ has 2 files; it needs rooms"]
    assert len(hidden_imports(house)) == 2
    (circle,) = cycles([engine, state, clock])
    circle_of_types = [
        code("simulator/amps/a.py", "import simulator.amps.b"),
        code("simulator/amps/b.py", *_FOR_TYPES),
    ]
    assert not cycles(circle_of_types)
    assert {"orchestrator.core.run", "orchestrator.engine.engine", "orchestrator.clock"} == set(
        circle.split(" imports ")
    )


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("adapters/solace/a.py", "from orchestrator.journal.journal import Journal", "the seam only"),
        ("adapters/solace/a.py", "from orchestrator.engine import engine", "the seam only"),
        ("adapters/solace/a.py", "import adapters.amps.config.model", "families"),
        ("adapters/solace/a.py", "from simulator.solace.world import World", "simulated"),
        ("adapters/amps/a.py", "from validator.checks import Check", "knows nothing"),
        ("adapters/ssh/a.py", "from adapters.solace import tables", "families"),
        ("adapters/ssh/a.py", "from adapters.http import client", "families"),
        ("adapters/mock/a.py", "from orchestrator.model.runbook import Step", "expects"),
        ("adapters/mock/a.py", "from adapters.ssh.session import Session", "families"),
        ("adapters/mock/a.py", "from adapters.amps.live import configurations_of", "families"),
        ("adapters/mock/solace/a.py", "from adapters.amps.live import configurations_of", "families"),
        ("adapters/amps/family.py", "from adapters.mock.solace.scene import SolaceScene", "families"),
        ("adapters/amps/a.py", "from adapters.mock.amps.scene import AmpsScene", "families"),
        ("adapters/local/a.py", "import pipeline.load", "knows nothing"),
        ("simulator/solace/a.py", "from orchestrator.model.events import Acted", "expects"),
        ("simulator/solace/a.py", "from simulator.ssh.server import Server", "lab"),
        ("simulator/solace/a.py", "from adapters.mock.adapter import MockAdapter", "knows nothing"),
        ("simulator/lab/a.py", "from orchestrator.engine.engine import Engine", "the seam only"),
        ("validator/a.py", "from orchestrator.model.runbook import Step", "no runs"),
        ("validator/a.py", "from adapters.amps.client import Client", "knows nothing"),
    ],
)
def test_control_adapters(path: str, line: str, reason: str) -> None:
    """The checker finds each kind of trespass, even where the imported file is not at hand."""
    engine = code("orchestrator/engine/engine.py", "")
    (found,) = trespassing([code(path, line), engine])
    assert reason in found


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("proof/a.py", "from orchestrator.operations import runtime", "below the command line"),
        ("proof/promises/a.py", "from orchestrator.core.decide import decide", "shares no code"),
        ("proof/promises/a.py", "from simulator.solace.world import World", "shares no code"),
        ("proof/a.py", "import adapters.solace.tables", "none of its words"),
    ],
)
def test_control_proof(path: str, line: str, reason: str) -> None:
    """The checker of proof/ finds a judge that leans on what it judges."""
    (found,) = partial([code(path, line)])
    assert reason in found


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("adapters/solace/a.py", "from orchestrator.family.secrets import scrub"),
        ("adapters/solace/a.py", "from adapters.ssh.session import Session"),
        ("adapters/solace/a.py", "from adapters.solace import tables"),
        ("adapters/mock/a.py", "from orchestrator.family.contract import Call"),
        ("adapters/mock/a.py", "from simulator.solace.world import World"),
        ("adapters/amps/family.py", "from adapters.mock.amps.scene import AmpsScene"),
        ("adapters/mock/amps/a.py", "from adapters.amps.live import configurations_of"),
        ("simulator/lab/a.py", "from simulator.ssh.server import Server"),
        ("validator/a.py", "from adapters.amps.config.model import Instance"),
    ],
)
def test_control_adapters_allowed(path: str, line: str) -> None:
    """What adapters may see is not held against them."""
    assert trespassing([code(path, line)]) == []
