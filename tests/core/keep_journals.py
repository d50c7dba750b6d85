"""Keeps a journal of each kind of end as this version writes it, for every later version to fold.

``python -m tests.core.keep_journals`` writes ``journals/<version>.<outcome>.jsonl``, and never over one that is there:
what an old version wrote is a fixture for ever.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.clock import VirtualClock
from orchestrator.errors import CommandRejected, CommandTimedOut
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.version import VERSION
from tests.core.builders import CONTROLLED, DRAIN, a_plan
from tests.core.leading import RUN, Lead, ScriptedDesk
from tests.core.scripted import ScriptedPair

FOLDER = Path(__file__).parent / "journals"
COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")


def _plan() -> ev.Plan:
    quick = {**DRAIN, "when_guard_breaks": {**DRAIN["when_guard_breaks"], "grace": "2s"}}
    steps = (quick if step is DRAIN else step for step in CONTROLLED)
    return a_plan(*steps, policy=ev.Policy(transactions={"1-a-b": COMMIT}))


def _done(lead: Lead) -> None:
    lead.pair.prepare("1-a-b")
    lead.pair.fail("set_role", CommandTimedOut("no answer"), obeyed=True)


def _lost(lead: Lead) -> None:
    lead.pair.once_told("set_role", "source", 0.3, lead.pair.lose_bridge)


def _stuck(lead: Lead) -> None:
    _lost(lead)
    lead.pair.fail("set_role", CommandRejected("busy"), skip=1)


TALES: Mapping[str, tuple[Callable[[Lead], None], Mapping[str, str] | None]] = {
    "done": (_done, None),
    "refused": (lambda lead: lead.pair.lose_bridge(), None),
    "reverted": (_lost, None),
    "escalated": (_lost, {"bridge-lost": "escalate"}),
    "needs-operator": (lambda lead: lead.pair.prepare("1-x-x"), None),
    "stuck": (_stuck, None),
}


def keep(folder: Path = FOLDER) -> list[Path]:
    """Write what is not there yet; the paths of it."""
    folder.mkdir(exist_ok=True)
    kept = []
    for outcome, (arrange, answers) in TALES.items():
        path = folder / f"{VERSION}.{outcome}.jsonl"
        if not path.exists():
            path.write_text(_journal_of(outcome, arrange, answers), encoding="utf-8")
            kept.append(path)
    return kept


def _journal_of(outcome: str, arrange: Callable[[Lead], None], answers: Mapping[str, str] | None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.at(Path(folder) / "journal.sqlite")
        lead = Lead(ScriptedPair(VirtualClock(), depth=100, rate=100), journal)
        arrange(lead)
        run = lead.start(_plan(), desk=ScriptedDesk(answers) if answers else None)
        if str(run.outcome) != outcome:
            raise ValueError(f"the tale of {outcome} ended {run.outcome}")
        lines = [json.dumps(dict(line), ensure_ascii=False) for line in journal.lines(RUN)]
        journal.close()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for path in keep():
        print(path)  # noqa: T201 - a command for developers
