"""No code from the working directory: whoever can write a file where an operator stands must not lead his run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orchestrator.errors import DefinitionError
from pipeline.java import find_java
from tests.cli.processes import FAILOVER, Bench
from tests.spark.looking import WATCH_RULES, night

pytestmark = pytest.mark.realtime

ROOT = Path(__file__).parents[2]
# Modules that the product, its libraries and Python's own starters import by these names.
_POISONED = (
    *("typer", "rich", "yaml", "pydantic", "sqlalchemy", "transitions", "json", "signal", "socket", "pickle"),
    *("multiprocessing", "encodings"),
    *("orchestrator", "adapters", "simulator", "validator", "pipeline", "proof", "runbooks", "pyspark", "py4j"),
)
PATIENCE_S = 240.0


def poison(folder: Path) -> None:
    """Put a module of each of these names there, half of them as packages; each tells that it was imported."""
    for number, name in enumerate(_POISONED):
        tell = f"open({str(folder / f'PWNED-{name}')!r}, 'w').close()\n"
        if number % 2:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(tell)
        else:
            (folder / f"{name}.py").write_text(tell)


def imported(folder: Path) -> list[str]:
    """The names of the modules in ``folder`` that somebody imported."""
    return sorted(path.name for path in folder.glob("PWNED-*"))


def ended(folder: Path, command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, started in ``folder`` with little else in its environment."""
    plain = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return subprocess.run(
        command,
        cwd=folder,
        env={**plain, "LC_ALL": "C.UTF-8", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_control_poison_works(tmp_path: Path) -> None:
    """Control: a Python that is started without care does import what lies in the working directory."""
    poison(tmp_path)
    ended(tmp_path, [sys.executable, "-m", "orchestrator.cli", "--version"])
    assert imported(tmp_path)


def test_a_run_in_the_background(make_bench: Callable[..., Bench]) -> None:
    """Law: `--no-wait` in a folder of somebody else's modules leads the run to its end, and imports none of them."""
    bench = make_bench()
    poison(bench.folder)
    command = ("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--idempotency-key", "k", "--json")
    started = bench.run(*command, "--no-wait")
    assert started.code == 0, started.err
    waited = bench.run(*command)
    assert (waited.code, waited.result["outcome"], imported(bench.folder)) == (0, "done", [])


def test_workers_of_spark(tmp_path: Path) -> None:
    """Law: a pipeline job whose own code runs in workers of PySpark imports nothing from the working directory, neither
    in its driver nor in a worker."""
    try:
        find_java()
    except DefinitionError as error:
        pytest.skip(f"{error}; {error.hint}")
    poison(tmp_path)
    for file in night()[:20]:
        file.write(tmp_path / "readings")
    places = ("readings", "--checkpoint", "followed", "--available-now", "--json")
    limits = ("--memory", "600m", "--master", "local[1]")
    done = ended(tmp_path, [FAILOVER, "pipeline", "watch", *places, *WATCH_RULES, *limits], FAILOVER_STATE="state")
    assert (done.returncode in (0, 4), imported(tmp_path)) == (True, []), done.stderr[-2000:]


def test_workers_of_a_simulation(tmp_path: Path) -> None:
    """Law: the processes that share a simulation, also those that cannot be forked, import nothing from there."""
    poison(tmp_path)
    program = (
        "import threading\n"
        "from proof.simulation.many import play_many\n"
        "from proof.simulation.story import KINDS\n"
        "if __name__ == '__main__':\n"
        "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "    print(sum(one.seeds for one in play_many(range(40), KINDS, jobs=2)))\n"
    )
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "many.py").write_text(program)
    done = ended(tmp_path, [sys.executable, "elsewhere/many.py"])
    assert (done.stdout.strip(), imported(tmp_path)) == ("40", []), done.stderr[-2000:]


def test_started_by_another_program(
    make_bench: Callable[..., Bench], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Law (a program in one file, as zipapp and shiv make it): where the interpreter itself knows nothing of the product,
    `--no-wait` runs the very code that was started, and still nothing of the working directory."""
    bench = make_bench()
    poison(bench.folder)
    place = tmp_path_factory.mktemp("app")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (place / "__main__.py").write_text(
        f"import sys\nsys.path[:0] = {[str(ROOT), *libraries]!r}\n"
        "from orchestrator.cli.main import main\nsys.exit(main())\n"
    )
    bare = str(Path(sys.base_prefix) / "bin" / "python3")
    assert ended(bench.folder, [bare, "-P", "-c", "import orchestrator"]).returncode == 1
    command = (bare, str(place), "controlled", "--all", "--yes", "--runbook", "hasty.yaml")
    own = {"FAILOVER_STATE": "state", "FAILOVER_INVENTORY": "pair.yaml"}
    started = ended(bench.folder, [*command, "--no-wait", "--json"], **own)
    assert started.returncode == 0, started.stderr
    run = json.loads(started.stdout)["result"]["run"]
    log = bench.folder / "state" / "logs" / f"{run}.log"
    deadline = time.monotonic() + PATIENCE_S
    while '"result"' not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert json.loads(log.read_text().splitlines()[-1])["result"]["outcome"] == "done"
    assert imported(bench.folder) == []
