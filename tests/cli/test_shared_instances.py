"""Services that one instance of AMPS serves: what is done to the instance is done to all of them."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

ONE = """\
sites:
  ny: {adapter: amps-admin, devices: [{name: amps-ny, address: 127.0.0.1, port: 9}], login: {username: ops}}
  nj: {adapter: amps-admin, devices: [{name: amps-nj, address: 127.0.0.1, port: 9}], login: {username: ops}}
pairs: [{name: orders, sites: [ny, nj], services: SERVICES}]
"""
APART = """\
sites:
  ny: {adapter: amps-admin, devices: [{name: A, address: 127.0.0.1, port: 9}, {name: B, address: 127.0.0.1, port: 8}]}
  nj: {adapter: amps-admin, devices: [{name: A, address: 127.0.0.1, port: 9}, {name: B, address: 127.0.0.1, port: 8}]}
pairs: [{name: orders, sites: [ny, nj], services: [A, B]}]
"""


@pytest.mark.parametrize(
    "command", [("controlled", "--yes"), ("controlled", "--dry-run"), ("controlled", "--all", "--yes")]
)
def test_one_of_two_services_of_an_instance_is_not_moved(shell: Shell, command: tuple[str, ...]) -> None:
    """Law (promise 14): what would take another service with it is refused before anything is dialled, in a sentence that
    names both, with a remedy."""
    inventory = str(shell.write("inventory.yaml", ONE.replace("SERVICES", "[A, B]")))
    ended = shell(*command, "-i", inventory, *([] if "--all" in command else ["--vpn", "A"]))
    assert ended.code == 2
    assert "the services A and B use the same instance, amps-ny of ny" in ended.err
    assert "list these services as one service, or give each service a separate instance" in ended.err
    assert shell("runs", "list").out == ""


def test_the_lint_of_an_inventory_finds_it(shell: Shell) -> None:
    """Law: it is found on the day, at each site, and not where every service has an instance of its own."""
    shared = str(shell.write("shared.yaml", ONE.replace("SERVICES", "[A, B]")))
    assert shell("inventory", "lint", shared).out.count("shared-instance") == 2
    for text in (ONE.replace("SERVICES", "[A]"), APART):
        assert "shared-instance" not in shell("inventory", "lint", str(shell.write("apart.yaml", text))).out
