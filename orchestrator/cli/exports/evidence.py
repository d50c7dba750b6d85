"""Takes the evidence for a fail-back at once. Both sites are read and compared, and the report is kept with the state."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from orchestrator.cli.exports.compare import progress_of
from orchestrator.cli.exports.reconcile import engine_installed
from orchestrator.cli.render.terminal import say_unless
from orchestrator.cli.spark_options import SparkOptions
from orchestrator.clock import iso
from orchestrator.model import events as ev
from orchestrator.operations.exports.compare import Comparison, compared, pair_of
from orchestrator.operations.runtime import Tools

TAKE = "take"
_FOLDER = "evidence"


def taken_evidence(tools: Tools, plan: ev.Plan, *, as_json: bool) -> Path:
    """The report of a new comparison, for the services and the fail-over of ``plan``. Raises ``FailoverError``."""
    run = None if plan.outage is None else plan.outage.run
    moment = iso(tools.clock.now()).replace(":", "").replace("-", "")
    folder = tools.state / _FOLDER / moment
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pair = pair_of(plan.inventory, plan.pair)
    with engine_installed():
        wanted, tell = Comparison(pair, plan.services, run), say_unless(as_json)
        observers = partial(progress_of, shows=not as_json)
        report = compared(tools, plan.inventory, wanted, folder, SparkOptions().settings(), observers, tell)
    file = folder / _FOLDER / "report.json"
    verdicts = ", ".join(f"{one.name} {one.verdict}" for one in report.services)
    say_unless(as_json)(f"evidence: {verdicts}; kept in {file}")
    return file
