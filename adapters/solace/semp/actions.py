"""The changes over SEMP: the request of each change, and one attempt at it. There is never a second attempt.

Sources: docs/sources/solace.md, 1.4, 1.5 and 1.8; docs/sources/solace-procedure.md, controlled 2 to 6. A 200 says only
that the broker accepted a change; the run reads the value back. ``force-recreate-queue`` and the like are never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adapters.solace.declared import argument, check_call, declared
from adapters.solace.fencing import SET_BACKBONE
from adapters.solace.semp.client import Change, ChangeV1, SempReader, SempWriter
from adapters.solace.semp.envelope import text_in
from adapters.solace.semp.paths import path_of
from adapters.solace.semp.site_readings import level_of
from adapters.solace.semp.v1 import set_interface
from orchestrator.errors import AdapterError, CommandRejected, Forbidden, HostKeyRejected, NoSuchService, Unreachable
from orchestrator.family.contract import ActionSpec, Call, Permit, Result
from orchestrator.model.outcome import Effect

# Global levels, lowest first (section 1.2); the broker judges a level that is not listed here.
_LEVELS = ("none", "read-only", "mesh-manager", "read-write", "admin")
# The request was not sent, or the node had no free session. All other errors are answers or doubts.
_NEVER_LEFT = (Unreachable, HostKeyRejected, Forbidden)
GLOBAL_NEEDS: Mapping[str, str] = {"set_role": "mesh-manager", SET_BACKBONE: "read-write"}


def change_of(action: str, call: Call) -> Change:
    """The request of ``call``. An argument without a value is shown as ``<name>``: such a plan is only for checking."""
    return _CHANGES[action](call)


def interface_change(interface: str, call: Call) -> ChangeV1:
    """The backbone action for a site whose fence plan shuts an interface. SEMP v2 has no such change (section 1.5)."""
    return ChangeV1(set_interface(interface, up=argument(call, "state") == "up"))


def perform(writer: SempWriter, action: str, call: Call, permit: Permit, *, change: ChangeV1 | None = None) -> Result:
    """Make one attempt. ``change`` replaces the usual change. A failure of the device is returned as a result. Only the
    refusal by ``permit`` is raised, with nothing sent."""
    try:
        check_call(ACTIONS[action], call)
    except Forbidden as error:
        return Result(call, Effect.NOT_SENT, detail=str(error), device=writer.device)
    try:
        refused = too_low(writer, action, call.service)
    except AdapterError as error:
        return Result(call, Effect.NOT_SENT, detail=f"not sent: {error}", device=writer.device)
    if refused is not None:
        return Result(call, Effect.REJECTED, detail=str(refused), device=writer.device)
    permit.check()
    return send(writer, call, change or change_of(action, call))


def send(writer: SempWriter, call: Call, change: Change | ChangeV1) -> Result:
    """Send ``change`` for ``call``, and return the effect that it may have had."""
    try:
        writer.change(change)
    except AdapterError as error:
        left = () if isinstance(error, _NEVER_LEFT) else (change.line,)
        effect = Result.of(call, error, left).effect
        return Result(call, effect, detail=str(error), device=writer.device, sent=left)
    return Result(call, Effect.ACCEPTED, device=writer.device, sent=(change.line,))


def too_low(reader: SempReader, action: str, service: str) -> CommandRejected | None:
    """Why the account may not do ``action``, read before anything is sent; None if it may, or if this is unknown.

    Roles and the backbone need a global level; everything else a level for the message VPN (section 0, point 10).
    """
    level = level_of(reader)
    needed = GLOBAL_NEEDS.get(action, "read-write")
    if _is_enough(level, needed):
        return None
    if action not in GLOBAL_NEEDS:
        own = _level_for(reader, service)
        if own is None or _is_enough(own, needed):
            return None
        level = f"{level}, and {own} for {service}"
    return CommandRejected(
        f"{action} needs the level {needed}, but the account's level on {reader.device} is {level}",
        device=reader.device,
        hint="use an account with a higher level",
    )


def _is_enough(level: str | None, needed: str) -> bool:
    return level not in _LEVELS or _LEVELS.index(level) >= _LEVELS.index(needed)


def _level_for(reader: SempReader, service: str) -> str | None:
    try:
        found = reader.one(path_of("monitor", "about", "user", "msgVpns", service), select=("accessLevel",))
    except (CommandRejected, NoSuchService):
        return None
    return text_in(found.data, "accessLevel")


def _set_role(call: Call) -> Change:
    path = path_of("config", "msgVpns", call.service)
    return Change("PATCH", path, {"replicationRole": argument(call, "role")})


def _transaction(call: Call, verb: str) -> Change:
    path = path_of("action", "msgVpns", call.service, "transactions", argument(call, "xid"), verb)
    return Change("PUT", path, {})


def _complete_transaction(call: Call) -> Change:
    return _transaction(call, argument(call, "outcome"))


def _delete_transaction(call: Call) -> Change:
    return _transaction(call, "delete")


def _set_backbone(call: Call) -> Change:
    # The trailing slash is the broker object itself (section 1.5).
    return Change("PATCH", path_of("config"), {"serviceMsgBackboneEnabled": argument(call, "state") == "up"})


def _set_reject_on_discard(call: Call) -> Change:
    path = path_of("config", "msgVpns", call.service)
    enabled = argument(call, "enabled") == "yes"
    return Change("PATCH", path, {"replicationQueueRejectMsgToSenderOnDiscardEnabled": enabled})


_CHANGES: Mapping[str, Callable[[Call], Change]] = {
    "set_role": _set_role,
    "complete_transaction": _complete_transaction,
    "delete_transaction": _delete_transaction,
    SET_BACKBONE: _set_backbone,
    "set_reject_on_discard": _set_reject_on_discard,
}


ACTIONS: Mapping[str, ActionSpec] = declared(lambda action, call: (change_of(action, call).line,))
