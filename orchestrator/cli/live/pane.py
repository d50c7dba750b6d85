"""The lines below the table in which a question is put and answered, while the rows above continue. One line is edited.

Keys go here while a question is open, until Tab gives them to the table.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

_LINE_MAX = 4096
_HEAD, _EDITED = 2, 2  # lines: the first of a question that is too long, the last of what is typed
_QUESTION_LEAST = 2  # lines of a question: it goes before how long there is to answer


class Pane:
    """What a question shows, and what is typed at it. Used from the desk's thread and from the keyboard's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._brief: dict[str, str] = {}  # lines that are others where room is short; empty: left out
        self._terms = ""
        self._prompt: str | None = None
        self._buffer = ""
        self._typed: deque[str] = deque()
        self._is_lost = False  # the terminal is gone
        self.has_keys = False

    @property
    def is_open(self) -> bool:
        """Is a question shown?"""
        return bool(self._lines) or self._prompt is not None

    @property
    def takes_keys(self) -> bool:
        """Is a line edited?"""
        return self._prompt is not None

    def shown(self, height: int, fold: Callable[[list[str]], list[str]] = list) -> list[str]:
        """The lines of the pane, at most ``height``: the question, and the end of the line that is edited. ``fold``
        breaks lines that are too long."""
        with self._changed:
            edited = [] if self._prompt is None else fold([f"{self._prompt}{self._buffer}"])[-_EDITED:]
            terms = fold([self._terms] if self._terms else [])
            edited = [*terms, *edited] if len(terms) + len(edited) + _QUESTION_LEAST <= height else edited
            lines, kept = fold(self._lines), max(0, height - len(edited))
            if len(lines) > kept:
                brief = [self._brief.get(line, line) for line in self._lines]
                lines = fold([line for line in brief if line])
            # What it is about stays, and the answers, which come last, however often it was answered wrongly.
            head = max(1, min(_HEAD, kept // 3))
            lines = lines if len(lines) <= kept else [*lines[:head], *lines[len(lines) - kept + head :]]
            return [*lines, *edited]

    def say(self, line: str) -> None:
        """One more line."""
        with self._changed:
            self._lines.append(line)

    def choices(self, lines: list[str], brief: str) -> None:
        """What can be answered, a line each; ``brief``: all of them in one line, where room is short."""
        with self._changed:
            self._lines += lines
            self._brief = dict.fromkeys(lines, "") | {lines[0]: brief}

    def show(self, lines: list[str]) -> None:
        """These lines in place of all others; none: it is closed."""
        with self._changed:
            self._lines = lines

    def terms(self, text: str) -> None:
        """How long there is to answer, in place of what was said before: right above the line that is edited."""
        with self._changed:
            self._terms = text

    def ask(self, prompt: str) -> None:
        """Edit a line from now on."""
        with self._changed:
            self._prompt, self._buffer, self.has_keys = prompt, "", True

    def close(self) -> None:
        """The question is gone, with what was typed at it."""
        with self._changed:
            self._lines, self._terms, self._prompt, self._buffer, self.has_keys = [], "", None, "", False
            self._typed.clear()

    def press(self, key: str) -> None:
        """A key, while the pane has the keys."""
        with self._changed:
            if key == "lost":
                self._is_lost = True
            elif self._prompt is None:
                return
            elif key == "enter":
                self._lines.append(f"{self._prompt}{self._buffer}")
                self._typed.append(self._buffer.strip())
                self._prompt, self._buffer = None, ""
            elif key == "erase":
                self._buffer = self._buffer[:-1]
            elif key in ("erase-line", "escape"):
                self._buffer = ""
            elif len(key) == 1 and len(self._buffer) < _LINE_MAX:
                self._buffer += key
            self._changed.notify_all()

    def typed(self, within: float) -> tuple[bool, str | None]:
        """Is there a line by then, and which; None: there will be none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._typed or self._is_lost, timeout=within)
            return (True, self._typed.popleft()) if self._typed else (self._is_lost, None)
