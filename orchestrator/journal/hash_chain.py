"""The chain of a run's records: the content of each hash, and whether stored records follow one another.

This module knows no database: the same few lines check the journal's rows and the lines of an exported file. This is
the hot path of ``failover runs verify``, so records pass through it as plain tuples.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from pydantic import ValidationError

from orchestrator.errors import JournalCorrupt
from orchestrator.model import events as ev

GENESIS = "0" * 64
# While no process leads a run, its record ends with one of these events.
RESTING = frozenset({"run.finished", "run.paused"})


class Link(NamedTuple):
    """A stored record of a run, as it is in the database: ``event`` is its JSON text, ``at`` seconds since the epoch."""

    seq: int
    at: float
    lane: str | None
    event: str
    hash: str


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature over the head ``seq`` of a run. ``key`` names the public key, ``value`` is the signature in
    Base64."""

    seq: int
    key: str
    value: str


def link_hash(before: str, run: str, seq: int, at: float, lane: str | None, event: str) -> str:
    """The hash of one record: SHA-256 over the hash before it and every stored field.

    No field can hold a line feed (an event is JSON, which escapes it; names are checked), so the fields cannot be
    confused.
    """
    return sha256(f"{before}\n{run}\n{seq}\n{at!r}\n{lane or ''}\n{event}".encode()).hexdigest()


def follow(rows: Iterable[tuple[Any, ...]], run: str, *, after: int = 0, before: str = GENESIS) -> Iterator[Link]:
    """``rows`` (fields as in ``Link``) as links, each checked against the link before it. The first row is ``after`` +
    1.

    Raises ``JournalCorrupt`` at the first row that does not follow.
    """
    seq = after
    for row in rows:
        seq += 1
        link = Link(*row)
        if link.seq != seq:
            raise JournalCorrupt(f"run {run}: record {seq} is missing or out of order; found {link.seq}")
        before = link_hash(before, run, seq, link.at, link.lane, link.event)
        if before != link.hash:
            raise JournalCorrupt(f"run {run}: record {seq} was changed after it was written")
        yield link


def read_event(run: str, link: Link) -> ev.Event:
    """The event of a link. Raises ``JournalCorrupt`` for an event that no version of the product wrote."""
    try:
        return _first_event(link.event) if link.seq == 1 else ev.event_from_json(link.event)
    except ValidationError as error:
        raise JournalCorrupt(f"run {run}: record {link.seq} cannot be read: {error.errors()[0]['msg']}") from error


# The first event of a run holds its whole plan, which takes longer to read than all other events together. A reader
# that follows a run reads it again and again.
_first_event = lru_cache(maxsize=16)(ev.event_from_json)


def record_of(run: str, link: Link) -> ev.Record:
    """A link as a record. Raises ``JournalCorrupt``."""
    return ev.Record(run, link.seq, link.at, link.lane, read_event(run, link))


def parse_line(line: Mapping[str, Any]) -> ev.Record:
    """A stored line, with its fields by name, as a record. Raises ``JournalCorrupt``."""
    return record_of(line["run"], _link(line))


def follow_exported(lines: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Link]]:
    """Exported records of one run, from its first record on, with the run's name, each checked against the one before
    it.

    The last record of a run that is not led is an end event. So a file that was cut off at its end is noticed. Raises
    ``JournalCorrupt``, or ``KeyError`` for a line that is no record.
    """
    stream = iter(lines)
    first = next(stream, None)
    if first is None:
        raise JournalCorrupt("the export has no records")
    run, last = str(first["run"]), _link(first)
    for last in follow(_rows(run, first, stream), run):
        yield run, last
    if json.loads(last.event)["kind"] not in RESTING:
        raise JournalCorrupt(
            f"run {run}: the last record, {last.seq}, does not end the run; the export was made too early, or was cut off"
        )


def _rows(run: str, first: Mapping[str, Any], rest: Iterator[Mapping[str, Any]]) -> Iterator[Link]:
    yield _link(first)
    for number, line in enumerate(rest, 2):
        if line["run"] != run:
            raise JournalCorrupt(f"run {run}: record {number} belongs to run {line['run']}")
        yield _link(line)


def _link(line: Mapping[str, Any]) -> Link:
    """The stored fields of a line. Raises ``TypeError`` for a value that only counts or hashes like a value of a
    record."""
    seq, lane = line["seq"], line["lane"]
    if type(seq) is not int or (lane is not None and (not isinstance(lane, str) or not lane)):
        raise TypeError(f"record {seq!r} of lane {lane!r} is not a valid record")
    return Link(seq, line["at"], lane, line["event"], line["hash"])
