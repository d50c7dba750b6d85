"""What a watch makes of readings, without Spark: known courses, an oracle, and any order and any batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.drain_estimate import forecast
from orchestrator.family.fill_estimate import Sample, filling
from orchestrator.model.readings import Role
from pipeline.watch.alerts import UNUSABLE, AnyCourse, standing_of
from pipeline.watch.arrivals import KEPT_MAX, Rules
from pipeline.watch.course import Course, Read
from tests.spark.looking import NIGHT, RULES, START, File, Seen, brief, by_id, draining, file_of, fold_all, night

AT_ONCE = replace(RULES, late_s=0.0)
KEY = ("ny", "Trading_VPN")


def read(seen: Seen, look: str) -> Read:
    found = Read.of(seen.line(look))
    assert found is not None
    return found


def events(seen: Sequence[Seen], rules: Rules = AT_ONCE) -> list[tuple[float, str]]:
    """What happens to one queue, in the order of arrival."""
    course = Course()
    return [
        (event.figures.read.at - START, event.kind)
        for number, one in enumerate(seen)
        for event in course.arrive(read(one, f"{number:04}"), rules)
    ]


def at(times: Sequence[tuple[float, int | None]], **more: Any) -> list[Seen]:
    plain = [Seen(after, depth, failure="no answer" if depth is None else "") for after, depth in times]
    return [replace(one, **more) for one in plain]


def test_a_queue_that_grew_until_the_site_gave_up_its_activity_drains() -> None:
    """Law: as in a run, what publishers made of the depth before is no bar for a drain; one that stands is told."""
    grew = at([(t, 1_000 + 100 * t) for t in range(0, 100, 10)], role=Role.ACTIVE)
    drained = at([(t, 11_000 - 10 * (t - 100)) for t in range(100, 600, 10)])
    assert events([*grew, *drained]) == []
    stood = at([(t, 11_000) for t in range(100, 300, 10)])
    assert events([*grew, *stood]) == [(230.0, "drain.stalled")]


def test_the_night_that_is_known() -> None:
    """Law: a stall, its end, a queue that fills, one that cannot be read and one that is empty are told, each once, at
    the reading at which they are so, and nothing else is."""
    assert brief(fold_all(night()).alerts) == NIGHT


def test_the_rate_is_that_of_a_run() -> None:
    """Law: rate and time until empty are those of orchestrator.core.drain_estimate over the window, and right for a
    steady drain."""
    seen = draining(12.5, 20_000, until=600)
    course = fold_all([file_of([one]) for one in seen]).courses[KEY]
    standing = standing_of(course, *KEY, RULES)
    inside = [(one.after, float(one.messages or 0)) for one in seen if one.after >= 300]
    known = forecast(inside)
    assert known is not None
    assert (standing["drain_rate_per_s"], standing["empty_in_s"]) == (known.rate, known.eta) == (12.5, 1_000.0)
    assert standing["state"] == "draining"
    assert standing["full_in_s"] is None


def test_the_time_until_full_is_that_of_a_watch() -> None:
    """Law: percent and time until full are those of orchestrator.family.fill_estimate over the window."""
    seen = [Seen(10.0 * n, 100 * n, 2.0 * n, 1_000.0, role=Role.ACTIVE) for n in range(60)]
    standing = standing_of(fold_all([file_of([one]) for one in seen]).courses[KEY], *KEY, RULES)
    known = filling([Sample(one.after, one.messages, one.usage_mb, one.quota_mb) for one in seen[-31:]])
    assert (standing["percent_full"], standing["full_in_s"]) == (known.percent, pytest.approx(known.full_in_s))
    assert standing["full_in_s"] == pytest.approx((1_000 - 118) / 0.2)
    assert standing["state"] == "filling"


def test_a_rate_of_nothing_is_not_empty() -> None:
    """Law: a queue that stands still is not drained; it is stalled once that has lasted longer than asked for."""
    assert events(at([(0, 5), (60, 5), (120, 5), (121, 5), (200, 5)])) == [(121, "drain.stalled")]


def test_an_empty_queue_is_never_stalled() -> None:
    """Law: however long it is read as 0."""
    assert events(at([(10.0 * n, 0) for n in range(100)])) == []


def test_unknown_is_neither_progress_nor_standstill() -> None:
    """Law: a reading that was not had proves nothing: no stall, no end of one, no drained queue; it is told itself."""
    seen = at([(0, 5), (100, None), (125, None), (130, 5), (135, None), (140, 4)])
    assert events(seen) == [
        (100, "queue.unknown"),
        (130, "queue.known"),
        (130, "drain.stalled"),
        (135, "queue.unknown"),
        (140, "queue.known"),
        (140, "drain.moving"),
    ]
    assert "queue.drained" not in [kind for _, kind in events(at([(0, 5), (10, None), (20, 7)]))]


def test_a_failure_without_a_word() -> None:
    """Law: a queue that was asked for and not had is unknown, also when nobody says why."""
    line = Seen(0.0, None).line("x").model_copy(update={"readings": {}, "failures": {"replication_queue": ""}})
    found = fold_all([File("x.jsonl", 0.0, line.encoded().decode()), file_of([Seen(40.0, 5)])])
    assert [alert["data"]["event"]["kind"] for alert in found.alerts] == ["queue.unknown"]
    assert found.others == 0


def test_wavering_is_progress_only_where_publishers_go_on() -> None:
    """Law: on a site that gave up its activity only a new low is progress; on an active one any fall is."""
    wavering = [(20.0 * n, 50 + n % 2) for n in range(10)]
    assert events(at(wavering)) == [(140, "drain.stalled")]
    assert events(at(wavering, role=Role.ACTIVE)) == []
    assert events(at(wavering, role=None)) == []


def test_a_standing_backlog_is_no_standstill() -> None:
    """Law: on an active site whose mate is bound as many messages may leave as come, so only a queue that grows and grows
    is stalled; a depth that stands ends no stall. Where nothing is bound, or that is unknown, it is one."""
    stands = at([(20.0 * n, 4_000) for n in range(20)], role=Role.ACTIVE)
    assert events(stands) == []
    for bound in (False, None):
        assert events([replace(one, bound=bound) for one in stands]) == [(140, "drain.stalled")]
    grows = at([(400.0 + 20 * n, 4_000 + n) for n in range(10)], role=Role.ACTIVE)
    still = at([(600.0 + 20 * n, 4_009) for n in range(10)], role=Role.ACTIVE)
    falls = at([(800, 4_008)], role=Role.ACTIVE)
    assert events([*stands, *grows, *still, *falls]) == [(540, "drain.stalled"), (800, "drain.moving")]
    stalled = fold_all([file_of([one]) for one in (*stands, *grows, *still)]).courses[KEY]
    assert stalled.figures(RULES).moved_at == START + 400, "the last reading at which messages may have left"


def test_after_a_gap_a_standstill_begins_anew() -> None:
    """Law: of a time without readings, longer than the window, nothing is concluded."""
    assert events(at([(0, 5), (400, 5), (500, 5)])) == []
    assert events(at([(0, 5), (299, 5)])) == [(299, "drain.stalled")]


def test_full_soon_wavers_not() -> None:
    """Law: an estimate at the border of the time asked for is told once, and its end once it is clearly over."""
    usage = [0.0, 4, 8, 11, 15, 18, 22, 22, 22, 22, 22, 22]
    seen = [Seen(10.0 * n, 1, mb, 220.0, role=Role.ACTIVE) for n, mb in enumerate(usage)]
    kinds = [kind for _, kind in events(seen) if kind.startswith("queue.full")]
    assert kinds == ["queue.full-soon", "queue.full-later"]


def test_the_quota() -> None:
    """Law: high mark, quota and their ends are told once each; an unknown usage between them ends nothing."""
    percent = [70, 81, 79, None, 90, 100, None, 100, 99, 59]
    seen = [
        Seen(1_000.0 * n, 1, mb if mb is None else float(mb), 100.0, role=Role.ACTIVE) for n, mb in enumerate(percent)
    ]
    kinds = [kind for _, kind in events(seen)]
    assert kinds == ["queue.high", "queue.full", "queue.room", "queue.clear"]


def test_late_readings_are_told() -> None:
    """Law: within the time allowed they count as if they had come in order; after it each is counted and told once,
    with its file, and changes nothing; the figures are those without it."""
    files = [file_of([one]) for one in draining(10, 6_000, until=300)]
    in_time = replace(files[5], arrives=files[5].arrives + 29)
    too_late = replace(files[10], arrives=files[10].arrives + 100)
    whole = fold_all([*files[:5], in_time, *files[6:10], too_late, *files[11:]])
    assert [(one["id"], one["data"]["event"]["kind"]) for one in whole.alerts] == [
        (f"{too_late.name}/1/reading.late", "reading.late")
    ]
    without = fold_all([*files[:10], *files[11:]])
    course = whole.courses[KEY]
    assert (course.late, course.readings) == (1, 30)
    assert replace(course, late=0) == without.courses[KEY]


def test_how_long_a_reading_is_waited_for() -> None:
    """Law: one that comes just before its time is over counts in its place, and one that comes just after it is late."""
    course = Course()
    told = []
    for number, after in enumerate([0.0, 14.0, 40.0, 10.5, 44.0, 13.9]):
        told += [event.kind for event in course.arrive(read(Seen(after, 5), str(number)), RULES)]
    assert told == ["reading.late"]
    assert [one.at - START for one in (*course.taken, *course.waiting)] == [0.0, 10.5, 14.0, 40.0, 44.0]


def test_the_same_look_twice() -> None:
    """Law: a look that came under two names counts once, and the other is counted."""
    files = [file_of([one]) for one in draining(10, 6_000, until=300)]
    copies = [replace(one, name=f"copy-{one.name}", arrives=one.arrives + 15) for one in files]
    whole, once = fold_all([*files, *copies]), fold_all(files)
    assert whole.alerts == once.alerts == []
    assert replace(whole.courses[KEY], duplicates=0) == once.courses[KEY]
    assert whole.courses[KEY].duplicates == len(files)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no JSON at all", "Invalid JSON"),
        ('{"site":"ny","service":"Trading_VPN"}', "look: Field required"),
        ("[]", "Input should be an object"),
        ('{"site":5}', "look: Field required"),
    ],
)
def test_a_line_that_is_no_reading(text: str, words: str) -> None:
    """Law: it is told with file, line and what is wrong, and the lines around it count."""
    good = file_of([Seen(0.0, 5)])
    found = fold_all([replace(good, text=f"{text}\n{good.text}")])
    [alert] = found.alerts
    assert (alert["id"], alert["type"]) == (f"{good.name}/1/{UNUSABLE}", f"io.failover.{UNUSABLE}")
    assert words in alert["data"]["event"]["reason"]
    assert (found.lines, found.unusable, found.courses[KEY].readings) == (2, 1, 1)


def test_a_reading_from_the_future() -> None:
    """Law: one that is younger than its file came of a wrong clock; it must not make all others late."""
    wrong = file_of([Seen(5_000.0, 5)], arrives=10.0)
    found = fold_all([wrong, file_of([Seen(20.0, 4)])])
    assert [one["type"] for one in found.alerts] == [f"io.failover.{UNUSABLE}"]
    assert found.courses[KEY].newest == START + 20


def test_what_is_no_queue_is_counted() -> None:
    """Law: a line about links of AMPS makes no course and no alert, and is counted."""
    line = Seen(0.0, 5).line("x").model_copy(update={"readings": {}})
    found = fold_all([File("x.jsonl", 0.0, line.encoded().decode())])
    assert (found.others, found.courses, found.alerts) == (1, {}, [])


def test_a_task_that_is_tried_again() -> None:
    """Law: a fold changes nothing of what it was given, so that a worker may do its part twice."""
    before = fold_all(night()[:50]).courses
    first, second = (fold_all(night()[50:], before=before) for _ in range(2))
    assert (first.alerts, first.courses) == (second.alerts, second.courses)
    assert before == fold_all(night()[:50]).courses


def test_it_stays_small() -> None:
    """Law: however many readings come, in whatever order, what is kept of a service has its bound."""
    course = Course()
    for number in range(KEPT_MAX + 200):
        for _ in course.arrive(read(Seen(number / 1_000, 5), f"{number:05}"), RULES):
            pass
    assert len(course.waiting) <= KEPT_MAX
    assert len(course.taken) <= KEPT_MAX


# Any course, in any order, in any batches


def oracle(seen: Sequence[Seen], rules: Rules) -> list[tuple[float, str]]:
    """What happens to one queue, by the definitions: each reading is judged with all those before it, in the order of
    their own time."""
    told: list[tuple[float, str]] = []
    is_unknown = is_stalled = False
    moved = 0.0
    ordered = sorted(seen, key=lambda one: one.after)
    for number, one in enumerate(ordered):
        if (one.messages is None) is not is_unknown:
            is_unknown = not is_unknown
            told.append((one.after, "queue.unknown" if is_unknown else "queue.known"))
        if one.messages is None:
            continue
        known = [(other.after, other.messages) for other in ordered[:number] if other.messages is not None]
        served = [other.after for other in ordered[:number] if other.role is Role.ACTIVE]
        since = max(served, default=-1.0) if one.role is Role.STANDBY else -1.0
        inside = [depth for after, depth in known if after >= one.after - rules.window_s and after > since]
        before = known[-1][1] if known else None
        lowest = min(inside) if inside and one.role is Role.STANDBY else before
        is_progress = one.messages == 0 or before in (None, 0) or (lowest is not None and one.messages < lowest)
        may_flow = one.role is Role.ACTIVE and one.bound and one.messages == before and not is_stalled
        if is_progress or not inside or may_flow:
            moved = one.after
        if is_progress and is_stalled:
            is_stalled = False
            told.append((one.after, "drain.moving"))
        if one.messages == 0 and before:
            told.append((one.after, "queue.drained"))
        if not is_progress and not is_stalled and one.after - moved > rules.stall_s:
            is_stalled = True
            told.append((one.after, "drain.stalled"))
    return told


roles = st.sampled_from([Role.ACTIVE, Role.STANDBY, None])
depths = st.none() | st.sampled_from([0, 3, 5, 5, 6, 9])


@st.composite
def courses(draw: st.DrawFn) -> list[Seen]:
    """Readings far apart, or so close that many overtake each other."""
    most, least = draw(st.sampled_from([(1_500, 1), (60, 15)]))
    times = draw(st.lists(st.integers(0, most), unique=True, min_size=least, max_size=25))
    first, then = draw(st.tuples(roles, roles))
    turn = draw(st.integers(0, most))
    found = [(float(after), draw(depths)) for after in sorted(times)]
    return [replace(one, role=first if one.after < turn else then) for one in at(found)]


@given(courses(), st.data())
def test_in_any_order_that_is_waited_for(seen: list[Seen], data: st.DataObject) -> None:
    """Law: readings that come less late than allowed make the events that their own order makes, by the oracle."""
    delays = [data.draw(st.sampled_from([0.0, 15.0, RULES.late_s - 0.01])) for _ in seen]
    files = [file_of([one], arrives=one.after + delay) for one, delay in zip(seen, delays, strict=True)]
    last = file_of([Seen(10_000.0, 0, service="Trading_VPN")])
    found = [(when, kind) for when, _, kind in brief(fold_all([*files, last]).alerts) if when < 10_000]
    assert sorted(found) == sorted(oracle(seen, RULES))


@given(courses(), st.data())
def test_in_any_batches(seen: list[Seen], data: st.DataObject) -> None:
    """Law: how readings are cut into batches changes neither alerts nor what is remembered, also when some are late,
    or come twice; and each is counted exactly once."""
    delays = [data.draw(st.sampled_from([0.0, 10.0, 200.0])) for _ in seen]
    files = [file_of([one], arrives=one.after + delay) for one, delay in zip(seen, delays, strict=True)]
    files += [replace(one, name=f"x{one.name}") for one in data.draw(st.lists(st.sampled_from(files), max_size=3))]
    files = sorted({one.name: one for one in files}.values(), key=lambda one: (one.arrives, one.name))
    whole = fold_all(files)
    before: dict[tuple[str, str], AnyCourse] = {}
    alerts = []
    rest = files
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        part = fold_all(rest[:size], before=before)
        before, rest = part.courses, rest[size:]
        alerts += part.alerts
    assert by_id(alerts) == by_id(whole.alerts)
    assert before == whole.courses
    course = whole.courses[KEY]
    assert course.readings + course.late + course.duplicates == len(files)
    assert len({one["id"] for one in alerts}) == len(alerts)


def test_control_the_oracle_tells_apart() -> None:
    """Negative control: the oracle tells of a stall, and another time allowed is another answer."""
    seen = at([(0, 5), (100, 5), (200, 5)])
    assert oracle(seen, RULES) == [(200, "drain.stalled")]
    assert oracle(seen, replace(RULES, stall_s=50.0)) == [(100, "drain.stalled")]


def test_an_event_has_its_figures() -> None:
    """Law: an alert says how it stood at that reading, not later."""
    course = Course()
    depths = enumerate([50, 40, 30, 0, 500])
    reads = (read(Seen(10.0 * number, depth), str(number)) for number, depth in depths)
    [drained] = (event for one in reads for event in course.arrive(one, AT_ONCE))
    assert (drained.kind, drained.figures.read.at - START, drained.figures.empty_in_s) == ("queue.drained", 30, 0.0)
