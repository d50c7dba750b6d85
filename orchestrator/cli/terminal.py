"""Where words go: results to stdout, progress and errors to stderr. Knows whether a person is there."""

from __future__ import annotations

import json
import sys
from typing import Any


def say(text: str) -> None:
    """A line of progress, on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def show(text: str) -> None:
    """A line of the result, on stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show_json(data: Any) -> None:
    """One JSON value on one line, on stdout."""
    show(json.dumps(data, separators=(",", ":"), ensure_ascii=False))


def say_error(sentence: str, *, hint: str = "") -> None:
    """An error, and what to do next."""
    say(f"failover: {sentence}")
    if hint:
        say(f"  what to do: {hint}")


def is_attended() -> bool:
    """Is there a person at a terminal who can read a question and answer it?"""
    return sys.stdin.isatty() and sys.stderr.isatty()
