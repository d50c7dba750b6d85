"""Promises 10 and 11 on disk: what is created is private, what others can write is refused, links are not followed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.tools import make_tools
from orchestrator.clock import SystemClock
from orchestrator.errors import DefinitionError, FailoverError
from orchestrator.operations.runtime import SIGNING_KEY
from orchestrator.reports.forecast import NAME, Forecast, encoded
from pipeline.places import write_whole
from simulator.amps.embedded import HOME, INSTANCES
from simulator.embedded import embedded_layout
from simulator.lab.of_world import serve_world
from simulator.lab.server import LabSettings
from simulator.solace.world import World
from simulator.ssh.host_key import server_key
from tests.cli.shell import VPN, Shell
from tests.snapshot.amps import async_loss, write_inventory


@pytest.fixture
def generous() -> Iterator[None]:
    """An account whose files are readable, and writable, by all unless a program says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """What is in ``folder`` that others may read, write or search, by name and mode."""
    found = [(path, path.lstat().st_mode) for path in sorted(folder.rglob("*"))]
    return [f"{path.name} {stat.S_IMODE(mode):o}" for path, mode in found if mode & 0o077]


@pytest.mark.usefixtures("generous")
def test_what_commands_create_is_private(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: journal, world, locks, rehearsals and exports are 0600, directories 0700, whatever the umask."""
    monkeypatch.setenv("FAILOVER_STATE", str(shell.state))
    assert make_tools().state == shell.state
    decisions = shell.decisions
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", decisions).code == 0
    assert shell("check").code in (0, 4)
    assert shell("rehearse", "controlled", "--vpn", "Risk_VPN", "--fast", "--keep", "--seed", "1").code == 0
    exported = shell.folder / "run.jsonl"
    assert shell("runs", "export", "last", "-o", str(exported)).code == 0
    assert len(list(shell.state.rglob("*"))) > 4
    assert open_to_others(shell.state) == []
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
    assert stat.S_IMODE(shell.state.stat().st_mode) == 0o700


@pytest.mark.usefixtures("generous")
def test_what_a_snapshot_creates_is_private(shell: Shell) -> None:
    """Law: dumps of the lab, evidence and pieces that could not be read, which have messages in them; keys; an export
    for Spark: 0600, directories 0700. What the account had before is as it was."""
    lab = shell.folder / "lab"
    async_loss(lab, shell.clock)
    inventory = write_inventory(shell.folder / "lab.yaml", lab)
    before = {path: path.stat().st_mode for path in shell.folder.rglob("*")}
    assert shell("lab", "dump", "--directory", str(lab), "--out", "made/dumps").code == 0
    dumps = shell.folder / "made" / "dumps" / INSTANCES[HOME]
    first = min((dumps / "journal").iterdir())
    first.write_bytes(first.read_bytes().replace(b"\nclient seq ", b"\nclient sex ", 1))
    words = ("--inventory", inventory, "--site", HOME, "--dumps", str(dumps), "--out", "made/evidence")
    assert shell("snapshot", *words).code == 4
    assert list((shell.folder / "made/evidence/quarantine").iterdir())
    assert shell("runs", "keygen", "made/key").code == 0
    assert shell("controlled", "--vpn", "Risk_VPN", "--yes").code == 0
    assert shell("runs", "export", "--parquet", "made/runs").code == 0
    assert open_to_others(shell.folder / "made") == []
    assert {path: path.stat().st_mode for path in before if path.name != "amps-world.json"} == {
        path: mode for path, mode in before.items() if path.name != "amps-world.json"
    }
    os.umask(now := os.umask(0))
    assert now == 0


@pytest.mark.realtime
@pytest.mark.usefixtures("generous")
def test_what_a_lab_creates_is_private(tmp_path: Path) -> None:
    """Law: host keys, CA, passwords, tokens, inventories and command logs of the lab are their owner's alone."""
    world = World(embedded_layout(), SystemClock(), path=tmp_path / "lab" / "world.json")
    (tmp_path / "lab").mkdir(mode=0o700)
    world.save()
    with serve_world(
        world, directory=tmp_path / "lab", settings=LabSettings(semp="https", with_log_files=True)
    ) as lab:
        for site, node in lab.nodes:
            lab.log(site, node).record(user="u", origin="o", session=1, mode="exec", kind="show", line="show version")
    made = {path.name for path in (tmp_path / "lab").iterdir()}
    assert {"password", "token", "lab.yaml", "world.json", "ny-NY_Appliance1.commands.jsonl"} <= made
    assert open_to_others(tmp_path / "lab") == []


def test_control_an_open_file_is_seen(tmp_path: Path) -> None:
    """Negative control: a file that others may read is found."""
    (tmp_path / "a").touch(mode=0o600)
    (tmp_path / "b").touch()
    (tmp_path / "b").chmod(0o640)
    assert open_to_others(tmp_path) == ["b 640"]


# --- a state directory that is not ours alone ---------------------------------------------------------------------------


def shared(folder: Path, mode: int) -> Path:
    """A state directory below a directory of that mode."""
    (folder / "shared").mkdir()
    (folder / "shared").chmod(mode)
    (folder / "shared" / "state").mkdir(mode=0o700)
    return folder / "shared" / "state"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o702])
def test_a_state_directory_that_others_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Law: group or all: a record that others can write is not begun."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    with pytest.raises(DefinitionError, match="other accounts can write"):
        make_tools()


@pytest.mark.parametrize(("mode", "is_taken"), [(0o777, False), (0o1777, True), (0o755, True)])
def test_a_state_directory_that_others_can_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_taken: bool
) -> None:
    """Law: below a directory where all may rename (without the sticky bit) ours is not ours."""
    monkeypatch.setenv("FAILOVER_STATE", str(shared(tmp_path, mode)))
    if is_taken:
        assert make_tools().state
    else:
        with pytest.raises(DefinitionError, match="other accounts can write"):
            make_tools()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_state_directory_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a directory, or the link to it, that belongs to another account is not ours."""
    (tmp_path / "state").mkdir(mode=0o700)
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "link"))
    (tmp_path / "link").symlink_to("state")
    assert make_tools().state == tmp_path / "link"
    os.chown(tmp_path / "link", 12345, 12345, follow_symlinks=False)
    with pytest.raises(DefinitionError, match="other accounts can write"):
        make_tools()
    os.chown(tmp_path / "state", 12345, 12345)
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    with pytest.raises(DefinitionError, match="other accounts can write"):
        make_tools()


# --- links ------------------------------------------------------------------------------------------------------------

WORLD = ["world.json", "world.json.lock"]
OURS = ["rehearsals", "logs", "journal.heads", NAME, SIGNING_KEY, f"{SIGNING_KEY}.pub"]
NAMES = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal"]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("name", [*NAMES, *WORLD])
def test_a_link_in_the_state_directory(shell: Shell, name: str, is_there: bool) -> None:
    """Law: a link in place of a file of ours leads nowhere: what it points at is neither made, read nor changed."""
    victim = shell.folder / "victim"
    if is_there:
        victim.write_text("precious", encoding="utf-8")
        victim.chmod(0o644)
    shell.state.mkdir(mode=0o700)
    (shell.state / name).symlink_to(victim)
    ended = shell("controlled", "--vpn", VPN, "--yes")
    assert ended.code in (3, 6)
    assert "this is a bug" not in ended.err
    assert victim.exists() is is_there
    if is_there:
        assert (victim.read_text(encoding="utf-8"), stat.S_IMODE(victim.stat().st_mode)) == ("precious", 0o644)


@pytest.mark.parametrize("spoil", ["fifo", "folder", "writable"])
def test_a_journal_that_is_no_file_of_ours(shell: Shell, spoil: str) -> None:
    """Law: a pipe, a folder, and a file that others can write are no journal; none of them is waited for."""
    shell.state.mkdir(mode=0o700)
    path = shell.state / "journal.sqlite"
    match spoil:
        case "fifo":
            os.mkfifo(path, 0o600)
        case "folder":
            path.mkdir()
        case _:
            path.touch()
            path.chmod(0o666)
    ended = shell("runs", "list")
    assert (ended.code, "cannot be opened" in ended.complaint) == (6, True)


@pytest.mark.parametrize(
    "words",
    [
        ("inventory", "lint", "IT"),
        ("runbook", "lint", "IT"),
        ("family", "lint", "IT"),
        ("status", "-i", "IT"),
        ("plan", VPN, "--runbook", "IT"),
        ("plan", VPN, "--xa", "IT"),
        ("controlled", VPN, "--yes", "--fault", "IT"),
        ("runs", "verify", "--file", "IT"),
        ("runs", "verify", "--file", "IT", "--key", "IT"),
        ("validate", "IT"),
        ("failback", VPN, "--dry-run", "--evidence", "IT"),
    ],
    ids=" ".join,
)
def test_no_input_is_waited_for(shell: Shell, words: tuple[str, ...]) -> None:
    """Law: a named pipe, and a device without an end, is refused in a sentence that names it, whatever it is given as."""
    pipe = shell.folder / "pipe.yaml"
    os.mkfifo(pipe, 0o600)
    for name in (str(pipe), "/dev/zero"):
        ended = shell(*(name if word == "IT" else word for word in words))
        said = ended.out + ended.err
        assert (ended.code in (2, 4), Path(name).name in said) == (True, True), said


def test_no_family_file_is_waited_for(tmp_path: Path) -> None:
    """Law: the same for ``--family``. In a process of its own, since a family that was named stays known in this one."""
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe, 0o600)
    command = [sys.executable, "-m", "orchestrator.cli", "--family", str(pipe), "family", "list"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode in (2, 4), "pipe.yaml" in ended.stdout + ended.stderr) == (True, True), ended


def test_a_link_in_place_of_the_unfinished_world(shell: Shell) -> None:
    """Law: the name under which a world is written first can be foreseen; a link there is removed, not followed."""
    victim = shell.folder / "victim"
    victim.write_text("precious", encoding="utf-8")
    shell.state.mkdir(mode=0o700)
    (shell.state / f"world.json.{os.getpid()}.tmp").symlink_to(victim)
    assert shell("status").code == 0
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_link_in_place_of_the_rehearsals(shell: Shell) -> None:
    """Law: records of rehearsals are not put elsewhere."""
    elsewhere = shell.folder / "elsewhere"
    elsewhere.mkdir()
    shell.state.mkdir(mode=0o700)
    (shell.state / "rehearsals").symlink_to(elsewhere)
    ended = shell("rehearse", "controlled", "--vpn", VPN, "--fast", "--seed", "1")
    assert (ended.code, "is a link" in ended.complaint, list(elsewhere.iterdir())) == (6, True, [])


def test_a_link_in_place_of_the_logs(shell: Shell) -> None:
    """Law: what a run without a terminal prints, its events among it, is not put elsewhere; and the run can go on."""
    elsewhere = shell.folder / "elsewhere"
    elsewhere.mkdir()
    shell.state.mkdir(mode=0o700)
    (shell.state / "logs").symlink_to(elsewhere)
    ended = shell("controlled", "--vpn", "Risk_VPN", "--yes", "--no-wait")
    assert (ended.code, "is a link" in ended.complaint, list(elsewhere.iterdir())) == (6, True, [])
    assert "failover resume" in ended.err
    assert shell("resume", "last").code == 0


@pytest.mark.parametrize("place", ["link", "dangling link", "fifo", "file"])
def test_a_link_in_place_of_the_notes(shell: Shell, place: str) -> None:
    """Law: how far runs are recorded is not noted elsewhere; nothing in the way is waited for, and no run begins."""
    elsewhere = shell.folder / "elsewhere"
    shell.state.mkdir(mode=0o700)
    path = shell.state / "journal.heads"
    match place:
        case "fifo":
            os.mkfifo(path, 0o600)
        case "file":
            path.touch()
        case _:
            path.symlink_to(elsewhere)
    if place == "link":
        elsewhere.mkdir()
    ended = shell("controlled", "--vpn", "Risk_VPN", "--yes")
    assert (ended.code, "could not be noted" in ended.complaint) == (6, True)
    assert (shell("runs", "list", "--json").values, list(shell.folder.glob("elsewhere/*"))) == ([], [])


def test_a_link_in_place_of_one_note(shell: Shell) -> None:
    """Law: neither is one run noted elsewhere, nor read from there."""
    victim = shell.folder / "victim"
    victim.write_text("precious", encoding="utf-8")
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    [note] = (shell.state / "journal.heads").iterdir()
    note.unlink()
    note.symlink_to(victim)
    assert shell("runs", "verify").code == 0
    assert shell("resume", "--xa", shell.decisions).code == 6
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_link_in_place_of_the_signing_key(shell: Shell) -> None:
    """Law: runs are not signed with a key from elsewhere, and none is made there."""
    assert shell("runs", "keygen", "elsewhere").code == 0
    (shell.state / SIGNING_KEY).symlink_to(shell.folder / "elsewhere")
    ended = shell("controlled", "--vpn", "Risk_VPN", "--yes")
    assert (ended.code, "cannot be read" in ended.complaint) == (2, True)
    (shell.state / SIGNING_KEY).unlink()
    (shell.state / SIGNING_KEY).symlink_to(shell.folder / "nothing")
    assert shell("runs", "keygen").code == 2
    assert not (shell.folder / "nothing").exists()


@pytest.mark.parametrize("place", ["link", "fifo", "folder", "endless"])
def test_a_forecast_that_is_no_file_of_ours(shell: Shell, place: str) -> None:
    """Law: a dry run neither follows a link in place of the forecast, nor waits for it; it says what is in the way."""
    shell.state.mkdir(mode=0o700)
    path = shell.state / NAME
    match place:
        case "link":
            whole = Forecast(made_at="2026-01-01T00:00:00Z", runs=0, steps=(), drains=())
            (shell.folder / "elsewhere").write_bytes(encoded(whole))
            path.symlink_to(shell.folder / "elsewhere")
        case "fifo":
            os.mkfifo(path, 0o600)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to("/dev/zero")
    ended = shell("controlled", "--vpn", VPN, "--dry-run")
    assert (ended.code, "cannot be read" in ended.complaint) == (2, True)


def test_a_link_in_place_of_the_unfinished_forecast(tmp_path: Path) -> None:
    """Law: the name under which a document is written first can be foreseen; a link there is removed, not followed."""
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / f".{NAME}.{os.getpid()}").symlink_to(victim)
    write_whole(tmp_path / NAME, b"{}")
    assert victim.read_text(encoding="utf-8") == "precious"
    assert (tmp_path / NAME).read_bytes() == b"{}"


def test_no_name_in_the_state_directory_is_left_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: whatever the commands keep there is among the names that are tried in this file."""
    monkeypatch.setenv("FAILOVER_STATE", str(shell.folder / "of the other process"))
    assert shell("controlled", "--vpn", "Risk_VPN", "--yes", "--no-wait").code == 6  # it does not find the run there
    assert shell("rehearse", "controlled", "--vpn", VPN, "--fast", "--keep", "--seed", "1").code == 0
    assert shell("runs", "keygen").code == 0
    write_whole(shell.state / NAME, b"{}")
    made = {path.name for path in shell.state.iterdir()}
    assert made <= {*NAMES, *WORLD, *OURS}
    assert made >= {*OURS, *WORLD, NAMES[0]}


def test_a_link_in_place_of_a_key(tmp_path: Path) -> None:
    """Law: a private key is made at its place, and neither read nor given another mode through a link."""
    key = server_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o400)
    (tmp_path / "link").symlink_to("key")
    with pytest.raises(FailoverError, match="is a link"):
        server_key(tmp_path / "link")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o400
    assert server_key(tmp_path / "key").line == key.line
