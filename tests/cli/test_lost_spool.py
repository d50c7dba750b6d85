"""`failover restore --spool lost`: what a person knows about the site that came back is recorded, and remembered."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.cli.shell import VPN, Shell

DARK = "at 0s: node ny/NY_Appliance1 down 5m"


@pytest.mark.parametrize(("typed", "lost"), [(("--spool", "lost"), True), (("--spool", "kept"), False), ((), False)])
def test_it_is_recorded(shell: Shell, typed: tuple[str, ...], lost: bool) -> None:
    """Law: the fail-back to come finds in the record that messages were lost there, if somebody said so."""
    taken = ("uncontrolled", "--vpn", VPN, "--site", "ny", "--yes", "--attest", "cables pulled", "--fault", DARK)
    assert shell(*taken).code == 0
    with closing(shell.world()) as world:  # the pair's time passes only while somebody holds it
        shell.clock.sleep(600.0)
        with world.request():
            pass
    ended = shell("restore", "--vpn", VPN, "--site", "ny", "--yes", "--xa", "stop", *typed)
    assert ended.code == 6, ended  # two transactions need a decision
    created = json.loads(shell("runs", "export", "last").values[0]["event"])
    assert created["plan"]["runbook"]["runbook"] == "solace/restore"
    assert created["plan"]["outage"]["spool_lost"] is lost
