"""The approval policy of this machine, and the people whose signatures count under it.

The policy is a file that belongs to root, and that other accounts can neither write nor replace. A person who asks for a
run, or leads a run, can choose an inventory and write the journal. This person must not be able to choose the approvers.
The path of the file is fixed: no variable and no option changes it.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from orchestrator.documents.loader import load_runbook, read_document
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.errors import DefinitionError
from orchestrator.journal.signing import Verifier, approval_statement, key_name, read_public
from orchestrator.model import events as ev
from orchestrator.model.approval_policy import ApprovalDemand, Approver, MachinePolicy, command_of, makes_safe
from orchestrator.model.runbook import Runbook

POLICY_FILE = Path("/etc/failover/policy.yaml")
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH


class Approvers:
    """The people who may approve on this machine. ``policy`` None: this machine has no policy, and no signature
    counts."""

    def __init__(self, policy: MachinePolicy | None = None) -> None:
        self.policy = policy
        listed = [(one.account, read_public(one.key, f"the key of {one.account}")) for one in _listed(policy)]
        self._accounts: Mapping[str, str] = {key_name(key): account for account, key in listed}
        self._verifier = Verifier(key for _, key in listed)

    def signer_of(self, statement: bytes, signed: ev.Signed | None) -> str:
        """The account of the approver who signed ``statement``. Empty: no approver signed it."""
        if signed is None or not self._verifier.has_signed(statement, signed.key, signed.signature):
            return ""
        return self._accounts[signed.key]

    def account_of(self, key: str) -> str:
        """The account of the approver with the key of this name, or empty."""
        return self._accounts.get(key, "")

    def demands_on(self, plan: ev.Plan) -> list[ApprovalDemand]:
        """The rules that apply to a run of ``plan``."""
        if self.policy is None:
            return []
        shipped = shipped_like(plan.runbook)
        if makes_safe(plan.runbook, shipped):
            return []
        return self.policy.demands(plan.services, _hosts(plan), command_of(plan.runbook, shipped))

    def has_agreed(self, run: str, given: ev.ApprovalGiven) -> bool:
        """Is this record of an approval signed by the approver that it names?"""
        if given.signed is None:
            return False
        statement = approval_statement(run, given.plan, "approve", given.signed.at)
        return self.signer_of(statement, given.signed) == given.by


def shipped_like(runbook: Runbook) -> Runbook | None:
    """The shipped runbook of the same name, or None."""
    return load_runbook(runbook.runbook) if runbook.runbook in shipped_runbooks() else None


def load_policy(path: Path = POLICY_FILE, *, owner: int = 0) -> MachinePolicy | None:
    """The policy of this machine; None if there is no such file. ``owner``: the user ID that must own the file.

    Raises ``DefinitionError`` for a file that cannot be read, or that other accounts could have written: a policy with a
    problem is never ignored.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # the file may exist
        raise _unreadable(path, error) from error
    for part in dict.fromkeys([path, *path.parents, path.resolve(), *path.resolve().parents]):
        if not _is_safe(part, owner):
            raise DefinitionError(
                f"the approval policy {path} is not valid, because accounts other than root can write {part}",
                hint=f"check the text of the policy, then run: chown root {part} && chmod go-w {part}",
            )
    policy = read_document(path, MachinePolicy).result()
    names = [key_name(read_public(one.key, f"the key of {one.account} in {path}")) for one in policy.approvers]
    if len(set(names)) != len(names):
        raise DefinitionError(f"{path} lists the same key twice; each approver needs a different key")
    return policy


def _unreadable(path: Path, error: OSError) -> DefinitionError:
    return DefinitionError(
        f"the approval policy {path} cannot be read: {error.strerror}",
        hint="every account that starts runs must be able to read the policy: chmod a+rX",
    )


def _is_safe(path: Path, owner: int) -> bool:
    """Does ``path`` belong to ``owner`` or root, and can no other account write it? A directory that all may write is
    safe with the sticky bit: other accounts cannot replace its files."""
    try:
        found = path.lstat()
    except OSError as error:
        raise _unreadable(path, error) from error
    if found.st_uid not in (0, owner):
        return False
    is_shared = bool(found.st_mode & _WRITABLE) and not stat.S_ISLNK(found.st_mode)
    return not is_shared or (stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX))


def _listed(policy: MachinePolicy | None) -> tuple[Approver, ...]:
    return () if policy is None else policy.approvers


def _hosts(plan: ev.Plan) -> frozenset[str]:
    """Every name and address of the plan's devices, in lower case."""
    sites = [plan.inventory.sites[name] for name in (plan.source, plan.target)]
    devices = [device for site in sites for part in site.parts for device in part.devices]
    return frozenset(name.lower() for device in devices for name in (device.name, device.address) if name)
