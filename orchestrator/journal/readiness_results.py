"""The findings of the last readiness check of each service, kept beside the record of runs.

A note for people, not evidence: no decision depends on it. It has one row for each service, so it never grows beyond
the inventory. The time when a service was last found good is kept while later checks fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.journal.database.schema import CHECKS
from orchestrator.journal.errors import mapped_errors
from orchestrator.journal.journal import Journal
from orchestrator.model.findings import Finding


@dataclass(frozen=True, slots=True)
class Checked:
    """The last check of one service. ``key`` is ``places.service_place``. ``at`` and ``good_at``: seconds since the
    epoch; ``good_at`` is None if the service was never found good."""

    key: str
    at: float
    good_at: float | None
    findings: tuple[Finding, ...] = ()


def store_checks(journal: Journal, at: float, found: Mapping[str, tuple[bool, Sequence[Finding]]]) -> None:
    """Keep the findings of ``at``: by key, whether the service was good, and the findings. All or none.

    The caller has replaced secrets in the texts. Raises ``JournalUnavailable``.
    """
    with mapped_errors("be written"), journal.engine.begin() as connection:
        for key, (is_good, findings) in found.items():
            body = json.dumps([finding.model_dump(mode="json", exclude_defaults=True) for finding in findings])
            values = {"at": at, "findings": body, **({"good_at": at} if is_good else {})}
            changed = connection.execute(sa.update(CHECKS).where(CHECKS.c.service == key).values(values))
            if not changed.rowcount:
                _insert(connection, {"service": key, **values})


def _insert(connection: sa.Connection, row: Mapping[str, object]) -> None:
    try:
        with connection.begin_nested():
            connection.execute(sa.insert(CHECKS).values(row))
    except sa.exc.IntegrityError:  # another process checked it for the first time at the same moment
        return


def last_checks(journal: Journal, keys: Iterable[str]) -> dict[str, Checked]:
    """The last checks of these services. Services that were never checked are left out. Raises
    ``JournalUnavailable``."""
    wanted = set(keys)
    with mapped_errors("be read"), journal.reader.connect() as connection:
        rows = [row for row in connection.execute(sa.select(CHECKS)) if row.service in wanted]
    return {row.service: Checked(row.service, row.at, row.good_at, _findings(row.findings)) for row in rows}


def _findings(text: str) -> tuple[Finding, ...]:
    return tuple(Finding.model_validate(one) for one in json.loads(text))
