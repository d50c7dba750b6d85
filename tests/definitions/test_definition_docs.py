"""The examples of docs/reference/{runbooks,lint,inventory}.md load, and the pages have every key and every code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.definition import Definition
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import read_inventory, read_runbook
from orchestrator.model.findings import Level, worst
from orchestrator.model.reading import field_names, item_field_names
from orchestrator.model.readings import known_readings
from orchestrator.schemas import schemas
from tests.definitions.declared import ACTION_SPECS, READING_SPECS, Write, read_decisions

ROOT = Path(__file__).parents[2]
DOCS = {
    name: "\n".join((ROOT / f"docs/reference/{page}.md").read_text(encoding="utf-8") for page in pages)
    for name, pages in {"runbooks": ("runbooks", "lint"), "inventory": ("inventory",)}.items()
}
READ: dict[str, Callable[[Path], Definition[Any]]] = {
    "runbook": read_runbook,
    "inventory": read_inventory,
    "decisions": read_decisions,
}
EXAMPLES = [
    (kind, text)
    for page in DOCS.values()
    for kind, text in re.findall(r"<!-- loads: (\w+) -->\n```yaml\n(.*?)```", page, re.DOTALL)
]
SOURCES = {
    "runbooks": [
        "lint/runbook.py",
        "lint/vocabulary.py",
        "lint/promises.py",
        "lint/both_ends.py",
        "loader.py",
        "source_map.py",
    ],
    "inventory": ["lint/inventory.py"],
}


def test_every_example_is_marked() -> None:
    """Law: no YAML in these pages escapes the test below."""
    assert len(EXAMPLES) == sum(page.count("```yaml") for page in DOCS.values()) == 3


@pytest.mark.parametrize(("kind", "text"), EXAMPLES)
def test_examples_load(write: Write, kind: str, text: str) -> None:
    """Law: what the documentation shows can be used as it stands; the runbook lints clean."""
    definition = READ[kind](write(text))
    assert definition.value is not None, [str(found) for found in definition.findings]
    assert worst(definition.findings) in (None, Level.NOTE)
    if kind == "runbook":
        assert worst(lint(definition.value, READING_SPECS, ACTION_SPECS)) is Level.NOTE


@pytest.mark.parametrize(
    ("page", "schema"),
    [
        ("runbooks", "runbook.schema.json"),
        ("runbooks", "xa-decisions.schema.json"),
        ("inventory", "inventory.schema.json"),
    ],
)
def test_every_key_is_told(page: str, schema: str) -> None:
    """Law: there is no key that its page does not name."""
    model = json.loads(schemas()[schema])
    shapes = [model, *model["$defs"].values()]
    keys = {key for shape in shapes for key in shape.get("properties", {})} - {"args"}
    assert {key for key in keys if f"`{key}`" not in DOCS[page]} == set()


def test_every_field_of_a_reading_is_told() -> None:
    """Law: who writes a ``where`` finds each field here; those of a family in a file are in its file."""
    own = {"adapters.amps.reading_models", "adapters.solace.reading_models", "orchestrator.model.readings"}
    known = {name: one for name, one in known_readings().items() if one.__module__ in own}
    assert len(known) > 10
    names = {name for one in known.values() for name in field_names(one) | item_field_names(one)} - {"items"}
    assert {name for name in names | set(known) if f"`{name}`" not in DOCS["runbooks"]} == set()


@pytest.mark.parametrize("page", DOCS)
def test_every_code_is_told_and_exists(page: str) -> None:
    """Law: the table of codes is that of the program."""
    code = r'"([a-z]+(?:-[a-z]+)+|yaml)"'
    source = "".join((ROOT / "orchestrator/documents" / name).read_text(encoding="utf-8") for name in SOURCES[page])
    used = set(re.findall(rf"Level\.[A-Z]+, {code}", source))
    used |= set(re.findall(rf"code = {code} if .* else {code}", source)[0]) if page == "runbooks" else set()
    used |= set(re.findall(rf"path, {code}, ", source))
    used |= set(re.findall(rf"(?:_note|stop)\((?:.|\n)*?, {code}", source))
    told = set(re.findall(r"^\| `([a-z-]+)` \| (?:error|warning|note) ", DOCS[page], re.MULTILINE))
    yaml_codes = DOCS[page].split("## YAML")[-1] if page == "runbooks" else ""
    told |= set(re.findall(r"^\| `([a-z-]+)` \|", yaml_codes, re.MULTILINE))
    assert used == told
