"""Turns the bytes of a line-oriented CLI into the text that a terminal would show, and recognises its prompts.

Pure functions over text. A ``Dialect``, given by a family, describes the prompts, the pager and the questions of one
product's CLI. This module sends nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_ERASE_LINE = re.compile(r"\x1b\[[02]?K")


@dataclass(frozen=True, slots=True)
class Prompt:
    """``name(mode)#``: the device's name, its mode (empty at the top), and whether the prompt may configure (``#``)."""

    name: str
    mode: str
    privileged: bool

    def is_in(self, mode: str) -> bool:
        """Is this the prompt of ``mode``? Long paths are shortened on the left: ``...ssage-vpn/replication``."""
        if self.mode.startswith("..."):
            shown = self.mode[3:]
            return len(shown) >= 4 and mode.endswith(shown)
        return self.mode == mode

    def __str__(self) -> str:
        mode = f"({self.mode})" if self.mode else ""
        return f"{self.name}{mode}{'#' if self.privileged else '>'}"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one product's CLI talks.

    ``prompt`` matches a whole last line, with groups ``name``, ``mode`` and ``sign``; ``pager`` and ``question`` match
    a part of it. ``setup`` are the session's own lines after each log-in: they must not change a device, and their
    answers are not checked. ``top`` leaves every mode, ``enable`` asks for the privileged prompt. ``reading`` is the
    start of a line that only shows something.
    """

    prompt: re.Pattern[str]
    pager: re.Pattern[str]
    question: re.Pattern[str]
    pager_answer: str = " "
    setup: tuple[str, ...] = ()
    top: str = "end"
    enable: str = "enable"
    reading: str = "show "

    def prompt_in(self, line: str, name: str | None = None) -> Prompt | None:
        """The prompt in ``line``, or None. With ``name``, only prompts of that device count."""
        found = self.prompt.fullmatch(line)
        if found is None or (name is not None and found["name"] != name):
            return None
        return Prompt(found["name"], found["mode"] or "", found["sign"] == "#")

    def lines(self, text: str) -> list[str]:
        """The lines a terminal would show, without the pager's."""
        shown: list[str] = []
        for line in text.replace("\r\n", "\n").split("\n"):
            rendered, _ = _render(line)
            without = self.pager.sub("", rendered)
            if without != rendered and not without.strip():
                continue
            shown.append(without.rstrip())
        return shown

    def last_line(self, text: str) -> str:
        """The unfinished last line up to the cursor; its trailing blank is kept, since it belongs to the prompt."""
        shown, cursor = _render(text[text.rfind("\n") + 1 :])
        return shown[:cursor] if not shown[cursor:].strip() else shown


def _render(line: str) -> tuple[str, int]:
    """One line after carriage returns, backspaces and erasing, and the position of the cursor.

    Later letters overwrite earlier ones, as on the terminal. This removes the text of a pager.
    """
    if line.endswith("\r") and "\r" not in line[:-1]:
        line = line[:-1]  # half of a line end
    if not any(control in line for control in "\r\b\x1b"):
        return line, len(line)
    cells: list[str] = []
    # The cells before ``clean`` are blanks already. Without ``clean``, a device that erases its line again and again
    # would keep this program busy for ever.
    position = index = clean = 0
    while index < len(line):
        letter = line[index]
        if letter == "\x1b":
            erase = _ERASE_LINE.match(line, index)
            escape = erase or _ESCAPE.match(line, index)
            if erase is not None:
                del cells[position:]
                if "2" in erase.group():
                    cells[clean:] = [" "] * (position - clean)
                clean = position if "2" in erase.group() else min(clean, position)
            index = escape.end() if escape is not None else index + 1
            continue
        index += 1
        if letter == "\r":
            position = 0
        elif letter == "\b":
            position = max(0, position - 1)
        else:
            cells[position : position + 1] = [letter]
            clean = min(clean, position)
            position += 1
    return "".join(cells), position
