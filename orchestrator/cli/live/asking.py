"""Shows a question to an operator and returns the typed line: line by line, or in the pane of the live view."""

from __future__ import annotations

import os
import select
import sys
import termios
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol, TextIO

from orchestrator.cli.live.screen import LiveScreen
from orchestrator.cli.render.terminal import say
from orchestrator.model.runbook import Answer

_LINE_MAX = 4096


class Asking(Protocol):
    """A place for questions."""

    def shown(self) -> AbstractContextManager[None]:
        """Reserve the place for one question during the block."""
        ...

    def forget_typed(self) -> None:
        """Discard the text typed before the question."""
        ...

    def say(self, text: str) -> None:
        """Show a line of the question."""
        ...

    def choices(self, meanings: Mapping[Answer, str]) -> None:
        """Show the possible answers with their meanings."""
        ...

    def clock(self, text: str) -> None:
        """Show for how long no site has served."""
        ...

    def terms(self, text: str) -> None:
        """Show the time left for an answer, and what happens after it. The caller repeats this while the question is
        open."""
        ...

    def prompt(self, text: str) -> None:
        """Start a new input line with ``text``."""
        ...

    def typed(self, within: float) -> tuple[bool, str | None]:
        """Wait up to ``within`` seconds for a line. Returns whether there is one, and the line. The line is None if the
        terminal is gone."""
        ...

    def leave(self, text: str) -> None:
        """Show the last line of a question that is no longer asked. The line stays on the screen."""
        ...


class LineAsking:
    """Asks on stderr, line by line, and reads whole lines from the terminal. ``quiet`` tells the screen to write nothing
    meanwhile. ``stdin`` replaces the process's own input."""

    def __init__(self, quiet: Callable[[bool], None], stdin: TextIO | None = None) -> None:
        self._quiet, self._stdin = quiet, stdin or sys.stdin
        self._lines: deque[str] = deque()  # typed, and not returned yet
        self._has_terms = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        self._has_terms = False
        self._quiet(True)
        try:
            yield
        finally:
            self._quiet(False)

    def forget_typed(self) -> None:
        self._lines.clear()
        with suppress(termios.error):
            termios.tcflush(self._stdin, termios.TCIFLUSH)

    def say(self, text: str) -> None:
        say(text)

    def choices(self, meanings: Mapping[Answer, str]) -> None:
        for line in _explained(meanings):
            say(line)

    def clock(self, text: str) -> None:
        say(text)

    def terms(self, text: str) -> None:
        if not self._has_terms:  # a repeated text would disturb the input line
            self._has_terms = True
            say(text)

    def prompt(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def typed(self, within: float) -> tuple[bool, str | None]:
        if self._lines:
            return True, self._lines.popleft()
        if not select.select([self._stdin], [], [], within)[0]:
            return False, None
        try:
            line = os.read(self._stdin.fileno(), _LINE_MAX)
        except OSError:  # the terminal is gone
            return True, None
        if not line:
            return True, None
        self._lines.extend(one.strip() for one in line.decode("utf-8", "replace").removesuffix("\n").split("\n"))
        return True, self._lines.popleft()

    def leave(self, text: str) -> None:
        say("")
        say(text)


class PaneAsking:
    """Asks in the pane below the table. The table is redrawn meanwhile."""

    def __init__(self, screen: LiveScreen) -> None:
        self._screen = screen

    @contextmanager
    def shown(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._screen.pane.close()
            self._screen.redraw()

    def forget_typed(self) -> None:
        self._screen.forget_typed()

    def say(self, text: str) -> None:
        if text:
            self._screen.pane.say(text)

    def choices(self, meanings: Mapping[Answer, str]) -> None:
        self._screen.pane.choices(_explained(meanings), f"  answers: {', '.join(meanings)}")

    def clock(self, text: str) -> None:
        """Show nothing, because the table above shows the running clock."""

    def terms(self, text: str) -> None:
        self._screen.pane.terms(text)

    def prompt(self, text: str) -> None:
        self._screen.pane.ask(text)
        self._screen.redraw()

    def typed(self, within: float) -> tuple[bool, str | None]:
        return self._screen.pane.typed(within)

    def leave(self, text: str) -> None:
        self._screen.say(text)


def _explained(meanings: Mapping[Answer, str]) -> list[str]:
    return [f"    {choice:<9} {meaning}" for choice, meaning in meanings.items()]
