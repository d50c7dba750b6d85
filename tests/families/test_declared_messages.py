"""A family in a file whose sites answer messages."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from adapters.declared.family import family_of
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import read_family
from orchestrator.errors import DefinitionError, Forbidden
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.exchanges import Exchange
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from tests.families.declared_messages import PASSWORD, VALVE, Plant, served

pytestmark = pytest.mark.realtime
pytest.importorskip("nats", reason="no client of NATS: pip install nats-py")


class Anytime:
    """A permit that is never taken back. ``seen``: what the server had heard whenever it was asked for."""

    def __init__(self, plant: Plant | None = None) -> None:
        self._plant = plant
        self.seen: list[int] = []

    def check(self) -> None:
        """It holds."""
        self.seen.append(0 if self._plant is None else len(self._plant.heard))


@pytest.fixture
def plant() -> Plant:
    """A closed valve."""
    return Plant()


@pytest.fixture
def port(plant: Plant) -> Iterator[int]:
    """Where it is served."""
    with served(plant) as port:
        yield port


class Ears:
    """A witness that keeps what it hears."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def heard(self, exchange: Exchange) -> None:
        """One more."""
        self.lines.append(f"{exchange.sent.split(' {')[0]}: {exchange.failed or exchange.answer[:7]}")


def adapter_at(
    port: int, *, read_only: bool = False, password: str = PASSWORD, ears: Ears | None = None, **options: Any
) -> Adapter:
    """The adapter of a site whose server listens at ``port``."""
    family = family_of(FamilyFile.model_validate(VALVE), None)
    site = Site.model_validate(
        {
            "name": "ny",
            "adapter": "valve",
            "devices": [{"name": "ny1", "address": "127.0.0.1", "port": port}],
            "login": {"username": "ops", "password": {"inline": password}},
            "connect_timeout": 2,
            "options": {"room": "A", "pipes": ["cold", "hot"], "mate": "W", "scheme": "nats", **options},
        }
    )
    context = AdapterContext(SystemClock(), SecretStore(), read_only=read_only, witness=ears)
    kind = family.adapters["valve"]
    return cast("Adapter", kind(site, context))  # type: ignore[call-arg]


def values(adapter: Adapter, service: str = "one") -> dict[str, Any]:
    """What is read of a valve."""
    found = adapter.probe("valve", [service])[service]
    assert not isinstance(found, Failure), found
    return found.model_dump(exclude={"kind"})


def test_what_is_read(plant: Plant, port: int) -> None:
    """Law: names are whole parts of a subject; a list is compared with an option; what an answer lacks has the value that
    the file gives it; an error that is an answer leaves all else unknown; the connection stays open."""
    with closing(adapter_at(port)) as adapter:
        closed = values(adapter)
        assert closed == {
            "known": True,
            "flows": False,
            "flows_alone": False,
            "broken": False,
            "here": True,
            "on": False,
            "waiting": 7,
        }
        plant.valve["pipes"] = ["hot", "cold"]
        assert values(adapter) == closed | {"flows": True, "flows_alone": True, "on": True}
        plant.valve["pipes"].append("waste")
        assert values(adapter) == closed | {"flows": True, "on": True}
        plant.valve["broken"] = True
        assert values(adapter) == closed | {"flows": True, "on": False, "broken": True}
        absent = dict.fromkeys(closed) | {"known": False, "on": False}
        assert values(adapter, "two") == absent
        assert len(plant.logins) == 1
    assert plant.heard == ["request V.INFO.A.one"] * 4 + ["request V.INFO.A.two"]


def test_what_is_done(plant: Plant, port: int) -> None:
    """Law: a document is read, and sent whole with what the file changes; the lease is asked for between the two. The dry
    run shows both, and the wire log has every message."""
    permit, ears = Anytime(plant), Ears()
    with closing(adapter_at(port, ears=ears)) as adapter:
        [result] = adapter.apply("open", [Call("one")], permit)
        assert result.effect is Effect.ACCEPTED, result.detail
        assert plant.valve == {"room": "A", "size": 3, "pipes": ["cold", "hot"], "by": "ops"}
        assert permit.seen == [1]
        assert list(result.sent) == [
            "request V.SET.A.one with the answer of request V.INFO.A.one at /valve, "
            'but pipes ["cold", "hot"], by "ops", no note'
        ]
        [result] = adapter.apply("close", [Call("one")], permit)
        assert result.effect is Effect.ACCEPTED, result.detail
        assert plant.valve == {"room": "A", "size": 3, "by": "ops", "next": 8}
    assert [line.split(" {")[0] for line in plant.heard[2:]] == [
        "request W.INFO.A.one",
        "request V.SET.A.one",
        "request V.FORGET.A",
    ]
    assert [line.split(":")[0] for line in ears.lines] == [line.split(" {")[0] for line in plant.heard]
    assert list(result.sent) == [
        'request V.SET.A.one {"service": "one"} with the answer of request W.INFO.A.one at /valve as valve, '
        "but next /waiting + 1, no pipes",
        "request V.FORGET.A",
    ]


@pytest.mark.parametrize(
    ("says", "effect", "heard"),
    [
        (["fine", 409], Effect.REJECTED, 2),
        (["fine", 500], Effect.DOUBTFUL, 2),
        (["fine", "silent"], Effect.DOUBTFUL, 2),
        (["fine", "hang-up"], Effect.DOUBTFUL, 2),
        (["fine", "no JSON"], Effect.DOUBTFUL, 2),
        (["fine", "nobody"], Effect.NOT_SENT, 2),
        (["fine", "denied"], Effect.NOT_SENT, 2),
        (["fine", "fine", 500], Effect.DOUBTFUL, 3),
        (["fine", "fine", "nobody"], Effect.DOUBTFUL, 3),
        (["silent"], Effect.REJECTED, 1),
        (["hang-up", "hang-up"], Effect.REJECTED, 2),
        ([500], Effect.REJECTED, 1),
        (["nobody"], Effect.NOT_SENT, 1),
        (['{"valve": [], "waiting": 1}'], Effect.REJECTED, 1),
        (['{"valve": {}, "waiting": "1"}'], Effect.REJECTED, 1),
        (['{"valve": {}}'], Effect.REJECTED, 1),
    ],
)
def test_what_an_answer_means(plant: Plant, port: int, says: list[int | str], effect: Effect, heard: int) -> None:
    """Law: before the first message that changes something, nothing is in doubt; what that one was answered with is a
    refusal only where the file says so. Nothing is sent twice, but for what is read."""
    fine = '{"valve": {"room": "A"}, "waiting": 1}'
    plant.says = [fine if one == "fine" else one for one in says]
    with closing(adapter_at(port)) as adapter:
        [result] = adapter.apply("close", [Call("one")], Anytime())
    assert (result.effect, len(plant.heard)) == (effect, heard), result.detail


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        (["silent"], "CommandTimedOut"),
        (["hang-up", "hang-up"], "ConnectionLost"),
        (["nobody"], "Unreachable"),
        (["denied"], "AuthenticationFailed"),
        ([500], "UnreadableReply"),
        (["{"], "UnreadableReply"),
        (["[]"], "UnreadableReply"),
        (['{"valve": {"pipes": "cold"}}'], "UnreadableReply"),
        (['{"error": "no"}'], "UnreadableReply"),
    ],
)
def test_a_reading_that_fails(plant: Plant, port: int, says: list[int | str], kind: str) -> None:
    """Law: each way to fail has its kind, and the next reading finds a new connection."""
    plant.says = list(says)
    with closing(adapter_at(port)) as adapter:
        found = adapter.probe("valve", ["one"])["one"]
        assert isinstance(found, Failure)
        assert found.kind == kind, found.text
        assert values(adapter)["known"] is True


def test_a_connection_that_ended_unnoticed(plant: Plant, port: int) -> None:
    """Law: a reading is asked once more in a new connection."""
    with closing(adapter_at(port)) as adapter:
        plant.says = ["hang-up"]
        assert values(adapter)["known"] is True
    assert (len(plant.heard), len(plant.logins)) == (2, 2)


def test_a_server_that_is_down() -> None:
    """Law: a connection that is refused is said so, not tried again until the time for it is over."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = int(one.getsockname()[1])
    with closing(adapter_at(port)) as adapter:
        found = adapter.probe("valve", ["one"])["one"]
    assert isinstance(found, Failure)
    assert "Connect call failed" in found.text, found.text


def test_who_is_not_let_in(plant: Plant, port: int) -> None:
    """Law: a login that is refused, a server that is not there, and one that does not greet are told apart; the password
    is in no sentence."""
    with closing(adapter_at(port, password="battery-staple")) as adapter:
        refused = adapter.probe("valve", ["one"])["one"]
    assert isinstance(refused, Failure)
    assert (refused.kind, "battery" in refused.text) == ("AuthenticationFailed", False), refused.text
    absent = adapter_at(1).probe("valve", ["one"])["one"]
    assert isinstance(absent, Failure)
    assert absent.kind == "Unreachable"
    plant.is_mute = True
    mute = adapter_at(port).probe("valve", ["one"])["one"]
    assert isinstance(mute, Failure)
    assert mute.kind == "Unreachable", mute.text


@pytest.mark.parametrize("turn", range(20))
def test_a_login_that_is_refused_abruptly(plant: Plant, port: int, turn: int) -> None:
    """Law: a server that resets the connection after its refusal is still reported as one that refused the login."""
    plant.is_abrupt = True
    with closing(adapter_at(port, password="battery-staple")) as adapter:
        refused = adapter.probe("valve", ["one"])["one"]
    assert isinstance(refused, Failure)
    assert (refused.kind, "refused the login" in refused.text) == ("AuthenticationFailed", True), (turn, refused.text)


@pytest.mark.parametrize(
    "line",
    [b"INFO", b"INFO {", b"INFO []\r\n", b'INFO {"connect_urls": 1}\r\n', b"SSH-2.0-x\r\n", b"-ERR", b"\xff\r\n"],
)
def test_a_first_line_that_is_nonsense(plant: Plant, port: int, line: bytes) -> None:
    """Law: a server that sends half a line, or no line of NATS, is one that cannot be reached; nothing was sent."""
    plant.greets = line
    with closing(adapter_at(port)) as adapter:
        found = adapter.probe("valve", ["one"])["one"]
        [result] = adapter.apply("open", [Call("one")], Anytime())
    assert isinstance(found, Failure)
    assert (found.kind, result.effect) == ("Unreachable", Effect.NOT_SENT), (found, result)


def test_a_server_without_tls(plant: Plant, port: int) -> None:
    """Law: where the inventory does not allow plain text, a server that offers nothing else never gets the login."""
    with closing(adapter_at(port, scheme="tls")) as adapter:
        found = adapter.probe("valve", ["one"])["one"]
    assert isinstance(found, Failure)
    assert found.kind == "Unreachable", found.text
    assert plant.logins == []


def test_plain_text_to_another_machine() -> None:
    """Law: a password leaves this machine in clear text only where the inventory says so."""
    site = Site.model_validate(
        {
            "name": "ny",
            "adapter": "valve",
            "devices": [{"name": "ny1", "address": "192.0.2.1", "port": 4222}],
            "options": {"room": "A", "pipes": ["cold"], "mate": "W", "scheme": "nats"},
        }
    )
    kind = family_of(FamilyFile.model_validate(VALVE), None).adapters["valve"]
    adapter = cast("Adapter", kind(site, AdapterContext(SystemClock(), SecretStore())))  # type: ignore[call-arg]
    with pytest.raises(DefinitionError, match="clear text"):
        adapter.open()


@pytest.mark.parametrize("service", ["one.two", "*", "a>b"])
def test_a_name_that_would_be_another_subject(plant: Plant, port: int, service: str) -> None:
    """Law: the name of a service is one part of a subject, or nothing is sent."""
    with closing(adapter_at(port)) as adapter:
        found = adapter.probe("valve", [service])[service]
        [result] = adapter.apply("open", [Call(service)], Anytime())
    assert isinstance(found, Failure)
    assert (result.effect in (Effect.REJECTED, Effect.NOT_SENT), plant.heard) == (True, [])


def test_a_session_that_only_reads(plant: Plant, port: int) -> None:
    """Law: through it nothing is changed, by no action."""
    with pytest.raises(Forbidden):
        list(adapter_at(port, read_only=True).apply("open", [Call("one")], Anytime()))
    assert plant.heard == []


def test_options_that_do_not_fit(port: int) -> None:
    """Law: an option of another type is refused by its name."""
    wrong: tuple[dict[str, Any], ...] = (
        {"pipes": "cold"},
        {"pipes": []},
        {"pipes": [1]},
        {"scheme": "http"},
        {"colour": "red"},
    )
    for options in wrong:
        with pytest.raises(DefinitionError, match=next(iter(options))):
            adapter_at(port, **options).open()


MISTAKES = {
    "no server": ("connect: {nats: {}}", "connect: {}", "not-connected"),
    "a dot in a part": ("subject: [V, FORGET, '{room}']", "subject: [V.FORGET, '{room}']", "subject-part"),
    "a wildcard": ("subject: [V, FORGET, '{room}']", "subject: [V, FORGET, '*']", "subject-part"),
    "a reading that changes": ("subject: [V, INFO,", "subject: [V, DELETE,", "reading-changes"),
    "a document that changes something": (
        "subject: ['{mate}', INFO,",
        "subject: ['{mate}', CREATE,",
        "reading-changes",
    ),
    "half a part": ("subject: [V, FORGET, '{room}']", "subject: [V, FORGET, 'x{room}']", "half-word"),
    "an unknown option": ("subject: [V, FORGET, '{room}']", "subject: [V, FORGET, '{rom}']", "unknown-option"),
    "an unknown option in what is set": ("by: '{username}'", "by: '{user}'", "unknown-option"),
    "a list in a subject": ("subject: [V, FORGET, '{room}']", "subject: [V, FORGET, '{pipes}']", "list-word"),
    "a list that is compared": ("true_when: '{room}'", "true_when: '{pipes}'", "list-word"),
    "an option to compare with": ("true_when: '{room}'", "true_when: '{rom}'", "unknown-option"),
    "an unknown list": ("contains: '{pipes}'", "contains: '{pipe}'", "unknown-option"),
    "a secret in what is set": ("by: '{username}'", "password: word", "secret-written"),
    "set and dropped": ("- note", "- by", "wrong-value"),
    "no place for the document": ("        into: valve\n", "", "wrong-value"),
    "a body that is no frame": ("body:\n        service: '{service}'", "body: 1", "wrong-value"),
    "a list without a pointer": ("from: /valve/pipes", "from: '@code'", "wrong-value"),
    "another type if absent": ("absent: false", "absent: 'no'", "field-source"),
    "made of no field": ("flows: true", "flow: true", "unknown-field"),
    "made of itself": ("broken: false\n", "on: true\n", "unknown-field"),
    "judged twice": ("exactly: '{pipes}'", "exactly: '{pipes}'\n        true_when: 1", "wrong-value"),
    "an option that every such site has": ("options:\n", "options:\n  insecure_nats: {says: x}\n", "option-given"),
    "a default of another type": ("type: list", "type: list\n    default: cold", "option-default"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, tmp_path: Path) -> None:
    """Law: a mistake in a message is found where it was made, before anything is sent."""
    old, new, code = MISTAKES[name]
    text = _written()
    assert old in text, text
    path = tmp_path / "valve.yaml"
    path.write_text(text.replace(old, new, 1))
    read = read_family(path)
    assert read.value is None, name
    assert code in {one.code for one in read.findings if one.line is not None}, [str(one) for one in read.findings]


def test_control_the_file_has_none(tmp_path: Path) -> None:
    """Negative control: the file that the mistakes are made in is without one."""
    path = tmp_path / "valve.yaml"
    path.write_text(_written())
    assert read_family(path).findings == ()


def _written() -> str:
    text = yaml.safe_dump(dict(VALVE), sort_keys=False, width=1000)
    for old, new in (
        ("connect:\n  nats: {}", "connect: {nats: {}}"),
        ("subject:\n      - V\n      - INFO\n      - ", "subject: [V, INFO, "),
        ("subject: [V, INFO, '{room}'\n      - '{service}'", "subject: [V, INFO, '{room}', '{service}']"),
        ("subject:\n      - V\n      - FORGET\n      - '{room}'", "subject: [V, FORGET, '{room}']"),
        (
            "subject:\n          - '{mate}'\n          - INFO\n          - '{room}'\n          - '{service}'",
            "subject: ['{mate}', INFO, '{room}', '{service}']",
        ),
    ):
        assert old in text, text
        text = text.replace(old, new)
    return text
