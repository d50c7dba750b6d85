"""A pair of sites, reduced to its facets: which site serves, the link, and the units that wait for the mate.

The effect of an action comes from the ``makes`` of the family, never from the expectations of a step. A side is 0
(source) or 1 (target), the sides that a run fixes. Values are immutable, and nothing is random.

Assumptions, unless the family says otherwise: clients write to a site that serves. Waiting units reach the mate while the
link holds. An action that ``makes`` does not name changes no facet. An item is no longer listed after an action on it was
obeyed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from orchestrator.model.facets import Facet
from orchestrator.model.families import Makes, made_by
from proof.exploration.family import ANOTHER_OPERATOR, SIDE_NAMES, SOURCE, TARGET, Change, Move, with_side

FENCE = "set_external_fence"
# A side, and a reading that lists something there.
Listed = tuple[int, str]


class Pair(NamedTuple):
    """One moment of the pair.

    ``serves``: whether the side was told to serve. ``dark``: the side does not answer this program, but continues
    otherwise. ``outside``: the plan's fence keeps clients away. ``queued``: the side has units that its mate lacks.
    ``last``: the side that served last. ``suspended``: replication is switched off, so that nothing waits in a queue.
    ``managers``: by reading, the state of another manager at both sides (acts, unknown), unless the reading shows that
    there is none. ``items``: the lists that have an item for a step to work on. ``flags``: fields without a facet that
    actions make true or false, at both sides. ``done``: changes that were obeyed and show in no reading. ``late``: a
    change that was obeyed and has not taken effect yet.
    """

    serves: tuple[bool, bool] = (True, False)
    dark: tuple[bool, bool] = (False, False)
    outside: tuple[bool, bool] = (False, False)
    link: bool = True
    queued: tuple[bool, bool] = (False, False)
    last: int = SOURCE
    suspended: bool = False
    managers: tuple[tuple[str, str], ...] = ()
    items: tuple[Listed, ...] = ()
    flags: tuple[tuple[str, tuple[bool, bool]], ...] = ()
    done: tuple[Change, ...] = ()
    late: Change | None = None

    def with_late(self, change: Change | None) -> Pair:
        """See ``family.Moment``."""
        return self._replace(late=change)

    def takes(self, side: int) -> bool:
        """Are clients served here?"""
        return self.serves[side] and not self.outside[side]

    def has(self, side: int, wanted: Mapping[str, bool]) -> bool:
        """Does the side have these values of fields without a facet?"""
        flags = dict(self.flags)
        return all(flags[name][side] is value for name, value in wanted.items() if name in flags)


class Effects(NamedTuple):
    """The effects of actions. ``makes``: see ``orchestrator.model.families.Family``. ``works_on``: by side and action,
    the list whose items the action works on."""

    makes: Makes
    works_on: Mapping[tuple[int, str], Listed]

    def serves(self, change: Change) -> bool | None:
        """Does the side serve after it has obeyed? None: the change does not affect that."""
        return self._made(change, Facet.SERVES)

    def _made(self, change: Change, facet: Facet) -> bool | None:
        return made_by(self.makes, change.action, dict(change.args)).get(facet)

    def obey(self, pair: Pair, change: Change) -> Pair:
        """See ``family.Family``."""
        if change.action == FENCE:
            return pair._replace(outside=with_side(pair.outside, change.side, change.arg("state") == "closed"))
        made = made_by(self.makes, change.action, dict(change.args))
        flags = [(one, with_side(both, change.side, made.get(one, both[change.side]))) for one, both in pair.flags]
        pair = pair._replace(flags=tuple(flags))
        serves = self.serves(change)
        if serves is not None:
            return told(pair, change.side, serves=serves)
        suspended = self._made(change, Facet.SUSPENDED)
        if suspended is not None:
            return pair._replace(suspended=suspended)
        listed = self.works_on.get((change.side, change.action))
        if listed is not None:
            return pair._replace(items=tuple(one for one in pair.items if one != listed))
        if any(one in made for one, _ in flags):
            return pair
        # Only the latest change of its kind is in force.
        others = [one for one in pair.done if (one.side, one.action) != (change.side, change.action)]
        return pair._replace(done=tuple(sorted((*others, change))))

    def is_so(self, pair: Pair, change: Change) -> bool:
        """See ``family.Family``."""
        return self.obey(pair, change) == pair


def told(pair: Pair, side: int, *, serves: bool) -> Pair:
    """The pair after ``side`` was told to serve, or not to serve."""
    if serves == pair.serves[side]:
        return pair
    return pair._replace(serves=with_side(pair.serves, side, serves), last=side if serves else pair.last)


# --- moving on its own ----------------------------------------------------------------------------------------------


def drifts(pair: Pair, asked: frozenset[str], flow: frozenset[str]) -> Iterator[Move[Pair]]:
    """See ``family.Family``. ``flow``: the readings that show the link or the waiting units. Other changes may always
    happen, because promises depend on them."""
    for side in (SOURCE, TARGET):
        name, serves = SIDE_NAMES[side], pair.serves[side]
        what = f"{ANOTHER_OPERATOR} makes the {name} {'stop serving' if serves else 'serve'}"
        yield what, told(pair, side, serves=not serves), False
    if not any(pair.serves) and not pair.dark[SOURCE]:
        served = pair._replace(queued=with_side(pair.queued, SOURCE, True), last=SOURCE, link=False)
        yield f"{ANOTHER_OPERATOR} makes the source serve for a while, and the link is lost meanwhile", served, False
    for side in (SOURCE, TARGET):
        if SIDE_NAMES[side] in asked:
            dark = pair._replace(dark=with_side(pair.dark, side, not pair.dark[side]))
            yield (
                f"the {SIDE_NAMES[side]} {'answers again' if pair.dark[side] else 'goes dark'}",
                dark,
                pair.dark[side],
            )
    if asked & flow:
        yield from _flows(pair)
    for one in pair.items:
        if one[1] in asked:
            rest = pair._replace(items=tuple(other for other in pair.items if other != one))
            yield f"what {one[1]} lists at the {SIDE_NAMES[one[0]]} ends by itself", rest, True


def _flows(pair: Pair) -> Iterator[Move[Pair]]:
    what = "the link is lost" if pair.link else "the link is back"
    yield what, pair._replace(link=not pair.link), not pair.link
    for side in (SOURCE, TARGET):
        if pair.queued[side] and pair.link and not pair.suspended:
            rest = pair._replace(queued=with_side(pair.queued, side, False))
            yield f"what waits at the {SIDE_NAMES[side]} reaches its mate", rest, True
        if not pair.queued[side] and pair.takes(side):
            grown = pair._replace(queued=with_side(pair.queued, side, True))
            yield f"clients write at the {SIDE_NAMES[side]}", grown, True


def repaired(pair: Pair, needed: Mapping[str, bool]) -> Iterator[Pair]:
    """See ``family.Family``. ``needed``: the fields that a site needs to answer every reading, with their values."""
    yield pair
    pair = pair._replace(link=True, managers=())
    for sides in ((SOURCE,), (TARGET,), (SOURCE, TARGET)):
        dark = tuple(is_dark and side not in sides for side, is_dark in enumerate(pair.dark))
        flags = []
        for name, both in pair.flags:
            well = [needed.get(name, one) if side in sides else one for side, one in enumerate(both)]
            flags.append((name, (well[SOURCE], well[TARGET])))
        yield pair._replace(dark=(dark[SOURCE], dark[TARGET]), flags=tuple(flags))


# --- where a walk starts --------------------------------------------------------------------------------------------


def starts(
    items: tuple[Listed, ...],
    flags: tuple[tuple[str, tuple[bool, bool]], ...],
    *,
    suspends: bool,
    answered_while: Collection[str] = (),
) -> Iterator[tuple[str, Pair]]:
    """See ``family.Family``. ``suspends``: the family can switch replication off. ``answered_while``: the fields that
    decide whether a site answers every reading."""
    base = Pair(items=items, flags=flags)
    behind = base._replace(queued=(True, False))
    yield "the source serves, and the target has everything", base
    yield "the source serves, and the target is behind", behind
    if items:
        yield "the source serves, and nothing is listed", base._replace(items=())
    yield "the link is down", behind._replace(link=False)
    yield "both sites serve", behind._replace(serves=(True, True))
    yield "no site serves", behind._replace(serves=(False, False))
    moved = base._replace(serves=(False, True), last=TARGET)
    yield "the target serves", moved
    yield "the target serves, and the source has what it lacks", moved._replace(queued=(True, False))
    if flags:
        swapped = tuple((name, (target, source)) for name, (source, target) in flags)
        yield "the target serves, as it does once it was moved", moved._replace(flags=swapped)
    yield "the source does not answer, and serves", behind._replace(dark=(True, False), link=False)
    yield (
        "the source does not answer, and serves no client",
        behind._replace(serves=(False, False), dark=(True, False), link=False),
    )
    if answered_while:
        down = tuple((name, (both[SOURCE] is not (name in answered_while), both[TARGET])) for name, both in flags)
        stopped = behind._replace(serves=(False, False), link=False, flags=down)
        yield "the source is down, and its machine answers", stopped
    if suspends:
        yield "replication is suspended", behind._replace(suspended=True)
