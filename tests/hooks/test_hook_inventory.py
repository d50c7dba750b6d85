"""Hooks in an inventory: what may be written, what is said about what may not, and what is never repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from orchestrator.documents.loader import load_inventory, read_inventory
from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.model.findings import Level
from orchestrator.model.inventory import Hook
from orchestrator.schemas import schemas
from tests.hooks.hooking import a_webhook, plan_with

HEAD = """\
sites:
  ny: {adapter: mock, devices: [{name: ny1}]}
  nj: {adapter: mock, devices: [{name: nj1}]}
pairs:
  - {name: trading, sites: [ny, nj], services: [Trading_VPN]}
hooks:
"""
GOOD = """\
  - name: pager
    on: [gate.asked, lane.escalated, run.finished]
    webhook:
      url: https://pager.example.com/in/T0KEN?team=ops
      secret: {env: PAGER_SECRET}
      ca_file: pager-ca.pem
    timeout: 5s
  - name: log
    on: ["*"]
    command: [logger, -t, failover]
"""


Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> Path:
        path = tmp_path / "inventory.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        return path

    return put


def findings(path: Path) -> list[tuple[int | None, str, str]]:
    """What is wrong, or not as it should be. Notes are about other parts of the inventory."""
    found = [one for one in read_inventory(path).findings if one.level is not Level.NOTE]
    return [(one.line, one.message, one.hint) for one in found]


def test_hooks_are_read(write: Write) -> None:
    """Law: commands and webhooks are read as written; ten seconds is the time-out of those that give none."""
    inventory, _ = load_inventory(write(GOOD))
    assert findings(write(GOOD)) == []
    pager, log = inventory.hooks
    assert (pager.on, pager.timeout) == (("gate.asked", "lane.escalated", "run.finished"), 5.0)
    assert pager.webhook is not None and pager.webhook.secret.reference.env == "PAGER_SECRET"
    assert (log.command, log.timeout) == (("logger", "-t", "failover"), 10.0)


def test_an_inventory_needs_no_hooks(tmp_path: Path) -> None:
    """Law: an inventory from before there were hooks is one without any."""
    path = tmp_path / "inventory.yaml"
    path.write_text(HEAD.removesuffix("hooks:\n"), encoding="utf-8")
    assert load_inventory(path)[0].hooks == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence", "hint"),
    [
        ("gate.asked,", "gate.aksed,", 8, "hooks[0].on[0] is 'gate.aksed', which is not allowed", "gate.asked?"),
        ("run.finished]", "run.finish]", 8, "hooks[0].on[2] is 'run.finish', which is not allowed", "run.finished?"),
        ("[gate.asked, lane.escalated, run.finished]", "[]", 8, "hooks[0].on: at least 1 entry must be given", ""),
        ("[gate.asked, lane.escalated, run.finished]", "run.finished", 8, "hooks[0].on must be a list", "one line"),
        ("    webhook:", "    web_hook:", 9, "unknown key web_hook in hooks[0]", "did you mean webhook?"),
        ("timeout: 5s", "timeout: 5", 13, "a duration must be a number with a unit", ""),
        ("timeout: 5s", "timeout: 0s", 13, "the timeout must be longer than 0 seconds", ""),
        ("[logger, -t, failover]", "[]", 16, "hooks[1].command: at least 1 entry must be given", ""),
        ("[logger, -t, failover]", "logger -t failover", 16, "hooks[1].command must be a list", ""),
        ("    command: [logger, -t, failover]\n", "", 14, "give exactly one of command, webhook", ""),
        ("name: log", "name: pager", 14, "two hooks are called pager", ""),
        ("name: log", "name: 'lo g'", 14, "hooks[1].name 'lo g' is not allowed", "use 1 to 63 letters"),
    ],
)
def test_mistakes_have_their_line(write: Write, old: str, new: str, line: int, sentence: str, hint: str) -> None:
    """Law: a mistake in a hook is told with its file and line, and with what was probably meant."""
    path = write(GOOD.replace(old, new, 1))
    found = findings(path)
    assert [one[0] for one in found] == [line]
    assert sentence in found[0][1] and hint in found[0][2]
    with pytest.raises(DefinitionError, match=rf"inventory\.yaml:{line}: "):
        load_inventory(path)


@pytest.mark.parametrize("port", [0, 65_536, 99_999])
@pytest.mark.parametrize("host", ["https://pager.example.com", "https://[::1]", "http://127.0.0.1"])
def test_a_port_that_is_none(write: Write, host: str, port: int) -> None:
    """Law: a port out of range is found beforehand, and not when there is something to tell."""
    url = f"{host}:{port}/in"
    found = findings(write(GOOD.replace("https://pager.example.com/in/T0KEN?team=ops", url)))
    assert [one[0] for one in found] == [10]
    assert "is not valid" in found[0][1] and found[0][2] == "use a port from 1 to 65535"


@pytest.mark.parametrize(
    "url",
    [
        "http://pager.example.com/",
        "http://10.0.0.1/in",
        "http://localhost.example.com/",
        "http://127.0.0.1.example.com/",
        "https://ops:hunter2-hunter2@pager.example.com/",
        "https://",
        "https:///in",
        "https://pager.example.com/a b",
        "https://pager.example.com/in#hunter2-hunter2",
        "https://pager.example.com:port/",
        "ftp://pager.example.com/",
        "file:///etc/passwd",
        "pager.example.com",
        "HTTPS://pager.example.com/",
        "",
    ],
)
def test_addresses_that_are_refused(write: Write, url: str) -> None:
    """Law: https only, but to this very machine; no password in the address; and what was written is not repeated."""
    found = findings(write(GOOD.replace("https://pager.example.com/in/T0KEN?team=ops", json.dumps(url))))
    assert [one[0] for one in found] == [10]
    assert "hunter2" not in str(found) and "use https://…, or http:// to this machine" in found[0][2]


@pytest.mark.parametrize(
    "url",
    [
        "https://pager.example.com",
        "https://pager.example.com:8443/in?team=ops&x=%20",
        "https://10.0.0.1/in",
        "https://[2001:db8::1]:443/in",
        "http://localhost:8080/in",
        "http://127.0.0.1/",
        "http://127.9.9.9:1/",
        "http://[::1]:8080/?x",
    ],
)
def test_addresses_that_are_taken(write: Write, url: str) -> None:
    """Law: any https address will do, and plain http within this machine."""
    assert findings(write(GOOD.replace("https://pager.example.com/in/T0KEN?team=ops", json.dumps(url)))) == []


@pytest.mark.parametrize(
    "secret", ["hunter2-hunter2", "{inline: hunter2-hunter2}", "{prompt: true}", "{env: A, file: b}", "{}"]
)
def test_secrets_are_referred_to(write: Write, secret: str) -> None:
    """Promise 10: a secret is in the environment or a file, nobody is asked for it, and a slip is not repeated."""
    found = findings(write(GOOD.replace("{env: PAGER_SECRET}", secret)))
    assert {one[0] for one in found} == {11}
    assert "hunter2" not in str(found)


def test_a_secret_in_the_address_is_a_warning(write: Write) -> None:
    """Law: what is recorded with each run is better not a password."""
    path = write(GOOD.replace("?team=ops", "?team=ops&api_token=hunter2-hunter2"))
    [finding] = (one for one in read_inventory(path).findings if one.level is not Level.NOTE)
    assert (finding.level, finding.code, finding.line) == (Level.WARNING, "inline-secret", 10)
    assert "hunter2" not in str(finding)


@pytest.mark.parametrize(
    ("hook", "fits"),
    [
        ({"command": ["x"]}, True),
        ({"webhook": {"url": "https://a", "secret": {"env": "X"}}}, True),
        ({"webhook": {"url": "http://127.0.0.1:1/", "secret": {"file": "x"}}, "timeout": "100ms"}, True),
        ({"webhook": {"url": "http://a", "secret": {"env": "X"}}}, False),
        ({"webhook": {"url": "https://a"}}, False),
        ({"webhook": {"url": "https://a", "secret": {"env": "X", "file": "y"}}}, False),
        ({"webhook": {"url": "https://a", "secret": {"inline": "X"}}}, False),
        ({"command": ["x"], "webhook": {"url": "https://a", "secret": {"env": "X"}}}, False),
        ({}, False),
        ({"command": []}, False),
        ({"command": "x"}, False),
        ({"command": ["x"], "on": []}, False),
        ({"command": ["x"], "on": ["run.end"]}, False),
        ({"command": ["x"], "timeout": 5}, False),
        ({"command": ["x"], "shell": True}, False),
    ],
)
def test_schema_and_loader_agree(tmp_path: Path, hook: dict[str, Any], fits: bool) -> None:
    """Law: what the JSON Schema refuses the loader refuses, and what it accepts the loader accepts."""
    site = {"adapter": "mock", "devices": [{"name": "d"}]}
    pair = {"name": "p", "sites": ["a", "b"], "services": ["s"]}
    data = {"sites": {"a": site, "b": site}, "pairs": [pair], "hooks": [{"name": "h", "on": ["*"], **hook}]}
    path = tmp_path / "inventory.yaml"
    path.write_text(json.dumps(data), encoding="utf-8")
    validator = jsonschema.Draft202012Validator(json.loads(schemas()["inventory.schema.json"]))
    assert validator.is_valid(data) is fits
    assert (read_inventory(path).value is not None) is fits


def test_hooks_are_stored_with_the_run() -> None:
    """Law: a resumed run has the hooks it began with, as they were; of a secret only where it is."""
    plan = plan_with(a_webhook(timeout="2.5s"), Hook(name="log", on=("*",), command=("x", "y z")))
    stored = ev.event_from_json(ev.RunCreated(plan=plan, by="ann", version="0").model_dump_json())
    assert isinstance(stored, ev.RunCreated) and stored.plan == plan
