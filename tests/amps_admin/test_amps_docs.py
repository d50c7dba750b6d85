"""docs/systems/amps.md tells of every runbook, option and assumption; its inventory can be used as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adapters.amps.adapter import AmpsAdminAdapter
from adapters.amps.options import AdminAssumptions, AmpsOptions, ServiceOptions, options_of
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import load_runbook, read_runbook
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.family.reachability import with_made_readings
from orchestrator.model.inventory import Site

PAGE = (Path(__file__).parents[2] / "docs/systems/amps.md").read_text(encoding="utf-8")
RUNBOOKS = [name for name in shipped_runbooks() if name.startswith("amps/")]


def test_everything_is_told() -> None:
    """Law: no runbook, option or assumption without its line."""
    fields = [*AmpsOptions.model_fields, *ServiceOptions.model_fields, *AdminAssumptions.model_fields]
    assert [name for name in (*RUNBOOKS, *fields) if f"`{name}`" not in PAGE] == []


def test_the_defaults_are_those_of_the_program() -> None:
    """Law: what the page says an assumption is, it is."""
    told = dict(re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", PAGE, re.M))
    assert told == {name: str(value).lower() for name, value in AdminAssumptions().model_dump().items()}


def test_the_examples_load() -> None:
    """Law: the options shown are options."""
    import yaml

    texts = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    password, ticket = (options_of(Site.model_validate(yaml.safe_load(text)["sites"]["ny"])) for text in texts)
    assert (password.link, password.auth, ticket.auth) == ("sync", None, "negotiate")


@pytest.mark.parametrize("name", RUNBOOKS)
def test_every_runbook_fits_the_adapter(name: str) -> None:
    """Law: nothing is found in a shipped runbook, not so much as a note."""
    adapter = AmpsAdminAdapter
    runbook, lines = load_runbook(name), read_runbook(name).lines
    assert list(lint(runbook, with_made_readings(adapter.readings), adapter.actions, file=name, lines=lines)) == []
