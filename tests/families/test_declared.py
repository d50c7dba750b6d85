"""A family that one file beside the inventory declares goes through the commands."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from orchestrator.model.installed import installed
from orchestrator.model.readings import clashes
from orchestrator.operations.declared_families import offer_families
from tests.families.declared import Counters

pytestmark = pytest.mark.realtime


@pytest.fixture
def counters(tmp_path: Path) -> Counters:
    """The pair, with ny counting."""
    return Counters.make(tmp_path)


def test_it_is_moved(counters: Counters) -> None:
    """Law: dry run, move, status and record work by the file alone; the dry run shows the words that the move sends."""
    code, text = counters.run("controlled", "--service", "one", "--dry-run")
    assert code == 0, text
    assert f"{counters.folder}/ny.json gated" in text
    assert counters.role("ny") == "primary"
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert code == 0, text
    assert (counters.role("ny"), counters.role("nj")) == ("gated", "primary")
    code, text = counters.run("status")
    assert code == 0, text
    code, text = counters.run("runs", "show")
    assert (code, "counter/controlled" in text) == (0, True), text
    code, text = counters.run("family", "test", "counter", "--inventory", str(counters.folder / "inventory.yaml"))
    assert (code, "0 broken, 0 not checked" in text) == (0, True), text


@pytest.mark.parametrize(("code", "word"), [(3, "refused"), (7, "7")])
def test_an_action_that_fails(counters: Counters, code: int, word: str) -> None:
    """Law: an exit code that the file calls refused was not obeyed; any other one is doubt, and the role is read."""
    counters.write("nj", state={"role": "copy"}, linked=True, code=code)
    ended, text = counters.run("controlled", "--service", "one", "--yes")
    assert ended in (5, 6, 7), text
    assert word in text
    assert counters.role("nj") == "copy"


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("", "not JSON"),
        ('{"state": {}, "linked": true}', "unknown"),
        ('{"state": {"role": 4}, "linked": 5}', "neither true"),
    ],
)
def test_an_answer_that_says_nothing(counters: Counters, state: str, sentence: str) -> None:
    """Law: half an answer is unknown, and a move is refused with a sentence before anything changes."""
    (counters.folder / "nj.json").write_text(state)
    code, text = counters.run("status")
    assert code == 4, text
    code, text = counters.run("controlled", "--service", "one", "--dry-run")
    assert code == 3, text
    assert sentence in text
    assert counters.role("ny") == "primary"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("file: ", "fiel: ", "fiel is not known"),
        ("options: {file: ", "options: {programs: 3, file: ", "twice"),
        ("adapter: counter", "adapter: countr", "no adapter is called 'countr'"),
    ],
)
def test_a_site_that_does_not_fit(counters: Counters, old: str, new: str, sentence: str) -> None:
    """Law: an inventory that does not fit the family is refused with the name of what is wrong."""
    path = counters.folder / "inventory.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    code, text = counters.run("status")
    assert code == 2, text
    assert sentence in text


def test_a_family_file_with_a_mistake(counters: Counters) -> None:
    """Law: a mistake in the file is told by the command that needs it, with its line, and `family list` exits with 4."""
    path = counters.folder / "families/counter.yaml"
    path.write_text(path.read_text().replace("facet: backlog", "facet: backlogs"))
    code, text = counters.run("status")
    assert code == 2, text
    code, text = counters.run("--family", str(path), "family", "list")
    assert (code, "counter.yaml" in text) == (4, True), text
    code, text = counters.run("--family", "nowhere.yaml", "family", "list")
    assert (code, "there is no family file nowhere.yaml" in text) == (2, True), text


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_a_run_has_its_family_with_it(counters: Counters, change: str) -> None:
    """Law: a run that was stopped is resumed, shown and verified by the family as it was when the run began, whatever
    became of the file."""
    counters.write("nj", state={"role": "copy"}, linked=True, wait=4)
    process = counters.start("controlled", "--service", "one", "--yes")
    until = time.monotonic() + 60
    while counters.role("ny") == "primary" and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert (counters.role("ny"), counters.role("nj")) == ("gated", "copy")
    counters.write("nj", state={"role": "copy"}, linked=True)
    file = counters.folder / "families/counter.yaml"
    if change == "gone":
        shutil.rmtree(counters.folder / "families")
    else:
        file.write_text(file.read_text().replace("- primary\n", "- another\n"))
        assert "- another\n" in file.read_text()
    code, text = counters.run("resume")
    assert code == 0, text
    assert (counters.role("ny"), counters.role("nj")) == ("gated", "primary")
    code, text = counters.run("runs", "show")
    assert (code, "counter/controlled" in text) == (0, True), text
    code, text = counters.run("runs", "verify")
    assert code == 0, text


def test_a_reading_with_the_name_of_another_family_s(counters: Counters) -> None:
    """Law: a family file that would be in the way of another family is not used, and says why; the other one works."""
    file = counters.folder / "families/counter.yaml"
    file.write_text(file.read_text().replace("readings:\n  counter:", "readings:\n  links:"))
    code, text = counters.run("family", "lint", str(file))
    assert (code, "its reading links has the name of one of amps" in text) == (4, True), text
    code, text = counters.run("controlled", "--service", "one", "--dry-run")
    assert (code, "its reading links has the name of one of amps" in text) == (2, True), text
    code, text = counters.run("runbook", "lint", "amps/controlled")
    assert code == 0, text


def test_no_shipped_family_is_in_the_way_of_another() -> None:
    """Law: every family that comes with the program can be used, and no two have a reading of one name."""
    offer_families()
    assert installed().problems == {}
    assert {"amps", "solace", "postgresql", "rabbitmq", "redis"} <= set(installed().families)
    assert clashes() == {}
