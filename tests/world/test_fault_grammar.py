"""Faults are data: what is written is understood exactly, or refused with everything that is understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import DefinitionError
from simulator.solace.faults import (
    BridgeFault,
    ManagerFault,
    RoleFault,
    SiteFault,
    parse_fault,
    parse_faults,
    read_faults,
)
from simulator.world.fault_lines import AnswerFault, Fault, When

UNDERSTOOD = {
    "drain: bridge down 5s": (When("drain"), BridgeFault("down", lasts=5.0)),
    "drain: bridge down": (When("drain"), BridgeFault("down")),
    "drain: stall 30s": (When("drain"), BridgeFault("stall", lasts=30.0)),
    "drain: slow 10x": (When("drain"), BridgeFault("slow", factor=10.0)),
    "drain: slow 2.5x 1m": (When("drain"), BridgeFault("slow", factor=2.5, lasts=60.0)),
    "drain: spool full nj": (When("drain"), SiteFault("spool full", "nj")),
    "at 1s: spool not ready ny 1m": (When("at", after=1.0), SiteFault("spool not ready", "ny", lasts=60.0)),
    "drain: ha switch ny": (When("drain"), SiteFault("ha switch", "ny")),
    "drain: ha split ny 500ms": (When("drain"), SiteFault("ha split", "ny", lasts=0.5)),
    "any: unreachable nj 4s": (When("any"), SiteFault("unreachable", "nj", lasts=4.0)),
    "at 3s: node ny/NY_Appliance1 down": (When("at", after=3.0), SiteFault("node down", "ny", "NY_Appliance1")),
    "drain Trading_VPN +2s: bridge down": (When("drain", "Trading_VPN", 2.0), BridgeFault("down")),
    "demote A B: role nj active": (When("demote", "A B"), RoleFault("nj", "active")),
    "transactions: tm commits 0021B028-00-01": (When("transactions"), ManagerFault("commits", "0021B028-00-01")),
    "transactions: tm rolls back X1": (When("transactions"), ManagerFault("rolls back", "X1")),
    "transactions +1s: tm prepares X2": (When("transactions", after=1.0), ManagerFault("prepares", "X2")),
    "demote: lose reply": (When("demote"), AnswerFault("lose reply")),
    "activate: lose request": (When("activate"), AnswerFault("lose request")),
    "revert: refuse": (When("revert"), AnswerFault("refuse")),
    "fence: lose reply": (When("fence"), AnswerFault("lose reply")),
    "unfence: late 3s": (When("unfence"), AnswerFault("late", late=3.0)),
    "demote: late 3s": (When("demote"), AnswerFault("late", late=3.0)),
    "drain: truncate reply": (When("drain"), AnswerFault("truncate reply")),
    "reads: garbage reply 2s": (When("reads"), AnswerFault("garbage reply", lasts=2.0)),
    "any +4s: wrong password 6s": (When("any", after=4.0), AnswerFault("wrong password", lasts=6.0)),
    "drain Trading VPN +2s: stall": (When("drain", "Trading VPN", 2.0), BridgeFault("stall")),
    "demote V +2s: lose reply": (When("demote", "V", 2.0), AnswerFault("lose reply")),
    "login: wrong password": (When("login"), AnswerFault("wrong password")),
    "complete: refuse": (When("complete"), AnswerFault("refuse")),
    "delete V: lose reply": (When("delete", "V"), AnswerFault("lose reply")),
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_every_form_of_the_grammar_means_one_thing(text: str) -> None:
    """A line is its trigger and its effect, and keeps its text."""
    when, what = UNDERSTOOD[text]
    assert parse_fault(f"  {text.replace(':', ' :  ')} ") == Fault(text.replace(":", " :"), when, what)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "drain",
        "drain:",
        ": stall",
        "never: stall",
        "drain: explode",
        "drain: bridge down 5",
        "drain: bridge down 5s now",
        "drain: slow 0x",
        "drain: role nj boss",
        "at: stall",
        "at 3: stall",
        "drain: unreachable",
        "at 3s: refuse",
        "drain: refuse",
        "at 2s: lose reply",
        "demote: wrong password",
        "login: truncate reply",
        "any Trading_VPN: stall",
    ],
)
def test_what_is_not_understood_is_refused_with_what_is(text: str) -> None:
    """No fault is guessed: the error carries the whole grammar."""
    with pytest.raises(DefinitionError) as caught:
        parse_fault(text)
    assert "WHEN is one of" in caught.value.hint
    assert "bridge down" in caught.value.hint


def test_a_file_of_faults_has_comments_and_empty_lines(tmp_path: Path) -> None:
    """One fault a line; # begins a comment."""
    file = tmp_path / "faults.txt"
    file.write_text("# a bad night\n\ndrain: stall 5s   # the link is busy\nactivate: lose reply\n")
    assert [fault.text for fault in read_faults(file)] == ["drain: stall 5s", "activate: lose reply"]


def test_an_error_in_a_file_names_file_and_line(tmp_path: Path) -> None:
    """As every definition error does."""
    file = tmp_path / "faults.txt"
    file.write_text("drain: stall\n\nnonsense\n")
    with pytest.raises(DefinitionError, match="nonsense") as caught:
        read_faults(file)
    assert (caught.value.file, caught.value.line) == (file, 3)


def test_a_file_that_is_not_there_is_a_definition_error(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_faults(tmp_path / "none.txt")


def test_lines_may_come_from_the_command_line_too() -> None:
    """Without a file the error has no place, only a sentence."""
    with pytest.raises(DefinitionError, match="not a fault: 'x'"):
        parse_faults(["x"])
