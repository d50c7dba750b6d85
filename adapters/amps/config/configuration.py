"""Reads an AMPS configuration into the model: one file, one instance.

A file with which AMPS could not start, and which leaves nothing to compare (broken XML, no ``AMPSConfig``, no instance
name), is a ``DefinitionError`` with file and line. Every other problem becomes a remark on the instance, and reading
continues. This module never decides whether two instances fit together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from adapters.amps.config.configuration_sow import read_sow
from adapters.amps.config.includes import expand_file, expand_text
from adapters.amps.config.model import (
    MANDATORY,
    Address,
    Bootstrap,
    Check,
    Destination,
    Instance,
    LoggedTopic,
    Place,
    ReplicatedTopic,
    TransactionLog,
    Transport,
)
from adapters.amps.config.reader import Reader
from adapters.amps.config.settings import Assumptions
from adapters.amps.config.vocabulary import meant
from adapters.amps.config.xmltree import Element
from orchestrator.errors import DefinitionError

_DATA_TYPES = frozenset({"sow", "txlog"})
_FORBIDDEN_IN_NAMES = frozenset(" /\\$~")


def read_instance(
    path: Path, variables: Mapping[str, str] | None = None, assumptions: Assumptions | None = None
) -> Instance:
    """The instance that the configuration file ``path`` describes. Raises ``DefinitionError`` (file, line)."""
    return _instance(expand_file(path, variables or {}, assumptions or Assumptions()))


def parse_instance(
    text: str,
    file: str = "amps.xml",
    variables: Mapping[str, str] | None = None,
    assumptions: Assumptions | None = None,
) -> Instance:
    """The instance that ``text`` describes. ``file`` is the name in findings, and the base of relative includes."""
    return _instance(expand_text(text, file, variables or {}, assumptions or Assumptions()))


def _instance(root: Element) -> Instance:
    if root.tag != "AMPSConfig":
        raise DefinitionError(
            f"this file is not an AMPS configuration: its root is {root.tag}, not AMPSConfig",
            file=root.file,
            line=root.line,
        )
    reader = Reader()
    reader.known(root, "AMPSConfig")
    name = reader.text(root, "Name")
    if not name:
        raise DefinitionError("the instance has no Name", file=root.file, line=root.line)
    if not _FORBIDDEN_IN_NAMES.isdisjoint(name):
        at = Place.of(root.first("Name") or root)
        reader.remark("name-invalid", f'the name "{name}" has a space or one of / \\ $ ~', at)
    sow, queues, derived = read_sow(root, reader)
    return Instance(
        name=name,
        group=reader.text(root, "Group") or name,
        at=Place.of(root.first("Name") or root),
        transports=tuple(_transports(root, reader)),
        log=_log(root, reader),
        sow=sow,
        queues=queues,
        derived=derived,
        destinations=tuple(_destinations(root, reader)),
        bootstrap=_bootstrap(root, reader),
        regexes=reader.text(root, "RegexTopicSupport").lower() not in ("false", "disabled", "no", "0"),
        remarks=tuple(reader.remarks),
    )


def _transports(root: Element, reader: Reader) -> Iterable[Transport]:
    for section in root.all("Transports"):
        reader.known(section, "Transports")
        for element in section.all("Transport"):
            reader.known(element, "Transports/Transport")
            yield Transport(
                name=reader.expected(element, "Name"),
                type=reader.expected(element, "Type"),
                addresses=tuple(address.text for address in element.all("InetAddr")),
                at=Place.of(element),
                is_enabled=reader.text(element, "InitialState") != "disabled",
            )


def _log(root: Element, reader: Reader) -> TransactionLog | None:
    sections = list(root.all("TransactionLog"))
    if not sections:
        return None
    topics: list[LoggedTopic] = []
    for section in sections:
        reader.known(section, "TransactionLog")
        reader.expected(section, "JournalDirectory")
        topics += _plain_topics(section, "TransactionLog/Topic", reader)
    return TransactionLog(at=Place.of(sections[0]), topics=tuple(topics))


def _plain_topics(section: Element, context: str, reader: Reader) -> Iterable[LoggedTopic]:
    for element in section.all("Topic"):
        reader.known(element, context)
        name, message_type = reader.required(element, "Name"), reader.required(element, "MessageType")
        if name and message_type:
            yield LoggedTopic(name, message_type, Place.of(element))


def _destinations(root: Element, reader: Reader) -> Iterable[Destination]:
    for section in root.all("Replication"):
        reader.known(section, "Replication")
        for element in section.all("Destination"):
            yield _destination(element, reader)


def _destination(element: Element, reader: Reader) -> Destination:
    reader.known(element, "Replication/Destination")
    sync_type = reader.required(element, "SyncType")
    if sync_type not in ("sync", "async", ""):
        at = Place.of(element.first("SyncType") or element)
        reader.remark("value-unknown", f'SyncType is "{sync_type}"; AMPS knows sync and async', at)
    transports = list(element.all("Transport"))
    if not transports:
        reader.remark("missing-setting", "this Destination has no Transport", Place.of(element))
    for transport in transports:
        reader.known(transport, "Replication/Destination/Transport")
    passthrough = element.first("PassThrough")
    return Destination(
        name=reader.text(element, "Name"),
        group=reader.text(element, "Group"),
        sync_type=sync_type,
        at=Place.of(element),
        topics=tuple(_replicated(element, reader)),
        passthrough=(reader.text(element, "PassThrough") or None) if passthrough else None,
        passthrough_at=Place.of(passthrough) if passthrough else None,
        addresses=tuple(_addresses(transports)),
        transport_types=tuple(kind for kind in (reader.expected(each, "Type") for each in transports) if kind),
    )


def _replicated(destination: Element, reader: Reader) -> Iterable[ReplicatedTopic]:
    for element in destination.all("Topic"):
        reader.known(element, "Replication/Destination/Topic")
        message_type = reader.required(element, "MessageType")
        if not message_type:
            continue
        excluded, unknown, void = _exclusions(element, reader)
        yield ReplicatedTopic(
            name=reader.text(element, "Name") or None,
            message_type=message_type,
            at=Place.of(element),
            filter=reader.text(element, "Filter"),
            excluded=excluded,
            unknown_exclusions=unknown,
            void_exclusions=void,
        )


def _exclusions(topic: Element, reader: Reader) -> tuple[frozenset[Check], tuple[str, ...], tuple[str, ...]]:
    """From ``ExcludeValidation`` (a comma list): excluded checks, unknown words, and checks that it names without
    effect."""
    elements = list(topic.all("ExcludeValidation"))
    if not elements:
        return frozenset(), (), ()
    names = frozenset(check.value for check in Check)
    words = [word.strip() for element in elements for word in element.text.split(",")]
    valid = {Check(word) for word in words if word in names}
    unknown = tuple(word for word in words if word and word not in names)
    void = tuple(sorted(valid & MANDATORY))
    for word in unknown:
        guess = meant(word.lower(), names)
        hint = f"did you mean {guess}?" if guess else f"the checks are {', '.join(sorted(names - MANDATORY))}"
        reader.remark("exclusion-unknown", f'"{word}" is not the name of a check', Place.of(elements[0]), hint)
    for word in void:
        message = f"{word} is mandatory: AMPS makes this check even if ExcludeValidation names it"
        reader.remark("exclusion-mandatory", message, Place.of(elements[0]), f"remove {word} from ExcludeValidation")
    return frozenset(valid - MANDATORY), unknown, void


def _bootstrap(root: Element, reader: Reader) -> Bootstrap | None:
    element = root.first("Bootstrap")
    if element is None:
        return None
    reader.known(element, "Bootstrap")
    transports = list(element.all("Transport"))
    if not transports:
        reader.remark("missing-setting", "Bootstrap has no Transport to fetch messages over", Place.of(element))
    for transport in transports:
        reader.known(transport, "Bootstrap/Transport")
    return Bootstrap(
        at=Place.of(element),
        topics=tuple(_plain_topics(element, "Bootstrap/Topic", reader)),
        addresses=tuple(_addresses(transports)),
        data=_data_types(element, reader),
    )


def _data_types(bootstrap: Element, reader: Reader) -> frozenset[str] | None:
    """The known words of ``DataType``, a comma list; None without the element, or without a known word."""
    text = reader.text(bootstrap, "DataType")
    if not text:
        message = "this Bootstrap has no DataType; the AMPS documentation does not say what AMPS then fetches"
        reader.remark("bootstrap-data-unsaid", message, Place.of(bootstrap))
        return None
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    at = Place.of(bootstrap.first("DataType") or bootstrap)
    for word in sorted(words - _DATA_TYPES):
        guess = meant(word.lower(), _DATA_TYPES)
        hint = f"did you mean {guess}?" if guess else ""
        reader.remark("value-unknown", f'DataType has "{word}"; AMPS knows sow and txlog', at, hint)
    return (words & _DATA_TYPES) or None


def _addresses(transports: Iterable[Element]) -> Iterable[Address]:
    for transport in transports:
        for element in transport.all("InetAddr"):
            if element.text:
                yield address(element.text)


def address(text: str) -> Address:
    """Splits ``host:port``, ``[v6]:port`` or a bare port."""
    host, _, port = text.rpartition(":")
    return Address(host.strip("[]"), int(port) if port.isdecimal() else None, text)
