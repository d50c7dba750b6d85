"""``--no-wait``: the run continues in the background."""

from __future__ import annotations

from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.operations.runs.background import begin
from orchestrator.operations.runs.lead import Request
from orchestrator.operations.runtime import Tools


def begin_elsewhere(tools: Tools, request: Request, *, as_json: bool) -> int:
    """Start the run in another process, and print the path of its log. Returns 0 once that process leads the run."""
    begun = begin(tools, request, say)
    words = f"started; the run continues in the background, and its log is {begun.log}"
    simulated = begun.plan.simulated
    if as_json:
        show_json({"result": {"run": begun.run, "simulated": simulated, "message": words, "exit_code": 0}})
        return 0
    show(f"{'SIMULATED  ' if simulated else ''}run {begun.run}: {words}")
    say(f"to show the run: failover runs show {begun.run}; to abort it: failover abort {begun.run} --reason TEXT")
    return 0
