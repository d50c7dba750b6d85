"""The seal of a page: a SHA-256 over everything that its report says, so that the page itself shows a changed byte.

``walked`` gives the very text that the script in the page makes of its document tree: elements with their attributes, and
texts, in their order. A seal proves nothing against whoever writes the whole page again: for that there is the head of
the record.
"""

from __future__ import annotations

from hashlib import sha256
from html.parser import HTMLParser

# A separator that no text of the page can have (``spelled_out``).
_OPEN, _NAME, _VALUE, _CLOSE = "\x01", "\x02", "\x03", "\x04"
_SEALED, _CHECK = "report", "check"


class _Walk(HTMLParser):
    """Walks the title and the element with the id ``report``, and leaves out the one with the id ``check``, where the
    result is."""

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
    """What is sealed of a page. Every element in it has an end tag, or ends itself with ``/>``."""
    walk = _Walk()
    walk.feed(document)
    walk.close()
    return "".join(walk.parts)


def digest(text: str) -> str:
    """SHA-256 of the text as UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()
