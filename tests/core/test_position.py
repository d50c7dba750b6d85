"""How a pair stands, from readings alone: who serves, since when nobody does, when both did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.reading_models import Transport, Transports
from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.core.position import FRESH_S, Gap, Overlap, PositionHistory, Positions, courses_of
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.plan import ReadBefore
from orchestrator.model.readings import Reachability, Role
from orchestrator.model.runbook import Side
from tests.core.builders import a_plan, role, seen, unread

Event = tuple[float, ev.Event]
A, S = Role.ACTIVE, Role.STANDBY
T = 1e9


def read(at: float, **roles: Role | None) -> Event:
    """A round of readings that was asked at ``at`` and known a moment later."""
    told: list[Any] = [role("source" if side == "source" else "target", value, at) for side, value in roles.items()]
    return at + 0.1, ev.Observed(mark=1, seen=tuple(told))


def order(at: float, number: int, on: Side, wanted: str) -> Event:
    args = {"role": wanted}
    return at, ev.ActionIntended(intent=number, step="s", on=on, action="set_role", args=args, attempt=1)


def answered(at: float, number: int, effect: Effect = Effect.ACCEPTED) -> Event:
    return at, ev.ActionEnded(intent=number, effect=effect)


def course(*events: Event) -> PositionHistory:
    made = PositionHistory()
    for at, event in events:
        made.take(event, at)
    return made


HEALTHY = read(0, source=A, target=S)
DEMOTED = (order(1, 1, "source", "standby"), answered(1.2, 1), read(2, source=S))
PROMOTED = (order(8, 2, "target", "active"), answered(8.2, 2), read(9, target=A))
MOVE = (HEALTHY, *DEMOTED, *PROMOTED)


def test_a_planned_move() -> None:
    """Law: the gap begins with the order to give up activity, and ends with the reading that shows who took it."""
    moved = course(*MOVE)
    assert moved.gaps == [Gap(1, 9.1)]
    assert (moved.position.serves, moved.both) == ("target", [])


@pytest.mark.parametrize(
    ("length", "serves", "since", "unread"),
    [
        (0, "unknown", None, ()),
        (1, "source", None, ()),
        (2, "unknown", 1, ("source",)),
        (3, "unknown", 1, ("source",)),
        (4, "none", 1, ()),
        (5, "unknown", 1, ("target",)),
        (6, "unknown", 1, ("target",)),
        (7, "target", None, ()),
    ],
)
def test_every_moment_of_a_move(length: int, serves: str, since: float | None, unread: tuple[str, ...]) -> None:
    """Law: a site that was told to change is unknown until it is read, whatever it answered; meanwhile nobody is known to
    serve, and since when is known."""
    now = course(*MOVE[:length]).position
    assert (now.serves, now.nobody_since, now.unread) == (serves, since, unread)


@pytest.mark.parametrize("effect", [Effect.REJECTED, Effect.NOT_SENT])
def test_a_command_that_was_not_obeyed(effect: Effect) -> None:
    """Law: a site that refused to give up activity serves as before, and nobody was without it."""
    refused = course(HEALTHY, order(1, 1, "source", "standby"), answered(2, 1, effect))
    assert (refused.position.serves, refused.gaps) == ("source", [])


def test_a_doubtful_command_without_effect() -> None:
    """Law: where a reading shows that it still serves, nothing says that it ever stopped."""
    doubted = course(HEALTHY, order(1, 1, "source", "standby"), answered(2, 1, Effect.DOUBTFUL), read(5, source=A))
    assert (doubted.position.serves, doubted.gaps) == ("source", [])


def test_somebody_gave_activity_back_in_between() -> None:
    """Law: a site that is read active ends the gap, whoever made it so; the next one begins when it was last seen to be.
    The outage is the sum of what no reading denies, not the time from the first order to the end."""
    events = (HEALTHY, *DEMOTED, read(5, source=A), read(6, source=A), read(7, source=S), *PROMOTED)
    assert course(*events).gaps == [Gap(1, 5.1), Gap(6, 9.1)]


def test_a_site_that_stopped_without_us() -> None:
    """Law: without an order of ours the gap begins when it was last read as active: no later than it did."""
    lost = course(HEALTHY, read(5, source=A), read(9, source=S))
    assert (lost.position.serves, lost.position.nobody_since) == ("none", 5)


def test_nobody_served_from_the_first_reading_on() -> None:
    """Law: what was so when it was first read began earlier, and is not said to be all of it."""
    dark = course(read(3, source=S, target=S))
    assert (dark.position.serves, dark.position.nobody_since) == ("none", 3)
    dark.take(read(7, target=A)[1], 7.1)
    assert dark.gaps == [Gap(3, 7.1, had_begun=True)]


def test_a_site_that_fell_silent_is_not_read_active_with_its_mate() -> None:
    """Law: what a site was before it fell silent is no reading of the moment at which its mate took over."""
    silent = ev.Observed(mark=1, seen=(seen("source", Reachability(answers=False, why="no route"), 2.0),))
    lost = course(HEALTHY, (2.1, silent), *PROMOTED)
    assert lost.both == []
    back = course(HEALTHY, (2.1, silent), *PROMOTED, read(11, source=A))
    assert [one.first for one in back.both] == [11]


def test_a_silent_site_is_not_known_to_serve() -> None:
    """Law: while the failed site does not answer, who serves is unknown, and nobody is known to."""
    silent = ev.Observed(mark=1, seen=(seen("source", Reachability(answers=False, why="no route"), 2.0),))
    lost = course(read(1, target=S), (2.1, silent))
    assert (lost.position.serves, lost.position.nobody_since, lost.position.unread) == ("unknown", 2, ("source",))
    lost.take(read(7, target=A)[1], 7.1)
    assert (lost.position.serves, lost.gaps) == ("target", []), "that the silent site served nobody was not read"


def test_a_reading_that_failed_takes_nothing_away() -> None:
    """Law: what was read stays known through a reading that failed."""
    failed = ev.Observed(mark=1, seen=(unread("source", "replication", 3.0),))
    assert course(HEALTHY, (3.1, failed)).position.serves == "source"


def test_a_reading_from_before_an_order() -> None:
    """Law: what was asked before the order says nothing of what came of it."""
    late = ev.Observed(mark=1, seen=(role("source", A, 0.9),))
    assert course(HEALTHY, order(1, 1, "source", "standby"), (1.5, late)).position.serves == "unknown"


# Both at once


def test_both_sites_were_read_active() -> None:
    """Law: two sites that were read active within the time that a reading stands for were active at once: at least while
    both were known to be, at most from the last reading that denies it to the next one."""
    both = course(HEALTHY, read(4, target=A), read(6, source=A, target=A), read(10, source=S))
    [overlap] = both.both
    assert overlap == Overlap(4, 6, after=0, until=10.1)
    assert (overlap.at_least_s, overlap.at_most_s) == (2, 10.1)
    assert both.position.serves == "target"


def test_it_is_said_the_moment_it_is_read() -> None:
    """Law: with the reading that shows it both are known to be active; that it ended is not known before it is read."""
    [overlap] = course(read(4, source=A, target=A)).both
    assert (overlap.at_least_s, overlap.at_most_s, overlap.until) == (0, None, None)
    assert course(read(4, source=A, target=A)).position.serves == "both"


@pytest.mark.parametrize(("apart", "serves"), [(FRESH_S, "both"), (FRESH_S + 1, "unknown")])
def test_an_old_reading_does_not_show_it(apart: float, serves: str) -> None:
    """Law: that one of them was active long ago does not show that it is now."""
    assert course(read(0, source=A), read(apart, target=A)).position.serves == serves


def test_no_planned_move_looks_like_it() -> None:
    """Law: a site that was told to give up activity is not taken for active until it is read again."""
    assert course(*MOVE).both == []
    unproven = (HEALTHY, *DEMOTED[:2], *PROMOTED)
    assert course(*unproven).both == []


def test_both_instances_of_a_healthy_pair_let_clients_in() -> None:
    """Law: AMPS has no roles; across sync links both instances serve, and that is no alarm. That neither does is."""

    def doors(side: Side, at: float, *, are_open: bool) -> ev.Seen:
        items = (Transport(name="any", type="tcp", replication=False, enabled=are_open),)
        return seen(side, Transports(items=items), at)

    def told(at: float, *found: ev.Seen) -> Event:
        return at, ev.Observed(mark=1, seen=found)

    both = course(told(1, doors("source", 1, are_open=True), doors("target", 1, are_open=True)))
    assert both.both == []
    closed = ev.ActionIntended(
        intent=1, step="s", on="source", action="set_client_transports", args={"state": "disabled"}, attempt=1
    )
    moved = course(
        told(1, doors("source", 1, are_open=True), doors("target", 1, are_open=False)),
        (2, closed),
        told(3, doors("source", 3, are_open=False)),
    )
    assert (moved.position.serves, moved.position.nobody_since) == ("none", 2)


# What is queued, and what was read before


def test_what_was_queued_when_the_target_took_over() -> None:
    """Law: what a site held before it was told to serve is kept apart from what came to it since."""
    before, since = (QueueDepth(messages=number) for number in (4_000, 50))
    one = course(
        (1, ev.Observed(mark=1, seen=(seen("target", before, 1.0),))),
        order(2, 1, "target", "active"),
        (3, ev.Observed(mark=1, seen=(seen("target", since, 3.0),))),
    )
    assert one.found is not None
    assert (one.found["target"].messages, one.queued["target"].messages) == (4_000, 50)


def before(*found: ev.Seen) -> ev.Plan:
    told = tuple(ReadBefore(service="Trading", seen=one) for one in found)
    return a_plan().model_copy(update={"read_before": told})


def test_what_was_read_for_the_plan_counts() -> None:
    """Law: a guard that saw both sites active before its run began is heard: the run may never read it again."""
    plan = before(role("source", A, 1.0), role("target", A, 2.0))
    assert courses_of(plan)["Trading"].position.serves == "both"
    assert courses_of(a_plan())["Trading"].position.serves == "unknown"


def test_what_was_read_for_the_plan_counts_in_its_order() -> None:
    """Law: readings of a plan are listed by side; a moment without an active site is one in the order of time."""
    plan = before(role("target", S, T - 1), role("source", S, T + 0.3), role("target", A, T))
    [course] = courses_of(plan).values()
    assert (course.gaps, course.position.serves) == ([], "target")


def test_whoever_watches_is_told_once() -> None:
    """Law: the record that shows both sites active is news, and no later one."""
    watched = Positions(a_plan())

    def news(seq: int, event: ev.Event) -> str | None:
        watched.take(ev.Record(run="R", seq=seq, at=float(seq), lane="Trading", event=event))
        return watched.news

    rounds: Sequence[ev.Event] = [read(at, source=A, target=other)[1] for at, other in ((2, S), (3, A), (4, A))]
    assert [news(2 + place, event) for place, event in enumerate(rounds)] == [None, "Trading", None]
    assert isinstance(rounds[0], ev.Observed)
    assert isinstance(rounds[0].seen[0].value, ReplicationStatus)


# Whatever happens

MOMENTS = st.lists(
    st.tuples(
        st.sampled_from(["read", "order", "refused"]),
        st.sampled_from(["source", "target"]),
        st.booleans(),
    ),
    max_size=25,
)


def happenings(drawn: Sequence[tuple[str, str, bool]]) -> list[Event]:
    """Readings and orders in this order, ten seconds apart."""
    events: list[Event] = []
    for number, (kind, side, is_active) in enumerate(drawn, 1):
        on: Side = "source" if side == "source" else "target"
        at = 10.0 * number
        if kind == "read":
            events.append((at + 1, ev.Observed(mark=1, seen=(role(on, A if is_active else S, at),))))
            continue
        events.append(order(at, number, on, "active" if is_active else "standby"))
        if kind == "refused":
            events.append(answered(at + 1, number, Effect.REJECTED))
    return events


def read_as(events: Sequence[Event], on: Side) -> Role | None:
    """What a site was last read to be, if it was not told anything since that it did not refuse. An oracle of its own."""
    known: Role | None = None
    before: dict[int, Role | None] = {}
    for _, event in events:
        if isinstance(event, ev.Observed) and event.seen[0].on == on:
            assert isinstance(event.seen[0].value, ReplicationStatus)
            known = event.seen[0].value.role
        elif isinstance(event, ev.ActionIntended) and event.on == on:
            before, known = {event.intent: known}, None
        elif isinstance(event, ev.ActionEnded) and event.intent in before:
            known = before[event.intent]
    return known


@given(MOMENTS)
def test_no_role_that_was_not_read(drawn: Sequence[tuple[str, str, bool]]) -> None:
    """Law (promise 17): a role is known only from a reading after everything that its site was told; who serves follows
    from the roles; and no site is known to serve exactly while a clock runs, or too little was read."""
    events = happenings(drawn)
    for length in range(len(events) + 1):
        made = course(*events[:length])
        roles = {side: read_as(events[:length], side) for side in ("source", "target")}
        assert {side: made.role(side) for side in ("source", "target")} == roles
        active = [side for side, value in roles.items() if value is A]
        if len(active) == 1:
            assert made.position.serves == active[0]
        assert not active or made.position.nobody_since is None
        assert (made.position.serves == "none") == (set(roles.values()) == {S})


@pytest.mark.parametrize(
    ("at", "shown", "known"),
    [(16, A, None), (16.9, A, None), (16, S, S), (17, A, A)],
    ids=["early", "late", "done", "not"],
)
def test_a_command_in_doubt_may_still_take_effect(at: float, shown: Role, known: Role | None) -> None:
    """Promise 17: until a doubtful command has settled, a reading without its effect says nothing of the next moment."""
    made = PositionHistory({"s": 2.0})
    for moment, event in (
        HEALTHY,
        order(10, 1, "source", "standby"),
        answered(15, 1, Effect.DOUBTFUL),
        read(at, source=shown),
    ):
        made.take(event, moment)
    assert made.role("source") is known


def test_no_gap_begins_before_the_other_site_was_read_active() -> None:
    """Both were active, then neither: the gap begins no earlier than the last reading of either as active."""
    read: list[tuple[str, str, bool]] = [
        ("read", "source", True),
        ("read", "target", True),
        ("read", "target", False),
        ("read", "source", False),
        ("read", "source", True),
    ]
    assert [(gap.since, gap.until) for gap in course(*happenings(read)).gaps] == [(20.0, 51.0)]


@given(MOMENTS)
def test_a_gap_has_no_moment_at_which_a_site_was_read_active(drawn: Sequence[tuple[str, str, bool]]) -> None:
    """Law: gaps are apart, in order, and none of them runs past a reading that shows a site active; and where both sites
    were read standby with nothing read active in between, that moment lies in a gap, or the clock runs since."""
    events = happenings(drawn)
    made = course(*events)
    active = [
        (event.seen[0].asked_at, at) for at, event in events if isinstance(event, ev.Observed) and role_of(event) is A
    ]
    spans = [(one.since, one.until) for one in made.gaps]
    assert spans == sorted(spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    # It was active at some moment between the question and the answer.
    assert all(not (since < asked and at < until) for since, until in spans for asked, at in active)
    for length, (at, _) in enumerate(events, 1):
        now = course(*events[:length]).position
        if now.serves == "none":
            assert now.nobody_since is not None
            later = any(since <= at <= until for since, until in spans)
            assert later or (made.position.nobody_since or at + 1) <= at


def role_of(event: ev.Observed) -> Role | None:
    value = event.seen[0].value
    assert isinstance(value, ReplicationStatus)
    return value.role


@pytest.mark.parametrize("age", [FRESH_S + 1, 3_600.0])
def test_an_old_standby_is_no_moment_without_an_active_site(age: float) -> None:
    """Law (promise 17): an old reading of the acting site does not stand beside what is read now: a site that is back as
    standby was not alone. It still bounds how long both can have been active."""
    old, (at, now) = role("target", S, T - age), read(T + 0.02, target=A)
    [returned] = courses_of(before(old, role("source", S, T))).values()
    returned.take(now, at)
    assert (returned.gaps, returned.position.serves) == ([], "target")
    [doubled] = courses_of(before(old, role("source", A, T))).values()
    doubled.take(now, at)
    assert [one.after for one in doubled.both] == [T - age]


def test_two_standby_sites_that_were_read_together() -> None:
    """Law: the control: read in one round, they are a moment without an active site."""
    [dark] = courses_of(before(role("target", S, T - 1), role("source", S, T))).values()
    at, now = read(T + 5, target=A)
    dark.take(now, at)
    assert [one.since for one in dark.gaps] == [T]


def test_a_reading_of_an_earlier_run_is_no_moment_beside_a_newer_one() -> None:
    """Law (promise 17): a site that was standby before an earlier run made it active shows no moment without an active
    site, however short ago that was."""
    found = (role("target", S, T - 2), role("source", S, T), role("target", A, T + 0.004))
    [served] = courses_of(before(*found)).values()
    assert (served.gaps, served.position.serves) == ([], "target")
