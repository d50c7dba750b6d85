"""The CLI lines that would be sent to an appliance, for plans and journals of the simulated sites.

docs/sources/solace-procedure.md and docs/sources/solace.md, 3.8. Nothing here is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.family.contract import Call

REPLICATION_QUEUE = "#MSGVPN_REPLICATION_DATA_QUEUE"


def quoted(name: str) -> str:
    """A name as the CLI takes it: in double quotes when it holds a blank."""
    return f'"{name}"' if " " in name else name


def set_role(call: Call) -> Sequence[str]:
    """docs/sources/solace-procedure.md, controlled 2 and 5."""
    vpn = quoted(call.service)
    return ("configure", f"message-vpn {vpn}", f"replication state {call.args['role']}")


def complete_transaction(call: Call) -> Sequence[str]:
    """docs/sources/solace-procedure.md, uncontrolled 4.3. ``outcome`` is commit or rollback."""
    outcome = call.args.get("outcome", "<outcome>")
    return (*_spool(call), f"{outcome}-transaction xid {call.args.get('xid', '<xid>')}")


def delete_transaction(call: Call) -> Sequence[str]:
    """docs/sources/solace-procedure.md, controlled 6."""
    return (*_spool(call), f"delete-transaction xid {call.args.get('xid', '<xid>')}")


def set_backbone(call: Call) -> Sequence[str]:
    """docs/sources/solace.md, 3.8; the node asks y/n before it shuts the backbone."""
    return ("configure", f"{'no ' if call.args.get('state') == 'up' else ''}service msg-backbone shutdown")


def set_reject_on_discard(call: Call) -> Sequence[str]:
    """docs/sources/solace-procedure.md, uncontrolled 3 and 4.6."""
    no = "no " if call.args.get("enabled") == "no" else ""
    modes = ("configure", f"message-vpn {quoted(call.service)}", "replication", "queue")
    return (*modes, f"{no}reject-msg-to-sender-on-discard")


def show_fence(services: Sequence[str]) -> Sequence[str]:
    """The commands for the fence, on every node of the site."""
    return ("show service", *(f"show client * message-vpn {quoted(service)}" for service in services))


def show_endpoints(services: Sequence[str]) -> Sequence[str]:
    """Queues and topic endpoints, with the oldest message of each."""
    return tuple(f"show queue * message-vpn {quoted(service)} messages oldest detail" for service in services)


def show_platform(services: Sequence[str]) -> Sequence[str]:
    """The commands for the node; ``services`` does not matter."""
    return ("show version", "show replication", "show config-sync", "show message-spool")


def show_replication(services: Sequence[str]) -> Sequence[str]:
    """One line for one VPN, one wildcard for several."""
    return (f"show message-vpn {_one(services)} replication",)


def show_replication_queue(services: Sequence[str]) -> Sequence[str]:
    """docs/sources/solace-procedure.md, controlled 3; ``detail`` because newer versions else print a table of
    flags."""
    return (f"show queue {REPLICATION_QUEUE} message-vpn {_one(services)} detail",)


def show_transactions(services: Sequence[str]) -> Sequence[str]:
    """Transactions in all states: completed ones have to be seen too."""
    return (f"show transaction message-vpn {_one(services)} detail",)


def show_health(services: Sequence[str]) -> Sequence[str]:
    """The commands for the node; ``services`` does not matter."""
    return ("show redundancy", "show message-spool")


def _one(services: Sequence[str]) -> str:
    return quoted(services[0]) if len(services) == 1 else "*"


def _spool(call: Call) -> Sequence[str]:
    return ("admin", f"message-spool message-vpn {quoted(call.service)}")
