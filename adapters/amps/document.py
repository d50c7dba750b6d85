"""Reads the answers of the administration interface leniently: every value is a text, and any value may be missing.

Sources: docs/sources/amps.md, 6.2 for the fields, AMPS's own exporters for the shape: objects ``amps`` > ``instance``
> node, a collection is a list of objects with ``id``. A value that cannot be read is None, which is unknown; never a
default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from orchestrator.errors import UnreadableReply

Node = Mapping[str, object]

_TRUE = frozenset({"1", "true", "yes", "enabled", "on"})
_FALSE = frozenset({"0", "false", "no", "disabled", "off"})
_STAMP = re.compile(r"(\d{8})T(\d{6})(?:\.(\d{1,9}))?Z?")
_UPTIME = re.compile(r"(?:(\d{1,9})[ .d]+)?(\d{1,9}):(\d{2}):(\d{2}(?:\.\d+)?)")
# Raw stamps count microseconds from Julian Day Number 0 (derived from two documented samples).
_RAW_EPOCH_US = 210_866_803_200_000_000
_RAW = re.compile(r"\d{18}", re.ASCII)
_COUNT_END = 2**63  # no counter is longer than 64 bits
_MOMENT_END = 10**11  # seconds since the epoch, in the year 5138: no clock that is set shows such a time


def instance_in(body: bytes, device: str) -> Node:
    """The object ``amps.instance`` of an answer. Raises ``UnreadableReply``."""
    try:
        document = json.loads(body)
        found = document["amps"]["instance"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable("it has no amps.instance", body, device) from error
    if not isinstance(found, dict):
        raise _unreadable("its amps.instance is not a JSON object", body, device)
    return found


def list_in(node: Node, name: str) -> Sequence[Node] | None:
    """The collection ``name``; None when the answer leaves it out. One object alone counts as a list of one."""
    found = node.get(name)
    if found is None:
        return None
    if isinstance(found, dict):
        return [found]
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    return [] if found == "" else None


def text_in(node: Node, name: str) -> str | None:
    """A text that is not empty."""
    found = node.get(name)
    if isinstance(found, bool) or not isinstance(found, str | int | float) or found == "":
        return None
    return str(found)


def number_in(node: Node, name: str) -> float | None:
    """A number."""
    text = text_in(node, name)
    try:
        number = None if text is None else float(text)
    except ValueError:
        return None
    return number if number is not None and number == number and abs(number) != float("inf") else None


def count_in(node: Node, name: str) -> int | None:
    """A number of things: whole, and not negative."""
    number = number_in(node, name)
    return int(number) if number is not None and 0 <= number < _COUNT_END and number == int(number) else None


def seconds_in(node: Node, name: str) -> float | None:
    """A span of time: not negative."""
    number = number_in(node, name)
    return number if number is not None and number >= 0 else None


def flag_in(node: Node, name: str) -> bool | None:
    """Yes or no, in any of the words that AMPS's tools accept; ``1.0`` too, which its exporter feeds to a gauge."""
    found = node.get(name)
    if isinstance(found, bool):
        return found
    text = (text_in(node, name) or "").strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    number = number_in(node, name)
    return None if number not in (0.0, 1.0) else number == 1.0


def moment_in(node: Node, name: str) -> float | None:
    """Seconds since the epoch of ``20250101T000010.000000Z``, or of a raw stamp in microseconds."""
    text = text_in(node, name) or ""
    found = _STAMP.fullmatch(text)
    if found is not None:
        try:
            whole = datetime.strptime(found[1] + found[2], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        except ValueError:
            return None
        return whole + (float(f"0.{found[3]}") if found[3] else 0.0)
    raw = (int(text) - _RAW_EPOCH_US) / 1e6 if _RAW.fullmatch(text) else 0.0
    return raw if 0.0 < raw < _MOMENT_END else None


def uptime_in(node: Node, name: str) -> float | None:
    """Seconds of ``hh:mm:ss.uuuuuu``; days may be before it."""
    found = _UPTIME.fullmatch(text_in(node, name) or "")
    if found is None:
        return None
    return int(found[1] or 0) * 86_400 + int(found[2]) * 3600 + int(found[3]) * 60 + float(found[4])


def yes_or_no(body: bytes) -> bool | None:
    """The answer of an entitlement check. Its exact form is not documented, so the word ``true`` or ``false`` in it
    counts."""
    words = set(re.findall(r"\b(?:true|false)\b", body.decode("utf-8", "replace").lower()))
    return words == {"true"} if len(words) == 1 else None


def _unreadable(why: str, body: bytes, device: str) -> UnreadableReply:
    text = body[:4000].decode("utf-8", "replace")
    return UnreadableReply(f"the answer of {device} cannot be read: {why}", text=text, device=device)
