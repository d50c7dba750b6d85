"""The fleet: one request for many lanes, batches, error mapping, fairness; inline and with threads alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from adapters.solace.reading_models import QueueDepth
from orchestrator.clock import VirtualClock
from orchestrator.core.decide import Ask, Observe
from orchestrator.engine.dispatch import Answer, Ended, InlineFleet, Observation
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    Forbidden,
    NoSuchService,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import Adapter, Call, Permit, Result
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Progress, Side
from tests.core.fleets import BOTH, GATE, MANY, Counting, observe, promote
from tests.core.scripted import ScriptedPair, ScriptedSite
from tests.seam import Permits

Site = Callable[[ScriptedPair, Side], Adapter]


def inline(pair: ScriptedPair, site: Site = Counting, **more: object) -> tuple[InlineFleet, dict[Side, Adapter]]:
    sides: tuple[Side, ...] = ("source", "target")
    adapters = {side: site(pair, side) for side in sides}
    return InlineFleet(adapters, Permits(), pair.clock, **more), adapters  # type: ignore[arg-type]


@pytest.fixture
def pair() -> ScriptedPair:
    return ScriptedPair(VirtualClock(), MANY, depth=7)


# --- inline --------------------------------------------------------------------------------------------------------


def test_a_thousand_lanes_are_one_request(pair: ScriptedPair) -> None:
    """A thousand lanes that want the same reading cost one probe of each side, and each gets its own answer."""
    fleet, sites = inline(pair)
    fleet.submit([observe(lane) for lane in MANY])
    done = fleet.collect(None)
    assert {side: site.requests for side, site in sites.items()} == {  # type: ignore[attr-defined]
        "source": [("replication_queue", 1000)],
        "target": [("replication", 1000)],
    }
    assert sorted(one.service for one in done) == sorted(MANY)


def test_actions_go_out_in_batches(pair: ScriptedPair) -> None:
    """No request carries more calls than the action's declaration allows (8), and none is left out."""
    fleet, sites = inline(pair)
    fleet.submit([promote(lane) for lane in MANY[:20]])
    done = fleet.collect(None)
    assert sites["target"].requests == [("set_role", 8), ("set_role", 8), ("set_role", 4)]  # type: ignore[attr-defined]
    assert [one.result.effect for one in done if isinstance(one, Ended)] == [Effect.ACCEPTED] * 20


def test_a_round_is_whole(pair: ScriptedPair) -> None:
    """A round comes back once, with all its readings in the order asked, its mark, and the number that is followed."""
    fleet, _ = inline(pair)
    fleet.submit(
        [observe(MANY[0], mark=42, gauge=Progress(on="source", reading="replication_queue", field="messages"))]
    )
    (done,) = fleet.collect(None)
    assert isinstance(done, Observation)
    assert (done.service, done.mark, done.gauge) == (MANY[0], 42, 7.0)
    assert [(seen.on, seen.reading) for seen in done.seen] == list(BOTH)
    assert done.seen[0].value == QueueDepth(messages=7)


def test_an_unknown_number_is_no_gauge(pair: ScriptedPair) -> None:
    """A number that the device does not give is unknown, never 0."""
    pair.answer[("source", "replication_queue")] = lambda _: QueueDepth(messages=None)
    fleet, _ = inline(pair)
    fleet.submit([observe(MANY[0], gauge=Progress(on="source", reading="replication_queue", field="messages"))])
    (done,) = fleet.collect(None)
    assert isinstance(done, Observation)
    assert done.gauge is None


def test_a_failed_request_fails_for_all_who_asked(pair: ScriptedPair) -> None:
    """An error of a whole probe is a failed reading of each lane, as data; the other side is not affected."""
    pair.fail("replication", Unreachable("no route to nj", device="nj-1"), on="target")
    fleet, _ = inline(pair)
    fleet.submit([observe(lane) for lane in MANY[:3]])
    for done in fleet.collect(None):
        assert isinstance(done, Observation)
        queue, status = done.seen
        assert (queue.failure, status.value) == (None, None)
        assert status.failure == Failure(kind="Unreachable", text="no route to nj", device="nj-1")


def test_an_adapter_that_says_nothing_said_nothing(pair: ScriptedPair) -> None:
    """A service that the adapter left out of its answer has a failed reading, not a missing one."""

    class Silent(ScriptedSite):
        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            return {}

    fleet, _ = inline(pair, Silent)
    fleet.submit([observe(MANY[0])])
    (done,) = fleet.collect(None)
    assert isinstance(done, Observation)
    assert [seen.failure.kind for seen in done.seen if seen.failure] == ["UnreadableReply"] * 2


@pytest.mark.parametrize(
    ("error", "effect"),
    [
        (Unreachable("no route"), Effect.NOT_SENT),
        (Forbidden("the lease is gone"), Effect.NOT_SENT),
        (CommandRejected("no"), Effect.REJECTED),
        (NoSuchService("who?"), Effect.REJECTED),
        (ConnectionLost("gone"), Effect.DOUBTFUL),
        (CommandTimedOut("no answer"), Effect.DOUBTFUL),
        (UnreadableReply("what?", text="%$#"), Effect.DOUBTFUL),
    ],
)
def test_could_it_have_obeyed(pair: ScriptedPair, error: AdapterError, effect: Effect) -> None:
    """Every error of a call is mapped by the one question that matters: could the device have obeyed?"""
    pair.fail("set_role", error)
    fleet, _ = inline(pair)
    fleet.submit([promote(MANY[0]), promote(MANY[1])])
    first, second = fleet.collect(None)
    assert isinstance(first, Ended)
    assert isinstance(second, Ended)
    assert (first.result.effect, second.result.effect) == (effect, Effect.ACCEPTED)


class Breaking(ScriptedSite):
    """Its session breaks after the first call of a request."""

    error: ClassVar[AdapterError] = ConnectionLost("the session broke")

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        yield from super().apply(action, calls[:1], permit)
        raise self.error


@pytest.mark.parametrize(
    ("error", "effect"),
    [(ConnectionLost("broke"), Effect.DOUBTFUL), (Unreachable("never connected"), Effect.NOT_SENT)],
)
def test_an_error_of_the_request_speaks_for_the_rest(pair: ScriptedPair, error: AdapterError, effect: Effect) -> None:
    """Calls answered before a request broke keep their answer; the error speaks for the others."""

    class Broken(Breaking):
        pass

    Broken.error = error
    fleet, _ = inline(pair, Broken)
    fleet.submit([promote(lane) for lane in MANY[:3]])
    done = fleet.collect(None)
    assert [one.result.effect for one in done if isinstance(one, Ended)] == [Effect.ACCEPTED, effect, effect]


def test_an_adapter_that_stops_early_leaves_doubts(pair: ScriptedPair) -> None:
    """A call about which the adapter said nothing is in doubt: nobody knows whether it was sent."""

    class Short(ScriptedSite):
        def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
            return super().apply(action, calls[:1], permit)

    fleet, _ = inline(pair, Short)
    fleet.submit([promote(lane) for lane in MANY[:2]])
    done = fleet.collect(None)
    assert [one.result.effect for one in done if isinstance(one, Ended)] == [Effect.ACCEPTED, Effect.DOUBTFUL]


def test_an_answer_about_another_call_is_none(pair: ScriptedPair) -> None:
    """An adapter that mixes up its answers must not have a lane believe what was done to another one."""

    class Mixed(ScriptedSite):
        def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
            return iter(list(super().apply(action, calls, permit))[::-1])

    fleet, _ = inline(pair, Mixed)
    fleet.submit([promote(lane) for lane in MANY[:2]])
    done = fleet.collect(None)
    assert [one.result.effect for one in done if isinstance(one, Ended)] == [Effect.DOUBTFUL, Effect.DOUBTFUL]


def test_nothing_leaves_without_a_permit(pair: ScriptedPair) -> None:
    """Promise 5: a command whose permit is refused at the last moment is not sent, and says why."""

    class Refused:
        def check(self) -> None:
            raise Forbidden("the lease has run out")

    fleet = InlineFleet(pair.adapters(), Refused(), pair.clock)
    fleet.submit([promote(MANY[0])])
    (done,) = fleet.collect(None)
    assert isinstance(done, Ended)
    assert (done.result.effect, done.result.detail, pair.took) == (Effect.NOT_SENT, "the lease has run out", [])


def test_a_broken_program_raises(pair: ScriptedPair) -> None:
    """An error that is no device's fault is not turned into data."""

    class Buggy(ScriptedSite):
        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            raise ZeroDivisionError

    fleet, _ = inline(pair, Buggy)
    fleet.submit([observe(MANY[0])])
    with pytest.raises(ZeroDivisionError):
        fleet.collect(None)


def test_with_nothing_to_do_time_passes(pair: ScriptedPair) -> None:
    """Waiting for nothing lets the injected clock run to the moment asked for, and not beyond."""
    fleet, _ = inline(pair)
    start = pair.clock.now()
    assert fleet.collect(start + 5) == []
    assert pair.clock.now() == start + 5


def test_a_question_is_put_once(pair: ScriptedPair) -> None:
    """A question goes to the desk and its answer comes back with lane and gate."""

    class Desk:
        def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
            return ev.Ruling(choice="wait", reason=service, by="ann")

    fleet, _ = inline(pair, prompter=Desk())
    fleet.submit([Ask(MANY[0], GATE)])
    assert fleet.collect(None) == [Answer(MANY[0], GATE, ev.Ruling(choice="wait", reason=MANY[0], by="ann"))]
    assert fleet.collect(pair.clock.now()) == []


def test_closing_ends_both_sessions(pair: ScriptedPair) -> None:
    """Closing the fleet ends the sessions of both sites."""
    fleet, _ = inline(pair)
    fleet.close()
    assert sorted(pair.closed) == ["source", "target"]


def in_turn(service: str) -> Observe:
    """A round whose second site is asked once the first one was answered."""
    return Observe(
        service, 1, (("target", "replication"), ("source", "replication_queue")), None, frozenset(BOTH[1:])
    )


def test_what_is_compared_is_asked_last(pair: ScriptedPair) -> None:
    """Law: the readings that a round holds against others leave once these were answered, for all lanes together."""
    order: list[str] = []

    class Ordered(Counting):
        """Notes which site was asked."""

        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            order.append(f"{reading} {len(services)}")
            found = super().probe(reading, services)
            pair.clock.sleep(2.0)
            return found

    fleet, _ = inline(pair, Ordered)
    fleet.submit([in_turn("service-1"), in_turn("service-2")])
    done = [one for one in fleet.collect(None) if isinstance(one, Observation)]
    assert order == ["replication_queue 2", "replication 2"]
    assert [one.service for one in done] == ["service-1", "service-2"]
    target, source = done[0].seen
    assert (target.on, source.on) == ("target", "source")
    assert target.asked_at >= source.asked_at + 2.0
