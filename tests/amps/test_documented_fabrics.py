"""The fabrics that 60East's documentation describes: what it says of each is what is found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from adapters.amps.config.configuration import parse_instance
from validator.report import Level
from validator.validate import validate

HA, DR = ("HA-1", "HA-2"), "DR"
TOPICS = ("ORDERS", "INVENTORY", "CUSTOMERS")


def recovery_site(amps: SimpleNamespace, back: tuple[str, ...]) -> list[Any]:
    """A high-availability pair and a downstream disaster recovery site that replicates ``back``."""
    confs = []
    for name, mate in (HA, HA[::-1]):
        everything = tuple(amps.Entry(topic) for topic in TOPICS)
        to = (amps.Dest(mate, everything, group="HA"), amps.Dest(DR, everything, group="DR", sync="async"))
        confs.append(amps.full(name, [], TOPICS, group="HA", to=to))
    some = tuple(amps.Entry(topic) for topic in back)
    to = tuple(amps.Dest(name, some, group="HA") for name in HA)
    return [*confs, amps.full(DR, [], TOPICS, group="DR", to=to)]


def test_a_recovery_site_that_replicates_too_little_back_is_found(amps: SimpleNamespace) -> None:
    """«… but the disaster recovery site only replicates ORDERS and INVENTORY back»: replicate fails for CUSTOMERS."""
    assert amps.found(amps.report_of(*recovery_site(amps, TOPICS))) == set()
    report = amps.report_of(*recovery_site(amps, TOPICS[:2]))
    assert amps.found(report) == {("replicate", name, DR, "CUSTOMERS") for name in HA}
    assert {f.check for f in report.findings if f.level is Level.RISK} == set()


def test_a_pair_of_which_one_replicates_a_topic_is_found(amps: SimpleNamespace) -> None:
    """«… if only one member of the HA pair replicates ORDERS to the other member»: replicate fails for ORDERS."""
    a = amps.full("HA-1", ["HA-2"], TOPICS)
    b = amps.full("HA-2", ["HA-1"], TOPICS)
    b = b.but(to=(amps.Dest("HA-1", tuple(amps.Entry(topic) for topic in TOPICS[1:]), group="G"),))
    assert amps.found(amps.report_of(a, b)) == {("replicate", "HA-1", "HA-2", "ORDERS")}


def test_the_example_of_a_view_server_passes(amps: SimpleNamespace) -> None:
    """MyStuff-VIEW with ``replicate,cascade`` excluded: no error, and a risk that names what is given up."""
    entry = amps.Entry("MyStuff-VIEW", exclude="replicate,cascade")
    a = amps.full("A", [], ["MyStuff-VIEW"], to=(amps.Dest("V", (entry,), group="V", sync="async"),))
    v = amps.full("V", [], ["MyStuff-VIEW"], group="V")
    report = amps.report_of(a, v)
    assert report.exit_code == 0
    [risk] = [f for f in report.findings if f.check == "replicate"]
    assert (risk.level, risk.excluded) == (Level.RISK, True)
    assert "never reach A" in risk.consequence
    assert "exclusion-not-needed" not in {f.check for f in report.findings}


def region(name: str, number: int, remote: str) -> str:
    """One instance of "Regional Distribution with HA": sync within the region, async to either remote instance."""
    mate = 3 - number

    def destination(to: str, group: str, sync: str, passthrough: str, *hosts: str) -> str:
        addresses = "".join(f"<InetAddr>{host}:4000</InetAddr>" for host in hosts)
        return (
            f"<Destination><Name>{to}</Name><Group>{group}</Group><SyncType>{sync}</SyncType>"
            f"<PassThrough>{passthrough}</PassThrough>"
            "<Topic><Name>^/orders/</Name><MessageType>json</MessageType></Topic>"
            f"<Transport><Type>amps-replication</Type>{addresses}</Transport></Destination>"
        )

    return f"""<AMPSConfig><Name>{name}-{number}</Name><Group>{name}</Group>
    <Transports>
      <Transport><Name>amps-replication</Name><Type>amps-replication</Type><InetAddr>4000</InetAddr></Transport>
      <Transport><Name>any</Name><Type>tcp</Type><InetAddr>9007</InetAddr><Protocol>amps</Protocol></Transport>
    </Transports>
    <SOW><Topic><Name>/orders/eu</Name><MessageType>json</MessageType><Key>/id</Key></Topic></SOW>
    <TransactionLog><JournalDirectory>./journal</JournalDirectory>
      <Topic><Name>.*</Name><MessageType>json</MessageType></Topic></TransactionLog>
    <Replication>
      {destination(f"{name}-{mate}", name, "sync", ".*", f"{name}-{mate}.example.com")}
      {destination(remote, remote, "async", name, f"{remote}-1.example.com", f"{remote}-2.example.com")}
    </Replication></AMPSConfig>"""


def test_two_regions_of_two_instances_pass() -> None:
    """The documented table of destinations and pass-through: eight links, nothing found, every message arrives."""
    configurations = [
        region(name, number, remote)
        for name, remote in (("NewYork", "London"), ("London", "NewYork"))
        for number in (1, 2)
    ]
    report = validate([parse_instance(text, f"{index}.xml") for index, text in enumerate(configurations)])
    # To the mate, and to either instance of the other region: three links an instance.
    assert len(report.links) == 12
    assert report.findings == ()


def chain(amps: SimpleNamespace, exclude_at: dict[str, str]) -> list[Any]:
    """X ↔ A ↔ B → V: V is a view server. ``exclude_at`` maps "A>B" to what A excludes for the topic towards B."""
    ways = {"X": "A", "A": "XB", "B": "AV", "V": ""}
    return [
        amps.full(
            name,
            [],
            ["t"],
            group=name,
            to=tuple(
                amps.Dest(to, (amps.Entry("t", exclude=exclude_at.get(f"{name}>{to}", "")),), group=to) for to in tos
            ),
        )
        for name, tos in ways.items()
    ]


@pytest.mark.parametrize(
    ("exclude_at", "expected"),
    [
        # B relaxes replicate towards its view server: A, which replicates to B, must exclude cascade …
        ({"B>V": "replicate,cascade"}, {("cascade", "A", "B", "t")}),
        # … and then X, and B on its way back to A, because A no longer enforces cascade …
        ({"B>V": "replicate,cascade", "A>B": "cascade"}, {("cascade", "X", "A", "t"), ("cascade", "B", "A", "t")}),
        # … and then A on its way back to X, because X does not, and nothing is left.
        (
            {"B>V": "replicate,cascade", "A>B": "cascade", "X>A": "cascade", "B>A": "cascade"},
            {("cascade", "A", "X", "t")},
        ),
        (
            {"B>V": "replicate,cascade", "A>B": "cascade", "X>A": "cascade", "B>A": "cascade", "A>X": "cascade"},
            set(),
        ),
    ],
)
def test_cascade_goes_upstream_through_the_whole_fabric(
    exclude_at: dict[str, str], expected: set[Any], amps: SimpleNamespace
) -> None:
    """«When relaxing validation rules …, adding an exclusion for cascade is often necessary as well»."""
    assert amps.found(amps.report_of(*chain(amps, exclude_at))) == expected


def test_a_fabric_that_excludes_nothing_but_cascade_meets_the_rules(amps: SimpleNamespace) -> None:
    """«If cascade is the only check that is excluded …»: notes, no risk. Excluding more makes it a risk again."""
    a, b = amps.full("A", ["B"], ["t"]), amps.full("B", ["A"], ["t"])
    only = [
        conf.but(to=(amps.Dest(to, (amps.Entry("t", exclude="cascade"),), group="G"),)) for conf, to in ((a, "B"),)
    ]
    relaxed = b.but(to=(amps.Dest("A", (amps.Entry("t", exclude="cascade"),), group="G"),))
    report = amps.report_of(*only, relaxed)
    assert {f.level for f in report.findings} <= {Level.NOTE}
    more = relaxed.but(to=(amps.Dest("A", (amps.Entry("t", exclude="cascade,sow"),), group="G"),))
    assert ("cascade", "A", "B", "t") in amps.found(amps.report_of(*only, more), Level.RISK)


def test_whether_cascade_looks_at_the_way_back_is_an_assumption(amps: SimpleNamespace) -> None:
    """``cascade_counts_way_back``."""
    a, b = amps.full("A", ["B"], ["t"]), amps.full("B", ["A"], ["t"])
    b = b.but(to=(amps.Dest("A", (amps.Entry("t", exclude="txlog"),), group="G"),))
    assert amps.found(amps.report_of(a, b)) == {("cascade", "A", "B", "t")}
    assert amps.found(amps.report_of(a, b, assumptions={"cascade_counts_way_back": False})) == set()


def test_a_mesh_of_three_with_a_queue_must_pass_everything_on(amps: SimpleNamespace) -> None:
    """Without pass-through anywhere, every instance fails queue_passthrough towards each of the others."""
    queue = "<Queue><Name>q</Name><MessageType>json</MessageType></Queue>"
    names = "ABC"

    def mesh(passthrough: str | None) -> list[Any]:
        return [
            amps.full(
                name,
                [],
                ["q"],
                sow={},
                extra_sow=queue,
                to=tuple(
                    amps.Dest(to, (amps.Entry("q"),), group="G", passthrough=passthrough)
                    for to in names
                    if to != name
                ),
            )
            for name in names
        ]

    assert amps.report_of(*mesh(".*")).findings == ()
    expected = {("queue_passthrough", a, b, "q") for a in names for b in names if a != b}
    assert amps.found(amps.report_of(*mesh(None))) == expected
