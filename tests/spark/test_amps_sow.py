"""Why two instances' SOW topics differ: the example of docs/sources/amps.md, 9.8, a plain oracle on random fabrics,
each cause by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from orchestrator.model.findings import Level
from pipeline.amps.instance import Instance, Topic, topic_of
from pipeline.amps.keys import Definition, parse_keys
from pipeline.amps.report import CAUSES, SowReport
from pipeline.amps.sow import SowSide, compare_sows
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from tests.spark.dumps import Kept, Logged, journal_text, sow_text, write
from tests.spark.fabric import Site, expected_own, expected_pair, some_pair

SKEW = 1.0
ORDERS = Topic("orders", "json")
BY_ID = {ORDERS: Definition(("/id",))}


def compare(
    engine: Executor,
    left: str,
    right: str,
    keys: dict[Topic, Definition],
    right_keys: dict[Topic, Definition] | None = None,
) -> SowReport:
    here = SowSide(Instance.of_directory(left), keys)
    there = SowSide(Instance.of_directory(right), right_keys or keys)
    outcome = compare_sows(engine, here, there, SKEW, VirtualClock())
    outcome.close()
    return outcome.report


def order(number: int, **more: object) -> bytes:
    return json.dumps({"id": number, **more}).encode()


def instance(directory: Path, logged: list[Logged], kept: list[Kept], *, topic: str = "orders.json") -> str:
    write(directory / "journal" / "0.txt", journal_text(logged))
    write(directory / "sow" / f"{topic}.txt", sow_text(kept))
    return str(directory)


def test_the_example_of_the_document(duck: Duck, tmp_path: Path) -> None:
    """docs/sources/amps.md, 9.8, "SOW and Replication": order 1 has aged out of the log, the upstream SOW keeps it,
    and a downstream instance whose log and SOW were deleted cannot have it; the other two are the same."""
    names = {1: "Godzilla", 2: "Mothra", 3: "Gamora"}
    data = {number: order(number, Name=name, Order=12344 + number) for number, name in names.items()}
    day = 86_400.0
    upstream = [Logged(n, "7", n, data[n], at_s=day * n) for n in (2, 3)]
    left = instance(tmp_path / "up", upstream, [Kept(100 + n, n, data[n]) for n in (1, 2, 3)])
    downstream = [Logged(50 + n, "7", n, data[n], at_s=day * 9) for n in (2, 3)]
    right = instance(tmp_path / "down", downstream, [Kept(100 + n, 50 + n, data[n]) for n in (2, 3)])
    report = compare(duck, left, right, BY_ID)
    (kept,), (kept_right,) = report.left.topics, report.right.topics
    assert (kept.records, kept.rebuilt, kept.same, kept.differences) == (3, 2, 2, {"aged-out": 1})
    assert (kept_right.records, kept_right.rebuilt, kept_right.same, kept_right.differences) == (2, 2, 2, {})
    (pair,) = report.topics
    assert (pair.same, pair.only_left, pair.only_right, pair.differing) == (2, {"aged-out": 1}, {}, {})
    levels = {finding.code: finding.level for finding in report.findings}
    assert levels == {"sow-log-aged-out": Level.NOTE, "sow-aged-out": Level.ERROR}
    assert {(one.where, one.key) for one in report.samples} == {("left", '["1"]'), ("pair", '["1"]')}


@settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(seed=st.integers(0, 2**32))
def test_as_the_oracle_says(duck: Duck, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """However messages interleaved, got lost, were held up or aged out, whatever a SOW let expire, passed over or has
    another content of, and whenever it was dumped: each record is explained as the oracle does."""
    left, right = some_pair(seed, TOPICS)
    names = [site.write(tmp_path_factory.mktemp("instance"), TOPICS) for site in (left, right)]
    check(compare(duck, names[0], names[1], BY_ID_OF_EACH), left, right, seed)


TOPICS = [f"t{number}" for number in range(8)]
BY_ID_OF_EACH = {Topic(topic, "json"): Definition(("/id",)) for topic in TOPICS}


def check(report: SowReport, left: Site, right: Site, seed: int) -> None:
    """Every record is explained as the oracle does."""
    for told in report.topics:
        expected = expected_pair(left, right, told.topic, TOPICS, SKEW)
        assert (seed, told.topic, told.same) == (seed, told.topic, expected.same)
        for which in ("only_left", "only_right", "differing"):
            assert (seed, told.topic, which, getattr(told, which)) == (
                seed,
                told.topic,
                which,
                getattr(expected, which),
            )
    for site, side in ((left, report.left), (right, report.right)):
        for kept in side.topics:
            assert (seed, kept.topic, kept.differences) == (seed, kept.topic, expected_own(site, kept.topic, TOPICS))
            assert kept.records == len(site.sow(kept.topic))


def test_the_oracle_meets_every_cause() -> None:
    """Law: the made-up instances differ for every reason that two logs and two dumps can show."""
    seen: set[str] = set()
    for left, right in (some_pair(seed, TOPICS) for seed in range(20)):
        for topic in TOPICS:
            pair = expected_pair(left, right, topic, TOPICS, SKEW)
            seen |= {*pair.only_left, *pair.only_right, *pair.differing, *expected_own(left, topic, TOPICS)}
    assert seen - {"unknown"} == {*CAUSES} - {"different-keys", "not-in-log", "unknown"}


def every_cause(folder: Path) -> tuple[SowSide, SowSide]:
    """Two instances, a topic for each cause that the oracle does not know."""
    keys = {
        Topic(name, "json"): Definition(("/id",)) for name in ("changed", "unapplied", "expired", "later", "gone")
    }
    keys[Topic("blind", "json")] = Definition(("/id",))
    regions = [order(1, region="a"), order(1, region="b"), order(2, region="a")]
    logged = [
        Logged(10, "1", 1, order(1), topic="changed"),
        Logged(11, "1", 2, order(1, v=1), topic="unapplied"),
        Logged(12, "1", 3, order(1, v=2), topic="unapplied"),
        Logged(13, "1", 4, order(1), topic="expired", expiration=60),
        Logged(14, "1", 5, order(1), topic="blind"),
        Logged(15, "1", 6, b"", topic="blind", type="sow_delete"),
        Logged(16, "1", 7, order(2), topic="gone"),
        *[Logged(20 + n, "1", 10 + n, data, topic="keys") for n, data in enumerate(regions)],
        Logged(90, "1", 19, order(1), topic="later"),
    ]
    records = {
        "changed": [Kept(1, 10, order(1, v="else"))],
        "unapplied": [Kept(1, 11, order(1, v=1))],
        "expired": [],
        "later": [],
        "gone": [Kept(1, 15, order(1)), Kept(2, 16, order(2))],
        "blind": [],
    }
    left = right = ""
    for name, kept in records.items():
        left = instance(folder / "left", logged, kept, topic=f"{name}.json")
        right = instance(folder / "right", logged, kept, topic=f"{name}.json")
    instance(folder / "left", logged, [Kept(1, 21, regions[1]), Kept(2, 22, regions[2])], topic="keys.json")
    finer = [Kept(5 + n, 20 + n, data) for n, data in enumerate(regions)]
    instance(folder / "right", logged, finer, topic="keys.json")
    by_one = {**keys, Topic("keys", "json"): Definition(("/id",))}
    by_both = {**keys, Topic("keys", "json"): Definition(("/id", "/region"))}
    return SowSide(Instance.of_directory(left), by_one), SowSide(Instance.of_directory(right), by_both)


def test_each_other_cause(duck: Duck, tmp_path: Path) -> None:
    """Content changed under one identity, an update that the SOW does not show, an expiration, dumps of different
    moments, a message that the log should have, and a deletion that names no key: each is said as what it is. Where
    two instances define a topic's keys differently, that is said of the definitions and of every record."""
    outcome = compare_sows(duck, *every_cause(tmp_path), SKEW, VirtualClock())
    outcome.close()
    report = outcome.report
    assert {topic.topic: dict(topic.differences) for topic in report.left.topics} == {
        "changed": {"changed": 1},
        "unapplied": {"not-applied": 1},
        "expired": {"expired": 1},
        "later": {"dumped-later": 1},
        "gone": {"not-in-log": 1},
        "blind": {"unknown": 1},
        "keys": {},
    }
    pairs = {topic.topic: (topic.same, topic.only_left, topic.only_right, topic.differing) for topic in report.topics}
    assert pairs.pop("keys") == (2, {}, {"different-keys": 1}, {})
    same = {name: counts[0] for name, counts in pairs.items()}
    assert same == {"changed": 1, "unapplied": 1, "gone": 2, "expired": 0, "later": 0, "blind": 0}
    assert all(not any(others) for _, *others in pairs.values())
    codes = {finding.code for finding in report.findings}
    assert {"sow-keys-differ", "sow-different-keys"} <= codes
    assert "sow-own-keys-differ" not in codes


def without_keys(folder: Path) -> tuple[str, str]:
    """Two instances of which nobody told the keys; a part of one log cannot be read, and one dump is at left alone."""
    logged = [Logged(10 + n, "1", n, order(n)) for n in range(4)]
    left = instance(folder / "left", logged, [Kept(n, 10 + n, order(n)) for n in range(4)])
    right = instance(folder / "right", [logged[0], logged[3]], [Kept(0, 10, order(0)), Kept(3, 13, order(3))])
    write(folder / "right" / "journal" / "1.txt", journal_text([logged[1]])[:300])
    write(folder / "left" / "sow" / "trades.fix.txt", sow_text([]))
    return left, right


def test_without_keys_and_with_unreadable_pieces(duck: Duck, tmp_path: Path) -> None:
    """Without a definition records are matched by AMPS's own key and nothing is rebuilt; where a part of the mate's log
    could not be read, a message that is not in it is unknown, never lost. An instance that lacks a dump is said."""
    report = compare(duck, *without_keys(tmp_path), {})
    assert [topic.is_rebuilt for topic in report.left.topics] == [False, False]
    (pair,) = report.topics
    assert (pair.same, pair.only_left) == (2, {"unknown": 2})
    assert {"sow-not-rebuilt", "sow-no-dump", "dump-unread"} <= {finding.code for finding in report.findings}


def test_names_and_keys_as_typed(tmp_path: Path) -> None:
    """The topic is in the file's name, escaped where it must be; keys are TOPIC.TYPE=/FIELD; anything else is refused."""
    assert topic_of("x/a%2Fb.c.json.txt.gz") == Topic("a/b.c", "json")
    assert parse_keys("a.b.json=/id, /region") == (Topic("a.b", "json"), Definition(("/id", "/region")))
    for wrong in ("orders", "orders.json", "orders.json=", "orders=/id", "orders.json=id"):
        with pytest.raises(DefinitionError, match="--keys"):
            parse_keys(wrong)
    with pytest.raises(DefinitionError, match=r"TOPIC\.TYPE\.txt"):
        topic_of("orders.txt")
    with pytest.raises(DefinitionError, match="no directory sow"):
        Instance.of_directory(str(tmp_path))


def test_a_key_that_no_message_has(duck: Duck, tmp_path: Path) -> None:
    """Law: where no message has the field that was named as the key, that is said, with the fields that are there."""
    logged = [Logged(10 + n, "1", n, order(n, region="x")) for n in range(4)]
    kept = [Kept(n, 10 + n, order(n, region="x")) for n in range(4)]
    places = [instance(tmp_path / name, logged, kept) for name in ("left", "right")]
    report = compare(duck, places[0], places[1], {ORDERS: Definition(("/orderId",))})
    found = [finding for finding in report.findings if finding.code == "sow-key-absent"]
    assert len(found) == 2
    assert found[0].message.endswith(
        "orders (json): no message has /orderId; the first of these messages has the fields id, region"
    )
    assert "--keys orders.json=/FIELD" in found[0].hint
