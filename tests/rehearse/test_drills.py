"""Drills are plain text that fits any pair; those that come with the product end as their comments say."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from adapters.mock.solace.scene import fitted_fault
from orchestrator.errors import DefinitionError
from orchestrator.operations.rehearsal.drills import drill_file, faults_for
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from tests.cli.shell import Shell

ROOT = Path(__file__).parents[2]
DRILLS = sorted((ROOT / "examples" / "drills").glob("*.txt"))
NODES = {"ny": ("NY1", "NY2"), "nj": ("NJ1",)}
fitted = partial(fitted_fault, sites=NODES)
PAIRS = (
    SiteLayout("ny", ("NY_Appliance1", "NY_Appliance2")),
    SiteLayout("nj", ("NJ_Appliance1", "NJ_Appliance2")),
)


def said(drill: Path, what: str) -> str:
    """What the comment of a drill says after ``Try:`` or ``Unattended:``."""
    found = re.search(rf"^# {what}: +(.*)$", drill.read_text(), re.M)
    assert found is not None
    return found[1]


def rehearse(shell: Shell, drill: Path, *more: str) -> int:
    """Type what the drill suggests, with nobody there."""
    program, *words = shlex.split(said(drill, "Try"))
    assert program == "failover"
    words = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
    return shell(*words, *([] if "--fast" in words else ["--fast"]), "--seed", "11", *more).code


@pytest.mark.parametrize("drill", DRILLS, ids=lambda path: path.stem)
def test_it_ends_as_it_says(shell: Shell, drill: Path) -> None:
    """Law: the suggested command works as it stands, and ends with the exit code that the drill names."""
    wanted = re.match(r"exit code (\d)", said(drill, "Unattended"))
    assert wanted is not None
    assert rehearse(shell, drill) == int(wanted[1])
    assert dict(shell.tally().commands) == {}  # the embedded pair was not even looked at


@pytest.mark.parametrize("drill", DRILLS, ids=lambda path: path.stem)
def test_it_fits_another_pair(shell: Shell, drill: Path) -> None:
    """Law: a drill names no site of its own: it works with other names, with HA pairs, and in the other direction."""
    layout = WorldLayout(PAIRS, (VpnLayout("Orders"),))
    path = shell.inventory(layout, services=["Orders"])
    text = path.read_text().replace('"ny"', '"zurich"').replace('"nj"', '"geneva"')
    for site in ("NY", "NJ"):
        text = text.replace(
            f'[{{"name": "{site}_Appliance1", "router_name": "{site}_Appliance1"}}]',
            f'[{{"name": "{site}1"}}, {{"name": "{site}2"}}]',
        )
    path.write_text(text)
    assert '"NY2"' in text
    wanted = re.match(r"exit code (\d)", said(drill, "Unattended"))
    assert wanted is not None
    assert rehearse(shell, drill, "-i", str(path), "--site", "geneva") == int(wanted[1])


def test_every_drill_is_listed() -> None:
    """Law: the page beside them has a line for each, and no other."""
    page = (ROOT / "examples" / "drills" / "README.md").read_text()
    assert set(re.findall(r"^\| \[([a-z-]+)\]\(\1\.txt\) \|", page, re.M)) == {drill.stem for drill in DRILLS}
    assert len(DRILLS) >= 5


def test_sites_and_nodes() -> None:
    """Law: SOURCE and TARGET are the sites of the run; a line with a star is one for each node."""
    lines = ["at 0s: node SOURCE/* down", "demote: spool full TARGET", "drain: bridge down 5s", "# nothing", ""]
    assert faults_for(lines, fitted) == [
        "at 0s: node ny/NY1 down",
        "at 0s: node ny/NY2 down",
        "demote: spool full nj",
        "drain: bridge down 5s",
    ]
    assert faults_for(["at 0s: node TARGET/* down"], fitted) == ["at 0s: node nj/NJ1 down"]


def test_names_that_only_look_like_it() -> None:
    """Law: a message VPN may be called as it likes."""
    assert faults_for(["drain SOURCES: stall"], fitted) == ["drain SOURCES: stall"]
    assert faults_for(["drain MY_SOURCE: stall"], fitted) == ["drain MY_SOURCE: stall"]


def test_a_mistake_names_its_line(tmp_path: Path) -> None:
    """Law: a file of faults is read to the first mistake, which is named with file and line."""
    path = tmp_path / "own.txt"
    path.write_text("# mine\ndrain: bridge down\nwhenever: nothing\n")
    with pytest.raises(DefinitionError, match=r"own\.txt:3: .*not a fault") as caught:
        faults_for([str(path)], fitted)
    assert caught.value.line == 3


def test_a_drill_of_ones_own(tmp_path: Path) -> None:
    """Law: the path of a file is a drill; a name is one of those that are there, or an error that lists them."""
    path = tmp_path / "own.txt"
    path.write_text("drain: stall\n")
    assert drill_file(str(path)) == path
    assert drill_file("bridge-lost").name == "bridge-lost.txt"
    with pytest.raises(DefinitionError, match="there is no drill 'bridge-losst'") as caught:
        drill_file("bridge-losst")
    assert "bridge-lost" in caught.value.hint
    with pytest.raises(DefinitionError, match="there is no drill"):
        drill_file("../drills/bridge-lost")
