"""Two lanes at the same time: two services of one pair of sites. The real decisions lead each lane, and the real rules
answer their claims.

A state has two halves, one for each service. Each half has its own lane, pair, account and rows. The part that belongs to
the sites is the same in both. The way from a start to the first step with a claim is one transition, because the walk
through one lane covers it. The services are interchangeable, so a state and its mirror image count as one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Generic

from orchestrator.core.decide import ClaimSite, apply_ruling, decide
from orchestrator.core.decide.granting import granted
from orchestrator.core.run import Lane
from orchestrator.family.contract import ActionSpec
from orchestrator.model import events as ev
from orchestrator.model.runbook import Runbook
from proof.exploration.claiming import (
    Desk,
    Grant,
    Kept,
    claiming_part,
    finished,
    first_claim,
    has_claims,
    settled,
)
from proof.exploration.families import fitting
from proof.exploration.family import E, Family, Live, P, Sharing
from proof.exploration.halves import Both, Half, SharedLive, Step
from proof.exploration.judge import Judge
from proof.exploration.lanes import SERVICE, Decide, Follow, Lanes
from proof.exploration.rules import RULES
from proof.exploration.search import Bounds, Exploration, Walk, plan_of
from proof.exploration.ways import Node, Way, Ways

NAMES = ("service 1", "service 2")
_READY = Lane(SERVICE)


class Together(Generic[P, E]):
    """See ``proof.exploration.search.Walkable``: the states of two lanes."""

    def __init__(
        self,
        family: Family[P, E],
        sharing: Sharing[P],
        lanes: Lanes[P, E],
        judge: Judge[P, E],
        part: Runbook,
        desk: Desk,
    ) -> None:
        self._family, self._sharing, self._lanes = family, sharing, lanes
        self._ways = Ways(family, lanes, judge)
        self._part, self._desk = part, desk
        self._first = first_claim(part)
        self._judge = judge
        self._halves: list[Half[P, E]] = []
        self._numbers: dict[Half[P, E], int] = {}
        self._shown: dict[int, Any] = {}
        self._cuts: dict[int, Any] = {}
        self._fitted: dict[tuple[int, Any], int] = {}
        self._steps: dict[tuple[int, bool], list[Step]] = {}

    # --- states -------------------------------------------------------------------------------------------------------

    def begin(self, runbook: Runbook) -> Iterator[Way[Both]]:
        """Every start that both services can be in: the starts of ``runbook`` alone, without the parts that represent
        another service."""
        seen: set[Hashable] = set()
        starts = [(name, self._alone(pair)) for name, pair in self._family.starts(runbook)]
        for place, (name, one) in enumerate(starts):
            for other_name, other in starts[place:]:
                same = self._sharing.beside(other, self._sharing.around(one))
                halves = (self._start(one), self._start(other))
                if same != other or halves in seen:
                    continue
                seen.add(halves)
                both = self._beside(*halves)
                told = name if name == other_name else f"{name}; for service 2: {other_name}"
                yield Way(f"start: {told}", "calm", both, ())

    def _alone(self, pair: P) -> P:
        """``pair`` without the parts that represent another service."""
        around = self._sharing.around(pair)._replace(active=False, relies=False)
        return self._sharing.beside(pair, around)

    def _start(self, pair: P) -> int:
        rows = tuple(Kept(on, thing, "relies", True) for on, thing in self._sharing.relied_on(pair))
        return self._number(Half(Node(-1, pair, self._judge.begin()), rows, bool(rows)))

    def _number(self, half: Half[P, E]) -> int:
        number = self._numbers.get(half)
        if number is None:
            number = self._numbers[half] = len(self._halves)
            self._halves.append(half)
        return number

    def _lane(self, half: Half[P, E]) -> Lane:
        return _READY if half.node.lane < 0 else self._lanes.standings[half.node.lane].lane

    def _relies(self, half: Half[P, E]) -> bool:
        """Does the service rely on a shut door? It was moved, or is being moved, behind that door and has not given that
        up."""
        lane = self._lane(half)
        if half.relied or not lane.holds:
            return half.relied
        status = lane.came_from if lane.outcome is ev.Outcome.NEEDS_OPERATOR else lane.status
        is_moved = status in ("committed", "escalating", "done", "escalated")
        is_back = half.left or bool(lane.turning) or status in ("refused", "reverted")
        return is_moved or not is_back

    def _beside(self, one: int, other: int) -> Both:
        """Both halves after ``one`` has moved. Its changes at the sites also apply to the other half. Parts that matter
        to neither half any more are removed."""
        other = self._fit(other, self._shows(one))
        one = self._fit(one, self._shows(other))
        mine, its, cut = self._around(one), self._cut(one), self._cut(other)
        kept = mine._make(b if b == c else a for a, b, c in zip(mine, its, cut, strict=True))
        if kept != mine:
            one = self._fit(one, kept)
            other = self._fit(other, self._shows(one))
        return one, other

    def _around(self, number: int) -> Any:
        return self._sharing.around(self._halves[number].node.pair)

    def _cut(self, number: int) -> Any:
        """The shared part, as far as it can still matter to this half."""
        node = self._halves[number].node
        if number not in self._cuts:
            live = SharedLive.plain(self._lanes.standings[node.lane].live) if node.lane >= 0 else None
            pair = node.pair if live is None else live.pair(node.pair)
            # Its view of the other service follows from the other service alone.
            self._cuts[number] = self._sharing.around(pair)
        return self._cuts[number]

    def _shows(self, number: int) -> Any:
        if number not in self._shown:
            half = self._halves[number]
            self._shown[number] = self._sharing.shows(half.node.pair, relies=self._relies(half))
        return self._shown[number]

    def _fit(self, number: int, around: Any) -> int:
        known = self._fitted.get((number, around))
        if known is None:
            half = self._halves[number]
            pair = self._sharing.beside(half.node.pair, around)
            known = self._number(half._replace(node=half.node._replace(pair=pair)))
            self._fitted[number, around] = known
        return known

    def outcome(self, both: Both) -> str | None:
        """See ``search.Walkable``."""
        lanes = [self._lane(self._halves[number]) for number in both]
        return " + ".join(sorted(str(lane.outcome) for lane in lanes)) if all(one.ended for one in lanes) else None

    def key(self, both: Both) -> Hashable:
        """See ``search.Walkable``."""
        return min(both), max(both)

    # --- ways ---------------------------------------------------------------------------------------------------------

    def of(self, both: Both, *, undisturbed: bool = False) -> Iterator[Way[Both]]:
        """See ``search.Walkable``. The world does not change between a reading and the command that relies on it: while
        one service executes a command, nothing happens in the readings of the other service."""
        for who in (0, 1):
            steps = self._steps_of(both[who], undisturbed)
            is_still = bool(self._halves[both[1 - who]].node.acts)
            for step in (*self._claimed(both, who), *steps):
                if is_still and step.is_world:
                    continue
                after = self._moved(both, who, step.half)
                if after != both or step.broken:
                    yield Way(f"{NAMES[who]}: {step.what}", step.by, after, step.events, step.broken)
        if not undisturbed:
            yield from self._interrupted(both)

    def _moved(self, both: Both, who: int, half: int) -> Both:
        """Both halves after service ``who`` has become ``half``. A run whose lanes have all ended is finished."""
        moved, other = self._beside(half, both[1 - who])
        if self._desk.runs == 2:
            moved = self._finished(moved)
        elif all(self._lane(self._halves[number]).ended for number in (moved, other)):
            moved, other = self._finished(moved), self._finished(other)
        return (moved, other) if who == 0 else (other, moved)

    def _finished(self, number: int) -> int:
        half = self._halves[number]
        lane = self._lane(half)
        return self._number(half._replace(rows=finished(half.rows, lane))) if lane.ended else number

    def _steps_of(self, number: int, undisturbed: bool) -> list[Step]:
        known = self._steps.get((number, undisturbed))
        if known is None:
            half = self._halves[number]
            if self._is_before(half.node):
                known = list(self._come(half))
            elif self._claim(half) is not None:
                known = []
            else:
                known = [self._step(half, way) for way in self._ways.moves(half.node, undisturbed=undisturbed)]
            self._steps[number, undisturbed] = known
        return known

    def _step(self, half: Half[P, E], way: Way[Node[P, E]]) -> Step:
        after = half._replace(node=way.node)
        after = after._replace(rows=settled(half.rows, self._part, self._lane(after), way.events))
        is_world = not way.events and way.by in ("course", "disturbance")
        return Step(way.what, way.by, self._number(after), way.events, way.broken, is_world)

    # --- up to the first claim ----------------------------------------------------------------------------------------

    def _is_before(self, node: Node[P, E]) -> bool:
        if node.lane < 0:
            return True
        lane = self._lanes.standings[node.lane].lane
        return not lane.ended and lane.status != "reverting" and lane.step < self._first

    def _come(self, half: Half[P, E]) -> Iterator[Step]:
        """Every undisturbed way to the first step with a claim, or to an end before that step. The walk through one lane
        finds the rules that are broken on these ways."""
        begun = [self._ways.begin("", half.node.pair)] if half.node.lane < 0 else []
        todo: list[tuple[Node[P, E], tuple[ev.Event, ...]]] = (
            [(way.node, way.events) for way in begun] if begun else [(half.node, ())]
        )
        seen = {node for node, _ in todo}
        what = f"it comes to step {self._part.steps[self._first].id}"
        for node, events in todo:  # the list grows during the loop
            if not self._is_before(node):
                way = Way(
                    "it ends before any claim" if self._lanes.standings[node.lane].lane.ended else what,
                    "calm",
                    node,
                    events,
                )
                yield self._step(half, way)
                continue
            for way in self._ways.moves(node, undisturbed=True):
                if not way.broken and way.node not in seen:
                    seen.add(way.node)
                    todo.append((way.node, (*events, *way.events)))

    # --- claims -------------------------------------------------------------------------------------------------------

    def _claim(self, half: Half[P, E]) -> ClaimSite | None:
        """The claim for which this half waits. None: no claim is open."""
        if half.node.lane < 0 or half.node.acts:
            return None
        standing = self._lanes.standings[half.node.lane]
        asked = standing.request
        return asked if isinstance(asked, ClaimSite) and not standing.lane.ended else None

    def _claimed(self, both: Both, who: int) -> Iterator[Step]:
        """The journal answers."""
        half = self._halves[both[who]]
        claim = self._claim(half)
        if claim is not None and not self._is_before(half.node):
            half, answer = self._asked(both, who, claim)
            yield self._step(half, self._ways.claimed(half.node, claim, answer.answer))

    def _asked(self, both: Both, who: int, claim: ClaimSite) -> tuple[Half[P, E], Any]:
        halves = [self._halves[number] for number in both]
        rows, lanes = (halves[0].rows, halves[1].rows), (self._lane(halves[0]), self._lane(halves[1]))
        answer, mine = self._desk.asked(who, rows, lanes, claim)
        relied = halves[who].relied and claim.wish != "release"
        left = claim.wish != "hold" or (halves[who].left and not answer.answer.granted)
        return halves[who]._replace(rows=mine, relied=relied, left=left), answer

    # --- interruptions ------------------------------------------------------------------------------------------------

    def _interrupted(self, both: Both) -> Iterator[Way[Both]]:
        """One lane is aborted, or all lanes of a run. Or a process dies, and all lanes that it led continue in another
        process."""
        aborts = [self._aborts(number) for number in both]
        kills = [[self._kills(both, who, abort=abort) for abort in (False, True)] for who in (0, 1)]
        for who in (0, 1):
            alone = [*aborts[who], *(kills[who][0] + kills[who][1] if self._desk.runs == 2 else [])]
            for step in alone:
                after = self._moved(both, who, step.half)
                yield Way(f"{NAMES[who]}: {step.what}", "disturbance", after, step.events, step.broken)
        if self._desk.runs == 2:
            return
        if aborts[0] and aborts[1]:
            yield from self._at_once(both, aborts[0], aborts[1])
        for abort in (0, 1):
            yield from self._at_once(both, kills[0][abort], kills[1][abort])

    def _at_once(self, both: Both, ones: list[Step], others: list[Step]) -> Iterator[Way[Both]]:
        """Every way of one service combined with every way of the other. A service without a way does not change."""
        if not ones and not others:
            return
        for one in ones or [Step("", "disturbance", both[0], (), ())]:
            reached = self._moved(both, 0, one.half) if one.what else both
            for other in others or [Step("", "disturbance", both[1], (), ())]:
                after, what = reached, [f"{NAMES[0]}: {one.what}"] if one.what else []
                if other.what:
                    around = self._around(reached[1])
                    after = self._moved(reached, 1, self._landed(other.half, around, both[1]))
                    what.append(f"{NAMES[1]}: {other.what}")
                events, broken = (*one.events, *other.events), (*one.broken, *other.broken)
                yield Way("; ".join(what), "disturbance", after, events, broken)

    def _landed(self, number: int, around: Any, before: int) -> int:
        """``number`` with the present shared part ``around``, unless the half changed the shared part itself."""
        return self._fit(number, around) if self._around(number) == self._around(before) else number

    def _aborts(self, number: int) -> list[Step]:
        half = self._halves[number]
        if self._is_before(half.node):
            return []
        return [self._step(half, way) for way in self._ways.called_off(half.node)]

    def _kills(self, both: Both, who: int, *, abort: bool) -> list[Step]:
        """The ways in which the process dies. A claim may be written already while its answer is not recorded."""
        half = self._halves[both[who]]
        if half.node.lane < 0:
            return []
        claim = self._claim(half)
        halves = [half] if claim is None else [half, self._asked(both, who, claim)[0]]
        found = []
        for one in dict.fromkeys(halves):
            told = "" if one == half else ", after its claim was written"
            for way in self._ways.killed(one.node, abort=abort):
                step = self._step(one, way)
                found.append(step._replace(what=f"{step.what}{told}"))
        return found


def explore_together(
    runbook: Runbook,
    actions: Mapping[str, ActionSpec],
    *,
    states_max: int,
    disturbances_max: int,
    examples_max: int = len(RULES),
    decide: Decide = decide,
    follow: Follow = apply_ruling,
    grant: Grant = granted,
) -> dict[int, Exploration]:
    """Walk through ``runbook`` with two services, in one run and in two simultaneous runs. The result has one exploration
    for each number of runs. It is empty if the runbook claims nothing, or if a pair of sites has only one service. The
    bounds are those of ``search.explore``, for each walk. ``grant`` is the product's rule, unless a control breaks it on
    purpose."""
    family = fitting(runbook)
    sharing = family.sharing
    if not has_claims(runbook) or sharing is None or family.unexplored(runbook):
        return {}
    part = claiming_part(runbook)

    def live(book: Runbook, lane: Lane) -> Live[Any, Any]:
        return SharedLive(family.live(book, lane), sharing)

    found = {}
    for runs in (1, 2):
        found[runs] = Exploration(runbook.runbook, family=family.name)
        lanes = Lanes(live, plan_of(part), decide, follow, actions)
        ways = Together(family, sharing, lanes, Judge(family, part, actions), part, Desk(runs, grant))
        Walk(ways, found[runs], Bounds(states_max, disturbances_max, examples_max)).run(ways.begin(runbook))
    return found
