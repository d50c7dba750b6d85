"""What shipped runbooks ask before they undo a step."""

from __future__ import annotations

from adapters.amps.reading_models import Clients, Transport, Transports
from orchestrator.core.decide import decide
from orchestrator.documents.loader import load_runbook
from orchestrator.model import events as ev
from tests.core.builders import T0, a_lane, a_plan, see, seen

ASYNC = a_plan().model_copy(update={"runbook": load_runbook("amps/controlled-async")})


def undone(clients: int | None) -> tuple[ev.Event, ...]:
    """The source of an async pair was closed, and the lane is rolled back. The target is closed, with so many clients."""
    closed = Transports(items=(Transport(name="amps-tcp", type="tcp", replication=False, enabled=False),))
    lane = a_lane(status="reverting", undo=("close",), step=ASYNC.runbook.index_of("clients-gone"), changed=True)
    lane = see(lane, seen("target", closed), seen("target", Clients(count=clients)))
    return tuple(decide(ASYNC, lane, T0, attended=False).events)


def test_an_async_source_is_opened_again_only_beside_a_target_without_clients() -> None:
    """Promise 1: a client that somebody let in at the target may still publish there after the target was closed."""
    (sent,) = undone(0)
    assert isinstance(sent, ev.ActionIntended)
    (failed,) = undone(1)
    assert isinstance(failed, ev.StepFailed)
    assert "a client is still connected to the target" in failed.why
    assert undone(None) == ()
