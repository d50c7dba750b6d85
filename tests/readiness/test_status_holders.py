"""`failover status` beside the record: a pair that a run holds is explained by naming the run, and what to do."""

from __future__ import annotations

import os
from contextlib import closing

from orchestrator.journal.lease import take
from tests.cli.shell import VPN, Shell


def test_a_run_that_stopped_half_way_is_named(shell: Shell) -> None:
    """Law: where nobody is active because a run stopped there, status says which run, and how to go on with it."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    run = shell.run_name()
    last = shell("status").out.splitlines()[-1]
    assert last == f"run {run} is unfinished and holds {VPN}; no process leads it: `failover resume {run}`"
    assert shell("status", "--json").values[0]["runs"] == [{"run": run, "led": False, "services": [VPN]}]


def test_a_run_that_is_at_its_end_holds_nothing(shell: Shell) -> None:
    """Law: no run is named once the services are free."""
    shell.move()
    assert shell("status", "--json").values[0]["runs"] == []
    assert "run " not in shell("status").out


def test_a_run_that_is_led_is_no_business_of_others(shell: Shell) -> None:
    """Law: while a process leads the run, status does not say to resume it, but where to read on."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    run = shell.run_name()
    with closing(shell.tools().journal()) as journal:
        take(journal, shell.clock, run, {})
    last = shell("status").out.splitlines()[-1]
    assert last == f"run {run} holds {VPN} now: `failover runs show {run}`"


def test_devices_are_shown_also_without_a_journal(shell: Shell) -> None:
    """Law: a journal that cannot be read keeps nobody from seeing the devices; who holds what is unknown then."""
    assert shell("status").code == 0
    journal = shell.state / "journal.sqlite"
    journal.unlink(missing_ok=True)
    os.mkfifo(journal)
    shown = shell("status")
    assert shown.code == 0
    assert VPN in shown.out
    assert "it is unknown whether a run holds one of these services: " in shown.out
    assert shell("status", "--json").values[0]["runs"] is None
