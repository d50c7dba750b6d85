"""What somebody is shown who is to agree to a plan: every command, and where the procedure is not the shipped one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchestrator.operations.runs.differences import differences
from tests.cli.office import Office
from tests.cli.shell import SHIPPED, VPN, Shell

ASK = ("--yes", "--approve-by", "1", "--approve-within", "1m")


@pytest.fixture
def office(shell: Shell) -> Office:
    """A machine without a policy."""
    return Office(shell)


def shown(office: Office, *arguments: str, **more: Any) -> str:
    """What bob is shown of the run that ann asks for."""
    seen: list[str] = []
    office.does("ann", *arguments, *ASK, meanwhile=[lambda: seen.append(office.does("bob", "approve", "--show").out)])
    assert len(seen) == 1, office.seen[-1].err
    return seen[0]


def test_the_shipped_procedure_is_said_to_be_shipped(office: Office) -> None:
    """Law: a plan whose procedure is the shipped one says so."""
    assert "the procedure is solace/controlled as shipped" in shown(office, "controlled", "--vpn", VPN)


def test_every_command_is_shown(office: Office) -> None:
    """Law (S4): all commands that the dry run has are shown, per service and step, in order; no device is asked."""
    dry = office.does("ann", "controlled", "--vpn", VPN, "--dry-run", "--json").result["lanes"][0]
    steps = [step for step in dry["steps"] if step["id"] in ("demote", "activate")]
    changing = [one["line"] for step in steps for one in step["commands"] if one["purpose"] == "change"]
    text = shown(office, "controlled", "--vpn", VPN)
    places = [text.index(f"> {line}\n") for line in dict.fromkeys(changing)]
    assert len(changing) >= 6 and places == sorted(places)
    assert "each      complete_transaction, once for each item that is listed then: commit or rollback" in text
    data = office.does("bob", "approve", "last", "--show", "--json").result
    assert [one["line"] for one in data["commands"] if one["purpose"] == "change"] == changing
    reads = [one["line"] for step in dry["steps"] for one in step["commands"] if one["purpose"] == "read"]
    assert [one["line"] for one in data["commands"] if one["purpose"] == "read"] == reads
    assert data["is_shipped"] is True


def test_commands_for_transactions_that_are_decided(office: Office) -> None:
    """Law: what would be sent for a transaction that is decided in advance is shown word for word."""
    text = shown(office, "controlled", "--vpn", VPN, "--xa", office.shell.decisions)
    for word in ("commit 0021B028-00-01", "rollback 0021ABC4-00-01"):
        choice, xid = word.split()
        assert [line for line in text.splitlines() if "if listed" in line and choice in line and xid in line], word


LOST = "gate: bridge-lost, choices: [wait, revert, escalate], unattended: "
DISGUISED = ((f"{LOST}revert", f"{LOST}escalate"), ("grace: 60s", "grace: 0s"), ("after: 2m", "after: 1s"))


def disguised(office: Office) -> str:
    """A procedure under the shipped one's name that gives up the guarantee by itself, with the same titles."""
    text = SHIPPED.read_text(encoding="utf-8")
    for old, new in DISGUISED:
        assert old in text
        text = text.replace(old, new)
    return str(office.shell.write("rb.yaml", text))


def test_a_disguised_procedure(office: Office) -> None:
    """Law (S4): a file that calls itself like a shipped procedure is shown with every place where it is another one."""
    text = shown(office, "controlled", "--vpn", VPN, "--runbook", disguised(office))
    assert "NOT AS SHIPPED: solace/controlled differs in" in text
    for line in (
        "steps.drain.when_guard_breaks.unattended: revert -> escalate",
        "steps.drain.when_guard_breaks.grace: 1m -> 0",
        "steps.drain.when_stalled.after: 2m -> 1s",
    ):
        assert line in text


def test_it_is_also_shown_when_asked(office: Office) -> None:
    """Law: what bob confirms on his terminal has the same lines."""
    from orchestrator.operations.runs.agreement import what_is_asked
    from orchestrator.operations.runs.approval import folded_with_creation

    lines: list[str] = []

    def look() -> None:
        tools = office.tools("bob")
        journal = tools.journal()
        name = journal.runs()[0].run
        run, created = folded_with_creation(journal, name)
        lines.extend(what_is_asked(tools, name, run, created, whole=False))
        journal.close()

    office.does("ann", "controlled", "--vpn", VPN, "--runbook", disguised(office), *ASK, meanwhile=[look])
    assert any("NOT AS SHIPPED" in line for line in lines)
    assert any("replication state active" in line for line in lines)


def test_an_own_procedure(office: Office) -> None:
    """Law: one of whose name nothing is shipped is called an own one."""
    text = SHIPPED.read_text(encoding="utf-8").replace("runbook: solace/controlled", "runbook: solace/mine")
    own = str(office.shell.write("mine.yaml", text))
    assert "NOT A SHIPPED PROCEDURE: no shipped runbook has the name solace/mine" in shown(
        office, "controlled", "--vpn", VPN, "--runbook", own
    )


def test_devices_keys_commands_and_hooks(office: Office) -> None:
    """Law: addresses and host keys, the words of own commands, and who is told of the run are part of what is shown."""
    shell = office.shell
    shell.world().close()
    plain = json.loads(shell.inventory(shell.world().layout).read_text())
    plain["sites"]["ny"]["devices"][0] |= {"address": "10.9.8.7"}
    plain["hooks"] = [{"name": "pager", "on": ["run.finished"], "command": ["/usr/local/bin/page", "--now"]}]
    cut: dict[str, Any] = {"argv": ["/bin/true", "port", "7"], "check": ["/bin/false"], "idempotent": True}
    plain["sites"]["ny"]["also"] = [{"adapter": "local", "options": {"commands": {"cut": cut}}}]
    text = SHIPPED.read_text(encoding="utf-8")
    cut_it = "{id: cut-it, title: Cut it, do: {on: source, action: ensure, command: cut}, leaves: it is cut}"
    step = f"  - {cut_it}\n  - id: demote"
    runbook = str(shell.write("cut.yaml", text.replace("  - id: demote", step, 1)))
    path = str(shell.write("own.yaml", json.dumps(plain)))
    said = shown(office, "controlled", "--vpn", VPN, "-i", path, "--runbook", runbook)
    for words in ("NY_Appliance1: 10.9.8.7:22", "/bin/true port 7", "hook pager", "/usr/local/bin/page --now"):
        assert words in said, said
    assert "steps.cut-it: only here" in said


def test_what_is_left_to_whoever_leads(office: Office) -> None:
    """Law (S5): the questions that nobody has answered beforehand are named, and who answers them."""
    text = shown(office, "controlled", "--vpn", VPN)
    assert "open questions, answered by the leader of the run, alone:" in text
    assert "xa: commit / rollback / later" in text or "xa: commit" in text
    assert "approvals are not signed, so they prove nothing" in text
    office.set_policy({"needed": 1})
    text = shown(office, "controlled", "--vpn", "Risk_VPN")
    assert "these answers need another approver" in text
    assert "an approval counts only if an approver of this machine's policy has signed it" in text


def test_nothing_goes_with_show(office: Office) -> None:
    """Law: looking is not agreeing: what would say something about the plan contradicts it."""
    office.does("ann", "controlled", "--vpn", "Risk_VPN", "--yes")
    for wrong in (("--yes",), ("--deny",), ("--reason", "x"), ("--break-glass", "x")):
        assert office.does("bob", "approve", "last", "--show", *wrong).code == 2
    ended = office.does("bob", "approve", "last", "--show")
    assert (ended.code, "this run needs no approval" in ended.out) == (0, True)


def test_differences_of_documents() -> None:
    """Law: a value, a key more or less, an item by its id, another order: each place once, in words; the same: none."""
    one = {"a": 1, "steps": [{"id": "x", "t": "1s"}, {"id": "y"}], "l": [1, 2], "gone": None}
    other = {"a": 2, "steps": [{"id": "y"}, {"id": "x", "t": "2s"}], "l": [1, 3, 4], "new": {"k": "v"}}
    assert list(differences(one, one)) == []
    assert list(differences(one, other)) == [
        "a: 1 -> 2",
        "steps.x.t: 1s -> 2s",
        "steps: in another order: y, x",
        "l.2: 2 -> 3",
        "l.3: only here: 4",
        "gone: missing here: null",
        'new: only here: {"k": "v"}',
    ]
