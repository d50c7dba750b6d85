"""The indexed validation against the plain loop of the benchmark: two ways, the same findings."""

from __future__ import annotations

import sys
from functools import partial
from operator import ne
from types import FrameType, SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.config.model import Check, Instance
from adapters.amps.config.settings import TopicName, ValidateOptions
from bench._amps_plain import plain_loop
from bench.amps_validate import compare, failures, instances_of
from validator.report import Level
from validator.validate import validate

NAMES, TOPICS = "ABCD", ("t", "u", "v")
ENTRY = st.tuples(
    st.sampled_from([*TOPICS, "^u", ".*"]),
    st.sampled_from(["", "replicate", "cascade", "sow,keys", "txlog,replicate,cascade", "queue_passthrough"]),
)


@st.composite
def fabrics(draw: st.DrawFn) -> list[dict[str, Any]]:
    size = draw(st.integers(2, 4))
    found = []
    for me in range(size):
        mates = draw(st.sets(st.integers(0, size - 1).filter(partial(ne, me))))
        found.append(
            {
                "log": tuple(draw(st.sets(st.sampled_from([*TOPICS, "^u", ".*"]), max_size=2))),
                "sow": {
                    name: draw(st.sampled_from([("/id",), ("/x",)])) for name in draw(st.sets(st.sampled_from("tu")))
                },
                "queue": draw(st.sampled_from(["", "", "<Filter>/a</Filter>"])) if draw(st.booleans()) else None,
                "passthrough": draw(st.sampled_from([None, ".*", "^A$"])),
                "to": {
                    mate: draw(st.lists(ENTRY, min_size=1, max_size=2, unique_by=lambda e: e[0])) for mate in mates
                },
            }
        )
    return found


@given(found=fabrics())
def test_the_plain_loop_agrees(found: list[dict[str, Any]], amps: SimpleNamespace) -> None:
    """For every topic that is known, on every link, both find the same checks failing."""
    queue = "<Queue><Name>v</Name><MessageType>json</MessageType>{}</Queue>"
    instances = [
        amps.Conf(
            NAMES[me],
            log=shape["log"],
            sow=shape["sow"],
            extra_sow="" if shape["queue"] is None else queue.format(shape["queue"]),
            to=tuple(
                amps.Dest(
                    NAMES[mate],
                    tuple(amps.Entry(name, exclude=exclude) for name, exclude in entries),
                    passthrough=shape["passthrough"],
                )
                for mate, entries in shape["to"].items()
            ),
        ).instance()
        for me, shape in enumerate(found)
    ]
    plain = plain_loop(instances)
    known = tuple(TopicName(name=name, message_type="json") for name in TOPICS)
    # What the plain loop knows of is what any file names; a topic that none names is the product's alone.
    report = validate(instances, ValidateOptions(topics=known, topics_complete=True, extra_rules=False))
    named = {topic for *_, topic, _ in plain} | {
        name
        for shape in found
        for name in (*shape["log"], *shape["sow"], *(e[0] for es in shape["to"].values() for e in es))
    }
    named |= {"v"} if any(shape["queue"] is not None for shape in found) else set()
    assert {each for each in failures(report) if each[3] in named} == plain


def test_the_fabric_of_the_benchmark_has_the_faults_it_says(amps: SimpleNamespace) -> None:
    """Every tenth instance fails txlog for each of its three neighbours; both agree."""
    assert compare(32, 8).agree
    report = validate(instances_of(32, 8))
    errors = [each for each in report.findings if each.level is Level.ERROR]
    assert {each.check for each in errors} == {Check.TXLOG}
    assert len(errors) == 9


def test_work_grows_with_links_and_topics_alone() -> None:
    """Twice the instances, or twice the topics, is about twice the work: no pairwise loop hides anywhere.

    Work is counted in function calls, so that the verdict does not depend on the machine.
    """
    base = calls(instances_of(40, 20))
    assert calls(instances_of(80, 20)) < 2.4 * base
    assert calls(instances_of(160, 20)) < 4.8 * base
    assert calls(instances_of(40, 40)) < 2.2 * base


def test_a_hub_is_not_asked_by_every_spoke_about_every_other(amps: SimpleNamespace) -> None:
    """Twice the spokes, about twice the work, although each spoke's link looks at all that the hub relays."""

    def star(size: int) -> list[Instance]:
        spokes = [f"S{index}" for index in range(size)]
        queue = "<Queue><Name>q</Name><MessageType>json</MessageType></Queue>"
        confs = [amps.full("HUB", spokes, ["t", "q"], sow={}, extra_sow=queue)]
        confs += [amps.full(spoke, ["HUB"], ["t", "q"], sow={}, extra_sow=queue) for spoke in spokes]
        return [conf.instance() for conf in confs]

    assert calls(star(80)) < 2.3 * calls(star(40))


def calls(instances: list[Instance]) -> int:
    """How many functions, of Python or of C, one validation calls."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        validate(instances)
    finally:
        sys.setprofile(before)
    return count
