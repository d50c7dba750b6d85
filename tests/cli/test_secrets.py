"""Promise 10: secrets are in no journal, screen, report or error text; and a run is resumable all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Device, Login, SecretRef, Site
from simulator.embedded import embedded_layout
from tests.cli.echoing import ENTRY, EchoingAdapter, digest
from tests.cli.shell import VPN, Ended, Shell

CANARY = 'C4nary/+ "quoted" & <tag>'
REFERENCES: dict[str, dict[str, Any]] = {
    "inline": {"inline": CANARY},
    "env": {"env": "SITE_PASSWORD"},
    "file": {"file": "password"},
}


def an_inventory(shell: Shell, password: dict[str, Any], *, username: str = "operator", **options: Any) -> str:
    """Two echoing sites with this account."""
    inventory = json.loads(shell.inventory(embedded_layout()).read_text(encoding="utf-8"))
    for site in inventory["sites"].values():
        site |= {"adapter": "echoing", "login": {"username": username, "password": password}}
        site["options"] |= options
    return str(shell.write("echo.yaml", json.dumps(inventory)))


@pytest.fixture
def echoing(shell: Shell) -> Shell:
    """A shell that knows the echoing adapter, and the canary in its environment."""
    shell.registry = Registry([ENTRY])
    shell.environment = {"SITE_PASSWORD": CANARY}
    shell.write("password", CANARY + "\n").chmod(0o600)
    return shell


def leaks(shell: Shell, *ended: Ended, secret: str = CANARY) -> list[str]:
    """Where the secret is, in plain or in a JSON text."""
    forms = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]}
    places = {f"output {number}": one.out + one.err for number, one in enumerate(ended)}
    for path in shell.state.glob("journal.sqlite*"):
        places[path.name] = path.read_bytes().decode("utf-8", "replace")
    return [place for place, text in places.items() if any(form in text for form in forms)]


@pytest.mark.parametrize("kind", REFERENCES)
def test_a_device_that_repeats_the_password(echoing: Shell, kind: str) -> None:
    """Law: whatever a device repeats, the secret is in no record and on no output, however it got to us."""
    inventory = an_inventory(echoing, REFERENCES[kind], chatty=True)
    outputs = [
        echoing("controlled", "-i", inventory, "--vpn", VPN, "--yes", "--xa", "stop", "--xa", echoing.decisions),
        echoing("controlled", "-i", inventory, "--vpn", VPN, "--dry-run"),
        echoing("controlled", "-i", inventory, "--vpn", "Risk_VPN", "--yes", "--json"),
        echoing("status", "-i", inventory),
        echoing("status", "-i", inventory, "--json"),
        echoing("inventory", "show", inventory),
        echoing("inventory", "lint", inventory, "--json"),
        *(echoing("runs", command) for command in ("list", "show", "report", "export", "verify")),
    ]
    assert [one.code for one in outputs[:3:2]] == [0, 0]
    assert "[redacted]" in outputs[0].err
    assert "[redacted]" in echoing("runs", "export", "last").out
    assert leaks(echoing, *outputs) == []


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_login_that_fails_with_it(echoing: Shell, form: tuple[str, ...]) -> None:
    """Law: an error that quotes the password is shown without it, in words and for machines."""
    inventory = an_inventory(echoing, {"env": "SITE_PASSWORD"}, wanted="another")
    ended = echoing("controlled", "-i", inventory, "--vpn", VPN, "--yes", "--xa", "stop", *form)
    assert ended.code == 3
    assert "login failed: password '[redacted]' rejected" in ended.err
    assert leaks(echoing, ended) == []


@pytest.mark.parametrize("secret", ["operator", "standby", "bound", "4000", "done", "true", "message"])
def test_a_bad_password_does_not_spoil_the_record(echoing: Shell, secret: str) -> None:
    """Law: a password that is also a name, a word of the vocabulary or a number leaves the run resumable."""
    echoing.environment = {"SITE_PASSWORD": secret}
    inventory = an_inventory(echoing, {"env": "SITE_PASSWORD"}, wanted=digest(secret))
    ended = echoing("controlled", "-i", inventory, "--vpn", VPN, "--yes", "--xa", "stop", "--json")
    assert ended.code == 6
    assert all(isinstance(value, dict) for value in ended.values)
    assert echoing("runs", "verify").code == 0
    assert echoing("resume", "--xa", echoing.decisions).code == 0


def test_an_inline_password_is_asked_for_when_going_on(echoing: Shell) -> None:
    """Law: a secret written into the inventory is not in the record; resume asks, and never tries a mask of stars."""
    inventory = an_inventory(echoing, {"inline": CANARY}, wanted=digest(CANARY))
    assert echoing("controlled", "-i", inventory, "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    ended = echoing("resume", "--xa", echoing.decisions)
    assert ended.code == 2
    assert "the password of operator at ny must be typed, but there is no terminal" in ended.complaint
    assert "**" not in ended.err
    assert leaks(echoing, ended) == []


def test_control_the_echo_is_loud(echoing: Shell) -> None:
    """Negative control: without redaction the canary would be everywhere; the adapter does repeat it."""
    inventory = echoing.inventory(embedded_layout())
    world = json.loads(inventory.read_text(encoding="utf-8"))["sites"]["ny"]["options"]["world"]
    login = Login(username="operator", password=SecretRef(env="SITE_PASSWORD"))
    site = Site(
        name="ny",
        adapter="echoing",
        devices=(Device(name="NY_Appliance1"),),
        login=login,
        options={"world": world, "chatty": True},
    )
    store = SecretStore(environment=echoing.environment)
    answers = EchoingAdapter(site, AdapterContext(echoing.clock, store)).probe("replication", [VPN])
    assert CANARY in str(answers[VPN])
    assert CANARY not in store.redactor.scrub(str(answers[VPN]))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://failover:s3cret%2Fjournal@127.0.0.1:1/none",
        "postgresql+psycopg://127.0.0.1:1/none?user=failover&password=s3cret%2Fjournal&sslmode=s3cret%2Fjournal",
    ],
)
def test_the_journal_of_a_database(shell: Shell, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Law: the password in a journal's URL is on no output, neither in the record's place nor in an error."""
    monkeypatch.setenv("FAILOVER_JOURNAL", url)
    ended = shell("runs", "list")
    assert ended.code == 6
    assert "s3cret" not in ended.out + ended.err
