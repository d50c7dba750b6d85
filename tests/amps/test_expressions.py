"""Topics that only an expression knows: decided where it is certain, undecided otherwise, never silently passed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from validator.report import Level


def mirrored(
    amps: SimpleNamespace, here: str, there: str, log: str = ".*", back: str | None = None
) -> tuple[Any, Any]:
    """A replicates ``here`` to B, B logs ``log`` and replicates ``back`` (``there``) to A."""
    a = amps.Conf("A", group="G", log=(".*",), to=(amps.Dest("B", (amps.Entry(here),), group="G"),))
    way = (amps.Dest("A", (amps.Entry(back or there),), group="G"),)
    return a, amps.Conf("B", group="G", log=(log,), to=way)


@pytest.mark.parametrize(
    ("here", "there", "log", "expected"),
    [
        ("^/orders/", "^/orders/", ".*", set()),
        ("^/orders/", ".*", ".*", set()),
        ("^/orders/eu", "^/orders/", "^/orders", set()),
        ("^/orders/", "^/orders/[a-z]+", ".*", {("replicate", Level.UNDECIDED)}),
        ("^/orders/", "^/orders/", "/orders/[a-z]+", {("txlog", Level.UNDECIDED)}),
        ("^/orders/", "^/trades/", ".*", {("replicate", Level.UNDECIDED)}),
    ],
)
def test_an_expression_passes_only_where_it_is_certainly_covered(
    here: str, there: str, log: str, expected: set[Any], amps: SimpleNamespace
) -> None:
    """The same text, or one that covers it, passes; anything else is undecided."""
    report = amps.report_of(*mirrored(amps, here, there, log))
    assert {(f.check, f.level) for f in report.findings if f.source == "A"} == expected
    assert report.exit_code == 0


def test_nothing_at_all_of_the_message_type_fails(amps: SimpleNamespace) -> None:
    """No way back and no log for the type: whatever the topics are, the checks fail."""
    a, b = mirrored(amps, "^/orders/", "^/orders/")
    b = b.but(to=(), log=())
    assert amps.found(amps.report_of(a, b)) == {
        ("txlog", "A", "B", "^/orders/"),
        ("replicate", "A", "B", "^/orders/"),
    }


def test_known_topics_are_judged_by_name_and_the_rest_is_left_undecided(amps: SimpleNamespace) -> None:
    """A topic that a file names gets its own verdict; what nobody names does not pass silently."""
    a, b = mirrored(amps, "^/orders/", "/orders/eu")
    a = a.but(sow={"/orders/eu": ("/id",)})
    report = amps.report_of(a, b.but(sow={"/orders/eu": ("/id",)}))
    assert amps.found(report) == set()
    assert amps.found(report, Level.UNDECIDED) == {("replicate", "A", "B", "^/orders/")}


def test_a_complete_list_of_topics_leaves_nothing_undecided(amps: SimpleNamespace) -> None:
    """``topics_complete`` says that there are no topics beyond those written down and given."""
    a, b = mirrored(amps, "^/orders/", "/orders/eu")
    report = amps.report_of(a, b, topics=[{"name": "/orders/eu", "message_type": "json"}], topics_complete=True)
    assert report.findings == ()
    more = [{"name": f"/orders/{name}", "message_type": "json"} for name in ("eu", "us")]
    report = amps.report_of(a, b, topics=more, topics_complete=True)
    assert amps.found(report) == {("replicate", "A", "B", "/orders/us")}


def test_what_only_one_side_logs_by_name_has_no_remainder(amps: SimpleNamespace) -> None:
    """An expression over a transaction log of plain names stands for these names alone."""
    a, b = mirrored(amps, ".*", "orders", log="orders")
    assert amps.report_of(a.but(log=("orders",)), b).findings == ()


def test_a_filter_on_an_expression_must_come_back_the_same(amps: SimpleNamespace) -> None:
    """Another filter on an expression that covers it fails; on one that may overlap it is undecided."""
    a, b = mirrored(amps, "^o", "^o")
    a = a.but(to=(amps.Dest("B", (amps.Entry("^o", filter="/x"),), group="G"),))
    assert amps.found(amps.report_of(a, b)) == {("replicate_filter", "A", "B", "^o")}
    b = b.but(to=(amps.Dest("A", (amps.Entry("^o", filter="/x"), amps.Entry("or+")), group="G"),))
    assert amps.found(amps.report_of(a, b), Level.UNDECIDED) >= {("replicate_filter", "A", "B", "^o")}


@pytest.mark.parametrize(("onward", "level"), [("^o", Level.ERROR), ("^orders/", Level.UNDECIDED), ("^x", None)])
def test_cascade_is_asked_of_expressions_too(onward: str, level: Level | None, amps: SimpleNamespace) -> None:
    """What B relays with fewer checks fails if it certainly is all of it, and is undecided if it may be a part."""
    a, b = mirrored(amps, "^o", "^o")
    relaxed = amps.Dest("V", (amps.Entry(onward, exclude="replicate,cascade"),), group="V")
    report = amps.report_of(a, b.but(to=(*b.to, relaxed)), amps.Conf("V", log=(".*",)))
    assert [f.level for f in report.findings if (f.check, f.source) == ("cascade", "A")] == ([level] if level else [])


def test_an_expression_that_cannot_be_read_decides_nothing(amps: SimpleNamespace) -> None:
    """It is named, and what depends on it is undecided."""
    a, b = mirrored(amps, "orders", "orders", log="^(?<x>o)")
    report = amps.report_of(a, b)
    assert amps.found(report) == set()
    assert amps.found(report, Level.UNDECIDED) == {
        ("txlog", "A", "B", "orders"),
        ("pattern-unreadable", "B", None, "^(?<x>o)"),
    }
    a, b = mirrored(amps, "orders", "^(?<x>o)")
    assert ("replicate", "A", "B", "orders") in amps.found(amps.report_of(a, b), Level.UNDECIDED)


def test_containers_need_a_counterpart_with_the_same_keys(amps: SimpleNamespace) -> None:
    """A SOW container (``Pattern``) stands for topics without names: other keys fail, and so does no counterpart."""

    def container(key: str) -> str:
        return f"<Topic><Name>all</Name><MessageType>json</MessageType><Pattern>^o</Pattern><Key>{key}</Key></Topic>"

    a, b = mirrored(amps, ".*", ".*")
    same = amps.report_of(a.but(extra_sow=container("/id")), b.but(extra_sow=container("/id")))
    assert same.findings == ()
    other = amps.report_of(a.but(extra_sow=container("/id")), b.but(extra_sow=container("/x")))
    assert {("keys", "A", "B", "all"), ("keys", "B", "A", "all")} <= amps.found(other)
    lone = amps.report_of(a.but(extra_sow=container("/id")), b)
    assert ("sow", "A", "B", "all") in amps.found(lone)


def test_regex_support_switched_off_makes_expressions_plain(amps: SimpleNamespace) -> None:
    """With ``RegexTopicSupport`` false ``.*`` is a topic of that name; that both ends differ is a risk."""
    a, b = mirrored(amps, "orders", "orders")
    off = b.but(root="<RegexTopicSupport>false</RegexTopicSupport>")
    report = amps.report_of(a, off)
    assert amps.found(report) == {("txlog", "A", "B", "orders")}
    assert ("regex-support-differs", "A", "B", None) in amps.found(report, Level.RISK)
