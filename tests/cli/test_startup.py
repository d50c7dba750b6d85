"""`failover -h` is typed at three in the morning: it loads nothing that it does not need."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from orchestrator.cli.help import command_groups, option_groups
from orchestrator.cli.lazy import command_tree
from orchestrator.cli.main import app
from pipeline.generator import Shape, TwoSites, write_small
from tests.cli.shell import Shell

pytestmark = pytest.mark.realtime

# What takes longer to load than all that the first line needs.
NOT_BEFORE_THE_FIRST_LINE = (
    "httpx",
    "orchestrator.engine",
    "orchestrator.journal.journal",
    "orchestrator.model.declared",
    "orchestrator.model.events",
    "orchestrator.reports",
    "paramiko",
    "rich",
    "sqlalchemy",
    "transitions",
)
HEAVY = (
    "adapters",
    "orchestrator.engine.engine",
    "orchestrator.model.events",
    "orchestrator.journal.journal",
    "paramiko",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
    "simulator",
    "sqlalchemy",
    "transitions",
    "yaml",
)
HELP = "from orchestrator.cli.main import main\n"


def loaded(code: str) -> set[str]:
    """The modules that are loaded after ``code`` ran in a process of its own."""
    tell = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True).stdout
    return set(json.loads(out.splitlines()[-1]))


def heavy(modules: set[str]) -> list[str]:
    return among(modules, HEAVY)


def among(modules: set[str], names: Sequence[str]) -> list[str]:
    """Which of ``names`` are loaded, or have a part that is."""
    return [name for name in names if any(one == name or one.startswith(f"{name}.") for one in modules)]


def test_help_loads_nothing_heavy() -> None:
    """Law: the list of commands needs none of the heavy libraries; the help of one, only what typer itself loads. The
    help of a command that moves services has the options of the families, so it loads these too."""
    assert heavy(loaded(f"{HELP}main(['--help'])")) == []
    assert set(heavy(loaded(f"{HELP}main(['status', '--help'])"))) <= {"pydantic"}
    assert set(heavy(loaded(f"{HELP}main(['controlled', '--help'])"))) <= {"pydantic", "adapters", "yaml"}


def test_control_a_heavy_import_is_seen() -> None:
    """Negative control: loading the journal would be noticed."""
    assert {"sqlalchemy", "pydantic", "orchestrator.journal.journal"} <= set(
        heavy(loaded("import orchestrator.journal.journal"))
    )


def test_commands_load_what_they_need(tmp_path: Path) -> None:
    """Law: a list of runbooks needs no database, and a list of runs needs no simulated pair."""
    assert "sqlalchemy" not in heavy(loaded_with(tmp_path, ["runbook", "list"]))
    assert not {"adapters", "simulator"} & set(heavy(loaded_with(tmp_path, ["runs", "list"])))


def loaded_with(state: Path, command: Sequence[str]) -> set[str]:
    """The modules that a command loads with this state directory."""
    return loaded(f"import os\nos.environ['FAILOVER_STATE'] = {str(state)!r}\n{HELP}main({list(command)!r})")


@pytest.mark.parametrize(
    "command",
    [
        ["controlled", "Risk_VPN", "--yes"],
        ["runs", "show", "last"],
        ["resume", "last"],
    ],
    ids=" ".join,
)
def test_a_family_file_is_read_by_who_needs_it(command: Sequence[str], moved: Path) -> None:
    """Law: a command reads no family file where the family of the pair, or of the run, is one that a distribution
    brings."""
    assert "adapters.declared.family" not in loaded_with(moved, command)


def test_control_a_family_file_is_read_for_its_option(moved: Path) -> None:
    """Negative control: whoever types an option of families needs all of them."""
    assert "adapters.declared.family" in loaded_with(moved, ["controlled", "Trading_VPN", "--xa", "ask"])


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with a finished run."""
    state = tmp_path_factory.mktemp("state")
    command = [sys.executable, "-m", "orchestrator.cli", "controlled", "Risk_VPN", "--yes"]
    subprocess.run(command, env={**os.environ, "FAILOVER_STATE": str(state)}, capture_output=True, check=True)
    return state


# What reads files alone has no need of: devices, runs and their record, the network, the other engine.
NOT_FOR_FILES = (
    *(name for name in HEAVY if name not in ("pyarrow", "pydantic")),
    "asyncio",
    "http",
    "orchestrator.operations.runtime",
    "orchestrator.family.contract",
    "orchestrator.model.readings",
    "orchestrator.model.runbook",
    "orchestrator.model.inventory",
    "platformdirs",
)


def test_reconciling_on_duckdb_loads_no_devices_and_no_runs(tmp_path: Path) -> None:
    """Law: to compare two exports on this machine the program loads their engine, Parquet and the report, and nothing of
    what moves a service: neither devices nor runs, and not the other engine."""
    shape = Shape(200, endpoints=4, missing=2, extra=0, duplicate=0, changed=0, displaced=0)
    left, right = write_small(TwoSites(shape), tmp_path)
    modules = loaded(f"{HELP}main(['pipeline', 'reconcile', {str(left)!r}, {str(right)!r}])")
    assert {"duckdb", "pipeline.reconcile", "pipeline.report"} <= modules
    assert among(modules, NOT_FOR_FILES) == []


def test_help_loads_hardly_more_than_typer() -> None:
    """Law: the list of commands needs at most half as many modules again as typer alone. What that takes in time is
    printed by `make bench ONLY=startup`: a time that is judged fails on a machine that others use."""
    assert len(loaded(f"{HELP}main(['--help'])")) <= _bound()


def test_control_more_modules_are_seen() -> None:
    """Negative control: a page of help that loaded the engine would be noticed."""
    assert len(loaded(f"import orchestrator.engine.engine\n{HELP}main(['--help'])")) > _bound()


def _bound() -> float:
    return 1.5 * len(loaded("import typer"))


@pytest.mark.parametrize(
    "command",
    [
        "status",
        "check",
        "guard --site ny",
        "watch NONE",
        "controlled Trading_VPN --dry-run",
        "uncontrolled Trading_VPN --site ny --dry-run",
        "restore Trading_VPN --site ny --dry-run",
        "failback Trading_VPN --dry-run",
        "repair Trading_VPN --site ny --dry-run",
    ],
)
def test_the_first_line_comes_before_the_rest_is_loaded(command: str, tmp_path: Path) -> None:
    """Law: on a terminal a command that reads devices names them before it loads its database, its engine and its
    sessions, which takes longer than all before."""
    before, after = loaded_around("connecting to", command.split(), {"FAILOVER_STATE": str(tmp_path)})
    assert among(before, NOT_BEFORE_THE_FIRST_LINE) == []
    assert "sqlalchemy" in among(after, NOT_BEFORE_THE_FIRST_LINE), "control: it is loaded later"
    assert "adapters.declared" not in after, "nothing here is of a family that a file declares"


@pytest.mark.parametrize(
    ("command", "first", "later"),
    [
        ("simulate --seeds 1", "simulating 1 run, from seed 0", ("adapters", "proof", "simulator", "sqlalchemy")),
        ("rehearse controlled Risk_VPN --fast", "making a copy of the pair", ("simulator", "sqlalchemy")),
        ("resume last", "connecting to", ("cryptography", "orchestrator.engine.engine", "yaml")),
        ("abort last", "connecting to", ("cryptography", "orchestrator.engine.engine", "yaml")),
    ],
)
def test_a_line_comes_before_what_takes_long_to_load(
    command: str, first: str, later: Sequence[str], stopped: Path, tmp_path: Path
) -> None:
    """Law: a command that needs much says what it does before it loads that."""
    state = tmp_path / "state"
    shutil.copytree(stopped, state)
    before, after = loaded_around(first, command.split(), {"FAILOVER_STATE": str(state)})
    assert among(before, later) == []
    assert among(after, later) == list(later), "control: they are loaded later"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with a run that stopped at its transactions, and needs an operator."""
    state = tmp_path_factory.mktemp("state")
    command = [sys.executable, "-m", "orchestrator.cli", "controlled", "Trading_VPN", "--yes", "--xa", "stop"]
    ended = subprocess.run(command, env={**os.environ, "FAILOVER_STATE": str(state)}, capture_output=True)
    assert ended.returncode == 6
    return state


@pytest.mark.parametrize(
    "command",
    [
        "simulate --seeds 1",
        "rehearse controlled Risk_VPN --fast",
        "runbook explore solace/controlled --states 100",
        "runbook lint solace/controlled",
    ],
)
def test_machines_read_no_first_line(command: str, shell: Shell) -> None:
    """Law: with --json, stderr has nothing but errors. Without it, an operator reads there what takes so long."""
    assert shell(*command.split(), "--json").err == ""
    assert shell(*command.split()).err != "", "control"


def test_a_list_of_families_loads_no_session(tmp_path: Path) -> None:
    """Law: what an adapter can do is shown without what it connects with."""
    modules = loaded_with(tmp_path, ["family", "list"])
    assert {"adapters.solace.semp.adapter", "adapters.amps.adapter"} <= modules, "control: all adapters are loaded"
    sessions = ("httpx", "orchestrator.engine", "orchestrator.operations.conformance", "paramiko", "sqlalchemy")
    assert among(modules, sessions) == []


def test_help_builds_no_command() -> None:
    """Law: a list of commands builds the text of each, and the options of none; typer builds all of them."""
    context = typer.Context(command_tree(app))
    listed = [one for rows in command_groups(context.command, context).values() for one in rows]
    assert len(listed) > 20
    assert [name for name, one in listed if one.params] == []
    whole = typer.main.get_command(app)
    assert whole.commands["status"].params, "control: the whole tree has them"  # type: ignore[attr-defined]


def test_the_tree_is_that_of_typer() -> None:
    """Law: commands that are built when they are used have the same texts and options as those that typer builds."""
    assert described(command_tree(app)) == described(typer.main.get_command(app))


def described(command: object, above: typer.Context | None = None) -> object:
    """The texts and options of a command, and of those in it."""
    one = command
    context = typer.Context(one, info_name=one.name, parent=above)  # type: ignore[arg-type, attr-defined]
    inside = getattr(one, "commands", {})
    return (
        one.get_help(context),  # type: ignore[attr-defined]
        one.hidden,  # type: ignore[attr-defined]
        option_groups(one, context),
        {name: described(inside[name], context) for name in inside},
    )


def loaded_around(text: str, arguments: Sequence[str], more: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """The modules that a command at a terminal loads before it prints ``text``, and after."""
    ours, its = os.openpty()
    command = [sys.executable, "-X", "importtime", "-m", "orchestrator.cli", *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAILOVER")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, env={**kept, **more})
    os.close(its)
    read = b""
    with suppress(OSError):  # what a terminal answers once the last process is gone
        while piece := os.read(ours, 65536):
            read += piece
    os.close(ours)
    process.wait()
    before, found, after = read.decode().partition(text)
    assert found
    return _modules(before), _modules(after)


def _modules(told: str) -> set[str]:
    return set(re.findall(r"^import time:[^|]*\|[^|]*\| +([\w.]+)\r?$", told, re.MULTILINE))
