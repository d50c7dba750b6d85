"""The CLI commands that change something: the modes that each command needs, and one attempt at each command.

Modes are entered one by one and each prompt is checked. The one line that changes something is sent last, right after
the permit is checked. Before that line is sent, the device cannot have obeyed; from then on, it may have obeyed. There
is never a second attempt.

Sources: docs/sources/solace-procedure.md, controlled 2, 4, 5 and 6, uncontrolled 3; docs/sources/solace.md, 3.8. A
command that succeeds prints nothing. Other output is a refusal if it has the words of a refusal, and a doubt otherwise
(section 3.1). ``questions`` decides which question is answered with yes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.solace.declared import argument, check_call, declared
from adapters.solace.dialogue import Dialogue, mode_behind
from adapters.solace.fencing import SET_BACKBONE
from adapters.solace.names import quoted
from adapters.solace.questions import is_about_backbone, is_about_transaction
from adapters.solace.refusals import refusal
from adapters.ssh.session import ShellSession
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    Forbidden,
    NoSuchService,
    NotObeyed,
    PerhapsObeyed,
    UnreadableReply,
)
from orchestrator.family.contract import ActionSpec, Call, Permit, Result
from orchestrator.model.outcome import Effect


@dataclass(frozen=True, slots=True)
class Plan:
    """The lines that lead into the mode, each of which changes nothing, and the line that changes something there.

    ``is_own`` tells whether a question of the device is about this line. It gets everything that the device says up to
    the question. If it returns True, the question is answered with yes.
    """

    doors: tuple[str, ...]
    change: str
    is_own: Callable[[str], bool] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self.doors, self.change)


def plan_of(action: str, call: Call) -> Plan:
    """The lines that ``call`` sends. An argument without a value is shown as ``<name>``: such a plan is only for
    checking."""
    return _PLANS[action](call)


def interface_plan(interface: str, call: Call) -> Plan:
    """The plan of the backbone action for a site whose fence plan shuts an interface instead (docs/sources/solace.md,
    3.8).

    Assumptions: the mode is called ``interface``, as other modes have the name of their command, and the shutdown asks
    no question. If either assumption is wrong, nothing is changed.
    """
    doors = ("configure", f"interface {interface}")
    return Plan(doors, "no shutdown" if argument(call, "state") == "up" else "shutdown")


def perform(shell: ShellSession, action: str, call: Call, permit: Permit, *, plan: Plan | None = None) -> Result:
    """Make one attempt. ``plan`` replaces the usual plan. A failure of the device is returned as a result. Only the
    refusal by ``permit`` is raised, with nothing sent."""
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
        said = shell.send(plan.change, at=mode, to=mode, confirms=plan.is_own)
    except NotObeyed as error:
        # CommandRejected: the device asked a question, and the answer was n. Other errors are raised before the line is
        # sent.
        is_answer = isinstance(error, CommandRejected)
        left = (*sent, plan.change) if is_answer else ()
        effect = Effect.REJECTED if is_answer else Effect.NOT_SENT
        return Result(call, effect, detail=str(error), device=device, sent=left)
    except PerhapsObeyed as error:
        return Result(call, Effect.DOUBTFUL, detail=str(error), device=device, sent=plan.lines)
    return _judged(call, plan, said, device)


def _enter(shell: ShellSession, doors: Sequence[str], sent: list[str]) -> str:
    """Enter the modes by the lines ``doors`` and return the last mode. Lines that were sent are added to ``sent``."""
    shell.to_top()
    mode = ""
    for door in doors:
        behind = mode_behind(mode, door)
        try:
            said = shell.send(door, at=mode, to=behind)
        except (CommandRejected, PerhapsObeyed):
            sent.append(door)  # it may have been sent; the other errors are raised before that
            raise
        sent.append(door)
        if said.strip():  # a command that enters a mode prints nothing
            device = shell.device.name
            raise refusal(said, device) or UnreadableReply(
                f"{device} gave an unexpected answer to `{door}`: {said.strip()[:300]}", text=said, device=device
            )
        mode = behind
    return mode


def _ended_before(call: Call, error: AdapterError, device: str, sent: Sequence[str]) -> Result:
    """The result when the line that changes something was not sent. The lines before it may have been sent."""
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
    detail = f"{device} gave an unexpected answer to `{plan.change}`: {said.strip()[:300]}"
    return Result(call, Effect.DOUBTFUL, detail=detail, device=device, sent=plan.lines)


def _vpn_doors(call: Call) -> tuple[str, ...]:
    return ("configure", f"message-vpn {quoted(call.service)}")


def _set_role(call: Call) -> Plan:
    return Plan(_vpn_doors(call), f"replication state {argument(call, 'role')}")


def _complete_transaction(call: Call) -> Plan:
    return _on_transaction(call, argument(call, "outcome"))


def _delete_transaction(call: Call) -> Plan:
    return _on_transaction(call, "delete")


def _on_transaction(call: Call, verb: str) -> Plan:
    doors = ("admin", f"message-spool message-vpn {quoted(call.service)}")
    xid = argument(call, "xid")
    return Plan(doors, f"{verb}-transaction xid {xid}", is_own=lambda said: is_about_transaction(said, xid))


def _set_backbone(call: Call) -> Plan:
    doors, line = ("configure",), "service msg-backbone shutdown"
    if argument(call, "state") == "up":
        return Plan(doors, f"no {line}")
    return Plan(doors, line, is_own=is_about_backbone)


def _set_reject_on_discard(call: Call) -> Plan:
    line = "reject-msg-to-sender-on-discard"
    doors = (*_vpn_doors(call), "replication", "queue")
    return Plan(doors, line if argument(call, "enabled") == "yes" else f"no {line}")


_PLANS: Mapping[str, Callable[[Call], Plan]] = {
    "set_role": _set_role,
    "complete_transaction": _complete_transaction,
    "delete_transaction": _delete_transaction,
    SET_BACKBONE: _set_backbone,
    "set_reject_on_discard": _set_reject_on_discard,
}

ACTIONS: Mapping[str, ActionSpec] = {
    name: replace(spec, dialogue=Dialogue)
    for name, spec in declared(lambda action, call: plan_of(action, call).lines).items()
}
