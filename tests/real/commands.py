"""Commands of ``failover``, as an operator of a pair types them."""

from __future__ import annotations

import os
import subprocess
import sys
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

    def run(self, *words: str) -> tuple[int, str]:
        """The exit code of a command, and what it said."""
        process = self.start(*words)
        out, _ = process.communicate(timeout=180)
        return process.returncode, out
