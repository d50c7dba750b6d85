"""Sessions over a scripted device: whose answer is whose, and what is said when that cannot be known."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.solace.dialect import SOLACE
from adapters.ssh.conversation import ANSWER_BYTES_MAX, LINE_MAX
from adapters.ssh.session import ShellSession, ShowSession
from orchestrator.clock import VirtualClock
from orchestrator.errors import (
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    Forbidden,
    HostKeyRejected,
    NotObeyed,
    PerhapsObeyed,
    Unreachable,
    UnreadableReply,
)
from orchestrator.site import Device
from tests.ssh.scripted import PAGE, PAGER, QUESTION, Obeyed, ScriptedDevice, ScriptedLine

TABLE = "Name    A\n------- -\nalpha   U\nbeta    D\n"
CHANGE = "replication state standby"


def device_of(**more: Any) -> ScriptedDevice:
    return ScriptedDevice(VirtualClock(), **{"answers": {"show table": TABLE, "show other": "other\n"}, **more})


def shows(device: ScriptedDevice, router_name: str | None = None) -> ShowSession:
    return ShowSession(
        Device(name="ny1", router_name=router_name),
        device.connect,
        dialect=SOLACE,
        clock=device.clock,
        timeout_s=15.0,
    )


def shell(device: ScriptedDevice) -> ShellSession:
    return ShellSession(Device(name="ny1"), device.connect, dialect=SOLACE, clock=device.clock, timeout_s=15.0)


def enter_vpn(session: ShellSession) -> None:
    session.to_top()
    session.send("configure", at="", to="configure")
    session.send("message-vpn Trading_VPN", at="configure", to="configure/message-vpn")


# Reading.


def test_an_answer_is_what_stands_between_echo_and_prompt() -> None:
    """No echo, no prompt, no pager in the text; its lines as the device printed them."""
    assert shows(device_of()).show("show table") == TABLE.rstrip("\n")


@given(chunk=st.integers(1, 40), latency_ms=st.integers(0, 3000), tail=st.sampled_from([" ", ""]))
@settings(deadline=None, max_examples=60)
def test_an_answer_does_not_depend_on_how_it_is_cut_into_packets(chunk: int, latency_ms: int, tail: str) -> None:
    """Any chunking and any latency below the limit gives the same text."""
    device = device_of(chunk=chunk, latency_s=latency_ms / 1000, prompt_tail=tail)
    session = shows(device)
    assert [session.show("show table"), session.show("show other")] == [TABLE.rstrip("\n"), "other"]


@pytest.mark.parametrize("erase", ["\r\n", "\r" + " " * len(PAGER) + "\r", "\r\x1b[K"])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_pager_in_the_middle_of_a_table_is_answered_and_removed(erase: str, chunk: int) -> None:
    """Though paging was switched off, a device may page; and the table is read whole."""
    paged = f"Name    A\n------- -\n{PAGE}alpha   U\n{PAGE}beta    D\n"
    device = device_of(answers={"show table": paged}, erase_pager=erase, chunk=chunk)
    session = shows(device)
    assert session.show("show table") == TABLE.rstrip("\n")
    assert session.show("show table") == TABLE.rstrip("\n")
    assert device.connections == 1


def test_a_pager_in_the_banner_is_answered() -> None:
    """A licence text may be longer than a page."""
    device = device_of(banner=f"licence\r\n{PAGER}")
    line_of = device.connect

    def connect() -> ScriptedLine:
        line = line_of()
        line._pages = ["\r\nmore licence\r\n"]
        line._out.pop()
        line._print(f"licence\r\n{PAGER}")
        return line

    session = ShowSession(Device(name="ny1"), connect, dialect=SOLACE, clock=device.clock, timeout_s=15.0)
    assert session.show("show other") == "other"


def test_paging_is_switched_off_at_each_log_in() -> None:
    """The session's own line, and the only one it says by itself."""
    device = device_of()
    session = shows(device)
    session.show("show table")
    session.show("show table")
    assert device.heard == ["no paging", "show table", "show table"]


def test_a_device_that_does_not_know_no_paging_is_read_all_the_same() -> None:
    """What is answered to the session's own line is not looked at; the pager is answered then."""
    device = device_of(refuses={"no paging": "Invalid command input"})
    assert shows(device).show("show other") == "other"


# Whose answer is whose.


def test_a_banner_that_looks_like_a_prompt_does_not_become_the_name() -> None:
    """Trap S3: the name is what an empty line is answered by, not what the banner ends with."""
    device = device_of(banner="Welcome to\r\nTheSystem>", name="solace1", chunk=5)
    assert shows(device).show("show table") == TABLE.rstrip("\n")


def test_a_banner_is_never_an_answer() -> None:
    """Trap S3: an answer begins with the echo of its command."""
    device = device_of(banner="solace1> \r\nsolace1> welcome back\r\n")
    assert shows(device).show("show other") == "other"


def test_a_prompt_of_another_name_inside_an_answer_is_text() -> None:
    """Only the learned name prompts."""
    answer = "other>\nsolace10>\nlast\n"
    assert shows(device_of(answers={"show x": answer})).show("show x") == answer.rstrip("\n")


def test_a_row_that_begins_with_the_routers_name_is_text() -> None:
    """A message VPN may be called like the router."""
    answer = "solace1                          U A - U U - N A\nsolace1#queue\n"
    device = device_of(answers={"show x": answer}, chunk=8)
    assert shows(device).show("show x") == answer.rstrip("\n")


def test_an_answer_without_echo_is_none() -> None:
    """Nothing ties it to the command, so it times out rather than be believed."""
    device = device_of(mishaps={"show table": "no-echo"})
    with pytest.raises(CommandTimedOut):
        shows(device).show("show table")


def test_a_late_answer_finds_nobody_listening() -> None:
    """Trap S2: after a time-out the session is thrown away; the next command has a new one, and its own answer."""
    device = device_of(mishaps={"show table": "silent"})
    session = shows(device)
    with pytest.raises(CommandTimedOut):
        session.show("show table")
    assert session.show("show other") == "other"
    assert device.connections == 2
    assert device.lines[0].is_open is False


def test_a_slow_answer_times_out_at_the_site_limit_of_the_injected_clock() -> None:
    """The limit is for the whole answer, and virtual time is all that passes."""
    device = device_of()
    session = shows(device)
    session.open()
    device.latency_s = 16.0
    before = device.clock.now()
    with pytest.raises(CommandTimedOut, match="within 15 s"):
        session.show("show table")
    assert device.clock.now() - before == pytest.approx(15.0)


def test_return_pressed_once_too_often_does_no_harm() -> None:
    """Prompts left over from logging in are idle talk, before a command and in front of its echo."""
    device = device_of()
    session = shows(device)
    session.open()
    device.lines[0].say("\r\nsolace1> ")
    assert session.show("show other") == "other"
    assert device.connections == 1


def test_anything_else_said_unasked_ends_the_talk_and_a_new_one_is_begun() -> None:
    """A device that speaks out of turn is out of step; nothing was lost, so a reading goes on in a new session."""
    device = device_of()
    session = shows(device)
    session.open()
    device.lines[0].say("\r\nThe system is going down\r\nsolace1> ")
    assert session.show("show other") == "other"
    assert device.connections == 2


def test_words_between_the_command_and_its_echo_are_not_an_answer() -> None:
    """What was said while the command was under way makes the answer unreadable, and shows itself."""
    device = device_of(answers={"show x": "x\n"})
    session = shows(device)
    session.open()
    line = device.lines[0]
    device.latency_s = 1.0
    line.say("\r\nold words\r\nsolace1> ")
    with pytest.raises(UnreadableReply) as caught:
        session.show("show x")
    assert "old words" in caught.value.text


def test_the_inventorys_router_name_is_checked() -> None:
    """A wrong address cannot be taken for the device that was meant."""
    with pytest.raises(HostKeyRejected, match="calls itself solace1; the inventory says solace2"):
        shows(device_of(), router_name="solace2").open()
    shows(device_of(), router_name="solace1").open()


def test_a_device_without_a_prompt_is_unreachable() -> None:
    """No name, no session; and the time limit holds."""
    device = device_of(banner="Password:\r\n", name="")
    before = device.clock.now()
    with pytest.raises(Unreachable, match="no prompt"):
        shows(device).open()
    assert device.clock.now() - before < 17


# Losses.


@pytest.mark.parametrize("mishap", ["drop-before", "drop-after", "cut-short"])
def test_a_loss_in_the_middle_is_a_doubt_and_the_next_use_connects_anew(mishap: str) -> None:
    """A broken session is never used again."""
    device = device_of(mishaps={"show table": mishap})
    session = shows(device)
    with pytest.raises(ConnectionLost):
        session.show("show table")
    assert session.show("show table") == TABLE.rstrip("\n")
    assert device.connections == 2


def test_a_loss_between_two_commands_goes_unnoticed_by_a_reading() -> None:
    """The device's idle time-out ended the session while nobody was talking."""
    device = device_of()
    session = shows(device)
    session.show("show table")
    device.lines[0].drop()
    assert session.is_connected is False
    assert session.show("show other") == "other"


def test_a_loss_while_logging_in_is_unreachable() -> None:
    """Nothing was asked yet, so nothing is in doubt."""
    device = device_of(mishaps={"no paging": "drop-after"})
    with pytest.raises(Unreachable):
        shows(device).open()


def test_an_answer_beyond_the_limit_is_unreadable_and_not_kept() -> None:
    """A device gone mad does not fill the memory; the error shows both ends."""
    device = device_of(answers={"show x": "x" * 100 + "\n" + "y" * ANSWER_BYTES_MAX})
    with pytest.raises(UnreadableReply, match=f"more than {ANSWER_BYTES_MAX} bytes") as caught:
        shows(device).show("show x")
    assert len(caught.value.text) < 10_000


def test_closing_is_quiet_and_can_be_done_twice() -> None:
    """``close`` never raises; a session connects anew when used again."""
    device = device_of()
    session = shows(device)
    session.close()
    session.show("show table")
    session.close()
    session.close()
    assert session.show("show other") == "other"


# Defence.

CONTROL = ["show a\rb", "show a\nreload", "show \x1b[A", "show \x7f", "show a\x00", "show a\u2028b", "show a\x85b"]


@pytest.mark.parametrize("line", CONTROL)
def test_a_line_with_a_control_character_never_leaves(line: str) -> None:
    """The second line of defence: refused before anything is sent, even before connecting."""
    device = device_of()
    with pytest.raises(Forbidden):
        shows(device).show(line)
    session = shell(device)
    session.to_top()
    with pytest.raises(Forbidden):
        session.send(line, at="", to="")
    assert line not in device.heard
    assert device.heard == ["no paging", "enable"]


def test_a_line_longer_than_the_terminal_never_leaves() -> None:
    """Its echo would wrap, and could not be told from an answer."""
    with pytest.raises(Forbidden, match="characters"):
        shows(device_of()).show("show " + "x" * LINE_MAX)


def test_an_empty_line_is_not_a_command() -> None:
    """Pressing return is the session's own affair."""
    session = shell(device_of())
    session.to_top()
    with pytest.raises(Forbidden, match="empty"):
        session.send("  ", at="", to="")


@pytest.mark.parametrize("line", ["configure", "enable", "reload", " show x", "showx", "no paging", "clear stats"])
def test_a_read_only_session_shows_and_nothing_else(line: str) -> None:
    """Any line but a ``show`` is forbidden, and never leaves."""
    device = device_of()
    session = shows(device)
    session.open()
    with pytest.raises(Forbidden):
        session.show(line)
    assert device.heard == ["no paging"]


def test_the_read_only_type_has_no_method_to_change_by() -> None:
    """Promise 6 is a matter of types: this is all a read-only session can do."""
    methods = {name for name in dir(ShowSession) if not name.startswith("_")}
    assert methods == {"show", "open", "close", "is_connected"}
    assert not isinstance(shows(device_of()), ShellSession)


def test_even_the_talk_under_a_read_only_session_refuses_a_change() -> None:
    """Whoever reaches past the type meets the same answer."""
    device = device_of()
    session = shows(device)
    session.open()
    assert session._talk is not None
    with pytest.raises(Forbidden, match="only reads"):
        session._talk.exchange("enable")
    assert device.heard == ["no paging"]


def test_a_question_at_a_show_is_answered_with_no() -> None:
    """Reading never confirms anything."""
    device = device_of(asks={"show x"})
    with pytest.raises(CommandRejected, match="Do you want to continue"):
        shows(device).show("show x")
    assert device.obeyed == []


# Changing.


def test_modes_are_entered_one_by_one() -> None:
    """Each prompt is checked before the next line leaves."""
    device = device_of()
    session = shell(device)
    enter_vpn(session)
    assert session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn") == ""
    assert device.obeyed == [Obeyed("Trading_VPN", CHANGE)]
    session.to_top()
    assert device.heard[-1] == "end"


def test_a_line_does_not_leave_in_the_wrong_mode() -> None:
    """A change meant for one mode must not be typed into another."""
    device = device_of()
    session = shell(device)
    session.to_top()
    with pytest.raises(Forbidden, match="belongs into mode 'configure/message-vpn'"):
        session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn")
    assert device.obeyed == []


def test_a_mode_that_did_not_open_is_reported_with_what_was_said() -> None:
    """The prompt decides, not the silence."""
    device = device_of(refuses={"configure": "Error: access level is too low"})
    session = shell(device)
    session.to_top()
    with pytest.raises(UnreadableReply) as caught:
        session.send("configure", at="", to="configure")
    assert "access level is too low" in caught.value.text
    session.to_top()


def test_an_account_that_may_not_enable_is_rejected() -> None:
    """Without the privileged prompt nothing that changes is even tried."""
    device = device_of(knows_enable=False)
    with pytest.raises(CommandRejected, match="may not configure"):
        shell(device).to_top()


def test_a_shortened_mode_is_recognised() -> None:
    """``solace(...ssage-vpn/replication)#`` is where it says it is."""
    device = device_of(name="solace")
    session = shell(device)
    enter_vpn(session)
    line = device.lines[0]
    line._mode = ("configure", "message-vpn-that-is-long", "replication", "queue")
    assert "(..." in line.prompt
    said = session.show("show other")
    assert said == "other"


@pytest.mark.parametrize("takes", ["line", "key"])
def test_a_declared_question_is_answered_with_yes(takes: str) -> None:
    """Only for a command that is known to ask."""
    device = device_of(asks={CHANGE}, question_takes=takes)
    session = shell(device)
    enter_vpn(session)
    session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn", asks=True)
    assert device.obeyed == [Obeyed("Trading_VPN", CHANGE)]
    assert session.show("show other") == "other"


@pytest.mark.parametrize("takes", ["line", "key"])
@pytest.mark.parametrize("chunk", [1, 1000])
def test_an_undeclared_question_is_answered_with_no_and_rejected(takes: str, chunk: int) -> None:
    """The device asked something nobody foresaw: it is told no, and the question is shown."""
    device = device_of(asks={CHANGE}, question_takes=takes, chunk=chunk)
    session = shell(device)
    enter_vpn(session)
    with pytest.raises(CommandRejected, match=re.escape(QUESTION.strip())):
        session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn")
    assert device.obeyed == []
    assert session.show("show other") == "other"
    assert device.connections == 1


def test_a_change_is_not_sent_into_a_new_session() -> None:
    """A session that broke has lost its mode; a change never connects by itself."""
    device = device_of()
    session = shell(device)
    enter_vpn(session)
    device.lines[0].drop()
    with pytest.raises(Unreachable, match="was not sent"):
        session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn")
    assert (device.connections, device.obeyed) == (1, [])


@pytest.mark.parametrize("mishap", ["drop-before", "drop-after", "silent", "cut-short"])
def test_a_change_whose_answer_was_lost_is_a_doubt(mishap: str) -> None:
    """Whether or not the device obeyed, the session says "perhaps"."""
    device = device_of(mishaps={CHANGE: mishap})
    session = shell(device)
    enter_vpn(session)
    with pytest.raises(PerhapsObeyed):
        session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn")
    assert device.connections == 1


def test_a_loss_at_the_pager_of_a_change_is_a_doubt() -> None:
    """The key for the pager did not leave, but the command had: not to be mistaken for "nothing was sent"."""
    device = device_of(answers={CHANGE: f"one\n{PAGE}two\n"}, mishaps={PAGER: "drop-at-pager"})
    session = shell(device)
    enter_vpn(session)
    with pytest.raises(PerhapsObeyed):
        session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn")


@given(
    mishap=st.sampled_from(["drop-before", "drop-after", "silent", "cut-short", "no-echo", None]),
    at=st.sampled_from(["no paging", "enable", "configure", "message-vpn Trading_VPN", CHANGE]),
    chunk=st.integers(1, 30),
)
@settings(deadline=None, max_examples=80)
def test_not_obeyed_is_never_said_of_a_change_that_was_obeyed(mishap: str | None, at: str, chunk: int) -> None:
    """Whatever breaks and wherever: the one word that allows trying again is never wrong."""
    device = device_of(mishaps={at: mishap} if mishap else {}, chunk=chunk)
    session = shell(device)
    try:
        enter_vpn(session)
        session.send(CHANGE, at="configure/message-vpn", to="configure/message-vpn")
    except NotObeyed:
        assert device.obeyed == []
    except PerhapsObeyed:
        pass
    else:
        assert device.obeyed == [Obeyed("Trading_VPN", CHANGE)]
