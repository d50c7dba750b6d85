"""A family that one file beside the inventory declares goes through the commands."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from orchestrator.model.families import family_called, known_families
from orchestrator.model.installed import installed
from orchestrator.model.readings import clashes
from orchestrator.operations.declared_families import findings_of_file, new_family_file, offer_families
from tests.families.declared import Counters

pytestmark = pytest.mark.realtime


@pytest.fixture
def counters(tmp_path: Path) -> Counters:
    """The pair, with ny counting."""
    return Counters.make(tmp_path)


def test_it_is_moved(counters: Counters) -> None:
    """Law: dry run, move, status and record work by the file alone; the dry run shows the words that the move sends, and
    the wire log has them with the answers."""
    code, text = counters.run("controlled", "--service", "one", "--dry-run")
    assert code == 0, text
    assert f"{counters.folder}/ny.json gated" in text
    assert counters.role("ny") == "primary"
    log = counters.folder / "wire.log"
    code, text = counters.run("controlled", "--service", "one", "--yes", "-v", "--log-file", str(log))
    assert code == 0, text
    assert (counters.role("ny"), counters.role("nj")) == ("gated", "primary")
    assert f"> cat {counters.folder}/ny.json: 1 line (" in text
    assert f"{counters.folder}/ny.json gated: 0 lines (" in log.read_text()
    assert '"role": "gated"' in log.read_text()
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


@pytest.mark.parametrize("name", ["links", "database"])
def test_a_reading_with_the_name_of_another_family_s(counters: Counters, name: str) -> None:
    """Law: a family file names its readings freely: a move with the name of a reading of AMPS, or of another file, is
    done and is told from the record, and the other family works as before."""
    file = counters.folder / "families/counter.yaml"
    file.write_text(file.read_text().replace("readings:\n  counter:", f"readings:\n  {name}:"))
    for runbook in (counters.folder / "families/counter").glob("*.yaml"):
        runbook.write_text(runbook.read_text().replace("reading: counter", f"reading: {name}"))
    code, text = counters.run("family", "lint", str(file))
    assert code == 0, text
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert code == 0, text
    assert (counters.role("ny"), counters.role("nj")) == ("gated", "primary")
    code, text = counters.run("runs", "show")
    assert (code, "counter/controlled" in text) == (0, True), text
    for other in ("amps/controlled", "postgresql/controlled"):
        code, text = counters.run("runbook", "lint", other)
        assert code == 0, text


def test_two_families_from_the_template(counters: Counters) -> None:
    """Law: two files that `family new` began may be used together, also while both have the readings of the template."""
    for name in ("one-more", "another"):
        code, text = counters.run("family", "new", name)
        assert code == 0, text
        (counters.folder / f"families/{name}.yaml").write_text(text)
    code, text = counters.run("family", "list")
    assert (code, "one-more" in text, "another" in text) == (0, True, True), text


def test_what_the_file_alone_cannot_tell(tmp_path: Path) -> None:
    """Law: lint warns of a name that another family has, of a driver that this machine lacks, and of a move that neither
    the file nor a runbook beside it gives; a file that gives everything has no warning."""
    offer_families()
    path = tmp_path / "own.yaml"

    def warned(*changes: tuple[str, str]) -> dict[str, str]:
        text = new_family_file("own")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
        return {one.code: one.message for one in findings_of_file(path)}

    assert warned() == {}
    assert set(warned(("family: own", "family: redis"))) == {"family-taken"}
    assert set(warned(("family: own", "family: solace"))) == {"family-taken"}
    driver = ("  exec: {path", "  sql: {driver: postgresql+nosuch, database: x}\n  exec: {path")
    assert set(warned(driver)) == {"no-driver"}
    assert "own has no runbook controlled" in warned((", facet: link}", "}"))["no-runbook"]
    assert {one.name for one in map(family_called, known_families()) if one is not None} == set(known_families())
    assert family_called("own") is None


def test_no_shipped_family_is_in_the_way_of_another() -> None:
    """Law: every family that comes with the program can be used, and no two readings have one kind."""
    offer_families()
    assert installed().problems == {}
    assert {"amps", "nats", "solace", "postgresql", "rabbitmq", "redis"} <= set(installed().families)
    assert clashes() == {}


def test_an_inventory_is_checked_with_the_families_beside_it(tmp_path: Path) -> None:
    """Law: the folder beside an inventory counts where the file is named, too; what is wrong with a family file there is
    said, not that there is no such family."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here, there = Counters.make(tmp_path / "here"), Counters.make(tmp_path / "there")
    shutil.rmtree(here.folder / "families")
    named = str(there.folder / "inventory.yaml")
    code, text = here.run("inventory", "lint", named)
    assert code == 0, text
    file = there.folder / "families/counter.yaml"
    file.write_text(file.read_text().replace("summary:", "sumary:", 1))
    code, text = here.run("inventory", "lint", named)
    assert (code, "counter.yaml cannot be used" in text, "unknown key sumary" in text) == (4, True, True), text
