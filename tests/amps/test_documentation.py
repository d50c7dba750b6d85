"""The documentation has every check, rule, assumption and option, as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from orchestrator.cli.main import app
from validator.output.reference import sections

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/amps-validation.md"


@pytest.mark.parametrize("name", sections())
def test_the_generated_tables_are_up_to_date(name: str) -> None:
    """What stands between the markers is what the code says now."""
    text = PAGE.read_text()
    found = re.search(rf"<!-- begin: {name} -->\n(.*?)\n<!-- end: {name} -->", text, re.DOTALL)
    assert found is not None, f"no section called {name}"
    assert found.group(1).strip() == sections()[name]


def test_every_option_of_the_command_is_documented() -> None:
    """The page names each option of ``failover validate``, and no other."""
    command = get_command(app).commands["validate"]  # type: ignore[attr-defined]
    options = {max(parameter.opts, key=len) for parameter in command.params if parameter.opts[0].startswith("-")}
    named = set(re.findall(r"`(--[a-z-]+)", PAGE.read_text()))
    assert named == options - {"--help"}


def test_the_hook_is_one_that_pre_commit_accepts() -> None:
    """The keys pre-commit requires; the whole set of files is looked at, whatever changed."""
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["entry"] == "failover validate"
    assert (hook["language"], hook["pass_filenames"], hook["require_serial"]) == ("python", False, True)
    assert re.search(hook["files"], "config/amps/nyc-1.xml")
