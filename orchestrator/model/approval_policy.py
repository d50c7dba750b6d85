"""The approval policy of a machine: who may approve, with which key, and which runs need an approval. Pure.

The policy is outside of every inventory, in a file that a person who asks for a run cannot write (``approvers`` checks
that). Every rule that fits a run applies, and no rule cancels another one. So another name in an inventory cannot avoid
a rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.inventory import ApprovalPolicy, ApprovedCommand, ServiceName
from orchestrator.model.plan import ApprovalRule
from orchestrator.model.runbook import Runbook


class Approver(BaseModel):
    """A person whose votes count. ``account``: the person's account on the system. ``key``: the person's public key,
    PEM."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    account: str = Field(min_length=1, max_length=64)
    key: str


class ApprovalDemand(ApprovalPolicy):
    """One rule. ``services`` and ``devices`` (names or addresses, as in inventories) limit the rule. Without them it
    applies to all. Only a rule without ``devices`` does not depend on the names that an inventory gives to devices."""

    services: tuple[ServiceName, ...] | None = Field(default=None, min_length=1)
    devices: tuple[str, ...] | None = Field(default=None, min_length=1)

    def concerns(self, services: Collection[str], hosts: Collection[str], command: ApprovedCommand | None) -> bool:
        """Does the rule apply to a run of ``command`` that moves ``services`` at ``hosts``? ``command`` None counts as
        every command, since only a shipped procedure proves that a run belongs to a command that the rule excludes."""
        if command is not None and command not in self.commands:
            return False
        named = None if self.devices is None else {device.lower() for device in self.devices}
        is_service = self.services is None or any(service in self.services for service in services)
        return is_service and (named is None or any(host in named for host in hosts))


class MachinePolicy(BaseModel):
    """The whole policy: ``approvers``, and the rules ``approval``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    approvers: tuple[Approver, ...] = Field(min_length=1)
    approval: tuple[ApprovalDemand, ...] = ()

    def demands(
        self, services: Collection[str], hosts: Collection[str], command: ApprovedCommand | None
    ) -> list[ApprovalDemand]:
        """The rules that apply to such a run."""
        return [rule for rule in self.approval if rule.concerns(services, hosts, command)]


def strictest(
    policies: Iterable[ApprovalPolicy],
    *,
    requester: str,
    signed: bool,
    needed: int = 0,
    within: float | None = None,
    break_glass: bool = True,
) -> ApprovalRule | None:
    """The strictest rule from all ``policies`` and the options of the command: the most people, the least time, and
    ``break_glass`` only if all allow it. None if no approval is needed."""
    rules = list(policies)
    most = max([needed, *(rule.needed for rule in rules)])
    if not most:
        return None
    times = [rule.within for rule in rules] + ([] if within is None else [within])
    return ApprovalRule(
        needed=most,
        within=min(times, default=DEFAULT_WITHIN),
        break_glass=break_glass and all(rule.break_glass for rule in rules),
        requester=requester,
        signed=signed,
    )


DEFAULT_WITHIN = 3600.0

# Runs that only make a site safe need no approval: `failover guard`, and `failover watch` if it may suspend.
_MAKES_SAFE = ("guard", "suspend")
_COMMANDS: tuple[ApprovedCommand, ...] = ("controlled", "uncontrolled", "restore", "failback", "repair")


def is_shipped(runbook: Runbook, shipped: Runbook | None) -> bool:
    """Is ``runbook`` the shipped procedure of this name, apart from its questions? The words and choices of the questions
    depend on a site's fence plan and on the options of a command."""
    return shipped is not None and _without_questions(runbook) == _without_questions(shipped)


def makes_safe(runbook: Runbook, shipped: Runbook | None) -> bool:
    """Is ``runbook`` a shipped procedure that only makes a site safe, so that it needs no approval?"""
    return is_shipped(runbook, shipped) and _kind(runbook).startswith(_MAKES_SAFE)


def command_of(runbook: Runbook, shipped: Runbook | None) -> ApprovedCommand | None:
    """The command of this procedure, as policies name it. None for a procedure that differs from the shipped one, under
    any name: such a procedure may do anything."""
    if not is_shipped(runbook, shipped):
        return None
    return next((command for command in _COMMANDS if _kind(runbook).startswith(command)), None)


def _kind(runbook: Runbook) -> str:
    return runbook.runbook.rpartition("/")[2]


def _without_questions(runbook: Runbook) -> Runbook:
    steps = tuple(step.model_copy(update={"ask": None}) for step in runbook.steps)
    return runbook.model_copy(update={"steps": steps, "continue_with": None})
