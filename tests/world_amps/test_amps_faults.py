"""Faults of a fabric: their grammar, and what each does."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, DefinitionError, Unreachable
from simulator.amps.embedded import amps_inventory, amps_layout, amps_world
from simulator.amps.fault_injection import Asked
from simulator.amps.faults import GRAMMAR, HandFault, InstanceFault, LinkFault, parse_amps_fault, parse_amps_faults
from simulator.amps.layout import fabric_from
from simulator.amps.world import AmpsWorld
from simulator.solace.appliance import Refused
from simulator.world.fault_lines import AnswerFault, When
from tests.attack.damage import IMPOSSIBLE, places
from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]


@pytest.mark.parametrize(
    ("text", "when", "what"),
    [
        ("at 3s: link A B down 5s", When("at", after=3.0), LinkFault("down", "A", "B", lasts=5.0)),
        ("reads: link A B slow 10x", When("reads"), LinkFault("slow", "A", "B", 10.0)),
        ("disable A +2s: kill A 30s", When("disable", "A", 2.0), InstanceFault("kill", "A", 30.0)),
        ("any: lose A sow", When("any"), InstanceFault("lose", "A", files="sow")),
        ("downgrade B: lose reply", When("downgrade", "B"), AnswerFault("lose reply")),
        ("enable +1s: somebody downgrades A", When("enable", after=1.0), HandFault("downgrade", "A")),
        ("act: late 3s", When("act"), AnswerFault("late", late=3.0)),
    ],
)
def test_a_line_is_a_fault(text: str, when: When, what: object) -> None:
    """Each line says when, and what."""
    found = parse_amps_fault(text)
    assert (found.when, found.what) == (when, what)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kill A",
        "at 3s: kill",
        "sometimes: kill A",
        "at 3s: lose reply",
        "reads: late 3s",
        "at 3: kill A",
        "at 1s: refuse",
    ],
)
def test_what_is_no_fault_is_refused_with_the_grammar(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(DefinitionError) as caught:
        parse_amps_fault(text)
    assert GRAMMAR in caught.value.hint


def test_a_line_of_a_file_is_named_with_its_number() -> None:
    """As every definition error does."""
    with pytest.raises(DefinitionError, match="not a fault: 'kill'") as caught:
        parse_amps_faults(["at 3s: kill A", "", "kill  # whom?"], file=Path("night.txt"))
    assert (caught.value.file, caught.value.line) == (Path("night.txt"), 3)


def test_a_fault_of_a_stranger_is_refused(stage: Build) -> None:
    """An instance that is not there cannot fail."""
    with pytest.raises(DefinitionError, match="no instance C"):
        stage().fault("at 1s: kill C")


def test_a_link_that_is_cut_comes_back_and_catches_up(stage: Build) -> None:
    """Nothing is lost, publishers stall meanwhile, and the link counts what happened to it."""
    one = stage()
    one.wait(5)
    one.fault("at 0s: link A B down 5s")
    one.wait(4)
    row = one.row("A", "replication", "B")
    assert (row["is_connected"], int(row["seconds_behind"]) >= 2) == ("0", True)
    one.wait(10)
    row = one.row("A", "replication", "B")
    assert (row["is_connected"], row["disconnect_count"]) == ("1", "1")
    assert one.tally.lost == 0
    assert one.numbers("B") > one.numbers("A") - 30


def test_a_slow_link_falls_behind(stage: Build) -> None:
    """Until it is over."""
    one = stage(link_rate=100.0)
    one.fault("at 0s: link A B slow 10x 20s")
    one.wait(15)
    assert int(one.row("A", "replication", "B")["seconds_behind"]) > 3
    one.wait(40)
    assert int(one.row("A", "replication", "B")["seconds_behind"]) <= 1


def test_an_instance_that_is_killed_is_started_again(stage: Build) -> None:
    """With a duration; its statistics begin anew, its messages do not."""
    one = stage()
    one.wait(10)
    had = one.numbers("A")
    one.fault("at 0s: kill A 5s")
    one.wait(3)
    with one.world.request():
        assert not one.world.console("A").answers
    one.wait(20)
    assert one.numbers("A") >= had
    assert one.row("A", "replication", "B")["is_connected"] == "1"


def test_files_are_lost_only_of_an_instance_that_is_down(stage: Build) -> None:
    """docs/sources/amps.md, 9.8 speaks of files; nobody deletes those of a process that has them open."""
    one = stage()
    one.wait(5)
    with pytest.raises(DefinitionError, match="only while it is down"):
        one.world.lose("A", "all")
    one.fault("at 0s: lose A all")
    one.wait(1)
    assert one.numbers("A") > 0


def changes(one: Stage, name: str) -> list[tuple[str, str]]:
    """What an instance was made, and by whom."""
    with one.world.request():
        return [(what, by) for _, who, what, by in one.world.fabric.ledger.changes if who == name]


def test_what_somebody_else_does_is_noted_and_is_no_request_of_ours(stage: Build) -> None:
    """It shows in the world at once, in a reading with the next sample, and never among the requests."""
    one = stage()
    one.wait(5.1)
    one.fault("at 0s: somebody disables A", "at 0s: somebody downgrades A")
    one.wait(0.3)
    assert changes(one, "A") == [("closed", "somebody"), ("async", "somebody")]
    assert one.row("A", "transports", "1")["is_enabled"] == "1"
    one.wait(1)
    assert one.row("A", "transports", "1")["is_enabled"] == "0"
    assert one.tally.commands == ()


def test_a_start_brings_back_what_is_configured(stage: Build) -> None:
    """And says so: whoever closed the instance before did not open it."""
    one = stage()
    one.close("A")
    one.fault("at 1s: kill A 2s")
    one.wait(6)
    assert changes(one, "A") == [
        ("closed", "command"),
        ("open", "start"),
        ("sync", "start"),
        ("unproxied", "start"),
    ]


def test_a_refused_request_is_refused_once(stage: Build) -> None:
    """And by that instance only."""
    one = stage()
    one.fault("disable A: refuse")
    with one.world.request():
        one.world.notice(Asked("action", "B", "disable"))
        with pytest.raises(Refused):
            one.world.notice(Asked("action", "A", "disable"))
        one.world.notice(Asked("action", "A", "disable"))


def test_a_request_sets_off_what_waits_for_it(stage: Build) -> None:
    """So long after it."""
    one = stage()
    one.fault("disable A +2s: kill B")
    with one.world.request():
        one.world.notice(Asked("action", "A", "disable"))
    one.wait(1)
    with one.world.request():
        assert one.world.console("B").answers
    one.wait(2)
    with one.world.request():
        assert not one.world.console("B").answers


def test_what_is_on_file_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Another process finds the same fabric: links, queues, transports, faults, the account."""
    clock = VirtualClock()
    path = tmp_path / "amps.json"
    world = amps_world(path, clock)
    world.inject(parse_amps_faults(["at 30s: kill orders-ldn 5s"]))
    with world.request():
        world.console("orders-ny").obey("disable", "transports/1")
    other = AmpsWorld.load(path, clock)
    clock.advance(20)
    assert other.tally() == world.tally()
    clock.advance(13)
    with other.request():
        assert not other.console("orders-ldn").answers
    clock.advance(20)
    assert world.tally() == other.tally()
    assert world.tally().lost == 0


def test_a_value_that_cannot_be_is_damage_wherever_it_stands(tmp_path: Path) -> None:
    """Nothing, nought and no number in place of any one value: a fabric that can be kept on, or damage by its name."""
    path = tmp_path / "world.json"
    amps_world(path, VirtualClock()).close()
    whole = json.loads(path.read_text())
    for holder, key in places(whole):
        there = holder[key]
        for other in IMPOSSIBLE:
            holder[key] = other
            path.write_text(json.dumps(whole))
            with suppress(AdapterError):
                AmpsWorld.load(path, VirtualClock()).close()
        holder[key] = there


def test_another_kind_of_world_is_not_taken_for_it(tmp_path: Path) -> None:
    """A file of message VPNs, or one that somebody edited, says so with a hint."""
    path = tmp_path / "world.json"
    amps_world(path, VirtualClock())
    path.write_text(json.dumps({**json.loads(path.read_text()), "family": "other"}))
    with pytest.raises(Unreachable, match="damaged") as caught:
        AmpsWorld.load(path, VirtualClock())
    assert "start the simulated sites again" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"instances": [instance("A"), instance("A")]}, "A is there twice"),
        ({"instances": [instance("A", "C")]}, "A/C names C; the fabric has A"),
        ({"instances": []}, "instances"),
        ({"instances": [instance("A")], "speed": 3}, "speed"),
        ({"instances": [instance("A", topics=[{"name": "x", "key": "/id"}])]}, r"instances\.0\.topics\.0\.key"),
    ],
)
def test_a_description_that_does_not_fit_is_refused_with_its_place(change: dict[str, object], text: str) -> None:
    """A world comes from a document: unknown keys and unknown names are mistakes."""
    with pytest.raises(DefinitionError, match=text):
        fabric_from(change)


def test_the_embedded_pair_is_a_document_too() -> None:
    """What stands on file is what a person could have written; its inventory names its instances."""
    layout = amps_layout(bootstrap=True)
    assert fabric_from(json.loads(json.dumps(layout.model_dump(mode="json")))) == layout
    devices = [device.name for site in amps_inventory("memory:x").sites.values() for device in site.devices]
    assert devices == list(layout.names)
