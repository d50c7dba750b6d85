"""The exchanges of each reading, and the part of each answer that was understood: ``failover check --explain FILE``.

It records the readings that `check` takes anyway, then takes those that only other commands take. The file is written
at the end, with pseudonyms for names. This module must never write a name that it knows to be one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.clock import iso
from orchestrator.errors import DefinitionError, OutputLost
from orchestrator.family.composite import reader_of
from orchestrator.family.contract import Adapter, explanation_of
from orchestrator.files import write_private
from orchestrator.model.exchanges import Exchange, Explanation
from orchestrator.model.inventory import Inventory, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.operations.runtime import Tools
from orchestrator.reports.pseudonyms import Pseudonyms, addresses_in, scrubbed
from orchestrator.reports.unknowns import Verdict, names_of, unknown_in, verdict_on, why_unknown
from orchestrator.version import VERSION

FORMAT = 1
CANNOT = "this adapter cannot explain its readings"
# The values of these keys are never names.
_OURS = frozenset({"what", "version", "at", "reading", "adapter", "verdict", "kind", "failed", "asked_at", "fields"})


@dataclass(frozen=True, slots=True)
class Explained:
    """One reading of one site: its exchanges, and its result. ``explanation`` None: the adapter cannot explain its
    exchanges."""

    reading: str
    adapter: str
    explanation: Explanation | None
    exchanges: Sequence[Exchange]
    answers: Mapping[str, Reading | Failure]
    verdict: Verdict
    is_alone: bool


@dataclass(slots=True)
class SiteTold:
    """The exchanges of one site's readings, in order. It is the witness of the site's sessions."""

    site: Site
    kinds: Sequence[type[Adapter]]
    services: Sequence[str]
    readings: list[Explained] = field(default_factory=list)
    _heard: list[Exchange] = field(default_factory=list)

    def heard(self, exchange: Exchange) -> None:
        """See ``exchanges.Witness``."""
        self._heard.append(exchange)

    def end_of(self, reading: str, answers: Mapping[str, Reading | Failure]) -> None:
        """All exchanges since the last call belong to ``reading``, whose result is ``answers``."""
        kind = reader_of(self.kinds, reading)
        part = self.site.parts[self.kinds.index(kind)] if kind is not None else self.site
        exchanges, self._heard = self._heard, []
        explanation = None if kind is None else explanation_of(kind)
        is_alone = len(part.devices) == 1
        verdict = verdict_on(answers, is_alone=is_alone)
        self.readings.append(Explained(reading, part.adapter, explanation, exchanges, answers, verdict, is_alone))

    def further(self, read: Iterable[str]) -> list[str]:
        """The readings besides ``read`` that the site's adapters can explain."""
        done = set(read)
        offered = dict.fromkeys(name for kind in self.kinds for name in kind.readings if name not in done)
        return [
            name for name in offered if (kind := reader_of(self.kinds, name)) is not None and explanation_of(kind)
        ]


class Explaining:
    """One explanation in progress. Raises ``DefinitionError`` if ``out`` exists already, or its directory does not."""

    def __init__(self, tools: Tools, inventory: Inventory, out: Path) -> None:
        _refuse(out)
        self._tools = tools
        self._inventory = inventory
        self.out = out
        self._told: list[SiteTold] = []

    def witness_of(self, site: Site, services: Sequence[str]) -> SiteTold:
        """The witness of the exchanges with ``site``."""
        kinds = [self._tools.registry.declarations(part) for part in site.parts]
        told = SiteTold(site, kinds, tuple(services))
        self._told.append(told)  # called from a thread for each site
        return told

    def in_order(self) -> list[SiteTold]:
        """The exchanges of each site, sorted by its name."""
        return sorted(self._told, key=lambda one: (one.site.name, one.services))

    def finish(self, at: float, *, simulated: bool) -> dict[str, object]:
        """Write the file, and return its content. Raises ``OutputLost`` and ``DefinitionError``."""
        sites = [_site_as_data(one) for one in self.in_order()]
        plain: dict[str, object] = {
            "what": f"failover check --explain, format {FORMAT}",
            "version": VERSION,
            "at": iso(at),
            "simulated": simulated,
            "sites": sites,
        }
        secretless = self._tools.secrets.redactor.scrub_data(plain)
        pseudonyms = self._pseudonyms(secretless)
        document = scrubbed(secretless, pseudonyms.scrub, ours=_OURS)
        assert isinstance(document, dict)
        document["kept"] = sorted(pseudonyms.kept)
        _write(self.out, json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace"))
        return document

    def _pseudonyms(self, plain: object) -> Pseudonyms:
        names = list(names_in_inventory(self._inventory))
        words: set[str] = set()
        for one in self.in_order():
            for reading in one.readings:
                dumps = [found.model_dump(mode="json") for found in reading.answers.values()]
                names += names_of(dumps)
                if reading.explanation is None:
                    continue
                words |= reading.explanation.words
                names += [name for heard in reading.exchanges for name in _found(reading.explanation, heard, words)]
        return Pseudonyms(names, words=words, texts=list(_texts(plain)))


def names_in_inventory(inventory: Inventory) -> Iterator[str]:
    """Every name, address, account and path of sites, devices and services in the inventory."""
    for pair in inventory.pairs:
        yield from (pair.name, *pair.services)
    for site in inventory.sites.values():
        yield from (site.name, site.title)
        for part in site.parts:
            for device in part.devices:
                yield from (device.name, (device.router_name or "").removeprefix("v:"), device.address)
                is_number = next(addresses_in(device.address), None) is not None
                host, _, domain = device.address.partition(".")
                yield from () if is_number else (host, domain if "." in domain else "")
            login = part.login
            yield from () if login is None else (login.username, login.key_file or "")
            yield part.known_hosts or ""
            yield from (text for text in _texts(part.options) if "/" in text or "." in text)


def _found(explanation: Explanation, heard: Exchange, words: set[str]) -> list[str]:
    """The names in one exchange. A word of the devices is not a name, so it must not be listed as a name that is
    kept."""
    return [name for name in dict.fromkeys(explanation.names_in(heard)) if name.lower() not in words]


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for one in value.values():
                yield from _texts(one)
        case list() | tuple():
            for one in value:
                yield from _texts(one)


def _site_as_data(told: SiteTold) -> dict[str, object]:
    site = told.site
    adapters = [
        {
            "adapter": part.adapter,
            "devices": [{"name": one.name, "router_name": one.router_name} for one in part.devices],
        }
        for part in site.parts
    ]
    own = site.own_fence
    return {
        "site": site.name,
        "services": list(told.services),
        "adapters": adapters,
        "shut_interface": own.value if own is not None and own.value is not True else None,
        "readings": [_reading_as_data(one) for one in told.readings],
    }


def _reading_as_data(one: Explained) -> dict[str, object]:
    head = {"reading": one.reading, "adapter": one.adapter, "verdict": one.verdict}
    if one.explanation is None:
        return {**head, "note": CANNOT, "exchanges": [], "answers": []}
    return {
        **head,
        "exchanges": [_exchange_as_data(heard) for heard in one.exchanges],
        "answers": list(_answers_as_data(one, one.explanation)),
    }


def _exchange_as_data(one: Exchange) -> dict[str, object]:
    told: dict[str, object] = {
        "device": one.device,
        "prompt": one.prompt,
        "sent": one.sent,
        "asked_at": iso(one.asked_at),
        "took_s": round(one.answered_at - one.asked_at, 3),
        "status": one.status,
        "date": one.date,
        "failed": one.failed,
        "why": one.why,
    }
    present = {name: value for name, value in told.items() if value not in ("", None) or name == "sent"}
    return {**present, "answer": one.answer.split("\n")}


def _answers_as_data(one: Explained, explanation: Explanation) -> Iterator[dict[str, object]]:
    """The understood part of the answer for each service. Services with the same answer are one entry."""
    groups: list[tuple[Reading | Failure, list[str]]] = []
    for service, found in one.answers.items():
        group = next((services for known, services in groups[-1:] if known == found), None)
        if group is None:
            groups.append((found, [service]))
        else:
            group.append(service)
    for found, services in groups:
        if isinstance(found, Failure):
            yield {"services": services, "failure": found.model_dump(mode="json", exclude={"excerpt"})}
            continue
        unknown = unknown_in(found, is_alone=one.is_alone)
        why = why_unknown(one.exchanges, explanation) if unknown else ""
        told: dict[str, object] = {"services": services, "understood": found.model_dump(mode="json")}
        yield {**told, "unknown": {"fields": unknown, "why": why}} if unknown else told


def unknown_fields(one: Explained) -> list[str]:
    """The fields that no service's answer gives, each once."""
    found = (name for answer in one.answers.values() for name in unknown_in(answer, is_alone=one.is_alone))
    return list(dict.fromkeys(found))


def _refuse(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise DefinitionError(f"{out} already exists and is not replaced", hint="name another file")
    if not out.parent.is_dir():
        raise DefinitionError(f"{out.parent} is not a directory", hint="create it, or name another file")


def _write(out: Path, data: bytes) -> None:
    try:
        write_private(out.parent, out.name, data + b"\n", replace=False)
    except FileExistsError as error:
        raise DefinitionError(f"{out} already exists and is not replaced", hint="name another file") from error
    except OSError as error:
        raise OutputLost(
            f"{out} cannot be written: {error.strerror}", hint="fix the cause, or name another file"
        ) from error
