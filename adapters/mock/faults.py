"""Faults as data: what goes wrong in the world, and when, written as one line of text each.

A fault starts at something the *world* can see: a command that arrives, a reading that is asked for, a moment. It
never knows which step a runbook is at. The grammar is ``GRAMMAR`` below; whatever it does not cover is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adapters.mock.appliance import RoleName
from orchestrator.errors import DefinitionError

GRAMMAR = """\
WHEN: WHAT                       one fault a line; # begins a comment

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
  A state fault may wait: drain +2s: bridge down. Without a VPN the first that fits is hit.

WHAT is a state fault
  bridge down [5s]               the replication link is cut
  stall [30s]                    the bridge stays bound and carries nothing
  slow 10x [30s]                 the bridge carries a tenth
  spool full SITE [10s]          the site can store no more
  unreachable SITE [4s]          its management does not answer; clients and bridge notice nothing
  node SITE/NODE down [30s]      a node dies; its HA mate, if any, takes over
  ha switch SITE                 the HA mate takes over
  ha split SITE [10s]            both nodes say that they serve
  role SITE active|standby       somebody else changes the role
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

Phase = Literal[
    "demote",
    "drain",
    "transactions",
    "complete",
    "delete",
    "activate",
    "revert",
    "fence",
    "unfence",
    "reads",
    "login",
    "any",
    "at",
]
_COMMANDS: frozenset[Phase] = frozenset(
    {"demote", "activate", "revert", "complete", "delete", "fence", "unfence", "any"}
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class When:
    """What sets a fault off. ``after``: seconds until it then happens; for ``at``, counted from when it was given."""

    phase: Phase
    vpn: str | None = None
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class BridgeFault:
    """Something about the replication bridge of a VPN, for ``lasts`` seconds (None: for ever)."""

    kind: Literal["down", "stall", "slow"]
    factor: float = 1.0
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class SiteFault:
    """Something about a site or one of its nodes."""

    kind: Literal["spool full", "unreachable", "node down", "ha switch", "ha split"]
    site: str
    node: str | None = None
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class RoleFault:
    """Somebody else gives a site a role."""

    site: str
    role: RoleName


@dataclass(frozen=True, slots=True)
class ManagerFault:
    """The transaction manager acts on a transaction."""

    verb: Literal["commits", "rolls back", "prepares"]
    xid: str


@dataclass(frozen=True, slots=True)
class AnswerFault:
    """One answer goes wrong; with ``lasts``, every one for so long. ``late`` seconds pass before it is obeyed."""

    kind: Literal["refuse", "lose request", "lose reply", "late", "truncate reply", "garbage reply", "wrong password"]
    late: float = 0.0
    lasts: float | None = None


StateFault = BridgeFault | SiteFault | RoleFault | ManagerFault
What = StateFault | AnswerFault


@dataclass(frozen=True, slots=True)
class Fault:
    """One scripted fault; ``text`` is what was written."""

    text: str
    when: When
    what: What


DURATION = r"\d+(?:\.\d+)?(?:ms|s|m|h)"
_WHEN = re.compile(
    rf"^(?P<phase>demote|drain|transactions|complete|delete|activate|revert|fence|unfence|reads|login|any)"
    rf"(?:\s+(?P<vpn>(?!\+)\S(?:.*?\S)?))?(?:\s+\+(?P<after>{DURATION}))?$"
)
_AT = re.compile(rf"^at\s+({DURATION})$")
LASTS = rf"(?:\s+(?P<lasts>{DURATION}))?"
# What can go wrong with an answer, whoever gives it; ``answer_fault`` reads what they find.
ANSWER_PATTERNS = (
    rf"(?P<answer>refuse|truncate reply|garbage reply|lose request|lose reply|wrong password){LASTS}",
    rf"(?P<answer>late) (?P<late>{DURATION})",
)
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_WHATS = tuple(
    re.compile(f"^{pattern}$")
    for pattern in (
        rf"(?P<bridge>bridge down|stall|slow (?P<factor>\d+(?:\.\d+)?)x){LASTS}",
        rf"(?P<place>spool full|unreachable|ha split) (?P<site>{_NAME}){LASTS}",
        rf"(?P<switch>ha switch) (?P<site>{_NAME})",
        rf"node (?P<site>{_NAME})/(?P<node>\S+) down{LASTS}",
        rf"role (?P<site>{_NAME}) (?P<role>active|standby)",
        r"tm (?P<verb>commits|rolls back|prepares) (?P<xid>\S+)",
        *ANSWER_PATTERNS,
    )
)


def parse_fault(text: str) -> Fault:
    """One fault from its line. Raises ``DefinitionError`` with what is understood."""
    written = " ".join(text.split())
    before, colon, after = written.rpartition(":")
    when, what = _parse_when(before.strip()), _parse_what(after.strip())
    if not colon or when is None or what is None:
        raise DefinitionError(f"not a fault: {text.strip()!r}", hint="a fault is\n" + GRAMMAR)
    problem = _misfit(when, what)
    if problem:
        raise DefinitionError(f"{written!r}: {problem}", hint="a fault is\n" + GRAMMAR)
    return Fault(written, when, what)


def parse_faults(lines: Iterable[str], *, file: Path | str | None = None) -> tuple[Fault, ...]:
    """Faults from lines of text; empty lines and comments are skipped. Errors name file and line."""
    faults: list[Fault] = []
    for number, line in enumerate(lines, start=1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        try:
            faults.append(parse_fault(text))
        except DefinitionError as error:
            raise DefinitionError(str(error), hint=error.hint, file=file, line=number) from error
    return tuple(faults)


def read_faults(path: Path) -> tuple[Fault, ...]:
    """Faults from a plain text file, one a line. Raises ``DefinitionError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"the faults cannot be read: {error}", file=path) from error
    return parse_faults(text.splitlines(), file=path)


def _parse_when(text: str) -> When | None:
    moment = _AT.match(text)
    if moment:
        return When("at", after=seconds_of(moment[1]))
    found = _WHEN.match(text)
    if found is None:
        return None
    phase: Phase = found["phase"]  # type: ignore[assignment]  # the pattern allows no other word
    return When(phase, vpn=found["vpn"], after=seconds_of(found["after"]) if found["after"] else 0.0)


def _parse_what(text: str) -> What | None:
    found = next((match for match in (pattern.match(text) for pattern in _WHATS) if match), None)
    if found is None:
        return None
    parts = found.groupdict()
    lasts = seconds_of(parts["lasts"]) if parts.get("lasts") else None
    match parts:
        case {"bridge": str(word)}:
            factor = float(parts["factor"] or 1.0)
            return BridgeFault(_bridge_kind(word), factor=factor, lasts=lasts) if factor > 0 else None
        case {"place": "spool full" | "unreachable" | "ha split" as kind, "site": str(site)}:
            return SiteFault(kind, site, lasts=lasts)
        case {"switch": str(), "site": str(site)}:
            return SiteFault("ha switch", site)
        case {"node": str(node), "site": str(site)}:
            return SiteFault("node down", site, node, lasts)
        case {"role": "active" | "standby" as role, "site": str(site)}:
            return RoleFault(site, role)
        case {"verb": "commits" | "rolls back" | "prepares" as verb, "xid": str(xid)}:
            return ManagerFault(verb, xid)
    return answer_fault(parts)


def answer_fault(parts: Mapping[str, str | None]) -> AnswerFault | None:
    """The fault that one of ``ANSWER_PATTERNS`` found; None when none of them did."""
    lasts = parts.get("lasts")
    match parts:
        case {"answer": "late", "late": str(late)}:
            return AnswerFault("late", late=seconds_of(late))
        case {
            "answer": "refuse"
            | "lose request"
            | "lose reply"
            | "truncate reply"
            | "garbage reply"
            | "wrong password" as answer
        }:
            return AnswerFault(answer, lasts=seconds_of(lasts) if lasts else None)
    return None


def _bridge_kind(word: str) -> Literal["down", "stall", "slow"]:
    return "down" if word == "bridge down" else "stall" if word == "stall" else "slow"


def _misfit(when: When, what: What) -> str:
    """Why these two do not go together, or nothing."""
    if when.vpn is not None and when.phase in ("login", "any", "fence", "unfence"):
        return f"{when.phase} takes no message VPN"
    if not isinstance(what, AnswerFault):
        return ""
    if when.phase == "at" or when.after:
        return "a fault of an answer cannot wait; it hits the answer that sets it off"
    if what.kind == "wrong password" and when.phase not in ("login", "any"):
        return "a password is asked for at login only"
    if when.phase == "login" and what.kind != "wrong password":
        return "only a wrong password can go wrong in the answer to a login"
    if what.kind in ("refuse", "late") and when.phase not in _COMMANDS:
        return "only a command can be refused or late"
    return ""


def seconds_of(text: str) -> float:
    """A duration such as ``1.5s``. Raises ``DefinitionError``."""
    found = re.match(r"^(\d+(?:\.\d+)?)(ms|s|m|h)$", text)
    if found is None:
        raise DefinitionError(f"not a duration: {text!r}")
    return float(found[1]) * _UNITS[found[2]]
