"""The output of the program: results to stdout, progress and errors to stderr. It also knows if a person is present.

Every text is made safe before it is printed. Secrets are replaced. Control characters and invisible characters, from a
device or a typing error, are spelled out, so no text can move the cursor or look like another text. In JSON they are
escaped.

If progress cannot be written, this is no error. If a result cannot be written, ``OutputLost`` is raised.
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
    """An object that knows the secrets and replaces them."""

    def scrub(self, text: str) -> str: ...

    def scrub_data(self, data: object) -> object: ...


class _KnowsNone:
    """A redactor without secrets, used until ``redact_with`` sets another one."""

    def scrub(self, text: str) -> str:
        return text

    def scrub_data(self, data: object) -> object:
        return data


class _Door:
    """The state that all output uses. There is one for the process, as for stdout and stderr."""

    redactor: Redactor = _KnowsNone()
    put: Callable[[str], None] | None = None  # the owner of the terminal while it redraws a table there


def redact_with(redactor: Redactor) -> None:
    """From now on the secrets that ``redactor`` knows are replaced in everything that is printed."""
    _Door.redactor = redactor


def say_through(put: Callable[[str], None] | None) -> None:
    """Send lines of progress to ``put`` from now on, because a table is redrawn on the terminal. None ends this."""
    _Door.put = put


def presentable(text: str) -> str:
    """``text`` on one line, without secrets and without control characters."""
    return spelled_out(_Door.redactor.scrub(text))


def redacted(text: str) -> str:
    """``text`` without secrets. Call it before the text is split, because a secret may have several lines."""
    return _Door.redactor.scrub(text)


def say(text: str) -> None:
    """Print a line of progress on stderr."""
    if _Door.put is not None:
        _Door.put(text)
        return
    try:
        _write(sys.stderr, _folded(presentable(text), sys.stderr))
    except OSError:
        _forget(sys.stderr)


def say_cut(text: str) -> None:
    """Print a line of progress in one row of a terminal. The part that does not fit is cut off."""
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
    """The function for a command's progress: ``say``. With ``--json`` it prints nothing, because stderr then has only
    errors."""
    return (lambda _: None) if as_json else say


def show(text: str) -> None:
    """Print a line of the result on stdout. Raises ``OutputLost``."""
    _put(_folded(presentable(text), sys.stdout))


def show_document(text: str) -> None:
    """Print lines without folding or spelling out, such as a schema or a table. Raises ``OutputLost``."""
    _put(_Door.redactor.scrub(text))


def show_stored(data: Any) -> None:
    """Print a stored record unchanged. Its secrets were replaced before it was stored, and its hash is of that text.

    Raises ``OutputLost``.
    """
    _put(json_escaped(json.dumps(data, ensure_ascii=False)))


def show_json(data: Any) -> None:
    """Print one JSON value on one line on stdout. Raises ``OutputLost``."""
    # Secrets are replaced in the texts of the data. In the finished line, a secret like a number would break the JSON.
    _put(json_escaped(json.dumps(_Door.redactor.scrub_data(data), separators=(",", ":"), ensure_ascii=False)))


def show_yaml(data: Any) -> None:
    """Print one YAML document on stdout. Raises ``OutputLost``."""
    from orchestrator.documents.yaml_text import yaml_text

    # The detour through JSON makes plain texts and numbers from special types.
    _put(yaml_text(json.loads(json.dumps(_Door.redactor.scrub_data(data), ensure_ascii=False))))


def say_error(sentence: str, *, hint: str = "") -> None:
    """Print an error and what to do next. A hint may have several lines."""
    say(f"failover: {sentence}")
    for number, line in enumerate(hint.splitlines()):
        say(f"  what to do: {line}" if number == 0 else f"  {line}")


def say_at_once(text: str) -> None:
    """Print a line on stderr from a signal handler. It does not use the buffers, because the interrupted code may be
    using them."""
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
    """The answer that the person at the terminal types at ``question``. Ctrl-C and Ctrl-D are an empty answer."""
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
    """Is there a person at a terminal that can redraw a table in its place?"""
    return is_attended() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def can_show(stream: TextIO, text: str) -> bool:
    """Does the stream's encoding have these characters?"""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def open_what_is_closed() -> None:
    """Open missing standard streams on the null device. The parent process may have closed one (``<&-``, some
    schedulers). Otherwise the next opened file, such as the journal, would get the number of the missing stream."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)  # takes the lowest free number: the missing one
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def tolerate_any_text() -> None:
    """Spell out characters that the output's encoding lacks, because otherwise they would end the program."""
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
    """Redirect the stream to the null device, so the rest in its buffer cannot fail again when the process ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


def _folded(text: str, stream: TextIO) -> str:
    """``text`` broken at blanks for a terminal, with its indent. Without a terminal the text stays whole."""
    width = shutil.get_terminal_size().columns if stream.isatty() else 0
    if width < _NARROWEST or len(text) <= width:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(
        text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False, drop_whitespace=True
    )
