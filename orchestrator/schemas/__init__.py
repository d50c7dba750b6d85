"""JSON Schemas of the files a person writes and of the reports a machine reads, for checks without this program.

Generated from the models, and kept beside this file: ``python -m orchestrator.schemas`` writes them again. A schema
says what a file must look like; the rules across steps are ``lint``'s.
Must never differ from the models in what it accepts, except where JSON Schema cannot say it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from orchestrator.family.moves import Kind
from orchestrator.family.offers import options_of_all
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.fences import FenceKind, known_fences
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Runbook, format_duration, parse_duration
from orchestrator.reports.document import RunDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DURATION = r"^\d+(\.\d+)?\s*(ms|s|m|h|d)$"

_MODELS: Mapping[str, type[BaseModel]] = {
    "runbook.schema.json": Runbook,
    "inventory.schema.json": Inventory,
    "run.schema.json": RunDocument,
    "family.schema.json": FamilyFile,
}
# Printed, not read: every field is there, those with a default too.
_PRINTED = frozenset({RunDocument})


def schemas() -> dict[str, str]:
    """File name to JSON text, for each kind of file. The same models always give the same text."""
    models = {**_MODELS, **_of_families()}
    return {name: json.dumps(_schema(model), indent=2, ensure_ascii=False) + "\n" for name, model in models.items()}


def _of_families() -> Mapping[str, type[BaseModel]]:
    """The files that an option of an installed family reads, each by the name of its option."""
    offered = [option for kind in get_args(Kind) for some in options_of_all(kind).values() for _, option in some]
    return {
        f"{one.flag[2:]}-decisions.schema.json": one.decisions
        for one in offered
        if one.decides and one.decisions.published
    }


def write(folder: Path) -> None:
    """Write all schemas into ``folder``."""
    for name, text in schemas().items():
        (folder / name).write_text(text, encoding="utf-8")


class _Generator(GenerateJsonSchema):
    """Adds what pydantic's own cannot know: a validator written in Python that stands for a pattern."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        made = super().function_before_schema(schema)
        if schema["function"]["function"] is parse_duration:
            return {**made, "pattern": DURATION, "examples": ["100ms", "60s", "5m", "2h"]}
        return made

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("pattern") == DURATION and isinstance(made.get("default"), float):
            made["default"] = format_duration(made["default"])
        return made


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    made = model.model_json_schema(
        schema_generator=_Generator, mode="serialization" if model in _PRINTED else "validation"
    )
    definitions: dict[str, Any] = made.get("$defs", {})
    for name, complete in _COMPLETED.items():
        if name in definitions:
            complete(definitions[name])
    _close_patterns(made)
    return {"$schema": DIALECT, **made}


def _arguments_beside(do: dict[str, Any]) -> None:
    """In a file the arguments of an action are beside ``on`` and ``action``; a stored runbook has them in args."""
    do["additionalProperties"] = {"type": "string"}


def _one_source(choice: dict[str, Any]) -> None:
    choice["oneOf"] = [{"required": [name]} for name in choice["properties"]]


def _ways_to_fence(option: dict[str, Any]) -> None:
    """Those of the installed families too. One of a family in a file is ``true``; which there are, its file says."""
    own = {name: _fence_value(kind) for name, kind in known_fences().items() if kind.published}
    option["properties"] = {**own, **option["properties"]}
    option["additionalProperties"] = {"const": True}
    option["minProperties"] = option["maxProperties"] = 1


def _fence_value(kind: FenceKind) -> dict[str, Any]:
    value = {"pattern": kind.pattern, "type": "string"} if kind.pattern else {"const": True, "type": "boolean"}
    return {"anyOf": [value, {"type": "null"}], "default": None}


def _one_receiver(hook: dict[str, Any]) -> None:
    hook["oneOf"] = [{"required": ["command"]}, {"required": ["webhook"]}]


_COMPLETED: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "Do": _arguments_beside,
    "SecretRef": _one_source,
    "HookSecret": _one_source,
    "FenceOption": _ways_to_fence,
    "Hook": _one_receiver,
}


def _close_patterns(node: object) -> None:
    """Keys that fit no pattern are mistakes; JSON Schema would let them pass."""
    if isinstance(node, dict):
        if "patternProperties" in node:
            node.setdefault("additionalProperties", False)
        for child in node.values():
            _close_patterns(child)
    elif isinstance(node, list):
        for child in node:
            _close_patterns(child)
