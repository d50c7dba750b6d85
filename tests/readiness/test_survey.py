"""What `failover status` makes of what a site said."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adapters.amps.reading_models import Clients, Link, Links, Queues, Transport, Transports
from adapters.solace.offers.status import figures
from adapters.solace.reading_models import (
    Bridge,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.family.status import Answers
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Role
from orchestrator.operations.pairs.status import SiteSurvey, judged


def changed(status: ReplicationStatus, **values: object) -> ReplicationStatus:
    return status.model_copy(update=values)


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
    answers: Answers = {
        "replication": {"V": ReplicationStatus(role=Role.ACTIVE)},
        "replication_queue": {"V": QueueDepth(messages=3)},
        "transactions": {"V": Transactions(items=items)},
    }
    end = figures(answers, "V")
    assert (end["prepared"], end["messages"], end["role"]) == (count, 3, "active")


@pytest.mark.parametrize(("rejects", "suspended"), [(True, False), (False, True), (None, None)])
def test_whether_replication_is_suspended(rejects: bool | None, suspended: bool | None) -> None:
    """Law: it is what the site's own replication queue tells; one that does not tell leaves it unknown, not false."""
    end = figures(an_end(Role.ACTIVE, QueueDepth(messages=3, rejects_on_discard=rejects)), "V")
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
    assert verdict(serving, standby) == (words if bound else f"bridge not bound; {words}")
    assert words not in verdict(plain, standby)
    assert verdict(dark, serving).endswith(f"; {words}")


ACTIVE, STANDBY = (
    ReplicationStatus(enabled=True, role=Role.ACTIVE, queue_bound=True),
    ReplicationStatus(enabled=True, role=Role.STANDBY, bridge=Bridge.BOUND),
)


@pytest.mark.parametrize(
    ("ny", "nj", "word", "has_hint"),
    [
        (ACTIVE, STANDBY, "ok", False),
        (ACTIVE, ACTIVE, "BOTH ACTIVE", True),
        (STANDBY, STANDBY, "no active site", True),
        (ACTIVE, changed(STANDBY, role=None), "unknown: nj does not report whether it serves", False),
        (ACTIVE, changed(STANDBY, bridge=Bridge.DOWN), "bridge not bound", False),
        (changed(ACTIVE, queue_bound=False), STANDBY, "bridge not bound", False),
        (changed(ACTIVE, queue_bound=None), STANDBY, "unknown: ny does not report its end of the bridge", False),
        (ACTIVE, changed(STANDBY, bridge=None), "unknown: nj does not report its end of the bridge", False),
        (changed(STANDBY, enabled=False), STANDBY, "no active site; not replicated", False),
    ],
)
def test_the_verdict_on_a_message_vpn(
    ny: ReplicationStatus, nj: ReplicationStatus, word: str, has_hint: bool
) -> None:
    """Law: ok only where both ends of the bridge were read and hold; the command that repairs is named only where it
    applies."""
    ends = [pair_end(one, QueueDepth(messages=0)) for one in (ny, nj)]
    found, _, hint = judged("V", surveys(*ends))
    assert (found, "failover repair V" in hint) == (word, has_hint)


def test_what_is_left_at_the_standby() -> None:
    """Law: messages that the serving site did not get are said with their number and their site."""
    ends = pair_end(ACTIVE, QueueDepth(messages=7)), pair_end(STANDBY, QueueDepth(messages=1200))
    assert verdict(*ends) == "1,200 messages left at nj"


@pytest.mark.parametrize(
    ("doors", "link", "word"),
    [
        ((True, True), {}, "ok"),
        ((True, False), {}, "ny lets only some clients in"),
        ((True, None), {}, "unknown: ny does not report whether it serves"),
        ((True, True), {"connected": False}, "link not connected"),
        ((True, True), {"sync": False}, "link downgraded: the mate is not a fail-over target"),
        (
            (True, None),
            {"sync": False},
            "unknown: ny does not report whether it serves; link downgraded: the mate is not a fail-over target",
        ),
        ((True, True), {"sync": None}, "unknown: ny does not report whether its link is connected and sync"),
    ],
)
def test_the_verdict_on_an_instance(doors: tuple[bool | None, ...], link: dict[str, bool | None], word: str) -> None:
    """Law: ok only where every client transport and both links were read, and either instance may take over; what is
    known and bad is said beside what is unknown."""
    ends = [an_instance((True, True), {}), an_instance(doors, link)]
    survey = [SiteSurvey(site, "amps", end) for site, end in zip(("nj", "ny"), ends, strict=True)]
    assert judged("V", survey)[0] == word


def an_instance(doors: tuple[bool | None, ...], link: Mapping[str, bool | None]) -> Answers:
    """The answers of one site: client transports that are enabled or not, and the link to its mate."""
    to_mate = Link(name="mate", connected=True, sync=True, configured_sync=True).model_copy(update=link)
    return {
        "transports": {
            "V": Transports(items=tuple(Transport(name=str(n), enabled=one) for n, one in enumerate(doors)))
        },
        "clients": {"V": Clients(count=3)},
        "links": {"V": Links(mate="mate", items=(to_mate,))},
        "queues": {"V": Queues()},
    }


def an_end(role: Role | None, queue: QueueDepth | None, *, bound: bool = True) -> Answers:
    """One site of a service, with a bridge that is bound or not; without a role it does not answer."""
    status = ReplicationStatus(role=role, bridge=Bridge.BOUND if bound else Bridge.DOWN, queue_bound=bound)
    return pair_end(None if role is None else status, queue)


def pair_end(status: ReplicationStatus | None, queue: QueueDepth | None) -> Answers:
    """The answers of one site."""
    gone = Failure(kind="Unreachable", text="it does not answer")
    return {
        "replication": {"V": status or gone},
        "replication_queue": {"V": queue or gone},
        "transactions": {"V": Transactions()},
    }


def surveys(*ends: Answers) -> list[SiteSurvey]:
    return [SiteSurvey(site, "solace", end) for site, end in zip(("ny", "nj"), ends, strict=True)]


def verdict(*ends: Answers) -> str:
    return judged("V", surveys(*ends))[0]
