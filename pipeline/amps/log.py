"""One instance's transaction log: its content, its first and last entry, and its unreadable pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.amps.instance import Instance
from pipeline.amps.report import LogReport, Unread
from pipeline.engines.executor import Executor, Script

# Limits for the report: a damaged dump may have as many types as entries, and every file may be damaged.
FILES_MAX = 100
TYPES_MAX = 100
_FURTHER = "of further types"


def open_log(
    engine: Executor,
    side: str,
    instance: Instance,
    settings: Mapping[str, Any] | None = None,
    *,
    types_max: int = TYPES_MAX,
) -> LogReport:
    """Read an instance's journal dumps once, make the tables ``dumps_{side}`` and ``log_{side}``, and report on them.
    ``settings``: as in ``pipeline.amps.reader.batches_of``. ``types_max``: the maximum number of types of non-message
    entries that are reported by name."""
    engine.read(f"dumps_{side}", "journal", instance.journals, settings or {})
    script = Script("journals", engine)
    script.view("log", f"log_{side}", side=side)
    [told] = script.rows("told", side=side)
    return LogReport(
        name=instance.name,
        files=len(instance.journals),
        entries=told["entries"],
        first_txid=told["first_txid"],
        last_txid=told["last_txid"],
        first_at=_seconds(told["first_micros"]),
        last_at=_seconds(told["last_micros"]),
        unread=unread_of(engine, f"dumps_{side}") if told["unread"] else (),
        unread_pieces=told["unread"],
        other_types=_types(script, side, told["others"], types_max) if told["others"] else {},
    )


def unread_of(engine: Executor, dumps: str, most: int = FILES_MAX) -> tuple[Unread, ...]:
    """The unreadable pieces of the table ``dumps``, by file: the ``most`` files with the most of them."""
    rows = Script("journals", engine).rows("unread", dumps=dumps, most=most)
    return tuple(Unread(**row) for row in rows)


def _types(script: Script, side: str, number: int, most: int) -> dict[str, int]:
    """The number of entries by type: separate for the most frequent types, together for all others."""
    named = {row["type"]: row["number"] for row in script.rows("types", side=side, most=most)}
    rest = number - sum(named.values())
    return {**named, _FURTHER: rest} if rest else named


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6
