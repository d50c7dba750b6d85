"""`failover guard`: a failed site that comes back by itself is fenced and standby before anybody is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from adapters.mock.adapter import MockAdapter
from orchestrator.family.registry import GROUP, Registry
from simulator.solace.account import Tally
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout, TransactionLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.cli.shell import VPN, Ended, Shell
from tests.readiness.stopping import StoppedClock

OTHER = "Risk_VPN"
SINGLE = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
PAIRS = (
    SiteLayout("ny", ("NY_Appliance1", "NY_Appliance2")),
    SiteLayout("nj", ("NJ_Appliance1", "NJ_Appliance2")),
)


class Doorless(MockAdapter):
    """Can neither read nor shut a door, as the adapter for the CLI."""

    readings: ClassVar = {name: spec for name, spec in MockAdapter.readings.items() if name != "fence"}
    actions: ClassVar = {name: spec for name, spec in MockAdapter.actions.items() if name != "set_backbone"}


@dataclass
class Night:
    """A pair over a small world, and what happens to it."""

    shell: Shell
    inventory: str

    def __call__(self, *words: str) -> Ended:
        return self.shell(words[0], "-i", self.inventory, *words[1:])

    def lose(self, *services: str, node: str = "NY_Appliance1", back_in: str = "60s") -> None:
        """The first site fails, its mate takes over, and the site comes back by itself, as active."""
        names = [word for service in services for word in ("--vpn", service)] or ["--all"]
        fault = f"at 0s: node ny/{node} down {back_in}".strip()
        lost = ("uncontrolled", *names, "--site", "ny", "--yes", "--attest", "x", "--fault", fault)
        assert self(*lost).code == 0

    def guard(self, *more: str, seconds: float = 300.0) -> Ended:
        self.shell.clock.stop_in(seconds)  # type: ignore[attr-defined]  # the fixture's
        return self("guard", "--site", "ny", "--yes", *more)

    def runs(self) -> list[Any]:
        """What was recorded, oldest first."""
        return self.shell("runs", "list", "--json").values[::-1]

    def guards(self) -> list[tuple[str, str]]:
        return [(one["runbook"], one["outcome"]) for one in self.runs() if one["runbook"].startswith("solace/guard")]

    def world(self) -> World:
        return WORLDS.acquire(str(self.shell.folder / "inventory.yaml.world.json"), self.shell.clock)

    def wait(self, seconds: float) -> Tally:
        """Let the world's time pass: it does so only while somebody has it. Returns its account."""
        world = self.world()
        self.shell.clock.advance(seconds)
        found = world.tally(VPN)
        WORLDS.release(world)
        return found

    def disturb(self, *faults: str) -> None:
        world = self.world()
        world.inject(parse_faults(faults))
        WORLDS.release(world)

    def role(self, vpn: str = VPN, site: str = "ny") -> str:
        world = self.world()
        with world.request():
            found = str(world.vpn(vpn).replication(site).role)
        WORLDS.release(world)
        return found

    def doors(self) -> list[bool]:
        """Which nodes of the guarded site let clients in."""
        world = self.world()
        with world.request():
            found = [node.backbone for node in world.centre("ny").nodes.values()]
        WORLDS.release(world)
        return found

    def tally(self, vpn: str = VPN) -> Tally:
        world = self.world()
        found = world.tally(vpn)
        WORLDS.release(world)
        return found


def night_of(
    shell: Shell, *vpns: str, ha: bool = False, transactions: tuple[TransactionLayout, ...] = (), **site: Any
) -> Night:
    """A pair with these services; ``site`` are keys of both sites in the inventory."""
    layout = WorldLayout(
        sites=PAIRS if ha else SINGLE, vpns=tuple(VpnLayout(name, transactions=transactions) for name in vpns)
    )
    path = shell.inventory(layout, services=list(vpns))
    plain = json.loads(path.read_text())
    for name, one in plain["sites"].items():
        one |= site
        if ha:
            one["devices"] = [{"name": f"{name.upper()}_Appliance{number}"} for number in (1, 2)]
    path.write_text(json.dumps(plain))
    return Night(shell, str(path))


@pytest.fixture
def night(shell: Shell) -> Night:
    """A pair with one service."""
    return night_of(shell, VPN)


def both_active_s(tally: Tally) -> float:
    """For how long two sites were active."""
    return sum(end - start for start, end in tally.both_active)


def test_a_site_that_comes_back(night: Night) -> None:
    """Law: the moment it answers it is fenced and standby, by one recorded run, and nobody is asked."""
    night.lose()
    ended = night.guard("--reason", "power is out")
    assert ended.code == 0
    assert (night.role(), night.role(site="nj"), night.doors()) == ("standby", "active", [False])
    assert night.guards() == [("solace/guard", "done")]
    assert ended.out.splitlines()[-2:] == [
        "SIMULATED  ny: it is standby and fenced",
        "  what to do: when ny can serve again, run `failover restore --all --site ny`",
    ]


def test_two_active_sites_are_a_matter_of_seconds(night: Night) -> None:
    """Law: from its first answer to the fence takes one look and one run, not a person."""
    night.lose()
    night.guard("--interval", "1s")
    assert both_active_s(night.tally()) < 2.5


def test_without_a_guard_it_goes_on(night: Night) -> None:
    """Negative control: nobody else puts an end to it."""
    night.lose()
    assert both_active_s(night.wait(300)) > 200


def test_the_reason_is_recorded(night: Night) -> None:
    """Law: the run has what was seen, and why somebody had wanted it."""
    night.lose()
    night.guard("--reason", "power is out")
    [run] = [one for one in night.runs() if one["runbook"] == "solace/guard"]
    assert run["notes"] == ["ny came back: its message backbone is up"]
    exported = night.shell("runs", "export", run["run"]).values[0]
    assert json.loads(exported["event"])["plan"]["policy"]["reasons"] == {"step-failed": "power is out"}


def test_it_can_be_restored_afterwards(night: Night) -> None:
    """Law (promise 8): the fence stays shut until `restore` opens it, and `restore` finds what it needs."""
    night.lose()
    night.guard()
    assert night.doors() == [False]
    assert night("restore", "--all", "--site", "ny", "--yes").code == 0
    assert night.doors() == [True]
    assert night("status").code == 0


def test_a_dark_site_is_waited_for(night: Night) -> None:
    """Law: nothing is sent, and one line says that it does not answer, however long it takes."""
    night.lose(back_in="")
    ended = night.guard(seconds=600)
    assert ended.code == 0
    assert night.guards() == []
    assert [line.split("SIMULATED  ")[1] for line in ended.out.splitlines()] == [
        f"ny: guarding ny for {VPN}; Ctrl-C ends the guard",
        "ny: no node of ny answers",
        "stopped; the site is no longer guarded",
    ]


def test_for_machines(night: Night) -> None:
    """Law: --json is one value a line: states, the run's events and result, and the guard's own result last."""
    night.lose()
    ended = night.guard("--json")
    assert ended.err == ""
    states = [value["state"] for value in ended.values if "state" in value]
    assert states[:2] == ["guarding", "silent"]
    assert "act" in states
    assert all(value.get("result", value)["simulated"] is True for value in ended.values)
    assert ended.result == {
        "simulated": True,
        "site": "ny",
        "message": "ny: it is standby and fenced",
        "alarms": [],
        "exit_code": 0,
    }


def test_a_site_that_serves_is_not_guarded(night: Night) -> None:
    """Law: a guard put up on the wrong site changes nothing: it would end the service."""
    ended = night.guard()
    assert ended.code == 3
    assert "guarding ny could end the service" in ended.complaint
    assert night.role() == "active"
    assert night.runs() == []


def test_a_healthy_standby_is_not_guarded(night: Night) -> None:
    """Law: what never failed is not cut off."""
    night.shell.clock.stop_in(60)  # type: ignore[attr-defined]  # the fixture's
    ended = night("guard", "--site", "nj", "--yes")
    assert ended.code == 3
    assert "healthy standby" in ended.complaint


def test_a_restored_site_is_not_guarded(night: Night) -> None:
    """Law: once restored a site is a healthy standby again, and says by which run."""
    night.lose()
    night.guard()
    night("restore", "--all", "--site", "ny", "--yes")
    ended = night.guard()
    assert ended.code == 3
    assert f"run {night.runs()[-1]['run']} restored it" in ended.complaint


def test_a_second_outage_is_guarded_again(night: Night) -> None:
    """Law: an earlier restore does not count for a later failure, on record or not."""
    night.lose()
    night.guard()
    night("restore", "--all", "--site", "ny", "--yes")
    night.disturb("at 0s: node ny/NY_Appliance1 down 30s")
    ended = night.guard()
    assert ended.code == 0
    assert night.guards() == [("solace/guard", "done")] * 2


def test_a_restore_meanwhile_ends_it(night: Night) -> None:
    """Law: what somebody restores is not fenced again by a guard that still runs; it says by which run, and ends."""
    night.lose(back_in="30s")
    restored: list[Ended] = []
    night.shell.clock.meanwhile(  # type: ignore[attr-defined]  # the fixture's
        60, lambda: restored.append(night("restore", "--all", "--site", "ny", "--yes"))
    )
    ended = night.guard("--interval", "90s")
    assert restored[0].code == 0
    assert (ended.code, night.guards(), night.doors()) == (0, [], [True])
    assert ended.out.splitlines()[-1] == f"SIMULATED  ny was restored by run {night.runs()[-1]['run']}"


def test_only_the_role_where_the_doors_are_needed(shell: Shell) -> None:
    """Law: another service that serves there alone keeps the doors open; that is said, and the role still changes."""
    night = night_of(shell, VPN, OTHER)
    night.lose(VPN)
    ended = night.guard("--vpn", VPN)
    assert ended.code == 0
    assert night.guards() == [("solace/guard-standby", "done")]
    assert (night.role(), night.role(OTHER), night.doors()) == ("standby", "active", [True])
    assert f"it stays open to clients, because it may be needed for {OTHER}" in ended.out
    # The other one never failed over, so a restore of all would be refused.
    assert ended.out.splitlines()[-1] == (
        f"  what to do: when ny can serve again, run `failover restore {VPN} --site ny`"
    )


def test_all_services_at_once(shell: Shell) -> None:
    """Law: without --vpn every service of the pair is guarded, in one run."""
    night = night_of(shell, VPN, OTHER)
    night.lose()
    assert night.guard().code == 0
    assert (night.role(), night.role(OTHER), night.doors()) == ("standby", "standby", [False])
    assert len(night.guards()) == 1


def test_an_adapter_without_doors(shell: Shell) -> None:
    """Law: where the adapter cannot fence, the site is made standby only, and that is said plainly at the start."""
    shell.registry = Registry(
        [
            EntryPoint("mock", "adapters.mock.adapter:MockAdapter", GROUP),
            EntryPoint("doorless", "tests.readiness.test_guard:Doorless", GROUP),
        ]
    )
    night = night_of(shell, VPN, adapter="doorless")
    night.lose()
    ended = night.guard()
    assert ended.code == 0
    assert "cannot close it to clients; the guard can only make it standby" in ended.out
    assert night.guards() == [("solace/guard-standby", "done")]
    assert (night.role(), night.doors()) == ("standby", [True])


def test_nodes_that_come_back_one_by_one(shell: Shell) -> None:
    """Law: the first node that answers is shut at once; guarding ends when every node was seen to be."""
    night = night_of(shell, VPN, ha=True)
    night.disturb("at 0s: node ny/NY_Appliance2 down 200s")
    night.lose()
    ended = night.guard(seconds=600)
    assert ended.code == 0
    assert (night.role(), night.doors()) == ("standby", [False, False])
    assert night.guards() == [("solace/guard", "done")]
    assert both_active_s(night.tally()) < 6
    assert "it is standby and fenced" in ended.out


def test_a_fence_that_is_refused(night: Night) -> None:
    """Law: a site that refuses to be fenced is made standby all the same; the guard says so, with exit code 6."""
    night.lose()
    night.disturb("any: refuse")
    ended = night.guard()
    assert night.guards() == [("solace/guard", "refused"), ("solace/guard-standby", "done")]
    assert (night.role(), night.doors(), ended.code) == ("standby", [True], 6)
    assert "keep the clients of ny away by other means" in ended.out


def test_a_journal_that_is_away_for_a_while(night: Night) -> None:
    """Law: a guard outlives its journal: what keeps it from acting is said, and it acts as soon as that is over."""
    night.lose()
    journal, clock = night.shell.state / "journal.sqlite", night.shell.clock
    assert isinstance(clock, StoppedClock)

    def lost() -> None:
        journal.chmod(0o666)  # one that others can write proves nothing, so it is not opened
        clock.meanwhile(120.0, lambda: journal.chmod(0o600))

    clock.meanwhile(1.0, lost)
    ended = night.guard()
    assert (ended.code, night.role(), night.doors()) == (0, "standby", [False])
    # Once for each thing that it keeps from being done: the door was up first, then the role was seen too.
    assert ended.err.count("the file must be a regular file that only this account can write") == 2


def test_an_inventory_that_is_being_edited(night: Night) -> None:
    """Law: a guard outlives an inventory that cannot be read for a while: what keeps it from acting is said."""
    night.lose()
    inventory, clock = Path(night.inventory), night.shell.clock
    assert isinstance(clock, StoppedClock)
    whole = inventory.read_text(encoding="utf-8")

    def half_written() -> None:
        inventory.write_text("sites: [", encoding="utf-8")
        clock.meanwhile(120.0, lambda: inventory.write_text(whole, encoding="utf-8"))

    clock.meanwhile(1.0, half_written)
    ended = night.guard()
    assert (ended.code, night.role(), night.doors()) == (0, "standby", [False])
    # Once for each thing that it keeps from being done, as with the journal.
    assert ended.err.count("this is not valid YAML") == 2


def test_a_run_that_stopped_half_way_is_resumed(night: Night) -> None:
    """Law: fenced and not yet standby is no end: the same run is resumed, and no second one begun."""
    night.lose(back_in="20s")
    night.disturb("demote: refuse")
    ended = night.guard()
    assert ended.code == 0
    assert night.guards() == [("solace/guard", "done")]
    assert (night.role(), night.doors()) == ("standby", [False])


def test_another_run_is_waited_for(shell: Shell) -> None:
    """Law: a service that belongs to somebody else's unfinished run is left to it, and that run is named."""
    night = night_of(shell, VPN, transactions=(TransactionLayout("0021B028-00-01"),))
    night.lose()
    night.wait(60)
    assert night("restore", "--all", "--site", "ny", "--yes").code == 6  # a transaction that nobody decided
    night.disturb("at 0s: role ny active")
    ended = night.guard(seconds=30)
    [run] = [one["run"] for one in night.runs() if one["runbook"] == "solace/restore"]
    assert f"the guard waits for run {run}, which is unfinished" in ended.out
    assert (night.guards(), night.role()) == ([], "active")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--site", "chicago"), "no pair has a site 'chicago'"),
        (("--site", "ny", "--pair", "other"), "no pair is called 'other'"),
        (("--site", "ny", "--vpn", "Nope"), "the inventory does not list 'Nope'"),
        (
            ("--site", "ny", "--interval", "5"),
            "--interval 5: a duration must be a number with a unit: 100ms, 60s, 5m, 2h",
        ),
    ],
)
def test_mistakes(night: Night, words: tuple[str, ...], complaint: str) -> None:
    """Law: what cannot be used is exit code 2, and one sentence that names it."""
    ended = night("guard", *words)
    assert (ended.code, ended.complaint) == (2, complaint)


def test_nobody_to_ask(night: Night) -> None:
    """Law: without a terminal and without --yes it does not start."""
    night.lose()
    ended = night("guard", "--site", "ny")
    assert (ended.code, ended.complaint, ended.hint) == (
        2,
        "no terminal: cannot ask for confirmation",
        "add --yes to start without asking",
    )
    assert night.guards() == []
