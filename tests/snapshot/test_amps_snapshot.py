"""`failover snapshot --dumps`: what dumps of simulated AMPS instances tell is what the world knows of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchestrator.clock import iso
from pipeline.amps.collect import UNKNOWN
from simulator.amps.embedded import AWAY, HOME, INSTANCES, SERVICE
from tests.cli.shell import Shell
from tests.snapshot.amps import async_loss, logged, only_at, write_inventory


def exported(directory: Path, kind: str) -> dict[str, str]:
    """Message id to endpoint."""
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    rows = [row for file in manifest["files"] for row in pq.ParquetFile(directory / file["path"]).read().to_pylist()]
    return {row["message_id"]: row["endpoint"] for row in rows if row["kind"] == kind}


def test_it_is_what_the_world_knows(shell: Shell) -> None:
    """Each site's export has exactly the messages of its log and the records of its SOW; what only the dead site has
    is what the world says; nothing is told of roles, and it says SIMULATED."""
    lab = shell.folder / "lab"
    world, _ = async_loss(lab, shell.clock)
    inventory = write_inventory(shell.folder / "lab.yaml", lab)
    dumped = shell("lab", "dump", "--directory", str(lab), "--out", "dumps")
    assert (dumped.code, dumped.out.splitlines()[0]) == (0, "SIMULATED"), dumped.err
    for site in (HOME, AWAY):
        ended = shell(
            *("snapshot", "--inventory", inventory, "--site", site, "--out", f"exports/{site}"),
            *("--dumps", f"dumps/{INSTANCES[site]}", "--dumped-at", iso(shell.clock.now())),
        )
        assert ended.code == 0, ended.err
        assert ended.out.startswith("SIMULATED\n")
        out = shell.folder / "exports" / site
        assert exported(out, "topic") == {name: f"{topic} (json)" for name, topic in logged(world, site).items()}
        assert len(exported(out, "sow")) == len(world.records(INSTANCES[site], "orders")) == 100
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["services"] == [{"name": SERVICE}]
        assert manifest["unknown"] == [*UNKNOWN]
    home, away = (set(exported(shell.folder / "exports" / site, "topic")) for site in (HOME, AWAY))
    assert home - away == only_at(world, HOME) != set()


def test_the_same_records_have_the_same_keys(shell: Shell) -> None:
    """A record that both instances have is called the same at both."""
    lab = shell.folder / "lab"
    async_loss(lab, shell.clock)
    inventory = write_inventory(shell.folder / "lab.yaml", lab)
    assert shell("lab", "dump", "--directory", str(lab), "--out", "dumps").code == 0
    for site in (HOME, AWAY):
        dumps = f"{SERVICE}=dumps/{INSTANCES[site]}"
        arguments = ("--inventory", inventory, "--site", site, "--service", SERVICE, "--dumps", dumps, "--out", site)
        assert shell("snapshot", *arguments).code == 0
    assert set(exported(shell.folder / HOME, "sow")) == set(exported(shell.folder / AWAY, "sow"))


def test_a_part_that_cannot_be_read_is_said(shell: Shell) -> None:
    """The exit code is 4, the screen and the JSON say how many pieces of which dump, and where they are."""
    lab = shell.folder / "lab"
    async_loss(lab, shell.clock)
    inventory = write_inventory(shell.folder / "lab.yaml", lab)
    assert shell("lab", "dump", "--directory", str(lab), "--out", "dumps").code == 0
    dumps = shell.folder / "dumps" / INSTANCES[HOME]
    first = min((dumps / "journal").iterdir())
    first.write_bytes(first.read_bytes().replace(b"\nclient seq ", b"\nclient sex ", 1))
    arguments = ("snapshot", "--inventory", inventory, "--site", HOME, "--dumps", str(dumps))
    ended = shell(*arguments, "--out", "a")
    assert ended.code == 4, ended.err
    assert f"{first}: 2 pieces could not be read; the first reason: the field client seq is missing" in ended.out
    assert "a/quarantine" in ended.out
    told = shell(*arguments, "--out", "b", "--json").values[-1]["result"]
    assert (told["unread"], told["exit_code"], told["incomplete"] != []) == (2, 4, True)
    rows = pq.ParquetFile(shell.folder / "b" / "quarantine" / "part-00001.parquet").read().to_pylist()
    assert [(row["file"], row["offset"] is None) for row in rows] == [(str(first), False), (str(first), True)]


def test_what_is_refused(shell: Shell) -> None:
    """Dumps of a site that has none, an AMPS site without any, no journal among them, a moment without a zone, a
    directory that holds something: each is one sentence, and nothing is written."""
    lab = shell.folder / "lab"
    async_loss(lab, shell.clock)
    inventory = write_inventory(shell.folder / "lab.yaml", lab)
    (shell.folder / "empty" / "journal").mkdir(parents=True)
    amps = ("snapshot", "--inventory", inventory, "--site", HOME, "--out", "x")
    for arguments, words in (
        (("snapshot", "--site", "ny", "--dumps", "dumps", "--out", "x"), "does not offer snapshots of dumps"),
        (amps, "does not show the messages of endpoints"),
        ((*amps, "--dumps", "away"), "this file or directory does not exist"),
        ((*amps, "--dumps", "empty"), "this directory has no dumps"),
        ((*amps, "--dumps", "empty", "--dumps", f"{SERVICE}=empty"), f"{SERVICE} is given twice"),
        ((*amps, "--dumps", "empty", "--dumped-at", "2026-11-20"), "has no time zone"),
        (("lab", "dump", "--directory", "empty", "--out", "x"), "empty holds no AMPS instances"),
        (("lab", "dump", "--directory", str(lab), "--out", "empty"), "empty exists already"),
    ):
        ended = shell(*arguments)
        assert (ended.code, words in ended.complaint) == (2, True), ended.err
    assert "--dumps" in shell(*amps).hint
    assert not (shell.folder / "x").exists()


@pytest.mark.parametrize("text", ["dumps", "away=dumps"])
def test_several_services_are_told_apart(shell: Shell, text: str) -> None:
    """Where a site has several services, each directory says of which it is."""
    lab = shell.folder / "lab"
    async_loss(lab, shell.clock)
    path = Path(write_inventory(shell.folder / "lab.yaml", lab))
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["pairs"][0]["services"] = [SERVICE, "prices"]
    path.write_text(json.dumps(plain), encoding="utf-8")
    ended = shell("snapshot", "--inventory", str(path), "--site", HOME, "--dumps", text, "--out", "x")
    assert (ended.code, ended.complaint) == (2, f"--dumps {text}: the name of a service is missing")
