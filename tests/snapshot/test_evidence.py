"""A reconciliation as the gate of a fail-back: accepted only when it is of this fail-over, fresh, and says safe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import DefinitionError
from pipeline.evidence import FRESH_S, Return, load_evidence, objections
from pipeline.report import Report, Rpo, ServiceReport, SideReport, Work
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.world.worlds import WORLDS
from tests.cli.shell import VPN, Shell

NOW = 1_800_000_000.0
SITES = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
WANTED = Return("r1", NOW - 3_600, acting="nj", restored="ny", services=("a", "b"))


def report(now: float = NOW, **changes: object) -> Report:
    """One that shows that services a and b may go back."""
    sides = [
        SideReport(site=site, manifest="0" * 64, taken_from=now - 60, taken_to=now - 50, messages=7)
        for site in ("ny", "nj")
    ]
    values: dict[str, object] = {
        "run": "r1",
        "created_at": now - 40,
        "clock_skew_s": 1.0,
        "left": sides[0],
        "right": sides[1],
        "work": Work(
            plan="fingerprints", buckets=1, buckets_drilled=0, rows=14, rows_drilled=0, overlooked_at_most=0.0
        ),
        "services": (service("a"), service("b")),
        **changes,
    }
    return Report.model_validate(values).sealed()


def service(name: str, **changes: object) -> ServiceReport:
    values: dict[str, object] = {
        "active": "right",
        "failover_at": NOW - 3_600,
        "verdict": "safe",
        "reasons": ("equal",),
    }
    return ServiceReport.model_validate(
        {"name": name, "rpo": Rpo(how="proven"), "endpoints": (), **values, **changes}
    )


def test_a_fitting_one_is_accepted() -> None:
    """A report of this run, these sites and services, from fresh snapshots, that says safe, meets no objection."""
    assert objections(report(), WANTED, now=NOW) == []


@pytest.mark.parametrize(
    ("changes", "wanted", "later", "code"),
    [
        ({"run": "r0"}, {}, 0, "evidence-run"),
        ({"run": None}, {}, 0, "evidence-run"),
        ({}, {"run": None}, 0, "evidence-run"),
        ({}, {"restored": "la"}, 0, "evidence-sites"),
        ({"simulated": True}, {}, 0, "evidence-simulated"),
        ({}, {"simulated": True}, 0, "evidence-simulated"),
        ({}, {}, FRESH_S, "evidence-stale"),
        ({}, {}, -120, "evidence-future"),
        ({"services": (service("a"),)}, {}, 0, "evidence-service"),
        ({"services": (service("a"), service("b", verdict="not-safe"))}, {}, 0, "evidence-verdict"),
        ({"services": (service("a"), service("b", verdict="unknown"))}, {}, 0, "evidence-verdict"),
        ({"services": (service("a"), service("b", active="left"))}, {}, 0, "evidence-active"),
        ({"services": (service("a"), service("b", failover_at=NOW - 9_000))}, {}, 0, "evidence-moment"),
    ],
)
def test_any_other_is_refused(changes: dict[str, Any], wanted: dict[str, object], later: float, code: str) -> None:
    """Of another run, other sites, a simulation, another fail-over, stale, silent or unfavourable on one service: each
    alone is an objection."""
    changed = Return(**{**{name: getattr(WANTED, name) for name in WANTED.__slots__}, **wanted})
    assert [one.code for one in objections(report(**changes), changed, now=NOW + later)] == [code]


def test_what_was_altered_is_no_report(tmp_path: Path) -> None:
    """A file that was edited, cut off or is something else is refused as such."""
    path = tmp_path / "report.json"
    path.write_bytes(report().encoded())
    assert load_evidence(path) == report()
    for data, words in (
        (report(services=(service("a", verdict="not-safe"),)).encoded().replace(b'"not-safe"', b'"safe"'), "altered"),
        (report().encoded()[:200], "not a report"),
        (b"{}", "not a report"),
    ):
        path.write_bytes(data)
        with pytest.raises(DefinitionError, match=words):
            load_evidence(path)
    with pytest.raises(DefinitionError, match="cannot be read"):
        load_evidence(tmp_path / "away.json")


def test_it_opens_the_gate_and_is_recorded(shell: Shell) -> None:
    """Without evidence a fail-back over old messages is refused; with a report of another run, or a stale one, nothing
    starts; with a fitting one it is done, and the record names the report, the run and the snapshots."""
    waiting = VpnLayout(VPN, publish_rate=0, consume_rate=0, backlog=600, unconsumed=600, drain_rate=50)
    inventory = str(shell.inventory(WorldLayout(sites=SITES, vpns=(waiting,)), services=[VPN]))

    def typed(*words: str) -> tuple[int, str]:
        ended = shell(words[0], "-i", inventory, *words[1:], "--yes")
        return ended.code, ended.err

    world = WORLDS.acquire(f"{inventory}.world.json", shell.clock)
    shell.clock.advance(5)
    WORLDS.release(world)
    lost = ("--all", "--site", "ny", "--attest", "x", "--fault", "at 0s: node ny/NY_Appliance1 down 60s")
    assert typed("uncontrolled", *lost)[0] == 0
    run = shell.run_name()
    world = WORLDS.acquire(f"{inventory}.world.json", shell.clock)
    shell.clock.advance(120)
    WORLDS.release(world)
    assert typed("restore", "--all", "--site", "ny")[0] == 0
    code, err = typed("failback", "--all", "--site", "ny")
    assert (code, "do not show that a fail-back is safe" in err) == (3, True), err

    def evidence(**changes: object) -> str:
        told = {"run": run, "simulated": True, "services": (service(VPN, failover_at=None),), **changes}
        return str(shell.write("report.json", report(shell.clock.now(), **told).encoded().decode()))

    unsafe = service(VPN, failover_at=None, verdict="not-safe", reasons=("orders holds 600 older messages",))
    for wrong, words, hint in (
        (
            {"run": "other"},
            f"the report is about run other, not about run {run}",
            "take new evidence now: --evidence take",
        ),
        ({"run": None}, f"the snapshots were taken without `--run {run}`", "take new evidence now: --evidence take"),
        ({"simulated": False}, "the report is about real sites", "take new evidence now: --evidence take"),
        (
            {"services": (unsafe,)},
            "orders holds 600 older messages",
            "to fail back anyway: --accept-risk",
        ),
    ):
        code, err = typed("failback", "--all", "--site", "ny", "--evidence", evidence(**wrong))
        assert (code, words in err, hint in err) == (3, True, True), err
    code, err = typed("failback", "--all", "--site", "ny", "--evidence", evidence(), "--evidence-age", "30s")
    assert (code, "at most 30 s are accepted" in err) == (3, True)
    both = ("--evidence", evidence(), "--accept-risk", "duplicates are dropped")
    assert typed("failback", "--all", "--site", "ny", *both)[0] == 2
    directory = str(Path(evidence()).parent)
    ahead = ("failback", "--all", "--site", "ny", "-i", inventory, "--dry-run", "--evidence", directory)
    named = "if the comparison does not pass: accept, decided in advance (shown by report.json (sha256 "
    assert named in shell(*ahead).out
    [lane] = shell(*ahead, "--json").result["lanes"]
    assert [note for step in lane["steps"] for note in step["notes"] if named in note]
    code, err = typed("failback", "--all", "--site", "ny", "--evidence", directory)
    assert code == 0, err
    story = shell("runs", "export", shell.run_name()).out
    events = [json.loads(line["event"]) for line in map(json.loads, story.splitlines())]
    [ruling] = [one["ruling"] for one in events if one["kind"] == "gate.decided"]
    assert ruling["choice"] == "accept"
    assert f"run {run}" in ruling["reason"] and "report.json" in ruling["reason"] and "ny 20" in ruling["reason"]
