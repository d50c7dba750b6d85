"""The checked-in JSON Schemas: those of the models, and true for the files that come with the product."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from orchestrator.documents.definition import Definition
from orchestrator.documents.loader import read_inventory, read_runbook
from orchestrator.operations.declared_families import offer_families
from orchestrator.schemas import schemas, write
from tests.definitions.declared import Write, read_decisions
from tests.shipped import RUNBOOKS

ROOT = Path(__file__).parents[2]
READ: dict[str, Callable[[Path], Definition[Any]]] = {
    "runbook.schema.json": read_runbook,
    "inventory.schema.json": read_inventory,
    "xa-decisions.schema.json": read_decisions,
}
RUNBOOK = {"runbook": "a/b", "summary": "s"}
STEP = {"id": "a", "title": "t", "do": {"on": "source", "action": "x", "role": "y"}}
SITE = {"adapter": "mock", "devices": [{"name": "d"}]}
PAIR = {"name": "p", "sites": ["a", "b"], "services": ["s"]}
CUT = {"commands": {"cut": {"argv": ["x"], "check": ["y"]}}}
# What a site may say besides, and whether it fits.
PARTS: list[tuple[dict[str, Any], bool]] = [
    ({"fence": [{"backbone": True}, {"attest": "pull the cables"}]}, True),
    ({"fence": [{"command": "cut"}], "also": [{"adapter": "local", "options": CUT}]}, True),
    ({"fence": [{"stopped": True}]}, True),
    ({"fence": [{"backbone": False}]}, False),
    ({"fence": [{"stopped": False}]}, False),
    ({"fence": [{"stopped": True, "backbone": True}]}, False),
    ({"fence": [{"stopped": True, "closed": True}]}, False),
    ({"fence": [{"backbone": True, "attest": "x"}]}, False),
    ({"fence": [{}]}, False),
    ({"fence": [{"command": "cut; rm"}]}, False),
    ({"fence": [{"vpn": "disabled"}]}, False),
    (
        {"also": [{"adapter": "local", "options": {"commands": {"cut": {"argv": ["x"], "check": ["y"]}}}}]},
        True,
    ),
    ({"also": [{"adapter": "solace-cli", "devices": [{"name": "x"}], "command_timeout": 5}]}, True),
    ({"also": [{"adapter": "local", "devices": []}]}, False),
    ({"also": [{"adapter": "local", "name": "a"}]}, False),
    ({"also": [{}]}, False),
]


@pytest.fixture(autouse=True)
def families() -> None:
    """Those in files are known."""
    offer_families()


def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(schemas()[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schemas_that_are_kept_are_those_of_the_models(tmp_path: Path) -> None:
    """Law: a change of a model changes its schema in the same commit (python -m orchestrator.schemas)."""
    write(tmp_path)
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "orchestrator/schemas").glob("*.json")}
    assert kept == schemas() == {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert resources.files("orchestrator.schemas").joinpath("runbook.schema.json").is_file()


class _Loader(yaml.SafeLoader):
    """An independent reading of our files, in which ``on`` is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if first in "tf" or not tag.endswith(":bool")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@pytest.mark.parametrize(
    ("path", "schema"),
    [(ROOT / f"runbooks/{name}.yaml", "runbook.schema.json") for name in RUNBOOKS]
    + [
        (ROOT / "examples/inventory.yaml", "inventory.schema.json"),
        (ROOT / "examples/xa-decisions.yaml", "xa-decisions.schema.json"),
    ],
)
def test_shipped_files_fit_their_schemas(path: Path, schema: str) -> None:
    """Law: an editor that knows the schema finds nothing wrong with what we ship."""
    _validator(schema).validate(yaml.load(path.read_text(encoding="utf-8"), _Loader))  # noqa: S506  # a safe loader


@pytest.mark.parametrize(
    ("schema", "data", "fits"),
    [
        ("runbook.schema.json", {**RUNBOOK, "steps": [STEP]}, True),
        ("runbook.schema.json", {**RUNBOOK, "steps": [{**STEP, "within": "15s"}]}, True),
        ("runbook.schema.json", {**RUNBOOK, "steps": [{**STEP, "within": 15}]}, False),
        ("runbook.schema.json", {**RUNBOOK, "steps": [{**STEP, "within": "15"}]}, False),
        ("runbook.schema.json", {**RUNBOOK, "steps": [{**STEP, "timeout": "15 parsecs"}]}, False),
        ("runbook.schema.json", {**RUNBOOK, "steps": [{**STEP, "point_of_no_return": "yes"}]}, False),
        (
            "runbook.schema.json",
            {**RUNBOOK, "steps": [{**STEP, "do": {"on": "source", "action": "x", "n": 5}}]},
            False,
        ),
        ("runbook.schema.json", {**RUNBOOK, "steps": [{**STEP, "extra": 1}]}, False),
        ("runbook.schema.json", {**RUNBOOK, "steps": []}, False),
        ("inventory.schema.json", {"sites": {"a": SITE, "b": SITE}, "pairs": [PAIR]}, True),
        ("inventory.schema.json", {"sites": {"a": SITE, "b": SITE, "c d": SITE}, "pairs": [PAIR]}, False),
        ("inventory.schema.json", {"sites": {"a": SITE, "b": SITE}, "pairs": []}, False),
        ("inventory.schema.json", {"sites": {"a": SITE, "b": SITE}, "pairs": [{**PAIR, "services": ["a;b"]}]}, False),
        ("inventory.schema.json", {"sites": {"a": SITE, "b": SITE}, "pairs": [{**PAIR, "sites": ["a"]}]}, False),
        *[
            (
                "inventory.schema.json",
                {"sites": {"a": {**SITE, "login": {"username": "u", "password": ref}}, "b": SITE}, "pairs": [PAIR]},
                fits,
            )
            for ref, fits in [
                ({"env": "X"}, True),
                ({"prompt": True}, True),
                ({"prompt": False}, False),
                ({"env": "X", "file": "y"}, False),
                ({}, False),
                ("x", False),
            ]
        ],
        *[
            ("inventory.schema.json", {"sites": {"a": {**SITE, **more}, "b": SITE}, "pairs": [PAIR]}, fits)
            for more, fits in PARTS
        ],
        ("xa-decisions.schema.json", {"decisions": [{"xid": "1-2-3", "choice": "commit", "reason": "r"}]}, True),
        ("xa-decisions.schema.json", {"decisions": [{"xid": "1-2-3", "branches": []}]}, True),
        ("xa-decisions.schema.json", {"decisions": [{"xid": "1-2-3", "choice": "commit"}]}, False),
        ("xa-decisions.schema.json", {"decisions": [{"xid": "1-2-3"}]}, False),
        ("xa-decisions.schema.json", {"decisions": [{"xid": "x", "branches": []}]}, False),
    ],
)
def test_schema_and_loader_agree(write: Write, schema: str, data: object, fits: bool) -> None:
    """Law: what the schema refuses the loader refuses, and what it accepts the loader accepts."""
    assert _validator(schema).is_valid(data) is fits
    assert (READ[schema](write(json.dumps(data))).value is not None) is fits
