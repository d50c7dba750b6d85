"""Builders of AMPS configurations, with sane defaults: a test writes out only what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from xml.sax.saxutils import escape

import pytest

from adapters.amps.config.configuration import parse_instance
from adapters.amps.config.model import Instance
from adapters.amps.config.settings import ValidateOptions
from validator.report import Level, ValidationReport
from validator.validate import validate


@dataclass(frozen=True)
class Entry:
    """One Topic of a Destination."""

    name: str
    exclude: str = ""
    filter: str = ""
    type: str = "json"

    def xml(self) -> str:
        extra = f"<Filter>{escape(self.filter)}</Filter>" if self.filter else ""
        extra += f"<ExcludeValidation>{self.exclude}</ExcludeValidation>" if self.exclude else ""
        return f"<Topic>\n<Name>{escape(self.name)}</Name><MessageType>{self.type}</MessageType>{extra}</Topic>"


@dataclass(frozen=True)
class Dest:
    """One Destination; ``group`` None leaves the element out."""

    name: str
    topics: tuple[Entry, ...]
    group: str | None = None
    sync: str = "sync"
    passthrough: str | None = ".*"
    addresses: tuple[str, ...] = ()

    def xml(self) -> str:
        group = f"<Group>{self.group}</Group>" if self.group is not None else ""
        passthrough = f"<PassThrough>{escape(self.passthrough)}</PassThrough>" if self.passthrough is not None else ""
        addresses = "".join(f"<InetAddr>{address}</InetAddr>" for address in self.addresses)
        return (
            f"<Destination>\n<Name>{self.name}</Name>{group}<SyncType>{self.sync}</SyncType>{passthrough}\n"
            + "\n".join(entry.xml() for entry in self.topics)
            + f"\n<Transport><Type>amps-replication</Type>{addresses}</Transport></Destination>"
        )


@dataclass(frozen=True)
class Conf:
    """One instance. ``log`` are names, ``sow`` maps a name to its keys, ``extra_sow`` is XML inside ``SOW``."""

    name: str
    group: str | None = None
    log: tuple[str, ...] = ()
    sow: dict[str, tuple[str, ...]] = field(default_factory=dict)
    extra_sow: str = ""
    to: tuple[Dest, ...] = ()
    root: str = ""
    transports: str = (
        "<Transport><Name>amps-replication</Name><Type>amps-replication</Type><InetAddr>10004</InetAddr></Transport>"
        "<Transport><Name>clients</Name><Type>tcp</Type><InetAddr>9007</InetAddr><Protocol>amps</Protocol></Transport>"
    )

    def xml(self) -> str:
        logged = "\n".join(
            f"<Topic><Name>{escape(name)}</Name><MessageType>json</MessageType></Topic>" for name in self.log
        )
        stored = "\n".join(
            f"<Topic><Name>{escape(name)}</Name><MessageType>json</MessageType>"
            + "".join(f"<Key>{key}</Key>" for key in keys)
            + "<FileName>./sow/%n.sow</FileName></Topic>"
            for name, keys in self.sow.items()
        )
        parts = [
            f"<Name>{self.name}</Name>",
            f"<Group>{self.group}</Group>" if self.group is not None else "",
            f"<Transports>{self.transports}</Transports>",
            f"<SOW>{stored}{self.extra_sow}</SOW>" if stored or self.extra_sow else "",
            f"<TransactionLog><JournalDirectory>./journal</JournalDirectory>\n{logged}</TransactionLog>"
            if self.log
            else "",
            "<Replication>\n" + "\n".join(dest.xml() for dest in self.to) + "</Replication>" if self.to else "",
            self.root,
        ]
        return "<AMPSConfig>\n" + "\n".join(part for part in parts if part) + "\n</AMPSConfig>\n"

    def instance(self, options: ValidateOptions | None = None) -> Instance:
        options = options or ValidateOptions()
        return parse_instance(self.xml(), f"{self.name}.xml", options.variables, options.assumptions)

    def but(self, **changes: object) -> Conf:
        return replace(self, **changes)  # type: ignore[arg-type]


def full(name: str, mates: Iterable[str], topics: Iterable[str], **more: object) -> Conf:
    """An instance that logs, stores (key ``/id``) and replicates ``topics`` to all ``mates``, all in group ``G``."""
    names = tuple(topics)
    conf = Conf(
        name=name,
        group="G",
        log=names,
        sow=dict.fromkeys(names, ("/id",)),
        to=tuple(Dest(mate, tuple(Entry(topic) for topic in names), group="G") for mate in mates),
    )
    return conf.but(**more)


def report_of(*confs: Conf, **options: object) -> ValidationReport:
    chosen = ValidateOptions.model_validate(options)
    return validate([conf.instance(chosen) for conf in confs], chosen)


def found(report: ValidationReport, *levels: Level) -> set[tuple[str, str | None, str | None, str | None]]:
    """The (check, source, destination, topic) of the findings at ``levels`` (errors unless told)."""
    wanted = levels or (Level.ERROR,)
    return {(f.check, f.source, f.destination, f.topic) for f in report.findings if f.level in wanted}


@pytest.fixture(scope="session")
def amps() -> SimpleNamespace:
    """The builders: ``Conf``, ``Dest``, ``Entry``, ``full``, ``report_of``, ``found``."""
    return SimpleNamespace(Conf=Conf, Dest=Dest, Entry=Entry, full=full, report_of=report_of, found=found)


@pytest.fixture
def pair() -> Callable[[], tuple[Conf, Conf]]:
    """A symmetric pair A, B that replicates and stores ``orders``."""
    return lambda: (full("A", ["B"], ["orders"]), full("B", ["A"], ["orders"]))
