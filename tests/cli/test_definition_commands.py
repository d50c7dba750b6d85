"""`failover runbook …` and `failover inventory …`: definitions in words, as drawings, as schemas, and their mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.documents.loader import load_runbook
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.operations.declared_families import offer_families
from tests.cli.shell import Shell
from tests.shipped import RUNBOOKS

INVENTORY = Path(__file__).parents[2] / "examples/inventory.yaml"


def test_list(shell: Shell) -> None:
    """Law: every shipped runbook is listed with its summary."""
    listed = [line.split("  ")[0] for line in shell("runbook", "list").out.splitlines()]
    assert listed == shipped_runbooks()


@pytest.mark.parametrize("name", RUNBOOKS)
def test_show_and_graph(shell: Shell, name: str) -> None:
    """Law: a runbook in words, and as a flowchart, has every step, with its way back and its point of no return."""
    offer_families()
    runbook = load_runbook(name)
    shown = shell("runbook", "show", name)
    assert shown.code == 0
    words = shown.out.splitlines()
    for number, step in enumerate(runbook.steps, 1):
        turning = "  (point of no return)" if step.point_of_no_return else ""
        assert f"{number}. {step.title}{turning}" in words
    assert sum(line.startswith("     undo ") for line in words) == sum(
        step.undo is not None for step in runbook.steps
    )
    assert not any("True" in line or "False" in line for line in words)
    graph = shell("runbook", "graph", name).out.splitlines()
    assert graph[0] == "flowchart TD"
    assert sum("-. undo .->" in line for line in graph) == sum(step.undo is not None for step in runbook.steps)


@pytest.mark.parametrize("kind", ["runbook", "inventory"])
def test_schema(shell: Shell, kind: str) -> None:
    """Law: the schema is JSON, as it stands on stdout."""
    assert json.loads(shell(kind, "schema").out)["$schema"].startswith("https://json-schema.org/")


def test_inventory(shell: Shell) -> None:
    """Law: an inventory is shown with its sites, devices and pairs, and without its secrets."""
    shown = shell("inventory", "show", str(INVENTORY)).out
    assert "site new-york (New York Data Center) through solace-cli" in shown
    assert "NY_Appliance1 at ny-appliance1.example.com:22, host key pinned" in shown
    assert "PASSWORD" not in shown
    assert shell("inventory", "lint", str(INVENTORY)).code == 0


def test_for_machines(shell: Shell) -> None:
    """Law: with --json a runbook and an inventory are values, as complete as in words. What may be a secret is not told:
    of a webhook's address the host alone, a password written down, an option of an adapter."""
    listed = [json.loads(line) for line in shell("runbook", "list", "--json").out.splitlines()]
    assert [one["runbook"] for one in listed] == shipped_runbooks()
    for name in shipped_runbooks():
        shown = json.loads(shell("runbook", "show", name, "--json").out)
        assert [step["id"] for step in shown["steps"]] == [step.id for step in load_runbook(name).steps]
    hook = "hooks:\n  - name: desk\n    on: [run.finished]\n    webhook:\n"
    address = "      url: https://desk.example.com/hidden-path\n      secret: {env: DESK_SECRET}\n"
    text = INVENTORY.read_text("utf-8").split("\nhooks:")[0] + "\n" + hook + address
    text = text.replace("{env: FAILOVER_NY_PASSWORD}", "{inline: hidden-word}", 1)
    text = text.replace("          commands:\n", "          token: hidden-token\n          commands:\n", 1)
    shown = shell("inventory", "show", str(shell.write("sites.yaml", text)), "--json")
    assert shown.code == 0, shown.err
    inventory = json.loads(shown.out)
    assert set(inventory["sites"]) == {"new-york", "new-jersey"}
    assert inventory["hooks"] == [{"name": "desk", "on": ["run.finished"], "receiver": "desk.example.com"}]
    assert text.count("hidden-") == 3 and "hidden-" not in shown.out


def test_lint_looks_at_adapters_too(shell: Shell) -> None:
    """Law: an inventory whose adapter is not there, or cannot do what the fence plan names, is told from a good one."""
    text = INVENTORY.read_text("utf-8").replace("adapter: solace-cli", "adapter: solace-clay", 1)
    ended = shell("inventory", "lint", str(shell.write("sites.yaml", text)))
    assert (ended.code, "[adapter-unusable]" in ended.out) == (4, True)


def test_lint_says_where(shell: Shell) -> None:
    """Law: a finding names file and line, in words and for machines, and an unreadable file is exit code 2."""
    path = shell.write("own.yaml", "runbook: own/move\nsummary: s\nsteps:\n  - {id: a, title: t, do: {on: moon}}\n")
    ended = shell("runbook", "lint", str(path), "--json")
    assert ended.code == 2
    assert {(value["file"], value["line"], value["level"]) for value in ended.values} == {(str(path), 4, "error")}
    assert f"{path}:4: error: " in shell("runbook", "lint", str(path)).out
    assert shell("inventory", "lint", "nothing.yaml").code == 2
    missing = shell("inventory", "show", "nothing.yaml")
    assert (missing.code, missing.complaint) == (2, "nothing.yaml: there is no such file")


def test_reset(shell: Shell) -> None:
    """Law: the embedded pair starts anew: ny active, as on the first day."""
    assert shell.move().code == 0
    assert shell.roles() == ("standby", "active")
    assert shell("lab", "reset").code == 0
    assert shell.roles() == ("active", "standby")
    assert shell.move().code == 0
