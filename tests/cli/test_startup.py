"""`failover -h` is typed at three in the morning: it loads nothing that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from tests.cli.processes import FAILOVER

pytestmark = pytest.mark.realtime

HEAVY = (
    "adapters",
    "orchestrator.engine",
    "orchestrator.events",
    "orchestrator.journal",
    "paramiko",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
    "sqlalchemy",
    "transitions",
    "yaml",
)


def loaded(code: str) -> set[str]:
    """The modules that are loaded after ``code`` ran in a process of its own."""
    tell = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True).stdout
    return set(json.loads(out.splitlines()[-1]))


def heavy(modules: set[str]) -> list[str]:
    return [name for name in HEAVY if any(one == name or one.startswith(f"{name}.") for one in modules)]


def test_help_loads_nothing_heavy() -> None:
    """Law: the list of commands needs none of the heavy libraries; the help of one, only what typer itself loads."""
    assert heavy(loaded("from orchestrator.cli.main import main\nmain(['--help'])")) == []
    of_a_command = heavy(loaded("from orchestrator.cli.main import main\nmain(['controlled', '--help'])"))
    assert set(of_a_command) <= {"pydantic"}


def test_control_a_heavy_import_is_seen() -> None:
    """Negative control: loading the journal would be noticed."""
    assert {"sqlalchemy", "pydantic", "orchestrator.journal"} <= set(heavy(loaded("import orchestrator.journal")))


def test_commands_load_what_they_need(tmp_path: Path) -> None:
    """Law: looking at the pair needs no database, and a list of runs needs no simulated pair."""
    start = f"import os\nos.environ['FAILOVER_STATE'] = {str(tmp_path)!r}\nfrom orchestrator.cli.main import main\n"
    assert "sqlalchemy" not in heavy(loaded(start + "main(['status'])"))
    assert "adapters" not in heavy(loaded(start + "main(['runs', 'list'])"))


def test_help_takes_at_most_twice_as_long_as_typer() -> None:
    """Law: `failover --help` takes at most twice the time of importing typer. The processor's time: others run too."""

    def seconds(*command: str) -> Iterator[float]:
        for _ in range(5):
            before = getrusage(RUSAGE_CHILDREN)
            subprocess.run(command, capture_output=True, check=True)
            after = getrusage(RUSAGE_CHILDREN)
            yield after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    typer_alone = min(seconds(sys.executable, "-c", "import typer"))
    assert min(seconds(FAILOVER, "--help")) <= 2 * typer_alone
