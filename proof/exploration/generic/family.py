"""The model of any family for the walk, built from its facets and from the effects that ``makes`` declares for its
actions."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from orchestrator.core.run import Lane
from orchestrator.documents.generic_facets import Facets
from orchestrator.model import events as ev
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from orchestrator.model.other_manager import OTHER_MANAGER, OtherManager, manager_in, shows_only_a_manager, worst
from orchestrator.model.reading import Bounds, Reading, item_field_names
from orchestrator.model.readings import ExternalFence, Reachability, Role
from orchestrator.model.runbook import Check, Do, Runbook
from proof.exploration.commands import ACTIONS as COMMANDS
from proof.exploration.family import (
    ANOTHER_OPERATOR,
    SIDE_NAMES,
    SOURCE,
    TARGET,
    Change,
    Move,
    Words,
    change_of,
    complete_pending,
)
from proof.exploration.generic import pair as pairs
from proof.exploration.generic.pair import FENCE, Effects, Listed, Pair
from proof.exploration.generic.promises import Evidence, Promises
from proof.exploration.generic.shapes import NONE, SOME, item_for, reading_with, texts_in, told_by
from proof.exploration.vocabulary import checks_of, dos_of, unexplored

_OUTSIDE = frozenset({"external_fence", FENCE})
_FLOW = frozenset({Facet.LINK, Facet.BACKLOG, Facet.MARK, Facet.REACHED, Facet.SUSPENDED})


def can_be_modelled(family: Family) -> bool:
    """Do the family's readings show which site serves, and do its actions declare their effects?"""
    return family.offers(Facet.SERVES) and bool(family.makes)


class Live(NamedTuple):
    """See ``family.Live``: everything matters while the lane continues."""

    reverts: bool
    rulings: bool = True

    def pair(self, pair: Pair) -> Pair:
        """See ``family.Live``."""
        return pair

    def evidence(self, evidence: Evidence) -> Evidence:
        """See ``family.Live``."""
        return evidence


class Generic:
    """See ``proof.exploration.family.Family``. ``family``: the installed family. ``runbook``: the runbook to explore."""

    adapter = ""
    half = ""
    sharing = None

    def __init__(self, family: Family, runbook: Runbook) -> None:
        self.name = family.name
        self._family = family
        wheres = [check.where for check in checks_of(runbook)]
        self._texts = tuple(dict.fromkeys(texts_in(wheres)))
        self._made: dict[tuple[str, tuple[object, ...]], Reading | None] = {}
        self._items = {
            (SIDE_NAMES.index(step.for_each.on), step.for_each.reading): item_for(model, step.for_each.where)
            for step in runbook.steps
            if step.for_each is not None and (model := family.readings.get(step.for_each.reading)) is not None
        }
        self._flags = tuple(sorted(family.model.items()))
        self._managed_by = [name for name, model in family.readings.items() if Facet.PILOT in model.facets]
        made = {"reachability": _of_reachability(family), OTHER_MANAGER: self._of_managers(family)}
        self._asked_while = {**family.asked_while, **made}
        self._alike = _alike(checks_of(runbook), _followed(family))
        self._effects = Effects(family.makes, dict(_works_on(runbook)))
        exclusive = [model.exclusive for model in family.readings.values() if Facet.SERVES in model.facets]
        file = getattr(family, "file", None)
        facets = Facets(file) if isinstance(file, FamilyFile) else None
        shows_link = facets is not None and facets.has(Facet.LINK, "mate")
        self._counts_everywhere = facets is not None and facets.has(Facet.BACKLOG, "mate")
        self._promises = Promises(
            self._effects,
            is_exclusive=any(exclusive),
            shows_link=shows_link,
            asks_nobody=runbook.runbook.partition("/")[2].startswith("guard"),
        )
        self._flow = frozenset(name for name, model in family.readings.items() if _FLOW & set(model.facets))
        self.words = Words(
            fields=self._fields(),
            items={name: item_field_names(model) for name, model in family.readings.items()},
            compares=frozenset(),
            actions={**self._actions(runbook), FENCE: {"state": ("closed", "open")}},
        )

    def _actions(self, runbook: Runbook) -> Mapping[str, Mapping[str, tuple[str, ...] | None]]:
        """The actions of ``makes`` with the values that it names, and those that are assumed to change nothing."""
        named = {action for action, _ in self._family.makes}
        known: dict[str, dict[str, tuple[str, ...] | None]] = {action: {} for action in named}
        for do in dos_of(runbook):
            if do.action in named or do.action in self.harmless(runbook):
                known.setdefault(do.action, {}).update(dict.fromkeys(do.args))
        for (action, name), values in self._family.makes.items():
            if name:
                known[action][name] = tuple(values)
        return known

    def harmless(self, runbook: Runbook) -> list[str]:
        """See ``family.Family``: actions that ``makes`` does not name and that no reading has to prove."""
        named = {action for action, _ in self._family.makes} | {FENCE, *COMMANDS}
        proven = {do.action for do, is_proven in _proofs(runbook) if is_proven}
        return list(dict.fromkeys(do.action for do in dos_of(runbook) if do.action not in named | proven))

    def _fields(self) -> Mapping[str, frozenset[str]]:
        """The fields of each reading that are known in at least one moment of the pair."""
        moments = [
            Pair(
                serves=(serves, False),
                link=link,
                queued=(queued, False),
                last=last,
                suspended=suspended,
                items=items,
                flags=self._flags,
            )
            for serves, link, queued, suspended in itertools.product((True, False), repeat=4)
            for last in (SOURCE, TARGET)
            for items in ((), tuple(self._items))
        ]
        fields = {}
        for name in self._family.readings:
            found = [self._read(moment, side, name) for moment in moments for side in (SOURCE, TARGET)]
            fields[name] = told_by([one for one in found if one is not None])
        return {
            **fields,
            **({OTHER_MANAGER: frozenset({OTHER_MANAGER})} if self._managed_by else {}),
            "reachability": frozenset({"answers", "role", "role_known"}),
            "external_fence": frozenset({"closed"}),
        }

    def unexplored(self, runbook: Runbook) -> list[str]:
        """See ``family.Family``. If the model cannot make a reading at all, only the reading is named, without its
        fields."""
        asked = {check.reading for check in checks_of(runbook)}
        listed = {f"the items of reading {name}" for (_, name), item in self._items.items() if item is None}
        shapeless = [
            f"reading {name}: no value of its fields has these facets"
            for name in self._family.surveyed
            if name in asked and self._read(Pair(), SOURCE, name) is None
        ]
        return shapeless or [*unexplored(runbook, self.words), *sorted(listed)]

    def starts(self, runbook: Runbook) -> Iterator[tuple[str, Pair]]:
        """See ``family.Family``."""
        suspends = self._family.offers(Facet.SUSPENDED)
        fields = {name for needed in self._family.asked_while.values() for name in needed}
        items = tuple(sorted(self._items))
        yield from pairs.starts(items, self._flags, suspends=suspends, answered_while=fields)
        for name in self._managed_by:
            well = Pair(items=items, flags=self._flags)
            yield f"another manager may act, by {name}", well._replace(managers=((name, "acts"),))
            yield (
                f"{name} does not tell whether another manager may act",
                well._replace(managers=((name, "unknown"),)),
            )

    def evidence(self, runbook: Runbook) -> Evidence:
        """See ``family.Family``."""
        stops = any(self._effects.serves(change_of(do)) is False and do.on == "source" for do in dos_of(runbook))
        return Evidence(needs_link=stops and self._family.offers(Facet.LINK))

    def live(self, runbook: Runbook, lane: Lane) -> Live:
        """See ``family.Family``."""
        is_open = lane.status in ("ready", "running", "reverting") or lane.came_from in ("running", "reverting")
        return Live(reverts=is_open and not lane.settled)

    # --- the devices --------------------------------------------------------------------------------------------------

    def reaches(self, pair: Pair, side: int, word: str) -> bool:
        """See ``family.Family``: the plan's fence is read and set from this machine."""
        is_answered = pair.has(side, self._asked_while.get(word, {}))
        return word in _OUTSIDE or (not pair.dark[side] and is_answered)

    def read(self, pair: Pair, side: int, reading: str) -> Reading:
        """See ``family.Family``."""
        if reading == "external_fence":
            return ExternalFence(closed=pair.outside[side])
        if reading == "reachability":
            return Reachability(answers=True, role=Role.ACTIVE if pair.serves[side] else Role.STANDBY)
        if reading == OTHER_MANAGER:
            return self._managers({name: self._read(pair, side, name) for name in self._managed_by})
        found = self._read(pair, side, reading)
        if found is None:
            raise ValueError(f"the model has no reading {reading}")
        return found

    def _read(self, pair: Pair, side: int, name: str) -> Reading | None:
        model = self._family.readings[name]
        known = {**self._facets(pair, side), Facet.PILOT: dict(pair.managers).get(name, "none")}
        values = {facet: value for facet, value in known.items() if facet in model.facets}
        flags = {one: both[side] for one, both in pair.flags if one in model.model_fields}
        key = (name, (*values.values(), *flags.values(), (side, name) in pair.items))
        if key not in self._made:
            made = reading_with(model, values, self._texts)
            made = made and made.model_copy(update={**flags, **self._alike.get(name, {})})
            item = self._items.get((side, name)) if (side, name) in pair.items else None
            if made is not None and item_field_names(model):
                made = made.model_copy(update={"items": () if item is None else (item,)})
            self._made[key] = made
        return self._made[key]

    def _facets(self, pair: Pair, side: int) -> Mapping[Facet, object]:
        """The values of the facets at one side. The backlog is known at the side that last served clients, and at the
        mate if the file says so. No transaction is in doubt here, also not for a runbook that asks for them."""
        is_known = self._counts_everywhere or pair.serves[side] or pair.last == side
        waits = pair.queued[side] and not pair.suspended
        return {
            Facet.SERVES: pair.serves[side],
            Facet.LINK: pair.link,
            Facet.BACKLOG: (SOME if waits else NONE) if is_known else None,
            Facet.MARK: SOME,
            Facet.REACHED: SOME // 2 if pair.queued[1 - side] else SOME,
            Facet.CLIENTS: int(pair.takes(side)),
            Facet.SUSPENDED: pair.suspended,
            Facet.IN_DOUBT: NONE,
        }

    def blank(self, reading: str) -> Reading | None:
        """See ``family.Family``."""
        if reading == OTHER_MANAGER:
            return self._managers(dict.fromkeys(self._managed_by))
        model = self._family.readings.get(reading)
        return None if model is None else reading_with(model, {}, ())

    def _managers(self, told: Mapping[str, Reading | None]) -> OtherManager:
        managers = tuple(manager_in(self._family.readings[name], one) for name, one in told.items())
        return OtherManager(other_manager=worst(managers), managers=managers)

    def _of_managers(self, family: Family) -> Mapping[str, bool]:
        """``other_manager`` is not available if a reading that shows more than a manager is not answered."""
        own = [name for name in self._managed_by if not shows_only_a_manager(family.readings[name])]
        return {field: value for name in own for field, value in family.asked_while.get(name, {}).items()}

    def obey(self, pair: Pair, change: Change) -> Pair | None:
        """See ``family.Family``."""
        return self._effects.obey(pair, change)

    def obey_half(self, pair: Pair, change: Change) -> Pair | None:
        """See ``family.Family``: partial effects are not known."""
        return None

    def delays(self, change: Change) -> bool:
        """See ``family.Family``."""
        return True

    def is_so(self, pair: Pair, change: Change) -> bool:
        """See ``family.Family``."""
        return self._effects.is_so(pair, change)

    def drifts(self, pair: Pair, asked: frozenset[str], looks: frozenset[str]) -> Iterable[Move[Pair]]:
        """See ``family.Family``."""
        return pairs.drifts(pair, asked, self._flow)

    def repaired(self, pair: Pair) -> Iterable[Pair]:
        """See ``family.Family``."""
        needed = {field: value for fields in self._asked_while.values() for field, value in fields.items()}
        return pairs.repaired(complete_pending(self, pair), needed)

    def is_by_hand(self, what: str) -> bool:
        """See ``family.Family``."""
        return what.startswith(ANOTHER_OPERATOR)

    def claims(self, pair: Pair, side: int, wish: str) -> tuple[bool, bool, Pair]:
        """See ``family.Family``: a pair of sites has only one service."""
        return True, False, pair

    # --- its promises -------------------------------------------------------------------------------------------------

    def forbids(self, evidence: Evidence, change: Change, *, undo: bool) -> list[str]:
        """See ``family.Family``."""
        return self._promises.forbids(evidence, change, undo=undo)

    def harms(self, evidence: Evidence, before: Pair, after: Pair, change: Change, *, undo: bool) -> list[str]:
        """See ``family.Family``."""
        return self._promises.harms(evidence, before, after, change)

    def booked(self, evidence: Evidence, before: Pair, after: Pair, change: Change) -> Evidence:
        """See ``family.Family``: the promises need no past changes."""
        return evidence

    def leaves(self, evidence: Evidence, pair: Pair, outcome: ev.Outcome) -> list[str]:
        """See ``family.Family``: an end is judged only by its changes."""
        return []


def _alike(checks: Iterable[Check], followed: Container[tuple[str, str]]) -> Mapping[str, Mapping[str, object]]:
    """By reading: the fields that a check requires to be the same at both sites, or not lower, with their values in a
    healthy pair. ``followed``: the numbers that the pair models itself."""
    found: dict[str, dict[str, object]] = {}
    for check in checks:
        for name, wanted in check.where.items():
            if not isinstance(wanted, Bounds):
                continue
            for other, value in ((wanted.same_as, "of both"), (wanted.reaches, SOME)):
                if other is not None and (check.reading, name) not in followed:
                    found.setdefault(check.reading, {})[name] = value
                    found.setdefault(other.reading, {})[other.field] = value
    return found


def _of_reachability(family: Family) -> Mapping[str, bool]:
    """The conditions for ``reachability``, which is made from the first reading that shows which site serves."""
    serving = [name for name, one in family.readings.items() if one.surveyed and Facet.SERVES in one.facets]
    return family.asked_while.get(serving[0], {}) if serving else {}


def _followed(family: Family) -> frozenset[tuple[str, str]]:
    return frozenset(
        (name, model.facets[facet])
        for name, model in family.readings.items()
        for facet in (Facet.MARK, Facet.REACHED)
        if facet in model.facets
    )


def _works_on(runbook: Runbook) -> Iterator[tuple[tuple[int, str], Listed]]:
    for step in runbook.steps:
        if step.for_each is not None and step.do is not None:
            listed = (SIDE_NAMES.index(step.for_each.on), step.for_each.reading)
            yield (SIDE_NAMES.index(step.do.on), step.do.action), listed


def _proofs(runbook: Runbook) -> Iterator[tuple[Do, bool]]:
    """Each action, and whether a reading has to show that it was done."""
    for step in runbook.steps:
        if step.do is not None:
            yield step.do, bool(step.expect)
        if step.undo is not None:
            yield step.undo.do, bool(step.undo.expect)
