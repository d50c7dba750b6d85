"""Faults of a simulated AMPS fabric as data: what goes wrong, and when, written as one line of text each.

A fault starts at something the *world* can see: a request that arrives, a moment. It never knows which step a runbook
is at. The grammar is ``GRAMMAR`` below; whatever it does not cover is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from adapters.mock.faults import ANSWER_PATTERNS, DURATION, LASTS, AnswerFault, answer_fault, seconds_of
from orchestrator.errors import DefinitionError

GRAMMAR = """\
WHEN: WHAT                       one fault a line; # begins a comment

WHEN is one of
  disable [INSTANCE]             the first request that disables a transport there (without one: anywhere)
  enable [INSTANCE]              … that enables a transport
  downgrade, upgrade [INSTANCE]  … that downgrades, upgrades a link
  proxy, unproxy [INSTANCE]      … that enables, disables proxied transfer
  act [INSTANCE]                 … that changes anything
  reads [INSTANCE]               the first look at statistics
  any [INSTANCE]                 the first request of any kind
  at 3s                          so long after the fault was given
  A state fault may wait: disable orders-ny +2s: kill orders-ny

WHAT is a state fault
  link A B down [5s]             nothing passes between these two instances
  link A B slow 10x [30s]        their links carry a tenth
  kill A [30s]                   the process is gone; with a duration it is started again after that
  start A                        a process that is down is started
  lose A sow|all                 its SOW files, or all its files, are deleted; it must be down
  silent A [5s]                  its administration interface does not answer; nothing else notices
  stale A [30s]                  its statistics are not taken anew
  somebody disables A            another administrator disables its client transports; likewise enables;
                                 downgrades, upgrades (its links); proxies, unproxies (its queues)
or a fault of one answer
  refuse [5s]                    the request is refused
  lose request                   it is lost on the way; no answer
  lose reply                     it is obeyed or read; the connection breaks
  late 3s                        no answer; it is obeyed so much later
  truncate reply, garbage reply  the answer cannot be read
  wrong password                 the account is not accepted
A duration (ms, s, m, h) is how long it lasts; without one a state fault stays, a fault of an answer hits once."""

Phase = Literal["disable", "enable", "downgrade", "upgrade", "proxy", "unproxy", "act", "reads", "any", "at"]
ACTIONS: frozenset[str] = frozenset({"disable", "enable", "downgrade", "upgrade", "proxy", "unproxy", "act"})


@dataclass(frozen=True, slots=True)
class When:
    """What sets a fault off. ``after``: seconds until it then happens; for ``at``, counted from when it was given."""

    phase: Phase
    instance: str | None = None
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class LinkFault:
    """Something about the connection of two instances."""

    kind: Literal["down", "slow"]
    one: str
    other: str
    factor: float = 1.0
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class InstanceFault:
    """Something about one instance; ``files`` for ``lose``."""

    kind: Literal["kill", "start", "lose", "silent", "stale"]
    instance: str
    lasts: float | None = None
    files: Literal["sow", "all"] = "all"


@dataclass(frozen=True, slots=True)
class HandFault:
    """Somebody else asks an instance for something; ``verb`` as in a request."""

    verb: str
    instance: str


StateFault = LinkFault | InstanceFault | HandFault
What = StateFault | AnswerFault


@dataclass(frozen=True, slots=True)
class Fault:
    """One scripted fault; ``text`` is what was written."""

    text: str
    when: When
    what: What

    @property
    def instances(self) -> tuple[str, ...]:
        """Every instance it names."""
        named = [self.when.instance] if self.when.instance else []
        match self.what:
            case LinkFault(one=one, other=other):
                named += [one, other]
            case InstanceFault(instance=instance) | HandFault(instance=instance):
                named.append(instance)
        return tuple(named)


_HANDS = {
    "disables": "disable",
    "enables": "enable",
    "downgrades": "downgrade",
    "upgrades": "upgrade",
    "proxies": "enable_proxied_transfer",
    "unproxies": "disable_proxied_transfer",
}
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_AT = re.compile(rf"^at\s+({DURATION})$")
_WHEN = re.compile(
    rf"^(?P<phase>disable|enable|downgrade|upgrade|proxy|unproxy|act|reads|any)"
    rf"(?:\s+(?P<instance>{_NAME}))?(?:\s+\+(?P<after>{DURATION}))?$"
)
_WHATS = tuple(
    re.compile(f"^{pattern}$")
    for pattern in (
        rf"link (?P<one>{_NAME}) (?P<other>{_NAME}) (?P<link>down|slow (?P<factor>\d+(?:\.\d+)?)x){LASTS}",
        rf"(?P<kind>kill|silent|stale) (?P<instance>{_NAME}){LASTS}",
        rf"(?P<kind>start) (?P<instance>{_NAME})",
        rf"somebody (?P<hand>disables|enables|downgrades|upgrades|proxies|unproxies) (?P<instance>{_NAME})",
        rf"lose (?P<instance>{_NAME}) (?P<files>sow|all)",
        *ANSWER_PATTERNS,
    )
)


def parse_amps_fault(text: str) -> Fault:
    """One fault from its line. Raises ``DefinitionError`` with what is understood."""
    written = " ".join(text.split())
    before, colon, after = written.rpartition(":")
    when, what = _parse_when(before.strip()), _parse_what(after.strip())
    if not colon or when is None or what is None:
        raise DefinitionError(f"not a fault: {text.strip()!r}", hint="a fault is\n" + GRAMMAR)
    if isinstance(what, AnswerFault):
        if when.phase == "at" or when.after:
            problem = "a fault of an answer cannot wait; it hits the answer that sets it off"
            raise DefinitionError(f"{written!r}: {problem}", hint="a fault is\n" + GRAMMAR)
        if what.kind == "late" and when.phase not in ACTIONS:
            raise DefinitionError(f"{written!r}: only an action can be late", hint="a fault is\n" + GRAMMAR)
    return Fault(written, when, what)


def parse_amps_faults(lines: Iterable[str]) -> tuple[Fault, ...]:
    """Faults from lines of text; empty lines and comments are skipped."""
    texts = (line.split("#", 1)[0].strip() for line in lines)
    return tuple(parse_amps_fault(text) for text in texts if text)


def _parse_when(text: str) -> When | None:
    moment = _AT.match(text)
    if moment:
        return When("at", after=seconds_of(moment[1]))
    found = _WHEN.match(text)
    if found is None:
        return None
    phase: Phase = found["phase"]  # type: ignore[assignment]  # the pattern allows no other word
    return When(phase, found["instance"], seconds_of(found["after"]) if found["after"] else 0.0)


def _parse_what(text: str) -> What | None:
    found = next((match for match in (pattern.match(text) for pattern in _WHATS) if match), None)
    if found is None:
        return None
    parts = found.groupdict()
    lasts = seconds_of(parts["lasts"]) if parts.get("lasts") else None
    match parts:
        case {"link": "down", "one": str(one), "other": str(other)}:
            return LinkFault("down", one, other, lasts=lasts)
        case {"link": str(), "one": str(one), "other": str(other), "factor": str(factor)}:
            return LinkFault("slow", one, other, float(factor), lasts) if float(factor) > 0 else None
        case {"hand": str(hand), "instance": str(instance)}:
            return HandFault(_HANDS[hand], instance)
        case {"files": "sow" | "all" as files, "instance": str(instance)}:
            return InstanceFault("lose", instance, files=files)
        case {"kind": "kill" | "silent" | "stale" | "start" as kind, "instance": str(instance)}:
            return InstanceFault(kind, instance, lasts)
    return answer_fault(parts)
