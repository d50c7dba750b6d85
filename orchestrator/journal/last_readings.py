"""The newest reading of each service at each site that a command took outside of a run, kept beside the record.

A note for people, not evidence: no decision depends on it. When a site is lost, this note may be the last knowledge of
the data at that site. It has one row for each service, site and reading, so it never grows beyond the inventory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError

from orchestrator.journal.database.schema import LAST_READ
from orchestrator.journal.errors import mapped_errors
from orchestrator.journal.journal import Journal
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Failure
from orchestrator.model.places import service_place
from orchestrator.model.reading import Reading
from orchestrator.model.readings import AnyReading

_READING: TypeAdapter[Reading] = TypeAdapter(AnyReading)

Answers = Mapping[str, Mapping[str, Reading | Failure]]


def store_read(journal: Journal, site: Site, services: Sequence[str], answers: Answers, at: float) -> None:
    """Keep the answers that were read at ``at``, seconds since the epoch. A failure leaves the earlier reading. All or
    none.

    Raises ``JournalUnavailable``.
    """
    rows = list(_rows(site, services, answers, at))
    with mapped_errors("be written"), journal.engine.begin() as connection:
        for row in rows:
            same = (LAST_READ.c.service == row["service"]) & (LAST_READ.c.reading == row["reading"])
            known = connection.execute(sa.select(LAST_READ.c.at).where(same)).scalar()
            if known is None:
                _insert(connection, row)
            elif known <= at:
                connection.execute(sa.update(LAST_READ).where(same).values(at=at, value=row["value"]))


def _rows(site: Site, services: Sequence[str], answers: Answers, at: float) -> Iterator[Mapping[str, object]]:
    for reading, answered in answers.items():
        for service in services:
            found = answered.get(service)
            # Only readings that show how much data a lost site may hold that its mate lacks.
            if isinstance(found, Reading) and found.risk:
                key = service_place(service, [site])
                yield {"service": key, "reading": reading, "at": at, "value": found.model_dump_json()}


def _insert(connection: sa.Connection, row: Mapping[str, object]) -> None:
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(LAST_READ).values(row))
    except sa.exc.IntegrityError:  # another process read it for the first time at the same moment
        return


def last_read(journal: Journal, site: Site, service: str) -> Iterable[tuple[float, Reading]]:
    """The kept readings of this service at this site, each with its time. Raises ``JournalUnavailable``."""
    wanted = sa.select(LAST_READ).where(LAST_READ.c.service == service_place(service, [site]))
    with mapped_errors("be read"), journal.reader.connect() as connection:
        rows = connection.execute(wanted).all()
    for row in rows:
        try:
            yield row.at, _READING.validate_json(row.value)
        except ValidationError:  # written by another version of this program: ignored, as if there were no note
            continue
