"""A line device in memory, behind the session's seam: prompts, modes, echo, pager, questions, and mishaps.

It behaves like the CLI of docs/sources/solace.md, 3.1, keeps a record of what it obeyed, and lets time pass on the
injected clock only. It is the truth in these tests: ``obeyed`` is what really happened, whatever the session thinks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, ConnectionLost, Unreachable

PAGER = "---Press any key to continue, or `q' to quit---"
QUESTION = "Do you want to continue (y/n)? "
PAGE = "\f"  # in an answer: here the pager stops

Shown = str | Callable[[], str]
MishapKind = Literal["drop-before", "drop-after", "silent", "cut-short", "no-echo", "drop-at-pager", "dead"]


@dataclass
class Obeyed:
    """A line that changed something: in which mode, and on which message VPN."""

    vpn: str
    line: str


@dataclass
class ScriptedDevice:
    """One device. ``answers`` maps a command to what it prints; a callable is asked each time.

    ``refuses`` maps a line in any mode to the error it prints, ``asks`` are lines that ask first, ``says`` are texts
    printed by commands that should print nothing. ``mishaps`` maps a line to what goes wrong at it, once.
    """

    clock: VirtualClock
    name: str = "solace1"
    banner: str = "\r\nWelcome to this device\r\n\r\n"
    answers: dict[str, Shown] = field(default_factory=dict)
    refuses: dict[str, str] = field(default_factory=dict)
    asks: set[str] = field(default_factory=set)
    warning: str = "All clients will be disconnected."  # what it says before it asks
    says: dict[str, str] = field(default_factory=dict)
    mishaps: dict[str, MishapKind] = field(default_factory=dict)
    latency_s: float = 0.0
    chunk: int = 1_000_000
    down: AdapterError | None = None
    prompt_tail: str = " "
    erase_pager: str = "\r\n"
    knows_enable: bool = True
    question_takes: Literal["line", "key"] = "line"
    obeyed: list[Obeyed] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    connections: int = 0
    attempts: int = 0
    lines: list[ScriptedLine] = field(default_factory=list)

    def connect(self) -> ScriptedLine:
        """A new log-in, or the error set in ``down``."""
        self.attempts += 1
        if self.down is not None:
            raise self.down
        self.connections += 1
        line = ScriptedLine(self)
        self.lines.append(line)
        return line

    @property
    def shown(self) -> list[str]:
        """The ``show`` commands heard, in order."""
        return [line for line in self.heard if line.startswith("show ")]


class ScriptedLine:
    """One session with the device."""

    def __init__(self, device: ScriptedDevice) -> None:
        self._device = device
        self._out: deque[tuple[float, str]] = deque()
        self._typed = ""
        self._mode: tuple[str, ...] = ()
        self._vpn = ""
        self._privileged = False
        self._pages: list[str] = []
        self._asked: str | None = None
        self._open = True
        self._dropped = False
        self._print(device.banner + self.prompt)

    @property
    def prompt(self) -> str:
        path = "/".join(self._mode)
        path = path if len(path) <= 40 else "..." + path[-37:]
        mode = f"({path})" if path else ""
        return f"{self._device.name}{mode}{'#' if self._privileged else '>'}{self._device.prompt_tail}"

    # The session's side of the seam.

    @property
    def is_open(self) -> bool:
        return self._open and not self._dropped

    def send(self, data: bytes) -> None:
        if not self.is_open:
            raise Unreachable("the line was closed; nothing was sent")
        for letter in data.decode():
            self._type(letter)

    def receive(self, within_s: float) -> bytes:
        now = self._device.clock.now()
        if self._out and self._out[0][0] <= now + within_s:
            at, text = self._out.popleft()
            self._device.clock.advance_to(at)
            return text.encode()
        if not self.is_open:
            raise ConnectionLost("the line broke")
        self._device.clock.advance(within_s)
        return b""

    def close(self) -> None:
        self._open = False

    # The device's side.

    def drop(self) -> None:
        """Break the connection from the device's side; what was printed can still be read."""
        self._dropped = True

    def say(self, text: str) -> None:
        """Print something nobody asked for."""
        self._print(text)

    def _print(self, text: str) -> None:
        at = self._device.clock.now() + self._device.latency_s
        size = self._device.chunk
        for start in range(0, len(text), size):
            self._out.append((at, text[start : start + size]))

    def _type(self, letter: str) -> None:
        if self._pages:
            self._turn_page(letter)
        elif self._asked is not None and self._device.question_takes == "key":
            self._print("\r\n")
            self._answer(letter)
        elif letter == "\r":
            line, self._typed = self._typed, ""
            self._enter(line)
        else:
            self._typed += letter

    def _turn_page(self, key: str) -> None:
        self._print(self._device.erase_pager)
        if key == "q":
            self._pages = []
            self._print(self.prompt)
        else:
            self._print_pages(self._pages)

    def _print_pages(self, pages: Sequence[str]) -> None:
        first, *rest = pages
        self._pages = rest
        self._print(first + (PAGER if rest else self.prompt))
        if rest and self._device.mishaps.get(PAGER) == "drop-at-pager":
            self.drop()

    def _enter(self, line: str) -> None:
        mishap = self._device.mishaps.pop(line, None) if line else None
        if mishap == "drop-before":
            self.drop()
            return
        if mishap == "dead":  # nothing arrives there, and nothing comes back
            return
        self._device.heard.append(line) if line else None
        if self._asked is not None:
            self._print(line + "\r\n")
            self._answer(line)
            return
        if mishap != "no-echo":
            self._print(line + "\r\n")
        before = len(self._out)
        self._obey(line)
        if mishap in ("drop-after", "silent", "cut-short"):
            said = [self._out.pop() for _ in range(len(self._out) - before)]
            if mishap == "cut-short" and said:
                text = "".join(part for _, part in reversed(said))
                self._print(text[: len(text) // 2])
            if mishap != "silent":
                self.drop()

    def _answer(self, word: str) -> None:
        line, self._asked = self._asked, None
        if word.lower().startswith("y") and line is not None:
            self._change(line)
        self._print(self.prompt)

    def _obey(self, line: str) -> None:
        device = self._device
        if line in device.refuses:
            self._print_pages([device.refuses[line].replace("\n", "\r\n") + "\r\n"])
        elif line in device.asks:
            self._asked = line
            self._print(f"{device.warning}\r\n{QUESTION}")
        elif line in device.answers:
            answer = device.answers[line]
            text = answer() if callable(answer) else answer
            self._print_pages(text.replace("\n", "\r\n").split(PAGE))
        elif self._moves(line):
            self._print(device.says.get(line, "") + self.prompt)
        elif self._is_change(line):
            self._change(line)
            self._print(device.says.get(line, "") + self.prompt)
        elif not line or line in ("no paging",):
            self._print(self.prompt)
        else:
            self._print(f"Invalid command input\r\n{self.prompt}")

    def _moves(self, line: str) -> bool:
        words = line.split(" ", 1)
        match self._mode, words:
            case _, ["end"]:
                self._mode = ()
            case (), ["enable"] if self._device.knows_enable:
                self._privileged = True
            case (), ["configure" | "admin" as mode] if self._privileged:
                self._mode = (mode,)
            case ("configure",), ["message-vpn", vpn]:
                self._mode, self._vpn = ("configure", "message-vpn"), vpn.strip('"')
            case ("configure", "message-vpn"), ["replication"]:
                self._mode = (*self._mode, "replication")
            case ("configure", "message-vpn", "replication"), ["queue"]:
                self._mode = (*self._mode, "queue")
            case ("admin",), ["message-spool", rest] if rest.startswith("message-vpn "):
                self._mode = ("admin", "message-spool")
                self._vpn = rest.removeprefix("message-vpn ").strip('"')
            case _:
                return False
        return True

    def _is_change(self, line: str) -> bool:
        if self._mode == ("configure", "message-vpn"):
            return line.startswith("replication state ")
        if self._mode == ("configure",):
            return line.endswith("service msg-backbone shutdown")
        if self._mode == ("configure", "message-vpn", "replication", "queue"):
            return line.endswith("reject-msg-to-sender-on-discard")
        return self._mode == ("admin", "message-spool") and "-transaction xid " in line

    def _change(self, line: str) -> None:
        self._device.obeyed.append(Obeyed(self._vpn, line))
