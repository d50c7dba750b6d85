"""The time of each command to its first line and to its end, against `python -c "import typer"` in the same run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROUNDS = 5
_TYPER = ("-c", "import typer; print()")
_PROGRAM = ("-c", "import sys; from orchestrator.cli.main import main; sys.exit(main())")
# Daily commands first, then the others. The record contains one finished run.
_COMMANDS = (
    "--help",
    "status",
    "check",
    "watch NONE",
    "guard --site ny",
    "plan Trading_VPN",
    "controlled Trading_VPN --dry-run",
    "controlled Risk_VPN --yes",
    "uncontrolled Trading_VPN --site ny --dry-run",
    "restore Trading_VPN --site ny --dry-run",
    "failback Trading_VPN --site ny --dry-run",
    "repair Trading_VPN --site ny --dry-run",
    "compare Trading_VPN",
    "snapshot Trading_VPN --site ny --out kept",
    "runs list",
    "runs show last",
    "runs report last",
    "runs export last",
    "runs verify",
    "runs schema",
    "hooks list",
    "attach last",
    "resume last",
    "abort last",
    "decide wait --gate bridge-lost --reason bench",
    "runbook list",
    "runbook lint solace/controlled",
    "runbook explore solace/controlled --states 1000",
    "runbook show solace/controlled",
    "runbook graph solace/controlled",
    "runbook schema",
    "inventory show sites.yaml",
    "inventory lint sites.yaml",
    "inventory schema",
    "family list",
    "family show solace",
    "family test solace",
    "family new orders-db",
    "lab editions",
    "man pages",
    "validate amps.xml",
    "rehearse controlled Trading_VPN --fast",
    "simulate --seeds 2",
)
_COMPLETED = ("status ", "runs show ")  # the shell completes the word after each of these
_AMPS = "<AMPSConfig><Name>one</Name><Group>ny</Group></AMPSConfig>"


class _Taken(NamedTuple):
    """Seconds and CPU seconds of one process, to its first line and to its end."""

    first_s: float
    first_cpu_s: float
    end_s: float
    end_cpu_s: float


def main() -> None:
    """Print the medians, and their ratios to the medians of ``import typer``."""
    with TemporaryDirectory() as folder:
        record = Path(folder) / "record"
        record.mkdir(mode=0o700)
        (Path(folder) / "amps.xml").write_text(_AMPS)
        shutil.copy(Path(__file__).parent.parent / "examples" / "inventory.yaml", Path(folder) / "sites.yaml")
        _started([*_PROGRAM, "controlled", "Risk_VPN", "--yes"], _surroundings(record), folder)
        samples: dict[str, list[_Taken]] = {}
        for turn in range(ROUNDS):
            for name, command, more in _starts():
                state = Path(folder) / str(turn)
                shutil.copytree(record, state)
                samples.setdefault(name, []).append(_started(command, {**_surroundings(state), **more}, folder))
                shutil.rmtree(state)
    _show({name: _Taken(*map(median, zip(*taken, strict=True))) for name, taken in samples.items()})


def _starts() -> Iterator[tuple[str, Sequence[str], Mapping[str, str]]]:
    """The programs to start: name, command, and additions to the environment."""
    yield "import typer", _TYPER, {}
    for command in _COMMANDS:
        yield command, [*_PROGRAM, *command.split()], {}
    for words in _COMPLETED:
        asked = {"_FAILOVER_COMPLETE": "complete_bash", "COMP_WORDS": f"failover {words}"}
        number = str(len(words.split()) + 1)
        yield f"<Tab> behind {words}", _PROGRAM, {**asked, "COMP_CWORD": number}


def _surroundings(state: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAILOVER")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its byte code
    return {**kept, "FAILOVER_STATE": str(state), "PYTHONPATH": str(Path(__file__).parent.parent)}


def _started(command: Sequence[str], environment: Mapping[str, str], folder: str) -> _Taken:
    """Run the command in a terminal without input."""
    ours, its = os.openpty()
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=environment, cwd=folder
    )
    os.close(its)
    os.read(ours, 65536)
    first_s, first_cpu_s = time.perf_counter() - start, _cpu_s(process.pid)
    with suppress(OSError):  # a terminal raises this error after the last process ended
        while os.read(ours, 65536):
            pass
    os.close(ours)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return _Taken(first_s, first_cpu_s, time.perf_counter() - start, used.ru_utime + used.ru_stime)


def _cpu_s(pid: int) -> float:
    """The CPU seconds of the process so far. Until its first line a command has one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _show(taken: Mapping[str, _Taken]) -> None:
    typer = taken["import typer"]
    width = max(map(len, taken))
    print(f"{'':{width}}  {'to the first line':>24}  {'to the end':>24}")
    print(f"{'':{width}}  {'ms':>8}{'CPU ms':>8}{'ratio':>8}  {'ms':>8}{'CPU ms':>8}{'ratio':>8}")
    for name, one in taken.items():
        first = _cells(one.first_s, one.first_cpu_s, one.first_cpu_s / typer.first_cpu_s)
        print(f"{name:{width}}  {first}  {_cells(one.end_s, one.end_cpu_s, one.end_cpu_s / typer.end_cpu_s)}")
    print("ratio: CPU time, to that of `import typer`")


def _cells(seconds: float, cpu_s: float, ratio: float) -> str:
    return f"{seconds * 1000:8.0f}{cpu_s * 1000:8.0f}{ratio:8.1f}"


if __name__ == "__main__":
    main()
