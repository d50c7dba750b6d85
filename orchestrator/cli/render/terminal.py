"""Where words go: results to stdout, progress and errors to stderr. Knows whether a person is there.

Nothing leaves through here as it came: secrets are replaced, and characters that steer a terminal or hide (which a device
or a slip of the keyboard may have put into a text) are spelled out, so that no text can move the cursor or pass for
another one; in JSON they are escaped.
Progress that no one can read any more is no error; a result that cannot be written is ``OutputLost``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any, Protocol, TextIO

import typer

from orchestrator.characters import json_escaped, spelled_out
from orchestrator.errors import OutputLost

_NARROWEST = 40


class Redactor(Protocol):
    """What knows the secrets, and replaces them."""

    def scrub(self, text: str) -> str: ...

    def scrub_data(self, data: object) -> object: ...


class _KnowsNone:
    """Until a person brings one that does."""

    def scrub(self, text: str) -> str:
        return text

    def scrub_data(self, data: object) -> object:
        return data


class _Door:
    """What every text passes on its way out; one for the process, as stdout and stderr are."""

    redactor: Redactor = _KnowsNone()
    put: Callable[[str], None] | None = None  # what owns the terminal, while something is redrawn there


def redact_with(redactor: Redactor) -> None:
    """From now on the secrets that ``redactor`` knows are replaced in everything that is printed."""
    _Door.redactor = redactor


def say_through(put: Callable[[str], None] | None) -> None:
    """Lines of progress go to ``put`` from now on, since something is redrawn on the terminal; None: no more."""
    _Door.put = put


def presentable(text: str) -> str:
    """``text`` on one line, without secrets and without anything that would steer a terminal."""
    return spelled_out(_Door.redactor.scrub(text))


def redacted(text: str) -> str:
    """``text`` without secrets; before it is taken apart, or a secret of several lines is no longer one."""
    return _Door.redactor.scrub(text)


def say(text: str) -> None:
    """A line of progress, on stderr."""
    if _Door.put is not None:
        _Door.put(text)
        return
    try:
        _write(sys.stderr, _folded(presentable(text), sys.stderr))
    except OSError:
        _forget(sys.stderr)


def say_cut(text: str) -> None:
    """The same in one row of a terminal: what does not fit is left out."""
    line = presentable(text)
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    if width >= _NARROWEST and len(line) > width:
        dots = "…" if can_show(sys.stderr, "…") else "..."
        line = line[: width - len(dots)] + dots
    try:
        _write(sys.stderr, line)
    except OSError:
        _forget(sys.stderr)


def say_unless(as_json: bool) -> Callable[[str], None]:
    """What a command tells its progress to: ``say``; with ``--json`` no one, as its stderr has nothing but errors."""
    return (lambda _: None) if as_json else say


def show(text: str) -> None:
    """A line of the result, on stdout. Raises ``OutputLost``."""
    _put(_folded(presentable(text), sys.stdout))


def show_document(text: str) -> None:
    """Lines that are printed as they are, such as a schema or a table. Raises ``OutputLost``."""
    _put(_Door.redactor.scrub(text))


def show_stored(data: Any) -> None:
    """A stored record, exactly as it is: its secrets were replaced before it was stored, and its hash is of that.

    Raises ``OutputLost``.
    """
    _put(json_escaped(json.dumps(data, ensure_ascii=False)))


def show_json(data: Any) -> None:
    """One JSON value on one line, on stdout. Raises ``OutputLost``."""
    # Secrets are replaced in the texts of the data: replaced in a line, one that looks like a number would break it.
    _put(json_escaped(json.dumps(_Door.redactor.scrub_data(data), separators=(",", ":"), ensure_ascii=False)))


def show_yaml(data: Any) -> None:
    """One YAML document, on stdout. Raises ``OutputLost``."""
    from orchestrator.documents.yaml_text import yaml_text

    # Through JSON: special kinds of texts and numbers become plain ones.
    _put(yaml_text(json.loads(json.dumps(_Door.redactor.scrub_data(data), ensure_ascii=False))))


def say_error(sentence: str, *, hint: str = "") -> None:
    """An error, and what to do next; a hint may have several lines."""
    say(f"failover: {sentence}")
    for number, line in enumerate(hint.splitlines()):
        say(f"  what to do: {line}" if number == 0 else f"  {line}")


def say_at_once(text: str) -> None:
    """A line on stderr from a signal handler: past the buffers, which the interrupted code may be using."""
    try:
        os.write(sys.stderr.fileno(), f"{text}\n".encode())
    except (OSError, ValueError):
        return


def agrees(question: str) -> bool:
    """Ask the person at the terminal once. Enter, Ctrl-C and Ctrl-D mean no."""
    try:
        return typer.confirm(question, default=False, err=True)
    except (typer.Abort, KeyboardInterrupt):
        say("")  # the question's line is still open
        return False


def answered(question: str) -> str:
    """What the person at the terminal types at ``question``, once. Ctrl-C and Ctrl-D are an empty answer."""
    try:
        return str(
            typer.prompt(
                _folded(presentable(question), sys.stderr).rstrip() + " ",
                default="",
                show_default=False,
                prompt_suffix="",
                err=True,
            )
        ).strip()
    except (typer.Abort, KeyboardInterrupt):
        say("")  # the question's line is still open
        return ""


def is_attended() -> bool:
    """Is there a person at a terminal who can read a question and answer it?"""
    return sys.stdin.isatty() and sys.stderr.isatty()


def can_redraw() -> bool:
    """Can the terminal of that person show a table in place of the one before?"""
    return is_attended() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def can_show(stream: TextIO, text: str) -> bool:
    """Does the stream's encoding have these characters?"""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def open_what_is_closed() -> None:
    """A standard stream that whoever started this process had closed (``<&-``, some schedulers) reads nothing and goes
    nowhere: else it is missing, and the next file that is opened, the journal say, has its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)  # takes the lowest free place, which is this one
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def tolerate_any_text() -> None:
    """Characters that an output's encoding lacks are spelled out there, instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _put(text: str) -> None:
    try:
        _write(sys.stdout, text)
    except OSError as error:
        _forget(sys.stdout)
        gone = isinstance(error, BrokenPipeError)
        raise OutputLost(f"the output could not be written: {error.strerror}", is_reader_gone=gone) from error


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def _forget(stream: TextIO) -> None:
    """What is still in the buffer must not fail once more when the process ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


def _folded(text: str, stream: TextIO) -> str:
    """Broken at blanks for a terminal, with the indent kept; whole for everything that is no terminal."""
    width = shutil.get_terminal_size().columns if stream.isatty() else 0
    if width < _NARROWEST or len(text) <= width:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(
        text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False, drop_whitespace=True
    )
