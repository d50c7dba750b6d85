"""Reads XML bodies that are not trusted, and writes XML bodies. Only this module uses defusedxml.

A document type, an entity or a reference to another file is refused before it is expanded. Nothing here knows what
the elements mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

# Far more than a device answers, and far less than would fill the memory.
DEPTH_MAX, ELEMENTS_MAX = 100, 1_000_000


class MalformedXml(Exception):
    """Not XML, or XML that must not be expanded."""


def parse_xml(body: bytes) -> Element:
    """The root element. Raises ``MalformedXml`` with the reason."""
    try:
        parser = DefusedXMLParser(target=_BoundedBuilder(), forbid_dtd=True)
        parser.feed(body)
        root: Element = parser.close()
    except ParseError as error:
        raise MalformedXml(f"not well-formed: {error}") from error
    except DefusedXmlException as error:
        raise MalformedXml(f"it has a declaration that is not accepted: {type(error).__name__}") from error
    except (ValueError, LookupError) as error:  # an encoding that does not exist, or that the parser cannot do
        raise MalformedXml(f"its encoding cannot be read: {error}") from error
    return root


class _BoundedBuilder(TreeBuilder):
    """Builds the tree, and refuses a tree that is too deep or too large."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._count = 0

    def start(self, tag: Any, attrs: Any) -> Element:
        self._depth += 1
        self._count += 1
        if self._depth > DEPTH_MAX or self._count > ELEMENTS_MAX:
            raise MalformedXml(f"it has more than {ELEMENTS_MAX} elements, or more than {DEPTH_MAX} levels")
        return super().start(tag, attrs)

    def end(self, tag: Any) -> Element:
        self._depth -= 1
        return super().end(tag)


def element(tag: str, *inside: Element | str, **attributes: str) -> Element:
    """``element("name", "q")`` is ``<name>q</name>``; children are given in their order."""
    made = Element(tag, attributes)
    texts = [part for part in inside if isinstance(part, str)]
    made.text = "".join(texts) or None
    made.extend(part for part in inside if not isinstance(part, str))
    return made


def nested(tags: Iterable[str], *inside: Element | str) -> Element:
    """``nested(["a", "b"], "x")`` is ``<a><b>x</b></a>``."""
    *outer, innermost = tags
    made = element(innermost, *inside)
    for tag in reversed(outer):
        made = element(tag, made)
    return made


def written(root: Element) -> bytes:
    """The element as UTF-8, texts escaped."""
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=False)
    return text


def text_of(root: Element, path: str) -> str | None:
    """The trimmed text at ``path`` below ``root``; None when there is no such element, or it is empty."""
    found = root.findtext(path)
    return found.strip() or None if found is not None else None
