"""SOW topics and what they are rebuilt from: docs/sources/amps.md, 9.8, whose example stands here in full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]
DAY = 86_400.0
RETENTION = 7 * DAY


def weekly(name: str, mate: str, **more: Any) -> dict[str, Any]:
    """One message a journal, journals kept for seven days."""
    return instance(name, mate, journal_messages=1, retention=RETENTION, interval=3600.0, **more)


def ninth_of_may(stage: Build, **more: Any) -> Stage:
    """Orders of May 1, 5 and 8; it is May 9, and the transaction log with order 1 is gone."""
    one = stage(weekly("A", "B", **more), weekly("B", "A"), quiet=True)
    for day, key, name in ((0, "1", "Godzilla"), (4, "2", "Mothra"), (7, "3", "Gamora")):
        one.wait(day * DAY - one.world.now())
        one.world.publish("A", "orders", key, name)
    one.wait(8 * DAY - one.world.now())
    return one


def test_removing_a_journal_changes_no_record(stage: Build) -> None:
    """A normal operation: the record is still valid, though the message that made it is gone."""
    one = ninth_of_may(stage)
    assert one.world.records("A", "orders") == {"1": "Godzilla", "2": "Mothra", "3": "Gamora"}
    with one.world.request():
        assert [row["id"] for row in one.world.console("A").tree["transaction_log"]["journals"]] == ["2", "3"]


def test_a_deleted_sow_comes_back_without_what_the_log_no_longer_has(stage: Build) -> None:
    """Order 1 cannot be recreated; 2 and 3 are rebuilt."""
    one = ninth_of_may(stage)
    one.world.kill("A")
    one.world.lose("A", "sow")
    one.world.start("A")
    one.wait(60)
    assert one.world.records("A", "orders") == {"2": "Mothra", "3": "Gamora"}


def test_downstream_is_no_better_off_although_upstream_has_the_record(stage: Build) -> None:
    """Transaction logs and SOW deleted downstream: replication brings 2 and 3, and never 1."""
    one = ninth_of_may(stage)
    one.world.kill("B")
    one.world.lose("B", "all")
    one.world.start("B")
    one.wait(60)
    assert one.keys("A") == ["1", "2", "3"]
    assert one.world.records("B", "orders") == {"2": "Mothra", "3": "Gamora"}


def test_bootstrap_brings_the_record_that_replication_cannot(stage: Build) -> None:
    """docs/sources/amps.md, 3.5: the full current contents of SOW topics, also of what is no longer in the log."""
    one = stage(weekly("A", "B"), weekly("B", "A", bootstrap={"servers": ["A"]}), quiet=True)
    for key in "123":
        one.world.publish("A", "orders", key, f"order {key}")
        one.wait(4 * DAY)
    one.world.kill("B")
    one.world.lose("B", "all")
    one.world.start("B")
    one.wait(60)
    assert one.keys("B") == ["1", "2", "3"]


def test_a_delete_is_replicated(stage: Build) -> None:
    """sow_delete goes the way of a publish (docs/sources/amps.md, 9.7)."""
    one = stage(quiet=True)
    one.world.publish("A", "orders", "1", "Godzilla")
    one.wait(5)
    assert one.keys("B") == ["1"]
    one.world.publish("A", "orders", "1", delete=True)
    one.wait(5)
    assert one.keys("B") == []


def test_journals_stay_until_every_destination_has_them(stage: Build) -> None:
    """A destination that is down keeps the log from being removed, whatever its age (docs/sources/amps.md, 9.4)."""
    one = stage(weekly("A", "B"), weekly("B", "A"), quiet=True)
    one.world.kill("B")
    for key in "123":
        one.world.publish("A", "orders", key)
        one.wait(5 * DAY)
    with one.world.request():
        assert len(one.world.console("A").tree["transaction_log"]["journals"]) == 3
    one.world.start("B")
    one.wait(2 * DAY)
    with one.world.request():
        assert len(one.world.console("A").tree["transaction_log"]["journals"]) == 1
    assert one.keys("B") == ["1", "2", "3"]


def test_an_unlogged_topic_is_never_replicated(stage: Build) -> None:
    """What is not in the transaction log goes nowhere, though it has a SOW here."""
    topics = [{"name": "orders", "keys": ["/id"], "logged": False}]
    one = stage(instance("A", "B", topics=topics), instance("B", "A", topics=topics), quiet=True, validates=False)
    one.world.publish("A", "orders", "1", "Godzilla")
    one.wait(5)
    assert (one.keys("A"), one.keys("B")) == (["1"], [])
