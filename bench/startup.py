"""How long `failover --help` takes, against `python -c "import typer"`, alternately in one run."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

ROUNDS = 15
_HELP = (
    sys.executable,
    "-c",
    "from orchestrator.cli.main import main; import sys; sys.argv[1:] = ['--help']; main()",
)
_TYPER = (sys.executable, "-c", "import typer")


def main() -> None:
    """Print both medians and their ratio."""
    taken: dict[tuple[str, ...], list[float]] = {_HELP: [], _TYPER: []}
    for _ in range(ROUNDS):
        for command, samples in taken.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            samples.append(time.perf_counter() - start)
    help_s, typer_s = median(taken[_HELP]), median(taken[_TYPER])
    print(
        f"failover --help {help_s * 1000:.0f} ms, import typer {typer_s * 1000:.0f} ms, ratio {help_s / typer_s:.2f}"
    )


if __name__ == "__main__":
    main()
