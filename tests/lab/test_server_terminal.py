"""The server's side of a line-oriented shell: echo, editing, keys, latency and mishaps, over a scripted wire."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from orchestrator.errors import Unreachable
from simulator.ssh.shell import LINE_MAX, Chaos, LineEditor, Mishap, MishapKind, ServerTerminal, Wants


class Echoing:
    """A shell that answers each line with its own text in capitals."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.keys: list[str] = []
        self.wants: Wants = "line"
        self.interrupted = 0

    def greet(self) -> str:
        return "Welcome.\n> "

    def take_line(self, line: str) -> str:
        self.lines.append(line)
        if line == "gone":
            raise Unreachable("the device is gone")
        self.wants = "nothing" if line == "bye" else "key" if line == "more" else "line"
        return "" if line == "bye" else f"{line.upper()}\n> "

    def take_key(self, key: str) -> str:
        self.keys.append(key)
        self.wants = "line"
        return "\n> "

    def interrupt(self) -> str:
        self.interrupted += 1
        return "> "

    def resize(self, columns: int, rows: int) -> None: ...


class Scripted:
    """A wire on which the given pieces arrive; what is sent is kept."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = list(pieces)
        self.sent = b""
        self.is_dropped = False

    def receive(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    def send(self, data: bytes) -> None:
        if self.is_dropped:
            raise OSError("nobody listens")
        self.sent += data

    def drop(self) -> None:
        self.is_dropped = True


def serve(*pieces: bytes, chaos: Chaos | None = None, **options: Any) -> tuple[Scripted, Echoing]:
    wire, shell = Scripted(pieces), Echoing()
    ServerTerminal(wire, shell, chaos=chaos, **options).run()
    return wire, shell


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_a_line_is_echoed_and_answered(end: bytes) -> None:
    """The greeting, the echo, the answer and the next prompt, with CR LF, whatever ended the typed line."""
    wire, shell = serve(b"ab", b"c" + end, b"d" + end)
    assert wire.sent == b"Welcome.\r\n> abc\r\nABC\r\n> d\r\nD\r\n> "
    assert shell.lines == ["abc", "d"]


def test_cr_lf_torn_between_two_pieces_is_one_end() -> None:
    """The LF that follows a CR is no second, empty line, even when it comes later."""
    assert serve(b"a\r", b"\nb\r\n")[1].lines == ["a", "b"]


def test_type_ahead_is_answered_line_by_line() -> None:
    """Lines that come in one piece are echoed and answered in turn."""
    wire, shell = serve(b"a\rb\r")
    assert wire.sent.endswith(b"> a\r\nA\r\n> b\r\nB\r\n> ")
    assert shell.lines == ["a", "b"]


def test_letters_of_other_languages_survive_being_torn() -> None:
    """A character of several bytes may arrive in pieces; what is no UTF-8 becomes a replacement sign."""
    e_acute = "é".encode()
    assert serve(e_acute[:1], e_acute[1:] + b"\r")[1].lines == ["é"]
    assert serve(b"\xff\r")[1].lines == ["\ufffd"]


@pytest.mark.parametrize(
    ("typed", "line", "echo"),
    [
        ("ab\x7fc", "ac", "ab\b \bc"),
        ("ab\x08\x08\x08c", "c", "ab\b \b\b \bc"),
        ("ab\x15c", "c", "ab\b \b\b \bc"),
        ("a\x1b[Ab", "ab", "ab"),
        ("a\x1b[1;5Cb\x1bOb", "abb", "abb"),
        ("a\tb\x00\x07", "ab", "ab"),
    ],
)
def test_editing(typed: str, line: str, echo: str) -> None:
    """Backspace, delete and Ctrl-U erase, on the screen too; arrow keys, tabs and other controls do nothing."""
    editor = LineEditor()
    shown = "".join(editor.type(char)[0] for char in typed)
    assert shown == echo
    assert editor.type("\r") == ("\n", line)
    assert editor.is_empty


def test_endless_lines_do_not_grow() -> None:
    """Beyond the longest line there is a bell for each character, and nothing is kept."""
    editor = LineEditor()
    for _ in range(LINE_MAX):
        editor.type("x")
    assert editor.type("y") == ("\x07", None)
    assert editor.type("\r")[1] == "x" * LINE_MAX


def test_ctrl_c_forgets_the_line() -> None:
    """What was typed is gone, the shell is told, and its prompt follows."""
    wire, shell = serve(b"abc\x03d\r")
    assert shell.lines == ["d"]
    assert shell.interrupted == 1
    assert b"> abc^C\r\n> d\r\nD" in wire.sent


def test_ctrl_d_on_an_empty_line_hangs_up() -> None:
    """Ctrl-D ends the session at an empty line, and is nothing in the middle of one."""
    assert serve(b"a\x04b\r", b"\x04", b"c\r")[1].lines == ["ab"]


def test_a_key_is_taken_at_once_and_not_echoed() -> None:
    """Where the shell wants a key, the first one goes there, even a line's end; the rest is typing again."""
    wire, shell = serve(b"more\rxy\r")
    assert (shell.keys, shell.lines) == (["x"], ["more", "y"])
    assert b"MORE\r\n> \r\n> y\r\nY" in wire.sent
    assert serve(b"more\r\r\nz\r")[1].keys == ["\n"]


def test_nothing_is_taken_after_the_shell_ended() -> None:
    """What was typed ahead of the end is not obeyed."""
    wire, shell = serve(b"bye\rrm\r", b"more\r")
    assert shell.lines == ["bye"]
    assert wire.sent.endswith(b"> bye\r\n")


def test_a_device_that_is_gone_breaks_the_connection() -> None:
    """No answer, no prompt, no goodbye."""
    wire, _ = serve(b"a\rgone\rb\r")
    assert wire.is_dropped
    assert wire.sent.endswith(b"A\r\n> gone\r\n")


def test_a_client_that_left_is_no_error() -> None:
    """Sending into a closed connection ends the terminal quietly."""
    wire, shell = Scripted([b"a\r"]), Echoing()
    wire.drop()
    ServerTerminal(wire, shell).run()
    assert shell.lines == []


@pytest.mark.parametrize(
    ("kind", "obeyed", "sent"),
    [
        ("drop-before", ["one"], b"> two\r\n"),
        ("drop-after", ["one", "two"], b"> two\r\n"),
        ("cut-short", ["one", "two"], b"> two\r\nTWO"),
    ],
)
def test_mishaps_that_break_the_connection(kind: MishapKind, obeyed: list[str], sent: bytes) -> None:
    """The connection breaks before or after the line took effect; of the answer nothing, or half, arrives."""
    chaos = Chaos()
    chaos.plan(Mishap(kind, matching="t", nth=1))
    wire, shell = serve(b"one\rtwo\rthree\r", chaos=chaos)
    assert shell.lines == obeyed
    assert wire.is_dropped
    assert wire.sent.endswith(sent)
    assert b"TWO\r\n" not in wire.sent
    assert chaos.happened == (Mishap(kind, matching="t", nth=1),)


def test_garbage_replaces_the_answer_and_not_the_prompt() -> None:
    """The line was obeyed; its answer is rubbish; the next line is answered as ever."""
    chaos = Chaos()
    chaos.plan(Mishap("garbage", matching="two"))
    wire, shell = serve(b"one\rtwo\rone\r", chaos=chaos)
    assert shell.lines == ["one", "two", "one"]
    assert b"TWO" not in wire.sent
    assert b"\x00\r\n> one\r\nONE\r\n> " in wire.sent


def test_a_mishap_counts_its_own_lines_and_happens_once() -> None:
    """The nth line with the text is hit, over all connections of the server, and no other."""
    chaos = Chaos()
    chaos.plan(Mishap("drop-after", matching="show", nth=3), Mishap("garbage", matching="exit"))
    assert [chaos.strike(line) for line in ("show a", "exit", "show b")] == [None, Mishap("garbage", "exit"), None]
    assert chaos.strike("show c") == Mishap("drop-after", "show", 3)
    assert chaos.strike("show d") is None


@pytest.mark.realtime
@pytest.mark.parametrize(("kind", "before"), [("freeze-before", []), ("freeze-after", ["a"])])
def test_frozen_output_comes_late(kind: MishapKind, before: list[str]) -> None:
    """While frozen nothing is answered; the effect comes late or has come already; after the thaw all goes on."""
    chaos = Chaos()
    chaos.plan(Mishap(kind))
    wire, shell = Scripted([b"a\rb\r"]), Echoing()
    serving = threading.Thread(target=ServerTerminal(wire, shell, chaos=chaos).run)
    serving.start()
    assert chaos.wait_frozen(10)
    assert shell.lines == before
    assert wire.sent.endswith(b"> a\r\n")
    chaos.thaw()
    serving.join(10)
    assert shell.lines == ["a", "b"]
    assert wire.sent.endswith(b"A\r\n> b\r\nB\r\n> ")


@pytest.mark.realtime
def test_a_frozen_terminal_ends_when_the_server_stops() -> None:
    """Stopping does not wait for a thaw, and what was frozen before its effect never takes effect."""
    chaos, stop = Chaos(), threading.Event()
    chaos.plan(Mishap("freeze-before"))
    wire, shell = Scripted([b"a\r"]), Echoing()
    serving = threading.Thread(target=ServerTerminal(wire, shell, chaos=chaos, stop=stop).run)
    serving.start()
    assert chaos.wait_frozen(10)
    stop.set()
    serving.join(10)
    assert not serving.is_alive()
    assert shell.lines == []


def test_latency_passes_between_echo_and_answer() -> None:
    """The echo leaves before the wait, the answer after it."""
    seen: list[bytes] = []

    class Patient(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            seen.append(wire.sent)
            assert timeout == 0.25
            return False

    wire, shell = Scripted([b"a\r"]), Echoing()
    ServerTerminal(wire, shell, latency_s=0.25, stop=Patient()).run()
    assert seen == [b"Welcome.\r\n> a\r\n"]
    assert wire.sent.endswith(b"A\r\n> ")
