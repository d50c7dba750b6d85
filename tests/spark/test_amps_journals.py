"""Two logs are compared by what survives replication; what a fail-over left behind is found, and told from a delay."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from orchestrator.clock import VirtualClock
from pipeline.amps.instance import Instance
from pipeline.amps.journals import compare_journals, findings_of_unread
from pipeline.amps.log import open_log, unread_of
from pipeline.engines.duck import Duck
from pipeline.places import Place
from tests.spark.dumps import NOON_MICROS, Logged, journal_text, write
from tests.spark.tables import tables_of

NOON = NOON_MICROS / 1e6


def entries(
    client: str, sequences: list[int], *, base: int, topic: str = "orders", at_s: float = 0.0
) -> list[Logged]:
    return [
        Logged(base + n, client, number, b"%d" % number, topic=topic, at_s=at_s + number)
        for n, number in enumerate(sequences)
    ]


def left_behind() -> tuple[list[Logged], list[Logged]]:
    """Two logs: an asynchronous link was cut, and publisher 1 went on at the mate."""
    left = [
        *entries("1", [1, 2, 3, 4, 5, 6, 7, 8], base=100),
        *entries("2", [1, 2, 3, 4, 5], base=200),
        *entries("3", [1, 2], base=300, topic="local"),
        *entries("4", [1, 2, 3], base=400, topic="swapped", at_s=60),
        Logged(500, "5", 1, b"one", topic="twice", at_s=60),
        Logged(501, "9", 0, b"", type="noop", at_s=60),
    ]
    right = [
        *entries("1", [3, 4, 5, 9, 10], base=10, at_s=0.5),
        *entries("2", [1, 2, 3], base=30, at_s=10),
        *entries("4", [2, 1, 3], base=40, topic="swapped", at_s=60),
        Logged(50, "5", 1, b"other", topic="twice", at_s=60),
        Logged(51, "5", 1, b"other", topic="twice", at_s=60),
    ]
    return left, right


def test_what_a_failover_left_behind(duck: Duck, tmp_path: Path) -> None:
    """An asynchronous link was cut while publisher 1 went on at the mate: 6 to 8 stay behind for good. Publisher 2 did
    not go on: its tail may still arrive. What is older than the mate's log has aged out of it; a topic that the mate
    does not log is said as such; one identity with two contents, twice the same, and a publisher's order out of step
    are found; an entry that is no message is counted, and left aside."""
    sides = [
        write(tmp_path / name / "journal" / "0.txt", journal_text(one))
        for name, one in zip("lr", left_behind(), strict=True)
    ]
    here, there = (Instance.of_journals(str(Path(side).parents[1])) for side in sides)
    outcome = compare_journals(duck, here, there, 0.5, VirtualClock())
    report = outcome.report
    told = {topic.topic: topic for topic in report.topics}
    assert told["orders"].missing == {"aged-out": 2, "lost": 3, "not-yet-replicated": 2}
    assert told["orders"].extra == {"not-yet-replicated": 2}
    assert (told["orders"].left, told["orders"].right, told["orders"].order_breaks) == (13, 8, 0)
    assert told["local"].missing == {"topic-absent": 2}
    assert (told["swapped"].backwards_left, told["swapped"].backwards_right, told["swapped"].order_breaks) == (
        0,
        1,
        1,
    )
    assert (told["twice"].changed, told["twice"].duplicates_left, told["twice"].duplicates_right) == (1, 0, 1)
    (remains,) = report.remains
    assert (remains.side, remains.client, remains.messages) == ("left", "1", 3)
    assert (remains.first_sequence, remains.last_sequence) == (6, 8)
    assert (remains.first_at, remains.last_at) == (NOON + 6, NOON + 8)
    assert report.left.other_types == {"noop": 1}
    rows = Counter(row["class"] for row in tables_of(outcome, tmp_path)["differences"])
    assert rows == {"missing": 9, "extra": 2, "changed": 1}
    outcome.close()


def test_what_was_not_read_is_not_called_lost(duck: Duck, tmp_path: Path) -> None:
    """With a piece of the mate's log in quarantine, what is missing there is unknown; the piece is in the table."""
    text = journal_text(entries("1", [1, 2, 3], base=10))
    left = write(tmp_path / "left.txt", text)
    right = write(tmp_path / "right.txt", text.replace(b"[2]", b"[22]"))
    outcome = compare_journals(duck, Instance.of_journals(left), Instance.of_journals(right), 1.0, VirtualClock())
    (topic,) = outcome.report.topics
    assert topic.missing == {"unknown": 1}
    assert not outcome.report.right.is_whole
    assert outcome.report.left.is_whole
    assert {row["reason"] for row in tables_of(outcome, tmp_path)["quarantine"]} == {
        "a value does not end after its 1 byte",
        "the dump reports 3 records, but 2 were read",
    }
    assert {finding.code for finding in outcome.report.findings} == {"dump-unread", "journal-unknown"}
    outcome.close()


def damaged_text() -> bytes:
    """A dump with four entries that cannot be read, and many of other types."""
    logged = [Logged(n, "1", n, b"%d" % n, type="publish" if n < 5 else f"t{n % 7}") for n in range(1, 40)]
    return journal_text(logged).replace(b"client seq                    : ", b"client seq                    : x", 4)


def test_everything_unread_is_counted(duck: Duck, tmp_path: Path) -> None:
    """Damage that is worded with each record's own numbers is one line a dump, with the first of them; however few
    dumps are named, every piece counts. The same for the types of entries that are no messages."""
    text = damaged_text()
    names = [write(tmp_path / f"{number}.txt", text) for number in range(2)]
    pieces = open_log(duck, "l", Instance("x", tuple(map(Place.of, names)))).unread_pieces
    [one] = unread_of(duck, "dumps_l", 1)
    assert (one.file, one.pieces) == (names[0], 5)  # four entries, and that the dump has fewer than it says
    assert one.reason.startswith("client seq is not a number: 'x") and one.reason.endswith(" 1'")
    words = [finding.message for finding in findings_of_unread([one], pieces)]
    assert words == [
        f"5 pieces could not be read; the first one: {one.reason}",
        "5 pieces of further dumps could not be read; `--out` writes a table of all of them",
    ]
    report = open_log(duck, "r", Instance("x", (Place.of(names[0]),)), types_max=3)
    assert (report.unread_pieces, report.entries) == (5, 35)
    assert report.other_types == {"t0": 5, "t1": 5, "t2": 5, "of further types": 20}


def reaching_back() -> tuple[list[Logged], list[Logged]]:
    """Right has the last third of publisher 1, but for one, and nothing of publisher 2."""
    logged = [Logged(n, "1", n, b"%d" % n, at_s=n / 1_000) for n in range(1, 1_501)]
    logged += [Logged(2_000 + n, "2", n, b"x", at_s=0.2 + n) for n in range(4)]
    kept = [one for one in logged if one.client == "1" and one.sequence > 1_000 and one.sequence != 1_200]
    return logged, kept


def test_logs_that_reach_back_less_far(duck: Duck, tmp_path: Path) -> None:
    """Law: at a thousand messages a second what stood before the other log's beginning has aged out of it, to the last
    one; a hole in it is lost; of a publisher that it has nothing of, what is of about its beginning is undecided (D2)."""
    left, right = (
        write(tmp_path / f"{name}.txt", journal_text(some)) for name, some in zip("lr", reaching_back(), strict=True)
    )
    outcome = compare_journals(duck, Instance.of_journals(left), Instance.of_journals(right), 1.0, VirtualClock())
    (topic,) = outcome.report.topics
    assert topic.missing == {"aged-out": 1_000, "lost": 1, "undecided": 2, "not-yet-replicated": 2}
    assert topic.extra == {}
    outcome.close()
