"""A session reads: what an answer is, whose it is, and what a loss costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.solace.dialect import SOLACE
from adapters.ssh.conversation import ANSWER_BYTES_MAX
from adapters.ssh.session import ShowSession
from orchestrator.errors import CommandTimedOut, ConnectionLost, HostKeyRejected, Unreachable, UnreadableReply
from orchestrator.model.inventory import Device
from tests.ssh.scripted import PAGE, PAGER, ScriptedLine
from tests.ssh.talks import TABLE, device_of, shows

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
    device.latency_s = 0.0
    session.open()
    device.latency_s = 2.0
    device.mishaps["show table"] = "silent"
    before = device.clock.now()
    with pytest.raises(CommandTimedOut, match="within 15 s"):
        session.show("show table")
    assert device.clock.now() - before == pytest.approx(15.0)


def test_a_kept_session_that_is_dead_costs_one_echo() -> None:
    """Law: a CLI echoes a line before it works on it, so a session that was there before and echoes nothing is given up
    after 3 s, and not after the whole limit; nothing else is said in it."""
    device = device_of()
    session = shows(device)
    session.open()
    device.mishaps["show table"] = "dead"
    before = device.clock.now()
    with pytest.raises(ConnectionLost, match="no echo of `show table` within 3 s"):
        session.show("show table")
    assert device.clock.now() - before == pytest.approx(3.0)
    assert session.show("show table") == TABLE.rstrip("\n")
    assert device.connections == 2


def test_a_new_session_has_the_whole_limit() -> None:
    """Law: a device that echoes late is read all the same, in a session that was made for it."""
    device = device_of()
    session = shows(device)
    device.mishaps["show table"] = "dead"
    session.open()
    session.close()
    before = device.clock.now()
    with pytest.raises(CommandTimedOut, match="within 15 s"):
        session.show("show table")
    assert device.clock.now() - before >= 15.0


def test_an_echo_in_time_is_enough() -> None:
    """Law: once the line is echoed, its answer may take the whole limit."""
    device = device_of(mishaps={"show other": "silent"})
    session = shows(device)
    session.open()
    before = device.clock.now()
    with pytest.raises(CommandTimedOut, match="within 15 s"):
        session.show("show other")
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
    with pytest.raises(Unreachable, match="no known prompt"):
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
