"""The walk: breadth first over lane, pair and account, so that the first counter-example is the shortest.

States that no decision and no rule can tell apart are one. The order is fixed, so that two walks say the same. Must
never stop early in silence: what was not looked at is told (``is_exhausted``).
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator import events as ev
from orchestrator.contract import ActionSpec, Effect
from orchestrator.decide import decide, follow
from orchestrator.runbook import Runbook
from orchestrator.site import Inventory
from proof.exploration.judge import RULES, Account, Act, Judge, act_of
from proof.exploration.lanes import SERVICE, Decide, Follow, Lanes, Stimulus, Turn
from proof.exploration.looking import Ask, rounds
from proof.exploration.pair import SIDE_NAMES, SOURCE, Pair, drifts, land, obey, obey_half
from proof.exploration.starts import starts, unexplored

# So many attempts stand for all: the first one, and another one.
_ATTEMPTS = 2


class Bounds(NamedTuple):
    """Where a walk stops: at so many states, disturbances, rules found broken."""

    states: int
    disturbances: int
    examples: int


class Node(NamedTuple):
    """One state. ``acts``: actions under way, in the order of the lane's outstanding intents."""

    lane: int
    pair: Pair
    account: Account
    acts: tuple[Act, ...] = ()


class Way(NamedTuple):
    """One transition: what happened, where it leads, what was recorded, which rules it breaks.

    ``by``: ``calm`` is what happens if the world stands still, ``choice`` a decision, ``course`` the world moving on by
    itself, ``disturbance`` a mishap, a kill, an abort, somebody's doing.
    """

    what: str
    by: str
    node: Node
    events: tuple[ev.Event, ...]
    broken: tuple[str, ...] = ()


Arrival = tuple[int, Way]  # from which state


@dataclass(frozen=True)
class Counterexample:
    """A broken rule, and the shortest way there: what happened, and what was recorded then."""

    rule: str
    start: str
    ways: tuple[tuple[str, tuple[ev.Event, ...]], ...]
    detail: str = ""


@dataclass
class Exploration:
    """What a walk found. ``depth``: of the farthest state that was looked at, in transitions from a start.

    ``disturbances``: everything with at most so many of them was looked at; -1: nothing is complete. ``is_exhausted``:
    with any number of them.
    """

    runbook: str
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
    follow: Follow = follow,
) -> Exploration:
    """Walk through ``runbook`` from all starts until everything was seen or a bound is reached. ``examples_max``: it is
    enough once so many rules are found broken.

    ``actions``: their declarations; only those the model knows are looked up. ``decide`` and ``follow`` are the core's,
    unless a control breaks them.
    """
    result = Exploration(runbook.runbook, unexplored=unexplored(runbook))
    if result.unexplored:
        result.is_exhausted = False
        return result
    plan = _plan(runbook)
    bounds = Bounds(states_max, disturbances_max, examples_max)
    walk = _Walk(Lanes(plan, decide, follow), Judge(runbook, actions), result, bounds)
    walk.run(starts(runbook))
    return result


def _plan(runbook: Runbook) -> ev.Plan:
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


class _Walk:
    """One walk and its book-keeping."""

    def __init__(self, lanes: Lanes, judge: Judge, result: Exploration, bounds: Bounds) -> None:
        self._lanes = lanes
        self._judge = judge
        self._result = result
        self._bounds = bounds
        self._nodes: dict[Node, int] = {}
        self._list: list[Node] = []
        self._from: list[tuple[int, str, tuple[ev.Event, ...]]] = []
        self._depths: array[int] = array("i")
        self._edges: dict[str, tuple[array[int], array[int]]] = {
            "calm": (array("i"), array("i")),
            "choice": (array("i"), array("i")),
        }
        self._open: set[int] = set()  # not expanded: what lies behind is not known
        self._ended: list[int] = []
        self._seen: dict[tuple[Pair, tuple[Ask, ...]], list[tuple[str, int]]] = {}
        self._answers: dict[object, int] = {}
        self._rounds: list[tuple[ev.Seen, ...]] = []

    def run(self, beginnings: Iterable[tuple[str, Pair]]) -> None:
        """Everything with no disturbance first, then with one, then with two: the fewest make the best example."""
        queue: deque[int] = deque()
        for name, pair in beginnings:
            way = self._way(Node(-1, pair, Account()), f"start: {name}", "calm", self._lanes.begin())
            self._arrive(queue, -1, way)
        disturbed: deque[Arrival] = deque()
        while queue and not self._is_full:
            self._spread(queue, disturbed)
            if self._is_full:
                break
            self._result.disturbances += 1
            if self._result.disturbances == self._bounds.disturbances:
                break
            for origin, way in disturbed:
                self._arrive(queue, origin, way)
            disturbed.clear()
        self._result.is_exhausted = not queue and not disturbed
        self._open.update(queue, (origin for origin, _ in disturbed))
        self._result.states = len(self._list)
        self._dead_ends()

    @property
    def _is_full(self) -> bool:
        return len(self._list) >= self._bounds.states or len(self._result.found) >= self._bounds.examples

    def _spread(self, queue: deque[int], disturbed: deque[Arrival]) -> None:
        """Go on from all of ``queue`` without a disturbance; those that follow are kept for later."""
        while queue and not self._is_full:
            number = queue.popleft()
            self._result.depth = max(self._result.depth, self._depths[number])
            for way in self._ways(self._list[number]):
                if way.by == "disturbance":
                    disturbed.append((number, way))
                else:
                    self._arrive(queue, number, way)

    def _arrive(self, queue: deque[int], origin: int, way: Way) -> None:
        self._result.transitions += origin >= 0
        if way.broken:
            self._report(origin, way)
            self._open.update({origin} - {-1})  # what follows a broken rule proves nothing
            return
        number = self._nodes.get(way.node)
        if number is None:
            number = self._nodes[way.node] = len(self._list)
            self._list.append(way.node)
            self._from.append((origin, way.what, way.events))
            self._depths.append(0 if origin < 0 else self._depths[origin] + 1)
            self._note_end(number, way.node)
            queue.append(number)
        if way.by in self._edges and origin >= 0:
            origins, targets = self._edges[way.by]
            origins.append(origin)
            targets.append(number)

    def _note_end(self, number: int, node: Node) -> None:
        lane = self._lanes.standings[node.lane].lane
        if lane.ended:
            self._ended.append(number)
            self._result.ends[str(lane.outcome)] += 1

    # --- where a state leads --------------------------------------------------------------------------------------

    def _ways(self, node: Node) -> Iterator[Way]:
        standing = self._lanes.standings[node.lane]
        if standing.lane.ended:
            if standing.can_resume:
                yield from self._resumed(node, node.pair, node.account, "somebody resumes it")
            return
        if node.acts:
            yield from self._performed(node)
            yield from self._killed(node)
        elif standing.request is not None:
            yield from self._answered(node)
        else:
            yield from self._waited(node)
            yield from self._decided(node)
        if standing.lane.abort is None:
            yield self._step(
                node, "somebody calls it off", "disturbance", ("abort",), lambda: self._lanes.called_off(node.lane)
            )
        if not node.acts and standing.can_resume:
            yield from self._resumed(node, node.pair, node.account, "the process dies; another one resumes")

    def _performed(self, node: Node) -> Iterator[Way]:
        """What may come of the first action under way."""
        act, base = node.acts[0], land(node.pair)
        where = f"{act.change.action} at the {SIDE_NAMES[act.change.side]}"
        is_calm = True
        for what, effect, pair, account, broken in self._outcomes(node.account, base, act):
            turn = self._turn(node, ("ended", effect), lambda: self._lanes.ended(node.lane, effect))  # noqa: B023
            reached = node._replace(pair=pair, account=account, acts=node.acts[1:])
            yield self._way(reached, f"{where}: {what}", "calm" if is_calm else "disturbance", turn, broken)
            is_calm = False

    def _outcomes(
        self, account: Account, pair: Pair, act: Act
    ) -> Iterator[tuple[str, Effect, Pair, Account, list[str]]]:
        """The first one is what happens when nothing goes wrong."""
        is_dark = pair.dark and act.change.side == SOURCE and act.change.action != "set_external_fence"
        after = None if is_dark else obey(pair, act.change)
        if after is not None:
            booked, broken = self._judge.took_effect(account, pair, after, act)
            yield "obeyed", Effect.ACCEPTED, after, booked, broken
            yield "obeyed, and the reply is lost", Effect.DOUBTFUL, after, booked, broken
            if after != pair:
                late = pair._replace(late=act.change)
                yield "accepted, and it takes effect later", Effect.ACCEPTED, late, booked, broken
                yield "no reply, and it takes effect later", Effect.DOUBTFUL, late, booked, broken
                half = obey_half(pair, act.change)
                if half is not None and half != pair:
                    booked, broken = self._judge.took_effect(account, pair, half, act)
                    yield "one node of two obeyed, and the reply is lost", Effect.DOUBTFUL, half, booked, broken
        if not is_dark:
            yield "refused", Effect.REJECTED, pair, account, []
        yield "it does not leave", Effect.NOT_SENT, pair, account, []
        yield "not obeyed, and no reply tells", Effect.DOUBTFUL, pair, account, []

    def _killed(self, node: Node) -> Iterator[Way]:
        """The process dies between record and perform, or between perform and record."""
        act = node.acts[0]
        base = land(node.pair)
        yield from self._resumed(node, base, node.account, f"the process dies before the {act.change.action} leaves")
        for what, effect, pair, account, broken in self._outcomes(node.account, base, act):
            if effect is Effect.DOUBTFUL and (pair, account) != (base, node.account):
                named = f"the process dies after the {act.change.action} left ({what})"
                yield from self._resumed(node, pair, account, named, broken)

    def _resumed(
        self, node: Node, pair: Pair, account: Account, what: str, broken: Iterable[str] = ()
    ) -> Iterator[Way]:
        reached = Node(node.lane, pair, account)
        turn = self._turn(node, ("resume",), lambda: self._lanes.resumed(node.lane, abort=False))
        yield self._way(reached, what, "disturbance", turn, broken)
        turn = self._turn(node, ("resume", "abort"), lambda: self._lanes.resumed(node.lane, abort=True))
        yield self._way(reached, f"{what}, to call it off", "disturbance", turn, broken)

    def _answered(self, node: Node) -> Iterator[Way]:
        """The round is answered, or something happens before."""
        standing = self._lanes.standings[node.lane]
        request, looks = standing.request, standing.looks
        assert request is not None  # the caller looked
        is_calm = True
        for what, answer in self._answers_of(node.pair, request.asks):
            yield self._step(
                node,
                what or "readings",
                "calm" if is_calm else "disturbance",
                ("read", answer),
                lambda: self._lanes.answered(node.lane, self._rounds[answer]),  # noqa: B023
            )
            is_calm = False
        asked = frozenset(name for ask in request.asks for name in _aspects(*ask))
        for what, pair, is_course in drifts(node.pair, asked, looks):
            yield Way(what, "course" if is_course else "disturbance", node._replace(pair=pair), ())

    def _answers_of(self, pair: Pair, asks: tuple[Ask, ...]) -> list[tuple[str, int]]:
        """The ways a round may be answered, as numbers: equal answers are one, whatever the pair."""
        known = self._seen.get((pair, asks))
        if known is None:
            known = self._seen[pair, asks] = []
            for what, seen in rounds(pair, asks):
                key = tuple((one.on, one.reading, one.value, one.failure) for one in seen)
                if key not in self._answers:
                    self._answers[key] = len(self._rounds)
                    self._rounds.append(seen)
                known.append((what, self._answers[key]))
        return known

    def _waited(self, node: Node) -> Iterator[Way]:
        standing = self._lanes.standings[node.lane]
        if not standing.can_wait:
            return
        yield self._step(node, "a moment passes", "calm", ("wait",), lambda: self._lanes.waited(node.lane, None))
        for seconds in standing.deadlines:
            pair = land(node.pair) if seconds >= standing.settle else node.pair
            turn = self._turn(node, ("wait", seconds), lambda: self._lanes.waited(node.lane, seconds))  # noqa: B023
            yield self._way(node._replace(pair=pair), f"{seconds:.0f}s pass", "calm", turn)

    def _decided(self, node: Node) -> Iterator[Way]:
        lane = self._lanes.standings[node.lane].lane
        for gate in lane.gates:
            for choice in gate.choices:
                yield self._step(
                    node,
                    f"at {gate.gate} somebody chooses {choice}",
                    "choice",
                    ("rule", gate.gate, gate.item, choice),
                    lambda: self._lanes.ruled(node.lane, gate, choice),  # noqa: B023
                )
        if lane.gates:
            turn = self._turn(node, ("nobody",), lambda: self._lanes.nobody(node.lane))
            names = ", ".join(gate.gate for gate in lane.gates)
            yield self._way(node, f"nobody answers {names}", "calm", turn, unattended=True)

    def _step(self, node: Node, what: str, by: str, stimulus: Stimulus, make: Callable[[], Turn]) -> Way:
        return self._way(node, what, by, self._turn(node, stimulus, make))

    def _turn(self, node: Node, stimulus: Stimulus, make: Callable[[], Turn]) -> Turn:
        return self._lanes.turn(node.lane, stimulus, make)

    def _way(
        self,
        node: Node,
        what: str,
        by: str,
        turn: Turn,
        broken: Iterable[str] = (),
        *,
        unattended: bool = False,
    ) -> Way:
        """``node`` with everything that ``turn`` recorded."""
        if turn.broken:
            return Way(f"{what}: {turn.broken}", by, node, turn.events, ("core-error",))
        account, found = self._judge.recorded(node.account, node.pair, turn.events, unattended=unattended)
        acts = tuple(act_of(event) for event in turn.events if isinstance(event, ev.ActionIntended))
        matters = self._lanes.standings[turn.lane].live
        reached = Node(turn.lane, matters.pair(node.pair), matters.account(account), (*node.acts, *acts))
        return Way(what, by, reached, turn.events, (*broken, *found))

    # --- what was found -------------------------------------------------------------------------------------------

    def _report(self, origin: int, way: Way) -> None:
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

    def _dead_ends(self) -> None:
        """States from which no end is reached by calm ways and decisions, or by calm ways alone."""
        for rule, kinds in (("dead-end", ("calm", "choice")), ("waits-unattended", ("calm",))):
            safe = self._reaching(kinds)
            first = next((number for number in range(len(self._list)) if not safe[number]), None)
            if first is not None:
                self._result.found.append(self._counterexample(rule, first))
                return  # what is a dead end with decisions is one without

    def _reaching(self, kinds: Iterable[str]) -> bytearray:
        """For each state: is there a way of these kinds to an end, or to where the walk stopped?"""
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


def _aspects(on: str, reading: str) -> Iterator[str]:
    """What a reading could show of a pair that moves on its own."""
    yield on
    yield reading
    if reading == "reachability":
        yield "replication"
