"""Validation when a link connects: docs/sources/amps.md, 5. The world's own table, held against the product's own
checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from adapters.amps.config.configuration import parse_instance
from simulator.amps.admin.configuration import configuration_xml
from simulator.amps.layout import fabric_from
from simulator.amps.rules import refusals
from tests.world_amps.conftest import Stage, instance
from validator.validate import validate

Build = Callable[..., Stage]
QUEUE = {"name": "jobs"}


def linked(mate: str, *, exclude: tuple[str, ...] = (), pass_through: str | None = ".*") -> list[dict[str, Any]]:
    topics = [{"name": ".*", "exclude": list(exclude)}]
    return [{"name": mate, "group": "G", "topics": topics, "pass_through": pass_through}]


def one_way(*exclude: str) -> list[dict[str, Any]]:
    return [instance("A", destinations=linked("B", exclude=exclude)), instance("B")]


def queues(theirs: dict[str, Any] | None, pass_through: str | None = ".*") -> list[dict[str, Any]]:
    other = instance("B", destinations=linked("A", pass_through=pass_through), queues=[theirs] if theirs else [])
    return [instance("A", destinations=linked("B"), queues=[QUEUE]), other]


def topics(*theirs: dict[str, Any]) -> list[dict[str, Any]]:
    return [instance("A", "B"), instance("B", "A", topics=list(theirs))]


PAIRS: dict[str, tuple[list[dict[str, Any]], set[tuple[str, str]]]] = {
    "a full pair": ([instance("A", "B"), instance("B", "A")], set()),
    "no way back": (one_way(), {("replicate", "orders")}),
    "no way back, meant": (one_way("replicate", "cascade"), set()),
    "not logged there": (topics({"name": "orders", "keys": ["/id"], "logged": False}), {("txlog", "orders")}),
    "no SOW there": (topics({"name": "orders"}), {("sow", "orders"), ("keys", "orders")}),
    "other keys there": (topics({"name": "orders", "keys": ["/sku"]}), {("keys", "orders")}),
    "no queue there": (queues(None), {("queue", "jobs")}),
    "another underlying topic there": (
        queues({"name": "jobs", "underlying": "orders"}),
        {("queue_underlying", "jobs")},
    ),
    "not passed through there": (queues(QUEUE, "^OTHER$"), {("queue_passthrough", "jobs")}),
    "fewer checks there": (
        [instance("A", "B"), instance("B", destinations=linked("A", exclude=("sow",)))],
        {("cascade", "orders")},
    ),
}


def refused_by_the_world(instances: list[dict[str, Any]]) -> set[tuple[str, str]]:
    fabric = fabric_from({"instances": instances})
    one, other = fabric.instances[0], fabric.instances[1]
    return {(found.check, found.topic) for found in refusals(fabric, one, one.destinations[0], other)}


@pytest.mark.parametrize("name", list(PAIRS))
def test_each_check_refuses_what_it_is_for(name: str) -> None:
    """A pair for each check that the world models, failing exactly that."""
    instances, wanted = PAIRS[name]
    found = refused_by_the_world(instances)
    # A topic that only A knows fails every check of what B lacks; what the pair is about is in it.
    assert wanted <= found if name == "no queue there" else wanted == found


def test_the_reason_is_logged_where_it_is_detected_and_the_link_stays_away(stage: Build) -> None:
    """The source logs it once (assumption), the other side only notes that it failed; nothing is carried."""
    one = stage(*PAIRS["other keys there"][0])
    one.wait(20)
    assert one.logged("A", "validation check keys failed for topic orders")
    assert len(one.logged("A", "A to B: validation check")) == 1
    assert one.logged("B", "connection failed validation, A to B")
    assert not one.logged("B", "A to B: validation check")
    assert one.row("A", "replication", "B")["is_connected"] == "0"
    assert one.numbers("B") == 0


def test_the_other_side_may_be_the_one_that_detects(stage: Build) -> None:
    """The assumption is a setting."""
    one = stage(*PAIRS["other keys there"][0], assume={"detects": "destination"})
    one.wait(5)
    assert one.logged("B", "A to B: validation check keys failed")
    assert not one.logged("A", "A to B: validation check keys")


def test_a_refusal_can_be_given(stage: Build) -> None:
    """Whatever the rules say: a world may be told what to refuse."""
    given = {"source": "A", "destination": "B", "check": "queue", "topic": "orders"}
    one = stage(refusals=[given])
    one.wait(5)
    assert one.logged("A", "validation check queue failed for topic orders")
    assert one.row("B", "replication", "A")["is_connected"] == "1"


def test_another_group_is_refused(stage: Build) -> None:
    """Destination/Group must be the remote instance's own (docs/sources/amps.md, 3.4)."""
    wrong = instance("A", "B")
    wrong["destinations"][0]["group"] = "OTHER"
    one = stage(wrong, instance("B", "A"))
    one.wait(5)
    assert one.logged("A", "group OTHER expected, B is in group G")


def served(instances: list[dict[str, Any]]) -> list[Any]:
    fabric = fabric_from({"instances": instances})
    return [
        parse_instance(configuration_xml(fabric, one, admin="localhost:8085"), f"{one.name}.xml")
        for one in fabric.instances
    ]


def test_what_an_instance_serves_is_what_the_product_reads(stage: Build) -> None:
    """The configuration of the embedded kind of pair has no error by the product's own checks."""
    found = validate(served([instance("A", "B", queues=[QUEUE]), instance("B", "A", queues=[QUEUE])]))
    assert [one for one in found.findings if one.level == "error"] == []
