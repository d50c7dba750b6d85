"""Modes, prompts and commands of the lab's CLI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from simulator.lab.cli.cli import prompt_of
from simulator.lab.cli.plans import Place
from simulator.lab.edition import NEWER, SEED
from simulator.solace.appliance import TransactionView
from tests.lab.bench import ACTIVE, BenchAppliance, FencedAppliance, dialogue, golden

TO_VPN = ("enable", "configure", "message-vpn Trading_VPN")


def transaction(xid: str, **values: Any) -> TransactionView:
    base = TransactionView(xid, "Trading_VPN", "XA", "PREPARED", True, "app/1", "default", 1.0, 0, 3, 3)
    return replace(base, **values)


def test_prompts_of_every_mode() -> None:
    """The prompt names the router and the mode, with > before enable and # after."""
    talk = dialogue()
    assert talk.prompt == "NY_Appliance1> "
    assert talk.at("enable") == "NY_Appliance1#"
    assert talk.at("configure") == "NY_Appliance1(configure)#"
    assert talk.at("message-vpn Trading_VPN") == "NY_Appliance1(configure/message-vpn)#"
    assert talk.at("replication") == "NY_Appliance1(configure/message-vpn/replication)#"
    assert talk.at("queue") == "NY_Appliance1(configure/message-vpn/replication/queue)#"
    assert talk.at("home", "admin") == "NY_Appliance1(admin)#"
    assert talk.at("message-spool message-vpn Trading_VPN") == "NY_Appliance1(admin/message-spool)#"


def test_exit_goes_up_one_mode_and_end_and_home_to_the_top() -> None:
    """exit leaves one mode at a time and keeps the VPN below message-vpn; end and home go to the # prompt."""
    talk = dialogue()
    assert talk.at(*TO_VPN, "replication", "exit") == "NY_Appliance1(configure/message-vpn)#"
    assert talk.say("replication state standby") == ""
    assert talk.appliance.done == [("set_role", "Trading_VPN", "standby")]
    assert talk.at("exit") == "NY_Appliance1(configure)#"
    assert talk.at("message-vpn Trading_VPN", "replication", "end") == "NY_Appliance1#"
    assert talk.at("admin", "home") == "NY_Appliance1#"
    assert talk.at("exit") == "NY_Appliance1>"
    talk.say("exit")
    assert talk.session.wants == "nothing"


def test_long_paths_lose_their_left_end() -> None:
    """A path over 40 characters is cut on the left to dots and 37 characters, as in the captured prompts."""
    deep = Place(True, ("configure", "message-vpn", "replication", "ack-propagation"))
    assert prompt_of("solace", deep) == "solace(...ssage-vpn/replication/ack-propagation)# "


@pytest.mark.parametrize(
    "lines",
    [
        (*TO_VPN, "replication", "state standby"),
        (*TO_VPN, "replication state standby"),
        ("enable", "configure", "message-vpn Trading_VPN replication state standby"),
        ("enable", "configure", 'message-vpn "Trading_VPN"', "  replication   state   standby  "),
    ],
)
def test_role_can_be_set_mode_by_mode_or_in_one_line(lines: Sequence[str]) -> None:
    """All nestings do the same, print nothing, and leave the session in the mode it was in."""
    talk = dialogue()
    before = talk.at(*lines[:-1])
    assert talk.say(lines[-1]) == ""
    assert talk.prompt.rstrip() == before
    assert talk.appliance.done == [("set_role", "Trading_VPN", "standby")]
    assert talk.log.changes == (lines[-1],)


@pytest.mark.parametrize(
    ("lines", "typed"),
    [
        ((), "configure"),
        ((), "replication state active"),
        ((), "sho version"),
        ((), "show"),
        ((), "show message-vpn"),
        ((), "show queue x message-vpn"),
        ((), "show queue x detail detail"),
        ((), "show transaction count num-elements many"),
        ((), 'show message-vpn "Trading_VPN replication'),
        ((), 'show message-vpn a"b" replication'),
        (("enable",), "message-vpn Trading_VPN"),
        (("enable", "configure"), "configure"),
        (("enable", "configure"), "admin"),
        (("enable", "configure"), "enable"),
        (("enable", "configure"), "message-vpn *"),
        (("enable", "configure"), "message-spool message-vpn Trading_VPN"),
        (("enable", "configure"), "replication state standby"),
        (("enable", "configure"), "service msg-backbone shutdown now"),
        (TO_VPN, "replication state passive"),
        (TO_VPN, "replication state"),
        (TO_VPN, "no replication state standby"),
        (TO_VPN, "no replication"),
        (TO_VPN, "no no replication"),
        (TO_VPN, "message-vpn Trading_VPN"),
        (TO_VPN, "replication state standby; replication state active"),
        (("enable", "admin"), "message-spool"),
        (("enable", "admin", "message-spool message-vpn Trading_VPN"), "commit-transaction"),
        (("enable", "admin", "message-spool message-vpn Trading_VPN"), "no commit-transaction xid 1-2-3"),
        (("enable", "admin", "message-spool message-vpn Trading_VPN"), "commit-transaction 1-2-3"),
    ],
)
def test_what_is_no_command_says_so_and_does_nothing(lines: Sequence[str], typed: str) -> None:
    """A line that fits no command in its mode is called invalid, changes nothing, and leaves the mode as it was."""
    talk = dialogue()
    before = talk.at(*lines)
    assert talk.say(typed) == SEED.invalid + "\n"
    assert talk.prompt.rstrip() == before
    assert talk.appliance.done == []
    assert talk.log.changes == ()
    assert talk.log.records[-1].kind == "invalid"


def test_show_works_in_every_mode() -> None:
    """The procedure shows the queue from configure; the same answer comes in every mode."""
    talk = dialogue()
    show = "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn Trading_VPN"
    for line in ("", *TO_VPN, "replication", "home", "admin", "message-spool message-vpn Trading_VPN"):
        talk.say(line)
        assert talk.say(show) == golden("queue")


def test_the_router_may_be_called_like_a_vpn() -> None:
    """A row named after the router is a row, not a prompt."""
    row = replace(ACTIVE, vpn="xps-01")
    talk = dialogue(BenchAppliance(router_name="xps-01", rows={"xps-01": row}))
    assert "\nxps-01                           U A" in talk.say("show message-vpn xps-01 replication")
    assert talk.prompt == "xps-01> "


def test_wildcards_and_the_row_of_dashes() -> None:
    """* and ? choose names; only what fits #config-sync shows its dashes; other characters stand for themselves."""
    names = ["a.c", "abc", "b cd", "b[c]"]
    talk = dialogue(BenchAppliance(rows={name: replace(ACTIVE, vpn=name) for name in names}))

    def shown(pattern: str) -> list[str]:
        text = talk.say(f"show message-vpn {pattern} replication")
        return [line[:32].rstrip() for line in text.split("\n---", 1)[1].split("\n")[1:] if line]

    assert shown("*") == ["#config-sync", *names]
    assert shown("a?c") == ["a.c", "abc"]
    assert shown("a.c") == ["a.c"]
    assert shown('"b c*"') == ["b cd"]
    assert shown("b[c]") == ["b[c]"]
    assert shown("#config-sync") == ["#config-sync"]
    assert shown("nobody*") == []


def test_unknown_names_are_refused_in_the_appliance_s_words() -> None:
    """One unknown name is refused, in shows and in commands, and the session stays where it was."""
    talk = dialogue()
    said = "message VPN Nowhere does not exist\n"
    assert talk.say("show message-vpn Nowhere replication") == said
    assert talk.say("show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn Nowhere") == said
    assert talk.say("show transaction message-vpn Nowhere") == said
    assert talk.say("enable", "configure", "message-vpn Nowhere") == said
    assert talk.say("message-vpn Nowhere replication") == said
    assert talk.prompt.rstrip() == "NY_Appliance1(configure)#"
    assert talk.say("show queue other message-vpn Trading_VPN") == "Queue 'other' does not exist\n"


def test_an_edition_may_answer_unknown_names_with_an_empty_table() -> None:
    """Where unknown names are not refused, nothing at all is printed for a queue, and a table has no rows."""
    talk = dialogue(edition=replace(NEWER, is_unknown_name_refused=False))
    assert talk.say("show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn Nowhere") == ""
    assert talk.say("show message-vpn Nowhere replication").endswith("- - - - - - - -\n\n")


def test_a_vpn_that_was_never_replicated_has_no_queue() -> None:
    """Asked for alone it is refused; a wildcard passes it over."""
    plain = replace(ACTIVE, vpn="plain")
    talk = dialogue(BenchAppliance(rows={"Trading_VPN": ACTIVE, "plain": plain}))
    show = "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn"
    assert talk.say(f"{show} plain") == "message VPN plain was never replicated\n"
    assert talk.say(f"{show} *").count("Message VPN") == 1
    assert talk.say("show queue * message-vpn *").count("Message VPN") == 1
    assert talk.say(show.removesuffix(" message-vpn")).count("Message VPN") == 1


def test_transactions_are_chosen_by_every_filter() -> None:
    """state, replicated, xid and message-vpn narrow the list; detail changes its form; a count cuts it."""
    talk = dialogue(
        BenchAppliance(
            held=[
                transaction("1-00-01"),
                transaction("2-00-01", state="COMPLETE"),
                transaction("3-00-01", replicated=False),
                transaction("4-00-01", type="LOCAL", state="ACTIVE", replicated=False),
            ]
        )
    )

    def xids(options: str) -> list[str]:
        return [line for line in talk.say(f"show transaction {options}").split("\n") if line.endswith("-00-01")]

    assert xids("message-vpn Trading_VPN state PREPARED replicated") == ["1-00-01"]
    assert xids("state prepared") == ["1-00-01", "3-00-01"]
    assert xids("replicated message-vpn *") == ["1-00-01", "2-00-01"]
    assert xids("xid 2-00-01") == ["2-00-01"]
    assert xids("") == ["1-00-01", "2-00-01", "3-00-01", "4-00-01"]
    assert xids("count num-elements 2") == ["1-00-01", "2-00-01"]
    assert xids("xid 1-00-01 detail") == ["XID: 1-00-01"]


def test_transactions_are_completed_and_deleted_in_admin() -> None:
    """The three commands reach the appliance with the VPN of their mode."""
    talk = dialogue()
    talk.say("enable", "admin", "message-spool message-vpn Trading_VPN")
    for line in ("commit-transaction xid 1-a-b", "rollback-transaction xid 2-a-b", "delete-transaction xid 1-a-b"):
        assert talk.say(line) == ""
    talk.say("exit")
    assert talk.say("message-spool message-vpn Trading_VPN delete-transaction xid 2-a-b") == ""
    assert talk.appliance.done == [
        ("commit", "Trading_VPN", "1-a-b"),
        ("rollback", "Trading_VPN", "2-a-b"),
        ("delete", "Trading_VPN", "1-a-b"),
        ("delete", "Trading_VPN", "2-a-b"),
    ]


def test_a_refusal_is_printed_as_the_appliance_words_it() -> None:
    """A node that does not serve refuses a change of role; the prompt follows the refusal."""
    talk = dialogue(BenchAppliance(refusal="NY_Appliance2 does not have the active message spool"))
    said = talk.say(*TO_VPN, "replication state active")
    assert said == "Error: NY_Appliance2 does not have the active message spool\n"
    assert talk.log.changes == ("replication state active",)


def test_a_session_of_low_level_gets_neither_configure_nor_admin() -> None:
    """A read-only account sees everything and can enter no mode that changes something."""
    talk = dialogue(level="read-only")
    assert talk.at("enable") == "NY_Appliance1#"
    for mode in ("configure", "admin"):
        assert talk.say(mode) == SEED.forbidden + "\n"
    assert talk.prompt.rstrip() == "NY_Appliance1#"
    assert "Trading_VPN" in talk.say("show message-vpn * replication")


def test_fence_and_suspension_reach_an_appliance_that_can() -> None:
    """The back-bone asks first; reject-msg-to-sender-on-discard is one mode deeper, and no turns it off."""
    talk = dialogue(FencedAppliance())
    assert talk.say(*TO_VPN, "replication", "queue", "no reject-msg-to-sender-on-discard") == ""
    assert talk.say("reject-msg-to-sender-on-discard") == ""
    assert talk.say("end", "configure", "service", "msg-backbone", "shutdown", "y") == ""
    assert talk.say("end", "configure", "no service msg-backbone shutdown") == ""
    assert talk.appliance.done == [
        ("reject-on-discard", "Trading_VPN", "off"),
        ("reject-on-discard", "Trading_VPN", "on"),
        ("msg-backbone", "down"),
        ("msg-backbone", "up"),
    ]


def test_an_appliance_that_cannot_be_fenced_says_so() -> None:
    """What the simulation does not do is refused in words, never silently accepted."""
    talk = dialogue()
    assert "cannot change service" in talk.say("enable", "configure", "service msg-backbone shutdown", "y")
    assert "cannot change reject" in talk.say(
        "message-vpn Trading_VPN replication queue reject-msg-to-sender-on-discard"
    )


def test_the_node_shows_itself() -> None:
    """Redundancy, spool, version and VPN are answered from the same appliance."""
    talk = dialogue(edition=NEWER)
    assert talk.say("show message-spool") == talk.say("show message-spool detail") == golden("message_spool")
    assert "Active-Standby Role      : Primary\n" in talk.say("show redundancy")
    assert "Internal Redundancy State    AD-Active" in talk.say("show redundancy detail")
    assert "SIMULATED" in talk.say("show version")
    assert f"{'Local Status':<37}: Up\n" in talk.say("show message-vpn Trading_VPN")
    assert talk.say("show message-vpn *").count("Local Status") == 1
