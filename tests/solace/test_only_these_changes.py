"""What the adapters of Solace can send to change something, and what they never can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from adapters.solace import actions as cli
from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.semp import actions as semp
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.family.contract import ActionSpec, Call
from tests.solace.only import may_change

XID = "0021B028-00-01"


def every_call(spec: ActionSpec) -> Iterator[Call]:
    """An action with each choice of its arguments."""
    names = list(spec.arguments)
    for values in product(*(spec.arguments[name].choices or (XID,) for name in names)):
        yield Call("Trading VPN", dict(zip(names, values, strict=True)))


def changes_of(action: str, call: Call, *, over: str) -> str:
    """The one line of ``call`` that changes something."""
    return cli.plan_of(action, call).change if over == "cli" else semp.change_of(action, call).line


@pytest.mark.parametrize(
    ("over", "actions"), [("cli", SolaceCliAdapter.actions), ("semp", SolaceSempAdapter.actions)]
)
def test_every_change_is_one_of_few(over: str, actions: Mapping[str, ActionSpec]) -> None:
    """Never a message VPN's ``enabled``, never one of its services: config-sync would carry that to the other site."""
    lines = {changes_of(name, call, over=over) for name, spec in actions.items() for call in every_call(spec)}
    assert len(lines) == 9
    assert [line for line in lines if not may_change(line)] == []


@pytest.mark.parametrize("action", cli.ACTIONS)
def test_the_doors_of_the_cli_change_nothing(action: str) -> None:
    """What is typed before the change only leads to its mode."""
    harmless = ("enable", "configure", "admin", 'message-vpn "Trading VPN"', "replication", "queue")
    spool = 'message-spool message-vpn "Trading VPN"'
    for call in every_call(cli.ACTIONS[action]):
        assert set(cli.plan_of(action, call).doors) <= {*harmless, spool}


@pytest.mark.parametrize(
    "line",
    [
        "shutdown",
        "no enable",
        "service smf shutdown",
        "no service smf plain-text",
        "service msg-backbone shutdown; shutdown",
        "replication shutdown",
        "no replication shutdown force-recreate-queue",
        'PATCH /SEMP/v2/config/msgVpns/V {"enabled":false}',
        'PATCH /SEMP/v2/config/msgVpns/V {"serviceSmfPlainTextEnabled":false}',
        'PATCH /SEMP/v2/config/msgVpns/V {"replicationRole":"standby","enabled":false}',
        'PATCH /SEMP/v2/config/ {"serviceSmfEnabled":false}',
        "DELETE /SEMP/v2/config/msgVpns/V {}",
        "PUT /SEMP/v2/action/msgVpns/V/queues/%23MSGVPN_REPLICATION_DATA_QUEUE/deleteMsgs {}",
    ],
)
def test_control_the_list_leaves_things_out(line: str) -> None:
    """What must never be sent is none of them."""
    assert not may_change(line)
