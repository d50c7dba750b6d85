"""What `failover status` makes of what a site said."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from orchestrator.cli.pairs.status import SiteSurvey, end_of, verdict
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from orchestrator.model.readings_solace import (
    Bridge,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)


@pytest.mark.parametrize(
    ("states", "count"),
    [
        ((), 0),
        ((TransactionState.PREPARED, TransactionState.IDLE, TransactionState.PREPARED), 2),
        ((TransactionState.PREPARED, None), None),
    ],
)
def test_how_many_are_prepared(states: tuple[TransactionState | None, ...], count: int | None) -> None:
    """Law: a number is one only if the state of each transaction was told; none of them is left out of it."""
    items = tuple(Transaction(xid=str(number), state=state) for number, state in enumerate(states))
    answers: Mapping[str, Mapping[str, Reading | Failure]] = {
        "replication": {"V": ReplicationStatus(role=Role.ACTIVE)},
        "replication_queue": {"V": QueueDepth(messages=3)},
        "transactions": {"V": Transactions(items=items)},
    }
    end = end_of(SiteSurvey("ny", "solace", answers), "V")
    assert (end["prepared"], end["messages"], end["role"]) == (count, 3, "active")


@pytest.mark.parametrize(("rejects", "suspended"), [(True, False), (False, True), (None, None)])
def test_whether_replication_is_suspended(rejects: bool | None, suspended: bool | None) -> None:
    """Law: it is what the site's own replication queue tells; one that does not tell leaves it unknown, not false."""
    end = an_end(Role.ACTIVE, QueueDepth(messages=3, rejects_on_discard=rejects))
    assert end["suspended"] is suspended


@pytest.mark.parametrize("bound", [True, False])
def test_a_suspension_is_not_ok(bound: bool) -> None:
    """Law: a service whose serving site has replication suspended is not as it should be, whatever else is so; a standby
    that has it suspended keeps no message from anybody, and what is unknown is no suspension."""
    serving = an_end(Role.ACTIVE, QueueDepth(messages=3, rejects_on_discard=False), bound=bound)
    plain = an_end(Role.ACTIVE, QueueDepth(messages=3), bound=bound)
    standby = an_end(Role.STANDBY, QueueDepth(messages=0, rejects_on_discard=False), bound=bound)
    dark = an_end(None, None)
    words = "replication is suspended"
    assert verdict([serving, standby]) == (words if bound else f"bridge not bound; {words}")
    assert words not in verdict([plain, standby])
    assert verdict([dark, serving]).endswith(f"; {words}")


def an_end(role: Role | None, queue: QueueDepth | None, *, bound: bool = True) -> Mapping[str, object]:
    """One site of a service, with a bridge that is bound or not; without a role it does not answer."""
    gone = Failure(kind="Unreachable", text="it does not answer")
    status = ReplicationStatus(role=role, bridge=Bridge.BOUND if bound else Bridge.DOWN, queue_bound=bound)
    answers: Mapping[str, Mapping[str, Reading | Failure]] = {
        "replication": {"V": gone if role is None else status},
        "replication_queue": {"V": queue or gone},
        "transactions": {"V": Transactions()},
    }
    return end_of(SiteSurvey("ny", "solace", answers), "V")
