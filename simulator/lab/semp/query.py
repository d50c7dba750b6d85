"""The path and the query of a SEMP v2 request, parsed as strictly as a broker parses them.

docs/sources/solace.md, 1.1. Commas in ``select`` and ``where`` must be literal, but names may be encoded. An
unknown attribute is refused. Cursors are opaque. Nothing here reads an appliance.
"""

from __future__ import annotations

import base64
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote

BASE = "/SEMP/v2/"
COUNT_DEFAULT, COUNT_MAX = 10, 100
_PARAMETERS = frozenset({"select", "where", "count", "cursor"})
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Problem(Exception):
    """The broker's refusal: HTTP status, SEMP code, the name of the code, and a sentence (section 1.3)."""

    def __init__(self, status: int, code: int, name: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.name = name
        self.text = text


def invalid(text: str) -> Problem:
    """The error for an unknown part of the request."""
    return Problem(400, 11, "INVALID_PARAMETER", text)


def unparsed(text: str) -> Problem:
    """The error for a request that cannot be parsed."""
    return Problem(400, 27, "PARSE_ERROR", text)


def not_found(text: str) -> Problem:
    """The error for a path to an object that does not exist."""
    return Problem(400, 6, "NOT_FOUND", text)


def not_allowed(text: str) -> Problem:
    """The error for a known request that is refused in the present state."""
    return Problem(400, 89, "NOT_ALLOWED", text)


@dataclass(frozen=True, slots=True)
class Target:
    """``parts``: the names in each component of the path. A compound key has several names."""

    api: str
    parts: tuple[tuple[str, ...], ...]
    path: str
    query: Mapping[str, str]


def target_of(text: str) -> Target:
    """Parse a request target. Raises ``Problem``."""
    if "#" in text or _BAD_ESCAPE.search(text):
        raise unparsed("Malformed request target")
    path, _, query = text.partition("?")
    api, _, rest = path.removeprefix(BASE).partition("/")
    if not path.startswith(BASE) or api not in ("config", "monitor", "action"):
        raise not_found(f"Unknown path {path}")
    components = rest.split("/") if rest else []
    if "" in components:
        raise not_found(f"Unknown path {path}")
    parts = tuple(tuple(unquote(name) for name in component.split(",")) for component in components)
    return Target(api, parts, path, _query(query))


def _query(text: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for pair in text.split("&") if text else []:
        name, equals, value = pair.partition("=")
        if name not in _PARAMETERS or not equals or not value or name in found:
            raise invalid(f"'{name}' is not a valid query parameter here")
        if "%2c" in value.lower():
            raise invalid(f"a comma of '{name}' must not be encoded")
        found[name] = value
    return found


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected attributes and sizes of collections (``msgs.count``)."""

    names: frozenset[str]

    def wants(self, name: str) -> bool:
        return name in self.names


def selection_of(query: Mapping[str, str], attributes: Sequence[str], collections: Sequence[str]) -> Selection:
    """The part of the known attributes and collections that ``select`` chooses. Raises ``Problem`` for an unknown
    attribute."""
    known = [*attributes, *(f"{name}.count" for name in collections)]
    if "select" not in query:
        return Selection(frozenset(known))
    wanted = [unquote(part) for part in query["select"].split(",")]
    excludes = [part.removeprefix("-") for part in wanted if part.startswith("-")]
    if excludes and len(excludes) != len(wanted):
        raise invalid("select either includes or excludes")
    named: set[str] = set()
    for pattern in excludes or wanted:
        fitting = {name for name in known if fnmatchcase(name, pattern)} if pattern else set()
        if not fitting:
            raise invalid(f"'{pattern}' not a valid attribute")
        named |= fitting
    return Selection(frozenset(known) - named if excludes else frozenset(named))


_Compare = Callable[[object, object], bool]
_OPERATORS: Mapping[str, _Compare] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,  # type: ignore[dict-item]  # both sides are numbers or texts here
    ">=": operator.ge,  # type: ignore[dict-item]
    "<": operator.lt,  # type: ignore[dict-item]
    ">": operator.gt,  # type: ignore[dict-item]
}
_CONDITION = re.compile(r"([A-Za-z.]+)(==|!=|<=|>=|<|>)(.*)")


Looks = Mapping[str, Callable[[], object]]


def condition_of(query: Mapping[str, str], attributes: Sequence[str]) -> Callable[[Looks], bool]:
    """The filter of ``where``: all conditions must hold. Only attributes in conditions are looked up. Raises
    ``Problem``."""
    checks: list[tuple[str, str, str]] = []
    for part in query["where"].split(",") if "where" in query else []:
        found = _CONDITION.fullmatch(unquote(part))
        if found is None or found[1] not in attributes:
            raise invalid(f"'{unquote(part)}' is not a valid condition")
        checks.append((found[1], found[2], found[3]))
    return lambda looks: all(name in looks and _holds(looks[name](), sign, wanted) for name, sign, wanted in checks)


def _holds(value: object, sign: str, wanted: str) -> bool:
    if value is None:
        return False
    if isinstance(value, bool):
        return _OPERATORS[sign](value, wanted == "true") if sign in ("==", "!=") else False
    if isinstance(value, int):
        return wanted.isdecimal() and _OPERATORS[sign](value, int(wanted))
    if sign in ("==", "!="):
        return fnmatchcase(str(value), wanted.replace("[", "[[]")) is (sign == "==")
    return _OPERATORS[sign](str(value), wanted)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection: ``count`` objects from the position ``start``."""

    start: int
    count: int


def page_of(query: Mapping[str, str]) -> Page:
    """The requested page. Raises ``Problem``."""
    count = query.get("count", str(COUNT_DEFAULT))
    if not count.isdecimal() or not 1 <= int(count) <= COUNT_MAX:
        raise invalid(f"count is a number from 1 to {COUNT_MAX}")
    if "cursor" not in query:
        return Page(0, int(count))
    try:
        text = base64.urlsafe_b64decode(unquote(query["cursor"])).decode("ascii")
        return Page(int(text.removeprefix("at ")), int(count))
    except ValueError as error:
        raise invalid("the cursor is not one of ours") from error


def cursor_at(start: int) -> str:
    """The cursor of the page at position ``start``."""
    return base64.urlsafe_b64encode(f"at {start}".encode()).decode("ascii").replace("=", "%3D")
