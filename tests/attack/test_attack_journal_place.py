"""A journal that `FAILOVER_JOURNAL` names: a file that others can write is none, and a server proves who it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.operations.journal_location import safe_url
from tests.cli.shell import Shell


def named(shell: Shell, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("FAILOVER_JOURNAL", f"sqlite:///{path}")


@pytest.mark.parametrize("mode", [0o666, 0o660, 0o622, 0o602])
def test_a_file_that_others_can_write(shell: Shell, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Law: as in the state directory: nothing is recorded where others can change it."""
    path = shell.folder / "named.sqlite"
    path.touch()
    path.chmod(mode)
    named(shell, monkeypatch, path)
    ended = shell.move()
    assert (ended.code, "the file must be a regular file that only this account can write" in ended.complaint) == (
        6,
        True,
    )
    assert path.stat().st_size == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_directory_that_others_can_write(shell: Shell, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Law: nor where others can put another file in its place; the way out is named."""
    (shell.folder / "shared").mkdir()
    (shell.folder / "shared").chmod(mode)
    named(shell, monkeypatch, shell.folder / "shared" / "named.sqlite")
    ended = shell.move()
    assert (ended.code, "other accounts can write to the directory" in ended.complaint) == (2, True)
    assert "PostgreSQL" in ended.hint
    assert list((shell.folder / "shared").iterdir()) == []


@pytest.mark.parametrize("name", ["named.sqlite", "named.sqlite-wal", "named.sqlite-shm"])
def test_a_link_in_its_place(shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Law: no link is followed, neither in its place nor beside it."""
    (shell.folder / "victim").write_text("precious")
    (shell.folder / name).symlink_to(shell.folder / "victim")
    named(shell, monkeypatch, shell.folder / "named.sqlite")
    assert shell.move().code == 6
    assert (shell.folder / "victim").read_text() == "precious"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:", "sqlite://host/x"])
def test_a_journal_that_is_no_file(shell: Shell, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Law: a record that nobody could read afterwards is refused before anything begins."""
    monkeypatch.setenv("FAILOVER_JOURNAL", url)
    ended = shell.move()
    assert (ended.code, ended.complaint) == (2, "FAILOVER_JOURNAL does not name a file")


def test_a_good_place_is_taken(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a private file in a private directory, named whole, relative to it, or as a URI of SQLite's."""
    for number, url in enumerate(("sqlite:///{}", "sqlite+pysqlite:///{}", "sqlite:///file:{}?uri=true")):
        path = shell.folder / f"named{number}.sqlite"
        monkeypatch.setenv("FAILOVER_JOURNAL", url.format(path))
        assert shell("runs", "list").code == 0
        assert path.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("FAILOVER_JOURNAL", "sqlite:///relative.sqlite")
    assert (shell("runs", "list").code, Path("relative.sqlite").exists()) == (0, True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_account(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a file of another account is no record of ours."""
    path = shell.folder / "named.sqlite"
    path.touch(mode=0o600)
    os.chown(path, 12345, 12345)
    named(shell, monkeypatch, path)
    assert shell.move().code == 6


# --- a server -------------------------------------------------------------------------------------------------------


REMOTE = "postgresql+psycopg://u:p%40x@db.example:5433/failover"


@pytest.mark.parametrize(
    "url",
    [
        REMOTE,
        "postgresql://10.0.0.1/failover",
        "postgresql+psycopg:///failover?host=127.0.0.1,db.example",
        "postgresql+psycopg://u@db.example/f?options=-csearch_path%3Da%26b&connect_timeout=3",
    ],
)
def test_a_server_elsewhere_proves_who_it_is(url: str) -> None:
    """Law: by default the certificate of a server on another machine is checked, its name too; nothing else changes."""
    assert safe_url(url, {}) == f"{url}{'&' if '?' in url else '?'}sslmode=verify-full"


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        (f"{REMOTE}?sslmode=prefer", {}),
        (f"{REMOTE}?service=journal", {}),
        (REMOTE, {"PGSSLMODE": "verify-ca"}),
        ("postgresql+psycopg://127.0.0.1:5432/f", {}),
        ("postgresql+psycopg://localhost/f", {}),
        ("postgresql+psycopg://[::1]/f", {}),
        ("postgresql+psycopg:///f", {}),
        ("postgresql+psycopg:///f?host=/var/run/postgresql", {}),
    ],
)
def test_what_was_decided_stands(url: str, environment: dict[str, str]) -> None:
    """Law: what the URL or libpq's own environment says is not changed, and a server on this machine needs no TLS."""
    assert safe_url(url, environment) == url
