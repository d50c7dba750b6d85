"""The walk: breadth first over lane, pair and account, so that the first counter-example is the shortest.

States that no decision and no rule can tell apart count as one. The order is fixed, so that two walks give the same
result. A walk must never stop early silently: ``is_exhausted`` tells whether states remain unchecked.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol

from orchestrator.core.decide import apply_ruling, decide
from orchestrator.family.contract import ActionSpec
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Runbook
from proof.exploration.families import fitting
from proof.exploration.family import SIDE_NAMES, Family
from proof.exploration.finishing import Finishing
from proof.exploration.judge import Judge
from proof.exploration.lanes import SERVICE, Decide, Follow, Lanes
from proof.exploration.rules import RULES
from proof.exploration.vocabulary import dos_of
from proof.exploration.ways import N, Way, Ways

# Two attempts represent any number: the first one and a repeated one.
_ATTEMPTS = 2


class Bounds(NamedTuple):
    """The limits of a walk: the number of states, of disturbances, and of rules found broken."""

    states: int
    disturbances: int
    examples: int


Arrival = tuple[int, Way[N]]  # from which state


@dataclass(frozen=True)
class Counterexample:
    """A broken rule, and the shortest way there: each transition with the events recorded for it."""

    rule: str
    start: str
    ways: tuple[tuple[str, tuple[ev.Event, ...]], ...]


@dataclass
class Exploration:
    """The result of a walk. ``depth``: the distance of the farthest checked state, in transitions from a start.

    ``disturbances``: all ways with at most this many disturbances were checked (-1: nothing is complete).
    ``is_exhausted``: all ways with any number of disturbances were checked.
    """

    runbook: str
    family: str = ""
    states: int = 0
    transitions: int = 0
    depth: int = 0
    disturbances: int = -1
    is_exhausted: bool = True
    ends: Counter[str] = field(default_factory=Counter)
    found: list[Counterexample] = field(default_factory=list)
    unexplored: list[str] = field(default_factory=list)


def explore(
    runbook: Runbook,
    actions: Mapping[str, ActionSpec],
    *,
    states_max: int,
    disturbances_max: int,
    examples_max: int = len(RULES),
    decide: Decide = decide,
    follow: Follow = apply_ruling,
    family: Family[Any, Any] | None = None,
) -> Exploration:
    """Walk through ``runbook`` from all starts until everything was seen or a bound is reached. ``examples_max``: the
    walk stops after this many rules were found broken.

    ``actions``: the declarations of the actions. If one is missing, nothing is explored. ``decide`` and ``follow`` are
    the core's, unless a control breaks them on purpose. ``family``: the model; None: the model that fits best.
    """
    family = fitting(runbook) if family is None else family
    undeclared = [f"action {do.action}" for do in dos_of(runbook) if do.action not in actions]
    unexplored = list(dict.fromkeys([*family.unexplored(runbook), *undeclared]))
    result = Exploration(runbook.runbook, family=family.name, unexplored=unexplored)
    if result.unexplored:
        result.is_exhausted = False
        return result
    lanes = Lanes(family.live, plan_of(runbook), decide, follow, actions)
    ways = Ways(family, lanes, Judge(family, runbook, actions))
    walk = Walk(ways, result, Bounds(states_max, disturbances_max, examples_max))
    walk.run(ways.begin(name, pair) for name, pair in family.starts(runbook))
    walk.judge_stops(Finishing(family, ways).can_end, family.is_by_hand)
    return result


def plan_of(runbook: Runbook) -> ev.Plan:
    """A plan for one service of a pair that consists of names only. A step is tried at most twice."""
    steps = tuple(step.model_copy(update={"attempts": min(step.attempts, _ATTEMPTS)}) for step in runbook.steps)
    sites = {name: {"adapter": "model", "devices": [{"name": name, "address": name}]} for name in SIDE_NAMES}
    pair = {"name": "pair", "sites": list(SIDE_NAMES), "services": [SERVICE]}
    return ev.Plan(
        runbook=runbook.model_copy(update={"steps": steps}),
        inventory=Inventory.model_validate({"sites": sites, "pairs": [pair]}),
        pair="pair",
        source="source",
        target="target",
        services=(SERVICE,),
    )


class Walkable(Protocol[N]):
    """The object of a walk: states, and the ways from each state."""

    def of(self, node: N, *, undisturbed: bool = False) -> Iterable[Way[N]]:
        """Everything that may happen in ``node``, or everything that is no disturbance."""
        ...

    def outcome(self, node: N) -> str | None:
        """The outcome of ``node``. None while it continues."""
        ...

    def key(self, node: N) -> Hashable:
        """The key of a state. Two states with the same key lead to the same states."""
        ...


class Walk(Generic[N]):
    """One walk and its book-keeping."""

    def __init__(self, ways: Walkable[N], result: Exploration, bounds: Bounds) -> None:
        self._ways = ways
        self._result = result
        self._bounds = bounds
        self._nodes: dict[Hashable, int] = {}
        self._list: list[N] = []
        self._from: list[tuple[int, str, tuple[ev.Event, ...]]] = []
        self._depths: array[int] = array("i")
        self._edges: dict[str, tuple[array[int], array[int]]] = {
            "calm": (array("i"), array("i")),
            "choice": (array("i"), array("i")),
        }
        self._open: set[int] = set()  # not expanded: the states behind them are not known
        self._ended: list[int] = []

    def run(self, beginnings: Iterable[Way[N]]) -> None:
        """Walks the ways without disturbances first, then those with one, then with two. The fewest make the best
        example."""
        queue: deque[int] = deque()
        for way in beginnings:
            self._arrive(queue, -1, way)
        disturbed: deque[Arrival[N]] = deque()
        while queue and not self._is_full:
            self._spread(queue, disturbed)
            if self._is_full:
                break
            self._result.disturbances += 1
            if not self._result.disturbances:
                self._is_ever_done()
            if self._is_last:
                break
            for origin, way in disturbed:
                self._arrive(queue, origin, way)
            disturbed.clear()
        self._result.is_exhausted = not queue and not self._is_full and not self._is_last
        self._open.update(queue)
        self._result.states = len(self._list)
        self._dead_ends()

    def judge_stops(self, can_end: Callable[[N], bool], is_by_hand: Callable[[str], bool]) -> None:
        """Reports the first stop that no resume and no abort ends. Leaves out a stop after a change by hand, because it
        may wait until a person changes that back."""
        if len(self._result.found) >= self._bounds.examples:
            return
        for number in self._ended:
            if not self._is_after(number, is_by_hand) and not can_end(self._list[number]):
                self._result.found.append(self._counterexample("stays-stopped", number))
                return

    def _is_after(self, number: int, is_by_hand: Callable[[str], bool]) -> bool:
        while number >= 0:
            number, what, _ = self._from[number]
            if is_by_hand(what):
                return True
        return False

    @property
    def _is_full(self) -> bool:
        return len(self._list) >= self._bounds.states or len(self._result.found) >= self._bounds.examples

    @property
    def _is_last(self) -> bool:
        return self._result.disturbances == self._bounds.disturbances

    def _spread(self, queue: deque[int], disturbed: deque[Arrival[N]]) -> None:
        """Continue from all of ``queue`` without a disturbance. Keep the ways with a disturbance for the next round, if
        there is one."""
        is_last = self._result.disturbances + 1 == self._bounds.disturbances
        while queue and not self._is_full:
            number = queue.popleft()
            self._result.depth = max(self._result.depth, self._depths[number])
            for way in self._ways.of(self._list[number], undisturbed=is_last):
                if way.by == "disturbance":
                    disturbed.append((number, way))
                else:
                    self._arrive(queue, number, way)

    def _arrive(self, queue: deque[int], origin: int, way: Way[N]) -> None:
        self._result.transitions += origin >= 0
        if way.broken:
            self._report(origin, way)
            self._open.update({origin} - {-1})  # a state after a broken rule proves nothing
            return
        key = self._ways.key(way.node)
        number = self._nodes.get(key)
        if number is None:
            number = self._nodes[key] = len(self._list)
            self._list.append(way.node)
            self._from.append((origin, way.what, way.events))
            self._depths.append(0 if origin < 0 else self._depths[origin] + 1)
            self._note_end(number, way.node)
            queue.append(number)
        if way.by in self._edges and origin >= 0:
            origins, targets = self._edges[way.by]
            origins.append(origin)
            targets.append(number)

    def _note_end(self, number: int, node: N) -> None:
        outcome = self._ways.outcome(node)
        if outcome is not None:
            self._ended.append(number)
            self._result.ends[outcome] += 1

    # --- findings -------------------------------------------------------------------------------------------------

    def _report(self, origin: int, way: Way[N]) -> None:
        known = {one.rule for one in self._result.found}
        for rule in dict.fromkeys(way.broken):
            if rule not in known:
                last = (way.what, way.events)
                self._result.found.append(self._counterexample(rule, origin, last))

    def _counterexample(self, rule: str, number: int, *more: tuple[str, tuple[ev.Event, ...]]) -> Counterexample:
        ways = list(more)
        while number >= 0:
            number, what, events = self._from[number]
            ways.insert(0, (what, events))
        return Counterexample(rule, ways[0][0].removeprefix("start: "), tuple(ways[1:]))

    def _is_ever_done(self) -> None:
        """Reports a runbook that can never be done. It breaks no promise, but is useless. If a rule is broken, the states
        behind it are unknown, so nothing is reported. With two services, one that is done is enough."""
        if self._list and not self._result.found and not any("done" in end for end in self._result.ends):
            self._result.found.append(self._counterexample("never-done", 0))

    def _dead_ends(self) -> None:
        """Reports states from which no end is reached by calm ways and decisions, or by calm ways alone."""
        for rule, kinds in (("dead-end", ("calm", "choice")), ("waits-unattended", ("calm",))):
            safe = self._reaching(kinds)
            first = next((number for number in range(len(self._list)) if not safe[number]), None)
            if first is not None:
                self._result.found.append(self._counterexample(rule, first))
                return  # a dead end with decisions is also one without

    def _reaching(self, kinds: Iterable[str]) -> bytearray:
        """For each state: is there a way of these kinds to an end, or to a state where the walk stopped?"""
        before: dict[int, list[int]] = {}
        for kind in kinds:
            for origin, target in zip(*self._edges[kind], strict=True):
                before.setdefault(target, []).append(origin)
        safe = bytearray(len(self._list))
        todo = [*self._ended, *sorted(self._open)]
        for number in todo:
            safe[number] = 1
        while todo:
            for origin in before.get(todo.pop(), ()):
                if not safe[origin]:
                    safe[origin] = 1
                    todo.append(origin)
        return safe
