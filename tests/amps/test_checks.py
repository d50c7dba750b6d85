"""The nine checks: for each a pair that passes, a pair that fails exactly as expected, and the same pair excluded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.amps.config.model import MANDATORY, Check
from validator.report import Level

QUEUE = "<Queue><Name>orders</Name><MessageType>json</MessageType>{}</Queue>"


@dataclass(frozen=True)
class Broken:
    """A pair that fails ``checks`` from A to B (and ``back`` from B to A), and what mends it."""

    checks: set[str]
    make: Callable[[SimpleNamespace], tuple[Any, Any]]
    xml: str
    where: str
    back: frozenset[str] = frozenset()


def queues(amps: SimpleNamespace, **b: Any) -> tuple[Any, Any]:
    pair = (
        amps.full(name, [mate], ["orders"], sow={}, extra_sow=QUEUE.format(""))
        for name, mate in (("A", "B"), ("B", "A"))
    )
    one, two = pair
    return one, two.but(**b)


def filtered(amps: SimpleNamespace, text: str) -> tuple[Any, ...]:
    return (amps.Dest("B", (amps.Entry("orders", filter=text),), group="G"),)


def way_back(amps: SimpleNamespace, **changes: Any) -> dict[str, Any]:
    entry = {key: value for key, value in changes.items() if key in ("exclude", "filter")}
    rest = {key: value for key, value in changes.items() if key not in entry}
    return {"to": (amps.Dest("A", (amps.Entry("orders", **entry),), group="G", **rest),)}


def pair(amps: SimpleNamespace) -> tuple[Any, Any]:
    return amps.full("A", ["B"], ["orders"]), amps.full("B", ["A"], ["orders"])


BROKEN = {
    "txlog": Broken(
        {"txlog"},
        lambda amps: (pair(amps)[0], pair(amps)[1].but(log=("other",))),
        "<Topic><Name>orders</Name><MessageType>json</MessageType></Topic>",
        "TransactionLog",
    ),
    "replicate": Broken(
        {"replicate"},
        lambda amps: (pair(amps)[0], pair(amps)[1].but(to=())),
        "<Destination><Name>A</Name><Group>G</Group><SyncType>sync</SyncType><PassThrough>.*</PassThrough>"
        "<Topic><Name>orders</Name><MessageType>json</MessageType></Topic>"
        "<Transport><Type>amps-replication</Type><InetAddr>HOST:10004</InetAddr></Transport></Destination>",
        "Replication",
    ),
    "sow": Broken(
        {"sow", "keys"},
        lambda amps: (pair(amps)[0], pair(amps)[1].but(sow={})),
        "<Topic><Name>orders</Name><MessageType>json</MessageType><Key>/id</Key><FileName>./sow/%n.sow</FileName></Topic>",
        "SOW",
    ),
    "keys": Broken(
        {"keys"},
        lambda amps: (pair(amps)[0], pair(amps)[1].but(sow={"orders": ("/id", "/x")})),
        "<Topic><Name>orders</Name><MessageType>json</MessageType><Key>/id</Key><FileName>./sow/%n.sow</FileName></Topic>",
        "SOW, in place of Topic orders",
        back=frozenset({"keys"}),
    ),
    "cascade": Broken(
        {"cascade"},
        lambda amps: (pair(amps)[0], pair(amps)[1].but(**way_back(amps, exclude="replicate"))),
        "<Topic><Name>orders</Name><MessageType>json</MessageType><ExcludeValidation>cascade</ExcludeValidation></Topic>",
        "Destination B",
    ),
    "replicate_filter": Broken(
        {"replicate_filter"},
        lambda amps: (pair(amps)[0].but(to=filtered(amps, "/a < 1")), pair(amps)[1]),
        "<Topic><Name>orders</Name><MessageType>json</MessageType><Filter>/a &lt; 1</Filter></Topic>",
        "Destination A",
    ),
    "queue": Broken(
        {"queue", "queue_underlying"},
        lambda amps: queues(amps, extra_sow=""),
        "<Queue><Name>orders</Name><MessageType>json</MessageType></Queue>",
        "SOW",
    ),
    "queue_underlying": Broken(
        {"queue_underlying"},
        lambda amps: queues(amps, extra_sow=QUEUE.format("<Filter>/a = 1</Filter><LeasePeriod>9s</LeasePeriod>")),
        "<Queue><Name>orders</Name><MessageType>json</MessageType><LeasePeriod>9s</LeasePeriod></Queue>",
        "SOW, in place of Queue orders",
        back=frozenset({"queue_underlying"}),
    ),
    "queue_passthrough": Broken(
        {"queue_passthrough"},
        lambda amps: queues(amps, **way_back(amps, passthrough="^other$")),
        "<PassThrough>^other$|^G$</PassThrough>",
        "Destination A",
    ),
}


def test_every_check_has_its_cases() -> None:
    """None of the nine is left out."""
    assert set(BROKEN) == {check.value for check in Check}


def test_a_symmetric_pair_passes(amps: SimpleNamespace) -> None:
    """With a SOW topic, and with a queue, nothing at all is found."""
    assert amps.report_of(*pair(amps)).findings == ()
    assert amps.report_of(*queues(amps)).findings == ()
    both = (
        amps.full(n, [m], ["orders"], to=(amps.Dest(m, (amps.Entry("orders", filter="/a"),)),))
        for n, m in ("AB", "BA")
    )
    assert amps.report_of(*both).findings == ()


@pytest.mark.parametrize("name", BROKEN)
def test_a_pair_that_differs_fails_exactly_these_checks(name: str, amps: SimpleNamespace) -> None:
    """The expected set of errors, on the expected links, each with both places and what AMPS does."""
    broken = BROKEN[name]
    report = amps.report_of(*broken.make(amps))
    expected = {(check, "A", "B", "orders") for check in broken.checks}
    expected |= {(check, "B", "A", "orders") for check in broken.back}
    assert amps.found(report) == expected
    assert report.exit_code == 4
    for finding in report.findings:
        if finding.level is Level.ERROR:
            assert finding.message_type == "json"
            assert finding.source_at is not None and finding.source_at.line > 1
            assert finding.destination_at is not None and finding.destination_at.file != finding.source_at.file
            assert "refuses the link" in finding.consequence


@pytest.mark.parametrize("name", BROKEN)
def test_each_failure_comes_with_the_xml_that_mends_it(name: str, amps: SimpleNamespace) -> None:
    """The fix is complete XML, for the instance and place it belongs to."""
    broken = BROKEN[name]
    report = amps.report_of(*broken.make(amps))
    fix = next(f.fix for f in report.findings if f.check == name and f.source == "A")
    assert fix is not None
    where, _, only_one = fix.where.partition(": ")
    assert (fix.xml, where, fix.instance) == (broken.xml, broken.where, "A" if name == "cascade" else "B")
    # What both directions lack is fixed at one of them: done at both, the change swaps the mistake.
    assert (only_one == "make either this change or the opposite change in A, but not both") is (
        name in ("keys", "queue_underlying")
    )


@pytest.mark.parametrize("name", BROKEN)
def test_an_excluded_check_that_would_fail_is_a_risk_or_mandatory(name: str, amps: SimpleNamespace) -> None:
    """Excluding what fails leaves no error from A to B, but risks that say so; mandatory checks stay errors."""
    broken = BROKEN[name]
    one, two = broken.make(amps)
    entry = one.to[0].topics[0]
    checks = ",".join(sorted(broken.checks))
    excluded = amps.Entry("orders", exclude=checks, filter=entry.filter)
    report = amps.report_of(one.but(to=(amps.Dest("B", (excluded,), group="G"),)), two)
    from_a = {f.check: f for f in report.findings if f.source == "A" and f.check in broken.checks}
    for check in broken.checks:
        mandatory = Check(check) in MANDATORY
        assert from_a[check].level is (Level.ERROR if mandatory else Level.RISK)
        assert from_a[check].excluded is not mandatory
        if not mandatory:
            assert from_a[check].consequence.startswith("AMPS makes the link: ")


@pytest.mark.parametrize(
    ("sow", "expected"),
    [({"orders": ("/id",)}, set()), ({}, {("sow", "B", "A", "orders"), ("keys", "B", "A", "orders")})],
)
def test_sow_looks_one_way_only(sow: dict[str, tuple[str, ...]], expected: set[Any], amps: SimpleNamespace) -> None:
    """The downstream instance may store a topic that this instance does not; the way back tells of it."""
    assert amps.found(amps.report_of(pair(amps)[0].but(sow=sow), pair(amps)[1])) == expected


def test_excluding_sow_alone_leaves_keys_failing(amps: SimpleNamespace) -> None:
    """keys wants a SOW topic downstream too."""
    a, b = pair(amps)
    a = a.but(to=(amps.Dest("B", (amps.Entry("orders", exclude="sow"),), group="G"),))
    assert ("keys", "A", "B", "orders") in amps.found(amps.report_of(a, b.but(sow={})))


def test_the_order_of_keys_is_an_assumption(amps: SimpleNamespace) -> None:
    """``key_order_matters``: composite keys are made in order, so another order is another key."""
    a, b = (
        conf.but(sow={"orders": keys}) for conf, keys in zip(pair(amps), (("/a", "/b"), ("/b", "/a")), strict=True)
    )
    assert {f[0] for f in amps.found(amps.report_of(a, b))} == {"keys"}
    assert amps.found(amps.report_of(a, b, assumptions={"key_order_matters": False})) == set()


def test_the_message_type_is_part_of_the_topic(amps: SimpleNamespace) -> None:
    """A way back for another message type is no way back."""
    a, b = pair(amps)
    back = amps.Dest("A", (amps.Entry("orders", type="fix"),), group="G")
    report = amps.report_of(a, b.but(to=(back,)))
    assert {(f.check, f.source, f.message_type) for f in report.findings if f.level is Level.ERROR} == {
        ("replicate", "A", "json"),
        ("replicate", "B", "fix"),
        ("txlog", "B", "fix"),
    }


def test_a_local_queue_downstream_is_no_queue(amps: SimpleNamespace) -> None:
    """A LocalQueue is not replicated: it does not make the topic a queue."""
    a, b = queues(amps, extra_sow=QUEUE.format("").replace("Queue>", "LocalQueue>"))
    found = amps.found(amps.report_of(a, b))
    assert {("queue", "A", "B", "orders"), ("queue_underlying", "A", "B", "orders")} <= found
    assert ("local-queue-replicated", "B", None, "orders") in found


def test_what_queues_must_share_is_partly_assumed(amps: SimpleNamespace) -> None:
    """Whether ``queue`` wants the same kind, and ``queue_underlying`` a queue at all, are settings."""
    owned = QUEUE.format("<InitialOwner>B</InitialOwner>").replace("Queue>", "GroupLocalQueue>")
    a, b = queues(amps, extra_sow=owned)
    assert amps.found(amps.report_of(a, b)) == set()
    strict = amps.report_of(a, b, assumptions={"queue_needs_same_kind": True})
    assert amps.found(strict) == {("queue", "A", "B", "orders"), ("queue", "B", "A", "orders")}
    a, b = queues(amps, extra_sow="")
    lenient = amps.report_of(a, b, assumptions={"queue_underlying_needs_queue": False})
    assert amps.found(lenient) == {("queue", "A", "B", "orders")}


@pytest.mark.parametrize(
    ("passthrough", "match", "passes"),
    [
        (".*", "search", True),
        ("^G$", "search", True),
        (None, "search", False),
        ("^H", "search", False),
        ("G", "fullmatch", True),
        ("^G", "fullmatch", True),
        ("^", "search", True),
    ],
)
def test_a_queue_must_be_passed_on_even_within_its_group(
    passthrough: str | None, match: str, passes: bool, amps: SimpleNamespace
) -> None:
    """queue_passthrough looks at every destination of the downstream instance that carries the queue."""
    a, b = queues(amps, **way_back(amps, passthrough=passthrough))
    found = amps.found(amps.report_of(a, b, assumptions={"passthrough_match": match}))
    assert (("queue_passthrough", "A", "B", "orders") in found) is not passes


def test_two_entries_with_different_filters_leave_the_filter_undecided(amps: SimpleNamespace) -> None:
    """How AMPS combines entries that match the same topic is not documented."""
    a, b = pair(amps)
    entries = (amps.Entry("orders", filter="/a"), amps.Entry("^orders$", filter="/b"))
    report = amps.report_of(a.but(to=(amps.Dest("B", entries, group="G"),)), b)
    assert amps.found(report) == set()
    assert ("replicate_filter", "A", "B", "orders") in amps.found(report, Level.UNDECIDED)
    assert ("overlapping-topics", "A", None, "orders") in amps.found(report, Level.UNDECIDED)


def test_overlapping_entries_exclude_together_or_the_first_decides(amps: SimpleNamespace) -> None:
    """The assumption ``overlapping_entries``."""
    a, b = pair(amps)
    entries = (amps.Entry("orders"), amps.Entry(".*", exclude="txlog,cascade"))
    a = a.but(to=(amps.Dest("B", entries, group="G"),))
    assert ("txlog", "A", "B", "orders") not in amps.found(amps.report_of(a, b.but(log=("other",))))
    first = amps.report_of(a, b.but(log=("other",)), assumptions={"overlapping_entries": "first"})
    assert ("txlog", "A", "B", "orders") in amps.found(first)


def test_what_is_a_way_back_is_an_assumption(amps: SimpleNamespace) -> None:
    """``way_back``: a destination that leads to the instance itself, or to any instance of its group."""
    names = "ABC"
    mesh = {name: amps.full(name, [mate for mate in names if mate != name], ["orders"]) for name in names}
    mesh["B"] = mesh["B"].but(to=tuple(dest for dest in mesh["B"].to if dest.name != "A"))
    assert amps.found(amps.report_of(*mesh.values())) == {("replicate", "A", "B", "orders")}
    assert amps.found(amps.report_of(*mesh.values(), assumptions={"way_back": "group"})) == set()
