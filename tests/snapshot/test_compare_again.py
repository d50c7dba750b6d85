"""``failover compare --out`` a second time: it goes on with what it began itself, a short while ago, and with no more."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.clock import iso
from orchestrator.operations.exports.reuse import FRESH_S, RECORD
from tests.cli.shell import VPN, Ended, Shell
from tests.snapshot.test_snapshot_command import Pressed, waiting

OTHER = "Risk_VPN"
GOES_ON = ("--engine", "duckdb")


def compare(shell: Shell, *more: str, inventory: str = "", out: str = "kept") -> Ended:
    """The command on the embedded pair, or on that of an inventory."""
    named = ("--inventory", inventory) if inventory else ()
    return shell("compare", *named, "--out", out, *more)


def broken_off(shell: Shell, *more: str, inventory: str = "") -> Mapping[Path, bytes]:
    """Run the command so that it has read both sites and no more. Returns what it has left."""
    # Where the evidence would grow something else lies, which is found only once both sites are read.
    (shell.folder / "kept" / f".evidence.{os.getpid()}.unfinished" / "x").mkdir(parents=True)
    assert compare(shell, *more, *GOES_ON, inventory=inventory).code == 6
    assert {path.name for path in (shell.folder / "kept").iterdir()} == {"ny", "nj", RECORD}
    return files(shell.folder / "kept")


def half_read(shell: Shell) -> tuple[str, float]:
    """Ctrl-C in the middle of reading ny, with nj read. Returns the inventory, and when that reading started."""
    inventory = str(shell.inventory(waiting(2_500), services=[VPN]))
    broken_off(shell, inventory=inventory)
    shutil.rmtree(shell.folder / "kept" / "ny")
    started_at = shell.clock.now()
    clock = shell.clock = Pressed(started_at)
    clock.left = 2_000
    assert compare(shell, *GOES_ON, inventory=inventory).code == 130
    return inventory, started_at


def files(folder: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(shell: Shell, ended: Ended, site: str, words: str) -> None:
    """It is one sentence that says why, with a remedy, and exit code 2; no evidence came of it."""
    assert ended.code == 2, ended.err
    assert f"{Path('kept') / site} holds a reading {words}" in ended.complaint
    assert ended.hint == f"give another --out, or remove {Path('kept') / site}"
    assert not (shell.folder / "kept" / "evidence").exists()


def test_it_goes_on(shell: Shell) -> None:
    """Law: a comparison that broke off reads nothing again, says so of each site with the time, and leaves no record."""
    before = broken_off(shell)
    shell.clock.advance(FRESH_S - 60)
    ended = compare(shell, *GOES_ON)
    assert ended.code in (0, 4), ended.err
    for site in ("ny", "nj"):
        told = json.loads(before[shell.folder / "kept" / site / "manifest.json"])
        span = f"{iso(told['started_at'])} to {iso(told['finished_at'])}"
        assert f"{site}: the reading from {span} is used again" in ended.err
    kept = files(shell.folder / "kept")
    assert not (shell.folder / "kept" / RECORD).exists()
    assert all(kept[path] == data for path, data in before.items() if path.name != RECORD)
    assert (shell.folder / "kept" / "evidence" / "report.json").exists()


def test_it_goes_on_with_a_half_reading(shell: Shell) -> None:
    """Law: after Ctrl-C in the middle of a reading the same command ends it, and says when that was begun."""
    inventory, started_at = half_read(shell)
    assert not (shell.folder / "kept" / "ny" / "manifest.json").exists()
    ended = compare(shell, *GOES_ON, inventory=inventory)
    assert ended.code in (0, 4), ended.err
    assert f"ny: continues the reading that was started at {iso(started_at)}" in ended.err
    assert "nj: the reading from " in ended.err


def test_one_site_is_read_anew(shell: Shell) -> None:
    """Law: a site whose reading was removed is read again; of the other one it is said when that was."""
    broken_off(shell)
    shutil.rmtree(shell.folder / "kept" / "ny")
    ended = compare(shell, *GOES_ON)
    assert ended.code in (0, 4), ended.err
    assert "nj: the reading from " in ended.err and "ny: the reading from " not in ended.err


def test_an_old_reading(shell: Shell) -> None:
    """Law: a reading of more than an hour ago is not compared, neither with itself nor with a new one."""
    broken_off(shell)
    shell.clock.advance(FRESH_S + 60)
    refused(shell, compare(shell, *GOES_ON), "ny", "of 2027-")
    shutil.rmtree(shell.folder / "kept" / "ny")
    refused(shell, compare(shell, *GOES_ON), "nj", "of 2027-")


def test_an_old_half_reading(shell: Shell) -> None:
    """Law: a reading that was broken off is not resumed more than an hour after its start: its first messages would be
    compared with those of now."""
    inventory, started_at = half_read(shell)
    before = files(shell.folder / "kept" / "ny")
    shell.clock.advance(FRESH_S + 60)
    refused(shell, compare(shell, *GOES_ON, inventory=inventory), "ny", f"that was started at {iso(started_at)}")
    assert files(shell.folder / "kept" / "ny") == before


def test_a_reading_of_other_things(shell: Shell) -> None:
    """Law: a reading of other services or of another inventory is not taken for what is asked now."""
    other = str(shell.inventory(name="other.yaml"))
    broken_off(shell)
    refused(shell, compare(shell, "--vpn", VPN, *GOES_ON), "ny", "of other services")
    refused(
        shell,
        compare(shell, *GOES_ON, inventory=other),
        "ny",
        "of a site that the inventory described differently",
    )
    assert compare(shell, *GOES_ON).code in (0, 4)


def test_a_reading_for_another_fail_over(shell: Shell) -> None:
    """Law: a reading that was taken for no fail-over is no evidence for one."""
    moved = shell(
        *("uncontrolled", "--vpn", VPN, "--site", "ny", "--yes", "--attest", "cables pulled"),
        *("--fault", "at 0s: node ny/NY_Appliance1 down 20s"),
    )
    assert moved.code in (0, 9), moved.err
    world = shell.world()
    shell.clock.advance(60)
    world.close()
    broken_off(shell, "--vpn", VPN)
    refused(shell, compare(shell, "--vpn", VPN, "--run", "last", *GOES_ON), "ny", "for another fail-over")


@pytest.mark.parametrize("record", [None, b"", b"{}", b'{"asked": [], "at": []}', b"[1, 2"])
def test_a_reading_of_another_command(shell: Shell, record: bytes | None) -> None:
    """Law: what no record says that this command began is not taken, be the record gone, cut or another one."""
    assert shell("snapshot", "--site", "ny", "--out", "kept/ny").code == 0
    if record is not None:
        (shell.folder / "kept" / RECORD).write_bytes(record)
    refused(shell, compare(shell, *GOES_ON), "ny", "that this comparison did not start")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"services": [{"name": OTHER}]}, "of other services"),
        ({"simulated": False}, "of a site that was simulated then, or is simulated now"),
        ({"failover_at": 1.0}, "for another fail-over"),
        ({"run": "20261120-0305"}, "for another fail-over"),
        ({"site": "nj"}, "of another site"),
    ],
)
def test_an_export_that_was_exchanged(shell: Shell, change: dict[str, object], words: str) -> None:
    """Law: the finished export itself must be of what is asked, whatever the record says."""
    broken_off(shell)
    manifest = shell.folder / "kept" / "ny" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text("utf-8")), **change}), "utf-8")
    refused(shell, compare(shell, *GOES_ON), "ny", words)


def test_a_comparison_that_has_ended(shell: Shell) -> None:
    """Law: where the evidence is there already, nothing is read, and another directory is asked for."""
    assert compare(shell, *GOES_ON).code in (0, 4)
    before = files(shell.folder / "kept")
    ended = compare(shell, *GOES_ON)
    assert ended.code == 2 and "evidence exists already" in ended.complaint, ended.err
    shutil.rmtree(shell.folder / "kept" / "evidence")
    refused(shell, compare(shell, *GOES_ON), "ny", "that this comparison did not start")
    assert files(shell.folder / "kept") == {
        path: data for path, data in before.items() if "evidence" not in path.parts
    }
