"""A real network between three namespaces: cut during each step, slow, losing packets; over the CLI and over SEMP."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from orchestrator.documents.loader import load_runbook
from tests.network.conftest import SITES, Net
from tests.network.spaces import CUT, LOSSY

pytestmark = pytest.mark.realtime
MOVE = ("--vpn", "V", "--yes", "--json")
PATIENCE_S = 240.0
CUT_S = 0.6

MakeNet = Callable[..., Net]


def long(*values: object) -> ParameterSet:
    """These values are tried by `make proof`; every run tries each way into a site, and each site as the first."""
    return pytest.param(*values, marks=pytest.mark.long)


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What it tells, as it happens; the result comes last."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and what was said on stderr."""
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def moved(net: Net) -> None:
    """Activity is at nj, by the world's own account nothing was lost, and at no time were two sites active."""
    tally = net.tally()
    assert (net.roles(), tally.lost, tally.both_active) == (("standby", "active"), 0, ())


@pytest.mark.parametrize(("way", "first"), [("cli", 0), ("semp", 1), long("cli", 1), long("semp", 0)])
def test_cut_during_each_step(net: MakeNet, way: str, first: int) -> None:
    """Law: a partition that heals costs time and nothing else, whichever step it meets, at the one site and at the
    other: they take turns, and each begins once."""
    here = net(way)
    process = here.failover("controlled", "-i", str(here.inventory), *MOVE)
    steps: list[str] = []
    menders: list[threading.Timer] = []
    for told in events(process):
        step = told.get("event", {}).get("step")
        if told.get("event", {}).get("kind") == "step.started" and step not in steps:
            site = SITES[(len(steps) + first) % 2]
            steps.append(step)
            here.spoil(site, CUT)
            menders.append(threading.Timer(CUT_S, here.heal, [site]))
            menders[-1].start()
    for mender in menders:
        mender.join()
    assert ended(process)[0] == 0
    assert steps == [step.id for step in load_runbook("solace/controlled").steps][: len(steps)]
    assert {"demote", "drain", "activate"} <= set(steps)
    assert all(here.dropped[site] for site in SITES), here.dropped
    moved(here)


@pytest.mark.parametrize("way", ["cli", long("semp")])
def test_slow_and_lossy(net: MakeNet, way: str) -> None:
    """Law: 200 ms there and back and one packet in twenty lost, in each direction: it takes longer, and is done."""
    here = net(way, delay_s=0.1)
    for site in SITES:
        here.spoil(site, LOSSY)
    code, said = ended(here.failover("controlled", "-i", str(here.inventory), *MOVE))
    assert code == 0, said
    for site in SITES:
        here.heal(site)
    assert all(here.dropped[site] for site in SITES), here.dropped
    moved(here)


@pytest.mark.parametrize("way", ["semp", long("cli")])
def test_cut_for_longer_than_anybody_waits(net: MakeNet, way: str) -> None:
    """Law: cut off in the middle it promotes nobody; called to a halt and healed, resume finds the truth and ends it."""
    here = net(way)
    process = here.failover("controlled", "-i", str(here.inventory), *MOVE)
    for told in events(process):
        if told.get("event", {}).get("step") == "drain" and told["event"]["kind"] == "step.started":
            here.spoil("ny", CUT)
            break
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    process.send_signal(signal.SIGTERM)
    code, said = ended(process)
    assert (code, here.roles()[1], here.tally().both_active) == (6, "standby", ()), said
    here.heal("ny")
    assert ended(here.failover("resume"))[0] == 0
    moved(here)


def test_control_a_cut_cable_is_cut(net: MakeNet) -> None:
    """Negative control: while the cable of a site is cut nothing gets there; without it, or healed, it does."""
    here = net("semp")
    assert ended(here.failover("status", "-i", str(here.inventory)))[0] == 0
    here.spoil("ny", CUT)
    begun = here.failover("status", "-i", str(here.inventory))
    with pytest.raises(subprocess.TimeoutExpired):
        begun.wait(1.5)
    here.heal("ny")
    assert ended(begun)[0] in (0, 4)
