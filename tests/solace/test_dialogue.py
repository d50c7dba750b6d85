"""What a plan shows of a session is what a session types, at its prompt; and which questions are answered with yes."""

from __future__ import annotations

import pytest

from adapters.solace.actions import ACTIONS
from adapters.solace.dialogue import Dialogue
from adapters.solace.questions import is_about_backbone, is_about_transaction
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from tests.seam import Permits
from tests.solace.stage import adapter_of, node

XID = "0021B028-00-01"
ASKED = "Do you want to continue (y/n)? "
CALLS = [
    ("set_role", {"role": "standby"}),
    ("complete_transaction", {"xid": XID, "outcome": "commit"}),
    ("delete_transaction", {"xid": XID}),
    ("set_reject_on_discard", {"enabled": "no"}),
]


@pytest.mark.parametrize(("action", "args"), CALLS)
def test_a_plan_shows_what_is_typed(action: str, args: dict[str, str]) -> None:
    """Law: every line of a session is in the plan, in its order; a second change leaves the mode first."""
    device, call = node(), Call("a", args)
    adapter = adapter_of(device)
    follows = Dialogue(device.name)
    typed = []
    for _ in range(2):
        list(adapter.apply(action, [call], Permits()))
        typed += follows.change(ACTIONS[action].commands(call), asks_who_serves=True)
    assert device.heard == [one.line for one in typed]


def test_the_prompt_of_each_line() -> None:
    """Law: a line is shown at the prompt that the device shows, with its mode."""
    follows = Dialogue("v:NY")
    lines = ACTIONS["set_role"].commands(Call("a", {"role": "standby"}))
    typed = [*follows.read(["show redundancy"]), *follows.change(lines, asks_who_serves=False)]
    typed += follows.read(["show version"])
    assert [f"{one.prompt} {one.line}" for one in typed] == [
        "NY> no paging",
        "NY> show redundancy",
        "NY> enable",
        "NY# configure",
        "NY(configure)# message-vpn a",
        "NY(configure/message-vpn)# replication state standby",
        "NY(configure/message-vpn)# show version",
    ]
    again = follows.change(lines, asks_who_serves=False)
    assert f"{again[0].prompt} {again[0].line}" == "NY(configure/message-vpn)# end"


@pytest.mark.parametrize(
    ("before", "is_own"),
    [
        ("", True),
        ("This will commit transaction 0021B028-00-01\n", True),
        ("The transaction will be completed heuristically.\n", True),
        ("WARNING: transaction 0021b028-00-01. ", True),
        ("This will commit transaction 0021B028-00-02\n", False),
        ("All transactions will be completed.\n", False),
        ("All clients will be disconnected.\n", False),
        ("This will delete all spooled messages in q\n", False),
        ("All message spooling will be stopped.\n", False),
        ("This changes the appliance.\n", True),
        ("The broker will be restarted.\n", False),
    ],
)
def test_questions_at_a_transaction(before: str, is_own: bool) -> None:
    """Law: a question about the very transaction is the command's own; one about anything else is not."""
    assert is_about_transaction(before + ASKED, XID) is is_own


def test_other_questions_are_not_its_own() -> None:
    """Law: only the documented question counts, and at the backbone only its own sentence."""
    assert not is_about_transaction("Are you sure (y/n)? ", XID)
    assert is_about_backbone("All clients will be disconnected.\n" + ASKED)
    assert not is_about_backbone("All messages will be deleted.\n" + ASKED)


@pytest.mark.parametrize(("action", "args"), CALLS[1:3])
def test_a_device_that_asks_at_a_transaction(action: str, args: dict[str, str]) -> None:
    """Law: the command's own question is answered with yes, and the command is obeyed."""
    call = Call("a", args)
    line = ACTIONS[action].commands(call)[-1]
    device = node(asks={line}, warning=f"This will complete transaction {XID}")
    [result] = adapter_of(device).apply(action, [call], Permits())
    assert result.effect is Effect.ACCEPTED
    assert [one.line for one in device.obeyed] == [line]
