"""`failover abort --leave`: a run that is past its point of no return and cannot continue ends as it is, and frees its
services."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.cli.shell import VPN, Shell

DARK = "at 0s: node ny/NY_Appliance1 down 5m"
WHY = ("--reason", "completed by hand, J. Doe")


@pytest.fixture
def stopped(shell: Shell) -> str:
    """A restore that stopped past its point of no return: two transactions have no decision. Its name."""
    assert shell("uncontrolled", VPN, "--site", "ny", "--yes", "--attest", "cables pulled", "--fault", DARK).code == 0
    pass_time(shell)
    ended = shell("restore", VPN, "--site", "ny", "--yes", "--xa", "stop")
    assert ended.code == 6
    assert f"failover abort {shell.run_name()} --leave --reason" in ended.out
    return shell.run_name()


def test_it_ends_and_frees_its_services(shell: Shell, stopped: str) -> None:
    """Law: nothing is sent; the record and the report say who left it and where; no resume continues it, and a new run
    may start."""
    before = shell.tally().commands
    assert shell("restore", VPN, "--site", "ny", "--yes", "--xa", "stop").code == 8
    left = shell("abort", stopped, "--leave", *WHY)
    assert left.code == 6
    assert "NOT ABORTED" in left.out
    assert "was left as it is, at the step: Complete the prepared transactions of the restored site" in left.out
    assert "aborted by ann" in left.out
    assert WHY[1] in left.out
    assert "other runs may move Trading_VPN now" in left.out
    assert shell.tally().commands == before
    again = shell("resume", stopped)
    assert (again.code, "there is nothing to resume" in again.err) == (2, True)
    assert shell("status", "--json").values[-1] is not None
    assert "unfinished" not in shell("status").out
    anew = shell("restore", VPN, "--site", "ny", "--yes", "--xa", shell.decisions)
    assert anew.code == 0, anew.out
    assert shell.roles() == ("standby", "active")


def test_it_needs_a_reason(shell: Shell, stopped: str) -> None:
    """Law: what gives a run up is done by name, with a reason; without one nothing is recorded."""
    records = len(shell("runs", "export", stopped).values)
    refused = shell("abort", stopped, "--leave")
    assert (refused.code, "needs a reason" in refused.err) == (2, True)
    assert len(shell("runs", "export", stopped).values) == records


def test_a_fence_stays(shell: Shell) -> None:
    """Law: promises 8 and 14: what the run shut stays shut; a later restore may open it, and no other run."""
    shell.disturb("at 0s: bridge down 20m", "activate: unreachable nj 10m")
    shell.clock.advance(60)
    isolated = ("uncontrolled", VPN, "--site", "ny", "--isolated", "--yes", "--reason", "the fibre is cut")
    assert shell(*isolated).code == 6
    assert shell("abort", "last", "--leave", *WHY).code == 6
    pass_time(shell)
    assert shell("repair", VPN, "--site", "nj", "--yes", "--accept-loss", "agreed with the desk").code in (0, 9)
    assert doors(shell) == [False]


def test_a_site_that_nothing_opens_any_more_can_be_shut(shell: Shell) -> None:
    """Law: a run that was left while it opened a site keeps no other service from shutting it. It is left only once a
    command in doubt can have no effect any more."""
    shell.disturb("at 0s: bridge down 300m", "fence: lose reply", "fence +0s: unreachable ny 10m")
    shell.clock.advance(60)
    isolated = ("--site", "ny", "--isolated", "--yes", "--reason", "the fibre is cut")
    assert shell("uncontrolled", VPN, *isolated).code == 7
    left = shell("abort", "last", "--leave", *WHY)
    assert (left.code, "left as it is" in left.out) == (7, True)
    pass_time(shell)
    assert shell("uncontrolled", "Risk_VPN", *isolated).code == 0
    assert (doors(shell), shell.roles("Risk_VPN")[1]) == ([False], "active")


def pass_time(shell: Shell) -> None:
    """The pair's time passes only while a process holds it."""
    with closing(shell.world()) as world:
        shell.clock.sleep(1_500.0)
        with world.request():
            pass


def doors(shell: Shell) -> list[bool]:
    """Does each node of ny let clients in?"""
    with closing(shell.world()) as world, world.request():
        return [node.backbone for node in world.centre("ny").nodes.values()]
