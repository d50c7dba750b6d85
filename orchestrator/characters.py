"""Characters that steer a terminal, or change how a text looks without being seen: in no output, and in no text of ours.

Control characters of C0 and C1 (a terminal may take U+009B for the start of an escape sequence), line and paragraph
separators, marks of writing direction, which make a text look like another one (CVE-2021-42574), and characters without
width. Blanks that do not break, accents and every other script are left alone.
"""

from __future__ import annotations

import re

_RANGES = (
    "\x00-\x1f\x7f-\x9f"  # C0, delete, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    "\u2028\u2029"  # line and paragraph separator
    "\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # no width
)
STEERING = re.compile(f"[{_RANGES}]")
_NOT_ASCII = re.compile(f"(?![\x00-\x7e])[{_RANGES}]")


def has_steering(text: str) -> bool:
    """Is there one of them in a text of several lines, whose line ends and tabs are meant?"""
    return any(found[0] not in "\n\t" for found in STEERING.finditer(text))


def spelled_out(text: str) -> str:
    """``text`` with each of these characters written as an escape: ``\\x9b``, ``\\u202e``."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable(text: str, limit: int = 300) -> str:
    """``text`` on one line, without control characters, cut to ``limit`` characters."""
    shown = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def typed(name: str) -> str:
    """A name of a service as an operator types it into a shell, as a plain word of a command. It holds no quotes
    (``site.SERVICE_NAME``); one that looks like an option is given as the value of one."""
    word = name if name.replace("_", "").replace("-", "").isalnum() else f"'{name}'"
    return f"--service={word}" if name.startswith("-") else word


def json_escaped(document: str) -> str:
    """A JSON document with the same value, without any of these characters but the line ends between its parts.

    JSON escapes C0 itself; the others may be in its strings as they are (RFC 8259, section 7), and only there.
    """
    return _NOT_ASCII.sub(lambda found: _as_json(ord(found[0])), document)


def _as_json(number: int) -> str:
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
