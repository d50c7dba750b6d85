"""Faults of a simulated AMPS fabric as data. One line of text says what goes wrong, and when.

The trigger of a fault is visible to the *world*: a request or a moment. A fault never knows the step of a runbook.
``GRAMMAR`` below is the grammar. ``simulator.world.fault_lines`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from simulator.world import fault_lines
from simulator.world.fault_lines import LASTS, NAME, AnswerFault, Grammar, Groups, When, lasts

GRAMMAR = """\
WHEN: WHAT                       one fault a line; # starts a comment

WHEN is one of
  disable [INSTANCE]             the first request that disables a transport there (without one: anywhere)
  enable [INSTANCE]              … that enables a transport
  downgrade, upgrade [INSTANCE]  … that downgrades, upgrades a link
  proxy, unproxy [INSTANCE]      … that enables, disables proxied transfer
  act [INSTANCE]                 … that changes anything
  reads [INSTANCE]               the first reading of statistics
  any [INSTANCE]                 the first request of any kind
  at 3s                          so long after the fault was given
  A fault may wait: disable orders-ny +2s: kill orders-ny. One of an answer then hits the first that fits after it:
  any +5s: wrong password

WHAT is a state fault
  link A B down [5s]             nothing passes between these two instances
  link A B slow 10x [30s]        their links carry a tenth
  kill A [30s]                   the process is gone; with a duration it is started again after that
  start A                        a process that is down is started
  lose A sow|all                 its SOW files, or all its files, are deleted; it must be down
  silent A [5s]                  its administration interface does not answer; nothing else notices
  stale A [30s]                  its statistics are not refreshed
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

# Triggers that are actions.
_ACTIONS = ("disable", "enable", "downgrade", "upgrade", "proxy", "unproxy", "act")

_HANDS = {
    "disables": "disable",
    "enables": "enable",
    "downgrades": "downgrade",
    "upgrades": "upgrade",
    "proxies": "enable_proxied_transfer",
    "unproxies": "disable_proxied_transfer",
}


@dataclass(frozen=True, slots=True)
class LinkFault:
    """A fault of the connection of two instances."""

    kind: Literal["down", "slow"]
    one: str
    other: str
    factor: float = 1.0
    lasts: float | None = None


@dataclass(frozen=True, slots=True)
class InstanceFault:
    """A fault of one instance. ``files`` is used by ``lose``."""

    kind: Literal["kill", "start", "lose", "silent", "stale"]
    instance: str
    lasts: float | None = None
    files: Literal["sow", "all"] = "all"


@dataclass(frozen=True, slots=True)
class HandFault:
    """Another administrator sends a request to an instance. ``verb`` is the action of the request."""

    verb: str
    instance: str


StateFault = LinkFault | InstanceFault | HandFault
Fault = fault_lines.Fault[StateFault]


def instances_of(fault: Fault) -> Iterator[str]:
    """Every instance that a fault names."""
    if fault.when.about is not None:
        yield fault.when.about
    match fault.what:
        case LinkFault(one=one, other=other):
            yield from (one, other)
        case InstanceFault(instance=instance) | HandFault(instance=instance):
            yield instance


def _of_link(groups: Groups) -> StateFault | None:
    one, other, factor = str(groups["one"]), str(groups["other"]), groups["factor"]
    if factor is None:
        return LinkFault("down", one, other, lasts=lasts(groups))
    return LinkFault("slow", one, other, float(factor), lasts(groups)) if float(factor) > 0 else None


def _of_instance(groups: Groups) -> StateFault | None:
    match groups:
        case {"kind": "lose", "files": "sow" | "all" as files, "instance": str(instance)}:
            return InstanceFault("lose", instance, files=files)
        case {"kind": "kill" | "silent" | "stale" | "start" as kind, "instance": str(instance)}:
            return InstanceFault(kind, instance, lasts(groups))
    return None


def _of_hand(groups: Groups) -> StateFault | None:
    return HandFault(_HANDS[str(groups["hand"])], str(groups["instance"]))


def _misfit(when: When, what: StateFault | AnswerFault) -> str:
    if isinstance(what, AnswerFault) and what.kind == "late" and when.phase not in _ACTIONS:
        return "only an action can be late"
    return ""


FAULTS: Grammar[StateFault] = Grammar(
    help=GRAMMAR,
    phases=(*_ACTIONS, "reads", "any"),
    about=NAME,
    shapes=(
        (rf"link (?P<one>{NAME}) (?P<other>{NAME}) (?:down|slow (?P<factor>\d+(?:\.\d+)?)x){LASTS}", _of_link),
        (rf"(?P<kind>kill|silent|stale) (?P<instance>{NAME}){LASTS}", _of_instance),
        (rf"(?P<kind>start) (?P<instance>{NAME})", _of_instance),
        (rf"somebody (?P<hand>{'|'.join(_HANDS)}) (?P<instance>{NAME})", _of_hand),
        (rf"(?P<kind>lose) (?P<instance>{NAME}) (?P<files>sow|all)", _of_instance),
    ),
    misfit=_misfit,
)
parse_amps_fault = FAULTS.fault
parse_amps_faults = FAULTS.faults
