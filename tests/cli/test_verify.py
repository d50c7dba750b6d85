"""``failover runs keygen`` and ``verify``: keys are found where they are kept, and what was proven is said."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.shell import VPN, Shell


def test_a_signed_run(shell: Shell) -> None:
    """Law: from ``runs keygen`` on, what this account leads is signed; verify says by whom, and the head to note."""
    made = shell("runs", "keygen", "--json").values[0]
    assert (shell.state / "signing.key").stat().st_mode & 0o777 == 0o600
    shell.move()
    said = shell("runs", "verify").out
    assert f"unbroken, signed by key {made['key']}" in said
    head = said.split("head ")[1].strip()
    assert shell("runs", "verify", "last", "--key", made["public"], "--head", head).code == 0
    found = shell("runs", "verify", "--json").values[0]
    assert (found["ok"], found["signature"], found["key"], found["head"]) == (True, "signed", made["key"], head)
    shell("runs", "export", "--output", "run.jsonl")
    assert shell("runs", "verify", "--file", "run.jsonl", "--key", made["public"]).code == 0
    assert "PRIVATE" not in shell.folder.joinpath("run.jsonl").read_text()


def test_the_public_half_is_printed(shell: Shell) -> None:
    """Law: `--public` prints what others are to be given, of the key that signs or of a named one; it makes none."""
    missing = shell("runs", "keygen", "--public")
    assert (missing.code, missing.complaint) == (2, "this account has no signing key")
    made = shell("runs", "keygen", "--json").values[0]
    shown = shell("runs", "keygen", "--public")
    assert (shown.code, shown.out) == (0, Path(made["public"]).read_text())
    assert shell("runs", "keygen", made["private"], "--public", "--json").values == [
        {"key": made["key"], "public": shown.out}
    ]
    assert shell("runs", "keygen", "nowhere", "--public").code == 2
    assert not Path("nowhere").exists()


def test_an_unsigned_run(shell: Shell) -> None:
    """Law: without a key a run is unsigned, and that is said; who demands a signature gets exit code 4."""
    shell.move()
    assert ", unbroken, unsigned" in shell("runs", "verify", "--all").out
    shell("runs", "keygen", "auditor")
    demanded = shell("runs", "verify", "last", "--key", "auditor.pub")
    assert (demanded.code, "the record is not signed" in demanded.out) == (4, True)


def test_unsigned_where_this_account_signs(shell: Shell) -> None:
    """Law: an account with a key signs all that it records, so a record without a signature is a finding there, without
    any option: somebody removed it, or it is older than the key. One that another account signed is none."""
    shell.move()
    assert shell("runs", "verify").code == 0
    shell("runs", "keygen")
    found = shell("runs", "verify")
    assert (found.code, "the record is not signed" in found.out) == (4, True)
    shell("controlled", "--vpn", VPN, "--from", "nj", "--yes", "--xa", "stop")
    assert shell("runs", "verify", "last").code == 0
    with closing(sqlite3.connect(shell.state / "journal.sqlite")) as journal:
        journal.execute("DELETE FROM signatures")
        journal.commit()
    assert shell("runs", "verify", "last").code == 4
    shell("runs", "export", "--output", "run.jsonl")
    assert shell("runs", "verify", "run.jsonl").code == 4


def test_signed_by_another_account(shell: Shell) -> None:
    """Law: on a journal that several accounts share, what another one signed is not checked, and no finding."""
    shell("runs", "keygen")
    shell.move()
    for name in ("signing.key", "signing.key.pub"):
        (shell.state / name).unlink()
    shell("runs", "keygen")
    found = shell("runs", "verify")
    assert (found.code, "signature not checked" in found.out) == (0, True)


def test_a_run_that_ends_under_way(shell: Shell) -> None:
    """Law: a record that was cut back to a state under way is a whole record in itself; that nobody leads the run is
    said, with what that may mean. It is not said of a run that somebody leads, nor of one that waits."""
    shell("runs", "keygen")
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    assert "under way" not in shell("runs", "verify").out
    shell("resume", "--xa", shell.decisions)
    run = shell.run_name()
    with closing(sqlite3.connect(shell.state / "journal.sqlite")) as journal:
        signed = [seq for (seq,) in journal.execute("SELECT seq FROM signatures WHERE seq < 10 ORDER BY seq")]
        for table in ("events", "signatures"):
            journal.execute(f"DELETE FROM {table} WHERE seq > ?", (signed[-1],))
        (head,) = journal.execute("SELECT hash FROM events WHERE seq = ?", (signed[-1],)).fetchone()
        journal.execute("UPDATE runs SET seq = ?, head = ?", (signed[-1], head))
        journal.commit()
    assert "but missing now" in shell("runs", "verify").out
    for left in (shell.state / "journal.heads").iterdir():
        left.unlink()
    found = shell("runs", "verify")
    note = (
        "the record has no end, and no process leads the run: "
        f"the run was interrupted (failover resume {run}), or the end of its record was cut off"
    )
    assert (found.code, "unbroken, signed by" in found.out, note in found.out) == (0, True, True)
    assert shell("runs", "verify", "--json").values[0]["note"] == note
    with closing(sqlite3.connect(shell.state / "journal.sqlite")) as journal:
        led = ("elsewhere:1 other/1", shell.clock.now() + 10)
        journal.execute("UPDATE runs SET holder = ?, expires_at = ?", led)
        journal.commit()
    assert "under way" not in shell("runs", "verify").out


def test_a_key_that_was_named_is_never_done_without(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: with FAILOVER_SIGNING_KEY naming a key that is not there, nothing begins; looking is still possible."""
    monkeypatch.setenv("FAILOVER_SIGNING_KEY", str(shell.folder / "nowhere"))
    refused = shell.move()
    assert (refused.code, "signing key" in refused.complaint) == (2, True)
    assert shell.roles() == ("active", "standby")
    assert shell("runs", "list").code == 0
    shell("runs", "keygen", "nowhere")
    assert shell.move().code == 0
    assert shell("runs", "verify", "--key", "nowhere.pub").code == 0


def test_a_forged_export_is_found(shell: Shell) -> None:
    """Law: an export that was edited by somebody without the key is a finding."""
    public = shell("runs", "keygen", "--json").values[0]["public"]
    shell.move()
    shell("runs", "export", "--output", "run.jsonl")
    lines = shell.folder.joinpath("run.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    shell.write("stripped.jsonl", "\n".join([*lines[:-1], json.dumps({**last, "signature": None})]) + "\n")
    found = shell("runs", "verify", "stripped.jsonl", "--key", public)
    assert (found.code, "are not signed" in found.out) == (4, True)


def test_what_verify_does_not_take(shell: Shell) -> None:
    """Law: two records at once, a head that is none or belongs to no run, or a key that is none: exit code 2."""
    shell.move()
    for wrong in (
        ("last", "--all"),
        ("--all", "--file", "run.jsonl"),
        ("last", "--head", "7"),
        ("--head", f"7:{'0' * 64}"),
        ("last", "--key", "nowhere.pub"),
    ):
        assert shell("runs", "verify", *wrong).code == 2


def test_a_rehearsal_is_not_signed(shell: Shell) -> None:
    """Law: a rehearsal's record is private to it, so the key of the real runs signs nothing of it."""
    shell("runs", "keygen")
    shell.state.joinpath("signing.key").chmod(0o644)
    assert (
        shell("rehearse", "controlled", "--vpn", "Trading_VPN", "--fast", "--yes", "--xa", shell.decisions).code == 0
    )
    assert shell.move().code == 2
