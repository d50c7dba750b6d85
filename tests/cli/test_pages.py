"""The pages of docs/ are true: the program accepts their commands, and has the codes, outcomes and variables they name.
The reference that is generated has every command and option."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from orchestrator import errors
from orchestrator.cli.main import EXIT_CODES, app
from orchestrator.core.run import SEVERITY
from orchestrator.model.plan import Outcome
from orchestrator.model.runbook import Choice
from orchestrator.operations import runtime as wiring
from orchestrator.reports import report
from orchestrator.reports.abort import NOT_ABORTED_EXIT_CODE

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = {
    str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8")
    for path in (REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md")))
}
OUTCOMES = PAGES["docs/reference/outcomes.md"]
ROOT = typer.main.get_command(app)
_BLOCK = re.compile(r"^ *```(sh|console|text)?\n(.*?)^ *```", re.M | re.S)
# Lines at most; a page with more has two subjects.
LONGEST = 320


def commands(group: Any = ROOT, path: tuple[str, ...] = ("failover",)) -> Iterator[tuple[str, Any]]:
    """Every command with its whole name; an alias is not one of its own."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())


def typed(page: str, *kinds: str) -> list[str]:
    """The lines of ``failover`` in the blocks of a page."""
    lines = [
        line.strip() for kind, block in _BLOCK.findall(PAGES[page]) if kind in kinds for line in block.splitlines()
    ]
    return [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("failover ")]


def words_of(line: str) -> list[str]:
    """A line as the shell splits it; what is behind ``#``, ``|`` or ``>`` is not of the command."""
    program, *words = shlex.split(re.split(r" [|>] ", line)[0], comments=True)
    assert program == "failover"
    return words


def is_understood(example: str) -> None:
    """It names a command that there is, with options that it takes."""
    words = words_of(example)
    command: Any = ROOT
    if words[0] == "--family":
        words = words[2:]
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        command = command.commands[words.pop(0)]
    if not hasattr(command, "commands") and "…" not in words:
        command.make_context("failover", words)


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page, "sh", "console", "text", "")])
def test_examples_are_understood(page: str) -> None:
    """Law: the program accepts every command line of a page: command, options, and their values."""
    for example in typed(page, "sh", "console", "text", ""):
        is_understood(example)


@pytest.mark.realtime
@pytest.mark.parametrize("page", [page for page in PAGES if typed(page, "console")])
def test_a_page_of_commands_runs(page: str, tmp_path: Path) -> None:
    """Law: the commands of a page that shows a prompt run, in their order, with the exit codes that the page says."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FAILOVER_STATE": str(tmp_path / "state")}
    environment |= {"PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"}
    for line in typed(page, "console"):
        expected = re.search(r"# exit code (\d+)", line)
        words = [sys.executable, "-m", "orchestrator.cli", *words_of(line)]
        ended = subprocess.run(
            words,
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == (int(expected[1]) if expected else 0), (line, ended.stdout, ended.stderr)


def test_no_page_has_two_subjects() -> None:
    """Law: a page that is too long has two subjects. Pages of sources quote what they are taken from."""
    long = {page: text.count("\n") for page, text in PAGES.items() if not page.startswith("docs/sources/")}
    assert {page: lines for page, lines in long.items() if lines > LONGEST} == {}


@cache
def generated() -> dict[str, str]:
    """The pages that come from the code, by path."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.pages())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_every_option(name: str) -> None:
    """Law: the page of a command has each of its options in every form, and those of families too."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    page = generated()[f"reference/commands/{name.split()[1]}.md"]
    options = [one for one in COMMANDS[name].get_params(typer.Context(COMMANDS[name])) if not one.hidden]
    forms = {form for one in options if one.opts[0].startswith("-") for form in one.opts}
    assert {form for form in forms if f"`{form}`" not in page} == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_of_its_command(name: str) -> None:
    """Law: each command has an example in its help; what is behind two blanks is a remark."""
    examples = re.findall(r"^ *(failover .*?)(?:  .*)?$", COMMANDS[name].help, re.M)
    assert any(example.startswith(name) for example in examples)
    for example in examples:
        is_understood(example)


def test_every_exit_code_is_documented() -> None:
    """Law: the page, the README, the help and the program have the same exit codes."""
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", OUTCOMES, re.M)}
    raised = {
        error.exit_code for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "exit_code")
    }
    ends = {*report.EXIT_CODES.values(), report.UNFINISHED_EXIT_CODE}
    assert told == raised | ends | {0, 4, NOT_ABORTED_EXIT_CODE}
    assert told == {int(code) for code in re.findall(r"\b(\d+) ", EXIT_CODES)}
    assert told == {int(code) for code in re.findall(r"^\| (\d+) \|", PAGES["README.md"], re.M)}


def test_every_outcome_is_documented_in_order() -> None:
    """Law: each way in which a service can end has its line, and the order from best to worst is the program's."""
    told = re.findall(r"^\| `([a-z-]+)` \|", OUTCOMES.split("## How a service ends")[1].split("## ")[0], re.M)
    assert set(told) == {str(outcome) for outcome in Outcome}
    order = re.search(r"from best to worst: ([^.]+)\.", OUTCOMES.replace("\n", " "))
    assert order is not None
    assert order[1].split(", ") == [str(outcome) for outcome in SEVERITY]


def test_every_variable_is_documented() -> None:
    """Law: the environment variables of the page are those that the program reads."""
    own = {value for name, value in vars(wiring).items() if name.endswith("_VARIABLE")}
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGES["docs/reference/environment.md"], re.M))
    assert told == own | {"FAILOVER_TRACEBACK", "FAILOVER_FAMILIES", "NO_COLOR"}


def test_help_names_every_answer_to_a_question() -> None:
    """Law: whatever a runbook or its failure may ask, the help of ``decide`` has the word for it."""
    choice = next(one for one in COMMANDS["failover decide"].params if one.name == "choice")
    assert set(get_args(Choice)) - set(re.findall(r"[a-z]+", choice.help)) == set()


def test_the_glossary_is_short() -> None:
    """Law: at most 25 terms are ours."""
    assert len(re.findall(r"^\| (?!term|---)", PAGES["docs/glossary.md"], re.M)) <= 25


def test_control_a_false_page_would_be_caught() -> None:
    """Negative control: an option or a command that is not there is found."""
    with pytest.raises(Exception, match="no-such-option"):
        is_understood("failover status --no-such-option")
    with pytest.raises(KeyError):
        is_understood("failover no-such-command")
