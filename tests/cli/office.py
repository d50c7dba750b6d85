"""Several accounts at one bastion, with keys of their own and a machine's policy; what they do while a run waits."""

from __future__ import annotations

import io
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from orchestrator.cli.main import main
from orchestrator.clock import Clock
from orchestrator.engine.dispatch import Completion, InlineFleet, Prompter
from orchestrator.family.contract import Adapter, Permit
from orchestrator.family.secrets import SecretStore
from orchestrator.journal.signing import Signer, generate, public_half
from orchestrator.model.runbook import Side
from orchestrator.operations.runtime import SIGNING_VARIABLE, Tools
from tests.cli.shell import Ended, Shell

Deed = Callable[[], object]


class Meanwhile(InlineFleet):
    """A fleet that does something else each time it has nothing to do."""

    def __init__(
        self, adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, desk: Prompter | None, deeds: list[Deed]
    ) -> None:
        super().__init__(adapters, permit, clock, prompter=desk)
        self._deeds = deeds

    def collect(self, until: float | None) -> list[Completion]:
        done = super().collect(until)
        if not done and self._deeds:
            self._deeds.pop(0)()
        return done


@dataclass
class Office:
    """All share one journal. ``approvers`` have their keys in the policy; whoever else has one made one."""

    shell: Shell
    approvers: tuple[str, ...] = ("bob", "carol")
    seen: list[Ended] = field(default_factory=list)

    @property
    def policy_file(self) -> Path:
        return self.shell.folder / "policy.yaml"

    def key(self, name: str) -> Path:
        """The private key of this person, made when it is first asked for."""
        path = self.shell.folder / f"{name}.key"
        if not path.exists():
            generate(path)
        return path

    def public(self, name: str) -> str:
        return public_half(Signer(self.key(name)).public())

    def set_policy(self, *rules: Mapping[str, Any], **more: Any) -> None:
        """Root writes the policy of the machine."""
        listed = [{"account": name, "key": self.public(name)} for name in self.approvers]
        document = {"approvers": listed, **({"approval": list(rules)} if rules else {}), **more}
        self.policy_file.write_text(yaml.safe_dump(document), encoding="utf-8")
        self.policy_file.chmod(0o644)

    def tools(self, account: str, deeds: Sequence[Deed] = ()) -> Tools:
        self.shell.state.mkdir(mode=0o700, exist_ok=True)
        left = list(deeds)
        return Tools(
            self.shell.state,
            self.shell.clock,
            SecretStore(None, environment=self.shell.environment),
            self.shell.registry,
            lambda adapters, permit, clock, desk: Meanwhile(adapters, permit, clock, desk, left),
            account=account,
            uid=1000 + len(account),
            policy_file=self.policy_file,
        )

    def does(self, account: str, *arguments: str, meanwhile: Sequence[Deed] = (), key: bool | str = True) -> Ended:
        """A command of this account, signed with its key; ``key`` False: it has none, a name: with that one's."""
        out, err = io.StringIO(), io.StringIO()
        signing = self.key(account if key is True else str(key)) if key else None
        with _signing(signing), redirect_stdout(out), redirect_stderr(err):
            code = main(arguments, self.tools(account, meanwhile))
        self.seen.append(Ended(code, out.getvalue(), err.getvalue()))
        return self.seen[-1]

    def inserts(self, body: str) -> None:
        """Somebody writes a word into the journal's database, past every program."""
        with closing(sqlite3.connect(self.shell.state / "journal.sqlite")) as journal, journal:
            [run] = journal.execute("SELECT run FROM runs ORDER BY created_at DESC LIMIT 1").fetchone()
            journal.execute("INSERT INTO inbox (run, body, taken) VALUES (?, ?, 0)", (run, body))


@contextmanager
def _signing(key: Path | None) -> Iterator[None]:
    before = os.environ.get(SIGNING_VARIABLE)
    os.environ.pop(SIGNING_VARIABLE, None)
    if key is not None:
        os.environ[SIGNING_VARIABLE] = str(key)
    try:
        yield
    finally:
        os.environ.pop(SIGNING_VARIABLE, None)
        if before is not None:
            os.environ[SIGNING_VARIABLE] = before
