"""A family of two counters, declared with commands alone, and a pair of them in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
COUNTER: Mapping[str, Any] = {
    "family": "counter",
    "summary": "A counter in a file of each site.",
    "words": {"service": "counter", "services": "counters", "backlog": "step"},
    "options": {"file": {"says": "the file that holds the counter"}, "programs": {"says": "where Python is"}},
    "connect": {"exec": {"path": ["{programs}"]}},
    "readings": {
        "counter": {
            "summary": "who counts, and how far",
            "exec": ["cat", "{file}"],
            "fields": {
                "writable": {"from": "/state/role", "type": "bool", "true_when": "primary", "facet": "serves"},
                "linked": {"from": "/linked", "type": "bool", "facet": "link"},
                "unsent": {
                    "from": "/unsent",
                    "type": "number",
                    "facet": "backlog",
                    "unit": "step",
                    "when": {"writable": True},
                },
            },
        }
    },
    "actions": {
        "stop": {
            "summary": "stop counting",
            "exec": ["python3", "-c", "SCRIPT", "{file}", "gated"],
            "idempotent": True,
            "inverse": "start",
            "makes": {"serves": False},
            "refused": [3],
            "timeout": "5s",
        },
        "start": {
            "summary": "count",
            "exec": ["python3", "-c", "SCRIPT", "{file}", "primary"],
            "idempotent": True,
            "inverse": "stop",
            "makes": {"serves": True},
            "refused": [3],
            "timeout": "5s",
        },
    },
}
SCRIPT = (
    "import json, sys, time; path, role = sys.argv[1:]; state = json.load(open(path)); "
    "time.sleep(state.get('wait', 0)); "
    "sys.exit(state['code']) if state.get('code') else None; "
    "state['state']['role'] = role; json.dump(state, open(path, 'w'))"
)
RUNBOOK = """\
runbook: counter/controlled
summary: Planned switch of a counter.
steps:
  - id: stop
    title: The source stops
    require:
      - {on: source, reading: counter, where: {writable: true, linked: true, unsent: 0}}
      - {on: target, reading: counter, where: {writable: false}}
    do: {on: source, action: stop}
    expect:
      - {on: source, reading: counter, where: {writable: false}}
    undo:
      require:
        - {on: target, reading: counter, where: {writable: false}}
      do: {on: source, action: start}
      expect:
        - {on: source, reading: counter, where: {writable: true}}
  - id: start
    title: The target counts
    point_of_no_return: true
    require:
      - {on: source, reading: counter, where: {writable: false}}
      - {on: target, reading: counter, where: {writable: false}}
    do: {on: target, action: start}
    expect:
      - {on: target, reading: counter, where: {writable: true}}
"""
INVENTORY = """\
sites:
  ny: {{adapter: counter, devices: [{{name: ny1}}], options: {{file: {folder}/ny.json, programs: {programs}}}}}
  nj: {{adapter: counter, devices: [{{name: nj1}}], options: {{file: {folder}/nj.json, programs: {programs}}}}}
pairs:
  - {{name: counters, sites: [ny, nj], services: [one]}}
"""


@dataclass(frozen=True)
class Counters:
    """A pair in ``folder``, with its family in the folder ``families`` beside the inventory."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Counters:
        """ny counts, and nj has everything."""
        families = folder / "families"
        (families / "counter").mkdir(parents=True)
        text = yaml.safe_dump(json.loads(json.dumps(COUNTER)), sort_keys=False)
        (families / "counter.yaml").write_text(text.replace("SCRIPT", json.dumps(SCRIPT)))
        (families / "counter/controlled.yaml").write_text(RUNBOOK)
        programs = Path(sys.executable).parent
        (folder / "inventory.yaml").write_text(INVENTORY.format(folder=folder, programs=programs))
        (folder / "state").mkdir(mode=0o700)
        made = cls(folder)
        made.write("ny", state={"role": "primary"}, linked=True, unsent=0)
        made.write("nj", state={"role": "copy"}, linked=True)
        return made

    def write(self, site: str, **state: Any) -> None:
        """The whole of one site."""
        (self.folder / f"{site}.json").write_text(json.dumps(state))

    def role(self, site: str) -> str:
        """What a site is."""
        return str(json.loads((self.folder / f"{site}.json").read_text())["state"]["role"])

    @property
    def environment(self) -> dict[str, str]:
        """That of a command."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("FAILOVER")},
            "FAILOVER_STATE": str(self.folder / "state"),
            "FAILOVER_INVENTORY": str(self.folder / "inventory.yaml"),
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
        }

    def run(self, *words: str) -> tuple[int, str]:
        """The exit code of a command, and what it said."""
        done = subprocess.run(
            [sys.executable, "-m", "orchestrator.cli", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """A command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
