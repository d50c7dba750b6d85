"""Whatever an AMPS instance answers, whatever its names are: a reading or a failure, and no path but the one meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.amps.adapter import AmpsAdminAdapter
from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, DefinitionError, FailoverError
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from simulator.amps.embedded import INSTANCES, amps_layout
from simulator.amps.faults import parse_amps_faults
from simulator.amps.world import AmpsWorld
from simulator.http.server import Incoming, Outgoing
from tests.amps_admin.instance import ScriptedInstance
from tests.amps_admin.stage import Stage, apply
from tests.amps_admin.world_pair import AWAY, HOME, Way, WorldPair
from tests.attack.damage import damaged
from tests.attack.names import LEGAL
from tests.seam import Permits

Handler = Callable[[Incoming], Outgoing]
CONFIGURATION = "/amps/instance/config.xml"


def spoiling(handler: Handler, spoil: Callable[[Incoming, bytes], bytes]) -> Handler:
    """An instance whose answers are spoilt."""

    def answer(request: Incoming) -> Outgoing:
        told = handler(request)
        return replace(told, body=spoil(request, told.body))

    return answer


def everything(spoil: Callable[[Incoming, bytes], bytes], *, names: tuple[str, ...] = ()) -> None:
    """Every reading, by a session that acts and by one that looks, and every action; each ends as documented."""
    stage = Stage()
    stage.wire.handler = spoiling(stage.wire.handler, spoil)
    for adapter in (stage.settled(), stage.adapter(read_only=True)):
        for reading in names or tuple(adapter.readings):
            try:
                [answer] = adapter.probe(reading, ["orders"]).values()
            except AdapterError as error:
                assert str(error)
            else:
                assert repr(answer)
    for name, spec in AmpsAdminAdapter.actions.items():
        [(argument, one)] = spec.arguments.items()
        arguments: dict[str, Any] = {argument: one.choices[0]}
        assert apply(stage.settled(), name, **arguments).effect in Effect


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_any_damage_to_an_instances_answers_is_read_or_a_failure(data: st.DataObject) -> None:
    """Law: an answer with any value replaced, of whatever type and size, ends in a reading or a failure."""

    def spoil(request: Incoming, body: bytes) -> bytes:
        if request.target == CONFIGURATION or not data.draw(st.booleans()):
            return body
        try:
            whole = json.loads(body)
        except ValueError:
            return body
        return json.dumps(data.draw(damaged(whole))).encode("utf-8", "replace")

    everything(spoil, names=(data.draw(st.sampled_from(sorted(AmpsAdminAdapter.readings))),))


NODES = ("uptime", "timestamp", "transaction_log", "transports", "replication", "queues", "clients")
MONSTROUS: list[object] = [
    *("9" * 5_000, "9" * 400, "-1", "1e999", "-1e999", "nan", f"{'9' * 5_000} 00:00:00", f"{'9' * 400} 00:00:00"),
    *("99999999T999999Z", "00010101T000000Z", "\ud800", "\x00", "../..", "..", "", [], {}, None, True, -1, 10**20),
]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("node", NODES)
def test_any_value_of_a_node_is_read_or_a_failure(node: str, every: int) -> None:
    """Law: the same for every field of every node, with each of a list of monstrous values in its place; by default with
    every fourth of them, and other ones in the next field. A node of few fields, such as a time, gets all of them."""
    one = ScriptedInstance(Stage().clock)
    fields = sorted(fields_of(one.sample()[node]) | {node})
    step = every if len(fields) > every else 1
    for place, field in enumerate(fields):
        for value in MONSTROUS[place % step :: step]:

            def spoil(request: Incoming, body: bytes, field: str = field, value: object = value) -> bytes:
                if not request.target.endswith(f"/{node}.json"):
                    return body
                return json.dumps(replaced(json.loads(body), field, value)).encode("utf-8", "replace")

            everything(spoil)


def fields_of(value: Any) -> set[str]:
    """The names of all fields in it, however deep."""
    if isinstance(value, dict):
        return set(value) | {name for one in value.values() for name in fields_of(one)}
    return {name for one in value for name in fields_of(one)} if isinstance(value, list) else set()


def replaced(whole: Any, field: str, value: object) -> Any:
    """``whole`` with ``value`` in every field of that name."""
    if isinstance(whole, dict):
        return {name: value if name == field else replaced(one, field, value) for name, one in whole.items()}
    return [replaced(one, field, value) for one in whole] if isinstance(whole, list) else whole


CONFIGURED = st.sampled_from(
    [
        *("<", "</a>", "&x;", "<!DOCTYPE a>", "\x00", "<Interval>9e999s</Interval>", "<Admin/>", "<a/>", "<Queue/>"),
        *("<JournalSize>" + "9" * 400 + "GB</JournalSize>", "9" * 5_000, "s", "-1", "<Include>/etc/passwd</Include>"),
    ]
)


@given(at=st.integers(0, 1_500), cut=st.integers(0, 40), put=CONFIGURED)
@settings(deadline=None, max_examples=200)
def test_any_damage_to_a_served_configuration_is_read_or_a_failure(at: int, cut: int, put: str) -> None:
    """Law: the configuration of an instance with anything cut out, or put in, is read or is unknown."""

    def spoil(request: Incoming, body: bytes) -> bytes:
        if request.target != CONFIGURATION:
            return body
        text = body.decode()
        return (text[:at] + put + text[at + cut :]).encode()

    everything(spoil, names=("transaction_log", "links", "bootstrap"))


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("JournalSize", "9" * 400 + "GB"),
        ("JournalSize", "9" * 5_000),
        ("Interval", "9" * 400 + "s"),
        ("Interval", "0s"),
    ],
)
def test_monstrous_settings_are_read_or_a_failure(element: str, text: str) -> None:
    """Law: the same for a size or a time that no number holds."""
    old = {"JournalSize": b"<JournalSize>10MB<", "Interval": b"<Interval>10s<"}[element]
    new = f"<{element}>{text}<".encode()
    everything(lambda request, body: body.replace(old, new))


# --- our own files, and what is typed --------------------------------------------------------------------------------


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_any_damage_to_a_fabric_is_noticed(data: st.DataObject, folder: Path) -> None:
    """Law: a fabric's file with any value replaced is a fabric, or an error that says which file to delete."""
    path = folder / "amps-world.json"
    path.write_text(json.dumps(data.draw(damaged(_fabric()))), encoding="utf-8", errors="replace")
    try:
        world = AmpsWorld.load(path, VirtualClock())
        world.tally()
        world.close()
    except FailoverError as error:
        assert "delete" in error.hint


@cache
def _fabric() -> Any:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "amps-world.json"
        clock = VirtualClock()
        world = AmpsWorld(amps_layout(), clock, path=path)
        clock.advance(20.0)
        world.kill(INSTANCES[HOME])
        world.close()
        return json.loads(path.read_text(encoding="utf-8"))


WORDS = [
    "disable:",
    "at 1s:",
    "any",
    "link",
    "A",
    "B",
    "down",
    "slow",
    "10x",
    "9" * 400 + "s",
    "1e999s",
    "-1s",
    "kill",
]


@given(text=st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
@settings(deadline=None, max_examples=300)
def test_any_fault_is_understood_or_refused(text: str) -> None:
    """Law: whatever is given as a fault of a fabric is one, or is refused as a definition."""
    try:
        parse_amps_faults([text])
    except DefinitionError as error:
        assert str(error)


# --- names ------------------------------------------------------------------------------------------------------------

WAYS: tuple[Way, ...] = ("in process", "over HTTP")


@pytest.mark.parametrize("way", WAYS)
def test_a_queue_of_any_name_is_told_by_that_name(way: Way, tmp_path: Path) -> None:
    """Law: what arrives at the instance is exactly the name of each of its queues, and of nothing else."""
    pair = WorldPair(tmp_path, way, queue_names=tuple(LEGAL))
    pair.kill(HOME)
    pair.wait(40)
    adapter = pair.adapter(AWAY)
    pair.wait(20)
    [result] = adapter.apply("set_proxied_transfer", [Call("orders", {"state": "enabled"})], Permits())
    told = [command.partition(" ")[2].partition(" ")[2] for command in pair.commands if "proxied" in command]
    assert result.effect is Effect.ACCEPTED, result.detail
    assert sorted(told) == sorted(f"queues/{name}!json" for name in LEGAL)
    pair.end()


@pytest.mark.parametrize("name", ["", "..", ".", "a\nb", "a\r\n\r\nGET /", "\x00", "\u2028", "\ud800", "\x1b[0m"])
def test_an_id_that_is_none_goes_nowhere(name: str) -> None:
    """Law: an id that would be another path, or another request, is not asked for; nothing at all is sent."""
    stage = Stage()
    stage.one.one("queues")["id"] = name
    stage.one.resample()
    result = apply(stage.settled(), "set_proxied_transfer", state="enabled")
    assert (result.effect in (Effect.NOT_SENT, Effect.REJECTED), stage.one.acted) == (True, [])


@given(name=st.text(min_size=1, max_size=12))
@settings(deadline=None, max_examples=150)
def test_any_id_arrives_as_it_is_or_not_at_all(name: str) -> None:
    """Law: the same for any id."""
    stage = Stage()
    stage.one.one("queues")["id"] = name
    stage.one.resample()
    result = apply(stage.settled(), "set_proxied_transfer", state="enabled")
    arrived = [unquote(one.split("/")[4]) for one in stage.one.acted]
    assert arrived == ([name] if result.effect is Effect.ACCEPTED else [])
    assert all(one.count("/") == 5 for one in stage.one.acted)
