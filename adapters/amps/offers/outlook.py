"""Describes an AMPS instance whose mate may be away, and advises what to do. Pure: readings in, sentences out.

Journals are kept until every destination has acknowledged them (docs/sources/amps.md, 9.4), so a mate that is away
fills the disk. A sync link that is not connected makes publishers wait until it is downgraded (docs/sources/amps.md,
9.2). A mate behind a downgraded link is no fail-over target. AMPS does not count the messages that a destination lacks,
so their number is always unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from adapters.amps.reading_models import Clients, Links, Queues, TransactionLog, Transports
from orchestrator.ages import span
from orchestrator.characters import typed
from orchestrator.counting import counted
from orchestrator.family.fill_estimate import HIGH_CLEAR, HIGH_SET
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, sum_of

Read = TypeVar("Read")
# silent: it does not answer. unknown: it does not report its link. waiting: its publishers wait for a mate that is away.
# alone: the mate is away, and no publisher waits. behind: connected, and the mate lacks something, or may. linked:
# connected, and it reports that it is hardly behind.
State = Literal["silent", "unknown", "waiting", "alone", "behind", "linked"]
# An operator should be warned this many seconds before the disk is full.
_SOON_S = 3_600.0
# Acknowledgements come about each second (docs/sources/amps.md, 6.2).
HARDLY_S = 1.0
_MB = 1024.0**2
# What may happen between two rounds, in the words of `failover watch`.
HAPPENED: Mapping[str, str] = {
    "silent": "it no longer answers",
    "answers": "it answers again",
    "cut": "its link to its mate is NO LONGER CONNECTED",
    "connected": "its link to its mate is connected again",
    "downgraded": "its link is DOWNGRADED: publishers no longer wait for the mate, so the mate is not a fail-over target",
    "upgraded": "its link is no longer downgraded",
    "high": f"HIGH MARK: journals use {HIGH_SET:.0f}% of their disk space or more",
    "clear": f"journals use less than {HIGH_CLEAR:.0f}% of their disk space again",
}


@dataclass(frozen=True, slots=True)
class Observation:
    """The readings of one service's instance in one round; None: not reported. ``cut_s``: for how long its link to its
    mate has been read as not connected. ``silence``: why the instance does not answer."""

    silence: str = ""
    transports: Transports | None = None
    clients: Clients | None = None
    links: Links | None = None
    queues: Queues | None = None
    log: TransactionLog | None = None
    cut_s: float | None = None
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Mapping[str, Reading | Failure]) -> Observation:
        """The observation from answers by reading. A reading that failed is unknown, with the reason."""
        return cls(
            transports=_had(found, Transports),
            clients=_had(found, Clients),
            links=_had(found, Links),
            queues=_had(found, Queues),
            log=_had(found, TransactionLog),
            unknown=tuple(f"{name}: {one.text}" for name, one in found.items() if isinstance(one, Failure)),
        )

    @property
    def percent_full(self) -> float | None:
        """The used part, in percent, of the room that the inventory gives to journals."""
        log = self.log
        if log is None or log.bytes is None or not log.capacity_bytes:
            return None
        return 100.0 * log.bytes / log.capacity_bytes


def _had(found: Mapping[str, Reading | Failure], kind: type[Read]) -> Read | None:
    return next((one for one in found.values() if isinstance(one, kind)), None)


@dataclass(frozen=True, slots=True)
class Outlook:
    """``sentence`` describes the instance. ``advice`` says what to do, or is empty."""

    state: State
    sentence: str
    advice: str = ""


def outlook(seen: Observation, *, service: str, mate: str) -> Outlook:
    """The state of one service's instance. ``mate``: the other site."""
    state = _state(seen)
    if state == "silent":
        return Outlook(state, f"it does not answer: {seen.silence}")
    parts = [_doors(seen), _link(seen, mate), *_lacking(seen, state, mate), *_owned(seen), _journals(seen)]
    parts += [f"unknown: {text}" for text in seen.unknown]
    return Outlook(state, ", ".join(parts), _advice(seen, state, service, mate))


def figures_of(seen: Observation) -> dict[str, object]:
    """The observation as numbers; unknown is None. The number of messages that the mate lacks is always None."""
    doors, links, queues, log = seen.transports, seen.links, seen.queues, seen.log
    percent = seen.percent_full
    return {
        "open": None if doors is None else doors.open,
        "clients": None if seen.clients is None else seen.clients.count,
        "connected": None if links is None else links.connected,
        "sync": None if links is None else links.sync,
        "downgraded": None if links is None else links.downgraded,
        "behind_s": None if links is None else links.behind_s,
        "cut_s": seen.cut_s,
        "unreplicated_messages": None,
        "owned": None if queues is None else queues.owned,
        "journal_bytes": None if log is None else log.bytes,
        "journal_capacity_bytes": None if log is None else log.capacity_bytes,
        "percent_full": None if percent is None else round(percent, 3),
        "room_for_s": None if log is None or log.survives_s is None else round(log.survives_s),
    }


def _state(seen: Observation) -> State:
    if seen.silence:
        return "silent"
    links = seen.links
    if links is None or links.connected is None:
        return "unknown"
    if not links.connected:
        return "unknown" if links.sync is None else "waiting" if links.sync else "alone"
    if links.behind_s is None:
        return "unknown"
    return "behind" if links.downgraded or links.behind_s > HARDLY_S else "linked"


def _doors(seen: Observation) -> str:
    doors = seen.transports
    count = None if seen.clients is None else seen.clients.count
    clients = "clients unknown" if count is None else counted(count, "client")
    if doors is None or (doors.open is None and doors.closed is None):
        return f"{clients}, unknown whether it lets clients in"
    return f"{clients}, {'open' if doors.open else 'CLOSED to clients' if doors.closed else 'open in part'}"


def _link(seen: Observation, mate: str) -> str:
    links = seen.links
    if links is None or links.connected is None:
        return f"unknown whether its link to {mate} is connected"
    how = "acknowledging unknown" if links.sync is None else "sync" if links.sync else "async"
    if links.downgraded:
        how = "DOWNGRADED to async"
    behind = "unknown how far behind" if links.behind_s is None else f"{links.behind_s:g} s behind"
    if links.connected:
        return f"link to {mate} {how}, {behind}"
    since = f" for {span(seen.cut_s)} or longer" if seen.cut_s else ""
    return f"link to {mate} NOT CONNECTED{since}, {how}, {behind}"


def _lacking(seen: Observation, state: State, mate: str) -> Iterator[str]:
    if state in ("waiting", "alone"):
        yield f"unknown how many messages {mate} lacks"


def _owned(seen: Observation) -> Iterator[str]:
    queues = seen.queues
    if queues is None or queues.items is None:
        yield "queues unknown"
    elif queues.present:
        depth, owned = sum_of(one.depth for one in queues.items), queues.owned
        yield f"queue messages {_count(depth)}, owned here {_count(owned)}"


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _journals(seen: Observation) -> str:
    log, percent = seen.log, seen.percent_full
    if log is None or log.bytes is None:
        return "journals unknown"
    size = f"journals {log.bytes / _MB:,.0f} MB"
    if percent is None:
        return f"{size}, headroom unknown (no journal_capacity in the inventory)"
    if log.survives_s == 0.0:
        return f"{size}, FULL"
    left = "unknown how long the space lasts" if log.survives_s is None else f"room for {span(log.survives_s)}"
    return f"{size}, {percent:.1f}% full, {left}"


def _advice(seen: Observation, state: State, service: str, mate: str) -> str:
    if state == "waiting":
        return (
            f"publishers wait for {mate}. If {mate} has failed, `failover uncontrolled {typed(service)} --site {mate}` "
            f"downgrades the link; if {mate} runs but is cut off, both instances may be serving"
        )
    if state == "behind" and seen.links is not None and seen.links.keeping_up:
        return f"{mate} is back and keeps up: `failover restore {typed(service)} --site {mate}` upgrades the link"
    if state != "alone":
        return ""
    log, percent = seen.log, seen.percent_full
    is_soon = log is not None and log.survives_s is not None and log.survives_s <= _SOON_S
    if is_soon or (percent is not None and percent >= HIGH_SET):
        return (
            f"AMPS keeps journals until {mate} has them, and cannot suspend that: bring {mate} back, archive or "
            "compress older journals, or give journals more disk space"
        )
    if log is not None and log.survives is False:
        assert log.survives_s is not None and log.outage_s is not None  # else ``survives`` would be None
        room, wanted = span(log.survives_s), span(log.outage_s)
        return f"journals have space for an outage of {room}, but the inventory asks for {wanted}"
    return ""
