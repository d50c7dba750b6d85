"""No process of the product imports code from the working directory (CWE-427)."""

from __future__ import annotations

import pytest

from tests.architecture.interpreters import HOME, careless
from tests.architecture.source import Source, code, listed


def test_every_start_of_python_is_careful(product: list[Source]) -> None:
    """Each start of an interpreter has -P or -I, or PYTHONSAFEPATH where no flag can be given."""
    assert any(source.path == HOME for source in product)
    assert not (found := careless(product)), listed(found)


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("orchestrator/bad.py", ["import sys", "f(sys.executable)"]),
        ("orchestrator/bad.py", ["from sys import executable"]),
        ("orchestrator/bad.py", ["run(['python3', '-m', 'x'])"]),
        ("orchestrator/bad.py", ["run(('/usr/bin/python3.11', 'x.py'))"]),
        (HOME, ["import sys", "def f(): return [sys.executable, '-m', 'x']"]),
        (HOME, ["import sys", "def f(): return [sys.executable]"]),
        ("proof/bad.py", ["from concurrent.futures import ProcessPoolExecutor", "ProcessPoolExecutor(2)"]),
        ("proof/bad.py", ["import multiprocessing", "multiprocessing.Process(target=f).start()"]),
        ("pipeline/bad.py", ["def f(): return {'PYSPARK_PYTHON': executable()}"]),
    ],
)
def test_control_bad(path: str, lines: list[str]) -> None:
    """Each kind of careless start is found, once."""
    assert len(careless([code(path, *lines)])) == 1


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (HOME, ["import sys", "def f(): return [sys.executable, '-P', '-m', 'x']"]),
        (HOME, ["import sys", "def f(): return [sys.executable, '-I', '-S', 'x']"]),
        ("orchestrator/good.py", ["run(['ls'])", "names = ['python is nice', '-m']"]),
        (
            "proof/good.py",
            [
                "from concurrent.futures import ProcessPoolExecutor",
                "with safe_children(), ProcessPoolExecutor(2): pass",
            ],
        ),
        ("proof/good.py", ["from proof.night import Process", "Process(1)"]),
        ("pipeline/good.py", ["def f(): return {'PYSPARK_PYTHON': executable(), **SAFE_PATH}"]),
    ],
)
def test_control_good(path: str, lines: list[str]) -> None:
    """What is careful is left alone."""
    assert careless([code(path, *lines)]) == []
