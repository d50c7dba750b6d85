"""The pager, the questions and the command log of the lab's CLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import Unreachable
from simulator.lab.cli.cli import PAGER, QUESTION
from simulator.lab.command_log import CommandLog
from simulator.lab.edition import SEED
from tests.lab.bench import ACTIVE, BenchAppliance, Dialogue, FencedAppliance, dialogue

BACKBONE = ("enable", "configure", "service msg-backbone shutdown")


def test_the_login_says_that_it_is_simulated() -> None:
    """The banner has the captured shape, says SIMULATED, and ends in the prompt."""
    greeting = dialogue().session.greet()
    assert greeting.startswith("\nSolace PubSub+ Appliance Version ")
    assert "SIMULATED" in greeting
    assert greeting.endswith("\nOperating Mode: Message Routing Node\n\nNY_Appliance1> ")


@pytest.fixture
def many() -> Dialogue:
    """A session on a node with sixty message VPNs, the pager on."""
    rows = {f"vpn-{number:02}": replace(ACTIVE, vpn=f"vpn-{number:02}") for number in range(60)}
    return dialogue(BenchAppliance(rows=rows), paging=True)


def test_the_pager_comes_in_the_middle_of_tables(many: Dialogue) -> None:
    """A page is the terminal's height less the pager's own line; any key shows the next; nothing is lost."""
    many.session.resize(200, 11)
    show = "show message-vpn * replication"
    pages = [many.session.take_line(show)]
    while many.session.wants == "key":
        pages.append(many.session.take_key(" "))
    assert all(page.endswith("\n" + PAGER) for page in pages[:-1])
    assert [page.removeprefix("\n").count("\n") for page in pages[1:-1]] == [10] * (len(pages) - 2)
    joined = "".join(page.removesuffix(PAGER).removeprefix("\n") for page in pages[1:])
    paged = pages[0].removesuffix(PAGER) + joined
    many.say("no paging")
    assert paged == many.session.take_line(show)


def test_q_leaves_the_pager(many: Dialogue) -> None:
    """q drops the rest and gives the prompt; the next line is a line again."""
    assert many.session.take_line("show message-vpn * replication").endswith(PAGER)
    assert many.session.take_key("q") == "\nNY_Appliance1> "
    assert many.session.wants == "line"


def test_interrupt_leaves_the_pager_and_the_question(many: Dialogue) -> None:
    """Ctrl-C gives the prompt, and what was asked is not done."""
    many.session.take_line("show message-vpn * replication")
    assert many.session.interrupt() == "NY_Appliance1> "
    many.say("no paging", *BACKBONE)
    assert many.session.interrupt() == "NY_Appliance1(configure)# "
    assert many.session.take_line("y") == SEED.invalid + "\nNY_Appliance1(configure)# "


def test_no_paging_lasts_for_the_session_only(many: Dialogue) -> None:
    """no paging stops the pager for this session; paging brings it back; another session has its own."""
    show = "show message-vpn * replication"
    many.say("no paging")
    assert PAGER not in many.session.take_line(show)
    many.say("paging")
    assert PAGER in many.session.take_line(show)
    assert PAGER in dialogue(many.appliance, paging=True).session.take_line(show)


def test_a_terminal_of_unknown_height_has_24_rows(many: Dialogue) -> None:
    """Without a size the pager comes after 23 lines."""
    many.session.resize(0, 0)
    assert many.session.take_line("show message-vpn * replication").count("\n") == 23


@pytest.mark.parametrize(
    ("answer", "done"), [("y", True), ("YES", True), ("n", False), ("", False), ("maybe", False)]
)
def test_a_question_is_answered_by_a_line(answer: str, done: bool) -> None:
    """The warning and the question come without a prompt; only a yes does what was asked."""
    talk = dialogue(FencedAppliance())
    talk.say(*BACKBONE[:-1])
    assert talk.session.take_line(BACKBONE[-1]) == f"All clients will be disconnected.\n{QUESTION}"
    assert talk.appliance.done == []
    assert talk.session.take_line(answer) == "NY_Appliance1(configure)# "
    assert talk.appliance.done == ([("msg-backbone", "down")] if done else [])
    assert [(record.kind, record.line) for record in talk.log.records[-2:]] == [
        ("change", BACKBONE[-1]),
        ("answer", answer),
    ]


def test_an_edition_may_take_a_key_for_an_answer() -> None:
    """Where one key answers, it is shown and the prompt comes at once; a following Enter is an empty line."""
    talk = dialogue(FencedAppliance(), edition=replace(SEED, question_takes="key"))
    talk.say(*BACKBONE)
    answered = (talk.session.wants, talk.session.take_key("y"), talk.session.wants)
    assert answered == ("key", "y\nNY_Appliance1(configure)# ", "line")
    assert talk.appliance.done == [("msg-backbone", "down")]


def test_an_edition_may_ask_before_any_change() -> None:
    """Questions can be switched on for commands that are not known to ask, for the sake of their readers."""
    talk = dialogue(edition=SEED.asking_also("delete-transaction", "replication state standby"))
    text = talk.say("enable", "configure", "message-vpn Trading_VPN", "replication state standby")
    assert text.endswith(QUESTION)
    talk.say("n", "end", "admin", "message-spool message-vpn Trading_VPN")
    assert talk.say("delete-transaction xid 1-2-3").endswith(QUESTION)
    talk.say("y")
    assert talk.appliance.done == [("delete", "Trading_VPN", "1-2-3")]


def test_every_line_is_written_down_with_mode_user_and_time() -> None:
    """The log has each line as typed, empty and invalid ones too, with the mode it was typed in."""
    talk = dialogue(paging=True, user="kim", origin="ssh 127.0.0.1:5 password")
    for line in ("enable", "", "configure", "  message-vpn  Trading_VPN", "replication state standby", "nonsense; y"):
        talk.clock.advance(1.0)
        talk.say(line)
    start = VirtualClock().now()
    assert [(one.moment - start, one.mode, one.kind, one.line) for one in talk.log.records] == [
        (1.0, "exec", "mode", "enable"),
        (2.0, "enabled", "empty", ""),
        (3.0, "enabled", "mode", "configure"),
        (4.0, "configure", "mode", "  message-vpn  Trading_VPN"),
        (5.0, "configure/message-vpn", "change", "replication state standby"),
        (6.0, "configure/message-vpn", "invalid", "nonsense; y"),
    ]
    assert {(one.user, one.origin, one.session) for one in talk.log.records} == {
        ("kim", "ssh 127.0.0.1:5 password", 1)
    }


def test_shows_and_modes_are_no_changes() -> None:
    """What a reader sends leaves the list of changes empty: the witness of a dry-run."""
    talk = dialogue()
    talk.say(
        "enable", "show message-vpn * replication", "show redundancy", "configure", "message-vpn Trading_VPN", "end"
    )
    assert talk.log.changes == ()
    assert talk.log.sessions == 1
    assert "show redundancy" in talk.log.lines


def test_the_log_can_be_kept_in_a_file(tmp_path: Path) -> None:
    """One JSON object a line, flushed before the line is obeyed."""
    log = CommandLog(VirtualClock(1_800_000_000.0), file=tmp_path / "log.jsonl")
    log.record(user="kim", origin="socket", session=log.new_session(), mode="exec", kind="show", line='show "a b"')
    assert json.loads((tmp_path / "log.jsonl").read_text()) == {
        "time": "2027-01-15T08:00:00.000Z",
        "moment": 1_800_000_000.0,
        "user": "kim",
        "origin": "socket",
        "session": 1,
        "mode": "exec",
        "kind": "show",
        "line": 'show "a b"',
    }


def test_the_appliance_is_held_around_every_line_and_answer() -> None:
    """Everything done to an appliance happens while it is held; a node that is gone never sees the line."""
    held: list[str] = []
    gone: list[bool] = []

    @contextmanager
    def hold() -> Iterator[None]:
        if gone:
            raise Unreachable("gone")
        held.append("in")
        yield
        held.append("out")

    talk = dialogue(FencedAppliance(), paging=True, hold=hold)
    talk.say(*BACKBONE, "y")
    assert held == ["in", "out"] * 4
    gone.append(True)
    before = len(talk.log.records)
    with pytest.raises(Unreachable):
        talk.say("show version")
    assert len(talk.log.records) == before
