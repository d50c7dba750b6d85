"""Reports the exchanges with a site of a declared family to the context's witness: the wire log of ``-v`` and
``--log-file``.

There is one exchange for each command, statement and message, with its answer or its error. HTTP sessions report their
exchanges themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import AdapterError
from orchestrator.family.contract import AdapterContext
from orchestrator.model.exchanges import Exchange


@dataclass(slots=True)
class Told:
    """The answer of the site, which the caller sets."""

    answer: str = ""


@contextmanager
def told(context: AdapterContext, device: str, sent: str) -> Iterator[Told]:
    """One exchange: ``sent`` is sent within the block. An ``AdapterError`` is reported in place of the answer."""
    asked_at, answer = context.clock.now(), Told()
    failed = why = ""
    try:
        yield answer
    except AdapterError as error:
        failed, why = type(error).__name__, str(error)
        raise
    finally:
        if context.witness is not None:
            now = context.clock.now()
            context.witness.heard(Exchange(device, sent, asked_at, now, answer=answer.answer, failed=failed, why=why))


def statement_line(statement: str, values: Mapping[str, Any]) -> str:
    """A statement in one line, followed by its parameters."""
    line = " ".join(statement.split())
    return f"{line} {json.dumps(values, default=str)}" if values else line


def rows_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of an answer, one a line."""
    return "\n".join(json.dumps(dict(row), default=str) for row in rows)


def ended_text(code: int, output: str) -> str:
    """The output of a command, and its exit code unless that is 0."""
    return output if code == 0 else f"{output.rstrip()}\n(exit code {code})".lstrip()
