"""``show redundancy [detail]`` and ``show message-spool`` as values (docs/sources/solace-procedure.md, uncontrolled
4.2; docs/sources/solace.md, 3.5 and 3.6).

The output has labels first, then a table with two columns: primary and backup virtual router. The rule's columns mark
where a cell starts and ends, since cells are often blank. The procedure's text writes ``AD-Not Ready`` where its sample
prints ``AD-NotReady``, so states are compared without blanks and case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapters.solace.labels import Term, labels_in, plain
from adapters.solace.names import router_name
from adapters.solace.refusals import unreadable
from adapters.solace.tables import Span, lines_of, rule_in


class Activity(StrEnum):
    """The activity of a virtual router on this node."""

    LOCAL_ACTIVE = "Local Active"
    LOCAL_INACTIVE = "Local Inactive"
    MATE_ACTIVE = "Mate Active"
    SHUTDOWN = "Shutdown"


class Spool(StrEnum):
    """The state of the message spool."""

    ACTIVE = "AD-Active"
    STANDBY = "AD-Standby"
    ACTIVATING = "AD-Activating"
    NOT_READY = "AD-NotReady"
    DISABLED = "AD-Disabled"
    UNKNOWN = "AD-Unknown"


@dataclass(frozen=True, slots=True)
class VirtualRouter:
    """One column of the table; None for a blank cell or a row that is not there."""

    activity: Activity | None
    spool: Spool | None


@dataclass(frozen=True, slots=True)
class Redundancy:
    """What one node reports about itself. ``configured`` is False on a node that has no HA mate.

    ``up`` is the group's status; older appliances do not show it. ``link_up``: link and hello to the mate.
    """

    configured: bool
    up: bool | None
    link_up: bool | None
    mate_router: str | None
    primary: VirtualRouter
    backup: VirtualRouter

    def serves(self, *, alone: bool) -> bool | None:
        """Does this node serve? None when only ``show message-spool`` can tell.

        A virtual router that is Local Active with an active spool serves, in either column: a healthy pair may stay on
        its backup without a time limit (docs/sources/solace.md, 2.4). If ``alone``, a node without redundancy serves.
        """
        routers = (self.primary, self.backup)
        spools = [router.spool for router in routers if router.activity is Activity.LOCAL_ACTIVE]
        if Spool.ACTIVE in spools or (alone and not self.configured):
            return True
        return None if None in spools else False

    @property
    def spool_active(self) -> bool | None:
        """Is the message spool active on this node? None when no cell tells."""
        told = [router.spool for router in (self.primary, self.backup) if router.spool not in (None, Spool.UNKNOWN)]
        return Spool.ACTIVE in told if told else None

    @property
    def group_up(self) -> bool | None:
        """Is the HA pair complete? None for a node that is alone, and for an older appliance whose links are up."""
        if not self.configured:
            return None
        if self.up is not None:
            return self.up
        return False if self.link_up is False else None


# "Enabled-Released" is printed for a released node; the public documentation has "Released" alone.
_CONFIGURED = {
    "enabled": True,
    "enabled-released": True,
    "released": True,
    "disabled": False,
    "shutdown": False,
}
_UP = {"up": True, "down": False}
_COLUMNS = re.compile(r"\s+Primary Virtual Router\s+Backup Virtual Router", re.IGNORECASE)
# A cell that does not apply is blank, or has one of these words.
_NO_WORD = frozenset({"", "n/a", "-"})


def parse_redundancy(text: str, device: str = "") -> Redundancy:
    """The redundancy in the output of ``show redundancy [detail]``. Raises ``CommandRejected`` or
    ``UnreadableReply``."""
    lines = lines_of(text)
    at = next((i for i, line in enumerate(lines) if _COLUMNS.fullmatch(line)), None)
    rule = rule_in(lines[at + 1]) if at is not None and at + 1 < len(lines) else None
    if at is None or rule is None or len(rule) != 2:
        raise unreadable("the table of virtual routers, or the line under its header, is missing", text, device)
    labels = labels_in(lines[:at])
    configured = _CONFIGURED.get(_plain(Term.CONFIGURATION.of(labels) or ""))
    if configured is None:
        raise unreadable("its Configuration Status is missing or not known", text, device)
    rows = _rows(lines[at + 2 :], rule)
    if Term.ACTIVITY.of(rows) is None:
        raise unreadable("the row Activity Status is missing", text, device)
    links = [_UP.get(_plain(term.of(labels) or "")) for term in (Term.ADB_LINK, Term.ADB_HELLO)]
    primary, backup = (_router(rows, column, text, device) for column in (0, 1))
    return Redundancy(
        configured=configured,
        up=_UP.get(_plain(Term.REDUNDANCY.of(labels) or "")),
        link_up=None if None in links else all(links),
        mate_router=router_name(Term.MATE_ROUTER.of(labels) or "") or None,
        primary=primary,
        backup=backup,
    )


def parse_message_spool(text: str, device: str = "") -> Spool:
    """The "Operational Status" of ``show message-spool``. Raises ``CommandRejected`` or ``UnreadableReply``."""
    found = Term.OPERATIONAL.of(labels_in(lines_of(text)))
    if found is None:
        raise unreadable("the label Operational Status is missing", text, device)
    spool = _SPOOLS.get(_plain(found))
    if spool is None:
        raise unreadable(f"'{found}' is not a known state of a message spool", text, device)
    return spool


def _plain(value: str) -> str:
    return value.replace(" ", "").lower()


_ACTIVITIES = {_plain(activity): activity for activity in Activity}
_SPOOLS = {_plain(spool): spool for spool in Spool}


def _rows(lines: list[str], rule: tuple[Span, ...]) -> dict[str, tuple[str, str]]:
    """The cells of each plain label; ``detail`` has further sections below whose labels end in a colon."""
    rows: dict[str, tuple[str, str]] = {}
    for line in lines:
        label = line[: rule[0].start].strip()
        if label.endswith(":"):
            continue
        rows.setdefault(plain(label), (line[rule[0].start : rule[1].start].strip(), line[rule[1].start :].strip()))
    return rows


def _router(rows: Mapping[str, tuple[str, str]], column: int, text: str, device: str) -> VirtualRouter:
    blank = ("", "")
    activity = _plain((Term.ACTIVITY.of(rows) or blank)[column])
    spool = _plain((Term.SPOOL.of(rows) or blank)[column])
    if activity not in _NO_WORD and activity not in _ACTIVITIES:
        raise unreadable(f"'{activity}' is not a known activity of a virtual router", text, device)
    if spool not in _NO_WORD and spool not in _SPOOLS:
        raise unreadable(f"'{spool}' is not a known state of a message spool", text, device)
    return VirtualRouter(_ACTIVITIES.get(activity), _SPOOLS.get(spool))
