"""The published SEMP v2 specifications, when they are at hand, and the checks of requests and replies against them.

They lie beside the project (``../shared/specs``) and are no part of it: without them these checks are skipped.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft4Validator

FOLDER = Path(__file__).parents[3] / "shared" / "specs"
APIS = ("config", "monitor", "action")
_ALLOWED = re.compile(r'^"([^"]+)" - ', re.MULTILINE)


def missing() -> bool:
    """Are there no specifications to check against?"""
    return not all((FOLDER / f"semp-v2-{api}.json").is_file() for api in APIS)


@dataclass(frozen=True)
class Operation:
    """One method of one path, with the specification it stands in."""

    spec: Mapping[str, Any]
    described: Mapping[str, Any]

    @property
    def parameters(self) -> Iterator[Mapping[str, Any]]:
        for parameter in self.described["parameters"]:
            yield self._resolved(parameter)

    def schema_of(self, status: int) -> Mapping[str, Any]:
        """The strict schema of a reply."""
        responses = self.described["responses"]
        answer = responses.get(str(status), responses["default"])
        return self._strict(answer["schema"])

    @property
    def body_schema(self) -> Mapping[str, Any] | None:
        return next((self._strict(one["schema"]) for one in self.parameters if one["in"] == "body"), None)

    @property
    def selectable(self) -> frozenset[str]:
        """The attributes, and sizes of collections, of what a reply holds."""
        reply = self._resolved(self.described["responses"]["200"]["schema"])
        found: set[str] = set()
        for part, suffix in (("data", ""), ("collections", ".count")):
            inner = reply["properties"].get(part)
            if inner is not None:
                inner = self._resolved(inner)
                inner = self._resolved(inner["items"]) if inner.get("type") == "array" else inner
                found |= {f"{name}{suffix}" for name in inner.get("properties", {})}
        return frozenset(found)

    def _resolved(self, one: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in one:
            _, kind, name = one["$ref"].split("/")
            one = self.spec[kind][name]
        return one

    def _strict(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**copy.deepcopy(dict(schema)), "definitions": _definitions(id(self.spec))}


_BOOKS: dict[int, Mapping[str, Any]] = {}


@cache
def _definitions(key: int) -> Mapping[str, Any]:
    definitions = copy.deepcopy(dict(_BOOKS[key]["definitions"]))
    for one in definitions.values():
        one["additionalProperties"] = False
        for value in one.get("properties", {}).values():
            if value.get("maxLength") == 0:  # how the specification writes that it gives none
                del value["maxLength"]
            # Many values are listed in the description only.
            allowed = _ALLOWED.findall(value.get("description", ""))
            if value.get("type") == "string" and allowed and "enum" not in value:
                value["enum"] = allowed
    return definitions


@cache
def book(api: str) -> Mapping[str, Any]:
    """One of the three specifications."""
    found: Mapping[str, Any] = json.loads((FOLDER / f"semp-v2-{api}.json").read_text("utf-8"))
    _BOOKS[id(found)] = found
    return found


def operation(method: str, target: str) -> Operation:
    """The operation a request means. AssertionError when there is none."""
    path = target.partition("?")[0]
    api = path.removeprefix("/SEMP/v2/").partition("/")[0]
    assert api in APIS, target
    inside = path.removeprefix(f"/SEMP/v2/{api}")
    for template, methods in book(api)["paths"].items():
        pattern = re.sub(r"\\\{[^}]*\\\}", "[^/,]+", re.escape(template))
        if re.fullmatch(pattern, inside) and method.lower() in methods:
            return Operation(book(api), methods[method.lower()])
    raise AssertionError(f"{method} {target} is in no specification")


def check_request(method: str, target: str, body: bytes) -> None:
    """AssertionError for a path, parameter, attribute or body that the specification does not have."""
    found = operation(method, target)
    known = {one["name"] for one in found.parameters if one["in"] == "query"}
    for pair in filter(None, target.partition("?")[2].split("&")):
        name, _, value = pair.partition("=")
        assert name in known, f"{target}: no parameter {name}"
        if name == "select":
            assert set(unquote(value).split(",")) <= found.selectable, target
    schema = found.body_schema
    assert (schema is not None) == bool(body), f"{method} {target}: a body, or none"
    if schema is not None:
        Draft4Validator(schema).validate(json.loads(body))


def check_reply(method: str, target: str, status: int, body: bytes) -> None:
    """AssertionError, or jsonschema's ValidationError, for a reply that is not as the specification has it."""
    answer = json.loads(body)
    Draft4Validator(operation(method, target).schema_of(status)).validate(answer)
    assert answer["meta"]["responseCode"] == status
