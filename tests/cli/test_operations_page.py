"""docs/operations.md tells of every command, option, exit code and outcome; its examples are what the program takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
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

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
ROOT = typer.main.get_command(app)
SECTIONS = {
    found[1]: found[2] for found in re.finditer(r"^### `(failover [^`]+)`\n(.*?)(?=^##|\Z)", PAGE + "\n", re.M | re.S)
}
EXAMPLES = [
    line.split("#")[0].strip() if "# " in line else line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    for line in block.splitlines()
]


def commands(group: Any = ROOT, path: tuple[str, ...] = ("failover",)) -> Iterator[tuple[str, Any]]:
    """Every command with its whole name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())


def options_of(name: str) -> list[Any]:
    """Those of families too, which a command has once it is parsed."""
    return list(COMMANDS[name].get_params(typer.Context(COMMANDS[name])))


def test_every_command_has_its_section() -> None:
    """Law: the page has a section for each command, and none for a command that is not there."""
    assert set(SECTIONS) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_told(name: str) -> None:
    """Law: each option stands in the section of its command; its short form, at least where it is explained."""
    options = [one for one in options_of(name) if one.opts[0].startswith("-") and "--help" not in one.opts]
    told, somewhere = (set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text)) for text in (SECTIONS[name], PAGE))
    assert [one.opts for one in options if max(one.opts, key=len) not in told] == []
    assert {form for one in options for form in one.opts} - somewhere == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_section_has_an_example_and_the_exit_codes(name: str) -> None:
    """Law: no command without an example of it and its exit codes, all of them documented ones."""
    assert re.search(rf"^{name}\b", SECTIONS[name], re.M)
    line = re.search(r"Exit codes: ([^`]*)", SECTIONS[name])
    assert line is not None
    documented = set(re.findall(r"^\| (\d+) \|", PAGE, re.M))
    assert set(re.findall(r"\b\d\b", line[1])) <= documented


def is_understood(example: str) -> None:
    """It names a command that there is, with options that it takes."""
    program, *words = shlex.split(re.split(r" [|>] ", example)[0])
    assert program == "failover"
    command: Any = ROOT
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context("failover", words)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_understood(example: str) -> None:
    """Law: every command line of the page is one that the program takes: command, options, and their values."""
    is_understood(example)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_of_its_command(name: str) -> None:
    """Law: so does each command's own help; what stands behind two blanks is a remark."""
    examples = re.findall(r"^ *(failover .*?)(?:  .*)?$", COMMANDS[name].help, re.M)
    assert any(example.startswith(name) for example in examples)
    for example in examples:
        is_understood(example)


def test_every_exit_code_is_told() -> None:
    """Law: the page, the help and the program have the same exit codes."""
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.M)}
    raised = {
        error.exit_code for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "exit_code")
    }
    ends = {*report.EXIT_CODES.values(), report.UNFINISHED_EXIT_CODE}
    assert told == raised | ends | {0, 4, NOT_ABORTED_EXIT_CODE}
    assert told == {int(code) for code in re.findall(r"\b(\d+) ", EXIT_CODES)}


def test_the_readme_has_the_same_exit_codes() -> None:
    """Law: its table has every exit code of the page, and no other."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", readme, re.M) == re.findall(r"^\| (\d+) \|", PAGE, re.M)


def test_every_outcome_is_told_in_order() -> None:
    """Law: each way a service can end has its line, and the order from best to worst is the program's."""
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE.split("## How a service ends")[1].split("## ")[0], re.M)) == {
        str(outcome) for outcome in Outcome
    }
    order = re.search(r"from best to worst: ([^.]+)\.", PAGE.replace("\n", " "))
    assert order is not None
    assert order[1].split(", ") == [str(outcome) for outcome in SEVERITY]


def test_every_variable_is_told() -> None:
    """Law: the environment variables of the page are those that the program reads."""
    own = {value for name, value in vars(wiring).items() if name.endswith("_VARIABLE")}
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.M))
    assert told == own | {"FAILOVER_TRACEBACK", "NO_COLOR"}


def test_help_names_every_answer_to_a_question() -> None:
    """Law: whatever a runbook or its failure may ask, the help of ``decide`` has the word for it."""
    choice = next(one for one in COMMANDS["failover decide"].params if one.name == "choice")
    assert set(get_args(Choice)) - set(re.findall(r"[a-z]+", choice.help)) == set()


def test_help_has_an_example_where_there_is_something_to_choose() -> None:
    """Law: the examples of `-h` are commands too."""
    for name, command in COMMANDS.items():
        for line in re.findall(r"^ +(failover .*)$", str(command.help), re.M):
            program, *words = shlex.split(re.split(r" [|>] |  +", line)[0])
            found: Any = ROOT
            while hasattr(found, "commands"):
                found = found.commands[words.pop(0)]
            found.make_context(program, words), name


def test_control_the_page_would_be_caught() -> None:
    """Negative control: an option or a command that is not there is found."""
    with pytest.raises(Exception, match="no-such-option"):
        test_examples_are_understood("failover status --no-such-option")
    with pytest.raises(KeyError):
        test_examples_are_understood("failover no-such-command")
