"""A family in a file whose sites have an API over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
import yaml

from adapters.declared.family import family_of
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import read_family
from orchestrator.errors import Forbidden
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from tests.families.declared_api import SWITCH, Room, served

pytestmark = pytest.mark.realtime


class Anytime:
    """A permit that is never taken back."""

    def check(self) -> None:
        """It holds."""


@pytest.fixture
def room() -> Room:
    """Off, with two jobs in it and one in another room."""
    return Room(jobs=[{"id": 1, "room": "A 1/2"}, {"id": 2, "room": "B"}, {"id": 3, "room": "A 1/2"}])


@pytest.fixture
def port(room: Room) -> Iterator[int]:
    """Where it is served."""
    with served(room) as port:
        yield port


def adapter_at(port: int, *, read_only: bool = False, password: str = "word") -> Adapter:
    """The adapter of a site whose API listens at ``port``."""
    family = family_of(FamilyFile.model_validate(SWITCH), None)
    site = Site.model_validate(
        {
            "name": "ny",
            "adapter": "switch",
            "devices": [{"name": "ny1", "address": "127.0.0.1", "port": port}],
            "login": {"username": "ops", "password": {"inline": password}},
            "options": {"room": "A 1/2", "scheme": "http"},
        }
    )
    context = AdapterContext(SystemClock(), SecretStore(), read_only=read_only)
    kind = family.adapters["switch"]
    return cast("Adapter", kind(site, context))  # type: ignore[call-arg]


def test_what_is_read(room: Room, port: int) -> None:
    """Law: names are whole, encoded parts of a path; rows are picked and counted; a status that is an answer says what it
    says, and leaves the rest unknown."""
    adapter = adapter_at(port)
    found = adapter.probe("switch", ["one", "two"])
    assert [found[name].model_dump(exclude={"kind"}) for name in ("one", "two")] == [
        {"known": True, "on": False},
        {"known": False, "on": None},
    ]
    assert adapter.probe("jobs", ["one"])["one"].model_dump(exclude={"kind"}) == {"waiting": 2}
    [*items] = adapter.probe("job", ["one"])["one"].model_dump()["items"]
    assert [item["id"] for item in items] == ["1", "2", "3"]
    assert room.heard == [
        "GET /rooms/A%201%2F2/one",
        "GET /rooms/A%201%2F2/two",
        "GET /jobs?state=waiting",
        "GET /jobs",
    ]
    adapter.close()


def test_what_is_done(room: Room, port: int) -> None:
    """Law: requests leave in order, once, as the dry run shows them."""
    adapter = adapter_at(port)
    [result] = adapter.apply("turn_on", [Call("one")], Anytime())
    assert (result.effect, room.on) == (Effect.ACCEPTED, True)
    assert list(result.sent) == ['PUT /rooms/A%201%2F2/one {"on": true, "by": "ops"}'] == room.heard
    [result] = adapter.apply("turn_off", [Call("one")], Anytime())
    assert (result.effect, room.on) == (Effect.ACCEPTED, False)
    assert room.heard[1:] == list(result.sent)
    adapter.close()


@pytest.mark.parametrize(
    ("says", "effect", "heard"),
    [
        ([409], Effect.REJECTED, 1),
        ([401], Effect.NOT_SENT, 1),
        ([500], Effect.DOUBTFUL, 1),
        ([204, 409], Effect.DOUBTFUL, 2),
        ([204, 401], Effect.DOUBTFUL, 2),
    ],
)
def test_what_an_answer_means(room: Room, port: int, says: list[int], effect: Effect, heard: int) -> None:
    """Law: a first request that was refused was not obeyed; what else is no success is doubt. Nothing is sent twice."""
    room.says = list(says)
    adapter = adapter_at(port)
    [result] = adapter.apply("turn_off", [Call("one")], Anytime())
    assert (result.effect, len(room.heard)) == (effect, heard)
    adapter.close()


def test_a_document_that_is_changed(room: Room, port: int) -> None:
    """Law: an API that replaces what it keeps is sent the whole of it, with what the file changes."""
    adapter = adapter_at(port)
    [result] = adapter.apply("name_it", [Call("one")], Anytime())
    assert (result.effect, room.heard) == (
        Effect.ACCEPTED,
        ["GET /rooms/A%201%2F2/one", 'PUT /rooms/A%201%2F2/one {"on": false, "size": 3, "by": "ops"}'],
    )
    assert list(result.sent) == [
        'PUT /rooms/A%201%2F2/one with the answer of GET /rooms/A%201%2F2/one, but by "ops", no note'
    ]
    adapter.close()


@pytest.mark.parametrize(
    ("says", "effect", "heard"),
    [
        ([404], Effect.REJECTED, 1),
        ([500], Effect.REJECTED, 1),
        ([401], Effect.NOT_SENT, 1),
        ([200, 409], Effect.REJECTED, 2),
        ([200, 500], Effect.DOUBTFUL, 2),
    ],
)
def test_a_document_that_cannot_be_had(room: Room, port: int, says: list[int], effect: Effect, heard: int) -> None:
    """Law: while the document is read nothing is in doubt, and an answer that is no document is never sent back."""
    room.says = list(says)
    room.answer = '{"on": false}'
    adapter = adapter_at(port)
    [result] = adapter.apply("name_it", [Call("one")], Anytime())
    assert (result.effect, len(room.heard)) == (effect, heard)
    adapter.close()


def test_no_answer_is_doubt(room: Room, port: int) -> None:
    """Law: an action that nobody answers in its time is in doubt, and is not sent again; a reading fails."""
    room.silent.set()
    adapter = adapter_at(port)
    [result] = adapter.apply("turn_on", [Call("one")], Anytime())
    assert (result.effect, len(room.heard)) == (Effect.DOUBTFUL, 1)
    adapter.close()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("{", "not JSON"),
        ("[]", "no list at '/jobs'"),
        ('{"jobs": {}}', "no list at '/jobs'"),
    ],
)
def test_half_an_answer(room: Room, port: int, answer: str, sentence: str) -> None:
    """Law: what is no list of rows is not taken for none of them."""
    room.answer = answer
    adapter = adapter_at(port)
    found = adapter.probe("jobs", ["one"])["one"]
    assert isinstance(found, Failure)
    assert sentence in found.text
    adapter.close()


def test_a_wrong_password_and_nobody_there(room: Room, port: int) -> None:
    """Law: a login that is refused, and a server that is not there, are told apart, and the password is in neither."""
    with closing(adapter_at(port, password="other")) as adapter:
        refused = adapter.probe("jobs", ["one"])["one"]
    assert isinstance(refused, Failure)
    assert (refused.kind, "401" in refused.text, "other" in refused.text) == ("AuthenticationFailed", True, False)
    absent = adapter_at(1).probe("jobs", ["one"])["one"]
    assert isinstance(absent, Failure)
    assert absent.kind == "Unreachable"


def test_a_session_that_only_reads(room: Room, port: int) -> None:
    """Law: through it nothing is changed, by no action."""
    with pytest.raises(Forbidden):
        list(adapter_at(port, read_only=True).apply("turn_on", [Call("one")], Anytime()))
    assert room.heard == []


MISTAKES = {
    "no API": ("connect: {http: {}}", "connect: {}", "not-connected"),
    "a reading that changes": ("get: [jobs]", "post: [jobs]", "reading-changes"),
    "a slash in a part": ("get: [jobs]", "get: [all/jobs]", "path-part"),
    "half a part": ("get: [jobs]", "get: ['jobs-{room}']", "half-word"),
    "an unknown option": ("pick: {room: '{room}'}", "pick: {room: '{rom}'}", "unknown-option"),
    "a name in a body": ("by: '{username}'", "by: 'user {username}'", "half-word"),
    "a secret in a body": ("by: '{username}'", "password: word", "secret-written"),
    "a secret in a query": ("state: waiting", "api_token: word", "secret-written"),
    "pick without rows": ("    rows: /jobs\n    pick", "    pick", "wrong-value"),
    "rows that are no pointer": ("rows: /jobs", "rows: jobs", "field-source"),
    "counted rows of nothing": ("from: '@code'", "from: '@rows'", "field-source"),
    "a column": ("from: /on", "from: 'on'", "field-source"),
    "two methods": ("get: [jobs]", "get: [jobs]\n      put: [jobs]", "wrong-value"),
    "a port that is no option": ("http: {}", "http: {port: door}", "unknown-option"),
    "a document that is not got": ("from: {get: [", "from: {put: [", "reading-changes"),
    "a secret that is set": (
        "by: '{username}'\n        drop",
        "password: '{username}'\n        drop",
        "secret-written",
    ),
    "an option that every such site has": ("options:\n", "options:\n  scheme: {says: x}\n", "option-given"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, tmp_path: Path) -> None:
    """Law: a mistake in a request is found where it was made, before anything is sent."""
    old, new, code = MISTAKES[name]
    text = _written()
    assert old in text, text
    path = tmp_path / "switch.yaml"
    path.write_text(text.replace(old, new, 1))
    read = read_family(path)
    assert read.value is None, name
    assert code in {one.code for one in read.findings if one.line is not None}, [str(one) for one in read.findings]


def test_control_the_file_has_none(tmp_path: Path) -> None:
    """Negative control: the file that the mistakes are made in is without one."""
    path = tmp_path / "switch.yaml"
    path.write_text(_written())
    assert read_family(path).findings == ()


def _written() -> str:
    text = yaml.safe_dump(dict(SWITCH), sort_keys=False, width=1000)
    for old, new in (
        ("connect:\n  http: {}", "connect: {http: {}}"),
        ("get:\n      - jobs", "get: [jobs]"),
        ("    pick:\n      room: '{room}'", "    pick: {room: '{room}'}"),
        (
            "from:\n          get:\n          - rooms\n          - '{room}'\n          - '{service}'\n"
            "          statuses:\n          - 404",
            "from: {get: [rooms, '{room}', '{service}'], statuses: [404]}",
        ),
    ):
        assert old in text, text
        text = text.replace(old, new)
    return text
