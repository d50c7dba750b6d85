"""The ways from a state: everything that may happen next, caused by the model, devices, people or a kill.

The first outcome of each kind of action is success. A way must never be omitted because it ends badly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, Literal, NamedTuple, TypeVar

from orchestrator.core.decide import ClaimSite, Observe
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.readings import SiteClaims
from proof.exploration.family import SIDE_NAMES, E, Family, Move, P, complete_pending
from proof.exploration.judge import Account, Act, Judge, act_of
from proof.exploration.lanes import Lanes, Stimulus, Turn
from proof.exploration.rounds import NOW, Ask, rounds

Kind = Literal["calm", "choice", "course", "disturbance"]
N = TypeVar("N")  # a state


class Node(NamedTuple, Generic[P, E]):
    """One state. ``acts``: actions under way, in the order of the lane's outstanding intents."""

    lane: int
    pair: P
    account: Account[E]
    acts: tuple[Act, ...] = ()


class Way(NamedTuple, Generic[N]):
    """One transition: what happened, the state afterwards, the recorded events, and the broken rules.

    ``by``: the cause. ``calm``: progress of the run while the world does not change. ``choice``: a decision. ``course``:
    the world moves by itself. ``disturbance``: a mishap, a kill, an abort or a person's act.
    """

    what: str
    by: Kind
    node: N
    events: tuple[ev.Event, ...]
    broken: tuple[str, ...] = ()


class Ways(Generic[P, E]):
    """All transitions, made from the lanes and judged."""

    def __init__(self, family: Family[P, E], lanes: Lanes[P, E], judge: Judge[P, E]) -> None:
        self._family = family
        self._lanes = lanes
        self._judge = judge
        self._seen: dict[tuple[P, tuple[Ask, ...]], list[tuple[str, int]]] = {}
        self._answers: dict[object, int] = {}
        self._rounds: list[tuple[ev.Seen, ...]] = []

    def begin(self, name: str, pair: P) -> Way[Node[P, E]]:
        """The way to a start."""
        return self._way(Node(-1, pair, self._judge.begin()), f"start: {name}", "calm", self._lanes.begin())

    def outcome(self, node: Node[P, E]) -> str | None:
        """The outcome of the lane of ``node``. None while it continues."""
        lane = self._lanes.standings[node.lane].lane
        return str(lane.outcome) if lane.ended else None

    def key(self, node: Node[P, E]) -> Hashable:
        """The key of a state: the state itself."""
        return node

    def of(self, node: Node[P, E], *, undisturbed: bool = False) -> Iterator[Way[Node[P, E]]]:
        """Everything that may happen in ``node``, or everything that is no disturbance."""
        yield from self.moves(node, undisturbed=undisturbed)
        if not undisturbed:
            yield from self.called_off(node)
            for abort in (False, True):
                yield from self.killed(node, abort=abort)

    def moves(self, node: Node[P, E], *, undisturbed: bool = False) -> Iterator[Way[Node[P, E]]]:
        """Like ``of``, without interruptions from outside. A lane that has ended has no such ways."""
        standing = self._lanes.standings[node.lane]
        if standing.lane.ended:
            pass
        elif node.acts:
            yield from self._performed(node, undisturbed)
        elif isinstance(standing.request, ClaimSite):
            yield from self._claimed(node, standing.request, undisturbed)
        elif standing.request is not None:
            yield from self._answered(node, undisturbed)
        else:
            yield from self._waited(node)
            yield from self._decided(node)

    def called_off(self, node: Node[P, E]) -> Iterator[Way[Node[P, E]]]:
        """A person asks the lane to roll back."""
        lane = self._lanes.standings[node.lane].lane
        if not lane.ended and lane.abort is None:
            make = self._lanes.called_off
            yield self._step(node, "an operator aborts it", "disturbance", ("abort",), lambda: make(node.lane))

    def killed(self, node: Node[P, E], *, abort: bool) -> Iterator[Way[Node[P, E]]]:
        """The process dies, between record and perform or between perform and record, or the lane has ended and can be
        resumed. Then another process continues the lane, or aborts it (``abort``)."""
        standing = self._lanes.standings[node.lane]
        if not node.acts:
            if standing.can_resume:
                what = "an operator resumes it" if standing.lane.ended else "the process dies; another one resumes"
                yield self._resumed(node, node.pair, node.account, what, abort=abort)
            return
        act, base = node.acts[0], complete_pending(self._family, node.pair)
        what = f"the process dies before the {act.change.action} leaves"
        yield self._resumed(node, base, node.account, what, abort=abort)
        for what, effect, pair, account, broken in self._outcomes(node.account, base, act):
            if effect is Effect.DOUBTFUL and (pair, account) != (base, node.account):
                named = f"the process dies after the {act.change.action} left ({what})"
                yield self._resumed(node, pair, account, named, broken, abort=abort)

    def _performed(self, node: Node[P, E], undisturbed: bool) -> Iterator[Way[Node[P, E]]]:
        """The possible outcomes of the first action under way."""
        act, base = node.acts[0], complete_pending(self._family, node.pair)
        where = f"{act.change.action} at the {SIDE_NAMES[act.change.side]}"
        is_calm = True
        for what, effect, pair, account, broken in self._outcomes(node.account, base, act):
            turn = self._turn(node, ("ended", effect), lambda: self._lanes.ended(node.lane, effect))  # noqa: B023
            reached = node._replace(pair=pair, account=account, acts=node.acts[1:])
            yield self._way(reached, f"{where}: {what}", "calm" if is_calm else "disturbance", turn, broken)
            if undisturbed:
                return
            is_calm = False

    def _outcomes(
        self, account: Account[E], pair: P, act: Act
    ) -> Iterator[tuple[str, Effect, P, Account[E], list[str]]]:
        """The possible outcomes. In the first one, nothing goes wrong."""
        is_heard = self._family.reaches(pair, act.change.side, act.change.action)
        after = self._family.obey(pair, act.change) if is_heard else None
        if after is not None:
            booked, broken = self._judge.took_effect(account, pair, after, act)
            yield "obeyed", Effect.ACCEPTED, after, booked, broken
            yield "obeyed, and the reply is lost", Effect.DOUBTFUL, after, booked, broken
            if after != pair and self._family.delays(act.change):
                late = pair.with_late(act.change)
                yield "accepted, and it takes effect later", Effect.ACCEPTED, late, booked, broken
                yield "no reply, and it takes effect later", Effect.DOUBTFUL, late, booked, broken
            if after != pair:
                half = self._family.obey_half(pair, act.change)
                if half is not None and half != pair:
                    booked, broken = self._judge.took_effect(account, pair, half, act)
                    yield f"{self._family.half}, and the reply is lost", Effect.DOUBTFUL, half, booked, broken
        if is_heard:
            yield "refused", Effect.REJECTED, pair, account, []
        yield "it does not leave", Effect.NOT_SENT, pair, account, []
        yield "it had no effect, and no reply shows why", Effect.DOUBTFUL, pair, account, []

    def _resumed(
        self,
        node: Node[P, E],
        pair: P,
        account: Account[E],
        what: str,
        broken: Iterable[str] = (),
        *,
        abort: bool,
    ) -> Way[Node[P, E]]:
        reached = Node(node.lane, pair, account)
        turn = self._turn(node, ("resume", abort), lambda: self._lanes.resumed(node.lane, abort=abort))
        return self._way(reached, f"{what}, to abort it" if abort else what, "disturbance", turn, broken)

    def _answered(self, node: Node[P, E], undisturbed: bool) -> Iterator[Way[Node[P, E]]]:
        """The round is answered, or something happens before the answer."""
        standing = self._lanes.standings[node.lane]
        request, looks = standing.request, standing.looks
        assert isinstance(request, Observe)  # the caller has checked this
        is_calm = True
        for what, answer in self._answers_of(node.pair, request.asks):
            yield self._step(
                node,
                what or "readings",
                "calm" if is_calm else "disturbance",
                ("read", answer),
                lambda: self._lanes.answered(node.lane, self._rounds[answer]),  # noqa: B023
            )
            if undisturbed:
                break
            is_calm = False
        asked = frozenset(name for ask in request.asks for name in _aspects(*ask))
        for what, pair, is_course in self._moves(node.pair, asked, looks):
            if undisturbed and not is_course:
                continue
            yield Way(what, "course" if is_course else "disturbance", node._replace(pair=pair), ())

    def _claimed(self, node: Node[P, E], claim: ClaimSite, undisturbed: bool) -> Iterator[Way[Node[P, E]]]:
        """The journal answers, or another service changes the journal's answer first."""
        granted, is_waiting, after = self._family.claims(node.pair, SIDE_NAMES.index(claim.on), claim.wish)
        others = () if granted else ("another service",)
        found = SiteClaims(thing=claim.thing, wish=claim.wish, granted=granted, others=others, is_waiting=is_waiting)
        yield self.claimed(node._replace(pair=after), claim, found)
        for what, pair, is_course in self._family.drifts(node.pair, frozenset({found.kind}), frozenset()):
            if is_course or not undisturbed:
                # This lane waits here. Another lane that is under way continues by itself.
                yield Way(what, "calm" if is_course else "disturbance", node._replace(pair=pair), ())

    def claimed(self, node: Node[P, E], claim: ClaimSite, answer: SiteClaims) -> Way[Node[P, E]]:
        """The transition in which the journal answers ``claim``."""
        seen = (ev.Seen(on=claim.on, reading=answer.kind, asked_at=NOW, value=answer),)
        what = "the claim is granted" if answer.granted else "another service is in the way"
        stimulus = ("claim", answer.granted, answer.is_waiting)
        return self._step(node, what, "calm", stimulus, lambda: self._lanes.answered(node.lane, seen))

    def _moves(self, pair: P, asked: frozenset[str], looks: frozenset[str]) -> Iterator[Move[P]]:
        """The late change may take effect, and everything may happen that the family lists."""
        if pair.late is not None:
            where = f"{pair.late.action} at the {SIDE_NAMES[pair.late.side]}"
            yield f"the {where} takes effect late", complete_pending(self._family, pair), True
        yield from self._family.drifts(pair, asked, looks)

    def _answers_of(self, pair: P, asks: tuple[Ask, ...]) -> list[tuple[str, int]]:
        """The ways in which a round may be answered, as numbers. Equal answers share a number, also for different
        pairs."""
        known = self._seen.get((pair, asks))
        if known is None:
            known = self._seen[pair, asks] = []
            for what, seen in rounds(self._family, pair, asks):
                key = tuple((one.on, one.reading, one.value, one.failure) for one in seen)
                if key not in self._answers:
                    self._answers[key] = len(self._rounds)
                    self._rounds.append(seen)
                known.append((what, self._answers[key]))
        return known

    def _waited(self, node: Node[P, E]) -> Iterator[Way[Node[P, E]]]:
        standing = self._lanes.standings[node.lane]
        if not standing.can_wait:
            return
        yield self._step(node, "a moment passes", "calm", ("wait",), lambda: self._lanes.waited(node.lane, None))
        for seconds in standing.deadlines:
            pair = complete_pending(self._family, node.pair) if seconds >= standing.settle else node.pair
            turn = self._turn(node, ("wait", seconds), lambda: self._lanes.waited(node.lane, seconds))  # noqa: B023
            yield self._way(node._replace(pair=pair), f"{seconds:.0f}s pass", "calm", turn)

    def _decided(self, node: Node[P, E]) -> Iterator[Way[Node[P, E]]]:
        lane = self._lanes.standings[node.lane].lane
        for gate in lane.gates:
            for choice in gate.choices:
                yield self._step(
                    node,
                    f"at {gate.gate} an operator chooses {choice}",
                    "choice",
                    ("rule", gate.gate, gate.item, choice),
                    lambda: self._lanes.ruled(node.lane, gate, choice),  # noqa: B023
                )
        if lane.gates:
            turn = self._turn(node, ("nobody",), lambda: self._lanes.nobody(node.lane))
            names = ", ".join(gate.gate for gate in lane.gates)
            yield self._way(node, f"nobody answers {names}", "calm", turn, unattended=True)

    def _step(
        self, node: Node[P, E], what: str, by: Kind, stimulus: Stimulus, make: Callable[[], Turn]
    ) -> Way[Node[P, E]]:
        return self._way(node, what, by, self._turn(node, stimulus, make))

    def _turn(self, node: Node[P, E], stimulus: Stimulus, make: Callable[[], Turn]) -> Turn:
        return self._lanes.turn(node.lane, stimulus, make)

    def _way(
        self,
        node: Node[P, E],
        what: str,
        by: Kind,
        turn: Turn,
        broken: Iterable[str] = (),
        *,
        unattended: bool = False,
    ) -> Way[Node[P, E]]:
        """``node`` with everything that ``turn`` recorded."""
        if turn.broken:
            return Way(f"{what}: {turn.broken}", by, node, turn.events, ("core-error",))
        account, found = self._judge.recorded(node.account, node.pair, turn.events, unattended=unattended)
        acts = tuple(act_of(event) for event in turn.events if isinstance(event, ev.ActionIntended))
        matters = self._lanes.standings[turn.lane].live
        account = account._replace(evidence=matters.evidence(account.evidence))
        if not matters.reverts:
            account = account._replace(changes=(), changed=False)
        reached = Node(turn.lane, matters.pair(node.pair), account, (*node.acts, *acts))
        return Way(what, by, reached, turn.events, (*broken, *found))


def _aspects(on: str, reading: str) -> Iterator[str]:
    """The names of the parts of a pair that a reading could show."""
    yield on
    yield reading
    if reading == "reachability":
        yield "replication"
