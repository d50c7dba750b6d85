"""A dark site that is fenced by a command of its fence plan: on the command line, over the simulated pair."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from simulator.embedded import embedded_inventory
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.cli.shell import VPN, Ended, Shell
from tests.local.conftest import Bench

pytestmark = pytest.mark.realtime

DARK = "at 0s: node ny/NY_Appliance1 down 10m"


@dataclass
class Night:
    """The simulated pair, whose site ny has commands of its own."""

    shell: Shell
    bench: Bench
    plan: list[Mapping[str, Any]]

    def inventory(self) -> str:
        self.shell.tools()
        self.shell.world().close()  # made now, if it is not there
        plain = embedded_inventory(self.shell.world_file).model_dump(mode="json", exclude_defaults=True)
        for site in plain["sites"].values():
            site.pop("name", None)
        plain["sites"]["ny"]["also"] = [{"adapter": "local", "options": {"commands": self.bench.commands}}]
        plain["sites"]["ny"]["fence"] = self.plan
        return str(self.shell.write("inventory.yaml", json.dumps(plain)))

    def uncontrolled(self, *more: str) -> Ended:
        return self.shell("uncontrolled", "--inventory", self.inventory(), "--site", "ny", *more)

    @property
    def ran(self) -> list[str]:
        """The commands that ran; checks left out."""
        return [line for line in self.bench.diary if line != "look"]


@pytest.fixture
def well(shell: Shell, bench: Bench) -> Night:
    """New York has not failed. Its fence plan has a command that works."""
    bench.with_switch()
    plan: list[Mapping[str, Any]] = [
        {"backbone": True},
        {"command": "cut"},
        {"attest": "pull the cables of both NABs"},
    ]
    made = Night(shell, bench, plan)
    made.inventory()
    return made


@pytest.fixture
def night(well: Night) -> Night:
    """New York has failed."""
    well.shell.disturb(DARK)
    return well


@pytest.mark.parametrize("dark", [False, True], ids=["it answers", "its mate is dark"])
def test_a_refused_login_is_not_silence(well: Night, dark: bool) -> None:
    """Law (promises 1 and 8): a site that refuses the account is not lost. Nothing starts: no fence is closed,
    nothing is recorded, and the sentence says that it is the account."""
    well.shell.disturb("login: wrong password 10m", *(["at 0s: node nj/NJ_Appliance1 down 10m"] if dark else []))
    ended = well.uncontrolled("--vpn", VPN, "--yes")
    assert (ended.code, "nothing was changed" in ended.complaint, "account" in ended.complaint) == (3, True, True)
    assert (well.ran, list(well.shell.tally().commands)) == ([], [])
    assert well.shell("runs", "list").out == ""


def test_a_proven_fence_needs_nobody_to_answer_for_it(night: Night) -> None:
    """Law (promises 1 and 8): dark, fenced by command and proven by its check: the target takes over, unattended."""
    ended = night.uncontrolled("--vpn", VPN, "--yes", "--json")
    assert ended.code == 0, ended.err
    assert ended.result["runbook"] == "solace/uncontrolled-commanded"
    assert ended.result["lanes"][0]["decisions"] == []
    assert night.ran == ["cut"]
    events = [line["event"] for line in ended.values if "event" in line]
    [intent] = [one for one in events if one.get("action") == "set_external_fence"]
    [end] = [one for one in events if one["kind"] == "action.ended" and one["intent"] == intent["intent"]][:1]
    assert (intent["args"], end["effect"]) == ({"state": "closed"}, "accepted")
    assert end["sent"] == [f"{night.bench.folder}/cut"]
    fences = [
        seen["value"]["closed"]
        for one in events
        if one["kind"] == "observed"
        for seen in one["seen"]
        if seen["reading"] == "external_fence" and seen["value"]
    ]
    # Before the command, which is not run where it is so already; after it; and right before the activation.
    assert fences == [False, True, True]


def test_the_fence_comes_before_the_activation(night: Night) -> None:
    """Law (promise 1): a site whose fence cannot be proven is not taken over from; nothing is changed."""
    night.bench.program("cut", "exit 0")  # it says that it is done, and it is not
    ended = night.uncontrolled("--vpn", VPN, "--yes")
    assert ended.code == 5
    assert "its effect did not appear within 60s: ny: not closed" in ended.out
    assert "This run did not activate nj" in ended.out
    assert list(night.shell.tally().commands) == []


def test_a_command_that_refuses_refuses_the_run(night: Night) -> None:
    """Law: with the fence refused nothing was changed, and what the command said is told."""
    night.bench.program("cut", "echo the switch is locked by maintenance; exit 3")
    ended = night.uncontrolled("--vpn", VPN, "--yes")
    assert ended.code == 3
    assert "ny refused: cut ended with exit code 3: the switch is locked by maintenance" in ended.out
    assert night.ran == ["cut"]


def test_all_services_share_one_fence(night: Night) -> None:
    """Law: the fence of a site is closed once for all services that move."""
    ended = night.uncontrolled("--all", "--yes", "--json")
    assert ended.code == 0
    assert {lane["outcome"] for lane in ended.result["lanes"]} == {"done"}
    assert night.ran == ["cut"]


def test_a_fence_is_opened_again_when_no_service_relies_on_it(night: Night) -> None:
    """Law (promise 14): the only service of the run is rolled back, so the run that closed the fence opens it."""
    night.shell.disturb("activate: refuse 10m")
    ended = night.uncontrolled("--vpn", VPN, "--yes")
    assert (ended.code, night.ran) == (5, ["cut", "open"])


def test_a_fence_is_not_opened_for_one_service_while_another_relies_on_it(night: Night) -> None:
    """Law (promises 8 and 14): the other one is active at the target; the lane stops, and can still go forward."""
    night.shell.disturb(f"activate {VPN}: refuse")
    ended = night.uncontrolled("--all", "--yes")
    assert (ended.code, night.ran) == (6, ["cut"])
    assert "set_external_fence cannot be rolled back, because" in ended.out
    ended = night.shell("resume")
    assert (ended.code, night.ran) == (0, ["cut"])


def test_a_plan_is_looked_at_without_running_it(night: Night) -> None:
    """Law (promise 6): a dry run shows the command and the machine it would run on, and runs no command."""
    ended = night.uncontrolled("--vpn", VPN, "--dry-run")
    assert f"SEND      this machine> {night.bench.folder}/cut" in ended.out
    assert f"read      this machine> {night.bench.folder}/look" in ended.out
    assert night.ran == []


def test_half_a_simulation_does_not_pass_for_one(night: Night) -> None:
    """Law (promise 13): a command of the operator's own is real, so nothing is called simulated."""
    assert night.uncontrolled("--vpn", VPN, "--dry-run", "--json").result["simulated"] is False


@pytest.mark.parametrize("answer", [("--attest", "cables pulled, J. Doe, 03:12"), ("--reason", "the building burns")])
def test_somebody_may_answer_for_it_instead(night: Night, answer: tuple[str, str]) -> None:
    """Law: who answers for the fence by name is believed, and no command is run; the record has name and words."""
    ended = night.uncontrolled("--vpn", VPN, "--yes", *answer, "--json")
    assert ended.code == 0
    assert ended.result["runbook"] == "solace/uncontrolled"
    [decision] = ended.result["lanes"][0]["decisions"]
    assert (decision["gate"], decision["reason"]) == ("unfenced", answer[1])
    assert night.ran == []


def test_the_order_of_the_plan_counts(night: Night) -> None:
    """Law: a plan that would rather have a person do it asks, and its own words are in the question."""
    night.plan = [{"attest": "pull the cables of both NABs"}, {"command": "cut"}]
    ended = night.uncontrolled("--vpn", VPN, "--yes")
    assert ended.code == 2
    assert ended.complaint == "an operator must attest that clients are kept away from the failed site"
    shown = night.uncontrolled("--vpn", VPN, "--dry-run").out
    assert "The fence plan of ny: pull the cables of both NABs" in shown
    assert night.ran == []


def test_isolated_asks_what_it_has_always_asked(night: Night) -> None:
    """Law: unattended, a question that nobody answered beforehand is refused before anything begins."""
    ended = night.uncontrolled("--vpn", VPN, "--isolated", "--yes", "--attest", "cut off")
    assert ended.code == 2
    assert ended.complaint == "an operator must accept that queued messages stay at the failed site"


def test_a_site_that_answers_is_not_fenced(night: Night) -> None:
    """Law: a command that cuts off clients is run only for a site that is lost."""
    world = night.shell.world_file
    world.unlink()
    night.inventory()
    ended = night.uncontrolled("--vpn", VPN, "--yes")
    assert ended.code == 3
    assert "the failed site still answers as active" in ended.out
    assert night.ran == []


@pytest.fixture
def restored(night: Night) -> Night:
    """All services have moved, and New York answers again, as active as it was; its bridges are quick."""
    vpns = tuple(
        VpnLayout(name, publish_rate=40.0, drain_rate=900.0) for name in ("Trading_VPN", "Risk_VPN", "Settlement_VPN")
    )
    sites = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
    night.shell.world_file.unlink()
    World(WorldLayout(sites=sites, vpns=vpns), night.shell.clock, path=night.shell.world_file).save()
    night.shell.disturb(DARK)
    assert night.uncontrolled("--all", "--yes").code == 0
    world = night.shell.world()  # its time passes while somebody looks
    night.shell.clock.advance(900)
    world.close()
    return night


def test_the_restore_opens_the_fence_at_its_own_step(restored: Night) -> None:
    """Law (promise 8): once the restored site is standby, the command's undo lets clients back in, and not before."""
    ended = restored.shell(
        "restore", "--inventory", restored.inventory(), "--site", "ny", "--all", "--yes", "--json", "--xa", "stop"
    )
    assert ended.code == 0, ended.err
    assert ended.result["runbook"] == "solace/restore-commanded"
    assert restored.ran == ["cut", "open"]
    told = [line["event"] for line in ended.values if line.get("event", {}).get("kind") == "action.intended"]
    first_opened = next(number for number, one in enumerate(told) if one["action"] == "set_external_fence")
    before = [(one["action"], one["args"]) for one in told[:first_opened]]
    assert before.count(("set_role", {"role": "standby"})) == 3
    assert told[first_opened]["args"] == {"state": "open"}


def test_the_fence_stays_closed_while_anything_is_active_behind_it(restored: Night) -> None:
    """Law (promises 1 and 8): the fence is the whole site's; restoring one service does not open it for the others."""
    ended = restored.shell(
        "restore", "--inventory", restored.inventory(), "--site", "ny", "--vpn", VPN, "--yes", "--xa", "stop"
    )
    assert ended.code == 6
    assert restored.ran == ["cut"]
