"""A session changes: what never leaves, in which mode a change leaves, and when it is in doubt."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.ssh.conversation import LINE_MAX
from adapters.ssh.session import ShellSession, ShowSession
from orchestrator.errors import CommandRejected, Forbidden, NotObeyed, PerhapsObeyed, Unreachable, UnreadableReply
from tests.ssh.scripted import PAGE, PAGER, QUESTION, Obeyed
from tests.ssh.talks import CHANGE, device_of, enter_vpn, shell, shows

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
    with pytest.raises(Forbidden, match="read-only"):
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
    with pytest.raises(Forbidden, match="needs the mode 'configure/message-vpn'"):
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
    session.send(
        CHANGE, at="configure/message-vpn", to="configure/message-vpn", confirms=lambda said: QUESTION.strip() in said
    )
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
