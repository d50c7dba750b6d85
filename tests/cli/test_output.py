"""What leaves through stdout and stderr: no secrets, no control characters, nothing lost without a word."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator

import pytest

from orchestrator.cli.main import main
from orchestrator.cli.render import terminal
from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.errors import OutputLost
from orchestrator.family.secrets import Redactor
from orchestrator.version import VERSION


@pytest.fixture
def redactor() -> Iterator[Redactor]:
    """A redactor that knows the secret "hunter2", and is forgotten afterwards."""
    known = Redactor()
    known.learn("hunter2")
    terminal.redact_with(known)
    yield known
    terminal.redact_with(Redactor())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("grüße ✓", "grüße ✓"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("bell\x07 del\x7f csi\x9b", "bell\\x07 del\\x7f csi\\x9b"),
        ("tab\there", "tab\\there"),
        ("\r\n", "\\r\\n"),
    ],
)
def test_no_text_steers_the_terminal(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: a text from a device or a keyboard is one line, with control characters spelled out."""
    terminal.show(text)
    terminal.say(text)
    assert capsys.readouterr() == (shown + "\n", shown + "\n")


def test_secrets_are_replaced_everywhere(redactor: Redactor, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: every way out replaces what the redactor knows."""
    terminal.show("it is hunter2")
    terminal.show_document("line\nhunter2")
    terminal.show_json({"why": "hunter2", "hunter2": ["hunter2"]})
    terminal.say("hunter2!")
    terminal.say_error("hunter2?", hint="not hunter2")
    out, err = capsys.readouterr()
    assert "hunter2" not in out + err
    assert (out + err).count("[redacted]") == 8


def test_json_stays_json(redactor: Redactor, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: a secret that is a number, a word of JSON or a quote replaces texts, never the form of a line."""
    for secret in ("1234", "true", "null", '":"', "{}"):
        redactor.learn(secret)
    terminal.show_json({"seq": 1234, "yes": True, "none": None, "why": "1234 true null {}"})
    line = json.loads(capsys.readouterr().out)
    assert (line["seq"], line["yes"], line["none"]) == (1234, True, None)
    assert "1234" not in line["why"]


def test_a_stored_record_is_shown_as_it_is_stored(redactor: Redactor, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: an export has the very text that the hash is of; its secrets were replaced when it was stored."""
    terminal.show_stored({"event": "the word hunter2 was no secret then"})
    assert json.loads(capsys.readouterr().out)["event"] == "the word hunter2 was no secret then"


def test_a_hint_may_have_several_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Law: an error is one line; what to do about it may be more, and each of them is indented."""
    terminal.say_error("wrong", hint="either\nor")
    assert capsys.readouterr().err == "failover: wrong\n  what to do: either\n  or\n"


class _Full(io.StringIO):
    """An output on a full disk, or one whose reader is gone."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def flush(self) -> None:
        raise self._error


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def outputs() -> Iterator[None]:
    """Puts stdout and stderr back."""
    before = sys.stdout, sys.stderr
    yield
    sys.stdout, sys.stderr = before


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize(
    ("error", "gone"), [(BrokenPipeError(32, "Broken pipe"), True), (OSError(28, "No space"), False)]
)
def test_a_result_that_cannot_be_written(error: OSError, gone: bool) -> None:
    """Law: a lost result is an error of its own, which tells a reader who went away from a full disk."""
    sys.stdout = _Full(error)
    with pytest.raises(OutputLost) as lost:
        terminal.show("result")
    assert lost.value.is_reader_gone is gone


@pytest.mark.usefixtures("outputs")
def test_progress_that_nobody_can_read() -> None:
    """Law: progress that cannot be written is no error."""
    sys.stderr = _Full(BrokenPipeError(32, "Broken pipe"))
    terminal.say("progress")
    terminal.say_at_once("progress")


@pytest.mark.usefixtures("outputs")
def test_a_terminal_gets_lines_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: on a terminal a long line is broken at blanks and keeps its indent; elsewhere it is left whole."""
    monkeypatch.setenv("COLUMNS", "60")
    text = "    what to do: " + "go on with it or call it off; " * 5 + "x" * 70
    sys.stdout = paper = _Tty()
    terminal.show(text)
    lines = paper.getvalue().splitlines()
    assert all(len(line) <= 60 for line in lines[:-1])
    assert all(line.startswith("      ") for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == text.strip()
    sys.stdout = pipe = io.StringIO()
    terminal.show(text)
    assert pipe.getvalue() == text + "\n"


@pytest.mark.usefixtures("outputs")
def test_a_table_shows_words_as_they_are() -> None:
    """Law: what stands between two colons in a cell is no picture, and what stands in brackets no colour."""
    table = plain_table("agent")
    table.add_row("ocf:heartbeat:redis [red]x[/red]")
    assert list(lines_of(table)) == ["agent", "ocf:heartbeat:redis [red]x[/red]"]


def test_an_encoding_without_our_signs() -> None:
    """Law: what an encoding lacks is spelled out; it ends nothing."""
    raw = io.BytesIO()
    sys.stdout = io.TextIOWrapper(raw, encoding="ascii")
    terminal.tolerate_any_text()
    terminal.show("✓ caf\udce9")
    assert raw.getvalue() == b"\\u2713 caf\\udce9\n"
    assert not terminal.can_show(sys.stdout, "✓")
    sys.stdout = io.StringIO()


def test_the_program_says_which_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The version that is recorded with every run; no command is needed for it."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"failover {VERSION}\n"
