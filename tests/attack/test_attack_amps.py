"""Whatever an AMPS instance answers, whatever its names are: a reading or a failure, and no path but the one meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.amps.admin.adapter import AmpsAdminAdapter
from adapters.http.server import Incoming, Outgoing
from orchestrator.contract import Effect
from orchestrator.errors import AdapterError
from tests.amps_admin.instance import ScriptedInstance
from tests.amps_admin.stage import Stage, apply
from tests.attack.damage import damaged

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
        assert apply(stage.settled(), name, **{argument: one.choices[0]}).effect in Effect


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
MONSTROUS = [
    *("9" * 5_000, "9" * 400, "-1", "1e999", "-1e999", "nan", f"{'9' * 5_000} 00:00:00", f"{'9' * 400} 00:00:00"),
    *("99999999T999999Z", "00010101T000000Z", "\ud800", "\x00", "../..", "..", "", [], {}, None, True, -1, 10**20),
]


@pytest.mark.parametrize("node", NODES)
def test_any_value_of_a_node_is_read_or_a_failure(node: str) -> None:
    """Law: the same for every field of every node, with each of a list of monstrous values in its place."""
    one = ScriptedInstance(Stage().clock)
    fields = sorted(fields_of(one.sample()[node]) | {node})
    for field in fields:
        for value in MONSTROUS:

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
