"""A night of runs on the simulated pair, on virtual time, and their exports."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.cli.main import main
from orchestrator.clock import Clock, VirtualClock
from orchestrator.engine.dispatch import InlineFleet, Prompter
from orchestrator.family.contract import Adapter, Permit
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.runbook import Side
from orchestrator.operations.runtime import Tools
from simulator.embedded import embedded_world
from tests.cli.shell import DECISIONS, VPN


@dataclass
class Night:
    """A directory with the exports of six runs to and fro, one of them with a lost request; and their own reports."""

    folder: Path
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def records(self) -> Path:
        return self.folder / "records"

    def pass_by(self) -> None:
        """All of it, on the injected clock."""
        self.records.mkdir()
        decisions = self.folder / "decisions.yaml"
        decisions.write_text(DECISIONS, encoding="utf-8")
        tools = Tools(self.folder, VirtualClock(), SecretStore(None), Registry(), inline)
        for number in range(6):
            source = ("--from", ("ny", "nj")[number % 2])
            fault = ("--fault", "demote: lose request") if number == 3 else ()
            typed(tools, "controlled", "--vpn", VPN, "--yes", *source, "--xa", str(decisions), *fault)
            report = json.loads(typed(tools, "runs", "show", "last", "--json"))
            self.reports.append(report)
            typed(tools, "runs", "export", "last", "-o", str(self.records / f"{report['run']}-{number}.jsonl"))
            pause(tools, 3_600.0)


def inline(adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, desk: Prompter | None) -> InlineFleet:
    return InlineFleet(adapters, permit, clock, prompter=desk)


def typed(tools: Tools, *arguments: str) -> str:
    """What a command prints; it must end well."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments, tools)
    assert code == 0, err.getvalue()
    return out.getvalue()


def pause(tools: Tools, seconds: float) -> None:
    """Let time pass for the pair, too: it does only while somebody holds its world."""
    with closing(embedded_world(tools.world_file, tools.clock)) as world:
        tools.clock.sleep(seconds)
        with world.request():
            pass
