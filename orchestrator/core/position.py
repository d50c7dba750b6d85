"""How the two ends of a service stand, judged once from what was read: who serves, since when no one does, when both did.

Reports, screens and questions take their word from here, so that they agree. What a command was to do proves nothing: a
site that was told to change is unknown until a reading shows what it is. Pure.
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

# A reading shows the present for this long: as long as a changing command may rest on it (promise 15 of
# docs/explanation/reliability.md).
FRESH_S = 30.0

_SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Gap:
    """No site was known to serve from ``since`` to ``until``, seconds since the epoch. ``had_begun``: it was so when both
    were first read, so it started earlier. Otherwise a site served up to ``since``, and it was no longer than this."""

    since: float
    until: float
    had_begun: bool = False

    @property
    def seconds(self) -> float:
        """How long."""
        return self.until - self.since


@dataclass(frozen=True, slots=True)
class Overlap:
    """Both sites were read active. ``first`` and ``last``: moments at which both were known to be. ``after``: the last
    one before at which one of them was read not to be; ``until``: the first one after. None: not read."""

    first: float
    last: float
    after: float | None = None
    until: float | None = None

    @property
    def at_least_s(self) -> float:
        """So long both were known to be active, seconds."""
        return self.last - self.first

    @property
    def at_most_s(self) -> float | None:
        """No longer than this; None: unknown."""
        return None if self.after is None or self.until is None else self.until - self.after


@dataclass(frozen=True, slots=True)
class Queued:
    """What waits at a site for its mate, as read at ``at``; None: it did not report it."""

    messages: int | None
    at: float


@dataclass(frozen=True, slots=True)
class Position:
    """Who serves, by the last readings. ``nobody_since``: since when no site is known to serve, None if one does or too
    little was read; ``unread``: the sides of which that is not read (told to change since, or silent). ``both_since``."""

    serves: Serves
    nobody_since: float | None = None
    unread: tuple[Side, ...] = ()
    both_since: float | None = None


@dataclass(slots=True)
class _End:
    """One site, as far as is known. ``wanted``: it was told to serve, or not to, and was not read since; ``was``: what it
    was before. ``idle_at`` and ``served_at``: when it was last read as not serving, and as serving; ``silent_at``: when
    it did not answer. ``in_doubt``: it was told that, and up to ``doubt_until`` the command may still be on its way."""

    serves: bool | None = None
    role: Role | None = None  # None for what has no roles, too
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
        """Is it read as not serving, or is no one able to say now?"""
        return self.serves is False or (self.serves is None and (self.wanted is not None or self.is_silent))


@dataclass(slots=True)
class PositionHistory:
    """The position of one service through a run, as a fold of its events. ``queued``: by side, the newest reading of its
    backlog; ``found``: the same right before the target was told to serve. ``settle``: by step, how long a command in
    doubt may still take effect, seconds. ``family``: of the runbook."""

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
    _is_seen: bool = False  # was it read since ``_since`` that sites do not serve? Silence shows nothing.
    _open: Overlap | None = None

    @property
    def position(self) -> Position:
        """As it is now."""
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
        """Every time when both sites were read active, the present one too."""
        return [*self.overlaps, *([] if self._open is None else [self._open])]

    def role(self, side: Side) -> Role | None:
        """What the site was last read to be; None: not read, or told to change since."""
        return self._ends[side].role

    def lets_clients_in(self, side: Side) -> bool | None:
        """The same of AMPS, which has no roles."""
        end = self._ends[side]
        return end.serves if end.role is None else None

    def take(self, event: ev.Event, at: float) -> None:
        """One more event of the lane, recorded at ``at``."""
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
        """One reading, known at ``at``. What was asked before the site was told to change says nothing of it now.
        One that ``is_old`` bounds how long both can have been active, and shows no moment without an active site."""
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
            return  # it may be otherwise as soon as this is read
        if serves is None:
            if isinstance(value, Reachability) and not value.answers:
                end.silent_at = seen.asked_at
                if end.serves is None:
                    end.is_silent = True
                    self._grow_dark(seen.on, seen.asked_at)
            elif value is not None and not value.exclusive and Facet.SERVES in value.facets:
                end.serves = None  # some of its doors are open
            return
        served, read_at = end.serves, end.read_at
        end.serves, end.role, end.read_at, end.wanted, end.is_silent = serves, role, seen.asked_at, None, False
        if serves:
            end.served_at = seen.asked_at
            self._lighten(at)
            if role is not None:  # both sites of another kind of pair may serve
                self._match(seen.on, seen.asked_at)
            return
        end.idle_at = seen.asked_at
        self._part(at)
        if served:
            self._start_gap(seen.on, read_at)
        self._grow_dark(seen.on, seen.asked_at)
        self._is_seen = self._is_seen or not self._other(seen.on).is_silent

    def _count(self, side: Side, value: Reading, at: float) -> None:
        """What waits at a side: by its own backlog, or where a family has none by the last numbers of both ends."""
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
        """``side`` served up to ``since``; if the other one does not, no one is known to from then on."""
        if self._since is None and not self._other(side).serves:
            self._since, self._had_begun, self._is_seen = self._after_last(since), False, False

    def _grow_dark(self, side: Side, at: float) -> None:
        """It was so when both were first read."""
        if self._since is None and self._ends[side].may_be_idle and self._other(side).may_be_idle:
            self._since, self._had_begun, self._is_seen = self._after_last(at), True, False

    def _after_last(self, at: float) -> float:
        """A site served at some moment between the question and its answer, where the last gap ended: no moment counts
        twice. Nor can a gap start before a site was last read as serving."""
        served_at = max(end.served_at for end in self._ends.values())
        return max(at, served_at, self.gaps[-1].until) if self.gaps else max(at, served_at)

    def _lighten(self, at: float) -> None:
        """A site serves. A command that had no effect took no one's service away."""
        if self._since is not None and self._is_seen:
            self.gaps.append(Gap(self._since, at, self._had_begun))
        self._since = None

    def _match(self, side: Side, at: float) -> None:
        other = self._other(side)
        # Whatever a site was before it fell silent, nothing shows that it still is.
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
        """Is the site told to serve, or not to? None: neither."""
        return made(self.family, event.action, event.args, Facet.SERVES)

    def _other(self, side: Side) -> _End:
        return self._ends["target" if side == "source" else "source"]


_NEVER = Queued(None, float("-inf"))


class Positions:
    """The positions of all services of a run, for whoever watches it. ``news``: the service of which the last record
    showed for the first time that both sites are active, or None."""

    def __init__(self, plan: ev.Plan) -> None:
        self._courses = courses_of(plan)
        self.news: str | None = None

    def take(self, record: ev.Record) -> None:
        """One more record of the run."""
        self.news = None
        if record.lane is None:
            return
        course = self._courses[record.lane]
        known = len(course.both)
        course.take(record.event, record.at)
        if len(course.both) > known:
            self.news = record.lane

    def of(self, service: str) -> Position:
        """How the service stands."""
        return self._courses[service].position


def courses_of(plan: ev.Plan) -> dict[str, PositionHistory]:
    """By service, the course at the start of a run: with what was read for its plan. What was read again since is
    old, however young: an earlier run may have read it before a change."""
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
