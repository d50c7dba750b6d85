"""Regular expressions with a limit: the work that an expression can cause is computed before the expression is used.

Python's engine backtracks, so a short expression can take practically for ever: ``^(a+)+$``. Expressions come from
configuration files of any origin. An expression that could take too long is not tried, and answers None, "unknown". The
bound is computed from the text alone, so that the same file gives the same answer on every machine.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

# Steps of the engine, which does tens of millions a second: for one name, and for all expensive names together.
STEPS_MAX = 5e6
DEAR_FROM, DEAR_STEPS_MAX = 2e5, 1e8

_REPEAT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_GROUP = re.compile(r"\((?:\?(?:P<\w+>|P[=>]\w+|\(\w+\)|<[=!]|[a-wyzA-WYZ-]*:|[=!>]|[a-wyzA-WYZ-]+(?=\))|#[^)]*))?")
# Whether these groups match is decided once; the engine never goes back into them.
_DECIDED_ONCE = ("(?=", "(?!", "(?<=", "(?<!", "(?>")


@dataclass(frozen=True, slots=True)
class Bound:
    """At most ``factor * (n + 1) ** degree`` for a name of n characters."""

    factor: float
    degree: int = 0

    def __mul__(self, other: Bound) -> Bound:
        return Bound(self.factor * other.factor, self.degree + other.degree)

    def __add__(self, other: Bound) -> Bound:
        return Bound(self.factor + other.factor, max(self.degree, other.degree))

    def to_the(self, power: int) -> Bound:
        """The bound of ``power`` repetitions, one after the other."""
        try:
            return Bound(self.factor**power, self.degree * power)
        except OverflowError:
            return ENDLESS

    def on(self, length: int) -> float:
        """The bound for a name of ``length`` characters; may be infinite."""
        try:
            return self.factor * float(length + 1) ** self.degree
        except OverflowError:
            return math.inf


ENDLESS, _ONE, _EACH_PLACE = Bound(math.inf), Bound(1.0), Bound(1.0, 1)


@dataclass(frozen=True, slots=True)
class _Part:
    """One part: the ``ways`` in which the engine may try it, and the ``work`` for one way."""

    ways: Bound
    work: Bound

    @property
    def whole(self) -> Bound:
        return self.ways * self.work


@dataclass(slots=True, eq=False)
class BoundedExpression:
    """A compiled expression. Answers None for a name that causes too much work, or after too many expensive names."""

    compiled: re.Pattern[str]
    bound: Bound
    _spent: float = field(default=0.0, repr=False)

    def search(self, name: str) -> bool | None:
        """Does the expression match somewhere in ``name``?"""
        return self.compiled.search(name) is not None if self._is_affordable(name) else None

    def fullmatch(self, name: str) -> bool | None:
        """Does the expression match ``name`` as a whole?"""
        return self.compiled.fullmatch(name) is not None if self._is_affordable(name) else None

    def _is_affordable(self, name: str) -> bool:
        steps = self.bound.on(len(name))
        if steps > DEAR_FROM:
            self._spent += steps
        return steps <= STEPS_MAX and self._spent <= DEAR_STEPS_MAX


def bounded(compiled: re.Pattern[str]) -> BoundedExpression | None:
    """``compiled`` with its bound; None for an expression that is endless on a name of any length."""
    try:
        bound = _Scanner(compiled.pattern).bound()
    except RecursionError:
        return None
    return None if math.isinf(bound.on(0)) else BoundedExpression(compiled, bound)


class _Scanner:
    """Reads an expression that Python has compiled, so it is well-formed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def bound(self) -> Bound:
        """The bound for a search, which starts again at each place of the name."""
        return self._alternatives().whole * _EACH_PLACE

    def _alternatives(self) -> _Part:
        part = self._sequence()
        while self._text.startswith("|", self._at):
            self._at += 1
            more = self._sequence()
            part = _Part(part.ways + more.ways, part.work + more.work)
        return part

    def _sequence(self) -> _Part:
        ways = work = _ONE
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._repeated(self._item())
            ways, work = ways * part.ways, work + part.work
        return _Part(ways, work)

    def _item(self) -> _Part:
        match self._text[self._at]:
            case "(":
                return self._group()
            case "[":
                self._class()
            case "\\":
                self._at += 2
            case _:
                self._at += 1
        return _Part(_ONE, _ONE)

    def _group(self) -> _Part:
        head = _GROUP.match(self._text, self._at)
        assert head is not None  # it starts with a bracket, and all the rest is optional
        if self._text.startswith("(?", self._at) and head.group() == "(":
            self._at = len(self._text)  # a head that is not known here, such as (?x): what follows may mean anything
            return _Part(ENDLESS, ENDLESS)
        self._at = head.end()
        inside = self._alternatives()
        self._at += 1
        return _Part(_ONE, inside.whole) if head.group().startswith(_DECIDED_ONCE) else inside

    def _class(self) -> None:
        self._at += 2 if self._text.startswith("[^", self._at) else 1
        first = self._at
        while self._text[self._at] != "]" or self._at == first:
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1

    def _repeated(self, part: _Part) -> _Part:
        """``part`` with the repetition sign after it, and the ``?`` or ``+`` after that sign."""
        least, most = self._times()
        if (least, most) == (1, 1):
            return part
        if self._text[self._at : self._at + 1] in ("?", "+"):
            self._at += 1
        if most is not None:
            choices = Bound(float(most - least + 1))
            return _Part(choices * part.ways.to_the(most), part.work * Bound(float(most)))
        # A part that can match in two ways and repeats without limit can match in more ways than can ever be tried.
        return _Part(_EACH_PLACE if part.ways == _ONE else ENDLESS, part.work)

    def _times(self) -> tuple[int, int | None]:
        sign = self._text[self._at : self._at + 1]
        if sign in ("*", "+", "?"):
            self._at += 1
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        found = _REPEAT.match(self._text, self._at)
        if found is None or not (found[1] or found[2]):
            return 1, 1
        self._at = found.end()
        least = int(found[1] or 0)
        return least, (least if not found[2] else int(found[3]) if found[3] else None)
