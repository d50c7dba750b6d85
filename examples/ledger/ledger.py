"""A whole family: a ledger that is kept in two folders, one for each site.

A site's folder has two files for each service: ``<service>.json``, which this adapter changes, and
``<service>.rows.json``, which replication changes. ``python ledger.py replicate SOURCE TARGET`` copies rows from one
folder to the other while the source has some, as a database's replication would.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from orchestrator.errors import Forbidden, NoSuchService, UnreadableReply
from orchestrator.family.contract import (
    ActionSpec,
    AdapterContext,
    ArgumentSpec,
    Call,
    Permit,
    ReadingSpec,
    Result,
    read_options,
)
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family, Words
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Item, Reading

LINK_S = 2.0  # replication that has not written for so long is taken for dead


class Ledger(Reading):
    """``ledger``: one site's file. ``rows`` are written there; ``unsent`` of them the mate does not have, which only the
    writable site can know."""

    facets: ClassVar[Mapping[Facet, str]] = {
        Facet.SERVES: "writable",
        Facet.LINK: "linked",
        Facet.BACKLOG: "unsent",
        Facet.MARK: "rows",
    }
    unit: ClassVar[str] = "row"

    kind: Literal["ledger"] = "ledger"
    writable: bool | None = None
    linked: bool | None = None
    rows: int | None = None
    unsent: int | None = None

    @property
    def sent(self) -> bool | None:
        """Does the mate have every row?"""
        return None if self.unsent is None else self.unsent == 0


class Batch(Item):
    """One batch of rows that is being written."""

    argument: ClassVar[str] = "batch"
    shown: ClassVar[tuple[str, ...]] = ("rows",)

    name: str
    open: bool | None = None
    rows: int | None = None

    @property
    def key(self) -> str:
        """Its name."""
        return self.name


class Batches(Reading):
    """``batches``: every batch of the service at this site."""

    kind: Literal["batches"] = "batches"
    items: tuple[Batch, ...] = ()


LEDGER = Family(
    name="ledger",
    words=Words("ledger", "ledgers", "row"),
    readings={"ledger": Ledger, "batches": Batches},
    runbooks=Path(__file__).parent / "runbooks",
    makes={("set_writable", "state"): {"yes": {Facet.SERVES: True}, "no": {Facet.SERVES: False}}},
)


class Options(BaseModel):
    """What an inventory says of a site."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path


def _commands(call: Call) -> Sequence[str]:
    words = " ".join(f"{name}={value}" for name, value in call.args.items())
    return [f"{call.service}.json: {words}"]


def _files(services: Sequence[str]) -> Sequence[str]:
    return [f"{service}.json" for service in services]


class LedgerAdapter:
    """One site's folder."""

    family: ClassVar[str] = "ledger"
    simulated: ClassVar[bool] = False
    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        "ledger": ReadingSpec("ledger", "who writes, and how far", _files, model=Ledger),
        "batches": ReadingSpec("batches", "batches under way", _files, model=Batches),
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "set_writable": ActionSpec(
            "set_writable",
            "take or refuse rows",
            idempotent=True,
            commands=_commands,
            arguments={"state": ArgumentSpec(choices=("yes", "no"))},
            inverse="set_writable",
        ),
        "close_batch": ActionSpec(
            "close_batch",
            "end a batch",
            idempotent=True,
            commands=_commands,
            arguments={"batch": ArgumentSpec(filled_by="item")},
        ),
    }

    def __init__(self, site: Site, setting: AdapterContext) -> None:
        self._folder = read_options(site, Options, adapter="ledger").folder
        self._read_only = setting.read_only

    def open(self) -> None:
        """There is no session."""

    def close(self) -> None:
        """There is no session."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``orchestrator.family.contract.Adapter``."""
        return {service: self._probe(reading, service) for service in services}

    def _probe(self, reading: str, service: str) -> Reading | Failure:
        try:
            state = self._load(service)
            written = self._load(f"{service}.rows")
        except (NoSuchService, UnreadableReply) as error:
            return Failure.of(error)
        if reading == "batches":
            return Batches(items=tuple(Batch(**one) for one in state["batches"]))
        is_writable = bool(state["writable"])
        is_source = written["acknowledged"] is not None
        return Ledger(
            writable=is_writable,
            linked=time.time() - written["linked_at"] < LINK_S,
            rows=written["rows"],
            unsent=written["rows"] - written["acknowledged"] if is_source else None,
        )

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``orchestrator.family.contract.Adapter``."""
        if self._read_only:
            raise Forbidden(f"{action} was not sent: this session is read-only")
        return self._apply(action, calls, permit)

    def _apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            try:
                state = self._load(call.service)
            except (NoSuchService, UnreadableReply) as error:
                yield Result.of(call, error)
                continue
            permit.check()
            if action == "set_writable":
                state["writable"] = call.args["state"] == "yes"
            else:
                batches = [one for one in state["batches"] if one["name"] == call.args["batch"]]
                for one in batches:
                    one["open"] = False
            save(self._path(call.service), state)
            yield Result(call, Effect.ACCEPTED, sent=tuple(_commands(call)))

    def _path(self, service: str) -> Path:
        return self._folder / f"{service}.json"

    def _load(self, service: str) -> dict[str, Any]:
        try:
            return load(self._path(service))
        except FileNotFoundError:
            raise NoSuchService(f"{self._path(service)} does not exist") from None
        except ValueError as error:
            raise UnreadableReply(f"{self._path(service)} is not JSON", text=str(error)) from None


def load(path: Path) -> dict[str, Any]:
    """One file: ``writable`` and ``batches``; or ``rows``, those ``acknowledged`` by the mate (None at the site that only
    receives), and ``linked_at``, when replication last wrote, in seconds since the epoch."""
    state: dict[str, Any] = json.loads(path.read_text())
    return state


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write it whole."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(state))
    unfinished.replace(path)


def replicate(source: Path, target: Path, rows: int = 10, every_s: float = 0.02) -> None:
    """Copy ``rows`` at a time, until this process is ended."""
    while True:
        for path in source.glob("*.rows.json"):
            ours, theirs = load(path), load(target / path.name)
            theirs["rows"] = min(ours["rows"], theirs["rows"] + rows)
            theirs["linked_at"] = ours["linked_at"] = time.time()
            ours["acknowledged"] = theirs["rows"]
            save(target / path.name, theirs)
            save(path, ours)
        time.sleep(every_s)


if __name__ == "__main__":
    replicate(Path(sys.argv[2]), Path(sys.argv[3]))
