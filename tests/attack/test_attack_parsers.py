"""Whatever reaches a parser, it answers with a value or with a documented error: what other folders do not try."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.amps.config.bounded import STEPS_MAX, bounded
from adapters.amps.config.configuration import read_instance
from adapters.http.exchange import Reply
from adapters.solace.semp.adapter import SolaceSempAdapter
from adapters.solace.semp.envelope import Envelope, envelope_of, is_invalid_parameter
from adapters.solace.semp.v1 import mate_in, oldest_in, redundancy_in, reply_root, spool_in
from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, DefinitionError, FailoverError
from orchestrator.operations.verify import verify_file
from pipeline.history.facts import facts_of_text
from simulator.embedded import embedded_layout
from simulator.http.server import Incoming, Outgoing
from simulator.solace.faults import parse_faults
from simulator.solace.layout import TransactionLayout, VpnLayout
from simulator.solace.world import World
from tests.attack.damage import VALUES, damaged
from tests.semp import stage, v1_replies
from validator.validate import validate

JOURNALS = sorted((Path(__file__).parents[1] / "core/journals").glob("*.jsonl"))


# --- SEMP -------------------------------------------------------------------------------------------------------------

NODE = {"msgVpnName": "v", "replicationEnabled": True, "replicationRole": "active", "replicationBridgeUp": True}
ENVELOPE = stage.ok(
    [NODE], [{"transactions": {"count": 1}}], count=1, paging={"nextPageUri": "x", "cursorQuery": "y"}
)


@given(body=st.binary(max_size=60) | damaged(ENVELOPE).map(lambda body: json.dumps(body).encode("utf-8", "replace")))
@settings(deadline=None, max_examples=200)
def test_any_semp_answer_is_an_envelope_or_an_error(body: bytes) -> None:
    """Law: whatever a broker says, and with whatever status, it is an envelope or an error of adapters."""
    for status in (200, 400, 503):
        reply = Reply(status, {}, body, 0.0, 0.0)
        assert is_invalid_parameter(reply) in (True, False)
        try:
            assert isinstance(envelope_of(reply, "d", is_read=True), Envelope)
        except AdapterError as error:
            assert str(error)


@given(data=st.data(), reading=st.sampled_from(sorted(SolaceSempAdapter.readings)))
@settings(deadline=None, max_examples=150)
def test_any_damage_to_a_brokers_answers_is_read_or_a_failure(data: st.DataObject, reading: str) -> None:
    """Law: an answer of a real layout with any value replaced, of whatever type, ends in a reading or a failure."""
    semp = stage.Semp(VpnLayout("a"), VpnLayout("b", backlog=6, transactions=(TransactionLayout("1-1-1"),)))
    for wire in semp.wires.values():
        wire.handler = _spoiling(wire.handler, data)
    try:
        answers = semp.adapter().probe(reading, ["a", "b"])
    except AdapterError as error:
        assert str(error)
    else:
        assert set(answers) == {"a", "b"}
        assert all(answer is not None for answer in answers.values())


def _spoiling(handler: Callable[[Incoming], Outgoing], data: st.DataObject) -> Callable[[Incoming], Outgoing]:
    def answer(request: Incoming) -> Outgoing:
        told = handler(request)
        try:
            whole = json.loads(told.body)
        except ValueError:
            return told
        if "about" in request.target or not data.draw(st.booleans()):
            return told
        return replace(told, body=json.dumps(data.draw(damaged(whole))).encode("utf-8", "replace"))

    return answer


def _v1_samples() -> list[str]:
    return [
        v1_replies.failed("no"),
        *(value for value in vars(v1_replies).values() if isinstance(value, str) and "<" in value),
    ]


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_any_damage_to_a_v1_answer_is_read_or_refused(data: st.DataObject) -> None:
    """Law: a reply of SEMP v1 with anything cut out, or put in, is read or is an error of adapters."""
    sample = data.draw(st.sampled_from(_v1_samples()))
    at = data.draw(st.integers(0, len(sample)))
    put = data.draw(
        st.sampled_from(["", "<", "</a>", "&x;", "<!DOCTYPE a>", "\x00", "-1", "nan", "<a/>", "9" * 5000])
    )
    text = sample[:at] + put + sample[at + data.draw(st.integers(0, 30)) :]
    try:
        show = reply_root(Reply(200, {}, text.encode(), 0.0, 0.0), "d")
    except AdapterError:
        return
    for read in (
        lambda: redundancy_in(show, "d"),
        lambda: spool_in(show, "d"),
        lambda: oldest_in(show, "q"),
        lambda: mate_in(show),
    ):
        try:
            read()
        except AdapterError as error:
            assert str(error)


# --- AMPS -------------------------------------------------------------------------------------------------------------

SIGNS = st.sampled_from(
    [
        *"ab.^$|()[]*+?\\{}",
        "{1,3}",
        "{2,}",
        "(?:",
        "(?!",
        "(?=",
        "(?P<n>",
        "(?>",
        "[^",
        "\\d",
        "?+",
        "(?#",
        "(?x)",
        "(?i)",
    ]
)


@given(text=st.lists(SIGNS, max_size=10).map("".join), name=st.text("ab1", max_size=6))
@settings(max_examples=500, deadline=None)
def test_a_bounded_expression_answers_as_python_or_not_at_all(text: str, name: str) -> None:
    """Law: any expression that Python reads is bounded or given up; and the bound never changes an answer."""
    try:
        compiled = re.compile(text)
    except (re.error, OverflowError, FutureWarning):  # a warning is an error, here as in compile_pattern
        return
    found = bounded(compiled)
    if found is not None:
        assert found.search(name) in (None, compiled.search(name) is not None)
        assert found.fullmatch(name) in (None, compiled.fullmatch(name) is not None)


@pytest.mark.parametrize(
    ("text", "is_tried"),
    [
        ("^orders/.*$", True),
        ("^((?!HKG|NYC).)*$", True),
        (r"^([0-9]{1,3}\.){3}[0-9]{1,3}$", True),
        ("^(a+)+$", False),
        ("^(a|a)*$", False),
        ("^(a|b|ab)*c$", False),
        ("^" + "a?" * 40 + "a" * 40, False),
        ("(.*)(.*)(.*)(.*)(.*)x", False),
        ("(?=(a+)+$)a", False),
    ],
)
def test_which_expressions_are_tried(text: str, is_tried: bool) -> None:
    """Law: an ordinary expression is tried on a name of 60 characters; one that explodes is not."""
    found = bounded(re.compile(text))
    assert (found is not None and found.bound.on(60) <= STEPS_MAX) is is_tried


def test_dear_answers_are_not_given_for_ever() -> None:
    """Law: an expression that is dear, not endless, is tried on some names and then no more."""
    found = bounded(re.compile(".*x.*y"))
    assert found is not None
    answers = [found.search("x" * 60 + str(number)) for number in range(1_000)]
    assert (answers[0], answers[-1]) == (False, None)


@given(
    names=st.lists(
        st.sampled_from(["a.xml", "b.xml", "c.xml", "", ".", "/dev/null", "no.xml", "${X}", "\x01"]), max_size=4
    ),
    deeper=st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_any_includes_are_read_or_refused(names: list[str], deeper: bool, folder: Path) -> None:
    """Law: files that include each other, nothing, folders, devices: an instance, or one sentence with the file."""
    includes = "".join(f"<Include>{name}</Include>" for name in names if name != "\x01") + (
        "<Include>\x01</Include>" if "\x01" in names else ""
    )
    (folder / "a.xml").write_text(f"<AMPSConfig><Name>A</Name><SOW>{includes}</SOW></AMPSConfig>")
    (folder / "b.xml").write_text(
        "<Include>c.xml</Include><Include>a.xml</Include>" if deeper else "<Topic/><Topic/>"
    )
    (folder / "c.xml").write_text("<Topic><Name>t</Name></Topic>")
    try:
        assert validate([read_instance(folder / "a.xml")]).to_json()
    except DefinitionError as error:
        assert str(folder) in str(error)


# --- our own files ----------------------------------------------------------------------------------------------------


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_any_damage_to_a_world_is_noticed(data: st.DataObject, folder: Path) -> None:
    """Law: a world's file with any value replaced is a world, or an error that says which file to delete."""
    path = folder / "world.json"
    path.write_text(json.dumps(data.draw(damaged(_world()))), encoding="utf-8", errors="replace")
    try:
        World.load(path, VirtualClock()).close()
    except FailoverError as error:
        assert "delete" in error.hint


@cache
def _world() -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "world.json"
        world = World(embedded_layout(), VirtualClock(), path=path)
        world.save()
        world.close()
        return json.loads(path.read_text(encoding="utf-8"))


@given(
    text=st.text(max_size=80), journal=st.sampled_from(JOURNALS), at=st.integers(0, 20_000), length=st.integers(0, 50)
)
@settings(deadline=None, max_examples=100)
def test_any_damage_to_an_export_is_noticed(text: str, journal: Path, at: int, length: int, folder: Path) -> None:
    """Law: an exported run with anything in it replaced is not what was written, or is no export."""
    whole = journal.read_text(encoding="utf-8")
    spoilt = whole[:at] + text + whole[at + length :]
    path = folder / "run.jsonl"
    path.write_bytes(spoilt.encode("utf-8", "surrogatepass"))
    try:
        verdict = verify_file(path)
    except DefinitionError as error:
        assert str(path) in str(error)
    else:
        assert verdict.problem or [json.loads(line) for line in spoilt.splitlines()] == [
            json.loads(line) for line in whole.splitlines()
        ]


@pytest.mark.parametrize(
    ("field", "value"),
    [("lane", ""), ("lane", 0), ("lane", False), ("lane", []), ("seq", True), ("seq", 1.0), ("more", 1)],
)
def test_a_value_that_only_looks_alike_is_noticed(field: str, value: object, folder: Path) -> None:
    """Law: what stands in an exported record is what was written, in its kind too: what is counted or hashed alike, and
    is another value, is no record; nor is one with a field more."""
    first, *rest = JOURNALS[0].read_text(encoding="utf-8").splitlines(keepends=True)
    path = folder / "alike.jsonl"
    path.write_text(json.dumps({**json.loads(first), field: value}) + "\n" + "".join(rest), encoding="utf-8")
    with pytest.raises(DefinitionError, match="is not an exported run"):
        verify_file(path)


@given(value=VALUES)
@settings(deadline=None, max_examples=150)
def test_any_value_is_no_export(value: object, folder: Path) -> None:
    """Law: a line that is any other JSON value is one sentence."""
    path = folder / "value.jsonl"
    path.write_text(json.dumps(value) + "\n", encoding="utf-8")
    with pytest.raises(DefinitionError, match="is not an exported run"):
        verify_file(path)


@given(
    text=st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                "drain:",
                "at 1s:",
                "bridge",
                "down",
                "5s",
                "9" * 400 + "s",
                "1e999s",
                "slow",
                "100x",
                "V",
                "role",
                "ny",
                "active",
                "late",
                "-1s",
                "nans",
            ]
        ),
        max_size=6,
    ).map(" ".join)
)
@settings(deadline=None, max_examples=300)
def test_any_fault_is_understood_or_refused(text: str) -> None:
    """Law: whatever is given as a fault is one, or is refused as a definition."""
    try:
        parse_faults([text])
    except DefinitionError as error:
        assert str(error)


CHECK = {
    "at": "2026-11-20T03:05:00+00:00",
    "simulated": True,
    "pairs": [
        {"sites": {"ny": {"reachable": "good"}}, "services": [{"service": "A", "checks": {"bridge": "degraded"}}]}
    ],
}


@given(document=damaged(CHECK) | VALUES)
@settings(deadline=None, max_examples=300)
def test_any_damage_to_a_kept_check_is_facts_or_an_unread_file(document: object) -> None:
    """Law: what `failover check --json` printed, with any value replaced, gives facts whose fields are what a table of
    them takes, or the one fact that the file could not be read."""
    for fact in facts_of_text("check.json", json.dumps(document)):
        assert isinstance(fact.at, float)
        assert fact.simulated in (True, False, None)
        for text in (fact.kind, fact.service, fact.site, fact.name, fact.state, fact.file):
            assert text is None or isinstance(text.encode(), bytes)  # it can be written
