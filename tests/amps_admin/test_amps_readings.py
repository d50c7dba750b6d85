"""What the readings of AMPS conclude from their parts: nothing unknown is ever taken for true, or for false."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from adapters.amps.reading_models import (
    Bootstrap,
    Instance,
    Link,
    Links,
    Permissions,
    Queue,
    Queues,
    TransactionLog,
    Transport,
    Transports,
)
from orchestrator.family.contract import ReadingSpec
from orchestrator.family.reachability import probe, with_made_readings
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, matches

DAY = 86_400.0


def link(**changes: object) -> Link:
    """A link to the mate as it should be."""
    calm = {"connected": True, "sync": True, "configured_sync": True, "behind_s": 0.0, "calm_s": 20.0}
    return Link.model_validate({"name": "nj", **calm, **changes})


def links(*items: Link, mate: str = "nj") -> Links:
    return Links(mate=mate, interval_s=10.0, items=items)


@pytest.mark.parametrize(
    ("changes", "caught_up"),
    [
        ({}, True),
        ({"calm_s": 19.0}, False),
        ({"calm_s": None}, False),
        ({"connected": None}, None),
        ({"behind_s": None}, None),
    ],
)
def test_caught_up_takes_two_whole_intervals(changes: Mapping[str, object], caught_up: bool | None) -> None:
    """0 seconds behind, read once, proves nothing; what was not read proves nothing either."""
    assert links(link(**changes)).caught_up is caught_up


@pytest.mark.parametrize(
    ("sync", "configured", "downgraded"),
    [
        (True, True, False),
        (False, True, True),
        (False, False, False),
        (None, False, False),
        (True, None, False),
        (False, None, None),
        (None, True, None),
    ],
)
def test_a_downgrade_is_a_difference(sync: bool | None, configured: bool | None, downgraded: bool | None) -> None:
    """Async now, and configured as sync; a link that is async by its configuration is not downgraded."""
    assert link(sync=sync, configured_sync=configured).downgraded is downgraded


def test_without_a_link_to_the_mate_all_is_unknown() -> None:
    """Another instance's link says nothing about the mate's."""
    reading = links(link(name="chi"), mate="nj")
    told = (reading.connected, reading.sync, reading.configured_sync, reading.downgraded, reading.behind_s)
    assert (told, reading.caught_up) == ((None,) * 5, None)


def test_open_and_closed_speak_of_client_transports() -> None:
    """The replication transport stays as it is, and counts for neither."""
    replication = Transport(name="rep", replication=True, enabled=True)
    for enabled, found in ((True, (True, False)), (False, (False, True)), (None, (None, None))):
        reading = Transports(items=(replication, Transport(name="tcp", replication=False, enabled=enabled)))
        assert (reading.open, reading.closed) == found
    assert (Transports(items=(replication,)).open, Transports(items=(replication,)).closed) == (None, None)
    mixed = Transports(items=(Transport(name="a", enabled=True), Transport(name="b", enabled=False)))
    assert (mixed.open, mixed.closed) == (False, False)


def test_what_is_owned_is_a_sum() -> None:
    """One queue that does not tell makes the sum unknown; an instance without queues owns nothing."""
    one, other = Queue(name="JOBS", owned=2, proxied=False), Queue(name="MAIL", owned=None, proxied=None)
    none, unknown = Queues(items=()), Queues()
    assert (none.present, none.owned, none.unproxied, none.proxied) == (False, 0, True, None)
    assert (unknown.present, unknown.owned, unknown.unproxied, unknown.proxied) == (None,) * 4
    assert (Queues(items=(one,)).owned, Queues(items=(one,)).unproxied) == (2, True)
    assert (Queues(items=(one, other)).owned, Queues(items=(one, other)).unproxied) == (None, None)


@pytest.mark.parametrize(
    ("configured", "empty", "waiting"),
    [(True, True, True), (True, False, False), (False, None, False), (None, True, None), (True, None, None)],
)
def test_who_waits_for_a_bootstrap(configured: bool | None, empty: bool | None, waiting: bool | None) -> None:
    """Only an empty instance that is set to bootstrap does (docs/sources/amps.md, 3.5)."""
    assert Bootstrap(configured=configured, empty=empty).waiting is waiting


def test_room_for_an_outage() -> None:
    """Ten files in a day, room for forty: three days. Nothing is said without a history or a capacity."""
    log = TransactionLog(bytes=10, capacity_bytes=40, oldest_at=0.0, newest_at=DAY, outage_s=2 * DAY)
    assert (log.survives_s, log.survives) == (3 * DAY, True)
    assert log.model_copy(update={"outage_s": 4 * DAY}).survives is False
    for unknown in ("bytes", "capacity_bytes", "oldest_at", "newest_at"):
        assert log.model_copy(update={unknown: None}).survives is None
    assert log.model_copy(update={"newest_at": 0.0}).survives is None
    assert log.model_copy(update={"outage_s": None}).survives is None


def test_one_refusal_is_no_permission() -> None:
    """Not told is unknown, and is never taken for a yes."""
    assert (Permissions().granted, Permissions(known=True).granted) == (None, True)
    assert Permissions(denied=("replication",)).granted is False


class Site:
    """A site that offers the reading ``instance`` and answers with ``found``."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        "instance": ReadingSpec("instance", "who answers", lambda services: ["GET x"])
    }

    def __init__(self, found: Reading | Failure) -> None:
        self._found = found

    def probe(self, reading: str, services: object) -> Mapping[str, Reading | Failure]:
        assert reading == "instance"
        return {"orders": self._found}


def test_reachability_without_roles() -> None:
    """Where no role exists, whoever answers at all is not lost, and has no role that could be known."""
    there = probe(Site(Instance(name="amps-1")), "reachability", ["orders"])["orders"]
    gone = probe(Site(Failure(kind="Unreachable", text="no route")), "reachability", ["orders"])["orders"]
    refused = probe(Site(Failure(kind="AuthenticationFailed", text="401")), "reachability", ["orders"])["orders"]
    assert not isinstance(there, Failure)
    assert matches(there, {"answers": True, "role_known": False}) is True
    assert [matches(one, {"answers": True}) for one in (gone, refused) if not isinstance(one, Failure)] == [
        False,
        True,
    ]
    assert "reachability" in with_made_readings(Site.readings)
