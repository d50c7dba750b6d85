"""A world with a file forgets nothing it showed or obeyed, and says clearly when its file cannot be used."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, ConnectionLost, Unreachable
from simulator.embedded import embedded_layout, embedded_world
from simulator.solace.appliance import Refused
from simulator.solace.faults import parse_faults
from simulator.solace.world import World
from tests.attack.damage import IMPOSSIBLE, places


def kept(path: Path) -> dict[str, Any]:
    data = json.loads(path.read_text())
    assert isinstance(data, dict)
    return data


def test_a_world_comes_back_as_it_was_left(tmp_path: Path, clock: VirtualClock) -> None:
    """All is on file: messages, roles, bridges, clients, transactions, faults, what is planned, the account."""
    path = tmp_path / "world.json"
    first = World(embedded_layout(), clock, path=path)
    first.inject(parse_faults(["at 9s: unreachable ny 3s", "demote: late 2s", "drain +1s: slow 3x"]))
    node = first.appliance("ny", "NY_Appliance1")
    clock.advance(3.3)
    node.set_role("Trading_VPN", "standby")
    clock.advance(1.1)
    node.replication_queue("Trading_VPN")
    node.complete_transaction("Trading_VPN", "0021B028-00-01", "rollback")
    first.close()
    expected = first.tallies()
    before, clock_of_another_day = kept(path), VirtualClock(start=5.0)
    second = World.load(path, clock_of_another_day)
    second.close()
    of_the_clock = {"clock": None, "pauses": None}
    assert {**kept(path), **of_the_clock} == {**before, **of_the_clock}
    assert second.tallies() == expected


def test_both_go_the_same_way_from_there(tmp_path: Path) -> None:
    """A resumed world is not a different one."""
    clocks = VirtualClock(), VirtualClock()
    first = World(embedded_layout(), clocks[0], path=tmp_path / "world.json")
    clocks[0].advance(2.5)
    first.appliance("ny", "NY_Appliance1").set_role("Risk_VPN", "standby")
    copy = tmp_path / "copy.json"
    first.save(copy)
    clocks[1].advance_to(clocks[0].now())
    second = World.load(copy, clocks[1])
    for clock, world in zip(clocks, (first, second), strict=True):
        clock.advance(1.7)
        world.appliance("nj", "NJ_Appliance1").set_role("Risk_VPN", "active")
        clock.advance(20.0)
    assert first.tallies() == second.tallies()


def test_time_in_which_nobody_runs_it_does_not_count(tmp_path: Path) -> None:
    """World time goes on where it was left."""
    path = tmp_path / "world.json"
    clock = VirtualClock()
    world = embedded_world(path, clock)
    clock.advance(10)
    world.close()
    clock.advance(86_400)
    again = embedded_world(path, clock)
    assert again.now() == pytest.approx(10)
    clock.advance(1)
    assert again.now() == pytest.approx(11)


def test_a_pause_makes_no_message_younger(tmp_path: Path) -> None:
    """The clock's time at which a message was spooled stays what it was, or a fail-back would look safer than it is.

    So for what was there when time began, for what was sent between two pauses, and after the last one.
    """
    path, clock = tmp_path / "world.json", VirtualClock()
    (one,) = [vpn for vpn in embedded_layout().vpns if vpn.name == "Settlement_VPN"]
    held = replace(one, consume_rate=0.0, backlog=0, unconsumed=5)
    World(replace(embedded_layout(), vpns=(held,)), clock, path=path).close()
    began = clock.now()

    def oldest(world: World) -> float:
        endpoints = world.appliance("ny", "NY_Appliance1").endpoints(one.name)
        found = next(view.oldest_at for view in endpoints if view.name == "orders")
        assert found is not None
        return found

    for _ in range(3):
        clock.advance(86_400)
        world = World.load(path, clock)
        assert oldest(world) == pytest.approx(began)
        clock.advance(10)
        world.tallies()
        assert oldest(world) == pytest.approx(began)
        assert world.clock_time() == pytest.approx(clock.now())
        assert world.epoch(world.now()) == pytest.approx(clock.now())
        assert world.epoch(world.now() - 4) == pytest.approx(clock.now() - 4)
        world.close()
    assert world.epoch(15.0) == pytest.approx(began + 2 * 86_400 + 15)


def test_pauses_are_forgotten_with_the_messages_of_their_time(tmp_path: Path, clock: VirtualClock) -> None:
    """A pair that is looked at for years does not carry all of them along."""
    path = tmp_path / "world.json"
    embedded_world(path, clock).close()
    for _ in range(12):
        clock.advance(3_600)
        world = World.load(path, clock)
        clock.advance(30)
        world.tallies()
        world.close()
    assert len(kept(path)["pauses"]) < 4


def test_what_was_seen_cannot_become_unseen(tmp_path: Path, clock: VirtualClock) -> None:
    """A process that dies after any answer leaves a world that is at least as far."""
    path = tmp_path / "world.json"
    world = embedded_world(path, clock)
    node = world.appliance("ny", "NY_Appliance1")
    node.set_role("Trading_VPN", "standby")
    for _ in range(30):
        clock.advance(0.13)
        seen = node.replication_queue("Trading_VPN").messages
        elsewhere = World.load(path, VirtualClock())
        assert elsewhere.appliance("ny", "NY_Appliance1").replication_queue("Trading_VPN").messages == seen


def test_a_command_is_on_file_before_it_returns(tmp_path: Path, clock: VirtualClock) -> None:
    """Even a refused one: the account counts it."""
    path = tmp_path / "world.json"
    node = embedded_world(path, clock).appliance("ny", "NY_Appliance1")
    node.set_role("Trading_VPN", "standby")
    assert kept(path)["vpns"]["Trading_VPN"]["sides"]["ny"]["role"] == "standby"
    with pytest.raises(Refused):
        node.delete_transaction("Trading_VPN", "0021B028-00-01")
    commands = kept(path)["vpns"]["Trading_VPN"]["ledger"]["commands"]
    assert [(action, received, effects) for _, action, _, received, effects in commands] == [
        ("set_role", 1, 1),
        ("delete_transaction", 1, 0),
    ]


@pytest.mark.realtime
def test_a_process_killed_after_the_answer_leaves_the_effect(tmp_path: Path) -> None:
    """kill -9 right after a command returned: the device remembers."""
    path = tmp_path / "world.json"
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from simulator.embedded import embedded_world\n"
        "from orchestrator.clock import SystemClock\n"
        "node = embedded_world(Path(sys.argv[1]), SystemClock()).appliance('ny', 'NY_Appliance1')\n"
        "node.set_role('Trading_VPN', 'standby')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
        timeout=60,
    )
    assert ended.returncode == -signal.SIGKILL
    world = embedded_world(path, VirtualClock())
    assert world.appliance("ny", "NY_Appliance1").replication("Trading_VPN").role == "standby"


@pytest.mark.realtime
def test_processes_that_act_at_once_lose_no_command(tmp_path: Path) -> None:
    """Each of many commands from several processes is on file in the end."""
    path = tmp_path / "world.json"
    embedded_world(path, VirtualClock())
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from simulator.solace.world import World\n"
        "from orchestrator.clock import SystemClock\n"
        "node = World.load(Path(sys.argv[1]), SystemClock()).appliance('ny', 'NY_Appliance1')\n"
        "for turn in range(40):\n"
        "    node.set_role(sys.argv[2], 'standby' if turn % 2 == 0 else 'active')\n"
    )
    vpns = ("Trading_VPN", "Risk_VPN", "Settlement_VPN")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), vpn], env=environment) for vpn in vpns]
    assert [one.wait(timeout=60) for one in running] == [0, 0, 0]
    tallies = World.load(path, VirtualClock()).tallies()
    for vpn in vpns:
        assert sum(count.effects for count in tallies[vpn].commands.values()) == 40


def test_threads_that_act_at_once_lose_no_command(clock: VirtualClock) -> None:
    """One world object may be used from several threads: each command counts, each look is whole."""
    world = World(embedded_layout(), clock)

    def flip(first: int) -> None:
        node = world.appliance("ny", "NY_Appliance1")
        for turn in range(first, first + 200):
            node.set_role("Trading_VPN", "standby" if turn % 2 == 0 else "active")
            clock.advance(0.01)
            node.replication_queue("Trading_VPN")

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(max_workers=3) as threads:
            list(threads.map(flip, range(3)))
    finally:
        sys.setswitchinterval(before)
    tally = world.tally("Trading_VPN")
    assert sum(count.received for count in tally.commands.values()) == 600
    assert sum(count.effects for count in tally.commands.values()) == len(tally.roles) - 1
    assert tally.lost == 0


def test_two_processes_on_one_file_see_one_world(tmp_path: Path, clock: VirtualClock) -> None:
    """A status command beside a run neither undoes what the run did nor misses it."""
    path = tmp_path / "world.json"
    run, status = embedded_world(path, clock), embedded_world(path, clock)
    clock.advance(1)
    looking = status.appliance("ny", "NY_Appliance1")
    assert looking.replication("Trading_VPN").role == "active"
    run.appliance("ny", "NY_Appliance1").set_role("Trading_VPN", "standby")
    assert looking.replication("Trading_VPN").role == "standby"
    clock.advance(1)
    run.appliance("ny", "NY_Appliance1").set_role("Risk_VPN", "standby")
    status.close()
    assert looking.replication("Risk_VPN").role == "standby"
    assert run.appliance("ny", "NY_Appliance1").replication("Risk_VPN").role == "standby"


def test_time_goes_on_once_however_many_look(tmp_path: Path, clock: VirtualClock) -> None:
    """Two processes that take turns neither stop the world nor hurry it."""
    path = tmp_path / "world.json"
    worlds = embedded_world(path, clock), embedded_world(path, clock)
    for turn in range(20):
        clock.advance(0.5)
        worlds[turn % 2].tallies()
    assert worlds[0].now() == pytest.approx(10, abs=0.6)


def test_the_file_is_for_its_owner_only(tmp_path: Path, clock: VirtualClock) -> None:
    """Mode 0600, and no half-written file stays beside it."""
    path = tmp_path / "deep" / "world.json"
    embedded_world(path, clock).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(one.name for one in path.parent.iterdir()) == ["world.json", "world.json.lock"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        '{"format": "failover world 2", "layo',
        "[1, 2]",
        '{"format": "something else"}',
        '{"format": "failover world 2"}',
        '{"format": "failover world 2", "layout": {"sites": [], "vpns": []}}',
        "\x00\x01",
    ],
)
def test_a_file_that_is_not_a_world_says_what_to_do(tmp_path: Path, clock: VirtualClock, content: str) -> None:
    """Torn, empty, foreign or edited: one sentence, and the way out."""
    path = tmp_path / "world.json"
    path.write_text(content)
    with pytest.raises(Unreachable) as caught:
        World.load(path, clock)
    assert str(path) in str(caught.value)
    assert caught.value.hint == f"delete {path} to start the simulated sites again"


def test_a_damaged_part_is_found_whichever_it_is(tmp_path: Path, clock: VirtualClock) -> None:
    """Any missing part of the file is named as damage, never as a traceback or as an empty world."""
    path = tmp_path / "world.json"
    embedded_world(path, clock).close()
    whole = kept(path)
    for part in whole:
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != part}))
        with pytest.raises(AdapterError):
            World.load(path, clock)


def test_a_value_that_cannot_be_is_damage_wherever_it_stands(tmp_path: Path, clock: VirtualClock) -> None:
    """Nothing, nought and no number in place of any one value: a world that can be kept on, or damage by its name."""
    path, layout = tmp_path / "world.json", embedded_layout()
    World(replace(layout, vpns=layout.vpns[:1]), clock, path=path).close()
    whole = kept(path)
    for holder, key in places(whole):
        there = holder[key]
        for other in IMPOSSIBLE:
            holder[key] = other
            path.write_text(json.dumps(whole))
            with suppress(AdapterError):
                World.load(path, clock).close()
        holder[key] = there


def test_a_file_that_vanishes_under_a_run_is_told(tmp_path: Path, clock: VirtualClock) -> None:
    """The simulated devices are gone; they are not silently made anew."""
    path = tmp_path / "world.json"
    world = embedded_world(path, clock)
    path.unlink()
    with pytest.raises(Unreachable, match="does not exist") as caught:
        world.tallies()
    assert "delete" not in caught.value.hint


def test_a_command_that_cannot_be_saved_is_in_doubt(tmp_path: Path, clock: VirtualClock) -> None:
    """The node obeyed, in this process only: nobody may call that done."""
    path = tmp_path / "world.json"
    world = embedded_world(path, clock)
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    node = World(embedded_layout(), clock, path=path).appliance("ny", "NY_Appliance1")
    with pytest.raises((ConnectionLost, Unreachable)):
        node.set_role("Trading_VPN", "standby")
    with pytest.raises(AdapterError):
        world.tallies()


def test_a_folder_that_cannot_be_used_is_to_be_mended(tmp_path: Path, clock: VirtualClock) -> None:
    """Where the folder is at fault, nobody is told to delete the world in it."""
    folder = tmp_path / "file"
    folder.write_text("no folder")
    with pytest.raises(Unreachable, match="cannot be locked") as caught:
        World(embedded_layout(), clock, path=folder / "world.json").tallies()
    assert caught.value.hint == "fix the cause (disk full? read-only? a link?) and run it again"
