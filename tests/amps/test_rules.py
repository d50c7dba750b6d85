"""The rules beyond the nine checks: each fires where it should, at its level, and a sound pair breaks none."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import DefinitionError
from validator.report import Level
from validator.rules.catalogue import NINE, OURS, RULES

REPLICATION = "<Transport><Name>{}</Name><Type>{}</Type><InetAddr>{}</InetAddr></Transport>"
CLIENTS = "<Transport><Name>c</Name><Type>tcp</Type><InetAddr>9007</InetAddr></Transport>"
Pair = Callable[[], tuple[Any, Any]]


def rules(report: Any) -> set[tuple[str, str, str | None, str | None, str | None]]:
    return {(f.check, f.level.value, f.source, f.destination, f.topic) for f in report.findings}


def queue(kind: str = "Queue", inner: str = "") -> str:
    return f"<{kind}><Name>orders</Name><MessageType>json</MessageType>{inner}</{kind}>"


def test_every_rule_has_an_id_of_its_own() -> None:
    """Ids are unique, and the nine checks keep their names."""
    assert len(RULES) == len(NINE) + len(OURS)
    assert len(NINE) == 9


def test_a_publisher_needs_a_sync_destination(pair: Pair, amps: SimpleNamespace) -> None:
    """Risk where an instance takes clients and has async destinations alone; note where it replicates to nobody."""
    a, b = pair()
    slow = amps.Dest("B", (amps.Entry("orders"),), group="G", sync="async")
    assert ("no-sync-destination", "risk", "A", None, None) in rules(amps.report_of(a.but(to=(slow,)), b))
    assert ("no-sync-destination", "note", "B", None, None) in rules(amps.report_of(a, b.but(to=())))
    quiet = a.but(to=(slow,), transports=REPLICATION.format("r", "amps-replication", 10004))
    assert "no-sync-destination" not in {rule for rule, *_ in rules(amps.report_of(quiet, b))}


def test_one_replication_transport_and_one_name(pair: Pair, amps: SimpleNamespace) -> None:
    """AMPS allows exactly one incoming replication transport; names are unique in the whole fabric."""
    a, b = pair()
    two = REPLICATION.format("r", "amps-replication", 1) + REPLICATION.format("s", "amps-replication-secure", 2)
    found = rules(amps.report_of(a.but(transports=two), b))
    assert ("replication-transports", "error", "A", None, None) in found
    assert ("duplicate-name", "error", "A", None, None) in rules(amps.report_of(a, a, b))


def test_what_is_replicated_must_be_logged_here_too(pair: Pair, amps: SimpleNamespace) -> None:
    """A topic that its own transaction log does not have is never replicated; a queue needs the log as well."""
    a, b = pair()
    assert ("topic-not-logged", "risk", "A", None, "orders") in rules(amps.report_of(a.but(log=()), b))
    built = queue(inner="<UnderlyingTopic>source</UnderlyingTopic>")
    report = amps.report_of(a.but(extra_sow=built, sow={}), b.but(extra_sow=built, sow={}))
    assert ("queue-not-logged", "risk", "A", None, "source") in rules(report)
    assert ("queue-underlying-not-replicated", "risk", "A", "B", "source") in rules(report)


def test_what_is_not_replicated_by_nature_is_told(pair: Pair, amps: SimpleNamespace) -> None:
    """Local queues are an error of AMPS; views and conflated topics are computed on each side."""
    a, b = pair()
    local = a.but(extra_sow=queue("LocalQueue"), sow={})
    assert ("local-queue-replicated", "error", "A", None, "orders") in rules(amps.report_of(local, b))
    view = "<View><Name>orders</Name><MessageType>json</MessageType></View>"
    found = rules(amps.report_of(a.but(extra_sow=view, sow={}), b))
    assert ("derived-replicated", "note", "A", None, "orders") in found


def test_definitions_are_given_once_and_in_order(pair: Pair, amps: SimpleNamespace) -> None:
    """Two definitions of a topic, two destinations of a name, and a topic behind the container that takes it."""
    a, b = pair()
    twice = "<Topic><Name>orders</Name><MessageType>json</MessageType><Key>/id</Key></Topic>"
    assert ("duplicate-definition", "risk", "A", None, "orders") in rules(amps.report_of(a.but(extra_sow=twice), b))
    report = amps.report_of(a.but(to=a.to * 2), b)
    assert ("duplicate-definition", "risk", "A", None, None) in rules(report)
    assert ("duplicate-destination", "risk", "A", "B", None) in rules(report)
    container = "<Topic><Name>all</Name><MessageType>json</MessageType><Pattern>^o</Pattern></Topic>"
    after = a.but(sow={}, extra_sow=container + twice)
    assert ("sow-order", "risk", "A", None, "orders") in rules(amps.report_of(after, b))


def test_an_exclusion_that_nothing_needs_is_noted(pair: Pair, amps: SimpleNamespace) -> None:
    """With the entry as it should be; not for cascade beside another exclusion, as in 60East's own example."""
    a, b = pair()
    loose = a.but(to=(amps.Dest("B", (amps.Entry("orders", exclude="txlog,sow,cascade"),), group="G"),))
    report = amps.report_of(loose, b)
    [note] = [f for f in report.findings if f.check == "exclusion-not-needed"]
    assert (note.level, note.source, note.destination, note.topic) == (Level.NOTE, "A", "B", "orders")
    assert note.message == "the exclusion of sow, txlog for orders is not needed"
    assert note.fix is not None and "<ExcludeValidation>cascade</ExcludeValidation>" in note.fix.xml


def test_where_a_destination_leads_is_told_when_it_is_unclear(pair: Pair, amps: SimpleNamespace) -> None:
    """Nowhere known is undecided, home is a risk, several candidates are a note."""
    a, b = pair()
    assert ("destination-unknown", "undecided", "A", None, None) in rules(amps.report_of(a))
    home = a.but(to=(amps.Dest("A", (amps.Entry("orders"),)),))
    assert ("self-destination", "risk", "A", None, None) in rules(amps.report_of(home, b))
    c = amps.full("C", [], ["orders"])
    group = a.but(to=(amps.Dest("somewhere", (amps.Entry("orders"),), group="G", addresses=("h:10004",)),))
    assert ("destination-ambiguous", "note", "A", None, None) in rules(amps.report_of(group, b, c))


def test_both_ends_must_agree_that_there_is_a_link(pair: Pair, amps: SimpleNamespace) -> None:
    """Group, transport, type and port of the destination are those of the remote instance."""
    a, b = pair()
    topics = (amps.Entry("orders"),)
    report = amps.report_of(a.but(to=(amps.Dest("B", topics, group="H"),)), b)
    [mismatch] = [f for f in report.findings if f.check == "group-mismatch"]
    assert (mismatch.level, mismatch.source, mismatch.destination) == (Level.ERROR, "A", "B")
    assert mismatch.fix is not None and mismatch.fix.xml == "<Group>G</Group>"
    elsewhere = a.but(to=(amps.Dest("B", topics, group="G", addresses=("h:10005",)),))
    assert ("port-mismatch", "note", "A", "B", None) in rules(amps.report_of(elsewhere, b))
    secure = b.but(transports=REPLICATION.format("r", "amps-replication-secure", 10005))
    assert ("transport-mismatch", "risk", "A", "B", None) in rules(amps.report_of(elsewhere, secure))
    deaf = b.but(transports=CLIENTS)
    assert "no-replication-transport" not in {rule for rule, *_ in rules(amps.report_of(elsewhere, deaf))}
    mute = deaf.but(to=())
    assert ("no-replication-transport", "error", "A", "B", None) in rules(amps.report_of(elsewhere, mute))


def test_keys_are_more_than_their_fields(pair: Pair, amps: SimpleNamespace) -> None:
    """Another KeyDomain or KeyGenerator makes other SowKeys, and none of the nine checks is documented to look."""
    a, b = pair()

    def stored(inner: str) -> str:
        return f"<Topic><Name>orders</Name><MessageType>json</MessageType><Key>/id</Key>{inner}</Topic>"

    mine, other = stored(""), stored("<KeyDomain>d</KeyDomain><KeyGenerator><Module>m</Module></KeyGenerator>")
    report = amps.report_of(a.but(sow={}, extra_sow=mine), b.but(sow={}, extra_sow=other))
    assert rules(report) == {
        (rule, "risk", source, target, "orders")
        for rule in ("key-domain-differs", "key-generator-differs")
        for source, target in (("A", "B"), ("B", "A"))
    }


def test_queues_share_more_than_the_checks_look_at(pair: Pair, amps: SimpleNamespace) -> None:
    """Kind, owner, semantics, domain and filter of a replicated queue."""
    a, b = (conf.but(sow={}) for conf in pair())

    def found(here: str, there: str) -> set[Any]:
        return {
            (rule, level) for rule, level, *_ in rules(amps.report_of(a.but(extra_sow=here), b.but(extra_sow=there)))
        }

    owned = "<InitialOwner>{}</InitialOwner>"
    assert found(queue(), queue("GroupLocalQueue", owned.format("A"))) == {("queue-kind-differs", "risk")}
    grouped = [queue("GroupLocalQueue", owned.format(owner)) for owner in "ABX"]
    assert found(grouped[0], grouped[1]) == {("initial-owner-differs", "risk")}
    assert found(grouped[2], grouped[2]) == {("initial-owner-unknown", "risk")}
    assert found(queue(), queue(inner="<Semantics>at-most-once</Semantics>")) == {("queue-settings-differ", "risk")}
    domain = queue("GroupLocalQueue", owned.format("A") + "<GroupLocalQueueDomain>d</GroupLocalQueueDomain>")
    assert found(grouped[0], domain) == {("queue-settings-differ", "risk")}
    sieved = [
        conf.but(extra_sow=queue(), to=(amps.Dest(to, (amps.Entry("orders", filter="/x"),)),))
        for conf, to in ((a, "B"), (b, "A"))
    ]
    assert {rule for rule, *_ in rules(amps.report_of(*sieved))} == {"queue-filtered"}


def test_a_pass_through_that_matches_a_part_of_a_group_rests_on_an_assumption(amps: SimpleNamespace) -> None:
    """Whether AMPS anchors the expression is not documented: a note says how it was taken."""
    for passthrough, noted in (
        ("New", True),
        ("NewYork", False),
        ("^NewYork$", False),
        (".*", False),
        ("^N.*", False),
    ):
        to = amps.Dest("B", (amps.Entry("t"),), passthrough=passthrough)
        report = amps.report_of(
            amps.Conf("N", group="NewYork", log=("t",), to=(amps.Dest("A", (amps.Entry("t"),)),)),
            amps.Conf("A", log=("t",), to=(to,)),
            amps.Conf("B", log=("t",)),
        )
        assert (("passthrough-anchoring", "note", "A", "B", None) in rules(report)) is noted


def test_instances_that_clients_fail_over_between_are_linked_by_sync(pair: Pair, amps: SimpleNamespace) -> None:
    """Those of one group, and those of a set that is given: async links and missing ways are risks."""
    a, b = pair()
    slow = a.but(to=(amps.Dest("B", (amps.Entry("orders"),), group="G", sync="async"),))
    assert ("failover-async", "risk", "A", "B", None) in rules(amps.report_of(slow, b))
    assert ("failover-unconnected", "risk", "A", "B", None) in rules(amps.report_of(a, b.but(to=())))
    apart = (slow.but(group="A", to=(amps.Dest("B", (amps.Entry("orders"),), sync="async"),)), b.but(group="B"))
    assert "failover-async" not in {rule for rule, *_ in rules(amps.report_of(*apart))}
    given = amps.report_of(*apart, failover_sets=[("A", "B")])
    assert ("failover-async", "risk", "A", "B", None) in rules(given)
    with pytest.raises(DefinitionError, match="names X, but this instance was not given"):
        amps.report_of(a, b, failover_sets=[("A", "X")])


def bootstrap(*hosts: str, topic: str = "orders") -> str:
    addresses = "".join(f"<InetAddr>{host}:10004</InetAddr>" for host in hosts)
    return (
        f"<Bootstrap><Topic><Name>{topic}</Name><MessageType>json</MessageType></Topic><DataType>sow,txlog</DataType>"
        f"<Transport>{addresses}<Type>amps-replication</Type></Transport></Bootstrap>"
    )


def test_instances_that_bootstrap_from_each_other_alone_wait_for_ever(amps: SimpleNamespace) -> None:
    """Two, or three in a round; not if one of them has a source that does not bootstrap."""

    def waiting(**sources: tuple[str, ...]) -> set[str | None]:
        names = sorted(sources)
        confs = [
            amps.full(name, [other for other in names if other != name], ["orders"]).but(
                root=bootstrap(*sources[name]) if sources[name] else ""
            )
            for name in names
        ]
        report = amps.report_of(*confs)
        return {f.destination for f in report.findings if f.check == "bootstrap-deadlock" and f.level is Level.RISK}

    assert waiting(A=("B",), B=("A",)) == {"A", "B"}
    assert waiting(A=("B",), B=("C",), C=("A",)) == {"A", "B", "C"}
    assert waiting(A=("B",), B=()) == set()
    assert waiting(A=("B", "C"), B=("A",), C=()) == set()


def test_bootstrap_needs_a_transport_a_log_and_a_source_that_has_the_topics(amps: SimpleNamespace) -> None:
    """What 60East lists under "Configuring Bootstrap Initialization"."""
    source = amps.Conf("S", log=("orders",))
    bare = amps.Conf("A", root=bootstrap("s.example.com"), transports=CLIENTS)
    found = rules(amps.report_of(bare, source))
    assert ("bootstrap-unprepared", "error", "A", None, None) in found
    ready = amps.Conf("A", log=("orders",), root=bootstrap("s"))
    assert {rule for rule, *_ in rules(amps.report_of(ready, source))} == set()
    lacking = amps.report_of(ready, source.but(log=("other",)))
    assert ("bootstrap-source-lacks", "risk", "S", "A", "orders") in rules(lacking)
    far = amps.Conf("A", log=("orders",), root=bootstrap("elsewhere"))
    unknown = amps.report_of(far, source, assumptions={"unique_port": False})
    assert ("bootstrap-source-unknown", "undecided", "A", None, None) in rules(unknown)


def test_remarks_of_the_reader_become_findings(pair: Pair, amps: SimpleNamespace) -> None:
    """With the rule's level, the file and the line."""
    a, b = pair()
    report = amps.report_of(a.but(root="<Replicaton/>"), b.but(root="<Zebra/>"))
    assert rules(report) == {
        ("element-misspelt", "risk", "A", None, None),
        ("element-unknown", "note", "B", None, None),
    }
    assert str(report.findings[0].source_at) == "A.xml:14"


def test_the_rules_can_be_left_out(pair: Pair, amps: SimpleNamespace) -> None:
    """``extra_rules`` off leaves the nine checks alone."""
    a, b = pair()
    report = amps.report_of(a.but(root="<Zebra/>"), b.but(log=()), extra_rules=False)
    assert {f.check for f in report.findings} == {"txlog"}
