"""Whole stories on the simulated AMPS fabric, in process and over its HTTP: how runs end, and what became of messages.

The world keeps its own account, which nobody who decides can see: what publishers were told is safe must be had, or
have been given up by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from orchestrator.model.events import Outcome
from orchestrator.model.runbook import Choice
from orchestrator.reports.report import RunReport
from tests.amps_admin.leading import SERVICE
from tests.amps_admin.world_pair import AWAY, HOME, INSTANCES, Way, WorldPair

NY, LDN = INSTANCES[HOME], INSTANCES[AWAY]
CLOSE_NY, OPEN_NY = "ny disable transports/1", "ny enable transports/1"
CLOSE_LDN, OPEN_LDN = "ldn disable transports/1", "ldn enable transports/1"
DOWN_LDN, UP_LDN = f"ldn downgrade replication/{NY}", f"ldn upgrade replication/{NY}"
PROXY = "ldn enable_proxied_transfer queues/jobs-queue!json"
DEAD: dict[str, Choice] = {"unfenced": "attest"}


def ended(report: RunReport) -> tuple[Outcome | None, str]:
    """How the only lane ended, and why."""
    lane = next(one for one in report.lanes if one.service == SERVICE)
    return lane.outcome, lane.reason


@pytest.fixture(params=get_args(Way))
def way(request: pytest.FixtureRequest) -> Way:
    """How the instances are spoken to."""
    found: Way = request.param
    return found


@pytest.fixture
def pair(tmp_path: Path, way: Way) -> Iterator[WorldPair]:
    """Sync links, queues, live traffic for twenty seconds."""
    yield from staged(WorldPair(tmp_path, way))


@pytest.fixture
def distant(tmp_path: Path, way: Way) -> Iterator[WorldPair]:
    """Async links, and London closed, as a recovery site is."""
    pair = WorldPair(tmp_path, way, sync=False)
    pair.act(AWAY, "disable", "transports/1")
    yield from staged(pair)


@pytest.fixture
def scheduled(tmp_path: Path, way: Way) -> Iterator[WorldPair]:
    """Sync links that the instances' own actions downgrade and upgrade."""
    yield from staged(WorldPair(tmp_path, way, downgrades=True))


def staged(pair: WorldPair) -> Iterator[WorldPair]:
    pair.wait(20)
    begun = len(pair.commands)
    pair.begun = begun  # type: ignore[attr-defined]
    yield pair
    pair.end()


def sent(pair: WorldPair) -> list[str]:
    """What was done to the instances since the story began."""
    return pair.commands[pair.begun :]  # type: ignore[attr-defined]


def clean(pair: WorldPair) -> bool:
    """Everything that was acknowledged has been had, or is on its way; nothing twice and nothing out of order, but what a
    consumer had taken from a queue and not removed when it was disconnected: at least once, as its semantics are."""
    pair.wait(10)
    found = pair.tally
    bad = [(one.lost, one.duplicated, one.out_of_order) for one in found.streams if one.reader != "worker"]
    return found.lost == 0 and set(bad) <= {(0, 0, 0)}


def test_there_and_back(pair: WorldPair) -> None:
    """Planned move, maintenance with the instance stopped, return, and fail-back, under load: nothing is lost."""
    assert ended(pair.lead("amps/controlled", source=HOME)) == (Outcome.DONE, "")
    assert sent(pair) == [CLOSE_NY, DOWN_LDN]
    pair.kill(HOME)
    pair.wait(30)
    pair.start(HOME)
    assert ended(pair.lead("amps/restore", source=HOME)) == (Outcome.DONE, "")
    assert sent(pair)[2:] == [CLOSE_NY, UP_LDN, OPEN_NY]
    assert ended(pair.lead("amps/failback", source=AWAY)) == (Outcome.DONE, "")
    assert sent(pair)[5:] == [CLOSE_LDN, f"ny downgrade replication/{LDN}"]
    assert clean(pair)


def test_a_loss_over_sync_links(pair: WorldPair) -> None:
    """Publishers stall until the downgrade, and lose nothing; queue messages follow by proxied transfer."""
    pair.kill(HOME)
    assert ended(pair.lead("amps/uncontrolled", source=HOME))[0] is Outcome.REFUSED
    stalled = pair.tally.acknowledged
    assert ended(pair.lead("amps/uncontrolled", source=HOME, policy=DEAD)) == (Outcome.DONE, "")
    pair.wait(10)
    assert pair.tally.acknowledged > stalled + 200
    assert ended(pair.lead("amps/proxied-transfer", source=HOME))[0] is Outcome.REFUSED
    approved: dict[str, Choice] = {"proxied-transfer": "accept"}
    assert ended(pair.lead("amps/proxied-transfer", source=HOME, policy=approved)) == (Outcome.DONE, "")
    pair.start(HOME)
    assert ended(pair.lead("amps/restore", source=HOME)) == (Outcome.DONE, "")
    assert sent(pair)[-4:] == [CLOSE_NY, PROXY.replace("enable", "disable"), UP_LDN, OPEN_NY]
    pair.wait(10)
    assert pair.tally.lost == 0


def test_a_loss_across_an_async_link(distant: WorldPair) -> None:
    """Nobody goes on at London until the loss was accepted by name, whoever answers for New York being dead."""
    distant.kill(HOME)
    outcome, why = ended(distant.lead("amps/uncontrolled-async", source=HOME, policy=DEAD))
    assert (outcome, sent(distant)) == (Outcome.REFUSED, [])
    assert "NOT zero" in why
    agreed = distant.lead("amps/uncontrolled-async", source=HOME, policy={**DEAD, "data-loss": "accept"})
    assert (ended(agreed)[0], sent(distant)) == (Outcome.DONE, [OPEN_LDN])


def test_a_planned_move_across_async_links(distant: WorldPair) -> None:
    """Nobody serves until London has everything; then nothing is lost, though no acknowledgement waited for it."""
    distant.fault(f"at 0s: link {NY} {LDN} slow 10x 20s")
    assert ended(distant.lead("amps/controlled-async", source=HOME)) == (Outcome.DONE, "")
    assert sent(distant) == [CLOSE_NY, OPEN_LDN]
    assert clean(distant)


@pytest.mark.parametrize(
    ("phase", "fault"),
    [
        ("disable", "lose reply"),
        ("disable", "lose request"),
        ("disable", "late 3s"),
        ("downgrade", "garbage reply"),
        ("downgrade", "truncate reply"),
    ],
)
def test_an_answer_that_goes_wrong(pair: WorldPair, phase: str, fault: str) -> None:
    """Doubt is settled by a sample taken after the request; nothing is lost on the way."""
    pair.fault(f"{phase}: {fault}")
    assert ended(pair.lead("amps/controlled", source=HOME))[0] is Outcome.DONE
    assert list(dict.fromkeys(sent(pair))) == [CLOSE_NY, DOWN_LDN]
    assert clean(pair)


def test_a_refused_action_changes_nothing(pair: WorldPair) -> None:
    """The instance says no: nothing was changed, and the lane is refused."""
    pair.fault("disable: refuse")
    outcome, _ = ended(pair.lead("amps/controlled", source=HOME))
    assert outcome in (Outcome.REFUSED, Outcome.REVERTED)
    assert CLOSE_NY not in sent(pair)


def test_a_link_lost_in_the_middle(pair: WorldPair) -> None:
    """Before everything is over: New York lets its clients in again."""
    pair.fault(f"disable {NY}: link {NY} {LDN} down")
    outcome, why = ended(pair.lead("amps/controlled", source=HOME))
    assert (outcome, sent(pair)) == (Outcome.REVERTED, [CLOSE_NY, OPEN_NY])
    assert "the link to the mate was lost" in why


def test_a_link_lost_and_downgraded_in_the_middle(scheduled: WorldPair) -> None:
    """London serves, and acknowledges what New York lacks, since its own configuration downgraded the link: New York is
    not opened beside it, and when the link is back nothing is lost. (Found by the exploration of amps/controlled.)"""
    pair = scheduled
    pair.fault(f"disable {NY}: link {NY} {LDN} down 5m")
    outcome, why = ended(pair.lead("amps/controlled", source=HOME))
    assert (outcome, sent(pair)) == (Outcome.STUCK, [CLOSE_NY])
    assert "so the source lacks messages that the target acknowledged" in why
    acknowledged = pair.tally.acknowledged
    pair.wait(30)
    assert pair.tally.acknowledged > acknowledged
    pair.wait(600)
    assert clean(pair)


def test_a_link_that_comes_back_in_the_middle(pair: WorldPair) -> None:
    """Within the grace: it is waited for, and counted anew."""
    pair.fault(f"disable {NY}: link {NY} {LDN} down 20s")
    assert ended(pair.lead("amps/controlled", source=HOME)) == (Outcome.DONE, "")
    assert clean(pair)


def test_a_downgraded_link_is_no_fail_over_target(pair: WorldPair) -> None:
    """Somebody's schedule downgraded it: the planned move refuses."""
    pair.act(HOME, "downgrade", f"replication/{LDN}")
    pair.wait(5)
    assert ended(pair.lead("amps/controlled", source=HOME))[0] is Outcome.REFUSED
    assert CLOSE_NY not in sent(pair)


def test_statistics_that_are_not_taken_any_more(pair: WorldPair) -> None:
    """A sample of before proves nothing about after: the move does not go on with it."""
    pair.fault(f"disable {NY}: stale {NY}")
    outcome, _ = ended(pair.lead("amps/controlled", source=HOME))
    assert outcome is not Outcome.DONE
    assert DOWN_LDN not in sent(pair)


def test_the_source_dies_while_it_is_emptied(pair: WorldPair) -> None:
    """Not done, and not lost: what it cannot tell any more is left to a person or to the way for a loss."""
    pair.fault(f"disable {NY} +1s: kill {NY}")
    outcome, _ = ended(pair.lead("amps/controlled", source=HOME))
    assert outcome in (Outcome.NEEDS_OPERATOR, Outcome.STUCK, Outcome.REVERTED)
    assert DOWN_LDN not in sent(pair)


def test_a_return_by_bootstrap(tmp_path: Path, way: Way) -> None:
    """All of its files are lost: it fetches messages and SOW from its mate, then returns as any other."""
    pair = WorldPair(tmp_path, way, bootstrap=True, queues=False)
    pair.wait(20)
    pair.kill(HOME)
    assert ended(pair.lead("amps/uncontrolled", source=HOME, policy=DEAD))[0] is Outcome.DONE
    pair.lose(HOME)
    pair.start(HOME)
    found = pair.lead("amps/restore-bootstrap", source=HOME, policy={"bootstrap": "attest"})
    assert ended(found) == (Outcome.DONE, "")
    assert pair.world.records(NY, "orders").keys() == pair.world.records(LDN, "orders").keys()
    pair.wait(10)
    assert pair.tally.lost == 0
    pair.end()


def test_never_two_empty_ones(tmp_path: Path, way: Way) -> None:
    """Both lost everything: a return by bootstrap is refused, or they would wait for each other for ever
    (docs/sources/amps.md, 3.5)."""
    pair = WorldPair(tmp_path, way, bootstrap=True, queues=False)
    pair.wait(20)
    for site in (HOME, AWAY):
        pair.kill(site)
        pair.lose(site)
    pair.start(AWAY)
    pair.wait(10)
    outcome, _ = ended(pair.lead("amps/restore-bootstrap", source=HOME, policy={"bootstrap": "attest"}))
    assert outcome is Outcome.REFUSED
    pair.end()


@pytest.mark.parametrize("kill_at", [4, 14, 24, 36])
def test_killed_and_resumed(pair: WorldPair, kill_at: int) -> None:
    """Whenever the process dies, whoever goes on ends the move; nothing is lost, and nobody is left closed out."""
    assert ended(pair.lead("amps/controlled", source=HOME, kill_at=kill_at))[0] is Outcome.DONE
    assert list(dict.fromkeys(sent(pair))) == [CLOSE_NY, DOWN_LDN]
    assert clean(pair)


def returned(pair: WorldPair) -> None:
    """New York was lost, and starts again by itself, with its client transports enabled."""
    pair.kill(HOME)
    assert ended(pair.lead("amps/uncontrolled", source=HOME, policy=DEAD))[0] is Outcome.DONE
    pair.start(HOME)


@pytest.fixture
def open_pair(tmp_path: Path, way: Way) -> Iterator[WorldPair]:
    """As ``pair``; a restart lets clients in."""
    yield from staged(WorldPair(tmp_path, way, starts_closed=False))


def test_an_instance_that_came_back_is_closed(open_pair: WorldPair) -> None:
    """By one request; it is resynchronised, and let in again, by a restore that does not notice."""
    returned(open_pair)
    begun = len(sent(open_pair))
    assert ended(open_pair.lead("amps/guard", source=HOME)) == (Outcome.DONE, "")
    assert sent(open_pair)[begun:] == [CLOSE_NY]
    assert ended(open_pair.lead("amps/restore", source=HOME)) == (Outcome.DONE, "")
    assert sent(open_pair)[begun + 1 :] == [CLOSE_NY, UP_LDN, OPEN_NY]
    assert open_pair.tally.lost == 0


def test_nobody_is_closed_out_while_the_mate_serves_nobody(open_pair: WorldPair) -> None:
    """A guard that was put up on the wrong site changes nothing."""
    open_pair.act(AWAY, "disable", "transports/1")
    begun = len(sent(open_pair))
    outcome, why = ended(open_pair.lead("amps/guard", source=HOME))
    assert (outcome, sent(open_pair)[begun:]) == (Outcome.REFUSED, [])
    assert "does not let clients in" in why


def test_nobody_is_sent_to_a_mate_that_lacks_what_was_acknowledged(open_pair: WorldPair) -> None:
    """New York acknowledged messages with its link downgraded, and was restarted, which resets the link; London was
    closed meanwhile, and is opened by hand. Its clients would lose these messages there, so somebody is asked before
    they are sent away; once its link has caught up nobody has to be. (Found by the exploration of amps/restore.)"""
    pair = open_pair
    pair.act(AWAY, "disable", "transports/1")
    pair.fault(f"at 0s: link {NY} {LDN} down 10m")
    pair.act(HOME, "downgrade", f"replication/{LDN}")
    pair.wait(20)
    pair.kill(HOME)
    pair.start(HOME)
    pair.wait(21)
    pair.act(AWAY, "enable", "transports/1")
    begun = len(sent(pair))
    outcome, why = ended(pair.lead("amps/restore", source=HOME))
    assert (outcome, sent(pair)[begun:]) == (Outcome.REFUSED, [])
    assert "the link to the target has not caught up" in why
    pair.wait(600)
    assert ended(pair.lead("amps/restore", source=HOME)) == (Outcome.DONE, "")
    assert sent(pair)[begun:] == [CLOSE_NY, OPEN_NY]
    assert clean(pair)


def test_the_target_is_restarted_after_its_downgrade(pair: WorldPair) -> None:
    """A restart makes its link sync again, and its publishers wait for what is dead: that is no good end, and the same
    once more mends it. (Found by the exploration of amps/uncontrolled.)"""
    pair.act(AWAY, "disable", "transports/1")
    pair.kill(HOME)
    pair.fault(f"enable {LDN} +500ms: kill {LDN} 500ms")
    outcome, why = ended(pair.lead("amps/uncontrolled", source=HOME, policy=DEAD))
    assert outcome is Outcome.NEEDS_OPERATOR
    assert "the target's publishers wait for the failed instance" in why
    assert ended(pair.lead("amps/uncontrolled", source=HOME, policy=DEAD)) == (Outcome.DONE, "")
    acknowledged = pair.tally.acknowledged
    pair.wait(10)
    assert pair.tally.acknowledged > acknowledged + 200


def test_the_target_of_a_planned_move_is_restarted_before_its_late_downgrade(pair: WorldPair) -> None:
    """New York, which starts closed, dies while the request is on its way, and obeys it once it is back: its link is
    async as it should be, and nobody serves, which is no good end. (Found by the exploration of amps/controlled.)"""
    pair.fault(f"downgrade {NY}: late 5s", f"downgrade {NY} +1s: kill {NY} 1s")
    outcome, why = ended(pair.lead("amps/controlled", source=AWAY))
    assert outcome is Outcome.NEEDS_OPERATOR
    assert "the target does not let clients in, so no instance serves" in why


def test_the_target_of_a_planned_move_is_restarted_after_its_downgrade(pair: WorldPair) -> None:
    """Its link is sync again by the time the run is gone on with, so New York must not be stopped: no good end."""
    pair.fault(f"downgrade {LDN} +30s: kill {LDN} 1s")
    outcome, why = ended(pair.lead("amps/controlled", source=HOME, kill_at="downgrade"))
    assert outcome is Outcome.NEEDS_OPERATOR
    assert "the target's publishers wait for the source, so do not stop the source now" in why


def test_a_guard_whose_mate_dies(open_pair: WorldPair) -> None:
    """New York was closed, and then London died: nobody serves, which is no good end. (Found by the exploration.)"""
    returned(open_pair)
    open_pair.fault(f"disable {NY} +1s: kill {LDN}")
    assert ended(open_pair.lead("amps/guard", source=HOME))[0] is Outcome.NEEDS_OPERATOR


@pytest.mark.parametrize("fault", ["lose reply", "lose request", "late 3s", "garbage reply"])
def test_a_guard_whose_answer_goes_wrong(open_pair: WorldPair, fault: str) -> None:
    """Doubt is settled by a sample taken after the request."""
    returned(open_pair)
    open_pair.fault(f"disable {NY}: {fault}")
    assert ended(open_pair.lead("amps/guard", source=HOME))[0] is Outcome.DONE
    with open_pair.world.request():
        assert not open_pair.world.fabric.takes_clients(NY)


@pytest.mark.parametrize("kill_at", range(2, 14, 2))
def test_a_guard_killed_and_resumed(open_pair: WorldPair, kill_at: int) -> None:
    """Whenever the process dies, whoever goes on closes the instance, and no other one."""
    returned(open_pair)
    begun = len(sent(open_pair))
    assert ended(open_pair.lead("amps/guard", source=HOME, kill_at=kill_at))[0] is Outcome.DONE
    assert set(sent(open_pair)[begun:]) == {CLOSE_NY}
