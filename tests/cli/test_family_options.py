"""The options that families add to the commands that move services."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.complaints import complained
from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("command", "flag", "families"),
    [
        ("controlled", "--xa", "solace: "),
        ("controlled", "--on-bridge-loss", "amps, nats, postgresql, rabbitmq, redis, solace: "),
        ("uncontrolled", "--accept-loss", "amps: "),
        ("uncontrolled", "--isolated", "solace: "),
        ("restore", "--spool", "solace: "),
        ("failback", "--accept-sync", "solace: "),
    ],
)
def test_help_says_whose_an_option_is(shell: Shell, command: str, flag: str, families: str) -> None:
    """Law: an option of a family is in the help of its command, with the families that have it."""
    page = " ".join(shell(command, "--help").out.partition("What to move:")[2].split())
    assert flag in page
    assert families in page[page.index(f"{flag} ") :][:120]


def test_a_value_that_an_option_does_not_take(shell: Shell) -> None:
    """Law: what is not among the values of an option is refused with all of them, and nothing starts."""
    ended = shell("restore", "--vpn", "Trading_VPN", "--site", "ny", "--spool", "half", "--yes")
    complained(ended, 2, "--spool must be one of: kept, lost")


def test_an_option_without_the_one_that_it_needs(shell: Shell) -> None:
    """Law: an answer to a question that another option brings is refused without that option, which is named."""
    inventory = shell.write(
        "amps.yaml",
        "sites: {ny: {adapter: mock-amps, devices: [{name: a}]}, nj: {adapter: mock-amps, devices: [{name: b}]}}\n"
        "pairs: [{name: p, sites: [ny, nj], services: [orders]}]\n",
    )
    ended = shell(
        "restore", "--service", "orders", "--site", "ny", "-i", str(inventory), "--accept-sow", "x", "--yes"
    )
    complained(ended, 2, "--accept-sow answers a question that is only asked with --bootstrap")


def test_the_list_of_commands_needs_no_family() -> None:
    """Law: `failover --help` imports no family; it is typed at three in the morning too."""
    script = (
        "import sys; from orchestrator.cli.main import main; main(['--help']); "
        "sys.exit(any(name.startswith('adapters.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0
