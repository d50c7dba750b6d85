"""The form of a fault in every simulated world: one line that says when the fault happens and what goes wrong.

Each world defines its vocabulary as a ``Grammar``: the triggers of its faults, the effects, and the help text.
Faults of an answer are the same in every world. A line outside the vocabulary is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, Literal, TypeVar

from orchestrator.errors import DefinitionError
from orchestrator.files import read_document

StateFaultT = TypeVar("StateFaultT")
Groups = Mapping[str, str | None]

DURATION = r"\d+(?:\.\d+)?(?:ms|s|m|h)"
# The optional duration at the end of a line. ``lasts`` reads the match.
LASTS = rf"(?:\s+(?P<lasts>{DURATION}))?"
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class When:
    """The trigger of a fault: an event at ``about`` (a message VPN, an instance; None for any).

    ``after``: seconds between the trigger and the fault. For ``at``, they count from when the fault was given. A fault of
    an answer hits the first matching answer after these seconds.
    """

    phase: str
    about: str | None = None
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class AnswerFault:
    """One answer goes wrong; with ``lasts``, every answer for that many seconds.

    ``late``: seconds before the command is obeyed. ``break off``: a change of several requests stops after the first one.
    """

    kind: Literal[
        "refuse",
        "lose request",
        "lose reply",
        "late",
        "break off",
        "truncate reply",
        "garbage reply",
        "wrong password",
    ]
    late: float = 0.0
    lasts: float | None = None


@dataclass(frozen=True)
class Fault(Generic[StateFaultT]):
    """One scripted fault. ``text`` is the line as it was written."""

    text: str
    when: When
    what: StateFaultT | AnswerFault


@dataclass(frozen=True)
class Grammar(Generic[StateFaultT]):
    """The vocabulary of one world's faults.

    ``help``: the vocabulary, as text for a person. ``phases``: the triggers besides ``at``. ``about``: the pattern of
    the name after a trigger. ``shapes``: a pattern for each effect, and a function that turns the matched groups into the
    effect, or into None for an invalid match. ``misfit``: the reason why a trigger and an effect do not go together, or
    "".
    """

    help: str
    phases: Sequence[str]
    about: str
    shapes: Sequence[tuple[str, Callable[[Groups], StateFaultT | AnswerFault | None]]]
    misfit: Callable[[When, StateFaultT | AnswerFault], str]

    def fault(self, text: str) -> Fault[StateFaultT]:
        """One fault from its line. Raises ``DefinitionError`` with the help text as its hint."""
        written = " ".join(text.split())
        before, colon, after = written.rpartition(":")
        when, what = self._when(before.strip()), self._what(after.strip())
        if not colon or when is None or what is None:
            raise DefinitionError(f"not a fault: {text.strip()!r}", hint="a fault is\n" + self.help)
        problem = _cannot_wait(when, what) or self.misfit(when, what)
        if problem:
            raise DefinitionError(f"{written!r}: {problem}", hint="a fault is\n" + self.help)
        return Fault(written, when, what)

    def faults(self, lines: Iterable[str], *, file: Path | None = None) -> tuple[Fault[StateFaultT], ...]:
        """Faults from lines of text. Empty lines and comments are skipped. Errors name file and line."""
        found: list[Fault[StateFaultT]] = []
        for number, line in enumerate(lines, start=1):
            text = line.split("#", 1)[0].strip()
            if not text:
                continue
            try:
                found.append(self.fault(text))
            except DefinitionError as error:
                raise DefinitionError(str(error), hint=error.hint, file=file, line=number) from error
        return tuple(found)

    def read(self, path: Path) -> tuple[Fault[StateFaultT], ...]:
        """Faults from a plain text file, one per line. Raises ``DefinitionError``."""
        return self.faults(lines_of(path), file=path)

    def typed(self, texts: Iterable[str]) -> tuple[Fault[StateFaultT], ...]:
        """Faults from arguments. Each text is a fault, or the name of a file of faults. Raises ``DefinitionError``."""
        return tuple(
            fault
            for text in texts
            for fault in (self.read(Path(text)) if Path(text).is_file() else (self.fault(text),))
        )

    @cached_property
    def _line_start(self) -> re.Pattern[str]:
        words = "|".join(self.phases)
        return re.compile(rf"(?P<phase>{words})(?:\s+(?P<about>{self.about}))?(?:\s+\+(?P<after>{DURATION}))?")

    @cached_property
    def _patterns(self) -> Sequence[tuple[re.Pattern[str], Callable[[Groups], StateFaultT | AnswerFault | None]]]:
        return [(re.compile(pattern), meaning) for pattern, meaning in (*self.shapes, *_ANSWER_SHAPES)]

    def _when(self, text: str) -> When | None:
        moment = re.fullmatch(rf"at\s+({DURATION})", text)
        if moment:
            return When("at", after=_seconds(moment[1]))
        found = self._line_start.fullmatch(text)
        if found is None:
            return None
        return When(found["phase"], found["about"], _seconds(found["after"]) if found["after"] else 0.0)

    def _what(self, text: str) -> StateFaultT | AnswerFault | None:
        for pattern, meaning in self._patterns:
            found = pattern.fullmatch(text)
            if found:
                return meaning(found.groupdict())
        return None


def lines_of(path: Path) -> list[str]:
    """The lines of a file of faults. Raises ``DefinitionError``."""
    try:
        return read_document(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"the faults cannot be read: {error}", file=path) from error


def lasts(groups: Groups) -> float | None:
    """The duration in seconds from the groups of ``LASTS``. None means for ever."""
    text = groups.get("lasts")
    return _seconds(text) if text else None


def _seconds(text: str) -> float:
    """The seconds in a text that matches ``DURATION``."""
    number = text.rstrip("msh")
    return float(number) * _UNITS[text.removeprefix(number)]


def _answer(groups: Groups) -> AnswerFault | None:
    match groups:
        case {
            "answer": "refuse"
            | "lose request"
            | "lose reply"
            | "truncate reply"
            | "garbage reply"
            | "wrong password" as kind
        }:
            return AnswerFault(kind, lasts=lasts(groups))
    return None


_ANSWER_SHAPES: Sequence[tuple[str, Callable[[Groups], AnswerFault | None]]] = (
    (rf"(?P<answer>refuse|lose request|lose reply|truncate reply|garbage reply|wrong password){LASTS}", _answer),
    (rf"late (?P<late>{DURATION})", lambda groups: AnswerFault("late", late=_seconds(str(groups["late"])))),
)


def _cannot_wait(when: When, what: object) -> str:
    if isinstance(what, AnswerFault) and when.phase == "at":
        return (
            "a fault of an answer waits for what is asked, not for a moment; any +3s hits what is asked from then on"
        )
    return ""
