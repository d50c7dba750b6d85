"""What a bootstrap needs at both ends, and what it must not leave out (docs/sources/amps.md, 3.5, with
9.8 for the SOW)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from validator.report import ValidationReport

CLIENTS = (
    "<Transport><Name>clients</Name><Type>tcp</Type><InetAddr>9007</InetAddr><Protocol>amps</Protocol></Transport>"
)
RULES = frozenset(
    {
        "bootstrap-data-unsaid",
        "bootstrap-incomplete",
        "bootstrap-source-closed",
        "bootstrap-source-lacks",
        "bootstrap-unstored",
        "value-unknown",
    }
)


def bootstrap(*topics: str, data: str | None = "sow,txlog", host: str = "S") -> str:
    entries = "".join(f"<Topic><Name>{name}</Name><MessageType>json</MessageType></Topic>" for name in topics)
    kind = "" if data is None else f"<DataType>{data}</DataType>"
    transport = f"<Transport><InetAddr>{host}:10004</InetAddr><Type>amps-replication</Type></Transport>"
    return f"<Bootstrap>{entries}{kind}{transport}</Bootstrap>"


def found(report: ValidationReport) -> set[tuple[str, str, str | None]]:
    """Rule, level and topic of each finding about the bootstrap."""
    return {(one.check, one.level.value, one.topic) for one in report.findings if one.check in RULES}


def pair(amps: SimpleNamespace, root: str, *topics: str) -> tuple[Any, Any]:
    """A, which bootstraps, and S, which replicate ``topics`` to each other, with a SOW of each."""
    return amps.full("A", ["S"], topics, root=root), amps.full("S", ["A"], topics)


def test_a_whole_bootstrap_has_no_finding(amps: SimpleNamespace) -> None:
    """Law: what restores log and SOW of every shared topic is complete, by names or by an expression."""
    for root in (bootstrap("orders", "trades"), bootstrap("^(orders|trades)$"), bootstrap(".*")):
        assert found(amps.report_of(*pair(amps, root, "orders", "trades"))) == set(), root


def test_a_topic_stored_at_the_source_needs_a_definition_here(amps: SimpleNamespace) -> None:
    """Law: "the instance must also include definitions for those topics"; without sow asked for none is needed."""
    here, there = amps.Conf("A", log=("orders",), root=bootstrap("orders")), amps.full("S", [], ["orders"])
    assert ("bootstrap-unstored", "risk", "orders") in found(amps.report_of(here, there))
    by_expression = here.but(root=bootstrap("^ord"))
    assert ("bootstrap-unstored", "risk", "orders") in found(amps.report_of(by_expression, there))
    for other in (here.but(sow={"orders": ("/id",)}), here.but(root=bootstrap("orders", data="txlog"))):
        assert "bootstrap-unstored" not in {rule for rule, *_ in found(amps.report_of(other, there))}


def test_a_source_must_have_a_replication_transport(amps: SimpleNamespace) -> None:
    """Law: the source "must define a replication transport"; one with clients' transports alone is no source."""
    here, there = pair(amps, bootstrap("orders"), "orders")
    assert found(amps.report_of(here, there.but(transports=CLIENTS))) == {("bootstrap-source-closed", "error", None)}


@pytest.mark.parametrize("data", ["everything", "sow,everything", "SOW", "sow txlog"])
def test_a_data_type_that_amps_does_not_know(amps: SimpleNamespace, data: str) -> None:
    """Law: DataType names sow and txlog; anything else is an error."""
    report = amps.report_of(*pair(amps, bootstrap("orders", data=data), "orders"))
    assert ("value-unknown", "error", None) in found(report)


def test_without_a_data_type_nothing_is_claimed(amps: SimpleNamespace) -> None:
    """Law: AMPS documents no default, so what is fetched is undecided, and nothing is reported as missing."""
    report = amps.report_of(*pair(amps, bootstrap("orders", data=None), "orders"))
    assert found(report) == {("bootstrap-data-unsaid", "undecided", None)}


def test_a_source_must_have_recorded_what_is_asked_for(amps: SimpleNamespace) -> None:
    """Law: a log is not asked of a topic that is in the SOW alone, nor a SOW of one that is in the log alone; where both
    are asked for, either will do."""
    here = amps.Conf("A", log=("orders",), sow={"orders": ("/id",)})
    stored = amps.Conf("S", log=("other",), sow={"orders": ("/id",)})
    logged = amps.Conf("S", log=("orders",))
    lacks = ("bootstrap-source-lacks", "risk", "orders")
    for there, data, is_lacking in (
        (stored, "txlog", True),
        (stored, "sow", False),
        (stored, "sow,txlog", False),
        (logged, "sow", True),
        (logged, "txlog", False),
        (logged, "sow,txlog", False),
    ):
        report = amps.report_of(here.but(root=bootstrap("orders", data=data)), there)
        assert (lacks in found(report)) is is_lacking, data


@pytest.mark.parametrize(
    ("root", "topic"),
    [
        (bootstrap("orders"), "trades"),
        (bootstrap("orders", "trades", data="txlog"), "orders"),
        (bootstrap("orders", "trades", data="sow"), "trades"),
        (bootstrap("^ord"), "trades"),
    ],
)
def test_a_partner_that_is_not_restored_whole(amps: SimpleNamespace, root: str, topic: str) -> None:
    """Law: between instances that fail over to each other, a topic or half of one that Bootstrap leaves out is a risk."""
    assert ("bootstrap-incomplete", "risk", topic) in found(amps.report_of(*pair(amps, root, "orders", "trades")))


def test_an_offline_replica_may_fetch_what_it_likes(amps: SimpleNamespace) -> None:
    """Law: where no link and no group joins the two, a part of the topics is no finding."""
    here = amps.Conf("A", log=("orders", "trades"), root=bootstrap("orders", data="txlog"))
    assert found(amps.report_of(here, amps.full("S", [], ["orders", "trades"]))) == set()


def test_an_expression_that_cannot_be_read_leaves_nothing_out(amps: SimpleNamespace) -> None:
    """Law: what an expression matches that cannot be read here is unknown, so nothing is reported as left out."""
    report = amps.report_of(*pair(amps, bootstrap("^(?P>orders)"), "orders"))
    assert "bootstrap-incomplete" not in {rule for rule, *_ in found(report)}
