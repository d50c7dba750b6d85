"""XML bodies: read without trusting them, and written. The only home of defusedxml.

A document type, an entity or a reference to another file is refused before it is expanded. Nothing here knows what
the elements mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, ParseError, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring


class MalformedXml(Exception):
    """Not XML, or XML that nobody should expand."""


def parse_xml(body: bytes) -> Element:
    """The root element. Raises ``MalformedXml`` with the reason."""
    try:
        root: Element = fromstring(body, forbid_dtd=True)
    except ParseError as error:
        raise MalformedXml(f"not well-formed: {error}") from error
    except DefusedXmlException as error:
        raise MalformedXml(f"it declares what is refused: {type(error).__name__}") from error
    except (ValueError, LookupError) as error:  # an encoding that does not exist, or that the parser cannot do
        raise MalformedXml(f"its encoding cannot be read: {error}") from error
    return root


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
