"""What a watch makes of readings of AMPS instances, without Spark: known courses, and those of the simulated pair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import DefinitionError
from orchestrator.journal.samples import decode_sample
from pipeline.watch.alerts import (
    ALARMS,
    UNUSABLE,
    Alert,
    AnyCourse,
    Line,
    alert_line,
    alert_of,
    standing_line,
    standing_of,
)
from pipeline.watch.arrivals import Event
from pipeline.watch.link import LinkCourse, LinkKind, LinkRead
from tests.cli.fixtures import tidy
from tests.cli.shell import Shell
from tests.readiness.amps_night import LDN, NY, AmpsNight, amps_night
from tests.readiness.stopping import StoppedClock
from tests.spark.looking import (
    NIGHT_OF_LINKS,
    RULES,
    START,
    File,
    Joined,
    Seen,
    brief,
    by_id,
    file_of,
    fold_all,
    night_of_links,
)

AT_ONCE = replace(RULES, late_s=0.0)
KEY = ("ldn", "orders")
KINDS: tuple[LinkKind, ...] = get_args(LinkKind)


def course_of(seen: Sequence[Joined]) -> tuple[LinkCourse, list[tuple[float, str]]]:
    """The course after these readings, in the order of arrival, and what happened."""
    course, happened = LinkCourse(), []
    for number, one in enumerate(seen):
        read = LinkRead.of(one.line(f"{number:04}"))
        assert read is not None
        happened += [(event.figures.read.at - START, event.kind) for event in course.arrive(read, AT_ONCE)]
    return course, happened


def events(seen: Sequence[Joined]) -> list[tuple[float, str]]:
    return course_of(seen)[1]


def test_the_night_that_is_known() -> None:
    """Law: a cut link, its return, what it then sends, a stall, its end and silence are told, each once, at the reading
    at which they are so, and nothing else is; the other lines are no longer counted as those of others."""
    found = fold_all(night_of_links())
    assert brief(found.alerts) == NIGHT_OF_LINKS
    assert (found.others, found.unusable) == (0, 0)


def test_the_rate_is_taken_from_what_became_less() -> None:
    """Law: rate and time until level are those of a link that is connected and becomes less far behind, since it was
    connected last; before that, and once it is level, both are unknown."""
    cut = [Joined(10.0 * n, 10.0 * n, connected=False) for n in range(10)]
    back = [Joined(100.0 + 10 * n, 90.0 - 20 * n, out=50 * n) for n in range(4)]
    standing = standing_of(course_of([*cut, *back])[0], *KEY, AT_ONCE)
    assert (standing["drain_rate_s_per_s"], standing["level_in_s"]) == (2.0, 15.0)
    assert standing["sent_per_s"] == 5.0
    assert standing["unreplicated_messages"] is None
    for seen in (cut, [*cut, back[0]], [*cut, *back, Joined(140.0, 0.0, out=250)]):
        standing = standing_of(course_of(seen)[0], *KEY, AT_ONCE)
        assert (standing["drain_rate_s_per_s"], standing["level_in_s"]) == (None, None)


def test_two_looks_at_one_moment() -> None:
    """Law: ``failover watch`` and ``check`` may look at the same moment: between the two nothing was sent in no time."""
    seen = [Joined(10.0, 3.0, out=5), Joined(10.0, 4.0, out=7)]
    assert standing_of(course_of(seen)[0], *KEY, AT_ONCE)["sent_per_s"] is None
    assert standing_of(course_of([Joined(0.0, 3.0, out=1), *seen])[0], *KEY, AT_ONCE)["sent_per_s"] is None


def test_what_is_progress() -> None:
    """Law: messages that go out, or fewer seconds behind, are progress; more seconds behind alone are none, and a link
    under load that keeps its distance is not stalled."""
    grows = [Joined(20.0 * n, 5.0 + 20 * n) for n in range(12)]
    assert events(grows) == [(140, "drain.stalled")]
    assert events([replace(one, out=number) for number, one in enumerate(grows)]) == []
    falls = [*grows, Joined(240.0, 200.0), Joined(260.0, 220.0)]
    assert events(falls) == [(140, "drain.stalled"), (240, "drain.moving")]
    assert events([Joined(20.0 * n, 1.0) for n in range(12)]) == []


def test_unknown_is_neither_progress_nor_standstill() -> None:
    """Law: without a word of how far behind it is nothing is concluded; silence is told itself, and ends no stall."""
    behind = {0: 5.0, 100: 6.0, 110: None, 130: 7.0, 140: None, 160: 4.0}
    assert events([Joined(at, one) for at, one in behind.items()]) == [(130, "drain.stalled"), (160, "drain.moving")]
    seen = [Joined(0, 5.0), Joined(100, None, failure="no answer"), Joined(130, 5.0)]
    assert events(seen) == [(100, "link.unknown"), (130, "link.known"), (130, "drain.stalled")]


def test_while_it_is_cut_nothing_stands_still() -> None:
    """Law: a link that is not connected is told as such; a standstill begins anew when it is connected again."""
    cut = [Joined(20.0 * n, 20.0 * n, connected=False) for n in range(20)]
    back = [Joined(400.0 + 20 * n, 400.0 + 20 * n) for n in range(9)]
    assert events([*cut, *back]) == [(0, "link.cut"), (400, "link.connected"), (540, "drain.stalled")]


def test_a_downgrade() -> None:
    """Law: a link that acknowledges otherwise than configured is an alarm until it is upgraded again."""
    modes = [True, False, False, True]
    course, happened = course_of([Joined(10.0 * n, 0.0, sync=sync) for n, sync in enumerate(modes)])
    assert happened == [(10, "link.downgraded"), (30, "link.upgraded")]
    assert course.alarms == []
    assert course_of([Joined(0, 0.0, sync=False)])[0].alarms == ["link.downgraded"]


def test_the_room_for_journals() -> None:
    """Law: high mark, full and soon full are told once each; soon only while the mate is away, whom they are kept for."""
    percent = [70, 81, 79, 90, 100, 99, 59]
    seen = [Joined(1_000.0 * n, 0.0, percent=one) for n, one in enumerate(percent)]
    assert [kind for _, kind in events(seen)] == ["journals.high", "journals.full", "journals.room", "journals.clear"]
    away = [Joined(0, 0.0, room_s=500), Joined(10, 9.0, connected=False, room_s=500), Joined(20, 0.0, room_s=500)]
    assert events(away) == [
        (10, "link.cut"),
        (10, "journals.full-soon"),
        (20, "link.connected"),
        (20, "journals.full-later"),
    ]


def test_messages_of_queues_that_are_owned() -> None:
    """Law: how many are owned is told, and where no client takes them any more also how fast they are handed over and
    when none is left; where clients come and go, their number only wavers."""
    owned = [Joined(10.0 * n, 0.0, owned=100 - 20 * n) for n in range(4)]
    for closed, known in ((True, (40, 2.0, 20.0)), (False, (40, None, None))):
        course, happened = course_of([replace(one, closed=closed) for one in owned])
        standing = standing_of(course, *KEY, AT_ONCE)
        told = tuple(standing[name] for name in ("owned", "owned_drain_rate_per_s", "owned_gone_in_s"))
        assert (told, happened) == (known, [])


def test_how_an_instance_stands() -> None:
    """Law: in the words of `failover watch`, with what comes of several readings behind them."""
    course, _ = course_of([Joined(10.0 * n, 90.0 - 20 * n, owned=100 - 20 * n, closed=True) for n in range(4)])
    line = standing_line(course, *KEY, AT_ONCE)
    assert line.startswith("2026-11-20T03:00:30Z SIMULATED  orders at ldn: clients unknown, CLOSED to clients, ")
    assert (
        "link to ny sync, 30 s behind, queue messages 40, owned here 40, journals 0 MB, 10.0% full, room for" in line
    )
    assert line.endswith(
        ", the delay falls by 2 s per second and is 0 in about 15 s, owned messages are gone in about 20 s"
    )
    silent, _ = course_of([Joined(0, None, failure="nobody listens")])
    assert standing_line(silent, *KEY, AT_ONCE).endswith("it does not answer: nobody listens [link.unknown]")


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_for_a_person(kind: LinkKind) -> None:
    """Law: each alert is a sentence with time, service and site; what is to be acted upon stands out."""
    course, _ = course_of([Joined(0, 5.0), Joined(1, 5.0)])
    words = alert_line(alert_of(Event(kind, course.figures(RULES)), *KEY, Line("x.jsonl", 3, START), RULES))
    mark = "! " if kind in ALARMS else ""
    assert re.match(rf"2026-11-20T03:00:01Z SIMULATED  orders at ldn: {mark}[A-Za-z]", words)
    assert "None" not in words


def test_two_families_under_one_name() -> None:
    """Law: a line of another kind of service under the same names is told, and does not change the course."""
    files = [file_of([Joined(0, 0.0)]), file_of([Seen(10.0, 5, service="orders", site="ldn")])]
    found = fold_all(files)
    [alert] = found.alerts
    assert alert["type"] == f"io.failover.{UNUSABLE}"
    assert (found.unusable, found.courses[KEY].readings) == (1, 1)


@pytest.mark.parametrize("field", ["behind_s", "calm_s"])
def test_what_is_no_number(field: str) -> None:
    """Law: a line whose seconds are no numbers is refused, and not reckoned with."""
    text = Joined(0, 0.0).line("x").encoded().decode()
    assert f'"{field}":0.0' in text
    with pytest.raises(DefinitionError, match="links: every value must be a finite number"):
        decode_sample(text.replace(f'"{field}":0.0', f'"{field}":NaN'))


def test_only_the_newest_is_kept_whole() -> None:
    """Law: of older readings no more is kept than rates are made of."""
    course, _ = course_of([Joined(10.0 * n, 0.0) for n in range(9)])
    assert [one.line is None for one in course.taken] == [True] * 8 + [False]


reads = st.builds(
    Joined,
    after=st.just(0.0),
    behind_s=st.none() | st.sampled_from([0.0, 1.0, 5.0, 9.0]),
    out=st.none() | st.integers(0, 2),
    connected=st.sampled_from([None, True, True, True, False]),
    sync=st.booleans(),
    calm_s=st.sampled_from([0.0, 30.0]),
    percent=st.sampled_from([10.0, 85.0, 100.0]),
    room_s=st.sampled_from([100.0, 9_000.0]),
    failure=st.sampled_from(["", "", "", "no answer"]),
)


@given(st.lists(reads, min_size=5, max_size=20), st.data())
def test_in_any_order_and_any_batches(drawn: list[Joined], data: st.DataObject) -> None:
    """Law: readings that come less late than allowed, cut into any batches, make the alerts and leave the course that
    they make in their own order; and each alert has an identity of its own."""
    seen = [replace(one, after=15.0 * number) for number, one in enumerate(drawn)]
    known = fold_all([file_of([one]) for one in seen])
    delays = [data.draw(st.sampled_from([0.0, 15.0, RULES.late_s - 0.01])) for _ in seen]
    rest = sorted(
        (file_of([one], arrives=one.after + delay) for one, delay in zip(seen, delays, strict=True)),
        key=lambda one: (one.arrives, one.name),
    )
    before, alerts = dict[tuple[str, str], AnyCourse](), list[Alert]()
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        part = fold_all(rest[:size], before=before)
        before, rest = part.courses, rest[size:]
        alerts += part.alerts
    assert by_id(alerts) == by_id(known.alerts)
    assert before == known.courses
    assert len({one["id"] for one in alerts}) == len(alerts)


# What `failover watch --readings` keeps of the simulated pair


@pytest.fixture
def night(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[AmpsNight]:
    tidy(monkeypatch)
    with amps_night(Shell(tmp_path, capsys, clock=StoppedClock())) as made:
        yield made


def followed(night: AmpsNight, seconds: float) -> list[File]:
    """What a watch of so long keeps, as files that came when they were read."""
    folder = night.shell.folder / "kept"
    night.stop_in(seconds)
    assert night("watch", "--all", "--interval", "5s", "--readings", str(folder)).code == 0
    found = []
    for path in sorted(folder.iterdir()):
        text = path.read_text("utf-8")
        found.append(File(path.name, decode_sample(text.splitlines()[0]).at - START, text))
    return found


def happened(alerts: Sequence[dict[str, Any]], site: str) -> list[str]:
    mine = [one for one in alerts if one["data"]["site"] == site]
    return [one["data"]["event"]["kind"] for one in sorted(mine, key=lambda one: str(one["time"]))]


def test_an_instance_is_lost_and_comes_back(night: AmpsNight) -> None:
    """Law: of what the watch of the simulated pair kept, both sides of a loss and a return are told."""
    night.meanwhile(60, lambda: night.world.kill(NY))
    followed(night, 120)
    night.act(LDN, "downgrade", f"replication/{NY}")
    night.meanwhile(60, night.start)
    files = followed(night, 240)
    found = fold_all(files, replace(RULES, late_s=5.0))
    assert happened(found.alerts, "ny") == [
        *("link.unknown", "link.known"),
        *("link.cut", "link.connected", "link.caught-up"),  # of the instance that was started again
    ]
    # A sample from before the downgrade tells nothing of the link.
    unsure = ("link.unknown", "link.known")
    known = ["link.cut", *unsure, "link.downgraded", "link.connected", "link.caught-up"]
    assert happened(found.alerts, "ldn") == known
    cuts = [one["data"]["event"] for one in found.alerts if one["type"] == "io.failover.link.cut"]
    assert [one["sentence"] for one in cuts if "publishers wait for ny" in one["sentence"]] == [cuts[0]["sentence"]]
    assert found.courses[KEY].alarms == ["link.downgraded"]
    assert (found.others, found.unusable) == (0, 0)
