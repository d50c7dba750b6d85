"""The changes that a message VPN and its site support, declared once for every kind of session.

Each session supplies the lines that make the change. It passes the call to ``check_call`` before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adapters.solace.fencing import SET_BACKBONE, backbone_spec
from adapters.solace.names import checked_service, checked_xid
from orchestrator.errors import Forbidden
from orchestrator.family.contract import ActionSpec, ArgumentSpec, Call


def declared(lines_of: Callable[[str, Call], Sequence[str]]) -> Mapping[str, ActionSpec]:
    """Every action by its name. ``lines_of`` returns the lines that are sent for an action and a call, for a plan to
    show."""

    def spec(name: str, summary: str, arguments: Mapping[str, ArgumentSpec], *, sets_value: bool) -> ActionSpec:
        # An action that sets a value may be repeated, and also restores the value.
        return ActionSpec(
            name,
            summary,
            idempotent=sets_value,
            commands=lambda call: lines_of(name, call),
            arguments=arguments,
            inverse=name if sets_value else None,
        )

    specs = (
        spec(
            "set_role",
            "Give the message VPN the replication role active or standby",
            {"role": ArgumentSpec(choices=("active", "standby"))},
            sets_value=True,
        ),
        spec(
            "complete_transaction",
            "Heuristically commit or roll back a prepared transaction",
            {
                "xid": ArgumentSpec(filled_by="item"),
                "outcome": ArgumentSpec(choices=("commit", "rollback"), filled_by="decision"),
            },
            sets_value=False,
        ),
        spec(
            "delete_transaction",
            "Delete a heuristically completed transaction",
            {"xid": ArgumentSpec(filled_by="item")},
            sets_value=False,
        ),
        backbone_spec(lambda call: lines_of(SET_BACKBONE, call)),
        spec(
            "set_reject_on_discard",
            "When the replication queue is full: refuse publishers, or serve them without replication",
            {"enabled": ArgumentSpec(choices=("yes", "no"))},
            sets_value=True,
        ),
    )
    return {one.name: one for one in specs}


def check_call(spec: ActionSpec, call: Call) -> None:
    """Raise ``Forbidden`` for a call with arguments that must not be sent, and ``ValueError`` if an argument is
    missing."""
    checked_service(call.service)
    for name, argument in spec.arguments.items():
        value = call.args.get(name)
        if value is None:
            raise ValueError(f"{spec.name} needs {name}")
        if argument.choices and value not in argument.choices:
            raise Forbidden(f"{name} of {spec.name} must be one of {', '.join(argument.choices)}, not {value!r}")
        if name == "xid":
            checked_xid(value)


def argument(call: Call, name: str) -> str:
    """An argument, or ``<name>`` if it has no value yet: such a call is only for checking."""
    return call.args.get(name, f"<{name}>")
