"""Faults of a simulated pair of a declared family as data. One line of text says what goes wrong, and when.

``GRAMMAR`` below is the grammar. ``simulator.world.fault_lines`` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.world import fault_lines
from simulator.world.fault_lines import LASTS, NAME, AnswerFault, Grammar, Groups, When, lasts

GRAMMAR = """\
WHEN: WHAT                       one fault a line; # starts a comment

WHEN is one of
  act [SITE|ACTION]              the first action (without a name: any action, anywhere)
  reads [SITE]                   the first reading
  any [SITE]                     the first request of any kind
  at 3s                          so long after the fault was given
  A fault may wait: act ny +2s: down ny. One of an answer then hits the first that fits after it.

WHAT is a state fault
  link down [5s]                 nothing passes between the sites
  link slow 10x [30s]            the link carries a tenth
  down SITE [30s]                the node is down; with a duration it starts again after that
  up SITE                        a node that is down starts
  silent SITE [5s]               the site does not answer; its clients notice nothing
  somebody ACTION SITE           another operator does this there
  manager SITE [NAME] [5s]       another manager, or each one, may act there, and is shown
  manager hidden SITE [NAME] [5s]  its reading does not tell whether it may
  manager does ACTION SITE       it does this, if it may act there and its node is up
or a fault of one answer
  refuse [5s]                    the request is refused
  lose request                   it is lost on the way; no answer
  lose reply                     it is obeyed or read; the connection breaks
  late 3s                        no answer; it is obeyed so much later
  break off                      the connection breaks within it; of several requests the first alone is obeyed
  truncate reply, garbage reply  the answer cannot be read
  wrong password                 the account is not accepted
A duration (ms, s, m, h) is how long it lasts; without one a state fault stays, a fault of an answer hits once."""


@dataclass(frozen=True, slots=True)
class LinkFault:
    """The link carries nothing (``factor`` None), or only one of ``factor`` units."""

    factor: float | None = None
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class SiteFault:
    """A fault of one site."""

    kind: Literal["down", "up", "silent"]
    site: str
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class ManagerFault:
    """Another manager may act at the site, or its reading hides whether it may (``hidden``). ``name``: the manager,
    or empty for each manager."""

    site: str
    name: str = ""
    hidden: bool = False
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class HandFault:
    """Another operator or another manager runs ``action``."""

    action: str
    site: str
    by: Literal["somebody", "manager"] = "somebody"


StateFault = LinkFault | SiteFault | ManagerFault | HandFault
Fault = fault_lines.Fault[StateFault]


def _of_link(groups: Groups) -> StateFault | None:
    factor = groups["factor"]
    if factor is None:
        return LinkFault(lasts=lasts(groups))
    return LinkFault(float(factor), lasts(groups)) if float(factor) > 0 else None


def _of_site(groups: Groups) -> StateFault | None:
    match groups:
        case {"kind": "down" | "silent" as kind, "site": str(site)}:
            return SiteFault(kind, site, lasts(groups))
        case {"kind": "up", "site": str(site)}:
            return SiteFault("up", site)
    return None


def _of_manager(groups: Groups) -> StateFault | None:
    hidden = groups["hidden"] is not None
    return ManagerFault(str(groups["site"]), groups["name"] or "", hidden=hidden, lasts=lasts(groups))


def _of_hand(groups: Groups) -> StateFault | None:
    by: Literal["somebody", "manager"] = "somebody" if groups["by"] == "somebody" else "manager"
    return HandFault(str(groups["action"]), str(groups["site"]), by)


def _of_part(groups: Groups) -> AnswerFault:
    return AnswerFault("break off")


def _misfit(when: When, what: StateFault | AnswerFault) -> str:
    if isinstance(what, AnswerFault) and what.kind in ("late", "break off") and when.phase != "act":
        return "only an action can be late" if what.kind == "late" else "only an action can break off"
    return ""


FAULTS: Grammar[StateFault] = Grammar(
    help=GRAMMAR,
    phases=("act", "reads", "any"),
    about=NAME,
    shapes=(
        (rf"link (?:down|slow (?P<factor>\d+(?:\.\d+)?)x){LASTS}", _of_link),
        (rf"(?P<kind>down|silent) (?P<site>{NAME}){LASTS}", _of_site),
        (rf"(?P<kind>up) (?P<site>{NAME})", _of_site),
        ("break off", _of_part),
        (rf"manager(?P<hidden> hidden)? (?P<site>{NAME})(?: (?P<name>[a-z][a-z0-9_]*))?{LASTS}", _of_manager),
        (rf"(?P<by>somebody|manager does) (?P<action>[a-z][a-z0-9_]*) (?P<site>{NAME})", _of_hand),
    ),
    misfit=_misfit,
)
parse_generic_fault = FAULTS.fault
