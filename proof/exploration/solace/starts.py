"""The moments of the Solace pair from which a runbook is explored.

They are the moments in which an operator may use a runbook, fitting or not. A runbook that does not fit is refused, and
the refusal is explored too.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.model.runbook import Runbook
from proof.exploration.family import TARGET
from proof.exploration.solace.pair import BACKLOG, Pair
from proof.exploration.vocabulary import conditions, dos_of, readings_of

_DOORS = {"set_backbone": "fence", "set_external_fence": "external_fence"}


def starts(runbook: Runbook) -> Iterator[tuple[str, Pair]]:
    """See ``family.Family``."""
    words = readings_of(runbook) | {_DOORS[do.action] for do in dos_of(runbook) if do.action in _DOORS}
    base = Pair(depth=(BACKLOG, 0))
    if "transactions" in words:
        base = base._replace(held=("prepared", "prepared"))
    yield "the source is active and holds a backlog, the bridge is bound", base
    yield "replication was suspended, and messages passed the queue by", base._replace(rejects=False, bypassed=True)
    yield "the source is lost", base._replace(dark=("down", "no"))
    yield "the sites are cut off from each other", base._replace(link=False)
    moved = base._replace(active=(False, True), last=TARGET)
    yield "the target is active already", moved
    back = moved._replace(active=(True, True), others="fence" in words, serving=("health" not in words, True))
    if "fence" in words and acts_on(runbook, "set_backbone"):
        behind = base._replace(link=False, door=("shut", "open"), neighbour="relies")
        yield "another service has failed over behind the shut door of the source", behind
        yield (
            "another service has failed over behind the shut door, and the source is back",
            back._replace(door=("shut", "open"), others=False, neighbour="relies"),
        )
    if "fence" in words:
        yield "the source came back active while the target is active, its door open", back
        yield "the source came back active behind a shut door", back._replace(door=("shut", "open"))
    if "external_fence" in words:
        yield "the source came back active behind the fence of the plan", back._replace(outside=(True, False))
    if not words & {"fence", "external_fence"}:
        yield "the source came back active while the target is active", back
    if any("sync_told" in check.where for step in runbook.steps for check in conditions(step)):
        yield "the source is active, and does not report whether it is synchronised", base._replace(untold=True)
        yield (
            "the source came back active, and the target does not report whether it is synchronised",
            back._replace(untold=True),
        )
    if _activates(runbook) and not demotes(runbook):
        yield from _both_standby(base)
    if "endpoints" in words:
        yield "endpoints hold messages from before a fail-over", base._replace(unequal=True)


def _both_standby(base: Pair) -> Iterator[tuple[str, Pair]]:
    """Causes: a manual change that stopped half-way, or an old configuration that was synchronised back. The site that
    was active last varies, and so does the queue that can drain. After two active sites, both queues hold messages."""
    none = base._replace(active=(False, False))
    yield "both sites are standby, the source was active last and holds a backlog", none
    yield "both sites are standby and cut off from each other", none._replace(link=False)
    yield "both sites are standby, the target was active last", none._replace(last=TARGET, depth=(0, BACKLOG))
    yield "both sites are standby after both were active", none._replace(last=TARGET, depth=(BACKLOG, BACKLOG))
    yield "both sites are standby, and messages passed a queue by", none._replace(rejects=False, bypassed=True)


def demotes(runbook: Runbook) -> bool:
    """Does the runbook make the source standby?"""
    return _sets(runbook, "source", "standby")


def _activates(runbook: Runbook) -> bool:
    return _sets(runbook, "target", "active")


def _sets(runbook: Runbook, side: str, role: str) -> bool:
    dos = (step.do for step in runbook.steps if step.do is not None)
    return any((do.on, do.action, do.args.get("role")) == (side, "set_role", role) for do in dos)


def acts_on(runbook: Runbook, action: str) -> bool:
    """Does the runbook, or an undo in it, use ``action``?"""
    return any(do.action == action for do in dos_of(runbook))
