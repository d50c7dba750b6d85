"""Replaces names by pseudonyms of the same length. The text stays readable, and can be shown to strangers.

A name has the same pseudonym in all texts. The pseudonym keeps the properties that a parser of columns, commands or
addresses may check: length, case, blanks, punctuation, and the positions of digits. A known name is replaced wherever it
is a word: also percent-encoded, in XML or in JSON, and where a column has cut it. Addresses are replaced without being
named.

The module cannot find a name that it was not given. It must never keep or print the names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import quote
from xml.sax.saxutils import escape

# A shorter name could be a flag, or part of any word.
SHORTEST = 2
# A column may cut a name. The first part of a name with at least this length is still recognized as the name.
_CUT_FROM = 6
# The characters that may follow a cut name, besides a blank and the end of the text.
_BEHIND_A_CUT = "'\")]>,;…"
# A shorter name of digits alone could be any number.
_DIGITS_FROM = 6
_TRIES_MAX = 20_000
_LETTERS, _HEX = "abcdefghijklmnopqrstuvwxyz", "abcdef"
_HEXADECIMAL = re.compile(r"(?=.*[0-9])[0-9a-f-]{8,}")
_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)"
    r"|(?:(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4})(?![\w:])"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|SHA256:[\w+/]{43})",
    re.IGNORECASE,
)
_VERSION = re.compile(r"version\W{0,4}(\d{1,3}(?:\.\d{1,3}){3})(?!\w|\.\d)", re.IGNORECASE)


@dataclass(slots=True)
class _Branch:
    """A tree node: one character of names, and the characters that may follow. ``end`` is the pseudonym of a whole name
    that ends here. ``cut`` is the pseudonym of a name whose rest is missing."""

    more: dict[str, _Branch] = field(default_factory=dict)
    end: str | None = None
    cut: str | None = None


class Pseudonyms:
    """Replaces ``names`` in ``texts`` and in output made from them.

    ``words``, in lower case, are never replaced, even if they are also names. ``kept`` are the names that stay: these
    words, and names that are too short to be distinguished from a flag or a number.
    """

    def __init__(self, names: Iterable[str], *, words: Collection[str], texts: Sequence[str]) -> None:
        asked = dict.fromkeys(name.strip() for name in names if name.strip())
        versions = {version for text in texts for version in _versions_in(text)}
        addresses = dict.fromkeys(address for text in texts for address in addresses_in(text))
        found = [*asked, *(address for address in addresses if address not in versions)]
        self.kept = tuple(name for name in asked if not _can_be_replaced(name, words))
        plain = dict.fromkeys(name.lower() for name in found if _can_be_replaced(name, words))
        taken = {word for text in texts for word in _WORD.findall(text.lower())} | set(words)
        self._words = words
        self._root = _Branch()
        used: set[str] = set(plain)
        counted: dict[str, int] = {}  # the number of checked pseudonyms, by shape
        for name in plain:
            shape = _shaped(name, 0) or name
            pseudonym, counted[shape] = _pseudonym(name, counted.get(shape, 0), used, taken)
            used.add(pseudonym)
            for encode in _ENCODINGS:
                self._plant(encode(name).lower(), encode(pseudonym))

    def scrub(self, text: str) -> str:
        """``text`` with pseudonyms for names."""
        parts: list[str] = []
        done = at = 0
        lower = text.lower()
        if len(lower) != len(text):  # a few letters have a lower case of two characters
            lower = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
        while at < len(text):
            begins = at == 0 or not (text[at - 1].isalnum() and text[at].isalnum()) or _is_encoded(text, at)
            end, becomes = self._longest(lower, at) if begins else (at, "")
            if end > at:
                parts += [text[done:at], _in_case_of(text[at:end], becomes)]
                done = at = end
            else:
                at += 1
        return "".join([*parts, text[done:]])

    def _longest(self, text: str, at: int) -> tuple[int, str]:
        branch, best = self._root, (at, "")
        for end in range(at, len(text)):
            found = branch.more.get(text[end])
            if found is None:
                break
            branch = found
            behind = text[end + 1 : end + 2]
            if branch.end is not None and not (text[end].isalnum() and behind.isalnum()):
                best = (end + 1, branch.end)
            elif branch.cut is not None and (not behind or behind.isspace() or behind in _BEHIND_A_CUT):
                best = (end + 1, branch.cut)
        return best

    def _plant(self, name: str, becomes: str) -> None:
        branch = self._root
        is_address = next(addresses_in(name), None) == name
        for number, letter in enumerate(name, start=1):
            branch = branch.more.setdefault(letter, _Branch())
            may_be_cut = number >= _CUT_FROM and len(name) == len(becomes) and name[:number] not in self._words
            if branch.cut is None and may_be_cut and not is_address:
                branch.cut = becomes[:number]
        branch.end = branch.end or becomes


def addresses_in(text: str) -> Iterator[str]:
    """Addresses of networks, of machines and of mail in ``text``. A version of four numbers looks like an address."""
    yield from (found[0] for found in _ADDRESS.finditer(text) if not found[0].replace(":", "").isdigit())


def _versions_in(text: str) -> Iterator[str]:
    return (found[1] for found in _VERSION.finditer(text))


def _can_be_replaced(name: str, words: Collection[str]) -> bool:
    letters = sum(one.isalpha() for one in name)
    digits = sum(one.isdigit() for one in name)
    is_long = (
        len(name) >= SHORTEST if letters else digits >= _DIGITS_FROM or next(addresses_in(name), None) is not None
    )
    return is_long and name.lower() not in words


def _pseudonym(name: str, first: int, used: Collection[str], taken: Collection[str]) -> tuple[str, int]:
    """A pseudonym that is not used yet, and the number at which the next search starts. The search starts at number
    ``first``. If all free pseudonyms are words of the texts, the first of them is returned."""
    second = ""
    for number in count(first):
        made = _shaped(name, number)
        if made is None or number > first + _TRIES_MAX:
            break
        if made not in used:
            second = second or made
            if not all(word in taken for word in _WORD.findall(made)):
                return made, number + 1
    # Assumption: no site has so many names of one short shape. Otherwise two names would get the same pseudonym.
    return second or (_shaped(name, 0) or name), first


def _shaped(name: str, number: int) -> str | None:
    """The ``number``-th pseudonym in the shape of ``name``. Its first characters encode the number. None after the last
    pseudonym."""
    letters = _HEX if _HEXADECIMAL.fullmatch(name) else _LETTERS
    made = []
    for one in name:
        if not one.isalnum():
            made.append(one)
            continue
        alphabet, filler = ("0123456789", "0") if one.isdigit() else (letters, letters[-3])
        if number < 0:
            made.append(filler)
        else:
            made.append(alphabet[number % len(alphabet)])
            number = number // len(alphabet) or -1
    return "".join(made) if number < 0 else None


def _in_case_of(text: str, becomes: str) -> str:
    if len(text) != len(becomes):
        return becomes
    return "".join(new.upper() if old.isupper() else new for old, new in zip(text, becomes, strict=True))


def _is_encoded(text: str, at: int) -> bool:
    """Does a percent-encoded character end right before ``at``?"""
    return at >= 3 and text[at - 3] == "%"


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


_ENCODINGS: Sequence[Callable[[str], str]] = (str, lambda text: quote(text, safe=""), escape, _in_json)


def scrubbed(value: object, scrub: Callable[[str], str], *, ours: Collection[str]) -> object:
    """``value``, of JSON types, with every text in it scrubbed, except keys and the values of the keys ``ours``."""
    match value:
        case str():
            return scrub(value)
        case Mapping():
            return {key: one if key in ours else scrubbed(one, scrub, ours=ours) for key, one in value.items()}
        case list() | tuple():
            return [scrubbed(one, scrub, ours=ours) for one in value]
        case _:
            return value
