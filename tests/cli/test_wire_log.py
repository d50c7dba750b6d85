"""-v, -vv and --log-file: what is sent to devices and what they answer, on stderr and in a file, without secrets."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.cli.render.terminal import redact_with
from orchestrator.cli.wire_log import WireLog, in_front
from orchestrator.family.secrets import SecretStore
from orchestrator.model.exchanges import Exchange
from tests.cli.shell import Shell

READ = Exchange(
    "NY_Appliance1", "show version", 10.0, 10.034, prompt="NY_Appliance1>", answer="release 10\nkey hush!hush"
)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("status -v", "-v status"),
        ("status --log-file x -vv V", "--log-file x -vv status V"),
        ("--log-file=x status", "--log-file=x status"),
        ("controlled V -- -v", "controlled V -- -v"),
        ("status --log-file", "--log-file status"),
    ],
)
def test_understood_anywhere(typed: str, expected: str) -> None:
    """Law: these options may be typed behind the command too."""
    assert in_front(typed.split()) == expected.split()


@pytest.mark.parametrize(("level", "lines"), [(0, 0), (1, 1), (2, 3)])
def test_what_is_shown(level: int, lines: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: a line for each exchange, with -vv its answer; the file has both at any level, is its owner's alone, and no
    secret is in either."""
    secrets = SecretStore(None)
    secrets.redactor.learn("hush!hush")
    redact_with(secrets.redactor)
    path = tmp_path / "wire.log"
    log = WireLog(level, path)
    log.heard(READ)
    log.close()
    err = capsys.readouterr().err
    assert len(err.splitlines()) == lines
    assert ("NY_Appliance1> show version: 2 lines (34 ms)" in err) is (level > 0)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) == 3
    assert "hush!hush" not in text + err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written(shell: Shell) -> None:
    """Law: it is refused before anything is read."""
    ended = shell("status", "--log-file", "no/such/folder/wire.log")
    assert (ended.code, "wire.log cannot be written" in ended.complaint) == (2, True)
    assert ended.out == ""


def test_a_file_that_stays_empty_is_explained(shell: Shell) -> None:
    """Law: the simulated pair has no wire, and the command says so."""
    ended = shell("status", "--log-file", "wire.log")
    assert (ended.code, Path("wire.log").read_text()) == (0, "")
    assert "failover connected to no device" in ended.err
