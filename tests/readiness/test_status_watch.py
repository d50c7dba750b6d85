"""`failover status --watch`: the same table again and again, until somebody stops it."""

from __future__ import annotations

from tests.cli.shell import VPN, Shell


def test_it_looks_again_until_it_is_stopped(shell: Shell) -> None:
    """Law: one look an interval, each with its own time, and the exit code of the last one."""
    shell.clock.stop_in(5.0)  # type: ignore[attr-defined]  # the fixture's
    ended = shell("status", "--watch", "--interval", "2s", "--json")
    assert ended.code == 0
    times = [value["at"] for value in ended.values]
    assert len(times) == 3 == len(set(times))


def test_what_changes_is_seen(shell: Shell) -> None:
    """Law: each look shows what the sites say then, over sessions that stay open."""
    shell("status")  # the pair's time begins with the first look at it
    shell.disturb("at 25s: role ny standby")
    shell.clock.stop_in(60.0)  # type: ignore[attr-defined]  # the fixture's
    ended = shell("status", "--watch", "--interval", "10s", "--json")
    verdicts = [row["verdict"] for look in ended.values for row in look["services"] if row["service"] == VPN]
    assert (verdicts[0], verdicts[-1], ended.code) == ("ok", "no active site", 4)
    codes = [look["exit_code"] for look in ended.values]
    assert (codes[0], codes[-1]) == (0, 4)


def test_on_paper_each_look_has_its_time(shell: Shell) -> None:
    """Law: where nothing can be redrawn, every look is written below the one before, and says when it was."""
    shell.clock.stop_in(3.0)  # type: ignore[attr-defined]  # the fixture's
    ended = shell("status", "--watch")
    assert ended.out.count("until Ctrl-C") == 2
    assert ended.out.count("SIMULATED") == 2


def test_an_interval_must_be_one(shell: Shell) -> None:
    """Law: an interval of nothing would be a busy loop, and is a usage error."""
    assert shell("status", "--watch", "--interval", "0s").code == 2
