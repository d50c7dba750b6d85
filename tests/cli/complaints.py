"""What a command says that cannot do its work: one sentence, one exit code, and nothing was changed."""

from __future__ import annotations

from tests.cli.shell import VPN, Ended, Shell

ACTIVE_AT_HOME = ("active", "standby")


def untouched(shell: Shell, roles: tuple[str, str] = ACTIVE_AT_HOME) -> None:
    """No device obeyed anything, nothing was lost, and nobody serves who did not before."""
    tally = shell.tally()
    assert (shell.roles(), dict(tally.commands), tally.lost) == (roles, {}, 0)


def refused(shell: Shell, ended: Ended, *words: str, code: int = 3) -> None:
    """A run that a check refused: one sentence in the result, no error beside it."""
    assert ended.code == code
    [line] = [line for line in ended.out.splitlines() if line.startswith(f"  {VPN}: refused: ")]
    assert all(word in line for word in words), line
    assert "failover: " not in ended.err
    assert "Nothing was changed." in ended.out


def complained(ended: Ended, code: int, *words: str) -> None:
    """A command that failed: one sentence on one line, nothing on stdout."""
    assert (ended.code, ended.out) == (code, "")
    assert all(word in ended.complaint for word in words), ended.complaint
