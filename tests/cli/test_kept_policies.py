"""An approval policy that a service had is not dropped by another inventory over the same devices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.office import Office
from tests.cli.shell import Shell

RISK = ("--vpn", "Risk_VPN")


@pytest.fixture
def office(shell: Shell) -> Office:
    """A machine without a policy of its own: this is about inventories."""
    return Office(shell)


def inventory(office: Office, name: str, **approval: Any) -> tuple[str, ...]:
    """Over the embedded pair, with this policy, if any."""
    shell = office.shell
    office.tools("ann")
    shell.world().close()
    path = shell.inventory(name=name)
    plain = json.loads(path.read_text())
    for site in plain["sites"].values():
        site["options"]["world"] = str(shell.world_file)
    plain["pairs"][0]["services"] = list(shell.tools().inventory(None).pairs[0].services)
    if approval:
        plain["pairs"][0]["approval"] = approval
    path.write_text(json.dumps(plain))
    return ("-i", str(path))


def needed(office: Office, *arguments: str) -> int:
    ended = office.does("ann", *arguments, "--dry-run", "--json")
    assert ended.code in (0, 3), ended.err
    return int(ended.result["approvals_needed"])


def run(office: Office, *arguments: str, approve: tuple[str, ...] = ()) -> int:
    deeds = [lambda name=name: office.does(name, "approve", "--yes") for name in approve]
    return office.does("ann", "controlled", *arguments, "--yes", "--approve-within", "5m", meanwhile=deeds).code


def test_another_inventory_does_not_drop_it(office: Office) -> None:
    """Law (S3): what a service had once holds for it, by its devices, in every inventory, also in none; the plan says
    that it is not this inventory's; other services have nothing to do with it."""
    strict = inventory(office, "strict.yaml", needed=2, break_glass=False)
    own = inventory(office, "own.yaml")
    assert needed(office, "controlled", *RISK, *own) == 0
    assert run(office, *RISK, *strict) == 3
    assert needed(office, "controlled", *RISK, *own) == 2
    assert needed(office, "controlled", *RISK) == 2
    assert needed(office, "controlled", "--vpn", "Trading_VPN", *own) == 0
    said = office.does("ann", "controlled", *RISK, *own, "--dry-run").out
    assert "had an approval policy that this inventory does not have; 2 people have to agree" in said
    assert run(office, *RISK, *own) == 3
    refused = office.does("ann", "controlled", *RISK, *own, "--yes", "--break-glass", "hurry")
    assert (refused.code, "does not allow" in refused.complaint) == (2, True)


def test_people_agree_to_a_weaker_one(office: Office) -> None:
    """Law: a policy is weakened by a run that was approved under the one before, and by nothing else."""
    assert run(office, *RISK, *inventory(office, "strict.yaml", needed=2)) == 3
    weaker = inventory(office, "weaker.yaml", needed=1)
    assert needed(office, "controlled", *RISK, *weaker) == 2
    assert run(office, *RISK, *weaker, approve=("bob",)) == 3
    assert needed(office, "controlled", *RISK, *weaker) == 2
    assert run(office, *RISK, *weaker, approve=("bob", "carol")) == 0
    assert needed(office, "controlled", *RISK, "--from", "nj", *weaker) == 1
    none = inventory(office, "none.yaml")
    assert run(office, *RISK, "--from", "nj", *none, approve=("bob",)) in (0, 3)  # the bridge may not be up yet
    assert needed(office, "controlled", *RISK, *none) == 0


def test_broken_glass_weakens_nothing(office: Office) -> None:
    """Law: who begins alone changes nothing for the next one."""
    assert run(office, *RISK, *inventory(office, "strict.yaml", needed=1)) == 3
    own = inventory(office, "own.yaml")
    assert run(office, *RISK, *own, "--break-glass", "nobody can be reached") == 0
    assert needed(office, "controlled", *RISK, "--from", "nj", *own) == 1


def test_it_holds_for_its_commands(office: Office) -> None:
    """Law: what was asked for some commands is kept for these."""
    assert run(office, *RISK, *inventory(office, "strict.yaml", needed=1, commands=["controlled"])) == 3
    own = inventory(office, "own.yaml")
    assert needed(office, "restore", "--site", "nj", *RISK, *own) == 0
    assert needed(office, "controlled", *RISK, *own) == 1


def test_a_rehearsal_keeps_nothing(office: Office) -> None:
    """Law: what is only played leaves no policy behind."""
    strict = inventory(office, "strict.yaml", needed=2)
    assert office.does("ann", "rehearse", "controlled", *RISK, *strict, "--fast", "--yes").code == 0
    assert needed(office, "controlled", *RISK, *inventory(office, "own.yaml")) == 0


def test_very_many_services(office: Office) -> None:
    """Law: asking for the policies of all services of a run is one question to the journal."""
    assert run(office, "--all", *inventory(office, "strict.yaml", needed=1)) == 3
    assert needed(office, "controlled", "--all", *inventory(office, "own.yaml")) == 1
