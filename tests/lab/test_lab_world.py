"""The lab of the simulated world: its rules seen through the CLI, and its scripted faults on the wire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import paramiko
import pytest
import yaml

from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.errors import Unreachable
from orchestrator.model.inventory import Inventory
from simulator.embedded import embedded_layout
from simulator.lab.cli.cli import CliSession
from simulator.lab.command_log import CommandLog
from simulator.lab.of_world import FaultyAppliance, serve_world
from simulator.lab.server import Lab
from simulator.solace.faults import parse_faults
from simulator.solace.world import World
from simulator.ssh.shell import Spoilt
from tests.lab.bench import Clients, ask, read_until

QUEUE = "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn Risk_VPN"
STANDBY = ("enable", "configure", "message-vpn Risk_VPN", "replication state standby")


class Desk:
    """Sessions with nodes of the embedded pair, in virtual time."""

    def __init__(self, *faults: str, ha: bool = False) -> None:
        self.clock = VirtualClock()
        self.world = World(embedded_layout(ha=ha), self.clock)
        self.world.inject(parse_faults(faults))

    def session(self, site: str, node: str = "1") -> Callable[..., str]:
        name = f"{site.upper()}_Appliance{node}"
        session = CliSession(FaultyAppliance(self.world, site, name), CommandLog(self.clock), hold=self.world.request)
        session.take_line("no paging")

        def say(*lines: str) -> str:
            text = ""
            for line in lines:
                text = session.take_line(line)
            return text.removesuffix(session.prompt)

        return say


def flags(text: str, vpn: str) -> str:
    (line,) = [line for line in text.split("\n") if line.startswith(f"{vpn} ")]
    return line[33:]


def label(text: str, name: str) -> str:
    (line,) = [line for line in text.split("\n") if line.startswith(f"{name} ")]
    return line.partition(": ")[2]


def test_a_controlled_move_typed_by_hand() -> None:
    """The procedure's six steps, typed into both appliances, move a message VPN and lose nothing."""
    desk = Desk()
    ny, nj = desk.session("ny"), desk.session("nj")
    assert flags(ny("show message-vpn Risk_VPN replication"), "Risk_VPN") == "U A - U U Y N A"
    assert flags(nj("show message-vpn Risk_VPN replication"), "Risk_VPN") == "U S U - - - N A"
    assert ny(*STANDBY) == ""
    assert flags(ny("show message-vpn Risk_VPN replication"), "Risk_VPN")[:3] == "U S"
    for _ in range(1000):
        if label(ny(QUEUE), "Current Messages Spooled") == "0":
            break
        desk.clock.advance(0.1)
    assert label(ny(QUEUE), "Current Messages Spooled") == "0"
    assert nj("enable", "configure", "message-vpn Risk_VPN", "replication state active") == ""
    assert flags(nj("show message-vpn * replication"), "Risk_VPN")[:3] == "U A"
    desk.clock.advance(30.0)
    tally = desk.world.tally("Risk_VPN")
    assert (tally.lost, tally.both_active) == (0, ())


def test_transactions_are_decided_and_deleted_by_hand() -> None:
    """A prepared transaction is listed, committed and deleted; one that is not prepared is refused."""
    ny = Desk().session("ny")
    listed = ny("show transaction message-vpn Trading_VPN state PREPARED replicated")
    assert [line for line in listed.split("\n") if line.endswith("-00-01")] == ["0021B028-00-01", "0021ABC4-00-01"]
    assert "3118727415           queue orders" in ny("show transaction xid 0021B028-00-01 detail")
    ny("enable", "admin", "message-spool message-vpn Trading_VPN")
    assert "0021B030-00-01" in ny("commit-transaction xid 0021B030-00-01")
    assert ny("delete-transaction xid 0021B028-00-01") != ""
    assert ny("commit-transaction xid 0021B028-00-01") == ""
    assert "0021B028-00-01" in ny("show transaction state COMPLETE message-vpn Trading_VPN")
    assert ny("delete-transaction xid 0021B028-00-01") == ""
    assert "0021B028-00-01" not in ny("show transaction")


def test_the_node_that_does_not_serve_refuses_changes() -> None:
    """The backup of an HA pair says what it is, shows empty queues, and changes nothing."""
    desk = Desk(ha=True)
    backup = desk.session("ny", "2")
    shown = backup("show redundancy")
    assert "Mate Router Name         : NY_Appliance1\n" in shown
    assert "Activity Status                Shutdown                Mate Active\n" in shown
    assert "AD-Standby" in backup("show message-spool")
    assert backup(*STANDBY) == "Error: NY_Appliance2 does not have the active message spool\n"
    assert flags(desk.session("ny")("show message-vpn Risk_VPN replication"), "Risk_VPN")[:3] == "U A"


def test_time_passes_between_lines_only() -> None:
    """Each line sees the world brought up to now; while nobody types, the clock alone moves it."""
    desk = Desk("at 2s: bridge down")
    nj = desk.session("nj")
    show = "show message-vpn Risk_VPN replication"
    assert flags(nj(show), "Risk_VPN")[4] == "U"
    desk.clock.advance(3.0)
    assert flags(nj(show), "Risk_VPN")[4] == "D"


@pytest.mark.parametrize(
    ("fault", "line", "kind", "answer"),
    [
        ("demote Risk_VPN: lose reply", STANDBY[-1], "drop-after", ""),
        ("demote: lose request", STANDBY[-1], "freeze-after", ""),
        ("demote: late 3s", STANDBY[-1], "freeze-after", ""),
        ("demote: truncate reply", STANDBY[-1], "cut-short", ""),
        ("demote: garbage reply", STANDBY[-1], "garbage", ""),
        ("reads Risk_VPN: lose reply", QUEUE, "drop-after", "Risk_VPN"),
        ("reads Risk_VPN: truncate reply", "show message-vpn * replication", "shortened", "Settlement_VPN"),
        ("reads Risk_VPN: lose request", "show transaction message-vpn Risk_VPN", "freeze-after", ""),
        ("any: garbage reply", "show redundancy", "garbage", "Activity Status"),
    ],
)
def test_faults_of_answers_happen_once(fault: str, line: str, kind: str, answer: str) -> None:
    """What the world scripts for an answer becomes the mishap of that line's answer, and of no later one."""
    desk = Desk(fault)
    ny = desk.session("ny")
    ny(*STANDBY[:-1])
    with pytest.raises(Spoilt) as spoilt:
        ny(line)
    assert spoilt.value.kind == kind
    assert answer in spoilt.value.answer
    ny(line)


@pytest.mark.parametrize(
    ("fault", "at_once", "later"),
    [("lose reply", "S", "S"), ("garbage reply", "S", "S"), ("lose request", "A", "A"), ("late 3s", "A", "S")],
)
def test_what_a_faulty_command_does(fault: str, at_once: str, later: str) -> None:
    """A lost reply was obeyed, a lost request never is, and a late command takes effect when it arrives."""
    desk = Desk(f"demote: {fault}")
    ny, again = desk.session("ny"), desk.session("ny")
    with pytest.raises(Spoilt):
        ny(*STANDBY)
    show = "show message-vpn Risk_VPN replication"
    assert flags(again(show), "Risk_VPN")[2] == at_once
    desk.clock.advance(4.0)
    assert flags(again(show), "Risk_VPN")[2] == later


def test_a_refusal_is_no_mishap() -> None:
    """A command the world refuses is answered by its words."""
    ny = Desk("demote: refuse").session("ny")
    assert "refused" in ny(*STANDBY)
    assert ny(STANDBY[-1]) == ""


def test_a_site_out_of_reach_ends_the_session() -> None:
    """Where management is away, a line gets no answer: the node is gone."""
    desk = Desk("at 1s: unreachable ny 5s")
    ny = desk.session("ny")
    desk.clock.advance(2.0)
    with pytest.raises(Unreachable):
        ny("show redundancy")


def served(directory: Path, *faults: str, ha: bool = False) -> Lab:
    """A lab of the embedded pair with these faults, in real time."""
    world = World(embedded_layout(ha=ha), SystemClock())
    world.inject(parse_faults(faults))
    return serve_world(world, directory=directory)


@pytest.mark.realtime
def test_a_world_is_served_on_ports(lab_directory: Path, connect: Clients) -> None:
    """Every node of an HA world answers on its own port, and the inventory lists sites, nodes and message VPNs."""
    with served(lab_directory, ha=True) as lab:
        inventory = Inventory.model_validate(yaml.safe_load(lab.inventory_path.read_text()))
        listed = {name: [device.name for device in site.devices] for name, site in inventory.sites.items()}
        assert listed == {"ny": ["NY_Appliance1", "NY_Appliance2"], "nj": ["NJ_Appliance1", "NJ_Appliance2"]}
        assert inventory.pairs[0].services == ("Trading_VPN", "Risk_VPN", "Settlement_VPN")
        for site, node in lab.nodes:
            channel = connect(lab, site, node).log_in().shell()
            assert "SIMULATED" in read_until(channel, f"{node}> ")
            assert "Trading_VPN" in ask(channel, "show message-vpn * replication")


@pytest.mark.realtime
def test_scripted_faults_reach_the_wire(lab_directory: Path, connect: Clients) -> None:
    """A wrong password is refused once; a lost reply breaks the connection after the effect."""
    with served(lab_directory, "login: wrong password", "demote Risk_VPN: lose reply") as lab:
        site, node = lab.nodes[0]
        with pytest.raises(paramiko.AuthenticationException):
            connect(lab, site, node).log_in()
        channel = connect(lab, site, node).log_in().shell()
        read_until(channel, "> ")
        for line in STANDBY[:-1]:
            ask(channel, line)
        channel.sendall(f"{STANDBY[-1]}\r".encode())
        while channel.recv(1024):
            pass
        again = connect(lab, site, node).log_in().shell()
        read_until(again, "> ")
        assert flags(ask(again, "show message-vpn Risk_VPN replication").replace("\r", ""), "Risk_VPN")[:3] == "U S"


def test_the_backbone_is_shut_and_shown_by_hand() -> None:
    """``service msg-backbone shutdown`` asks first, then the clients are gone; ``show service`` tells."""
    desk = Desk()
    ny = desk.session("ny")
    assert "Msg-Backbone:       Enabled" in ny("show service")
    assert "y/n" in ny("enable", "configure", "service msg-backbone shutdown")
    ny("y")
    assert "Msg-Backbone:       Shutdown" in ny("show service")
    with desk.world.request():
        assert [one.name for one in desk.world.vpn("Risk_VPN").clients("ny") if not one.name.startswith("#")] == []
    ny("no service msg-backbone shutdown")
    assert "Msg-Backbone:       Enabled" in ny("show service")


def test_replication_is_suspended_by_hand() -> None:
    """docs/sources/solace-procedure.md, uncontrolled 3: two modes below the message VPN."""
    ny = Desk().session("ny")
    ny("enable", "configure", "message-vpn Risk_VPN", "replication", "queue", "no reject-msg-to-sender-on-discard")
    assert label(ny(QUEUE + " detail"), "Reject Msg To Sender On Discard") == "No"
