"""docs/how-to/hooks.md is true: its example loads, its receiver runs, and it has every event, attribute and command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from orchestrator.cli.commands import hooks as commands
from orchestrator.clock import SystemClock
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import HookEvent, Inventory
from orchestrator.notifications.delivery import BACK_OFF_FIRST, BACK_OFF_MAX
from orchestrator.notifications.message import SIGNATURE_HEADER, signature
from orchestrator.notifications.webhook import WebhookSender
from tests.hooks.hooking import SECRET, Scripted, a_webhook
from tests.hooks.test_hook_command import a_message

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/hooks.md").read_text(encoding="utf-8")


def test_every_event_is_told() -> None:
    """Law: the table of events is that of the program."""
    table = PAGE.split("## Events of a hook")[1].split("##")[0]
    told = {
        name for row in re.findall(r"^\|([^|]*)\|", table, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)
    }
    assert told == set(get_args(HookEvent))


def test_the_example_can_be_used(tmp_path: Path) -> None:
    """Law: what the page shows can be pasted under an inventory."""
    from orchestrator.documents.loader import load_inventory

    [text] = re.findall(r"<!-- hooks -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    sites = "sites: {a: {adapter: mock, devices: [{name: d}]}, b: {adapter: mock, devices: [{name: e}]}}\n"
    path = tmp_path / "inventory.yaml"
    path.write_text(sites + "pairs: [{name: p, sites: [a, b], services: [s]}]\n" + text, encoding="utf-8")
    inventory: Inventory = load_inventory(path)[0]
    assert [hook.name for hook in inventory.hooks] == ["pager", "log"]


@pytest.mark.realtime
def test_the_receiver_of_the_page_accepts_what_is_sent_and_nothing_else() -> None:
    """Law: who copies the page's check takes our requests, and refuses changed, old, and other people's ones."""
    [text] = re.findall(r"<!-- runs -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    page: dict[str, object] = {}
    exec(compile(text, "docs/how-to/hooks.md", "exec"), page)
    is_genuine = page["is_genuine"]
    assert callable(is_genuine)

    poster, hook, clock = Scripted(), a_webhook(), SystemClock()
    assert hook.webhook is not None
    secrets = SecretStore(None, environment={"HOOK_SECRET": SECRET})
    WebhookSender(hook, hook.webhook, poster=poster, secrets=secrets, clock=clock)(a_message())
    [(_, body, headers)] = poster.posts
    header = headers[SIGNATURE_HEADER]
    assert is_genuine(header, body, SECRET)
    assert not is_genuine(header, body + b" ", SECRET)
    assert not is_genuine(header, body, "another secret")
    assert not is_genuine(signature(SECRET, body, clock.now() - 301), body, SECRET)
    moved = re.sub(r"t=(\d+)", lambda found: f"t={int(found[1]) + 1}", header)
    for forged in (moved, "", "t=,v1=", "v1=" + header.split("v1=")[1], "t=x,v1=y", header.replace("v1", "v0")):
        assert not is_genuine(forged, body, SECRET)


def test_the_attributes_are_those_that_are_sent() -> None:
    """Law: the table of attributes is the event that is posted."""
    table = PAGE.split("| attribute | value |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(json.loads(a_message().cloud_event()))
    assert f"{SIGNATURE_HEADER}: t=" in PAGE


def test_the_event_of_the_page_has_the_shape_of_ours() -> None:
    """Law: the line that is shown has the keys of the line that is sent."""
    [text] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    shown, sent = json.loads(text), json.loads(a_message().line())
    assert list(shown) == list(sent) and list(shown["event"]) == list(sent["event"])


def test_every_command_is_told() -> None:
    """Law: each command on hooks is on the page, with its name."""
    names = {command.name for command in commands._APP.registered_commands}
    assert names == set(re.findall(r"`failover hooks (\w+)", PAGE))


def test_the_figures_are_those_of_the_program() -> None:
    """Law: what the page says of back-off and of the end of a run is what happens."""
    from orchestrator.operations.runs.hooks import END_WITHIN

    assert (BACK_OFF_FIRST, BACK_OFF_MAX, END_WITHIN) == (1.0, 60.0, 10.0)
    assert "after a second, then two, four, and so on up to a minute" in PAGE
    assert "waits up to 10 seconds for its hooks" in PAGE
