"""The seal of a page: a SHA-256 over its whole report. With the seal, the page itself detects a changed byte.

``walked`` returns the same text that the script in the page makes from its document tree: elements with their attributes,
and texts, in their order. The seal does not protect against a person who writes the whole page again. The head of the
record does.
"""

from __future__ import annotations

from hashlib import sha256
from html.parser import HTMLParser

# Separators that cannot occur in a text of the page (``spelled_out``).
_OPEN, _NAME, _VALUE, _CLOSE = "\x01", "\x02", "\x03", "\x04"
_SEALED, _CHECK = "report", "check"


class _Walk(HTMLParser):
    """Walks the title and the element with the id ``report``. It skips the element with the id ``check``, because the
    script writes its result there."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._depth = 0
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id")
        if not self._depth and name != _SEALED and tag != "title":
            return
        self._depth += 1
        if self._skipped or name == _CHECK:
            self._skipped += 1
            return
        attributes = "".join(f"{_NAME}{key.lower()}{_VALUE}{value or ''}" for key, value in attrs)
        self.parts.append(f"{_OPEN}{tag}{attributes}")

    def handle_endtag(self, tag: str) -> None:
        if not self._depth:
            return
        self._depth -= 1
        if self._skipped:
            self._skipped -= 1
            return
        self.parts.append(_CLOSE)

    def handle_data(self, data: str) -> None:
        if self._depth and not self._skipped:
            self.parts.append(data)


def walked(document: str) -> str:
    """The sealed text of a page. Every element of the page must have an end tag, or end with ``/>``."""
    walk = _Walk()
    walk.feed(document)
    walk.close()
    return "".join(walk.parts)


def digest(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()
