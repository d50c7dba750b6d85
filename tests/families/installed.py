"""Installs the example family ``ledger`` into a folder of its own, and runs the command line with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ENTRY_POINTS = """\
[failover.adapters]
ledger-files = ledger:LedgerAdapter

[failover.families]
ledger = ledger:LEDGER
"""
INVENTORY = """\
sites:
  ny:
    adapter: ledger-files
    devices: [{{name: ny1, address: 127.0.0.1}}]
    options: {{folder: {folder}/ny}}
  nj:
    adapter: ledger-files
    devices: [{{name: nj1, address: 127.0.0.1}}]
    options: {{folder: {folder}/nj}}
pairs:
  - {{name: books, sites: [ny, nj], services: [orders]}}
"""


@dataclass(frozen=True)
class Ledgers:
    """A pair of ledgers in ``folder``, and the distribution that knows what one is in ``site``."""

    folder: Path
    site: Path

    @classmethod
    def install(cls, folder: Path) -> Ledgers:
        """As ``pip install --target`` would: the modules, and what their distribution offers."""
        site = folder / "site"
        shutil.copytree(ROOT / "examples/ledger", site)
        info = site / "ledger-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ledger\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(ENTRY_POINTS)
        (folder / "state").mkdir(mode=0o700)
        (folder / "inventory.yaml").write_text(INVENTORY.format(folder=folder))
        for name in ("ny", "nj"):
            (folder / name).mkdir()
        ledgers = cls(folder, site)
        ledgers.write(
            "ny", writable=True, rows=300, acknowledged=100, batches=[{"name": "b1", "open": True, "rows": 3}]
        )
        ledgers.write("nj", writable=False, rows=100, acknowledged=None, batches=[])
        return ledgers

    def write(self, site: str, **state: Any) -> None:
        """One site's files; replication has just been there."""
        rows = {"linked_at": time.time(), **state}
        own = {name: rows.pop(name) for name in ("writable", "batches")}
        (self.folder / site / "orders.json").write_text(json.dumps(own))
        (self.folder / site / "orders.rows.json").write_text(json.dumps(rows))

    def read(self, site: str) -> dict[str, Any]:
        """One site's files."""
        files = [json.loads((self.folder / site / f"orders{part}.json").read_text()) for part in ("", ".rows")]
        return {**files[0], **files[1]}

    def environment(self, *, with_family: bool = True) -> dict[str, str]:
        """That of a command."""
        path = [str(self.site)] if with_family else []
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("FAILOVER")},
            "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]),
            "FAILOVER_STATE": str(self.folder / "state"),
            "FAILOVER_INVENTORY": str(self.folder / "inventory.yaml"),
            "NO_COLOR": "1",
        }

    def start(self, words: Sequence[str], *, with_family: bool = True) -> subprocess.Popen[str]:
        """A command of its own process, with both streams in pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", *words],
            env=self.environment(with_family=with_family),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, with_family: bool = True) -> tuple[int, str]:
        """The exit code, and both streams of a command."""
        process = self.start(words, with_family=with_family)
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err

    def replicate(self) -> subprocess.Popen[bytes]:
        """The replication from ny to nj, until it is ended."""
        words = [str(self.site / "ledger.py"), "replicate", str(self.folder / "ny"), str(self.folder / "nj")]
        return subprocess.Popen([sys.executable, *words], env=self.environment())
