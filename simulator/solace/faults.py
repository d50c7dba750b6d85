"""Faults of message VPNs and their sites as data. One line of text says what goes wrong in the world, and when.

The trigger of a fault is visible to the *world*: a command, a reading, or a moment. A fault never knows the step of a
runbook. ``GRAMMAR`` below is the grammar. ``fault_lines`` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.solace.appliance import RoleName
from simulator.world import fault_lines
from simulator.world.fault_lines import LASTS, NAME, AnswerFault, Grammar, Groups, When, lasts

GRAMMAR = """\
WHEN: WHAT                       one fault a line; # starts a comment

WHEN is one of
  demote [VPN]                   the first command that makes the active site standby
  drain [VPN]                    the first reading of the replication queue of the site that was demoted,
                                 while both sites are standby
  transactions [VPN]             the first listing of its transactions, while both sites are standby
  complete [VPN], delete [VPN]   the first commit or rollback, deletion, of a transaction
  activate [VPN]                 the first command that makes the other site active
  revert [VPN]                   the first command that makes the demoted site active again
  fence, unfence                 the first command that shuts, that opens, a site's door to clients
  reads [VPN]                    the first reading of any kind
  login                          the first session with a site
  any                            the first thing asked of any site
  at 3s                          so long after the fault was given
  A fault may wait: drain +2s: bridge down. One of an answer then hits the first that fits after it: any +5s: wrong
  password. Without a VPN the first that fits is hit.

WHAT is a state fault
  bridge down [5s]               the replication link is cut
  stall [30s]                    the bridge stays bound and carries nothing
  slow 10x [30s]                 the bridge carries a tenth
  spool full SITE [10s]          the site can store no more
  spool not ready SITE [30s]     its nodes answer and accept roles, and none has an active spool
  unreachable SITE [4s]          its management does not answer; clients and bridge notice nothing
  node SITE/NODE down [30s]      a node dies; its HA mate, if any, takes over
  ha switch SITE                 the HA mate takes over
  ha split SITE [10s]            both nodes say that they serve
  role SITE active|standby       another operator changes the role
  tm commits|rolls back XID      the transaction manager ends a prepared transaction
  tm prepares XID                a new prepared transaction appears
or a fault of one answer
  refuse [5s]                    the command is refused
  lose request                   it is lost on the way; no answer
  lose reply                     it is obeyed or read; the session breaks
  late 3s                        no answer; it is obeyed so much later
  truncate reply, garbage reply  the answer cannot be read
  wrong password                 the account is not accepted; only with login or any
A duration (ms, s, m, h) is how long it lasts; without one a state fault stays, a fault of an answer hits once."""

# Triggers that are commands.
_COMMANDS = ("demote", "activate", "revert", "complete", "delete", "fence", "unfence", "any")
_PHASES = (*_COMMANDS, "drain", "transactions", "reads", "login")


@dataclass(frozen=True, slots=True)
class BridgeFault:
    """A fault of the replication bridge of a VPN, for ``lasts`` seconds (None: for ever)."""

    kind: Literal["down", "stall", "slow"]
    factor: float = 1.0
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class SiteFault:
    """A fault of a site or one of its nodes."""

    kind: Literal["spool full", "spool not ready", "unreachable", "node down", "ha switch", "ha split"]
    site: str
    node: str | None = None
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class RoleFault:
    """Another person gives a site a role."""

    site: str
    role: RoleName


@dataclass(frozen=True, slots=True)
class ManagerFault:
    """The transaction manager acts on a transaction."""

    verb: Literal["commits", "rolls back", "prepares"]
    xid: str


StateFault = BridgeFault | SiteFault | RoleFault | ManagerFault
Fault = fault_lines.Fault[StateFault]


def _of_bridge(groups: Groups) -> StateFault | None:
    word = groups["bridge"]
    kind: Literal["down", "stall", "slow"] = (
        "down" if word == "bridge down" else "stall" if word == "stall" else "slow"
    )
    factor = float(groups["factor"] or 1.0)
    return BridgeFault(kind, factor=factor, lasts=lasts(groups)) if factor > 0 else None


def _of_site(groups: Groups) -> StateFault | None:
    match groups:
        case {
            "kind": "spool full" | "spool not ready" | "unreachable" | "ha split" | "ha switch" as kind,
            "site": str(site),
        }:
            return SiteFault(kind, site, lasts=lasts(groups))
    return None


def _of_role(groups: Groups) -> StateFault | None:
    match groups:
        case {"role": "active" | "standby" as role, "site": str(site)}:
            return RoleFault(site, role)
    return None


def _of_manager(groups: Groups) -> StateFault | None:
    match groups:
        case {"verb": "commits" | "rolls back" | "prepares" as verb, "xid": str(xid)}:
            return ManagerFault(verb, xid)
    return None


def _misfit(when: When, what: StateFault | AnswerFault) -> str:
    """Why this trigger and this effect do not go together, or ""."""
    if when.about is not None and when.phase in ("login", "any", "fence", "unfence"):
        return f"{when.phase} takes no message VPN"
    if not isinstance(what, AnswerFault):
        return ""
    if what.kind == "wrong password" and when.phase not in ("login", "any"):
        return "a password is asked for at login only"
    if when.phase == "login" and what.kind != "wrong password":
        return "only a wrong password can go wrong in the answer to a login"
    if what.kind in ("refuse", "late") and when.phase not in _COMMANDS:
        return "only a command can be refused or late"
    return ""


FAULTS: Grammar[StateFault] = Grammar(
    help=GRAMMAR,
    phases=_PHASES,
    about=r"(?!\+)\S(?:.*?\S)??",  # the name of a message VPN may have blanks in it
    shapes=(
        (rf"(?P<bridge>bridge down|stall|slow (?P<factor>\d+(?:\.\d+)?)x){LASTS}", _of_bridge),
        (rf"(?P<kind>spool full|spool not ready|unreachable|ha split) (?P<site>{NAME}){LASTS}", _of_site),
        (rf"(?P<kind>ha switch) (?P<site>{NAME})", _of_site),
        (
            rf"node (?P<site>{NAME})/(?P<node>\S+) down{LASTS}",
            lambda groups: SiteFault("node down", str(groups["site"]), groups["node"], lasts(groups)),
        ),
        (rf"role (?P<site>{NAME}) (?P<role>active|standby)", _of_role),
        (r"tm (?P<verb>commits|rolls back|prepares) (?P<xid>\S+)", _of_manager),
    ),
    misfit=_misfit,
)
parse_fault = FAULTS.fault
parse_faults = FAULTS.faults
read_faults = FAULTS.read
