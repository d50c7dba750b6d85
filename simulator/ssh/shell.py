"""The server side of a line-oriented shell: echo, line editing, latency, and the faults that tests order.

It connects any ``Wire`` (an SSH channel, a socket) with any ``Shell`` (the meaning of the lines). It must not depend
on the commands of a vendor. It must never sleep without checking for the order to stop.
"""

from __future__ import annotations

import codecs
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from orchestrator.errors import AdapterError

Wants = Literal["line", "key", "nothing"]
AnswerMishap = Literal["drop-after", "cut-short", "freeze-after", "silent", "shortened", "garbage"]
MishapKind = AnswerMishap | Literal["drop-before", "freeze-before"]

LINE_MAX = 4096  # characters; further characters are ignored, as by a terminal driver
GARBAGE = "\ufffd\x07~#>{%garbage%}<#~\x00\n"
_FROZEN_GLANCE_S = 0.1  # how often a frozen terminal checks whether the server stops

_ETX, _EOT, _BEL, _BS, _NAK, _ESC, _DEL = "\x03", "\x04", "\x07", "\x08", "\x15", "\x1b", "\x7f"


class Shell(Protocol):
    """The program that answers at a terminal. Lines of its texts end with ``\\n``. The last line is the next prompt.

    A shell whose device is gone raises ``AdapterError``. The connection then breaks silently. To make an answer go wrong,
    a shell raises ``Spoilt`` instead of returning the answer.
    """

    @property
    def wants(self) -> Wants:
        """The input that the shell waits for: a line, or a single key (pager, question). ``nothing``: the shell has
        ended."""
        ...

    def greet(self) -> str:
        """The login banner and the first prompt."""
        ...

    def take_line(self, line: str) -> str:
        """The answer to a complete line, and the next prompt. The line has no line end."""
        ...

    def take_key(self, key: str) -> str:
        """The answer to one key. The key is not echoed. To echo it, a shell returns it."""
        ...

    def interrupt(self) -> str:
        """Handle Ctrl-C: abort the current input. Returns the next prompt."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal, in characters. Another thread may call this."""
        ...


class Spoilt(Exception):
    """A shell's answer, and its fault on the way to the client. By then the line was obeyed or lost."""

    def __init__(self, kind: AnswerMishap, answer: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.answer = answer


class Wire(Protocol):
    """Bytes in both directions. ``receive`` blocks and returns ``b""`` at the end. ``send`` raises OSError on failure."""

    def receive(self) -> bytes: ...

    def send(self, data: bytes) -> None: ...

    def drop(self) -> None:
        """Break the whole connection without a message."""
        ...


@dataclass(frozen=True, slots=True)
class Mishap:
    """A fault at the ``nth`` line, from now on, that contains ``matching``.

    - ``drop-before``: the connection breaks, and the shell does not get the line.
    - ``drop-after``: the shell obeys, and the connection breaks before the answer.
    - ``cut-short``: the shell obeys, half of the answer arrives, the connection breaks.
    - ``freeze-before``: nothing happens until ``Chaos.thaw``. Then the line takes effect, late.
    - ``freeze-after``: the shell obeys, and the answer arrives only after ``Chaos.thaw``.
    - ``silent``: as ``freeze-after``, but without the echo, as over a half-open connection.
    - ``shortened``: the shell obeys, half of the answer and the next prompt arrive.
    - ``garbage``: the shell obeys, the answer is replaced by garbage, the next prompt is complete.
    """

    kind: MishapKind
    matching: str = ""
    nth: int = 1


class Chaos:
    """The planned faults of one server, over all its connections. Each happens once. Safe to use from several
    threads."""

    def __init__(self) -> None:
        self._guard = threading.Condition()
        self._planned: list[tuple[Mishap, int]] = []  # with the number of matching lines still to come
        self._happened: list[Mishap] = []
        self._frozen: deque[threading.Event] = deque()

    def plan(self, *mishaps: Mishap) -> None:
        """Plan faults. Lines are counted from this moment."""
        with self._guard:
            self._planned += [(mishap, mishap.nth) for mishap in mishaps]

    @property
    def happened(self) -> tuple[Mishap, ...]:
        """The faults that happened, in order."""
        with self._guard:
            return tuple(self._happened)

    def strike(self, line: str) -> Mishap | None:
        """The fault of this line, if any. Call this exactly once for every line."""
        with self._guard:
            struck: Mishap | None = None
            kept: list[tuple[Mishap, int]] = []
            for mishap, left in self._planned:
                left -= mishap.matching in line
                if left <= 0 and struck is None:
                    struck = mishap
                else:
                    kept.append((mishap, left))
            self._planned = kept
            if struck is not None:
                self._happened.append(struck)
            return struck

    def freeze(self, stop: threading.Event) -> bool:
        """Block until ``thaw``. Returns False if the server stops first."""
        thawed = threading.Event()
        with self._guard:
            self._frozen.append(thawed)
            self._guard.notify_all()
        while not thawed.wait(_FROZEN_GLANCE_S):
            if stop.is_set():
                return False
        return True

    def wait_frozen(self, timeout_s: float) -> bool:
        """Wait until a terminal is frozen. Returns False if none is frozen within ``timeout_s``."""
        with self._guard:
            return self._guard.wait_for(lambda: bool(self._frozen), timeout_s)

    def thaw(self) -> None:
        """Let every frozen terminal continue."""
        with self._guard:
            while self._frozen:
                self._frozen.popleft().set()


class LineEditor:
    """Takes characters, returns the echo and complete lines. Handles Backspace and Ctrl-U, ignores other control keys."""

    def __init__(self) -> None:
        self._typed: list[str] = []
        self._in_sequence = ""  # the part of an escape sequence received so far

    @property
    def is_empty(self) -> bool:
        return not self._typed

    def clear(self) -> None:
        """Discard the line."""
        self._typed.clear()
        self._in_sequence = ""

    def type(self, char: str) -> tuple[str, str | None]:
        """The echo of ``char``, and the complete line if ``char`` ended one."""
        if self._in_sequence or char == _ESC:
            self._swallow(char)
            return "", None
        if char in "\r\n":
            line = "".join(self._typed)
            self.clear()
            return "\n", line
        if char in (_BS, _DEL):
            return ("\b \b" if self._typed and self._typed.pop() else ""), None
        if char == _NAK:
            echo = "\b \b" * len(self._typed)
            self.clear()
            return echo, None
        if char < " ":
            return "", None
        if len(self._typed) >= LINE_MAX:
            return _BEL, None
        self._typed.append(char)
        return char, None

    def _swallow(self, char: str) -> None:
        # ECMA-48: "ESC [" and parameters end with a character from @ to ~. Any other ESC takes one more character.
        self._in_sequence += char
        is_csi = self._in_sequence.startswith("\x1b[")
        if (is_csi and len(self._in_sequence) > 2 and "@" <= char <= "~") or (
            not is_csi and len(self._in_sequence) >= 2
        ):
            self._in_sequence = ""


class _Broken(Exception):
    """The terminal ends: a fault broke the connection, or the server stops."""


class ServerTerminal:
    """One shell served over one wire, character by character, until either side ends it."""

    def __init__(
        self,
        wire: Wire,
        shell: Shell,
        *,
        chaos: Chaos | None = None,
        latency_s: float = 0.0,
        stop: threading.Event | None = None,
    ) -> None:
        self._wire = wire
        self._shell = shell
        self._chaos = chaos if chaos is not None else Chaos()
        self._latency_s = latency_s
        self._stop = stop if stop is not None else threading.Event()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._editor = LineEditor()
        self._unsent: list[str] = []
        self._after_cr = False

    def run(self) -> None:
        """Greet, then answer until the shell ends, the client leaves, or the server stops. Does not raise in these
        cases."""
        goes_on = self.begin()
        with suppress(OSError, EOFError):
            while goes_on and (data := self._wire.receive()):
                goes_on = self.take(data)

    def begin(self) -> bool:
        """Greet. Returns False if the session already ended."""
        return self._goes_on(lambda: self._say(self._shell.greet()))

    def take(self, data: bytes) -> bool:
        """Answer the client's input. Returns False when the session has ended. Do not call it again after that."""
        return self._goes_on(lambda: self._type(self._decoder.decode(data)))

    def _goes_on(self, step: Callable[[], None]) -> bool:
        try:
            step()
            self._flush()
        except AdapterError:
            with suppress(OSError, _Broken):
                self._break_off()
            return False
        except (OSError, EOFError, _Broken):
            return False
        return not self._is_over()

    def _type(self, text: str) -> None:
        for char in text:
            self._take(char)
            if self._is_over():
                return

    def _is_over(self) -> bool:
        return self._stop.is_set() or self._shell.wants == "nothing"

    def _take(self, char: str) -> None:
        is_line_end_twice = char == "\n" and self._after_cr  # CR LF counts as one key
        self._after_cr = char == "\r"
        if is_line_end_twice:
            return
        if char == _ETX:
            self._editor.clear()
            self._say("^C\n" + self._shell.interrupt())
        elif char == _EOT and self._editor.is_empty:
            raise _Broken
        elif self._shell.wants == "key":
            self._say(self._shell.take_key("\n" if char == "\r" else char))
        else:
            echo, line = self._editor.type(char)
            self._say(echo)
            if line is not None:
                self._finish(line)

    def _finish(self, line: str) -> None:
        mishap = self._chaos.strike(line)
        kind = None if mishap is None else mishap.kind
        if kind == "drop-before":
            self._break_off()
        elif kind == "freeze-before":
            self._freeze()
        try:
            answer = self._shell.take_line(line)
        except Spoilt as spoilt:
            kind, answer = spoilt.kind, spoilt.answer
        self._wait()
        self._answer(kind, answer)

    def _answer(self, kind: MishapKind | None, answer: str) -> None:
        body, end, prompt = answer.rpartition("\n")
        match kind:
            case "drop-after":
                self._break_off()
            case "cut-short":
                self._say(answer[: len(answer) // 2])
                self._break_off()
            case "freeze-after":
                self._freeze()
            case "silent":
                self._unsent.clear()
                self._freeze()
            case "shortened":
                answer = body[: len(body) // 2] + end + prompt
            case "garbage":
                answer = GARBAGE + prompt
        self._say(answer)

    def _wait(self) -> None:
        if self._latency_s > 0:
            self._flush()  # the echo is sent at once, the answer after the latency
            if self._stop.wait(self._latency_s):
                raise _Broken

    def _freeze(self) -> None:
        self._flush()
        if not self._chaos.freeze(self._stop):
            raise _Broken

    def _break_off(self) -> None:
        self._flush()  # answers to earlier lines and the echo of this line are sent first
        self._wire.drop()
        raise _Broken

    def _say(self, text: str) -> None:
        if text:
            self._unsent.append(text)

    def _flush(self) -> None:
        if self._unsent:
            text = "".join(self._unsent).replace("\n", "\r\n")
            self._unsent.clear()
            self._wire.send(text.encode("utf-8"))
