"""The lines below the table for a question and its answer. The rows above are still redrawn. One line is edited.

While a question is open, the pane gets the keys, until Tab gives them to the table.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

_LINE_MAX = 4096
_HEAD, _EDITED = 2, 2  # in lines: the shown start of a too long question, and the shown end of the typed text
_QUESTION_LEAST = 2  # the fewest lines of a question; below this, the time left to answer is left out


class Pane:
    """The lines of a question and the typed answer. The desk's thread and the keyboard's thread use it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._brief: dict[str, str] = {}  # shorter lines for little room; empty: left out
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
        """Is there an input line?"""
        return self._prompt is not None

    def shown(self, height: int, fold: Callable[[list[str]], list[str]] = list) -> list[str]:
        """The lines of the pane, at most ``height``: the question, and the end of the input line. ``fold`` breaks lines
        that are too long."""
        with self._changed:
            edited = [] if self._prompt is None else fold([f"{self._prompt}{self._buffer}"])[-_EDITED:]
            terms = fold([self._terms] if self._terms else [])
            edited = [*terms, *edited] if len(terms) + len(edited) + _QUESTION_LEAST <= height else edited
            lines, kept = fold(self._lines), max(0, height - len(edited))
            if len(lines) > kept:
                brief = [self._brief.get(line, line) for line in self._lines]
                lines = fold([line for line in brief if line])
            # The first lines (the subject) and the last lines (the answers) stay, also after many wrong answers.
            head = max(1, min(_HEAD, kept // 3))
            lines = lines if len(lines) <= kept else [*lines[:head], *lines[len(lines) - kept + head :]]
            return [*lines, *edited]

    def say(self, line: str) -> None:
        """Add one line."""
        with self._changed:
            self._lines.append(line)

    def choices(self, lines: list[str], brief: str) -> None:
        """Add the possible answers, one line each. ``brief`` has all of them in one line, for little room."""
        with self._changed:
            self._lines += lines
            self._brief = dict.fromkeys(lines, "") | {lines[0]: brief}

    def show(self, lines: list[str]) -> None:
        """Replace all lines. Without lines the pane is closed."""
        with self._changed:
            self._lines = lines

    def terms(self, text: str) -> None:
        """Replace the line with the time left to answer. It is right above the input line."""
        with self._changed:
            self._terms = text

    def ask(self, prompt: str) -> None:
        """Start an input line."""
        with self._changed:
            self._prompt, self._buffer, self.has_keys = prompt, "", True

    def close(self) -> None:
        """Remove the question and the typed text."""
        with self._changed:
            self._lines, self._terms, self._prompt, self._buffer, self.has_keys = [], "", None, "", False
            self._typed.clear()

    def press(self, key: str) -> None:
        """Handle a key while the pane has the keys."""
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
        """Wait up to ``within`` seconds for a line. Returns whether there is one, and the line. The line is None if the
        terminal is gone."""
        with self._changed:
            self._changed.wait_for(lambda: self._typed or self._is_lost, timeout=within)
            return (True, self._typed.popleft()) if self._typed else (self._is_lost, None)
