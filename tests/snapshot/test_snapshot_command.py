"""`failover snapshot`: every endpoint of a site as Parquet, by sessions that only read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from orchestrator.clock import VirtualClock
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from tests.cli.shell import VPN, Shell

SITES = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))


def waiting(messages: int) -> WorldLayout:
    """A pair on which so many messages wait, and nobody publishes or consumes."""
    quiet = VpnLayout(VPN, publish_rate=0, consume_rate=0, backlog=messages, unconsumed=messages, drain_rate=1_000)
    return WorldLayout(sites=SITES, vpns=(quiet,))


def ids(directory: Path) -> set[str]:
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    tables = [pq.ParquetFile(directory / file["path"]).read() for file in manifest["files"]]
    return {one for table in tables for one in table["message_id"].to_pylist()}


def test_both_sites(shell: Shell) -> None:
    """Every message of a site is there, page after page, what has reached the mate has the same id there; the roles are
    told, it says SIMULATED and how far it is."""
    inventory = str(shell.inventory(waiting(2_500), services=[VPN]))
    for site in ("ny", "nj"):
        ended = shell("snapshot", "--site", site, "--inventory", inventory, "--out", f"exports/{site}")
        assert ended.code == 0, ended.err
        assert ended.out.startswith("SIMULATED\n")
        assert "2 of 2 endpoints" in ended.err
    exports = shell.folder / "exports"
    assert len(ids(exports / "ny")) == 2_500
    assert set() < ids(exports / "nj") < ids(exports / "ny")
    roles = [
        json.loads((exports / site / "manifest.json").read_text())["services"][0]["role"] for site in ("ny", "nj")
    ]
    assert roles == ["active", "standby"]


def test_bound_to_a_failover(shell: Shell) -> None:
    """With `--run` the export says which fail-over it is evidence for, when that was, and whether replication was
    suspended since, which nobody has read yet; a run that is none is refused."""
    moved = shell(
        *("uncontrolled", "--vpn", VPN, "--site", "ny", "--yes", "--attest", "cables pulled"),
        *("--fault", "at 0s: node ny/NY_Appliance1 down 20s"),
    )
    assert moved.code in (0, 9), moved.err
    run = shell.run_name()
    # A later run that is no such fail-over, as the restore is, does not hide it.
    world = shell.world()
    shell.clock.advance(60)
    world.close()
    assert shell("controlled", "--vpn", VPN, "--yes").code == 3
    assert shell.run_name() != run
    ended = shell("snapshot", "--site", "nj", "--vpn", VPN, "--run", "last", "--out", "nj", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.values[-1]["result"]["simulated"] is True
    manifest = json.loads((shell.folder / "nj" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["run"] == run
    assert 0 < manifest["failover_at"] <= shell.clock.now()
    assert manifest["services"] == [{"name": VPN, "role": "active"}]


class Pressed(VirtualClock):
    """Ctrl-C is pressed when it is asked for the time so often."""

    left: int | None = None

    def now(self) -> float:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                self.left = None
                raise KeyboardInterrupt
        return super().now()


def test_ctrl_c(shell: Shell) -> None:
    """Who stops it is told how it goes on, and that it does."""
    inventory = str(shell.inventory(waiting(2_500), services=[VPN]))
    words = ("snapshot", "--site", "ny", "--inventory", inventory, "--out", "ny")
    clock = shell.clock = Pressed(shell.clock.now())
    clock.left = 2_000
    ended = shell(*words)
    assert (ended.code, ended.complaint) == (
        130,
        "stopped by SIGINT; the same command continues the snapshot",
    )
    assert not (shell.folder / "ny" / "manifest.json").exists()
    assert shell(*words).code == 0
    assert len(ids(shell.folder / "ny")) == 2_500


def test_what_cannot_be_read(shell: Shell) -> None:
    """An unknown site or service, a run that was no fail-over, and a directory that holds an export are refused."""
    assert shell.move().code == 0
    for arguments, words in (
        (("--site", "la", "--out", "x"), "no site is called 'la'"),
        (("--site", "ny", "--vpn", "None", "--out", "x"), "None is not a service of ny"),
        (
            ("--site", "ny", "--vpn", VPN, "--run", "last", "--out", "x"),
            f"no uncontrolled fail-over of {VPN} is in force",
        ),
        (
            ("--site", "ny", "--run", shell.run_name(), "--out", "x"),
            "is not an uncontrolled fail-over that is in force",
        ),
    ):
        ended = shell("snapshot", *arguments)
        assert ended.code == 2
        assert words in ended.complaint
    assert not (shell.folder / "x").exists()
    assert shell("snapshot", "--site", "ny", "--vpn", VPN, "--out", "once").code == 0
    again = shell("snapshot", "--site", "ny", "--vpn", VPN, "--out", "once")
    assert (again.code, again.complaint) == (2, "once already has a finished export")
