"""Keys, one by one, while something is redrawn: a thread reads the terminal, which neither echoes nor waits for Enter.

Ctrl-C stays the signal that it is. Whoever starts it must ``stop`` it, or the shell afterwards shows nothing typed.
"""

from __future__ import annotations

import codecs
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_CHECKED_EVERY = 0.1
_READ = 1024
# What a terminal sends for keys that are no characters.
_SEQUENCES = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "page-up",
    "\x1b[6~": "page-down",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "erase",
    "\x08": "erase",
    "\x15": "erase-line",
    "\t": "tab",
    "\x04": "eof",
}


class Keyboard:
    """``press`` is called from its thread with each key: a character, or a name such as ``up``; ``lost`` once the
    terminal is gone."""

    def __init__(self, press: Callable[[str], None]) -> None:
        self._press = press
        self._fd = sys.stdin.fileno()
        self._before: list[Any] | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="keyboard", daemon=True)

    def start(self) -> bool:
        """Read from now on. False where there is no terminal to read from."""
        if not self.take():
            return False
        self._thread.start()
        return True

    def take(self) -> bool:
        """The terminal hands over each key, until it is given back. False where there is none."""
        try:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSADRAIN)
        except termios.error:
            return False
        return True

    def stop(self) -> None:
        """The terminal as it was. May be called from a signal handler, and more than once."""
        self._is_stopped = True
        self.give_back()

    def give_back(self) -> None:
        """The terminal as it was; what is typed is read again once it is taken."""
        before, self._before = self._before, None
        if before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, before)

    def forget_typed(self) -> None:
        """What was typed and is not read yet."""
        with suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def _run(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        while not self._is_stopped:
            try:
                if not select.select([self._fd], [], [], _CHECKED_EVERY)[0]:
                    continue
                piece = os.read(self._fd, _READ)
            except (OSError, ValueError):
                piece = b""
            if not piece:
                self._press("lost")
                return
            for key in keys_in(decode(piece)):
                self._press(key)


def keys_in(text: str) -> list[str]:
    """The keys that a terminal sent as ``text``. A sequence that is not known is left out; Esc alone is ``escape``."""
    keys: list[str] = []
    while text:
        if text[0] == "\x1b":
            known = next((one for one in _SEQUENCES if len(one) > 1 and text.startswith(one)), None)
            if known is not None:
                keys.append(_SEQUENCES[known])
                text = text[len(known) :]
                continue
            if text[1:2] in ("[", "O"):
                rest = text[2:].lstrip("0123456789;?")
                text = rest[1:]
                continue
            keys.append("escape")
        else:
            keys.append(_SEQUENCES.get(text[0], text[0] if text[0].isprintable() else ""))
        text = text[1:]
    return [key for key in keys if key]
