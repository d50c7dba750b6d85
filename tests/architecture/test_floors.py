"""Imports go down the floors, never in a circle, and families of adapters never see each other."""

from __future__ import annotations

import pytest

from tests.architecture.floors import FLOORS, cycles, hidden_imports, homeless, partial, trespassing, upward
from tests.architecture.source import PRODUCT, ROOT, Source, code, listed, python_files

_FOR_TYPES = ("from typing import TYPE_CHECKING", "if TYPE_CHECKING:", "    from adapters.mock import a")


@pytest.fixture(scope="module")
def product() -> list[Source]:
    return python_files(*PRODUCT)


def test_every_module_has_a_floor(product: list[Source]) -> None:
    """Every module of orchestrator/ stands on a floor, and nothing else does: a new one is given its place first."""
    assert not (found := homeless(product)), listed(found)


def test_imports_can_be_seen(product: list[Source]) -> None:
    """Every import is written so that it can be followed by reading."""
    assert not (found := hidden_imports(product)), listed(found)


def test_imports_go_down(product: list[Source]) -> None:
    """A module imports from its own floor or lower ones; only the command line imports adapters."""
    assert not (found := upward(product)), listed(found)


def test_no_circles(product: list[Source]) -> None:
    """No module needs itself, over however many others."""
    assert not (found := cycles(product)), listed(found)


def test_adapters_keep_apart(product: list[Source]) -> None:
    """Adapters see the nouns, the seam, redaction and retrying; families share sessions and nothing else."""
    assert not (found := trespassing(product)), listed(found)


def test_proof_is_impartial(product: list[Source]) -> None:
    """The proof plays runs below the command line, and its judge of the promises shares no code with the engine."""
    assert not (found := partial(product)), listed(found)


@pytest.mark.parametrize("floor", range(len(FLOORS)))
def test_contributing_shows_the_same_floors(floor: int) -> None:
    """The table of floors in CONTRIBUTING.md is the one that is held here."""
    lines = (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()
    (row,) = (line for line in lines if line.startswith(f"| {floor} |"))
    assert sorted(word.strip("`") for word in row.split("|")[2].split()) == sorted(FLOORS[floor])


def test_control_floors() -> None:
    """The floor checkers find a climb, a circle, a late import, a homeless module and hidden imports."""
    engine = code("orchestrator/engine.py", "import orchestrator.clock")
    state = code("orchestrator/state.py", "def f() -> None:", "    from orchestrator import engine")
    clock = code("orchestrator/clock.py", "from orchestrator.state import f")
    stray = code("orchestrator/stray.py", "from . import clock", "import importlib")
    reader = code("orchestrator/reports/page.py", "from adapters.mock.world import World")
    house = [engine, state, clock, stray, reader]
    assert upward(house) == [
        "orchestrator/state.py:2: floor 2 imports orchestrator.engine, which is on floor 4",
        "orchestrator/clock.py:1: floor 0 imports orchestrator.state, which is on floor 2",
        "orchestrator/reports/page.py:1: floor 5 imports adapters.mock.world; only the command line knows every name",
    ]
    floors = [frozenset({"clock", "ghost"}), frozenset({"engine", "state", "reports"})]
    assert [line.split(":")[0] for line in homeless(house, floors)] == [
        "orchestrator/stray.py",
        "ghost has floor 0, and is no module",
    ]
    assert len(hidden_imports(house)) == 2
    (circle,) = cycles(house)
    assert not cycles([code("adapters/mock/a.py", "import adapters.mock.b"), code("adapters/mock/b.py", *_FOR_TYPES)])
    assert {"orchestrator.state", "orchestrator.engine", "orchestrator.clock"} == set(circle.split(" imports "))


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("adapters/solace/a.py", "from orchestrator.journal import Journal", "nouns and the seam"),
        ("adapters/solace/a.py", "from orchestrator import engine", "nouns and the seam"),
        ("adapters/solace/a.py", "import adapters.amps.model", "families"),
        ("adapters/ssh/a.py", "from adapters.solace import tables", "families"),
        ("adapters/ssh/a.py", "from adapters.http import client", "families"),
        ("adapters/mock/a.py", "from orchestrator.runbook import Step", "expects"),
        ("adapters/mock/a.py", "from adapters.ssh.server import Server", "lab"),
        ("adapters/local/a.py", "import pipeline.load", "pipeline"),
    ],
)
def test_control_adapters(path: str, line: str, reason: str) -> None:
    """The adapter checker finds each kind of trespass, even where the imported file is not at hand."""
    engine = code("orchestrator/engine.py", "")
    (found,) = trespassing([code(path, line), engine])
    assert reason in found


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("proof/a.py", "from orchestrator.cli import wiring", "below the command line"),
        ("proof/promises/a.py", "from orchestrator.decide import decide", "shares no code"),
        ("proof/promises/a.py", "from adapters.mock.world import World", "shares no code"),
        ("proof/a.py", "import adapters.solace.tables", "no vendor"),
    ],
)
def test_control_proof(path: str, line: str, reason: str) -> None:
    """The checker of proof/ finds a judge that leans on what it judges."""
    (found,) = partial([code(path, line)])
    assert reason in found


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("adapters/solace/a.py", "from orchestrator.redact import scrub"),
        ("adapters/solace/a.py", "from adapters.ssh.session import Session"),
        ("adapters/solace/a.py", "from adapters.solace import tables"),
        ("adapters/mock/lab/a.py", "from adapters.ssh.server import Server"),
        ("adapters/mock/a.py", "from orchestrator.contract import Call"),
    ],
)
def test_control_adapters_allowed(path: str, line: str) -> None:
    """What adapters may see is not held against them."""
    assert trespassing([code(path, line)]) == []
