"""Chooses the readings below ``--out`` that a comparison reuses: those that the same command started recently.

The request is recorded beside them until the comparison has ended. Any other content there is refused, since a report
on it would not answer the request. This module must never read a site.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.clock import iso
from orchestrator.errors import DefinitionError, OutputLost
from orchestrator.files import read_own
from orchestrator.model.inventory import Inventory
from orchestrator.operations.exports.snapshot import SnapshotRequest, job_of, services_of, site_of
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.manifest import Manifest

RECORD = "_compare.json"
# In seconds. A reading that ended longer ago is not compared with a new one. A reading that started longer ago is not
# resumed. The reason is that the services are in use meanwhile.
FRESH_S = 3_600.0
_MANIFEST = "manifest.json"
# By part of the request: the words for a reading that differs in it.
_OTHERWISE: Mapping[str, str] = {
    "site": "of another site",
    "services": "of other services",
    "run": "for another fail-over",
    "failover_at": "for another fail-over",
    "simulated": "of a site that was simulated then, or is simulated now",
    "definition": "of a site that the inventory described differently",
}


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Asked(_Strict):
    """The request for one site. ``definition``: the SHA-256 of the site's entry in the inventory."""

    site: str
    services: tuple[str, ...]
    run: str | None
    failover_at: float | None
    simulated: bool
    definition: str


class _Begun(_Strict):
    """The record. ``at``: the start of each site's reading, in seconds since the epoch."""

    asked: tuple[_Asked, ...] = ()
    at: tuple[float, ...] = ()

    def of(self, site: str) -> tuple[_Asked, float] | None:
        """The request for this site, and its time."""
        found = zip(self.asked, self.at, strict=False)
        return next(((asked, at) for asked, at in found if asked.site == site), None)


def readings_left(
    tools: Tools, inventory: Inventory, wanted: Sequence[SnapshotRequest], folder: Path, say: Callable[[str], None]
) -> list[SnapshotRequest]:
    """Those of ``wanted`` that must still be read into ``folder/SITE``. They are recorded there from then on.

    For each site that is not read again, ``say`` is told when it was read. Raises ``DefinitionError`` if a folder has
    other content, or a reading that is too old; ``OutputLost``.
    """
    from pipeline.places import MAKE_ROOM, Place, read_manifest, write_whole

    before = _recorded(folder / RECORD)
    now = tools.clock.now()
    begun: list[tuple[_Asked, float]] = []
    left = []
    for one in wanted:
        place = folder / one.site
        asked = _asked(tools, inventory, one)
        at = now
        if place.is_dir() and any(place.iterdir()):
            at = _begun_at(place, before.of(one.site), asked)
            if (place / _MANIFEST).exists():
                manifest, _ = read_manifest(Place.of(str(place)))
                _check_taken(place, manifest, asked, now)
                span = f"{iso(manifest.started_at)} to {iso(manifest.finished_at)}"
                say(f"{one.site}: the reading from {span} is used again")
            else:
                _check_resumed(place, at, now)
                say(f"{one.site}: continues the reading that was started at {iso(at)}")
                left.append(one)
        else:
            left.append(one)
        begun.append((asked, at))
    record = _Begun(asked=tuple(asked for asked, _ in begun), at=tuple(at for _, at in begun))
    try:
        write_whole(folder / RECORD, record.model_dump_json().encode())
    except OSError as error:
        raise OutputLost(f"{folder / RECORD} could not be written: {error.strerror}", hint=MAKE_ROOM) from error
    return left


def ended(folder: Path) -> None:
    """Remove the record after the comparison: no reading in ``folder`` is resumed any more."""
    (folder / RECORD).unlink(missing_ok=True)


def _asked(tools: Tools, inventory: Inventory, request: SnapshotRequest) -> _Asked:
    site = site_of(inventory, request)
    job = job_of(tools, site, services_of(inventory, request), request.run, {})
    return _Asked(
        site=job.site,
        services=tuple(service.name for service in job.services),
        run=job.run,
        failover_at=job.failover_at,
        simulated=job.simulated,
        definition=hashlib.sha256(site.model_dump_json().encode()).hexdigest(),
    )


def _recorded(file: Path) -> _Begun:
    """The record; an empty one if there is no valid record."""
    try:
        return _Begun.model_validate_json(read_own(file))
    except (OSError, ValidationError):
        return _Begun()


def _begun_at(place: Path, before: tuple[_Asked, float] | None, asked: _Asked) -> float:
    if before is None:
        raise _refused(place, "that this comparison did not start")
    _check_same(place, before[0], asked)
    return before[1]


def _check_taken(place: Path, manifest: Manifest, asked: _Asked, now: float) -> None:
    taken = _Asked(
        site=manifest.site,
        services=tuple(sorted(service.name for service in manifest.services)),
        run=manifest.run,
        failover_at=manifest.failover_at,
        simulated=manifest.simulated,
        definition=asked.definition,
    )
    _check_same(place, taken, asked)
    if abs(now - manifest.finished_at) > FRESH_S:
        old = f"of {iso(manifest.finished_at)}, but a reading older than {FRESH_S / 60:.0f} minutes is not compared"
        raise _refused(place, old)


def _check_resumed(place: Path, at: float, now: float) -> None:
    """The first messages of a reading are as old as its start. So they must not be compared with messages read much
    later."""
    if abs(now - at) > FRESH_S:
        raise _refused(place, f"that was started at {iso(at)}, more than {FRESH_S / 60:.0f} minutes ago")


def _check_same(place: Path, found: _Asked, asked: _Asked) -> None:
    for field, otherwise in _OTHERWISE.items():
        if getattr(found, field) != getattr(asked, field):
            raise _refused(place, otherwise)


def _refused(place: Path, why: str) -> DefinitionError:
    return DefinitionError(f"{place} holds a reading {why}", hint=f"give another --out, or remove {place}")
