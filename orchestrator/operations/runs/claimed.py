"""The outcome of the run that a long-lived operation started, such as a guard."""

from __future__ import annotations

from contextlib import closing

from orchestrator.core.run import fold
from orchestrator.journal.lease import claims, service_key
from orchestrator.model import events as ev
from orchestrator.operations.runtime import Tools


def is_paused(tools: Tools, plan: ev.Plan) -> bool:
    """Is an unfinished run with a service of ``plan`` paused? The operator who paused it also stops the operation."""
    with closing(tools.journal()) as journal:
        claimed = claims(journal)
        owners = {claimed.get(service_key(plan, service)) for service in plan.services}
        return any(run is not None and fold(journal.records(run)).status == "paused" for run in owners)
