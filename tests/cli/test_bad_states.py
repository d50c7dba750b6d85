"""Sites in a state that no move begins from, and devices that do not answer as they should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.embedded import embedded_layout
from tests.cli.complaints import ACTIVE_AT_HOME, complained, refused, untouched
from tests.cli.shell import VPN, Shell


def test_already_moved(shell: Shell) -> None:
    """Law: run again it refuses, because nj is active now, and says what to run instead; that works."""
    assert shell.move().code == 0
    ended = shell.move()
    refused(shell, ended, "ny: the source is not active")
    assert "nj is active already." in ended.out
    assert "`failover controlled Trading_VPN --site nj`" in ended.out
    assert shell.roles() == ("standby", "active")
    assert shell.move("--from", "nj").code == 0
    assert shell.roles() == ACTIVE_AT_HOME


@pytest.mark.parametrize(
    ("fault", "words"), [("nj active", "BOTH SITES ARE ACTIVE"), ("ny standby", "NO SITE IS ACTIVE")]
)
def test_both_sites_in_one_role(shell: Shell, fault: str, words: str) -> None:
    """Law: neither two active nor two standby sites are moved; the advice says which of the two it is."""
    shell.disturb(f"at 0s: role {fault}")
    shell.clock.advance(1)
    before = shell.roles()
    assert before[0] == before[1]
    ended = shell.move()
    refused(shell, ended)
    assert words in ended.out
    assert shell.roles() == before


def test_not_replicated(shell: Shell) -> None:
    """Law: a VPN that is not replicated is refused by name of that reason."""
    layout = embedded_layout()
    plain = replace(layout.vpns[0], replicated=False, backlog=0, transactions=())
    inventory = shell.inventory(replace(layout, vpns=(plain,)), services=[VPN])
    refused(shell, shell("controlled", "-i", str(inventory), "--all", "--yes"), "not replicated at the source")


def test_listed_but_not_on_the_device(shell: Shell) -> None:
    """Law: a VPN that the devices do not have is refused at once, without waiting for it to appear."""
    layout = embedded_layout()
    inventory = shell.inventory(replace(layout, vpns=layout.vpns[1:]))
    begun = shell.clock.now()
    refused(shell, shell("controlled", "-i", str(inventory), "--vpn", VPN, "--yes"), f"{VPN} does not exist")
    assert shell.clock.now() - begun < 5


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("at 0s: unreachable ny", "no node of ny answers"),
        ("at 0s: unreachable nj", "no node of nj answers"),
        ("login: wrong password", "does not accept the account"),
    ],
)
@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_no_session_to_be_had(shell: Shell, fault: str, sentence: str, how: str) -> None:
    """Law: a device that is away, or refuses the account, refuses the run: nothing begins, nothing is recorded."""
    shell.disturb(fault)
    shell.clock.advance(1)
    complained(shell("controlled", "--vpn", VPN, how), 3, sentence, "nothing was changed")
    assert shell("runs", "list").out == ""
    shell.disturb()
    assert (dict(shell.tally().commands), shell.tally().lost) == ({}, 0)


@pytest.mark.parametrize("fault", ["garbage reply", "truncate reply", "lose reply", "lose request"])
def test_answers_that_cannot_be_read(shell: Shell, fault: str) -> None:
    """Law: an answer nobody can read is unknown; it is asked again for a while, and then the run refuses."""
    shell.disturb(f"reads: {fault} 1h")
    refused(shell, shell.move(), "is unknown")
    untouched(shell)


@pytest.mark.parametrize("fault", ["garbage reply", "truncate reply", "lose reply"])
def test_one_bad_answer_is_asked_again(shell: Shell, fault: str) -> None:
    """Law: a single unreadable answer costs a second look, not the run."""
    shell.disturb(f"reads: {fault}")
    assert shell.move().code == 0


def test_a_command_that_is_refused_by_the_device(shell: Shell) -> None:
    """Law: a demotion that the device refuses ends the run as refused, since nothing was changed."""
    ended = shell.move("--fault", "demote: refuse 10h")
    refused(shell, ended, "ny refused", "the command is refused by the simulated node")
    assert (shell.roles(), shell.tally().lost) == (ACTIVE_AT_HOME, 0)
