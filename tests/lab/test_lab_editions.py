"""The editions of the simulated appliances: what each changes in the answers, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from simulator.embedded import embedded_layout
from simulator.http.server import Incoming
from simulator.lab.amps.editions import INSTANCES
from simulator.lab.cli.cli import CliSession
from simulator.lab.command_log import CommandLog
from simulator.lab.edition import NEWER, SEED
from simulator.lab.editions import APPLIANCES, with_editions
from simulator.lab.of_world import FaultyAppliance
from simulator.lab.semp.accounts import Sessions
from simulator.lab.semp.semp import SempNode
from simulator.solace.faults import parse_faults
from simulator.solace.world import World

QUEUE = "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn Risk_VPN"
PACES = {"slow-login", "slow-line", "half-open"}  # they change no answer: see test_lab_pace


class Pair:
    """The embedded pair, spoken to in process by these editions. Node 1 of ny serves."""

    def __init__(self, *editions: str, ha: bool = False, faults: Sequence[str] = ()) -> None:
        self.editions = editions
        self.clock = VirtualClock()
        self.world = World(embedded_layout(ha=ha), self.clock)
        self.world.inject(parse_faults(faults))
        self.clock.advance(5)

    def cli(self, site: str = "ny", node: str = "1") -> Callable[..., str]:
        """Lines to a session of its own; what it says to the last, and its prompt."""
        edition = with_editions(SEED, self.editions)
        appliance = FaultyAppliance(self.world, site, f"{site.upper()}_Appliance{node}", edition.views)
        session = CliSession(appliance, CommandLog(self.clock), edition=edition, hold=self.world.request)
        session.take_line("no paging")

        def say(*lines: str) -> str:
            return [session.take_line(line) for line in lines][-1]

        return say

    def semp(self, target: str, body: bytes = b"", site: str = "ny", node: str = "1") -> str:
        """One request: v1 with a body, v2 without."""
        edition = with_editions(NEWER, self.editions)
        appliance = FaultyAppliance(self.world, site, f"{site.upper()}_Appliance{node}", edition.views)
        sessions = Sessions("operator", "p", "t", approves=lambda: True)
        served = SempNode(
            appliance, CommandLog(self.clock), sessions, clock=self.clock, edition=edition, hold=self.world.request
        )
        headers = {"authorization": "Bearer t", "content-type": "application/xml"}
        return served(Incoming("POST" if body else "GET", target, headers, body)).body.decode()


def show(*editions: str, line: str, ha: bool = False, node: str = "1") -> tuple[str, str]:
    """What the plain lab prints, and what it prints with these editions."""
    return Pair(ha=ha).cli(node=node)(line), Pair(*editions, ha=ha).cli(node=node)(line)


@pytest.mark.parametrize(
    ("edition", "line", "ha", "node", "has", "lacks"),
    [
        ("newer", "show redundancy", False, "1", "Redundancy Status        : ", "####"),
        ("letter-w", "show message-vpn * replication", False, "1", " A C W B R Q S M T\n", " A C B "),
        ("empty-sentence", "show transaction message-vpn Risk_VPN state ACTIVE", False, "1", "No matching", "XID"),
        ("other-labels", f"{QUEUE} detail", False, "1", "Reject Msg to Sender on Discard      : Yes", "Msg To"),
        ("released", "show redundancy", True, "2", "Configuration Status     : Released", "Enabled"),
        ("enabled-released", "show redundancy", True, "2", ": Enabled-Released", ": Enabled\n"),
        ("standby-refuses", QUEUE, True, "2", "ERROR: message-spool operational status is not AD-ACTIVE", "Spooled"),
        ("software", "show version", False, "1", "Solace PubSub+ Standard Version 10.25", "NY_Appliance1"),
    ],
)
def test_what_is_printed(edition: str, line: str, ha: bool, node: str, has: str, lacks: str) -> None:
    """Law: the edition prints its own form in place of the plain one."""
    plain, said = show(edition, line=line, ha=ha, node=node)
    assert (has in plain, has in said, lacks in said) == (False, True, False), said


@pytest.mark.parametrize("edition", ["released", "enabled-released", "standby-refuses"])
def test_a_node_that_serves_speaks_as_ever(edition: str) -> None:
    """Law: what is about a node without activity leaves the one that serves alone."""
    for line in ("show redundancy", QUEUE):
        plain, said = show(edition, line=line, ha=True)
        assert said == plain


@pytest.mark.parametrize("edition", ["empty-nothing", "empty-header", "empty-sentence"])
def test_a_listing_with_rows_is_printed_whole(edition: str) -> None:
    """Law: an edition of the empty listing changes no listing that has a row, in either form."""
    for line in ("show transaction", "show transaction detail", QUEUE):
        plain, said = show(edition, line=line)
        assert said == plain


def test_an_empty_listing_that_prints_nothing() -> None:
    """Law: between the line and the next prompt there is nothing at all."""
    _, said = show("empty-nothing", line="show transaction message-vpn Risk_VPN state ACTIVE")
    assert said == "NY_Appliance1> "


def test_an_empty_listing_that_prints_its_header() -> None:
    """Law: header and rule, without the legend."""
    plain, said = show("empty-header", line="show transaction message-vpn Risk_VPN state ACTIVE")
    assert (plain.startswith("Flags Legend"), said.split()[0], said.count("\n")) == (True, "XID", 4)


def test_a_completed_transaction_by_another_word() -> None:
    """Law: the details say it; the letter of the table, which the procedure explains, stays."""
    pair = Pair("heuristic-states")
    say = pair.cli()
    listed = say("show transaction state PREPARED")
    row = next(line for line in listed.split("\n") if " X P " in line)
    vpn, xid = row.split()[0], listed.split("\n")[listed.split("\n").index(row) - 1]
    say("enable", "admin", f"message-spool message-vpn {vpn}", f"commit-transaction xid {xid}")
    assert "State: HEURISTICALLY-COMPLETED\n" in say(f"show transaction xid {xid} detail")
    assert " X C " in say(f"show transaction xid {xid}")


@pytest.mark.parametrize("verb", ["commit", "rollback", "delete"])
def test_a_transaction_is_asked_about(verb: str) -> None:
    """Law: the command is a question first, and a no changes nothing."""
    pair = Pair("asks-transactions")
    say = pair.cli()
    before = say("show transaction")
    say("enable", "admin", "message-spool message-vpn Trading_VPN")
    assert say(f"{verb}-transaction xid 0021B028-00-01").endswith("Do you want to continue (y/n)? ")
    assert say("n").endswith("(admin/message-spool)# ")
    assert [line for line in say("show transaction").split("\n")[:-1] if "-" in line] == [
        line for line in before.split("\n")[:-1] if "-" in line
    ]


def test_a_mate_by_its_virtual_router() -> None:
    """Law: the mate's name has its prefix in every answer; the name of the node has none."""
    pair = Pair("mate-prefix")
    told = pair.semp("/SEMP", b"<rpc><show><replication/></show></rpc>")
    assert "<router-name>v:NJ_Appliance1</router-name>" in told
    assert pair.cli()("").startswith("NY_Appliance1>")


def test_sync_eligibility_is_not_told() -> None:
    """Law: the table has a dash, and SEMP leaves the attribute out, of a message VPN that is active."""
    pair = Pair("sync-untold")
    row = next(
        line for line in pair.cli()("show message-vpn Risk_VPN replication").split("\n") if "Risk_VPN " in line
    )
    assert row.split()[1:] == ["U", "A", "-", "U", "U", "-", "N", "A"]
    told = json.loads(pair.semp("/SEMP/v2/monitor/msgVpns/Risk_VPN"))["data"]
    assert ("replicationSyncEligible" in told, told["replicationRole"]) == (False, "active")


def test_a_container_names_itself() -> None:
    """Law: prompt, HA mate and replication mate have names of twelve hexadecimal digits, the same one everywhere."""
    pair = Pair("software", "mate-prefix", ha=True)
    names = {key: pair.cli(*key)("").removesuffix("> ") for key in (("ny", "1"), ("ny", "2"), ("nj", "1"))}
    assert all(len(name) == 12 and set(name) <= set("0123456789abcdef") for name in names.values())
    assert f"Mate Router Name         : {names['ny', '2']}\n" in pair.cli()("show redundancy")
    assert f"v:{names['nj', '1']}<" in pair.semp("/SEMP", b"<rpc><show><replication/></show></rpc>")


def test_a_spool_that_is_not_ready() -> None:
    """Law: the node is manageable, says Local Inactive and AD-NotReady, refuses its queue, and takes a role; over SEMP
    alike. Later it serves again."""
    pair = Pair(faults=["at 1s: spool not ready ny 1m"])
    say = pair.cli()
    redundancy = say("show redundancy")
    assert ("Local Inactive" in redundancy, "AD-NotReady" in redundancy) == (True, True)
    assert say(QUEUE).startswith("ERROR: message-spool operational status is not AD-ACTIVE\nCommand Failed\n")
    assert "not AD-ACTIVE" in pair.semp(
        "/SEMP",
        b"<rpc><show><queue><name>#MSGVPN_REPLICATION_DATA_QUEUE</name><vpn-name>Risk_VPN</vpn-name><detail/></queue>"
        b"</show></rpc>",
    )
    say("enable", "configure", "message-vpn Risk_VPN", "replication state standby")
    assert " U S " in say("show message-vpn Risk_VPN replication")
    pair.clock.advance(120)
    assert "Current Messages Spooled" in say(QUEUE)


def test_a_spool_that_is_not_ready_completes_nothing() -> None:
    """Law: only a role can be set there; a transaction needs the spool."""
    say = Pair(faults=["at 1s: spool not ready ny"]).cli()
    say("enable", "admin", "message-spool message-vpn Trading_VPN")
    assert "does not have the active message spool" in say("commit-transaction xid 0021B028-00-01")


@pytest.mark.parametrize("edition", [one.name for one in APPLIANCES.entries if one.name not in PACES])
def test_an_edition_changes_something(edition: str) -> None:
    """Law: whatever is on the list is seen, or heard, in some answer of some node."""

    def heard(*editions: str) -> list[str]:
        pair = Pair(*editions, ha=True)
        serving, other = pair.cli(), pair.cli(node="2")
        lines = ["show version", "show redundancy", "show message-vpn * replication", f"{QUEUE} detail"]
        lines += ["show transaction message-vpn Risk_VPN state ACTIVE", "enable", "admin"]
        lines += ["message-spool message-vpn Trading_VPN", "commit-transaction xid 0021B028-00-01", "y"]
        said = [say(line) for line in lines for say in (serving, other)]
        said.append(serving("show transaction detail"))
        return [*said, pair.semp("/SEMP", b"<rpc><show><replication/></show></rpc>")]

    assert heard(edition) != heard()


def test_editions_add_up() -> None:
    """Law: each of several editions has its effect."""
    both = with_editions(SEED, ["letter-w", "slow-login=0.5", "slow-line", "half-open=3"])
    assert (both.replication_letters, both.pace.login_s, both.pace.line_s, both.pace.answers_max) == (
        "ACWBRQSMT",
        0.5,
        60,
        3,
    )
    assert with_editions(SEED, ["plain"]) == SEED


@pytest.mark.parametrize("text", ["no-such", "letter-w=3", "slow-login=soon", "slow-login=-1", "plain=1", ""])
def test_a_name_that_is_none(text: str) -> None:
    """Law: a name or number that is none is refused with the list of all editions."""
    with pytest.raises(DefinitionError) as caught:
        with_editions(SEED, [text])
    assert all(one.name in caught.value.hint and one.sentence in caught.value.hint for one in APPLIANCES.entries)


def test_the_page_has_every_edition() -> None:
    """Law: the page lists what there is, in the words of the list, and nothing else."""
    page = (Path(__file__).parents[2] / "docs/reference/lab-editions.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `")]
    lines = [line.partition("  ") for line in (*APPLIANCES.lines(), *INSTANCES.lines())]
    assert listed == [f"| `{name}` | {sentence.strip()} |" for name, _, sentence in lines]
