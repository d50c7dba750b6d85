"""A machine that slept, and sites that are slow: nothing leaves on what was read before, and no lane is lost over it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.engine.dispatch import Act, Ended, SiteWorker
from orchestrator.family.contract import Adapter, Call, Permit, Result
from orchestrator.journal.lease import LEASE_SECONDS
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from tests.core.builders import T0
from tests.core.leading import Lead, folded
from tests.core.scripted import Free, ScriptedPair, ScriptedSite

HAPPY = ["source set_role standby", "target set_role active"]
NIGHT = 8 * 3600.0


class Wrapped:
    """An adapter around another one; what is not said here is as the other one does it."""

    readings: ClassVar = ScriptedSite.readings
    actions: ClassVar = ScriptedSite.actions
    simulated: ClassVar = True

    def __init__(self, inner: Adapter) -> None:
        self.inner = inner

    def open(self) -> None:
        self.inner.open()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        return self.inner.probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        yield from self.inner.apply(action, calls, permit)

    def close(self) -> None:
        self.inner.close()


def sleeping(clock: VirtualClock, before: Callable[[str, str], bool], seconds: float) -> Callable[[Adapter], Adapter]:
    """The machine sleeps once, right after a reading, or right before a command, that ``before`` names."""
    slept: list[bool] = []

    class Sleepy(Wrapped):
        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            answers = super().probe(reading, services)
            self._sleep("read", reading)
            return answers

        def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
            self._sleep("send", f"{action} {calls[0].args.get('role')}")
            yield from super().apply(action, calls, permit)

        def _sleep(self, what: str, name: str) -> None:
            if not slept and before(what, name):
                slept.append(True)
                clock.advance(seconds)

    return Sleepy


@pytest.mark.parametrize("seconds", [LEASE_SECONDS + 1, 60.0, NIGHT])
@pytest.mark.parametrize("moment", [("send", "set_role active"), ("send", "set_role standby")])
def test_a_command_that_was_ready_before_the_sleep_does_not_leave(
    lead: Lead, moment: tuple[str, str], seconds: float
) -> None:
    """Promise 15: the lease had run out, so what was ready to leave is withheld; everything is read again, and then it
    goes. Nobody else came meanwhile, so the run ends as it should."""
    lead.wrap = sleeping(lead.pair.clock, lambda what, name: (what, name) == moment, seconds)
    lead.start()
    (withheld,) = [one for one in lead.events(ev.ActionEnded) if one.withheld]
    assert (withheld.effect, folded(lead).outcome, lead.told()) == (Effect.NOT_SENT, Outcome.DONE, HAPPY)


def test_what_was_read_before_the_sleep_is_read_again(lead: Lead) -> None:
    """Promise 15: the machine sleeps between the last reading and the decision on it; the site is active again by then,
    and its mate is not activated."""

    def given_back() -> None:
        lead.pair.services["Trading"].roles["source"] = Role.ACTIVE

    reads = iter(range(1_000_000))
    drained: list[int] = []

    def is_last_round(what: str, name: str) -> bool:
        next(reads)
        if what == "read" and name == "replication_queue":
            drained.append(1)
        is_drained = lead.pair.services["Trading"].drained
        return what == "read" and name == "replication" and is_drained

    lead.wrap = sleeping(lead.pair.clock, is_last_round, NIGHT)
    lead.pair.once_told("set_role", "source", NIGHT / 2, given_back)
    lead.start()
    assert drained
    assert "target set_role active" not in lead.told()
    assert [one.age_s for one in lead.events(ev.ReadingsExpired)]


# --- the permit of an act ------------------------------------------------------------------------------------------


def ended(pair: ScriptedPair, *good_until: float, permit: Permit | None = None) -> list[Ended]:
    worker = SiteWorker("source", pair.site("source"), permit or Free(), pair.clock)
    acts = [
        Act("Trading", number, "source", "set_role", {"role": "standby"}, until)
        for number, until in enumerate(good_until, 1)
    ]
    return [one for one in worker.apply("set_role", acts) if isinstance(one, Ended)]


def test_an_act_leaves_while_what_it_stands_on_is_fresh(pair: ScriptedPair) -> None:
    """Promise 15: the last question before a command leaves is also how old its readings are."""
    now = pair.clock.now()
    (fresh,) = ended(pair, now + 1)
    assert (fresh.result.effect, fresh.withheld) == (Effect.ACCEPTED, False)
    (late,) = ended(pair, now - 1)
    assert (late.result.effect, late.withheld) == (Effect.NOT_SENT, True)
    assert len(pair.took) == 1


def test_a_permit_that_refuses_withholds_and_a_device_does_not(pair: ScriptedPair) -> None:
    """What the permit refused was no attempt; what the device did not take was one."""
    (refused,) = ended(pair, T0 + 1e9, permit=Free("the lease has run out"))
    assert (refused.result.effect, refused.withheld) == (Effect.NOT_SENT, True)
    from orchestrator.errors import Unreachable

    pair.fail("set_role", Unreachable("no route", device="ny"))
    (away,) = ended(pair, T0 + 1e9)
    assert (away.result.effect, away.withheld) == (Effect.NOT_SENT, False)


def test_only_an_accepted_idempotent_action_may_be_sent_again(pair: ScriptedPair) -> None:
    """Promise 4: a retry sends again only what the record calls repeatable. That is never a transaction's completion, and
    never an action that was not accepted."""
    worker = SiteWorker("source", pair.site("source"), Free(), pair.clock)
    pair.prepare("1-0a-01")
    completing = Act("Trading", 1, "source", "complete_transaction", {"xid": "1-0a-01", "outcome": "commit"})
    (completed,) = [one for one in worker.apply("complete_transaction", [completing]) if isinstance(one, Ended)]
    (moved,) = ended(pair, T0 + 1e9)
    (withheld,) = ended(pair, T0 + 1e9, permit=Free("the lease has run out"))
    effects = [one.result.effect for one in (completed, moved, withheld)]
    assert effects == [Effect.ACCEPTED, Effect.ACCEPTED, Effect.NOT_SENT]
    assert [one.repeatable for one in (completed, moved, withheld)] == [False, True, False]


def test_a_slow_device_is_given_few_acts_at_once(pair: ScriptedPair) -> None:
    """Promise 15: readings wait behind 5 s of acts at most, or the rounds that they belong to would be too old."""
    worker = SiteWorker("source", pair.site("source"), Free(), pair.clock)
    assert worker.batch("set_role") == ScriptedSite.actions["set_role"].batch
    for pace, size in ((0.1, ScriptedSite.actions["set_role"].batch), (2.0, 2), (14.0, 1)):
        worker.pace_s = pace
        assert worker.batch("set_role") == size


# --- many lanes, slow sites ----------------------------------------------------------------------------------------

MANY = tuple(f"VPN{number:03}" for number in range(150))


def test_many_lanes_take_turns_at_a_slow_site(lead: Lead) -> None:
    """Promise 15: a site takes its time for each command; what waits behind others is decided on again from readings
    that are young enough, no lane fails of it, and no command leaves late."""
    clock = lead.pair.clock
    lead.pair = ScriptedPair(clock, MANY, depth=0)
    read_at: dict[str, float] = {}
    ages: list[float] = []

    class Slow(Wrapped):
        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            read_at.update(dict.fromkeys(services, clock.now()))
            return super().probe(reading, services)

        def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
            for call, result in zip(calls, super().apply(action, calls, permit), strict=False):
                if result.effect is Effect.ACCEPTED and call.args["role"] == "active":
                    ages.append(clock.now() - read_at[call.service])
                clock.advance(0.4)
                yield result

    lead.wrap = Slow
    lead.start()
    assert (folded(lead).outcome, len(ages), max(ages) <= 31.0) == (Outcome.DONE, len(MANY), True)
    intended = [record for record in lead.journal.records("run-1") if isinstance(record.event, ev.ActionIntended)]
    assert max(sum(other.at == one.at for other in intended) for one in intended) <= 64


def test_python_looks_for_garbage_rarely_while_a_run_is_led(lead: Lead) -> None:
    """Law: no lane waits for that; whoever leads the run finds the limits again as they were."""
    before, during = gc.get_threshold(), []

    class Looking(Wrapped):
        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            during.append(gc.get_threshold()[0])
            return super().probe(reading, services)

    lead.wrap = Looking
    lead.start()
    assert min(during) > 10 * before[0]
    assert gc.get_threshold() == before


def test_more_may_wait_for_a_site_that_is_quick(pair: ScriptedPair) -> None:
    """Promise 15: so many acts may wait as leave within 5 s at the pace of the last ones; one request's at least."""
    worker = SiteWorker("source", pair.site("source"), Free(), pair.clock)
    one_request = ScriptedSite.actions["set_role"].batch
    assert worker.room("set_role") == max(one_request, 64)
    for pace, room in ((0.001, 5000), (0.5, max(10, worker.batch("set_role"))), (14.0, 1)):
        worker.pace_s = pace
        assert worker.room("set_role") == room
