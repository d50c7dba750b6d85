"""The approval policy of a machine: where it stands, for what it holds, and what it takes to begin a run under it."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from orchestrator.cli.main import app
from orchestrator.clock import SystemClock
from orchestrator.engine import approvers
from orchestrator.engine.approvers import POLICY_FILE, load_policy
from orchestrator.errors import DefinitionError
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.approval_policy import ApprovalDemand
from orchestrator.operations.runtime import Tools
from tests.cli.office import Office
from tests.cli.shell import SHIPPED, VPN, Shell, hasty_runbook

MOVE = ("controlled", "--vpn", VPN, "--yes", "--xa", "stop", "--approve-within", "5m")
QUIET = ("controlled", "--vpn", "Risk_VPN", "--yes", "--approve-within", "5m")


@pytest.fixture
def office(shell: Shell) -> Office:
    """Ann, who asks; bob and carol, who approve; and a policy that one other person agrees to every run."""
    office = Office(shell)
    office.set_policy({"needed": 1, "within": "30m"})
    return office


# --- where it stands -----------------------------------------------------------------------------------------------


def test_its_place_is_no_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Law: neither a variable of the environment nor an option names another policy: who asks for a run could else bring
    his own. It is root's file."""
    for name in ("FAILOVER_POLICY", "FAILOVER_POLICY_FILE", "XDG_CONFIG_DIRS", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    tools = Tools(tmp_path, SystemClock(), SecretStore(None), Registry())
    assert (tools.policy_file, POLICY_FILE) == (None, Path("/etc/failover/policy.yaml"))
    assert "environ" not in Path(approvers.__file__).read_text(encoding="utf-8")
    options = typer.main.get_command(app)
    assert not [name for name in _options_of(options) if "policy" in name]


def _options_of(command: Any) -> Iterator[str]:
    """Every option of every command."""
    for parameter in command.params:
        yield from parameter.opts
    for inner in getattr(command, "commands", {}).values():
        yield from _options_of(inner)


def spoil_by(what: str, path: Path) -> None:
    """Let somebody else than its owner be able to change what stands at ``path``."""
    match what:
        case "group":
            path.chmod(0o664)
        case "all":
            path.chmod(0o646)
        case "folder":
            path.parent.chmod(0o777)
        case "link":
            elsewhere = path.parent / "open"
            elsewhere.mkdir()
            elsewhere.chmod(0o777)
            path.rename(elsewhere / "policy.yaml")
            path.symlink_to(elsewhere / "policy.yaml")


@pytest.mark.parametrize("what", ["group", "all", "folder", "link"])
def test_a_policy_that_others_can_write(office: Office, what: str) -> None:
    """Law: such a policy does not count, and no run begins without one: exit code 2, with the command that mends it."""
    spoil_by(what, office.policy_file)
    ended = office.does("ann", *QUIET)
    assert (ended.code, "is not valid, because" in ended.complaint, "chmod go-w" in ended.hint) == (2, True, True)
    assert office.shell("runs", "list").out == ""
    office.shell.folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("whose", ["file", "folder"])
def test_a_policy_of_somebody_else(office: Office, whose: str) -> None:
    """Law: nor does one that belongs to an account that is not root, or whose folder does."""
    path = office.policy_file if whose == "file" else office.policy_file.parent
    os.chown(path, 12345, 12345)
    with pytest.raises(DefinitionError, match="is not valid, because accounts other than root can write"):
        load_policy(office.policy_file)


def test_a_machine_without_one(shell: Shell) -> None:
    """Law: where there is none everything is as it was; a link to nothing, or a folder, is not none."""
    assert load_policy(shell.folder / "nothing.yaml") is None
    (shell.folder / "link.yaml").symlink_to(shell.folder / "nothing.yaml")
    (shell.folder / "folder.yaml").mkdir()
    for name in ("link.yaml", "folder.yaml"):
        with pytest.raises(DefinitionError):
            load_policy(shell.folder / name, owner=os.getuid())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda it: it.pop("approvers"), "lacks the key approvers"),
        (lambda it: it.update(approvers=[]), "at least 1 entry must be given"),
        (lambda it: it["approvers"][0].update(key="none"), "is not a public Ed25519 key"),
        (lambda it: it["approvers"].append(dict(it["approvers"][0], account="dave")), "lists the same key twice"),
        (lambda it: it.update(aproval=[]), "unknown key aproval"),
        (lambda it: it["approval"][0].update(needed=0), "must be at least 1"),
        (lambda it: it["approval"][0].update(services=["a;b"]), "is not allowed"),
        (lambda it: it["approval"][0].update(commands=["abort"]), "which is not allowed"),
    ],
)
def test_a_policy_with_a_mistake(office: Office, change: Callable[[Any], object], sentence: str) -> None:
    """Law: a mistake is refused with its line; it never means that nobody has to agree."""
    document = yaml.safe_load(office.policy_file.read_text())
    change(document)
    office.policy_file.write_text(yaml.safe_dump(document))
    ended = office.does("ann", *QUIET)
    assert (ended.code, sentence in ended.complaint) == (2, True), ended.err


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    """Law: the policy that docs/how-to/approvals.md shows is one, and has every key that the page explains."""
    page = (Path(__file__).parents[2] / "docs/how-to/approvals.md").read_text(encoding="utf-8")
    [example] = re.findall(r"   ```yaml\n(.*?)   ```", page, flags=re.DOTALL)
    path = tmp_path / "policy.yaml"
    path.write_text(textwrap.dedent(example), encoding="utf-8")
    policy = load_policy(path, owner=os.getuid())
    assert policy is not None
    assert (policy.approvers[0].account, [rule.needed for rule in policy.approval]) == ("bob", [1, 2])
    for name in ApprovalDemand.model_fields:
        assert f"`{name}`" in page or f"`approval[].{name}`" in page, name


# --- for what it holds -----------------------------------------------------------------------------------------------


def needed(office: Office, *arguments: str) -> int:
    ended = office.does("ann", *arguments, "--dry-run", "--json")
    assert ended.code in (0, 3), ended.err
    return int(ended.result["approvals_needed"])


def test_no_inventory_drops_it(office: Office) -> None:
    """Law (S3): it holds for the devices, whatever inventory speaks to them, and whatever that calls a site or a pair."""
    shell = office.shell
    plain = json.loads(shell.inventory(shell.world().layout).read_text())
    own = shell.write("own.yaml", json.dumps(plain))
    assert needed(office, "controlled", "--vpn", VPN, "-i", str(own)) == 1
    office.set_policy({"needed": 2, "devices": ["NY_Appliance1"]})
    assert needed(office, "controlled", "--vpn", VPN, "-i", str(own)) == 2
    plain["pairs"][0] |= {"name": "mine", "sites": ["nj", "ny"]}
    renamed = shell.write("renamed.yaml", json.dumps(plain))
    assert needed(office, "controlled", "--vpn", VPN, "--from", "ny", "-i", str(renamed)) == 2


RULES: list[tuple[dict[str, Any], tuple[str, ...], int]] = [
    ({}, ("controlled", "--vpn", VPN), 1),
    ({"services": [VPN]}, ("controlled", "--vpn", VPN), 1),
    ({"services": [VPN]}, ("controlled", "--vpn", "Risk_VPN"), 0),
    ({"services": [VPN]}, ("controlled", "--all"), 1),
    ({"devices": ["ny_APPLIANCE1"]}, ("controlled", "--vpn", VPN), 1),
    ({"devices": ["elsewhere"]}, ("controlled", "--vpn", VPN), 0),
    ({"commands": ["controlled"]}, ("controlled", "--vpn", VPN), 1),
    ({"commands": ["controlled"]}, ("restore", "--site", "nj", "--vpn", VPN), 0),
    ({"commands": ["restore"]}, ("restore", "--site", "nj", "--vpn", VPN), 1),
    ({"commands": ["uncontrolled"]}, ("uncontrolled", "--site", "ny", "--isolated", "--vpn", VPN), 1),
    ({"commands": ["failback"]}, ("failback", "--site", "ny", "--vpn", VPN, "--accept-risk", "x"), 1),
]


@pytest.mark.parametrize(("rule", "arguments", "people"), RULES)
def test_what_a_rule_is_for(office: Office, rule: dict[str, Any], arguments: tuple[str, ...], people: int) -> None:
    """Law: services, devices and commands narrow a rule; each that fits holds."""
    office.set_policy({"needed": 1, **rule})
    assert needed(office, *arguments) == people


def test_rules_add_up(office: Office) -> None:
    """Law: of several rules, of the inventory's policy and of what is typed, the most people, the least time, and broken
    glass only where all allow it; no rule takes another one away."""
    office.set_policy(
        {"needed": 1, "within": "10m"},
        {"needed": 3, "within": "1h", "services": [VPN]},
        {"needed": 2, "break_glass": False},
    )
    shown = office.does("ann", "controlled", "--vpn", VPN, "--dry-run").out
    assert "starts only after 3 other people approved it, within 10m" in shown
    assert needed(office, "controlled", "--vpn", VPN, "--approve-by", "4") == 4
    assert needed(office, "controlled", "--vpn", VPN, "--approve-by", "1") == 3
    assert office.does("ann", *QUIET, "--break-glass", "hurry").code == 2


def test_a_procedure_of_his_own_is_no_command(office: Office) -> None:
    """Law: a rule for some commands holds for every procedure that is not as shipped: its name is what its author gave
    it, and it may do anything."""
    office.set_policy({"needed": 1, "commands": ["failback"]})
    assert needed(office, "controlled", "--vpn", VPN) == 0
    own = office.shell.write("own.yaml", hasty_runbook("1s"))
    assert needed(office, "controlled", "--vpn", VPN, "--runbook", str(own)) == 1
    same = office.shell.write("same.yaml", SHIPPED.read_text())
    assert needed(office, "controlled", "--vpn", VPN, "--runbook", str(same)) == 0


def test_who_waits_for_nobody(office: Office) -> None:
    """Law: a rehearsal, and what only makes things safe, take nobody."""
    assert office.does("ann", "rehearse", *QUIET[:-2], "--fast").code == 0
    assert office.does("ann", *QUIET[:-2], "--break-glass", "x").code == 0
    office.shell.disturb("at 0s: node ny/NY_Appliance1 down 10m")
    code = office.does("ann", "guard", "--site", "ny", "--vpn", "Risk_VPN", "--yes", "--interval", "1s").code
    assert code in (0, 3)


# --- what it takes ---------------------------------------------------------------------------------------------------


def test_an_approver_approves(office: Office) -> None:
    """Law: bob's signed word begins ann's run; report and record say who, from which account, by which key."""
    ended = office.does("ann", *QUIET, meanwhile=[lambda: office.does("bob", "approve", "--yes", "--reason", "4711")])
    assert ended.code == 0, ended.err
    assert [one.code for one in office.seen] == [0, 0]
    assert "approved by bob, signed" in office.seen[0].out
    assert "approved by bob on" in ended.out and ", signed by key" in ended.out
    events = [json.loads(line["event"]) for line in office.shell("runs", "export").values]
    [given] = [event for event in events if event["kind"] == "approval.given"]
    assert (given["by"], given["account"], given["uid"]) == ("bob", "bob", 1003)
    assert set(given["signed"]) == {"key", "signature", "at"}


FORGED = (
    '{"kind": "approval", "choice": "approve", "by": "bob", "host": "bobs-laptop", "reason": "fine", "plan": "%s"}'
)


def test_a_forged_word(office: Office) -> None:
    """Law (S2): a word that ann writes into the database in bob's name is refused, and is in the report as refused."""

    def forge() -> None:
        digest = office.does("ann", "approve", "--show", "--json").result["digest"]
        office.inserts(FORGED % digest)

    ended = office.does("ann", *QUIET, meanwhile=[forge])
    assert (ended.code, office.shell.roles("Risk_VPN")) == (3, ("active", "standby"))
    assert "the answer of bob on bobs-laptop at " in ended.out
    assert "the answer is not signed" in ended.out


@pytest.mark.parametrize(
    ("account", "key", "sentence"),
    [
        ("dave", True, "no approver has a key that fits the signature"),
        ("dave", False, "the answer is not signed"),
        ("ann", True, "no approver has a key"),
        ("bob", False, "the answer is not signed"),
        ("bob", "dave", "no approver has a key"),
    ],
)
def test_who_cannot_approve_is_told(office: Office, account: str, key: bool | str, sentence: str) -> None:
    """Law: a word that would not count is refused where it is said, with what to do for a key; nothing is recorded."""
    said: list[Any] = []
    no = [lambda: said.append(office.does(account, "approve", "--yes", key=key))]
    assert office.does("ann", *QUIET, meanwhile=no).code == 3
    assert (said[0].code, sentence in said[0].complaint, "failover runs keygen" in said[0].hint) == (2, True, True)
    assert "does not count" not in office.seen[-1].out


def test_an_approver_on_another_machine(office: Office) -> None:
    """Law: who signs need not be where the policy is: the machine that leads the run judges."""

    def elsewhere() -> None:
        there = Office(office.shell, approvers=())
        path = there.policy_file
        path.rename(path.with_suffix(".away"))
        try:
            assert there.does("bob", "approve", "--yes").code == 0
        finally:
            path.with_suffix(".away").rename(path)

    assert office.does("ann", *QUIET, meanwhile=[elsewhere]).code == 0


def test_decisions_after_the_approval(office: Office) -> None:
    """Law (S5): the decisions on transactions that ann brings to a run that stopped are asked about; bob sees them, with
    the hash of their file; carol's answer to one of them counts, ann's does not."""
    shell = office.shell
    approve = [lambda: office.does("bob", "approve", "--yes")]
    assert office.does("ann", *MOVE, meanwhile=approve).code == 6
    shown: list[str] = []

    def look_and_agree() -> None:
        shown.append(office.does("bob", "approve", "--show").out)
        assert office.does("ann", "decide", "commit", "--gate", "xa", "--reason", "x").code == 2
        assert office.does("carol", "approve", "--yes").code == 0

    ended = office.does("ann", "resume", "last", "--xa", shell.decisions, meanwhile=[look_and_agree])
    assert (ended.code, shell.roles()) == (0, ("standby", "active")), ended.err
    assert "decided in advance on transaction 0021B028-00-01: commit, by file decisions.yaml (account ann" in shown[0]
    assert "sha256 " in shown[0]


def test_decisions_that_nobody_agrees_to(office: Office) -> None:
    """Law (S5): without another approver the run stands where it stood, nothing is committed, and it says so."""
    assert office.does("ann", *MOVE, meanwhile=[lambda: office.does("bob", "approve", "--yes")]).code == 6
    ended = office.does("ann", "resume", "last", "--xa", office.shell.decisions)
    assert ended.code == 6
    assert "complete_transaction" not in office.shell("runs", "report").out


def test_a_run_from_before_the_policy(office: Office) -> None:
    """Law: a run that was recorded before there was a policy, or by hand, takes its approvals before it goes on; called
    off it takes nobody."""
    office.policy_file.rename(office.policy_file.with_suffix(".later"))
    assert office.does("ann", *MOVE[:-2]).code == 6
    office.policy_file.with_suffix(".later").rename(office.policy_file)
    refused = office.does("ann", "resume", "last", "--xa", office.shell.decisions)
    assert (refused.code, "the plan was not approved" in office.shell("runs", "report").out) == (6, True)
    agree = [lambda: office.does("bob", "approve", "--yes")]
    assert office.does("ann", "resume", "last", "--xa", office.shell.decisions, meanwhile=agree).code == 0


def test_a_machine_without_the_policy_does_not_lead(office: Office) -> None:
    """Law: a run that takes signed words is not led where no approver is known; there it can be called off."""
    assert office.does("ann", *MOVE, meanwhile=[lambda: office.does("bob", "approve", "--yes")]).code == 6
    office.policy_file.unlink()
    ended = office.does("ann", "resume", "last", "--xa", office.shell.decisions)
    assert (ended.code, "this machine has no approval policy" in ended.complaint) == (3, True)
    assert office.does("ann", "abort").code == 5


def test_what_cannot_be_rolled_back_is_left_without_approval(office: Office) -> None:
    """Law: `abort --leave` of a run that takes signed words needs no approver: it gives up what is there already."""
    assert office.does("ann", *MOVE, meanwhile=[lambda: office.does("bob", "approve", "--yes")]).code == 6
    left = office.does("ann", "abort", "--leave", "--reason", "completed by hand")
    assert (left.code, "waits for approval" in left.out + left.err) == (5, False)


def test_verify_looks_at_signed_words(office: Office) -> None:
    """Law: `runs verify`, where the policy is, demands that each approval of the record is signed by who it names."""
    assert office.does("ann", *QUIET, meanwhile=[lambda: office.does("bob", "approve", "--yes")]).code == 0
    office.does("ann", "runs", "export", "last", "--output", "run.jsonl")
    assert office.does("eve", "runs", "verify", key=False).code == 0
    assert office.does("eve", "runs", "verify", "--file", "run.jsonl", key=False).code == 0
    office.approvers = ("carol",)
    office.set_policy({"needed": 1})
    for arguments in (("last",), ("--file", "run.jsonl")):
        ended = office.does("eve", "runs", "verify", *arguments, key=False)
        assert (ended.code, "the approval by bob is not signed by an approver" in ended.out) == (4, True), ended.out
