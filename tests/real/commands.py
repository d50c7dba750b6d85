"""Commands of ``failover``, as an operator of a pair types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class Operator:
    """Works in ``folder``, where the inventory and the state are. ``variables``: more of the environment."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict, kw_only=True)

    @property
    def environment(self) -> dict[str, str]:
        """That of every command."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FAILOVER_STATE": str(self.folder / "state"),
            "FAILOVER_INVENTORY": str(self.folder / "inventory.yaml"),
            "NO_COLOR": "1",
            **self.variables,
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @contextmanager
    def guarding(self, site: str) -> Iterator[list[str]]:
        """`failover guard` of a site, for a block; afterwards the list has what it said. It has to end well."""
        words = ("--yes", "--interval", "200ms", "--reason", "it may come back")
        guard, said = self.start("guard", "--site", site, *words), list[str]()
        try:
            yield said
        finally:
            guard.send_signal(signal.SIGINT)
            said.append(guard.communicate(timeout=60)[0])
        assert guard.returncode == 0, said

    def outcomes(self, runbook: str) -> list[str]:
        """How its runs ended, the newest first."""
        code, text = self.run("runs", "list", "--json")
        assert code == 0, text
        runs = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [one["outcome"] or one["status"] for one in runs if one.get("runbook") == runbook]

    def run(self, *words: str) -> tuple[int, str]:
        """The exit code of a command, and what it said."""
        process = self.start(*words)
        out, _ = process.communicate(timeout=300)
        return process.returncode, out
