"""Four eyes against who asks for the run, with real processes: the policy stands where root keeps it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from orchestrator.journal.signing import Signer, generate, public_half
from tests.cli.processes import Bench, line_with
from tests.cli.shell import Ended
from tests.ssh.sshd import until

pytestmark = pytest.mark.realtime

MOVE = ("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--json")
_UNSHARED = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"')


def may_mount() -> bool:
    """Can this account give a process another /etc?"""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "-m", "mount", "--bind", "/usr", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


@dataclass
class Machine:
    """A bench on a machine whose /etc is another one."""

    bench: Bench
    etc: Path

    @property
    def before(self) -> tuple[str, ...]:
        return (*_UNSHARED, str(self.etc))

    def run(self, *arguments: str) -> Ended:
        return self.bench.run(*arguments, before=self.before)

    def forge(self) -> None:
        """Once people are asked: write bob's word into the journal, as whoever can write it can."""
        asked = "SELECT run, event FROM events WHERE event LIKE '%gate.opened%' ORDER BY seq DESC LIMIT 1"
        with closing(sqlite3.connect(self.bench.folder / "state" / "journal.sqlite")) as journal, journal:
            until(lambda: journal.execute(asked).fetchone() is not None, 60)
            run, event = journal.execute(asked).fetchone()
            word = {"kind": "approval", "choice": "approve", "by": "bob", "host": "bobs-laptop", "reason": "fine"}
            body = json.dumps({**word, "plan": json.loads(event)["approval"]["plan"]})
            journal.execute("INSERT INTO inbox (run, body, taken) VALUES (?, ?, 0)", (run, body))

    def bob(self, *arguments: str) -> Ended:
        """A command of bob's, who has his key."""
        key = f"FAILOVER_SIGNING_KEY={self.bench.folder / 'bob.key'}"
        return self.bench.run(*arguments, before=(*self.before, "env", key))


@pytest.fixture
def machine(make_bench: Callable[..., Bench], tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """With a policy of root's: bob agrees to every run, and --break-glass is not allowed."""
    if not may_mount():
        pytest.skip("only root can give a process another /etc, and not in every container")
    bench = make_bench(environment={"FAILOVER_POLICY": "own.yaml", "FAILOVER_POLICY_FILE": "own.yaml"})
    etc = tmp_path_factory.mktemp("etc")
    for name in ("passwd", "group", "nsswitch.conf", "hosts"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), etc)
    generate(bench.folder / "bob.key")
    key = public_half(Signer(bench.folder / "bob.key").public())
    policy = {"approvers": [{"account": "bob", "key": key}], "approval": [{"needed": 1, "break_glass": False}]}
    (etc / "failover").mkdir()
    (etc / "failover" / "policy.yaml").write_text(yaml.safe_dump(policy))
    (bench.folder / "own.yaml").write_text(yaml.safe_dump({**policy, "approval": []}))
    return Machine(bench, etc)


def test_the_requester_cannot_forge_the_other_person(machine: Machine) -> None:
    """Law (S2, S3): neither a variable, nor a word in bob's name, nor broken glass begins what root's policy holds back;
    bob's own signed word does, and the record proves it."""
    bench = machine.bench
    assert machine.run(*MOVE, "--break-glass", "hurry").code == 2
    process = bench.start(*MOVE[:-1], before=machine.before)
    line_with(process, "decision needed: the plan needs approval by another person")
    machine.forge()
    assert "the answer is not signed" in line_with(process, "does not count")
    assert bench.roles() == ("active", "standby")
    assert machine.bob("approve", "--yes").code == 0
    assert "approved by bob" in line_with(process, "approved by bob")
    process.communicate(timeout=60)
    assert (process.returncode, bench.roles()) == (0, ("standby", "active"))
    assert machine.run("runs", "verify").code == 0


def test_nor_in_the_background(machine: Machine) -> None:
    """Law: the process that leads a run in the background has the same policy."""
    bench = machine.bench
    key = ("--idempotency-key", "k")
    assert machine.run(*MOVE, "--no-wait", *key).code == 0
    machine.forge()
    assert machine.bob("approve", "--yes").code == 0
    ended = machine.run(*MOVE, *key)
    assert (ended.code, bench.roles()) == (0, ("standby", "active"))
    said = ended.result["approval"]
    assert [one["by"] for one in said["given"]] == ["bob"]
    assert [one["reason"][:17] for one in said["refused"]] == ["the answer is not"]
