"""``failover lab up`` as a process, and the walk of README.md against it: over the CLI, over SEMP, over both."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.processes import PATIENCE_S, Bench
from tests.cli.shell import roles_of

pytestmark = pytest.mark.realtime

MakeBench = Callable[..., Bench]


def lab_up(bench: Bench, *options: str) -> tuple[subprocess.Popen[str], list[str]]:
    """A lab that serves, and what it said."""
    lab = bench.start("lab", "up", *options)
    assert lab.stdout is not None
    said: list[str] = []
    for line in lab.stdout:
        said.append(line.rstrip("\n"))
        if "Ctrl-C ends the lab" in line:
            return lab, said
    raise AssertionError(f"the lab did not come up: {said} {lab.stderr and lab.stderr.read()}")


def changes(bench: Bench, site: str) -> list[tuple[str, str]]:
    """What changed something at the first node of ``site``: over what it came, and the line."""
    lines = (bench.folder / f"lab/{site}-{site.upper()}_Appliance1.commands.jsonl").read_text().splitlines()
    heard: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [(one["origin"].split()[0], one["line"]) for one in heard if one["kind"] == "change"]


@pytest.mark.parametrize(
    ("options", "adapter", "further", "over", "schemes"),
    [
        ((), "solace-semp", "solace-cli", "semp", {"ssh", "https"}),
        (("--adapter", "solace-semp", "--http", "--ha"), "solace-semp", None, "semp", {"ssh", "http"}),
        (("--adapter", "solace-cli"), "solace-cli", None, "ssh", {"ssh"}),
    ],
)
def test_the_walk(
    make_bench: MakeBench, options: tuple[str, ...], adapter: str, further: str | None, over: str, schemes: set[str]
) -> None:
    """Law: the sites are on real ports, the inventory uses the adapter asked for, and a service moves over it alone;
    Ctrl-C ends the lab, and nothing moves then."""
    bench = make_bench(environment={"FAILOVER_INVENTORY": "lab.yaml"})
    lab, said = lab_up(bench, *options)
    doors = [line.split()[2].split(":")[0] for line in said if line.startswith(("  ny ", "  nj "))]
    assert (set(doors), said[0]) == (schemes, "SIMULATED  the lab is up:")
    written = (bench.folder / "lab.yaml").read_text()
    assert f'adapter: "{adapter}"' in written
    assert ("also:" in written, f'- adapter: "{further}"' in written) == (bool(further), bool(further))
    assert "  failover controlled Trading_VPN --inventory lab.yaml" in said, "the hint is the walk"
    status = bench.here("status", "-i", str(bench.folder / "lab.yaml"))
    assert (status.code, status.out.splitlines()[0]) == (0, "SIMULATED"), status.err
    moved = bench.run("controlled", "--vpn", "Risk_VPN", "--yes", "--xa", "stop", "--on-bridge-loss", "revert")
    assert moved.code == 0, moved.err
    assert {origin for site in ("ny", "nj") for origin, _ in changes(bench, site)} == {over}
    lab.send_signal(signal.SIGINT)
    _, err = lab.communicate(timeout=PATIENCE_S)
    assert (lab.returncode, err) == (0, "the lab is down\n")
    assert roles_of(bench.lab_world(), "Risk_VPN") == ("standby", "active")
    away = bench.here("controlled", "-i", str(bench.folder / "lab.yaml"), "--vpn", "Trading_VPN", "--dry-run")
    assert (away.code, "nothing was changed" in away.complaint) == (3, True)


def test_faults_on_the_wire(make_bench: MakeBench) -> None:
    """Law: what is to go wrong with an answer goes wrong on the wire; the doubt is settled by reading."""
    bench = make_bench(environment={"FAILOVER_INVENTORY": "lab.yaml"})
    lab_up(bench, "--fault", "demote: lose reply")
    moved = bench.run("controlled", "--vpn", "Risk_VPN", "--yes", "--xa", "stop", "--on-bridge-loss", "revert")
    assert moved.code == 0, moved.err
    assert len(changes(bench, "ny")) == 1, "sent once"
    ended = [event["effect"] for event in bench.exported() if event["kind"] == "action.ended"]
    assert ended == ["doubtful", "accepted"]


@pytest.mark.parametrize("shape", [(), ("--amps",)])
def test_a_lab_that_comes_back(make_bench: MakeBench, shape: tuple[str, ...]) -> None:
    """Law: a lab that is begun again serves on the ports it had, where a run that is gone on with seeks it; one that
    somebody else has by then is replaced."""
    bench = make_bench()

    def doors() -> dict[str, int]:
        """By device and protocol; what was served before is killed, and nothing tells it to tidy up."""
        lab, _ = lab_up(bench, *shape)
        listed = json.loads((bench.folder / "lab/ports.json").read_text())
        inventory = (bench.folder / "lab.yaml").read_text()
        assert all(f"port: {port}\n" in inventory for port in listed.values())
        lab.kill()
        lab.communicate(timeout=PATIENCE_S)
        return dict(listed)

    first = doors()
    assert len(first) == (2 if shape else 4)
    assert doors() == first
    taken, port = next(iter(first.items()))
    with socket.create_server(("127.0.0.1", port)):
        moved = doors()
    assert {name for name in first if moved[name] != first[name]} == {taken}


def test_a_wish_that_contradicts_itself(make_bench: MakeBench) -> None:
    """Law: an option without a meaning is refused before anything is made."""
    bench = make_bench()
    refused = bench.run("lab", "up", "--adapter", "solace-cli", "--http")
    assert (refused.code, (bench.folder / "lab").exists()) == (2, False)
    assert "--http is about SEMP" in refused.complaint


def test_the_walk_of_amps(make_bench: MakeBench) -> None:
    """Law: the AMPS pair is on real ports, the inventory reaches it with a login, and a check finds it able to move; a
    dry run has the move's requests and sends none of them."""
    bench = make_bench(environment={"FAILOVER_INVENTORY": "lab.yaml"})
    _, said = lab_up(bench, "--amps")
    assert "  failover controlled orders --inventory lab.yaml" in said
    checked = bench.here("check", "-i", str(bench.folder / "lab.yaml"), "--json")
    pair = json.loads(checked.out)["pairs"][0]
    checks = pair["services"][0]["checks"]
    checks.pop("lag")  # needs three samples in time, which a busy machine may miss
    checks.pop("journals")  # needs two messages some time apart, which a pair that has just begun may not have
    assert set(checks.values()) == {"ok"}, checked.out
    dry = bench.here("controlled", "-i", str(bench.folder / "lab.yaml"), "--service", "orders", "--dry-run")
    assert (dry.code, "/amps/administrator/transports/" in dry.out) == (0, True), dry.err
    world = json.loads((bench.folder / "lab/amps-world.json").read_text())
    assert world["fabric"]["ledger"]["commands"] == []


@pytest.mark.parametrize("option", [("--ha",), ("--http",), ("--latency", "5"), ("--adapter", "both")])
def test_amps_takes_no_option_of_the_appliances(make_bench: MakeBench, option: tuple[str, ...]) -> None:
    """Law: an option that would do nothing is refused, also where it asks for what is so anyway."""
    refused = make_bench().here("lab", "up", "--amps", *option)
    assert (refused.code, "leave them out with --amps" in refused.complaint) == (2, True)
