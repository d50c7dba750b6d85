"""What `failover status` makes of what a site said."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from orchestrator.cli.survey import SiteSurvey, end_of
from orchestrator.contract import Failure
from orchestrator.readings import (
    QueueDepth,
    Reading,
    ReplicationStatus,
    Role,
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
    end = end_of(SiteSurvey("ny", answers), "V")
    assert (end["prepared"], end["messages"], end["role"]) == (count, 3, "active")
