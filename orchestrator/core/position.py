"""The position of the two sites of a service, judged once from readings: which site serves, since when none, when both.

Reports, screens and questions all use this judgement, so they agree. A command proves nothing: a site that was told to
change is unknown until a reading shows its state. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.core.serving import lets_clients_in, role_in
from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.families import family_called, made
from orchestrator.model.outcome import Effect
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability, Role
from orchestrator.model.runbook import Side

Serves = Literal["source", "target", "both", "none", "unknown"]

# For how long a reading counts as the present state, seconds: the age up to which a changing command may use a reading
# (promise 15 of docs/explanation/reliability.md).
FRESH_S = 30.0

_SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Gap:
    """No site was known to serve from ``since`` to ``until``, seconds since the epoch. ``had_begun``: no site served when
    both were first read, so the gap started earlier. Otherwise a site served up to ``since``, and the gap was at most
    this long."""

    since: float
    until: float
    had_begun: bool = False

    @property
    def seconds(self) -> float:
        """The length of the gap, seconds."""
        return self.until - self.since


@dataclass(frozen=True, slots=True)
class Overlap:
    """Both sites were read active. ``first`` and ``last``: the first and the last moment at which both were known to be
    active. ``after``: the last moment before, and ``until``: the first moment after, at which one of them was read as not
    active. None: there is no such reading."""

    first: float
    last: float
    after: float | None = None
    until: float | None = None

    @property
    def at_least_s(self) -> float:
        """For how long both sites were active at least, seconds."""
        return self.last - self.first

    @property
    def at_most_s(self) -> float | None:
        """For how long both sites were active at most, seconds; None: unknown."""
        return None if self.after is None or self.until is None else self.until - self.after


@dataclass(frozen=True, slots=True)
class Queued:
    """How many ``messages`` wait at a site for its mate, as read at ``at``. None: the site did not report the number."""

    messages: int | None
    at: float


@dataclass(frozen=True, slots=True)
class Position:
    """Which site serves, by the last readings. ``nobody_since``: since when no site is known to serve; None if a site
    serves or too little was read. ``unread``: the sides without a valid reading (told to change since, or silent).
    ``both_since``: since when both sites are known to serve."""

    serves: Serves
    nobody_since: float | None = None
    unread: tuple[Side, ...] = ()
    both_since: float | None = None


@dataclass(slots=True)
class _End:
    """One site, as far as is known. ``wanted``: the site was told to serve, or not to serve, and was not read since.
    ``was``: its state before that command. ``idle_at`` and ``served_at``: when it was last read as not serving, and as
    serving. ``silent_at``: when it last did not answer. ``in_doubt``: the state that a doubtful command asked for; up to
    ``doubt_until`` the command may still take effect."""

    serves: bool | None = None
    role: Role | None = None  # None also for a service without roles
    read_at: float = float("-inf")
    told_at: float = float("-inf")
    wanted: bool | None = None
    was: tuple[bool | None, Role | None] = (None, None)
    idle_at: float | None = None
    served_at: float = float("-inf")
    silent_at: float = float("-inf")
    in_doubt: bool | None = None
    doubt_until: float = float("-inf")
    is_silent: bool = False

    @property
    def may_be_idle(self) -> bool:
        """Is the site read as not serving, or is its state unknown since a command or because it is silent?"""
        return self.serves is False or (self.serves is None and (self.wanted is not None or self.is_silent))


@dataclass(slots=True)
class PositionHistory:
    """The position of one service over a run, as a fold of its events. ``queued``: by side, the newest reading of the
    backlog. ``found``: ``queued`` right before the target was told to serve. ``settle``: by step, how long a doubtful
    command may still take effect, seconds. ``family``: of the runbook."""

    settle: Mapping[str, float] = field(default_factory=dict)
    family: str = ""
    gaps: list[Gap] = field(default_factory=list)
    overlaps: list[Overlap] = field(default_factory=list)
    queued: dict[Side, Queued] = field(default_factory=dict)
    found: dict[Side, Queued] | None = None
    _marks: dict[Side, tuple[int, float]] = field(default_factory=dict)
    _reached: dict[Side, tuple[int, float]] = field(default_factory=dict)
    _ends: dict[Side, _End] = field(default_factory=lambda: {side: _End() for side in _SIDES})
    _orders: dict[int, ev.ActionIntended] = field(default_factory=dict)
    _since: float | None = None
    _had_begun: bool = False
    _is_seen: bool = False  # has a reading since ``_since`` shown a site that does not serve? Silence shows nothing.
    _open: Overlap | None = None

    @property
    def position(self) -> Position:
        """The present position."""
        serving = [side for side in _SIDES if self._ends[side].serves]
        if len(serving) == 2 and self._open is not None:
            return Position("both", both_since=self._open.first)
        if serving:
            return Position(serving[0] if len(serving) == 1 else "unknown")
        if not all(end.may_be_idle for end in self._ends.values()):
            return Position("unknown")
        unread = tuple(side for side in _SIDES if self._ends[side].serves is None)
        return Position("unknown" if unread else "none", self._since, unread)

    @property
    def both(self) -> list[Overlap]:
        """Every overlap, including a present one."""
        return [*self.overlaps, *([] if self._open is None else [self._open])]

    def role(self, side: Side) -> Role | None:
        """The role of the site by its last reading. None: not read, or told to change since."""
        return self._ends[side].role

    def lets_clients_in(self, side: Side) -> bool | None:
        """Does the site let clients in, by its last reading? For a service without roles, such as AMPS. None: unknown."""
        end = self._ends[side]
        return end.serves if end.role is None else None

    def take(self, event: ev.Event, at: float) -> None:
        """Take in one more event of the lane, recorded at ``at``."""
        match event:
            case ev.Observed():
                for seen in event.seen:
                    self.see(seen, at)
            case ev.ActionIntended():
                wanted = self._wanted(event)
                if wanted is not None:
                    self._orders[event.intent] = event
                    self._tell(event.on, wanted, at)
            case ev.ActionEnded() if event.intent in self._orders:
                self._answered(self._orders[event.intent], event.effect, at)

    def see(self, seen: ev.Seen, at: float, *, is_old: bool = False) -> None:
        """Take in one reading, known at ``at``. A reading that was asked for before the site was told to change does not
        show the present state. A reading that ``is_old`` only bounds how long both sites can have been active; it never
        shows a gap."""
        end = self._ends[seen.on]
        value = seen.value
        if value is not None:
            self._count(seen.on, value, seen.asked_at)
        role, is_open = role_in(seen), lets_clients_in(seen)
        serves = is_open if role is None else role is Role.ACTIVE
        if seen.asked_at < max(end.read_at, end.told_at):
            return
        if is_old:
            end.idle_at = seen.asked_at if serves is False else end.idle_at
            return
        if serves is not None and serves is not end.in_doubt and seen.asked_at < end.doubt_until:
            return  # the doubtful command may still take effect right after this reading
        if serves is None:
            if isinstance(value, Reachability) and not value.answers:
                end.silent_at = seen.asked_at
                if end.serves is None:
                    end.is_silent = True
                    self._grow_dark(seen.on, seen.asked_at)
            elif value is not None and not value.exclusive and Facet.SERVES in value.facets:
                end.serves = None  # the site lets in some of its clients
            return
        served, read_at = end.serves, end.read_at
        end.serves, end.role, end.read_at, end.wanted, end.is_silent = serves, role, seen.asked_at, None, False
        if serves:
            end.served_at = seen.asked_at
            self._lighten(at)
            if role is not None:  # in a pair without roles both sites may serve
                self._match(seen.on, seen.asked_at)
            return
        end.idle_at = seen.asked_at
        self._part(at)
        if served:
            self._start_gap(seen.on, read_at)
        self._grow_dark(seen.on, seen.asked_at)
        self._is_seen = self._is_seen or not self._other(seen.on).is_silent

    def _count(self, side: Side, value: Reading, at: float) -> None:
        """Note how much waits at a side: from its backlog or, if the family has no backlog, from the last numbers of both
        sites."""
        family = family_called(self.family)
        if family is None or family.offers(Facet.BACKLOG):
            if Facet.BACKLOG in value.facets and at >= self.queued.get(side, _NEVER).at:
                self.queued[side] = Queued(value.number(Facet.BACKLOG), at)
            return
        for facet, known in ((Facet.MARK, self._marks), (Facet.REACHED, self._reached)):
            number = value.number(facet)
            if number is not None and at >= known.get(side, (0, float("-inf")))[1]:
                known[side] = number, at
        for one in _SIDES:
            mark, reached = self._marks.get(one), self._reached.get("target" if one == "source" else "source")
            if mark is not None and reached is not None:
                self.queued[one] = Queued(max(0, mark[0] - reached[0]), mark[1])

    def _tell(self, side: Side, wanted: bool, at: float) -> None:
        end = self._ends[side]
        if wanted and side == "target" and self.found is None:
            self.found = dict(self.queued)
        if not wanted and end.serves is not False:
            self._start_gap(side, at)
        end.was, end.told_at = (end.serves, end.role), at
        end.serves, end.role, end.wanted = None, None, wanted

    def _answered(self, order: ev.ActionIntended, effect: Effect, at: float) -> None:
        end = self._ends[order.on]
        if effect is Effect.DOUBTFUL:
            end.in_doubt, end.doubt_until = self._wanted(order), at + self.settle.get(order.step, 0.0)
        did_not = effect not in (Effect.ACCEPTED, Effect.DOUBTFUL)
        if did_not and end.wanted is not None and end.was[0] is not None:
            end.serves, end.role = end.was
            end.wanted = None
            if end.serves and self._since == end.told_at:
                self._since = None

    def _start_gap(self, side: Side, since: float) -> None:
        """Note a possible gap: ``side`` served up to ``since``. If the other site does not serve, no site is known to
        serve from then on."""
        if self._since is None and not self._other(side).serves:
            self._since, self._had_begun, self._is_seen = self._after_last(since), False, False

    def _grow_dark(self, side: Side, at: float) -> None:
        """Note a gap that began before ``at``, if neither site is known to serve and no gap is noted yet."""
        if self._since is None and self._ends[side].may_be_idle and self._other(side).may_be_idle:
            self._since, self._had_begun, self._is_seen = self._after_last(at), True, False

    def _after_last(self, at: float) -> float:
        """The start of a gap: ``at``, but not before the end of the last gap, and not before a site was last read as
        serving. The last gap ended when the answer came. So the time between question and answer does not count twice."""
        served_at = max(end.served_at for end in self._ends.values())
        return max(at, served_at, self.gaps[-1].until) if self.gaps else max(at, served_at)

    def _lighten(self, at: float) -> None:
        """A site serves, so a gap ends. The gap counts only if a reading showed it: a command without effect made
        none."""
        if self._since is not None and self._is_seen:
            self.gaps.append(Gap(self._since, at, self._had_begun))
        self._since = None

    def _match(self, side: Side, at: float) -> None:
        other = self._other(side)
        # If the other site fell silent since it was read, nothing shows that it is still active.
        if not other.serves or other.silent_at > other.read_at or abs(at - other.read_at) > FRESH_S:
            return
        moment = max(at, other.read_at)
        if self._open is None:
            idle = [end.idle_at for end in self._ends.values() if end.idle_at is not None]
            self._open = Overlap(moment, moment, max(idle, default=None))
        else:
            self._open = replace(self._open, last=moment)

    def _part(self, at: float) -> None:
        if self._open is not None:
            self.overlaps.append(replace(self._open, until=at))
            self._open = None

    def _wanted(self, event: ev.ActionIntended) -> bool | None:
        """Does the action tell the site to serve, or not to serve? None: neither."""
        return made(self.family, event.action, event.args, Facet.SERVES)

    def _other(self, side: Side) -> _End:
        return self._ends["target" if side == "source" else "source"]


_NEVER = Queued(None, float("-inf"))


class Positions:
    """The positions of all services of a run, for observers. ``news``: the service for which the last record showed a new
    overlap (both sites active), or None."""

    def __init__(self, plan: ev.Plan) -> None:
        self._courses = courses_of(plan)
        self.news: str | None = None

    def take(self, record: ev.Record) -> None:
        """Take in one more record of the run."""
        self.news = None
        if record.lane is None:
            return
        course = self._courses[record.lane]
        known = len(course.both)
        course.take(record.event, record.at)
        if len(course.both) > known:
            self.news = record.lane

    def of(self, service: str) -> Position:
        """The position of the service."""
        return self._courses[service].position


def courses_of(plan: ev.Plan) -> dict[str, PositionHistory]:
    """By service, the history at the start of a run, from the readings that its plan holds. A reading counts as old after
    ``FRESH_S``. It also counts as old if the plan holds a later reading of the same kind, because an earlier run may have
    taken the first reading before a change."""
    settle = {step.id: step.settle for step in plan.runbook.steps}
    courses = {service: PositionHistory(settle, plan.runbook.family) for service in plan.services}
    by_time = sorted(plan.read_before, key=lambda one: one.seen.asked_at)
    newest = by_time[-1].seen.asked_at if by_time else 0.0
    last = {(one.service, one.seen.on, one.seen.reading): one.seen.asked_at for one in by_time}
    for one in by_time:
        if one.service in courses:
            at = one.seen.asked_at
            is_old = newest - at > FRESH_S or at < last[one.service, one.seen.on, one.seen.reading]
            courses[one.service].see(one.seen, at, is_old=is_old)
    return courses
