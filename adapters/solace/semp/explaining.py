"""Finds the names in SEMP answers: in JSON attributes and XML elements that are called a name, an address or similar.

The rest works as over the CLI (``adapters.solace.explaining``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

from adapters.http.xmldoc import MalformedXml, parse_xml
from adapters.solace.explaining import WORDS, is_plain
from orchestrator.model.exchanges import Exchange, Explanation

# The endings of attributes and elements whose values are names of something.
_NAMING = re.compile(
    r".*(?:name|xid|address|host|gateway|mate|owner|user|username|router|node|topic|destination|serial-?(?:number|no)?"
    r"|location|contact|description|domain|id-string)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"/(?:msgVpns|queues|topicEndpoints|clients|transactions)/([^/?\"&<]+)")
_HOST = re.compile(r"https?://(\[[^\]]+\]|[^/:?\"\s<]+)")
_OK = 200


def names_in(exchange: Exchange) -> Iterator[str]:
    """Each name in a request or its answer, as it is written there."""
    for text in (exchange.sent, exchange.answer):
        yield from (unquote(one) for one in _PLACE.findall(text))
    yield from _HOST.findall(exchange.answer)
    yield from (name for name in (*_in_json(exchange.answer), *_in_xml(exchange.answer)) if not is_plain(name))


def _in_json(text: str) -> Iterator[str]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return
    left = [body]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            left += one.values()
            yield from (value for key, value in one.items() if isinstance(value, str) and _NAMING.fullmatch(key))


def _in_xml(text: str) -> Iterator[str]:
    try:
        root = parse_xml(text.encode())
    except MalformedXml:
        return
    for found in root.iter():
        if isinstance(found.tag, str) and _NAMING.fullmatch(found.tag) and found.text:
            yield found.text.strip().removeprefix("v:")


def _refusal(exchange: Exchange) -> str:
    return "" if exchange.status in (None, _OK) else f"{exchange.device} answered with status {exchange.status}"


EXPLANATION = Explanation(names_in, WORDS, _refusal)
