"""The runbooks that come with the product: found by name, in a checkout and in an installed wheel."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import typer
from hatchling.build import build_wheel

from orchestrator.cli.main import app
from orchestrator.documents.loader import load_runbook, read_runbook
from orchestrator.documents.shipped import generic_named, shipped_runbooks
from orchestrator.errors import DefinitionError
from orchestrator.model.families import known_families
from orchestrator.model.runbook import Runbook, Step
from orchestrator.operations.declared_families import offer_families
from orchestrator.operations.procedure import step_lines
from orchestrator.reports.remedies import resumes
from tests.shipped import RUNBOOKS, late_conditions, says_what_to_do, silent_late_conditions, undo_conditions

ROOT = Path(__file__).parents[2]

# Shown in the heading of a step; and how often and how patiently something is read.
UNSAID = frozenset(
    {"id", "title", "point_of_no_return", "progress", "poll", "within", "patience", "settle", "max_age", "attempts"}
)


@pytest.fixture(autouse=True)
def families() -> None:
    """Those in files are known."""
    offer_families()


def test_all_of_them_are_seen() -> None:
    """Law: the tests that walk through the shipped runbooks see what the program knows; only those made of facets have no
    file."""
    made = set(shipped_runbooks()) - set(RUNBOOKS)
    assert set(RUNBOOKS) <= set(shipped_runbooks())
    assert all(generic_named(name) is not None for name in made)
    assert {name.partition("/")[0] for name in RUNBOOKS} >= {
        "amps",
        "nats",
        "postgresql",
        "rabbitmq",
        "redis",
        "solace",
    }


@pytest.mark.parametrize("name", RUNBOOKS)
def test_every_shipped_runbook_loads_under_its_name(name: str) -> None:
    """Law: a shipped runbook is free of mistakes, and calls itself what its place says."""
    definition = read_runbook(name)
    assert definition.findings == ()
    assert load_runbook(name).runbook == name
    assert load_runbook(ROOT / "runbooks" / f"{name}.yaml") == load_runbook(name)


def test_an_unknown_name_is_answered_with_the_closest() -> None:
    """Law: a slip in the name of a shipped runbook is a DefinitionError with what there is."""
    with pytest.raises(DefinitionError, match="no shipped runbook is called solace/controled") as caught:
        load_runbook("solace/controled")
    assert "did you mean solace/controlled?" in caught.value.hint


@pytest.mark.parametrize("name", ["../runbooks/x", "solace/../x", "/etc/passwd", "solace\\x", "Solace/Controlled"])
def test_a_name_never_leads_out_of_the_folder(name: str) -> None:
    """Law: what does not look like a runbook's name is the name of a file, and is read as one or not at all."""
    with pytest.raises(DefinitionError):
        load_runbook(name)


def test_a_folder_of_the_same_name_does_not_replace_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: neither the working directory nor the import path can slip in another procedure."""
    (tmp_path / "runbooks/solace").mkdir(parents=True)
    (tmp_path / "runbooks/solace/controlled.yaml").write_text("nonsense")
    (tmp_path / "runbooks/__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_runbook("solace/controlled").runbook == "solace/controlled"


@pytest.mark.realtime
def test_an_installed_wheel_has_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: the wheel carries runbooks and schemas, and finds them beside its own packages."""
    monkeypatch.chdir(ROOT)
    site = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        wheel.extractall(site)
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from orchestrator.documents import loader, shipped; from orchestrator import schemas\n"
        "print(loader.__file__, *shipped.shipped_runbooks(), loader.load_runbook('solace/controlled').runbook)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    file, *names, loaded = done.stdout.split()
    assert Path(file).is_relative_to(site)
    assert names == [name for name in shipped_runbooks() if name.startswith(("amps/", "solace/"))]
    assert loaded == "solace/controlled"
    assert (site / "orchestrator/schemas/runbook.schema.json").is_file()


@pytest.mark.parametrize("name", RUNBOOKS)
def test_a_procedure_in_words_leaves_nothing_out(name: str) -> None:
    """Law: what is shown to those who read or approve a runbook changes with everything that a step checks, does, asks,
    lists, reports or leaves behind."""
    for step in load_runbook(name).steps:
        shown = list(step_lines(step))
        for field, default in Step.model_fields.items():
            if field in UNSAID or getattr(step, field) == default.get_default(call_default_factory=True):
                continue
            without = step.model_copy(update={field: default.get_default(call_default_factory=True)})
            assert list(step_lines(without)) != shown, f"{name}, {step.id}: {field} is not shown"


def every_runbook() -> list[Runbook]:
    """Those in files, those of families in files, and those that are made from facets."""
    names = shipped_runbooks()
    assert set(names) > set(RUNBOOKS)
    return [load_runbook(name) for name in names]


def test_each_refusal_names_its_remedy() -> None:
    """Law: a condition that refuses a service, because nothing was changed before it, says what an operator does. This
    holds for the runbooks that are made from facets too."""
    without = []
    for runbook in every_runbook():
        for step in runbook.steps:
            for check in (*step.require, *step.until, *step.never):
                if not says_what_to_do(check):
                    without.append(f"{runbook.runbook}, {step.id}: {check.say or check.reading}")
            if step.do is not None:
                break
    assert not without


def test_each_stop_half_way_names_its_remedy() -> None:
    """Law: a condition that stops a rollback, or a run that only goes forward, says what an operator does at the devices
    and with the run."""
    runbooks = every_runbook()
    assert {runbook.family for runbook in runbooks if any(late_conditions(runbook))} == {*known_families()}
    assert [one for runbook in runbooks for one in silent_late_conditions(runbook)] == []


def test_a_remedy_of_a_rollback_says_how_the_run_continues() -> None:
    """Law: after a rollback that cannot continue, an operator knows the command for the run."""
    undos = [check for runbook in every_runbook() for _, check in undo_conditions(runbook)]
    assert undos
    assert [check.remedy for check in undos if not resumes(check.remedy)] == []


def test_the_commands_of_a_remedy_can_be_typed() -> None:
    """Law: a remedy names commands with their options, and no command that the program lacks. The words for the names are
    those that are replaced."""
    texts = {
        check.remedy
        for runbook in every_runbook()
        for step in runbook.steps
        for check in (*step.checks, *(() if step.undo is None else step.undo.require))
        if check.remedy
    }
    for text in texts:
        for command in re.findall(r"`(failover [^`]*)`", text):
            _, *words = shlex.split(command)
            found: Any = typer.main.get_command(app)
            while hasattr(found, "commands"):
                found = found.commands[words.pop(0)]
            if words:  # without arguments it is only the name of a command
                found.make_context("failover", words)
