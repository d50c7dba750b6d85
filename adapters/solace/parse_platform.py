"""A node's report about itself as values: version, replication mate, transaction mode, config-sync and clock.

docs/sources/solace-cli.md, 1, 2, 4, 5 and 7. A value that a version does not print is unknown. A missing line is not a
refusal, and the other lines still count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

from adapters.solace.labels import Term, labels_in, plain
from adapters.solace.names import router_name
from adapters.solace.tables import label_in, lines_of

_TITLE = re.compile(r"\s*Solace\b.*\bVersion\s+(\S+)(?:\s+\(SIMULATED\))?\s*", re.IGNORECASE)
_MODES: Mapping[str, Literal["legacy", "transacted"]] = {"legacy": "legacy", "transacted": "transacted"}
_RFC3339 = re.compile(r"\b(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d))")
# As the times of other outputs: month, day, year, time, zone, "Jun 17 2026 07:14:53 UTC".
_PRINTED = re.compile(
    r"\b([A-Z][a-z]{2})\s{1,2}(\d{1,2}) (\d{4}) (\d\d):(\d\d):(\d\d) ([A-Z]{1,5}|[+-]\d\d(?::?\d\d)?)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)?")
_GREENWICH = frozenset({"UTC", "GMT", "Z"})


def version_in(text: str) -> str | None:
    """The version in the title, else the version of the load."""
    lines = lines_of(text)
    titled = next((found for line in lines if (found := _TITLE.fullmatch(line)) is not None), None)
    if titled is not None:
        return titled[1]
    load = Term.LOAD.of(labels_in(lines)) or ""
    return load.rpartition("_")[2] or None


def mate_in(text: str) -> str | None:
    """The router name of the replication mate, without ``v:``; None where none is configured."""
    return router_name(Term.REPLICATION_MATE.of(labels_in(lines_of(text))) or "") or None


def transaction_mode_in(text: str) -> Literal["legacy", "transacted"] | None:
    """The transaction replication compatibility mode; None where this version does not print it."""
    for line in lines_of(text):
        label = label_in(line)
        if label is not None and Term.TRANSACTION_MODE.is_named(label.name):
            return _MODES.get(plain(label.value))
    return None


def config_sync_in(text: str, *, is_pair: bool) -> bool | None:
    """Is config-sync up? For an HA pair this means config-sync with the HA mate. A problem of the replication table
    concerns only the other site, so the state with the HA mate is unknown then."""
    labels = labels_in(lines_of(text))
    admin, state = Term.ADMIN.of(labels), Term.OPERATIONAL.of(labels)
    if admin is None or state is None:
        return None
    if plain(admin) != "enabled":
        return False
    if plain(state) == "up":
        return True
    if not state.lower().startswith("down"):
        return None
    return None if is_pair and "remote replication" in state.lower() else False


def moment_in(text: str) -> float | None:
    """The first time in ``text``, seconds since the epoch; None if there is no time, or if its zone is a name whose
    offset is unknown."""
    exact = _RFC3339.search(text)
    if exact is not None:
        try:
            return datetime.fromisoformat(exact[1]).timestamp()
        except ValueError:
            return None
    printed = _PRINTED.search(text)
    if printed is None or printed[1] not in _MONTHS:
        return None
    zone = _zone(printed[7])
    if zone is None:
        return None
    day, year, hour, minute, second = (int(part) for part in printed.group(2, 3, 4, 5, 6))
    try:
        month = _MONTHS.index(printed[1]) + 1
        return datetime(year, month, day, hour, minute, second, tzinfo=zone).timestamp()
    except ValueError:
        return None


def _zone(word: str) -> timezone | None:
    if word in _GREENWICH:
        return UTC
    found = _ZONE.fullmatch(word)
    if found is None:
        return None
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-offset if found[1] == "-" else offset) if offset < timedelta(hours=24) else None
