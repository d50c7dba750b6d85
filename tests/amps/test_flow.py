"""Pass-through: which messages never arrive, found link by link."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from validator.fabric.fabric import Fabric
from validator.fabric.flow import gaps, topic_classes


def line(amps: SimpleNamespace, names: str, passthrough: str | None) -> list[Any]:
    """Instances in a row, each of a group of its own, linked with their neighbours both ways."""
    confs = []
    for index, name in enumerate(names):
        near = [names[other] for other in (index - 1, index + 1) if 0 <= other < len(names)]
        to = tuple(amps.Dest(mate, (amps.Entry("t"),), group=mate, passthrough=passthrough) for mate in near)
        confs.append(amps.full(name, [], ["t"], group=name, to=to))
    return confs


def stops(report: Any) -> dict[tuple[str, str], str]:
    return {(f.source, f.destination): f.message for f in report.findings if f.check == "passthrough-gap"}


def test_a_row_without_pass_through_stops_in_the_middle(amps: SimpleNamespace) -> None:
    """What A publishes reaches B, and never C; the fix lets it through."""
    assert set(stops(amps.report_of(*line(amps, "ABC", None)))) == {("B", "C"), ("B", "A")}
    assert stops(amps.report_of(*line(amps, "ABCD", ".*"))) == {}
    report = amps.report_of(*line(amps, "ABC", "^C$"))
    assert set(stops(report)) == {("B", "C")}
    [gap] = [f for f in report.findings if f.check == "passthrough-gap"]
    assert gap.topic == "t" and "published to t on A reach B from group A but never reach C" in gap.message
    assert gap.fix is not None and gap.fix.xml == "<PassThrough>^C$|^A$</PassThrough>"


def test_another_way_round_closes_the_gap(amps: SimpleNamespace) -> None:
    """A ring of three needs no pass-through: every instance is everybody's neighbour."""
    names = "ABC"
    ring = [
        amps.full(
            name,
            [],
            ["t"],
            group=name,
            to=tuple(amps.Dest(o, (amps.Entry("t"),), group=o, passthrough=None) for o in names if o != name),
        )
        for name in names
    ]
    assert stops(amps.report_of(*ring)) == {}


def test_only_the_first_link_that_stops_a_message_is_named(amps: SimpleNamespace) -> None:
    """A row of five that passes nothing on: each inner instance stops what its neighbours publish."""
    found = stops(amps.report_of(*line(amps, "ABCDE", None)))
    assert set(found) == {("B", "C"), ("C", "D"), ("D", "E"), ("B", "A"), ("C", "B"), ("D", "C")}


def test_topics_of_the_same_links_are_looked_at_together(amps: SimpleNamespace) -> None:
    """A class of topics for each set of links: the work does not grow with the number of topics."""
    topics = [f"t{index}" for index in range(20)]
    confs = [amps.full("A", ["B"], topics), amps.full("B", ["A"], [*topics[:10]]).but(log=tuple(topics))]
    fabric = Fabric([conf.instance() for conf in confs])
    assert sorted(len(topics) for _, topics in topic_classes(fabric)) == [10, 10]


@given(
    links=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda link: link[0] != link[1])),
    passing=st.sets(st.integers(0, 3)),
)
def test_gaps_are_those_that_walking_the_links_finds(
    links: set[tuple[int, int]], passing: set[int], amps: SimpleNamespace
) -> None:
    """A gap is found exactly when a message, carried step by step, stops short of where links lead.

    Groups are the instances' own; an instance passes on what comes from the groups in ``passing``.
    """
    names = "ABCD"
    passthrough = "|".join(f"^{names[index]}$" for index in sorted(passing)) or None
    confs = [
        amps.Conf(
            names[source],
            log=("t",),
            to=tuple(
                amps.Dest(names[target], (amps.Entry("t"),), passthrough=passthrough)
                for target in range(4)
                if (source, target) in links
            ),
        )
        for source in range(4)
    ]
    fabric = Fabric([conf.instance() for conf in confs])
    found = {str(gap.link) for members, _ in topic_classes(fabric) for gap in gaps(fabric, members)}
    lost = False
    for publisher in range(4):
        with_rules, without = _arrivals(publisher, links, passing), _arrivals(publisher, links, set(range(4)))
        lost = lost or bool(without - with_rules)
    assert bool(found) is lost


def _arrivals(publisher: int, links: set[tuple[int, int]], passing: set[int]) -> set[int]:
    """Where a message of ``publisher`` arrives: it never goes straight back over the link it came by."""
    arrived = {publisher}
    steps = {(publisher, target) for source, target in links if source == publisher}
    done: set[tuple[int, int]] = set()
    while steps:
        source, target = steps.pop()
        done.add((source, target))
        arrived.add(target)
        for _, onward in (link for link in links if link[0] == target and link[1] != source):
            if source in passing and (target, onward) not in done:
                steps.add((target, onward))
    return arrived


def test_every_order_of_links_finds_the_same(amps: SimpleNamespace) -> None:
    """The spread of messages does not depend on the order in which instances are looked at."""
    confs = [conf.instance() for conf in line(amps, "ABCD", "^B$")]
    results = []
    for order in itertools.permutations(range(4)):
        fabric = Fabric([confs[index] for index in order])
        results.append({str(gap.link) for members, _ in topic_classes(fabric) for gap in gaps(fabric, members)})
    assert all(result == results[0] for result in results)
