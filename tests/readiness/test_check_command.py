"""`failover check`: what it prints, stores and ends with; and how old `controlled` says that is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from adapters.mock.adapter import MockAdapter
from adapters.solace.reading_models import Platform
from orchestrator.ages import age
from orchestrator.family.contract import ReadingSpec
from orchestrator.family.registry import GROUP, Registry
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from simulator.embedded import embedded_layout
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from tests.cli.shell import VPN, Ended, Shell

QUIET = WorldLayout(
    sites=(SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",))),
    vpns=(VpnLayout(VPN), VpnLayout("Risk_VPN")),
)


class Terse(MockAdapter):
    """Offers no platform, as an adapter that speaks to an older device."""

    readings: Mapping[str, ReadingSpec] = {  # type: ignore[misc]
        name: spec for name, spec in MockAdapter.readings.items() if name != "platform"
    }


class Stranger(MockAdapter):
    """Replicates with somebody else than the inventory says."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        found = super().probe(reading, services)
        return {
            name: one.model_copy(update={"mate": "Chicago1"}) if isinstance(one, Platform) else one
            for name, one in found.items()
        }


@pytest.fixture
def ready(shell: Shell) -> str:
    """The inventory of a quiet pair with fence plans, in which nothing is to be found."""
    return with_plans(shell)


def with_plans(shell: Shell, layout: WorldLayout = QUIET, **changed: str) -> str:
    path = shell.inventory(layout, services=[vpn.name for vpn in layout.vpns])
    plain = json.loads(path.read_text())
    for site in plain["sites"].values():
        site["fence"] = [{"attest": "pull the cables"}]
        site |= changed
    path.write_text(json.dumps(plain))
    return str(path)


def offering(shell: Shell, kind: str) -> None:
    """Let the shell know another adapter besides its own."""
    entries = [
        EntryPoint("mock", "adapters.mock.adapter:MockAdapter", GROUP),
        EntryPoint(kind.lower(), f"tests.readiness.test_check_command:{kind}", GROUP),
    ]
    shell.registry = Registry(entries)


def found(ended: Ended, pair: int = 0) -> set[tuple[str, str]]:
    """Level and code of everything found."""
    return {(one["level"], one["code"]) for one in ended.values[0]["pairs"][pair]["findings"]}


def test_a_ready_pair(shell: Shell, ready: str) -> None:
    """Law: nothing found is exit code 0, and every cell of the table says what was seen."""
    ended = shell("check", "-i", ready)
    assert (ended.code, ended.err) == (0, "")
    assert "SIMULATED" in ended.out
    words = ended.out.split()
    assert {"NY_Appliance1", "NJ_Appliance1", "transacted", "admin", "attest", "eligible", VPN} <= set(words)
    assert "unknown" not in words


def test_the_embedded_pair_has_findings(shell: Shell) -> None:
    """Law: findings beyond notes are exit code 4; each is one line with its code, and what to do."""
    ended = shell("check")
    assert ended.code == 4
    assert "[sync-ineligible]" in ended.out
    assert ended.out.count("what to do: ") >= 2


def test_for_machines(shell: Shell, ready: str) -> None:
    """Law: --json is one value with every check of every site and service, and the exit code."""
    ended = shell("check", "-i", ready, "--json")
    [value] = ended.values
    assert (value["simulated"], value["exit_code"], ended.code) == (True, 0, 0)
    [pair] = value["pairs"]
    assert pair["sites"]["ny"]["mate"] == "ok"
    assert [one["service"] for one in pair["services"]] == [VPN, "Risk_VPN"]
    assert all(one["good"] and set(one["checks"].values()) == {"ok"} for one in pair["services"])
    assert pair["findings"] == []


def test_json_findings_say_what_and_where(shell: Shell) -> None:
    """Law: a finding names its check, its level, code, service or site, and a hint."""
    value = shell("check", "--json").values[0]
    [one] = [one for one in value["pairs"][0]["findings"] if one["code"] == "sync-ineligible"]
    assert (one["service"], one["site"], one["check"], one["level"]) == (VPN, None, "sync", "warning")
    assert one["hint"]


def test_it_changes_nothing(shell: Shell) -> None:
    """Law: no device receives a command, and no run is recorded."""
    shell("check")
    assert dict(shell.tally().commands) == {}
    assert shell("runs", "list").out == ""


def test_a_lost_bridge(shell: Shell, ready: str) -> None:
    """Law: what a planned move would refuse is found beforehand."""
    path = shell.inventory(replace(embedded_layout(), vpns=QUIET.vpns), services=[VPN])
    assert shell("check", "-i", str(path)).code == 4
    shell.clock.advance(1.0)
    shell(
        "controlled",
        "-i",
        ready,
        "--vpn",
        VPN,
        "--yes",
        "--fault",
        "drain: bridge down",
        "--on-bridge-loss",
        "revert",
    )
    assert ("error", "bridge-not-bound") in found(shell("check", "-i", ready, "--json"))


def test_a_site_that_does_not_answer(shell: Shell, ready: str) -> None:
    """Law: a dark site is an error, what it did not tell is unknown, and no service is good."""
    shell("status", "-i", ready)
    shell(
        "uncontrolled",
        "-i",
        ready,
        "--vpn",
        VPN,
        "--site",
        "ny",
        "--yes",
        "--attest",
        "x",
        "--fault",
        "at 0s: unreachable ny 1h",
    )
    ended = shell("check", "-i", ready, "--json")
    seen = found(ended)
    assert ("error", "site-unreachable") in seen
    assert {("unknown", "mate-unknown"), ("unknown", "roles-unknown")} <= seen
    assert not any(one["good"] for one in ended.values[0]["pairs"][0]["services"])


def test_a_reading_that_is_not_offered_is_unknown(shell: Shell) -> None:
    """Law: an adapter without a reading leaves its checks unknown, which is exit code 4 and never good."""
    offering(shell, "Terse")
    path = with_plans(shell, adapter="terse")
    ended = shell("check", "-i", path, "--json")
    assert ended.code == 4
    assert {("unknown", "access-unknown"), ("unknown", "version-unknown"), ("unknown", "mate-unknown")} <= found(
        ended
    )
    assert "does not offer the reading platform" in ended.out
    assert "never found good" in shell("controlled", "-i", path, "--vpn", VPN, "--dry-run").out


def test_a_wrong_inventory_is_found(shell: Shell) -> None:
    """Law: a mate with another name than the inventory's is an error."""
    offering(shell, "Stranger")
    assert ("error", "mate-stranger") in found(shell("check", "-i", with_plans(shell, adapter="stranger"), "--json"))


def ages(shell: Shell, inventory: str, *more: str) -> list[str]:
    """What the plan of a planned move says of earlier checks."""
    out = shell("controlled", "-i", inventory, "--all", "--dry-run", *more).out
    return [
        line.strip() for line in out.splitlines() if "check" in line and "steps" not in line and "Every" not in line
    ]


def test_controlled_says_how_old_it_is(shell: Shell, ready: str) -> None:
    """Law: the plan has the age of the last good check of each service; never checked is said."""
    assert ages(shell, ready) == [f"{VPN}: never checked", "Risk_VPN: never checked"]
    shell("check", "-i", ready)
    shell.clock.advance(3 * 3_600)
    assert ages(shell, ready) == [f"{VPN}: last good check 3 h ago", "Risk_VPN: last good check 3 h ago"]


def test_a_bad_check_does_not_hide_the_good_one(shell: Shell, ready: str) -> None:
    """Law: after a check that was not good, both ages are told."""
    shell("check", "-i", ready)
    shell.clock.advance(3_600 * 5)
    shell("controlled", "-i", ready, "--all", "--yes", "--fault", "drain: bridge down")
    shell("check", "-i", ready)
    shell.clock.advance(120)
    first = ages(shell, ready)[0]
    assert first.startswith(f"{VPN}: last good check 5 h ago; the last check, 2 min ago, found ")


def test_dry_run_json_has_it_too(shell: Shell, ready: str) -> None:
    """Law: a machine reads the same sentence."""
    shell("check", "-i", ready)
    result = shell("controlled", "-i", ready, "--vpn", VPN, "--dry-run", "--json").result
    assert result["last_checks"] == [f"{VPN}: last good check just now"]


def test_in_an_outage_nobody_is_held_up(shell: Shell, ready: str) -> None:
    """Law: an unplanned move's plan says nothing of checks."""
    shell("check", "-i", ready)
    out = shell("uncontrolled", "-i", ready, "--vpn", VPN, "--site", "ny", "--dry-run").out
    assert "good check" not in out


def test_the_same_service_under_another_name_of_its_sites(shell: Shell, ready: str) -> None:
    """Law: what a service is is settled by its devices; renaming a site forgets no check."""
    shell("check", "-i", ready)
    text = (shell.folder / "inventory.yaml").read_text()
    assert "trading" in text
    renamed = shell.write("renamed.yaml", text.replace('"trading"', '"other-name"'))
    assert ages(shell, str(renamed))[0] == f"{VPN}: last good check just now"


def test_last(shell: Shell, ready: str) -> None:
    """Law: --last asks no device, and says what was found and when; a service that was never checked is a finding."""
    ended = shell("check", "-i", ready, "--last")
    assert (ended.code, ended.out.splitlines()[1:]) == (4, [f"{VPN}: never checked", "Risk_VPN: never checked"])
    shell("check", "-i", ready)
    shell.clock.advance(60)
    ended = shell("check", "-i", ready, "--last", "--json")
    [value] = ended.values
    assert (ended.code, value["exit_code"], value["simulated"]) == (0, 0, True)
    assert [(one["service"], round(one["age_s"]), one["findings"]) for one in value["services"]] == [
        (VPN, 60, []),
        ("Risk_VPN", 60, []),
    ]


def test_last_repeats_the_findings(shell: Shell) -> None:
    """Law: --last ends with the exit code of the check that it repeats."""
    shell("check")
    ended = shell("check", "--last")
    assert ended.code == 4
    assert "[no-fence-plan]" in ended.out


def test_an_unknown_pair(shell: Shell) -> None:
    """Law: a slip in a name is exit code 2, with the names there are."""
    ended = shell("check", "--pair", "tradign")
    assert (ended.code, ended.hint) == (2, "the inventory has: trading")


def many() -> Iterator[VpnLayout]:
    for number in range(40):
        yield VpnLayout(f"V{number:02}", backlog=4_000 if number % 2 else 0, drain_rate=100.0)


def test_many_services_are_summed_up(shell: Shell) -> None:
    """Law: the same finding of many services is told three times and counted after that; every service has a row, those
    with findings first, and the last line is the verdict."""
    vpns = tuple(many())
    path = with_plans(shell, replace(QUIET, vpns=vpns))
    ended = shell("check", "-i", path)
    rows = [
        line for line in ended.out.splitlines() if line.split()[:1] and line.split()[0] in {vpn.name for vpn in vpns}
    ]
    assert len(rows) == len(vpns)
    assert ["warning" in row for row in rows] == sorted(("warning" in row for row in rows), reverse=True)
    assert "  and 17 more findings of this kind" in ended.out
    verdict = "READY, WITH WARNINGS: 40 of 40 services of trading could be moved now; 20 warnings"
    assert ended.out.splitlines()[-1] == verdict


def test_a_verdict_in_one_line(shell: Shell, ready: str) -> None:
    """Law: the last line of each pair says whether it could be moved now, as its JSON does."""
    ended = shell("check", "-i", ready)
    assert ended.out.splitlines()[-1] == (
        "READY: 2 of 2 services of trading could be moved now; nothing prevents a move"
    )
    shell.disturb("at 0s: bridge down")
    shell.clock.advance(2)
    [found] = shell("check", "--json").values[0]["pairs"]
    assert found["verdict"] == "not ready"
    assert (
        shell("check").out.splitlines()[-1].startswith("NOT READY: 0 of 3 services of trading could be moved now; ")
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "just now"),
        (45, "45 s ago"),
        (119, "119 s ago"),
        (150, "2 min ago"),
        (10_800, "3 h ago"),
        (9e5, "10 d ago"),
    ],
)
def test_ages(seconds: float, words: str) -> None:
    """Law: an age is in the largest unit of which there are two."""
    assert age(seconds) == words
