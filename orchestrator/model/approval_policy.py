"""The approval policy of a machine: who may approve, by which key, and which runs take it. Pure.

It stands outside of every inventory, where who asks for a run cannot write (``approvers`` sees to that). Its rules
add up: each one that fits a run holds, and no rule takes another one away, so that none can be escaped by a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.inventory import ApprovalPolicy, ApprovedCommand, ServiceName
from orchestrator.model.plan import ApprovalRule
from orchestrator.model.runbook import Runbook


class Approver(BaseModel):
    """A person whose word counts: the ``account`` of the system that they have, and a public key of theirs, PEM."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    account: str = Field(min_length=1, max_length=64)
    key: str


class ApprovalDemand(ApprovalPolicy):
    """One rule. ``services`` and ``devices`` (names or addresses, as inventories have them) say for what; left out, it
    holds for all: only such a rule holds whatever an inventory calls a device."""

    services: tuple[ServiceName, ...] | None = Field(default=None, min_length=1)
    devices: tuple[str, ...] | None = Field(default=None, min_length=1)

    def concerns(self, services: Collection[str], hosts: Collection[str], command: ApprovedCommand | None) -> bool:
        """Does it hold for a run of ``command`` that moves ``services`` at ``hosts``? None is any command: one that a
        rule leaves out can only be told from the procedure that is shipped for it."""
        if command is not None and command not in self.commands:
            return False
        named = None if self.devices is None else {device.lower() for device in self.devices}
        is_service = self.services is None or any(service in self.services for service in services)
        return is_service and (named is None or any(host in named for host in hosts))


class MachinePolicy(BaseModel):
    """All of it: ``approvers`` and the rules, ``approval``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    approvers: tuple[Approver, ...] = Field(min_length=1)
    approval: tuple[ApprovalDemand, ...] = ()

    def demands(
        self, services: Collection[str], hosts: Collection[str], command: ApprovedCommand | None
    ) -> list[ApprovalDemand]:
        """The rules that hold for such a run."""
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
    """What all of ``policies`` together, and what was typed besides, ask for: the most people, the least time, and
    broken glass only where all allow it. None when no one has to agree."""
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

# What makes things safe waits for no one: `failover guard`, and `failover watch` where it may suspend.
_MAKES_SAFE = ("guard", "suspend")
_COMMANDS: tuple[ApprovedCommand, ...] = ("controlled", "uncontrolled", "restore", "failback", "repair")


def is_shipped(runbook: Runbook, shipped: Runbook | None) -> bool:
    """Is it the procedure that is shipped under its name, but for the words and choices of its questions? Those are made
    to fit a site's fence plan and the options of a command."""
    return shipped is not None and _without_questions(runbook) == _without_questions(shipped)


def makes_safe(runbook: Runbook, shipped: Runbook | None) -> bool:
    """Is it the shipped procedure of a guard, that waits for no one?"""
    return is_shipped(runbook, shipped) and _kind(runbook).startswith(_MAKES_SAFE)


def command_of(runbook: Runbook, shipped: Runbook | None) -> ApprovedCommand | None:
    """What policies call the command that this procedure is of; None for one that is not as shipped, whatever it calls
    itself: such a one may do anything."""
    if not is_shipped(runbook, shipped):
        return None
    return next((command for command in _COMMANDS if _kind(runbook).startswith(command)), None)


def _kind(runbook: Runbook) -> str:
    return runbook.runbook.rpartition("/")[2]


def _without_questions(runbook: Runbook) -> Runbook:
    steps = tuple(step.model_copy(update={"ask": None}) for step in runbook.steps)
    return runbook.model_copy(update={"steps": steps, "continue_with": None})
