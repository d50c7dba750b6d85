"""``failover runs verify``: shows for each record what was proven and what was not."""

from __future__ import annotations

from orchestrator.cli.render.terminal import show, show_json
from orchestrator.counting import counted
from orchestrator.operations.runtime import Tools
from orchestrator.operations.verify import Verdict, VerifyRequest, verdicts_of


def verify(tools: Tools, request: VerifyRequest, *, as_json: bool) -> int:
    """Print each verdict. Returns 0, or 4 if a record is not proven, or if there is no record."""
    bad = 0
    for verdict in verdicts_of(tools, request):
        bad += bool(verdict.problem)
        _print(verdict, as_json=as_json)
    return 4 if bad else 0


def _print(verdict: Verdict, *, as_json: bool) -> None:
    head = f"{verdict.records}:{verdict.head}" if verdict.head else None
    if as_json:
        show_json(
            {
                "verified": verdict.what,
                "ok": not verdict.problem,
                "records": verdict.records,
                "simulated": verdict.simulated,
                "head": head,
                "signature": verdict.signature,
                "key": verdict.key or None,
                "problem": verdict.problem,
                "note": verdict.note,
            }
        )
        return
    marker = "SIMULATED  " if verdict.simulated else ""
    by = {"unsigned": "unsigned", "signed": "signed by key ", "not checked": "signature not checked, made by key "}
    found = (
        verdict.problem.removeprefix(f"{verdict.what}: ")
        or f"{counted(verdict.records, 'record')}, unbroken, {by[verdict.signature]}{verdict.key}"
    )
    show(f"{marker}{verdict.what}: {found}")
    if head is not None and not verdict.problem:
        show(f"    head {head}")
    if verdict.note:
        show(f"    {verdict.note}")
