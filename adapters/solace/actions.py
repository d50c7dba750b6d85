"""The changing commands of the CLI: which modes they need, and one careful attempt at each. Never a second attempt.

Modes are entered one by one and each prompt is checked; the one line that changes something comes last, right after
the permit. So there is one instant that divides "cannot have obeyed" from "may have obeyed": when that line leaves.

Sources: seed 003 steps 2, 4, 5 and 6 and "Suspend Replication", facts/solace.md section 3.8. A command that succeeds
prints nothing; anything else it prints is a refusal if it has the words of one, and a doubt otherwise (section 3.1).
The one command that is known to ask a question is ``service msg-backbone shutdown``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.solace.declared import argument, check_call, declared
from adapters.solace.fencing import SET_BACKBONE
from adapters.solace.names import quoted
from adapters.solace.refusals import refusal
from adapters.ssh.session import ShellSession
from orchestrator.contract import ActionSpec, Call, Effect, Permit, Result
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    Forbidden,
    NoSuchService,
    NotObeyed,
    PerhapsObeyed,
    UnreadableReply,
)


@dataclass(frozen=True, slots=True)
class Door:
    """A line that leads into the mode ``to`` and changes nothing."""

    line: str
    to: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The doors to go through, and the line that changes something behind the last of them.

    ``warning``: what the device says before it asks whether that is meant; it is.
    """

    doors: tuple[Door, ...]
    change: str
    warning: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        return (*(door.line for door in self.doors), self.change)


def plan_of(action: str, call: Call) -> Plan:
    """What ``call`` sends. Arguments nobody has filled in yet are shown as ``<name>``: such a plan is to look at."""
    return _PLANS[action](call)


def interface_plan(interface: str, call: Call) -> Plan:
    """The backbone's action where the fence plan shuts an interface instead (facts/solace.md section 3.8).

    Assumptions: its mode is called ``interface``, as others are after their word; and shutting it asks no question.
    Where either is not so, nothing is changed.
    """
    doors = (Door("configure", "configure"), Door(f"interface {interface}", "configure/interface"))
    return Plan(doors, "no shutdown" if argument(call, "state") == "up" else "shutdown")


def perform(shell: ShellSession, action: str, call: Call, permit: Permit, *, plan: Plan | None = None) -> Result:
    """Make one attempt; by ``plan``, if it is not the usual one. A device that fails is a result; only ``permit``'s
    refusal is raised, with nothing sent."""
    device = shell.device.name
    try:
        check_call(ACTIONS[action], call)
    except Forbidden as error:
        return Result(call, Effect.NOT_SENT, detail=str(error), device=device)
    plan = plan or plan_of(action, call)
    sent: list[str] = []
    try:
        mode = _enter(shell, plan.doors, sent)
    except AdapterError as error:
        return _ended_before(call, error, device, sent)
    permit.check()
    try:
        said = shell.send(plan.change, at=mode, to=mode, asks=bool(plan.warning))
    except NotObeyed as error:
        # CommandRejected is the answered question; anything else is raised before the line leaves.
        is_answer = isinstance(error, CommandRejected)
        left = (*sent, plan.change) if is_answer else ()
        effect = Effect.REJECTED if is_answer else Effect.NOT_SENT
        return Result(call, effect, detail=str(error), device=device, sent=left)
    except PerhapsObeyed as error:
        return Result(call, Effect.DOUBTFUL, detail=str(error), device=device, sent=plan.lines)
    lines = (line for line in said.split("\n") if not plan.warning or line.strip() != plan.warning)
    return _judged(call, plan, "\n".join(lines), device)


def _enter(shell: ShellSession, doors: Sequence[Door], sent: list[str]) -> str:
    """Go through the doors and return the mode reached; lines that left are noted in ``sent``."""
    shell.to_top()
    mode = ""
    for door in doors:
        try:
            said = shell.send(door.line, at=mode, to=door.to)
        except (CommandRejected, PerhapsObeyed):
            sent.append(door.line)  # it may have left; the other errors are raised before it does
            raise
        sent.append(door.line)
        if said.strip():  # a door that opens prints nothing
            device = shell.device.name
            raise refusal(said, device) or UnreadableReply(
                f"{device} says something unexpected to `{door.line}`: {said.strip()[:300]}", text=said, device=device
            )
        mode = door.to
    return mode


def _ended_before(call: Call, error: AdapterError, device: str, sent: Sequence[str]) -> Result:
    """The line that changes something never left, whatever became of the lines before it."""
    if isinstance(error, CommandRejected | NoSuchService):
        return Result(call, Effect.REJECTED, detail=str(error), device=device, sent=tuple(sent))
    if isinstance(error, UnreadableReply) and (refused := refusal(error.text, device)) is not None:
        return Result(call, Effect.REJECTED, detail=str(refused), device=device, sent=tuple(sent))
    return Result(call, Effect.NOT_SENT, detail=f"not sent: {error}", device=device)


def _judged(call: Call, plan: Plan, said: str, device: str) -> Result:
    if not said.strip():
        return Result(call, Effect.ACCEPTED, device=device, sent=plan.lines)
    refused = refusal(said, device)
    if refused is not None:
        return Result(call, Effect.REJECTED, detail=str(refused), device=device, sent=plan.lines)
    detail = f"{device} said something unexpected to `{plan.change}`: {said.strip()[:300]}"
    return Result(call, Effect.DOUBTFUL, detail=detail, device=device, sent=plan.lines)


def _set_role(call: Call) -> Plan:
    doors = (
        Door("configure", "configure"),
        Door(f"message-vpn {quoted(call.service)}", "configure/message-vpn"),
    )
    return Plan(doors, f"replication state {argument(call, 'role')}")


def _complete_transaction(call: Call) -> Plan:
    return Plan(_spool_doors(call), f"{argument(call, 'outcome')}-transaction xid {argument(call, 'xid')}")


def _delete_transaction(call: Call) -> Plan:
    return Plan(_spool_doors(call), f"delete-transaction xid {argument(call, 'xid')}")


def _spool_doors(call: Call) -> tuple[Door, ...]:
    return (
        Door("admin", "admin"),
        Door(f"message-spool message-vpn {quoted(call.service)}", "admin/message-spool"),
    )


def _set_backbone(call: Call) -> Plan:
    # The question comes with the shutdown only; its sentence is captured (facts/solace.md section 3.1).
    doors, line = (Door("configure", "configure"),), "service msg-backbone shutdown"
    if argument(call, "state") == "up":
        return Plan(doors, f"no {line}")
    return Plan(doors, line, warning="All clients will be disconnected.")


def _set_reject_on_discard(call: Call) -> Plan:
    doors = (
        Door("configure", "configure"),
        Door(f"message-vpn {quoted(call.service)}", "configure/message-vpn"),
        Door("replication", "configure/message-vpn/replication"),
        Door("queue", "configure/message-vpn/replication/queue"),
    )
    line = "reject-msg-to-sender-on-discard"
    return Plan(doors, line if argument(call, "enabled") == "yes" else f"no {line}")


_PLANS: Mapping[str, Callable[[Call], Plan]] = {
    "set_role": _set_role,
    "complete_transaction": _complete_transaction,
    "delete_transaction": _delete_transaction,
    SET_BACKBONE: _set_backbone,
    "set_reject_on_discard": _set_reject_on_discard,
}

ACTIONS: Mapping[str, ActionSpec] = declared(lambda action, call: plan_of(action, call).lines)
