"""Each fault does to the world what its words say, once, at the moment its trigger names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError, Unreachable
from simulator.solace.appliance import Refused, RoleName, SpoolNotActive
from simulator.solace.fault_injection import Seen
from simulator.solace.faults import parse_faults
from simulator.solace.world import World
from simulator.world.fault_lines import AnswerFault
from tests.world.stage import Stage, Stages


def command(site: str, role: str) -> Seen:
    return Seen("command", site, "set_role", ("V",), {"role": role})


def draining(stage: Stages, *faults: str, **more: Any) -> Stage:
    """1,000 messages in New York's queue at 100 a second, both sites standby, one second gone, nothing read."""
    here = stage(publish_rate=0, consume_rate=0, drain_rate=100, backlog=1_000, unconsumed=1_000, **more)
    here.fault(*faults)
    here.role("ny", "standby")
    here.wait(1)
    return here


def test_drain_begins_with_the_first_reading_of_the_demoted_queue(stage: Stages) -> None:
    """Before it, nothing happens; other readings do not set it off."""
    here = draining(stage, "drain: stall 2s")
    here.row("ny")
    here.depth("nj")
    here.wait(1)
    assert here.depth() == 800
    here.wait(2)
    assert here.depth() == 800
    here.wait(1)
    assert here.depth() == 700


def test_a_stall_keeps_the_bridge_bound(stage: Stages) -> None:
    """Stalled is not lost: only the depth tells."""
    here = draining(stage, "drain: stall")
    here.depth()
    here.wait(60)
    assert here.row("nj").local_bridge == "up"
    assert here.depth() == 900


def test_slow_divides_the_rate(stage: Stages) -> None:
    """slow 10x carries a tenth, for as long as it says."""
    here = draining(stage, "drain: slow 10x 10s")
    here.depth()
    here.wait(10)
    assert here.depth() == pytest.approx(800, abs=1)
    here.wait(1)
    assert here.depth() == pytest.approx(700, abs=1)


def test_a_fault_may_wait(stage: Stages) -> None:
    """+2s: it happens two seconds after its trigger, whether or not anybody looks."""
    here = draining(stage, "drain +2s: bridge down")
    here.depth()
    here.wait(30)
    assert here.row("nj").local_bridge == "down"
    assert here.depth() == 700


def test_a_full_spool_at_the_standby_stops_the_drain(stage: Stages) -> None:
    """Nothing can arrive where nothing can be stored; afterwards it goes on."""
    here = draining(stage, "drain: spool full nj 5s")
    here.depth()
    here.wait(4)
    assert here.depth() == 900
    here.wait(6)
    assert here.depth() == 400


def test_a_full_spool_at_the_active_stops_publishing(stage: Stages) -> None:
    """Publishers are refused; nothing acknowledged is lost."""
    here = stage(publish_rate=100)
    here.fault("at 5s: spool full ny 5s")
    here.wait(20)
    assert here.tally().acknowledged == pytest.approx(1_500, abs=2)


def test_a_spool_that_is_not_ready_serves_no_client_and_loses_nothing(stage: Stages) -> None:
    """Law: publishers wait while no node of the site has an active spool; what was acknowledged is kept, and the site
    takes roles meanwhile."""
    here = stage(publish_rate=100)
    here.fault("at 5s: spool not ready ny 10s")
    here.wait(6)
    with pytest.raises(SpoolNotActive):
        here.depth()
    before = here.tally().acknowledged
    here.wait(5)
    assert here.tally().acknowledged == before
    here.role("ny", "standby")
    here.role("ny", "active")
    here.wait(30)
    after = here.tally()
    assert (after.acknowledged > before, after.lost) == (True, 0)


def test_a_fault_happens_once(stage: Stages) -> None:
    """The second demotion meets nobody who refuses it."""
    here = stage()
    here.fault("demote: refuse")
    with pytest.raises(Refused):
        here.role("ny", "standby")
    assert here.row("ny").role == "active"
    here.role("ny", "standby")
    assert here.row("ny").role == "standby"
    (count,) = here.tally().commands.values()
    assert (count.received, count.effects) == (2, 1)


def test_a_refusal_with_a_duration_refuses_until_it_is_over(stage: Stages) -> None:
    """Every such command within the time is refused."""
    here = stage()
    here.fault("demote: refuse 5s")
    for _ in range(3):
        with pytest.raises(Refused):
            here.role("ny", "standby")
        here.wait(1)
    here.wait(3)
    here.role("ny", "standby")


@pytest.mark.parametrize(
    ("fault", "role"), [("demote: refuse", "standby"), ("activate: refuse", "active"), ("revert: refuse", "active")]
)
def test_triggers_tell_the_commands_apart(stage: Stages, fault: str, role: RoleName) -> None:
    """Taking activity, giving it up and giving it back are different commands to the world."""
    here = stage()
    here.fault(fault)
    refused = []
    wishes: Sequence[tuple[str, RoleName]] = [
        ("ny", "standby"),
        ("ny", "active"),
        ("ny", "standby"),
        ("nj", "active"),
    ]
    for site, wanted in wishes:
        try:
            here.role(site, wanted)
        except Refused:
            refused.append((site, wanted))
            here.role(site, wanted)
    expected = {"demote": ("ny", "standby"), "revert": ("ny", "active"), "activate": ("nj", "active")}
    assert refused == [expected[fault.split(":")[0]]]
    assert refused[0][1] == role


def test_somebody_else_may_change_a_role(stage: Stages) -> None:
    """A colleague promotes the target during the drain: from then on the rest of the queue is lost."""
    here = draining(stage, "drain +1s: role nj active")
    here.depth()
    here.wait(5)
    assert here.row("nj").role == "active"
    assert here.tally().lost == here.depth() == 800


def test_a_node_that_dies_of_the_command_leaves_it_in_doubt(stage: Stages) -> None:
    """The command arrived; the session is gone, and the role is as it was."""
    here = stage()
    here.fault("demote: node ny/NY_Appliance1 down 5s")
    with pytest.raises(Unreachable):
        here.role("ny", "standby")
    here.wait(10)
    assert here.row("ny").role == "active"


def test_events_between_two_looks_happen_in_order_of_time(stage: Stages) -> None:
    """However late somebody looks, the past is the one that was scripted."""
    faults = ("at 4s: role ny active", "at 2s: role ny standby", "at 6s: bridge down 1s", "at 5s: role nj active")
    late = stage()
    late.fault(*faults)
    late.wait(20)
    assert [(one.moment, one.site, one.role) for one in late.tally().roles] == [
        (0.0, "ny", "active"),
        (2.0, "ny", "standby"),
        (4.0, "ny", "active"),
        (5.0, "nj", "active"),
    ]
    assert late.tally().outages == ((2.0, 4.0),)
    assert late.tally().both_active == ((5.0, 20.0),)


def test_a_fault_of_an_answer_is_for_whoever_speaks_for_the_node(stage: Stages) -> None:
    """The world says what goes wrong, once; the node itself obeys as ever."""
    here = stage()
    here.fault("demote: lose reply", "reads: garbage reply 2s")
    ask = here.world.answer_fault
    assert ask(command("nj", "standby")) is None
    assert ask(command("ny", "standby")) == AnswerFault("lose reply")
    assert ask(command("ny", "standby")) is None
    read = Seen("read", "ny", "replication", ("V",))
    assert ask(read) == ask(read) == AnswerFault("garbage reply", lasts=2.0)
    here.wait(2)
    assert ask(read) is None


def test_a_fault_of_an_answer_may_wait(stage: Stages) -> None:
    """+2s: the first that fits begins the wait, and the first that fits after it is hit, as long as the fault lasts."""
    here = stage()
    here.fault("any +2s: wrong password 3s", "demote +2s: refuse")
    ask, login = here.world.answer_fault, Seen("login", "ny")
    here.wait(5)
    assert here.world.happened() == ()
    assert ask(login) is None
    here.wait(1.9)
    assert ask(login) is None
    here.wait(5)
    assert ask(login) == AnswerFault("wrong password", lasts=3.0)
    assert here.world.happened() == ("any +2s: wrong password 3s",)
    here.wait(2.9)
    assert ask(login) == AnswerFault("wrong password", lasts=3.0)
    here.wait(0.2)
    assert ask(login) is None
    here.role("ny", "standby")
    here.role("ny", "active")
    here.wait(2)
    with pytest.raises(Refused):
        here.role("ny", "standby")
    here.role("ny", "standby")


def test_a_wait_goes_on_in_a_world_that_was_kept(stage: Stages, tmp_path: Path) -> None:
    """What had begun to wait is hit at the same moment by who loads the world from its file."""
    path, clock, login = tmp_path / "world.json", VirtualClock(), Seen("login", "ny")
    world = World(stage().world.layout, clock, path=path)
    world.inject(parse_faults(["any +20s: wrong password"]))
    assert world.answer_fault(login) is None
    world.save()
    loaded = World.load(path, clock)
    clock.advance(19)
    assert loaded.answer_fault(login) is None
    clock.advance(2)
    assert loaded.answer_fault(login) == AnswerFault("wrong password")


def test_a_login_is_refused_only_at_login(stage: Stages) -> None:
    """A password cannot be wrong in the middle of a session."""
    here = stage()
    here.fault("any: wrong password")
    assert here.world.answer_fault(Seen("read", "ny", "replication", ("V",))) is None
    assert here.world.answer_fault(Seen("login", "nj")) == AnswerFault("wrong password")


def test_a_late_command_is_obeyed_later_if_the_node_still_can(stage: Stages) -> None:
    """The effect lands after the answer was given up; a dead node obeys nothing."""
    here = stage()
    here.world.obey_later("ny", "NY_Appliance1", "set_role", {"role": "standby"}, "V", 3.0)
    here.wait(2.9)
    assert here.row("ny").role == "active"
    here.wait(0.2)
    assert here.row("ny").role == "standby"
    here.world.obey_later("ny", "NY_Appliance1", "set_role", {"role": "active"}, "V", 3.0)
    here.fault("at 1s: node ny/NY_Appliance1 down 30s")
    here.wait(60)
    assert here.row("ny").role == "standby"


@pytest.mark.parametrize(
    "text",
    [
        "any: unreachable la",
        "at 1s: node ny/X down",
        "drain Other_VPN: stall",
        "any: role la active",
        "drain: ha switch ny",
        "transactions: tm commits 00-00-00",
    ],
)
def test_a_fault_about_nothing_is_refused_when_it_is_given(stage: Stages, text: str) -> None:
    """A slip must not become a rehearsal in which nothing goes wrong."""
    with pytest.raises(DefinitionError, match=text.split(":")[0]):
        stage().fault(text)
