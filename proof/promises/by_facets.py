"""Promises 1 to 3 for the record of any family, judged by the facets of its readings and the effects of its actions.

``Meaning`` states the meaning of a family's readings and actions, in terms of facets. The judge shares no code with the
engine that it judges. For a family of the product, the meaning is therefore written a second time, from the documents
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proof.promises.facts import Broken, Case, LaneFacts, Plain, words

# The known values of one side, by facet.
Facets = Mapping[str, Any]
SERVES, LINK, BACKLOG, MARK, REACHED, CLIENTS = "serves", "link", "backlog", "mark", "reached", "clients"
# By action and argument, for each value of the argument: the facets of a site after it has obeyed.
Makes = Mapping[tuple[str, str], Mapping[str, Mapping[Any, bool]]]
# The facets that one round of readings showed, by side.
Sides = Mapping[str, Facets]


def shows_drained(sides: Sides) -> bool:
    """True if nothing waits at the source and the link holds. Also true if the target has reached the source's last
    number, provided that the source was read as closed in the same round, before the target (``note`` ensures that)."""
    source, target = sides.get("source", {}), sides.get("target", {})
    mark, reached = source.get(MARK), target.get(REACHED)
    if mark is not None and reached is not None:
        return bool(reached >= mark)
    return source.get(BACKLOG) == 0 and target.get(LINK) is True


def _shows_none(reading: str, value: Plain) -> Mapping[str, str]:
    del reading, value
    return {}


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of the record of a family.

    ``facets``: returns the facets of a reading, from its name and its recorded value. ``managers``: returns the state of
    each manager beside this program that a reading shows (acts, unknown, none, unasked). ``is_exclusive``: at most one
    site may serve. ``drained``: does a round of readings show that the target has everything? ``lossless``: the
    beginnings of the names of the runbooks whose ``done`` promises that nothing was lost. ``answers_for_live``: does a
    person who answers for the fence of a lost source also answer for a source that its mate still hears?
    """

    facets: Callable[[str, Plain], Facets]
    makes: Makes
    managers: Callable[[str, Plain], Mapping[str, str]] = _shows_none
    is_exclusive: bool = True
    drained: Callable[[Sides], bool] = shows_drained
    lossless: tuple[str, ...] = ("controlled", "failback")
    answers_for_live: bool = False

    def serves(self, event: Plain) -> bool | None:
        """Does a site serve after it has obeyed? ``event``: an order, or an intent. None: the event does not affect
        that."""
        said = (
            self.makes.get((event["action"], name), {}).get(value, {}).get(SERVES)
            for name, value in (("", ""), *event["args"].items())
        )
        return next((one for one in said if one is not None), None)

    def is_lossless(self, case: Case) -> bool:
        """Does the end of this run promise that nothing was lost?"""
        return case.runbook.partition("/")[2].startswith(self.lossless)


def note(meaning: Meaning, lane: LaneFacts, event: Plain) -> None:
    """Updates ``is_drained`` of the lane from an event. Telling the source to serve, or not to serve, makes it False
    again."""
    if event["kind"] == "action.intended" and event["on"] == "source" and meaning.serves(event) is not None:
        lane.is_drained = False
    if event["kind"] != "observed":
        return
    sides: dict[str, dict[str, Any]] = {"source": {}, "target": {}}
    asked: dict[tuple[str, str], float] = {}
    for seen in event["seen"]:
        told = {} if seen["value"] is None else meaning.facets(seen["reading"], seen["value"])
        known = {facet: value for facet, value in told.items() if value is not None}
        sides[seen["on"]] |= known
        asked |= {(seen["on"], facet): seen.get("asked_at", 0.0) for facet in known}
    is_gated = sides["source"].get(SERVES) is False
    if not is_gated or asked.get(("source", MARK), 0.0) > asked.get(("target", REACHED), 0.0):
        sides["source"].pop(MARK, None)  # the source may have issued more since, or after the target was asked
    lane.is_drained = lane.is_drained or meaning.drained(sides)


def judge_order(meaning: Meaning, case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """A change is on its way to a site."""
    if meaning.serves(order) is not True:
        return
    if meaning.is_exclusive:
        yield from _unconfirmed(meaning, case, lane, order)
        yield from _heard(meaning, case, lane, order)
    if order["on"] == "target" and meaning.is_lossless(case) and lane.escalated is None:
        yield from judge_drained(meaning, case, lane, order)


def _unconfirmed(meaning: Meaning, case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 1: a site that was told not to serve was read as not serving, after that command and before this one.

    An escalated lane may continue past a site that no longer answers, if an operator waives that reading by name.
    """
    other = "target" if order["on"] == "source" else "source"
    if lane.accepted("unfenced") or (lane.escalated is not None and lane.waived):
        return
    is_moved = order["on"] == "target" and meaning.is_lossless(case)
    if not _was_told(meaning, lane, other) and not is_moved:
        return  # the run cannot reach a lost site, so the rules of its fence judge that case
    if _serves(meaning, lane, other) is not False:
        yield Broken(1, f"{words(order)}, and nothing read since had shown that {case.site(other)} does not serve")


def _heard(meaning: Meaning, case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 1: a person who answers for a fence that cannot be read answers only for a source of which nothing is
    known. A source that its mate hears is known to be alive. Only a fence that was read as closed keeps clients off a
    live site."""
    if order["on"] != "target" or meaning.is_lossless(case) or meaning.answers_for_live:
        return
    fence = lane.read("source", "external_fence", after=lane.tried.get(("source", "set_external_fence"), 0))
    is_fenced = fence is not None and fence["closed"] is True
    if not is_fenced and _serves(meaning, lane, "source") is not False and _said(meaning, lane, "target", LINK):
        yield Broken(1, f"{words(order)}, and its own link had shown that {case.site('source')} is alive")


def judge_drained(meaning: Meaning, case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promises 2 and 3: the target takes over only after readings showed that the source is closed and the target has
    everything."""
    source = case.site("source")
    if not lane.is_drained:
        yield Broken(2, f"{words(order)}, and no reading had shown that nothing is left at {source}")
    if not meaning.is_exclusive and _serves(meaning, lane, "source") is not False:
        yield Broken(2, f"{words(order)}, and nothing read since had shown that {source} does not serve")


def _was_told(meaning: Meaning, lane: LaneFacts, side: str) -> bool:
    return any(on == side and action in _serving(meaning) for on, action in lane.tried)


def _serving(meaning: Meaning) -> frozenset[str]:
    """The actions that determine whether a site serves."""
    return frozenset(
        action for (action, _), made in meaning.makes.items() if any(SERVES in after for after in made.values())
    )


def _serves(meaning: Meaning, lane: LaneFacts, side: str) -> bool | None:
    """Does a side serve, by its readings since it was last told to serve or not to serve? None: unknown."""
    told = max((lane.tried.get((side, action), 0) for action in _serving(meaning)), default=0)
    return _said(meaning, lane, side, SERVES, after=told)


def _said(meaning: Meaning, lane: LaneFacts, side: str, facet: str, *, after: int = 0) -> bool | None:
    """The value of a facet in the newest readings of a side, from records later than number ``after``. None: unknown."""
    said = [
        meaning.facets(reading, seen["value"]).get(facet)
        for (on, reading), (number, seen) in lane.seen.items()
        if on == side and number > after and seen.get("value") is not None
    ]
    return True if True in said else False if False in said else None
