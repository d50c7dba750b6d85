"""docs/how-to/first-contact.md: its commands are those that are typed, its words those of the program."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import typer

from adapters.solace.adapter import SolaceCliAdapter
from orchestrator.cli.main import app
from orchestrator.operations.pairs.explanation import CANNOT
from orchestrator.reports.unknowns import Verdict
from tests.solace.replay import documents, load

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/first-contact.md").read_text("utf-8")


def section(heading: str) -> str:
    """The text below a heading."""
    return PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_the_commands_are_those_that_are_typed() -> None:
    """Law: each reading of the CLI has its row, with every line in its order, and those that may follow."""
    rows = [line.split("|")[1:-1] for line in section("The commands").splitlines() if line.startswith("| `")]
    shown = {
        re.findall(r"`([^`]+)`", name)[0]: tuple(re.findall(r"`([^`]+)`", cell) for cell in (typed, perhaps))
        for name, typed, perhaps in rows
    }
    declared = {
        name: (list(spec.commands(["V"])), list(spec.perhaps(["V"])))
        for name, spec in SolaceCliAdapter.readings.items()
    }
    assert shown == declared


def test_the_results_are_those_of_the_table() -> None:
    """Law: every result that the table may have is told, and no other."""
    told = re.findall(r"^   \| `([^`]+)` \|", section("Six steps"), re.M)
    assert [one.removesuffix(": … unknown") for one in told] == [*get_args(Verdict), CANNOT]


def test_the_examples_are_understood() -> None:
    """Law: each command of the page names a command that there is, with options that it takes."""
    lines = re.findall(r"^ *(failover .*)$", PAGE, re.M)
    assert len(lines) == 2
    for line in lines:
        _, name, *words = shlex.split(line)
        command: Any = typer.main.get_command(app)
        command.commands[name].make_context("failover", words)


def test_every_key_of_the_file_is_told() -> None:
    """Law: what the samples hold is in the page's table of keys."""
    table = section("The file")
    found: set[str] = set()
    for file in documents(ROOT / "adapters" / "solace" / "samples"):
        document = load(file)
        found |= set(document)
        for site in document["sites"]:
            found |= set(site)
            for one in site["readings"]:
                found |= set(one) | {key for heard in one["exchanges"] for key in heard}
                found |= {key for answer in one["answers"] for key in answer}
    assert {key for key in found if not re.search(rf"(?<![\w]){key}(?![\w])", table)} == set()


def test_the_page_is_linked() -> None:
    """Law: README.md, the page of the adapter, the tutorial and the page of checks link to it."""
    for page in ("README.md", "docs/systems/solace.md", "docs/tutorial/lab.md", "docs/how-to/observe.md"):
        assert "first-contact.md" in (ROOT / page).read_text("utf-8"), page
