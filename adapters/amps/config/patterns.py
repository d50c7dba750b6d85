"""Names and regular expressions of topics and groups, as AMPS matches them.

A configured name is a regular expression exactly when it contains a regular-expression character, and then matches
anywhere in the topic unless it is anchored (AMPS user guide, "Topics"; engine: PCRE2). If Python cannot read an
expression in bounded time, or cannot tell whether one expression covers another, the answer is None, "unknown", never a
guess.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from adapters.amps.config.bounded import BoundedExpression, bounded

_META = frozenset(".^$*+?()[]{}|\\")
_UNIVERSAL = frozenset({".*", ".+", ".", "^.*$", "^.*", ".*$", "^.+$", "^.+", ".+$", "^", "$", "(.*)", "^(.*)$"})
_POSIX = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:word:]": r"\w",
    "[:xdigit:]": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """One configured name. ``regex`` is None for a plain name, and for an expression that Python cannot read in time.

    ``names`` is the finite set of names it stands for, when that can be told; ``prefix`` is set for ``^literal``.
    """

    text: str
    is_regex: bool
    regex: BoundedExpression | None = None
    names: frozenset[str] | None = None
    prefix: str | None = None
    is_universal: bool = False

    @property
    def is_readable(self) -> bool:
        return not self.is_regex or self.regex is not None

    def covers(self, other: Pattern) -> bool | None:
        """Does every name that ``other`` stands for match here? None when that cannot be told."""
        if self.is_universal or self == other:
            return True
        if not self.is_readable or not other.is_readable:
            return None
        if other.names is not None:
            return _all(self.matches(name) for name in other.names)
        if self.prefix is not None and other.prefix is not None:
            return other.prefix.startswith(self.prefix)
        if other.is_universal or other.prefix is not None:  # infinitely many names: a list of names never covers them
            return False if self.names is not None or self.prefix is not None else None
        return None

    def matches(self, name: str) -> bool | None:
        """Does ``name`` match? None for an expression that cannot be read, or would take too long on it."""
        if not self.is_regex:
            return self.text == name
        if self.is_universal:
            return True
        return None if self.regex is None else self.regex.search(name)

    def overlaps(self, other: Pattern) -> bool | None:
        """Can any name match both? None when that cannot be told."""
        if self.is_universal or other.is_universal or self == other:
            return True
        if not self.is_readable or not other.is_readable:
            return None
        for one, two in ((self, other), (other, self)):
            if one.names is not None:
                return _any(two.matches(name) for name in one.names)
        if self.prefix is not None and other.prefix is not None:
            return self.prefix.startswith(other.prefix) or other.prefix.startswith(self.prefix)
        return None


class PatternBook:
    """Compiles every pattern once, and matches every (pattern, name) once."""

    def __init__(self, *, dotted_names: bool = True) -> None:
        self._dotted_names = dotted_names
        self._patterns: dict[tuple[str, bool], Pattern] = {}
        self._matches: dict[tuple[str, str], bool | None] = {}

    def pattern(self, text: str, *, regexes: bool = True) -> Pattern:
        """The pattern for a configured name; with ``regexes`` off (``RegexTopicSupport``) it is always plain."""
        key = (text, regexes)
        found = self._patterns.get(key)
        if found is None:
            found = self._patterns[key] = compile_pattern(text, regexes=regexes, dotted_names=self._dotted_names)
        return found

    def matches(self, pattern: Pattern, name: str) -> bool | None:
        if not pattern.is_regex:
            return pattern.text == name
        if pattern.is_universal:
            return True
        key = (pattern.text, name)
        if key not in self._matches:
            self._matches[key] = pattern.matches(name)
        return self._matches[key]


def compile_pattern(text: str, *, regexes: bool = True, dotted_names: bool = True) -> Pattern:
    """Reads a configured name. Never raises: an expression Python cannot read is kept, and matches "unknown".

    With ``dotted_names``, ``orders.v1`` stands for the one name it spells, though it would match ``orders-v1`` too.
    """
    if not regexes or not has_metacharacters(text):
        return Pattern(text, is_regex=False, names=frozenset({text}))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", FutureWarning
            )  # Python warns where a later version will read it differently
            compiled = re.compile(_as_python(text), re.ASCII)
    except (re.error, RecursionError, OverflowError, FutureWarning):
        return Pattern(text, is_regex=True)
    return Pattern(
        text,
        is_regex=True,
        regex=bounded(compiled),
        names=frozenset({text}) if dotted_names and is_dotted_name(text) else _finite(text),
        prefix=_prefix(text),
        is_universal=text in _UNIVERSAL,
    )


def _all(answers: Iterable[bool | None]) -> bool | None:
    """True if all are; else the first answer that is False or unknown."""
    return next((answer for answer in answers if answer is not True), True)


def _any(answers: Iterable[bool | None]) -> bool | None:
    """True if one is True; else unknown if one is unknown; else False."""
    is_known = True
    for answer in answers:
        if answer:
            return True
        is_known = is_known and answer is not None
    return False if is_known else None


def has_metacharacters(text: str) -> bool:
    return not _META.isdisjoint(text)


def is_dotted_name(text: str) -> bool:
    """Is the dot the only special character, and is there other text besides dots?"""
    return "." in text and not has_metacharacters(text.replace(".", "")) and text.strip(".") != ""


def quote(text: str) -> str:
    """``text`` as a regular expression that matches itself, with no more backslashes than PCRE needs."""
    return "".join(f"\\{character}" if character in _META else character for character in text)


def _as_python(text: str) -> str:
    """A PCRE2 expression in Python's syntax: POSIX classes and the end anchor differ, the rest is the same or does not
    compile."""
    for name, members in _POSIX.items():
        text = text.replace(name, members)
    if "[:" in text:
        raise re.error("the expression has a POSIX class that Python does not support")
    return re.sub(r"(?<!\\)((?:\\\\)*)\\z", r"\1\\Z", text)


def _finite(text: str) -> frozenset[str] | None:
    """The names of ``^A$|^B$`` or ``^(A|B)$``."""
    grouped = re.fullmatch(r"\^\((?:\?:)?([^()]*)\)\$", text)
    branches = [f"^{branch}$" for branch in grouped.group(1).split("|")] if grouped else text.split("|")
    names = [_literal(branch[1:-1]) for branch in branches if branch.startswith("^") and branch.endswith("$")]
    if len(names) != len(branches):
        return None
    known = [name for name in names if name is not None]
    return frozenset(known) if len(known) == len(branches) else None


def _prefix(text: str) -> str | None:
    """``p`` of ``^p``, ``^p.*`` or ``^p.*$``."""
    if not text.startswith("^"):
        return None
    for ending in (".*$", ".*", ""):
        if text.endswith(ending):
            return _literal(text[1 : len(text) - len(ending)]) or None
    return None


def _literal(text: str) -> str | None:
    """``text`` without its escapes when it stands for one string, else None."""
    plain = re.sub(r"\\([^A-Za-z0-9])", "", text)
    if has_metacharacters(plain):
        return None
    return re.sub(r"\\([^A-Za-z0-9])", r"\1", text)
