"""Turns validation errors into findings with file and line.

``Lines`` finds the line of a path such as ``("steps", 2, "do", "role")``. ``explain`` turns pydantic's errors into
one sentence and a hint for each mistake.

This module must never repeat a value that could be a secret. Under ``password`` it shows no value at all. Elsewhere it
shows only values of fields whose legal values are known to be harmless (names and fixed words).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.counting import counted
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import SERVICE_NAME, WEBHOOK_URL
from orchestrator.suggestions import closest, suggest

Path = tuple[str | int, ...]
Shape = Mapping[str, Any]

# The meaning of each pattern of the models, in words. A family's model brings its own. A test checks that all are there.
PATTERNS: Mapping[str, str] = {
    SERVICE_NAME: "use 1 to 32 characters, without quotes, control characters and ` ; ? * < > & | \\",
    WEBHOOK_URL: "use https://…, or http:// to this machine; without an account, a password, # and blanks",
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$": "use 1 to 63 letters, digits, - _ and ., and start with a letter or a digit",
    r"^[a-z][a-z0-9-]*$": "use lower-case letters, digits and -, and start with a letter",
    r"^[a-z][a-z0-9-]*/[a-z][a-z0-9-]*$": "use the form family/kind with lower-case letters, digits and -",
}
_WANTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
}
_SECRET_HINT = "write {env: NAME}, {file: PATH} or {prompt: true}"
_HOOK_SECRET_HINT = "write {env: NAME} or {file: PATH}"
_WHERE_RULE = (
    "a value under `where` must be true, false, a number, a text, a list of these, or {at_least: …, at_most: …}"
)


@dataclass(frozen=True, slots=True)
class Lines:
    """The line (1-based) of each key and list item, by its path. Empty for a definition that was not read from a file."""

    table: Mapping[Path, int] = field(default_factory=dict)

    def at(self, path: Iterable[str | int]) -> int | None:
        """The line of the deepest part of ``path`` that the file has. Parts that the file does not have are skipped."""
        known: Path = ()
        for part in path:
            if (*known, part) in self.table:
                known = (*known, part)
        return self.table.get(known)


class Diagnostic(NamedTuple):
    """A finding with its path in a definition. Its line is not looked up yet."""

    path: Path
    level: Level
    code: str
    message: str
    hint: str = ""


def error_at(path: Path, code: str, message: str, hint: str = "") -> Diagnostic:
    """An error at ``path``."""
    return Diagnostic(path, Level.ERROR, code, message, hint)


def findings_of(told: Iterable[Diagnostic], *, file: str | None, lines: Lines | None) -> list[Finding]:
    """Findings with file and line, sorted by line. Findings without a known line come first."""
    places = lines or Lines()
    found = [
        Finding(
            level=one.level, code=one.code, message=one.message, hint=one.hint, file=file, line=places.at(one.path)
        )
        for one in told
    ]
    return sorted(found, key=lambda finding: finding.line or 0)


def show(path: Iterable[str | int]) -> str:
    """A path as text, such as ``steps[2].do.role``. The empty path is ``the file``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "the file"


def quoted(value: object) -> str:
    """A harmless value as it was written, in quotes, on one line, cut after 60 characters."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return repr(text if len(text) <= 60 else text[:57] + "…")


def may_be_secret(path: Path) -> bool:
    """May a value at this path be a secret? The adapter defines its ``options``, so any of them may be secret. The
    address of a ``webhook`` may contain a secret."""
    return any(part in ("password", "options", "webhook") for part in path)


def explain(
    error: ValidationError, data: object, lines: Lines, *, file: str, model: type[BaseModel]
) -> list[Finding]:
    """One finding for each mistake, in the order of the file. ``data`` is the validated document."""
    found = [
        problem
        for details in _relevant(error.errors(include_url=False, include_input=False), data, model)
        if (problem := _problem(details, data, model)) is not None
    ]
    told = [Diagnostic(path, Level.ERROR, code, message, hint) for path, code, message, hint in dict.fromkeys(found)]
    return findings_of(told, file=file, lines=lines)


_Problem = tuple[Path, str, str, str]  # path, code, sentence, hint


def _relevant(errors: Sequence[ErrorDetails], data: object, model: type[BaseModel]) -> Iterable[ErrorDetails]:
    """The errors, without those that only repeat others. Of a union, only the errors of the intended shape remain."""
    for details in errors:
        at_union, tag = _union(model, details["loc"])
        if at_union is None or (tag == "Bounds" and isinstance(_reach(data, at_union)[1], dict)):
            yield details
        elif not isinstance(_reach(data, at_union)[1], dict):
            yield ErrorDetails(type="where_value", loc=at_union, msg=_WHERE_RULE, input=None)


def _problem(details: ErrorDetails, data: object, model: type[BaseModel]) -> _Problem | None:
    """The mistake in words, or None if another error already reports the same mistake."""
    kind, loc, context = details["type"], details["loc"], details.get("ctx", {})
    path, value = _reach(data, loc)
    place = show(path)
    if kind == "missing" and isinstance(loc[-1], int):
        return path, "wrong-value", f"{place}: entry {loc[-1] + 1} is missing", ""
    if kind == "missing":
        return _missing(path, str(loc[-1]), value, model)
    if kind == "extra_forbidden":
        return _unknown_key(path, str(loc[-1]), model, loc)
    if kind in ("literal_error", "enum"):
        return _not_allowed(path, value, _choices(model, loc))
    if kind in _WANTED:
        sentence = f"{place} must be {_WANTED[kind]}, not {_kind(value)}"
        return path, "wrong-type", sentence, _type_hint(kind, path, value)
    if kind == "string_pattern_mismatch":
        rules = {**PATTERNS, **getattr(model, "patterns", {})}
        rule = rules.get(context["pattern"], f"the text must match {context['pattern']}")
        name = "the name" if loc[-1] == "[key]" else place
        written = "" if may_be_secret(path) else f" {quoted(path[-1] if loc[-1] == '[key]' else value)}"
        return path, "bad-name", f"{name}{written} is not allowed", rule
    if kind == "too_short" and isinstance(value, list | dict) and len(value) >= context["min_length"]:
        return None  # pydantic counts wrong entries as absent
    if kind == "value_error":
        return path, "wrong-value", f"{place}: {context['error']}" if path else str(context["error"]), ""
    return path, "wrong-value", f"{place}: {_limit(kind, context) or details['msg']}", ""


def _limit(kind: str, context: Mapping[str, Any]) -> str:
    """The sentence for an error of length or bounds. Empty for any other kind of error."""
    match kind:
        case "too_short":
            return f"at least {counted(context['min_length'], 'entry', 'entries')} must be given"
        case "string_too_short":
            return f"at least {counted(context['min_length'], 'character')} must be given"
        case "too_long":
            return f"at most {counted(context['max_length'], 'entry', 'entries')} may be given"
        case "string_too_long":
            return f"at most {context['max_length']} characters are allowed"
        case "greater_than":
            return f"must be more than {context['gt']:g}"
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}"
        case "less_than_equal":
            return f"must be at most {context['le']:g}"
        case _:
            return ""


def _missing(path: Path, name: str, parent: object, model: type[BaseModel]) -> _Problem | None:
    keys = [key for key in parent if key != name] if isinstance(parent, dict) else []
    node = _shape(model, path)
    known = set(node.get("properties", {})) if node else set()
    slip = closest(name, [key for key in keys if key not in known])
    if slip is not None and node is not None and node.get("title") != "Do":
        return None  # the unknown key is reported, and this key is its suggestion
    hint = f"did you write {slip} instead?" if slip else ""
    return path, "missing-key", f"{show(path)} lacks the key {name}", hint


def _unknown_key(path: Path, key: str, model: type[BaseModel], loc: Path) -> _Problem:
    node = _shape(model, loc[:-1])
    known = list(node.get("properties", {})) if node else []
    parent = path[:-1] if path and path[-1] == key else path
    shown = key if not may_be_secret(parent) or closest(key, known) else "(not shown)"
    return path, "unknown-key", f"unknown key {shown} in {show(parent)}", suggest(key, known)


def _not_allowed(path: Path, value: object, choices: Sequence[object]) -> _Problem:
    words = [quoted(choice).strip("'") for choice in choices]
    if may_be_secret(path) or isinstance(value, dict | list):
        return path, "not-allowed", f"{show(path)} has a value that is not allowed", f"allowed: {', '.join(words)}"
    hint = suggest(str(value), words, label="allowed")
    return path, "not-allowed", f"{show(path)} is {quoted(value)}, which is not allowed", hint


def _type_hint(kind: str, path: Path, value: object) -> str:
    if path and path[-1] == "password":
        return _SECRET_HINT
    if path and path[-1] == "secret":
        return _HOOK_SECRET_HINT
    match kind, value:
        case ("string_type", bool() | int() | float()):
            return "put the value in quotes"
        case (_, None):
            return "write a value after the colon, or leave the key out"
        case ("bool_type", _):
            return "write true or false, without quotes"
        case ("int_type" | "float_type", str()):
            return "write the number without quotes and without a unit"
        case ("tuple_type", _):
            return "write [a, b], or one line with a dash for each"
        case _:
            return ""


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "keys with values"


def _reach(data: object, loc: Iterable[str | int]) -> tuple[Path, object]:
    """The longest part of ``loc`` that exists in the data, and the value there. Names of unions and of models in ``loc``
    are skipped."""
    path: Path = ()
    for part in loc:
        has_key = isinstance(data, dict) and part in data
        has_item = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if isinstance(data, dict | list) and (has_key or has_item):
            path, data = (*path, part), data[part]  # type: ignore[index]  # has_key and has_item checked it
    return path, data


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _shape(model: type[BaseModel], loc: Sequence[str | int]) -> Shape | None:
    """The JSON Schema of the model at ``loc``. None if the model allows any value there, or no value."""
    root = _schema(model)
    node: Shape | None = _plain(root, root)
    for part in loc:
        if node is None:
            return None
        child = _child(node, part)
        node = None if child is None else _plain(root, child)
    return node


def _child(node: Shape, part: str | int) -> Shape | None:
    if "anyOf" in node:
        named = [option for option in node["anyOf"] if option.get("$ref", "").endswith(f"/{part}")]
        return named[0] if named else None
    if isinstance(part, int):
        listed = node.get("prefixItems", ())
        child = listed[part] if part < len(listed) else node.get("items")
    else:
        others = [node.get("additionalProperties"), *node.get("patternProperties", {}).values()]
        child = node.get("properties", {}).get(part) or next((other for other in others if other), None)
    return child if isinstance(child, dict) else None


def _plain(root: Shape, node: Shape) -> Shape:
    """The schema node without references and without the null option."""
    while True:
        options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
        if "$ref" in node:
            node = root["$defs"][node["$ref"].rsplit("/", 1)[1]]
        elif len(options) == 1:
            node = options[0]
        else:
            return node


def _union(model: type[BaseModel], loc: Path) -> tuple[Path | None, str | int | None]:
    """The path of the union that ``loc`` passes through, and the shape of that union that the error is about. (None,
    None) if ``loc`` passes through no union."""
    for depth, part in enumerate(loc):
        node = _shape(model, loc[:depth])
        if node is not None and "anyOf" in node:
            return loc[:depth], part
    return None, None


def _choices(model: type[BaseModel], loc: Path) -> Sequence[object]:
    node = _shape(model, loc) or {}
    return node.get("enum") or [node[key] for key in ("const",) if key in node]
