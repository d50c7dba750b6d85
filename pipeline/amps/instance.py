"""The places of the dumps of one instance: a directory of dumps, or one file.

    INSTANCE/journal/…            dumps of amps_journal_dump, one for each journal file; any names, packed or not
    INSTANCE/sow/TOPIC.TYPE.txt   dumps of amps_sow_dump -v; characters that a file name cannot have are URL-escaped

A SOW dump does not contain its topic, so its file name must be the topic. This file must never read a dump.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import unquote

from orchestrator.errors import DefinitionError
from pipeline.places import Place

JOURNAL = "journal"
SOW = "sow"
_PACKED = (".gz",)
_TEXT = (".txt", ".dump", ".log")


class Topic(NamedTuple):
    """The identity of a topic in AMPS: always the pair of name and message type."""

    name: str
    message_type: str

    def __str__(self) -> str:
        return f"{self.name} ({self.message_type})"


@dataclass(frozen=True, slots=True)
class Instance:
    """The dumps of one instance. ``name``: as the user typed it."""

    name: str
    journals: tuple[Place, ...]
    sow: Mapping[Topic, Place] = field(default_factory=dict)

    @classmethod
    def of_journals(cls, name: str) -> Instance:
        """Journals only: a file, a directory of dumps, or an instance's directory. Raises ``DefinitionError``."""
        place = _existing(name)
        if not place.is_directory():
            return cls(name, (place,))
        inside = place.child(JOURNAL)
        files = (inside if inside.is_directory() else place).files()
        if not files:
            raise DefinitionError("this directory has no dumps", file=name)
        return cls(name, tuple(files))

    @classmethod
    def of_dumps(cls, name: str) -> Instance:
        """Journals as in ``of_journals``, and the SOW if there is one. Raises ``DefinitionError``."""
        sow = _existing(name).child(SOW)
        return replace(cls.of_journals(name), sow=_sow_dumps(sow) if sow.is_directory() else {})

    @classmethod
    def of_directory(cls, name: str) -> Instance:
        """An instance's directory, with journals and SOW. Raises ``DefinitionError``."""
        place = _existing(name)
        journals, sow = place.child(JOURNAL), place.child(SOW)
        if not sow.is_directory():
            raise DefinitionError(
                f"this instance has no directory {SOW}",
                file=name,
                hint=f"it must have {JOURNAL}/… and {SOW}/TOPIC.TYPE.txt",
            )
        return cls(name, tuple(journals.files()) if journals.is_directory() else (), _sow_dumps(sow))


def check_apart(left: Instance, right: Instance) -> None:
    """Raises ``DefinitionError`` for a dump that is on both sides, because it would only be compared with itself."""
    places = [{*(one.path for one in (*side.journals, *side.sow.values()))} for side in (left, right)]
    for path in sorted(places[0] & places[1]):
        raise DefinitionError(
            "this dump was given for both instances", file=path, hint="give different dumps for the two instances"
        )


def _sow_dumps(directory: Place) -> dict[Topic, Place]:
    dumps: dict[Topic, Place] = {}
    for file in directory.files():
        topic = topic_of(file.name)
        if topic in dumps:
            raise DefinitionError(f"this is a second SOW dump of {topic}; keep only one", file=file.name)
        dumps[topic] = file
    return dumps


def topic_of(file: str) -> Topic:
    """The topic in a file name: ``orders`` and ``json`` of ``…/orders.json.txt``. Raises ``DefinitionError``."""
    name = file.rsplit("/", 1)[-1]
    for endings in (_PACKED, _TEXT):
        for ending in endings:
            name = name.removesuffix(ending)
    topic, dot, message_type = name.rpartition(".")
    if not dot or not topic or not message_type:
        raise DefinitionError("the name of a SOW dump must be TOPIC.TYPE.txt, for example orders.json.txt", file=file)
    return Topic(unquote(topic), unquote(message_type))


def _existing(name: str) -> Place:
    place = Place.of(name)
    if not place.exists():
        raise DefinitionError("this file or directory does not exist", file=name)
    return place
