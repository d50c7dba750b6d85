"""The state of the two ends of a service, judged once from the facets of their readings. Pure, for any family.

A field that neither end reports does not count. If an end does not report a field that it should, the verdict is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.counting import counted
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from orchestrator.model.other_manager import Manager, manager_in, shows_only_a_manager
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

BOTH_ACTIVE, NONE_ACTIVE = "BOTH ACTIVE", "no active site"

Answers = Mapping[str, Mapping[str, Reading | Failure]]
Serving = Literal["first", "second", "both", "none", "unknown"]


@dataclass(frozen=True, slots=True)
class End:
    """One site's end of a service; None is unknown. ``in_part``: the site lets in some of its clients, but not others.
    ``unit``: the unit of ``backlog``. ``mark``: the last number that this end issued. ``reached``: the last number of its
    mate that it has. ``blocked``: its writers wait, because its mate is away. ``managers``: the managers beside this
    program, each with its state. ``error``: the failure of a reading, or empty."""

    site: str
    serves: bool | None = None
    in_part: bool = False
    link: bool | None = None
    backlog: int | None = None
    unit: str = ""
    mark: int | None = None
    reached: int | None = None
    in_doubt: int | None = None
    clients: int | None = None
    suspended: bool | None = None
    blocked: bool | None = None
    managers: tuple[Manager, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class PairPosition:
    """The state of a pair. ``word``: ``ok``, or the text of the problem or of the unknown value, for all screens."""

    serving: Serving
    word: str

    @property
    def is_good(self) -> bool:
        """Was everything that counts read, and is nothing wrong?"""
        return self.word == "ok"

    @property
    def is_wrong(self) -> bool:
        """Does no site serve, or do both sites serve where only one may?"""
        is_known = not self.word.startswith("unknown")
        return is_known and (self.serving == "none" or self.word.startswith(BOTH_ACTIVE))

    def remarked(self, remark: str) -> str:
        """The word followed by ``remark``. For a pair that is otherwise ok, the remark alone."""
        return "; ".join(one for one in ("" if self.is_good else self.word, remark) if one) or self.word


def end_of(family: Family, site: str, answers: Answers, service: str, readings: Sequence[str] | None = None) -> End:
    """The facets of one end, from ``readings``. Without ``readings``, from all surveyed readings of the family."""
    found = {name: answers.get(name, {}).get(service) for name in readings or family.surveyed}
    values = [one for one in found.values() if isinstance(one, Reading)]
    models = family.readings
    failures = [
        one.text if isinstance(one, Failure) else f"{name} was not read"
        for name, one in found.items()
        if not isinstance(one, Reading) and not shows_only_a_manager(models[name])
    ]
    return End(
        site=site,
        serves=_flag(values, Facet.SERVES),
        in_part=any(one.is_mixed() for one in values if Facet.SERVES in one.facets),
        link=_flag(values, Facet.LINK),
        backlog=_number(values, Facet.BACKLOG),
        unit=family.unit_of(Facet.BACKLOG) or family.unit_of(Facet.MARK),
        mark=_number(values, Facet.MARK),
        reached=_number(values, Facet.REACHED),
        in_doubt=_number(values, Facet.IN_DOUBT),
        clients=_number(values, Facet.CLIENTS),
        suspended=_flag(values, Facet.SUSPENDED),
        blocked=_flag(values, Facet.BLOCKED),
        managers=tuple(
            manager_in(models[name], one) for name, one in found.items() if Facet.PILOT in models[name].facets
        ),
        error=failures[0] if failures else "",
    )


def compared(family: Family, ends: tuple[End, End]) -> tuple[End, End]:
    """Both ends. If the family reports no backlog, each gets one: the numbers of this end that its mate has not reached.
    The ends were read moments apart, so a mate that was read later may have reached later numbers too."""
    if family.offers(Facet.BACKLOG):
        return ends
    first, second = ends
    return _compared(first, second), _compared(second, first)


def _compared(end: End, mate: End) -> End:
    if end.mark is None or mate.reached is None:
        return end
    return replace(end, backlog=max(0, end.mark - mate.reached))


def _flag(values: Sequence[Reading], facet: Facet) -> bool | None:
    return next((found for one in values if (found := one.flag(facet)) is not None), None)


def _number(values: Sequence[Reading], facet: Facet) -> int | None:
    return next((found for one in values if (found := one.number(facet)) is not None), None)


def position_of(family: Family, ends: tuple[End, End], service: str) -> PairPosition:
    """The judgement: which site serves, whether the link holds, the backlog at the idle site, whose writers wait."""
    serving = _serving(ends)
    word = _word(family, serving, ends)
    position = PairPosition(serving, word)
    if any(end.suspended and end.serves is not False for end in ends):
        position = PairPosition(serving, position.remarked("replication is suspended"))
    for end, mate in (ends, ends[::-1]):
        if end.blocked and end.serves:
            waits = family.words.blocked.format(site=end.site, mate=mate.site, services=service)
            position = PairPosition(serving, position.remarked(waits))
    for end in ends:
        acting = "; ".join(one.called for one in end.managers if one.state == "acts")
        hidden = "; ".join(one.unknown_why for one in end.managers if one.state == "unknown" and not end.error)
        if acting:
            position = PairPosition(serving, position.remarked(f"another manager may act at {end.site} ({acting})"))
        if hidden:
            what = f"unknown whether another manager may act at {end.site} ({hidden})"
            position = PairPosition(serving, position.remarked(what))
    return position


def _serving(ends: tuple[End, End]) -> Serving:
    match (ends[0].serves, ends[1].serves):
        case (True, True):
            return "both"
        case (True, False):
            return "first"
        case (False, True):
            return "second"
        case (False, False):
            return "none"
        case _:
            return "unknown"


def _word(family: Family, serving: Serving, ends: tuple[End, End]) -> str:
    is_exclusive = all(model.exclusive for model in family.readings.values())
    error = next((end.error for end in ends if end.error), "")
    if error:
        return f"unknown: {error}"
    partly = next((end.site for end in ends if end.in_part), "")
    if partly:
        return f"{partly} lets only some clients in"
    if serving == "unknown":
        return f"unknown: {next(end.site for end in ends if end.serves is None)} does not report whether it serves"
    if serving == "none":
        return NONE_ACTIVE if is_exclusive else family.words.none_serves
    if serving == "both" and is_exclusive:
        return BOTH_ACTIVE
    links = [end.link for end in ends]
    if False in links:
        return family.words.link_down.format(site=next(end.site for end in ends if end.link is False))
    if family.offers(Facet.LINK) and True not in links:
        return "unknown: no site reports its link"
    idle = next((end for end in ends if end.serves is False), None)
    if idle is not None and idle.backlog:  # the serving site did not get this backlog
        return f"{counted(idle.backlog, idle.unit or 'entry', '' if idle.unit else 'entries')} left at {idle.site}"
    return "ok"
