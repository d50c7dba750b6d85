"""The fabric: which instances a destination leads to, and which topics a link carries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from adapters.amps.config.model import Topic
from adapters.amps.config.settings import ValidateOptions
from validator.fabric.fabric import Fabric

LISTEN = "<Transport><Name>r</Name><Type>amps-replication</Type><InetAddr>{}</InetAddr></Transport>"


def fabric_of(*confs: Any, **options: Any) -> Fabric:
    chosen = ValidateOptions.model_validate(options)
    return Fabric([conf.instance(chosen) for conf in confs], chosen)


def links(fabric: Fabric) -> set[str]:
    return {str(link) for link in fabric.links}


@pytest.mark.parametrize(
    ("name", "group", "addresses", "options", "expected"),
    [
        ("B", None, (), {}, {"A → B"}),  # by name
        ("elsewhere", "BC", (), {}, {"A → B", "A → C"}),  # by group: any member
        ("BC", None, (), {}, {"A → B", "A → C"}),  # the name stands for the group
        ("x", "BC", ("h:2",), {}, {"A → B"}),  # by group, the member that listens there
        ("x", None, ("h:3",), {}, {"A → C"}),  # the only one on that port
        ("x", None, ("h:3",), {"assumptions": {"unique_port": False}}, set()),
        ("x", None, ("b.example.com:2",), {}, {"A → B"}),  # the host is called as the instance is
        ("x", None, ("b.example.com:9",), {}, set()),  # … and does not listen there
        ("x", None, ("db7:3", "db8:2"), {"hosts": {"B": ["db8"], "C": ["db7"]}}, {"A → B", "A → C"}),
        ("B", "BC", ("h:2", "k:3"), {}, {"A → B", "A → C"}),  # a list of addresses: its group's members too
        ("x", "nobody", (), {}, set()),
    ],
)
def test_a_destination_is_found_by_name_address_or_group(
    name: str,
    group: str | None,
    addresses: tuple[str, ...],
    options: dict[str, Any],
    expected: set[str],
    amps: SimpleNamespace,
) -> None:
    """Name first, then address, then group, then the only port; a list of addresses may lead to several."""
    to = amps.Dest(name, (amps.Entry("t"),), group=group, addresses=addresses)
    fabric = fabric_of(
        amps.Conf("A", to=(to,), transports=LISTEN.format(1)),
        amps.Conf("B", group="BC", transports=LISTEN.format(2)),
        amps.Conf("C", group="BC", transports=LISTEN.format(3)),
        **options,
    )
    assert links(fabric) == expected
    assert bool(fabric.strays) is not bool(expected)


def test_a_destination_never_leads_home(amps: SimpleNamespace) -> None:
    """The own name makes no link; the own group means the other members."""
    to = (amps.Dest("A", (amps.Entry("t"),)), amps.Dest("G", (amps.Entry("t"),), group="G"))
    fabric = fabric_of(amps.Conf("A", group="G", to=to), amps.Conf("B", group="G"))
    assert links(fabric) == {"A → B"}
    assert [stray.resolution.is_itself for stray in fabric.strays] == [True]


def test_an_expression_carries_what_its_own_side_logs(amps: SimpleNamespace) -> None:
    """Topics that either side names, if the source logs them; a topic that is written out in any case."""
    a = amps.Conf("A", log=("^o",), sow={"orders": (), "local": ()}, to=(amps.Dest("B", (amps.Entry(".*"),)),))
    b = amps.Conf("B", log=("other", "unlogged-at-a"))
    fabric = fabric_of(a, b)
    assert {topic.name for topic, _ in fabric.traffic(fabric.links[0])} == {"orders", "other"}
    everything = fabric_of(a, b, assumptions={"only_logged_topics": False})
    assert {topic.name for topic, _ in everything.traffic(everything.links[0])} == {
        *("orders", "other", "local", "unlogged-at-a"),
    }


def test_a_topic_travels_as_far_as_links_carry_it(amps: SimpleNamespace) -> None:
    """A topic that only the first instance names is known at the end of a chain of expressions, and not beyond."""
    chain = [
        amps.Conf("A", log=("orders",), to=(amps.Dest("B", (amps.Entry("orders"),)),)),
        amps.Conf("B", log=(".*",), to=(amps.Dest("C", (amps.Entry("^o"),)),)),
        amps.Conf("C", log=(".*",), to=(amps.Dest("D", (amps.Entry("^x"),)),)),
        amps.Conf("D", log=(".*",)),
    ]
    fabric = fabric_of(*chain)
    assert {each.name: fabric.known(each) for each in fabric.instances} == {
        "A": {Topic("orders", "json")},
        "B": {Topic("orders", "json")},
        "C": {Topic("orders", "json")},
        "D": set(),
    }


def test_the_topics_of_the_options_exist_where_they_are_logged(amps: SimpleNamespace) -> None:
    """A topic that no file writes out is validated when it is given."""
    a = amps.Conf("A", log=(".*",), to=(amps.Dest("B", (amps.Entry(".*"),)),))
    fabric = fabric_of(a, amps.Conf("B"), topics=[{"name": "t", "message_type": "json"}])
    assert [topic.name for topic, _ in fabric.traffic(fabric.links[0])] == ["t"]


def test_a_topic_entry_without_a_name_stands_for_every_topic_of_its_type(amps: SimpleNamespace) -> None:
    """An assumption with a name: ``topic_without_name``."""
    a = amps.Conf("A", log=("t",), to=(amps.Dest("B", (amps.Entry("NAME"),)),))
    nameless = a.xml().replace("<Name>NAME</Name>", "")
    a = amps.Conf("A").but(name="A")
    object.__setattr__(a, "xml", lambda: nameless)
    for setting, expected in (("every-topic", ["t"]), ("none", [])):
        fabric = fabric_of(a, amps.Conf("B"), assumptions={"topic_without_name": setting})
        assert [topic.name for topic, _ in fabric.traffic(fabric.links[0])] == expected


def test_a_container_is_logged_by_its_own_name(amps: SimpleNamespace) -> None:
    """A topic of a SOW container (``Pattern``) is in the transaction log when the container's name is."""
    container = "<Topic><Name>all</Name><MessageType>json</MessageType><Pattern>^o</Pattern></Topic>"
    for log, expected in ((("all",), True), (("orders",), False)):
        fabric = fabric_of(amps.Conf("A", log=log, extra_sow=container))
        holdings = fabric.holdings[fabric.instances[0]]
        assert holdings.logged(Topic("orders", "json")) is expected
        assert holdings.sow(Topic("orders", "json")) is not None
        assert holdings.sow(Topic("trades", "json")) is None
