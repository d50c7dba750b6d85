"""Reads single keys while a table is redrawn. A thread reads the terminal without echo and without waiting for Enter.

Ctrl-C still sends its signal. The program that starts the keyboard must ``stop`` it. Otherwise the shell shows no typed
text afterwards.
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
# The sequences that a terminal sends for keys without a character.
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
    """Calls ``press`` from its thread with each key: a character, or a name such as ``up``. The key is ``lost`` if the
    terminal is gone."""

    def __init__(self, press: Callable[[str], None]) -> None:
        self._press = press
        self._fd = sys.stdin.fileno()
        self._before: list[Any] | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="keyboard", daemon=True)

    def start(self) -> bool:
        """Start reading. Returns False if there is no terminal."""
        if not self.take():
            return False
        self._thread.start()
        return True

    def take(self) -> bool:
        """Switch the terminal to single keys, until ``give_back``. Returns False if there is no terminal."""
        try:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSADRAIN)
        except termios.error:
            return False
        return True

    def stop(self) -> None:
        """Stop reading and restore the terminal. A signal handler may call it, also more than once."""
        self._is_stopped = True
        self.give_back()

    def give_back(self) -> None:
        """Restore the terminal. Typed keys are read again after the next ``take``."""
        before, self._before = self._before, None
        if before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, before)

    def forget_typed(self) -> None:
        """Discard keys that were typed and not read yet."""
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
    """The keys that a terminal sent as ``text``. Unknown sequences are left out. Esc alone is ``escape``."""
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
