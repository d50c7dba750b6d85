"""Reads the ``SOW`` section: topics, views, conflated topics and the three kinds of queues.

Source: AMPS configuration guide, "State of the World", "Views", "Message Queues". This module reads no other section.
"""

from __future__ import annotations

from typing import Literal

from adapters.amps.config.model import DerivedTopic, Place, Queue, QueueKind, SowTopic
from adapters.amps.config.patterns import has_metacharacters
from adapters.amps.config.reader import Reader
from adapters.amps.config.xmltree import Element

_QUEUES: dict[str, QueueKind] = {
    "Queue": "Queue",
    "QueueDefinition": "Queue",
    "GroupLocalQueue": "GroupLocalQueue",
    "LocalQueue": "LocalQueue",
}
_DERIVED: dict[str, Literal["View", "ConflatedTopic"]] = {
    "View": "View",
    "ViewDefinition": "View",
    "ConflatedTopic": "ConflatedTopic",
    "ReplicaDefinition": "ConflatedTopic",
}


def read_sow(
    root: Element, reader: Reader
) -> tuple[tuple[SowTopic, ...], tuple[Queue, ...], tuple[DerivedTopic, ...]]:
    """Everything that the ``SOW`` sections of an instance define, in document order."""
    topics: list[SowTopic] = []
    queues: list[Queue] = []
    derived: list[DerivedTopic] = []
    for section in root.all("SOW"):
        reader.known(section, "SOW")
        for element in section.children:
            if element.tag == "Topic":
                topics += _topic(element, reader)
            elif element.tag in _QUEUES:
                queues += _queue(element, _QUEUES[element.tag], reader)
            elif element.tag in _DERIVED:
                name, message_type = reader.required(element, "Name", "Topic"), reader.text(element, "MessageType")
                if name:
                    derived.append(DerivedTopic(name, message_type, _DERIVED[element.tag], Place.of(element)))
    return tuple(topics), tuple(queues), tuple(derived)


def _topic(element: Element, reader: Reader) -> list[SowTopic]:
    reader.known(element, "SOW/Topic")
    name, message_type = reader.required(element, "Name", "Topic"), reader.required(element, "MessageType")
    if not name or not message_type:
        return []
    if has_metacharacters(name.replace(".", "")):
        message = (
            f'the Name of the SOW topic "{name}" has regular-expression characters, but AMPS reads a Name literally'
        )
        reader.remark("sow-name-pattern", message, Place.of(element), "put the expression into Pattern")
    generator = element.first("KeyGenerator")
    return [
        SowTopic(
            name=name,
            message_type=message_type,
            at=Place.of(element),
            keys=reader.texts(element, "Key"),
            key_domain=reader.text(element, "KeyDomain") or name,
            key_generator="" if generator is None else _flat(generator),
            pattern=reader.text(element, "Pattern") or None,
            element=element,
        )
    ]


def _queue(element: Element, kind: QueueKind, reader: Reader) -> list[Queue]:
    reader.known(element, f"SOW/{kind}")
    name, message_type = reader.required(element, "Name", "Topic"), reader.required(element, "MessageType")
    if not name or not message_type:
        return []
    underlying = reader.text(element, "UnderlyingTopic") or name
    if kind == "GroupLocalQueue":
        reader.expected(element, "InitialOwner")
    if has_metacharacters(underlying.replace(".", "")) and element.first("DefaultPublishTarget") is None:
        message = f'the queue "{name}" has a regular expression as UnderlyingTopic and no DefaultPublishTarget'
        reader.remark("missing-setting", message, Place.of(element))
    return [
        Queue(
            name=name,
            message_type=message_type,
            kind=kind,
            at=Place.of(element),
            underlying=underlying,
            filter=reader.text(element, "Filter"),
            semantics=reader.text(element, "Semantics") or "at-least-once",
            initial_owner=reader.text(element, "InitialOwner"),
            domain=reader.text(element, "GroupLocalQueueDomain"),
            element=element,
        )
    ]


def _flat(element: Element) -> str:
    """A whole element as one line of text, to compare two elements."""
    inner = " ".join(_flat(child) for child in element.children)
    return f"{element.tag}={element.text}" if not inner else f"{element.tag}({inner})"
