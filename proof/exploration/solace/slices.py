"""The parts of the Solace pair, the evidence and the rulings that can still matter. Parts that no remaining step checks
are removed.

Two states that differ only in removed parts lead to the same states. Without this, the leftovers of a step would multiply
all later states.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.core.run import Lane
from orchestrator.model.runbook import Check, Do, Runbook
from proof.exploration.family import SOURCE, TARGET
from proof.exploration.solace.pair import FLOW, Pair
from proof.exploration.solace.promises import Evidence
from proof.exploration.vocabulary import conditions


class Live(NamedTuple):
    """The parts that can still matter. ``promotes``: a site may still be made active. ``reverts``: the lane can still
    roll back."""

    held: tuple[bool, bool]
    flow: bool
    serving: bool
    doors: bool
    promotes: bool
    reverts: bool
    compared: bool
    rejects: bool
    sync: bool

    def pair(self, pair: Pair) -> Pair:
        """``pair`` without the parts that can no longer matter."""
        return pair._replace(
            held=(
                pair.held[SOURCE] if self.held[SOURCE] else "gone",
                pair.held[TARGET] if self.held[TARGET] else "gone",
            ),
            link=pair.link or not (self.flow or any(self.held)),
            depth=pair.depth if self.flow or self.promotes else (0, 0),
            bypassed=pair.bypassed and self.promotes,
            serving=pair.serving if self.serving else (True, True),
            others=pair.others and self.doors,
            neighbour=pair.neighbour if self.doors else "none",
            opening=pair.opening and self.doors,
            untold=pair.untold and self.sync,
            unequal=pair.unequal and self.compared,
            rejects=pair.rejects or not self.rejects,
        )

    @property
    def rulings(self) -> bool:
        """See ``family.Live``: only transactions have a decision for each item."""
        return any(self.held)

    def evidence(self, evidence: Evidence) -> Evidence:
        """See ``family.Live``."""
        if not self.promotes:
            nothing = Evidence()
            evidence = evidence._replace(
                standby=nothing.standby, gone=nothing.gone, fenced=nothing.fenced, drained=nothing.drained
            )
        return evidence if any(self.held) else evidence._replace(ruled="")


def live(runbook: Runbook, lane: Lane) -> Live:
    """The parts that can still matter to ``lane``."""
    reverts = lane.status in ("ready", "running", "reverting") or lane.came_from in ("running", "reverting")
    steps = () if lane.settled else runbook.steps[lane.step :]
    undos = [step.undo for step in runbook.steps if step.undo is not None] if reverts and not lane.settled else []
    checks = [check for step in steps for check in conditions(step)]
    checks += [check for undo in undos for check in (*undo.require, *undo.expect)]
    dos = [*(step.do for step in steps if step.do is not None), *(undo.do for undo in undos)]
    fields = {name for check in checks for name in check.where}
    fields |= {step.progress.field for step in steps if step.progress is not None}
    promotes = any(_promotes(do) for do in dos)
    listed = {step.for_each.on for step in steps if step.for_each is not None}
    return Live(
        # A transaction that the manager ends at one side also ends at the other: keep both, or none.
        held=("source" in listed or "target" in listed, "target" in listed),
        flow=bool(fields & FLOW),
        serving=_reads(checks, "health"),
        doors=_reads(checks, "fence") or any(do.action in ("set_backbone", "set_external_fence") for do in dos),
        promotes=promotes,
        reverts=reverts and not lane.settled,
        compared=any(step.compare for step in steps),
        rejects="rejects_on_discard" in fields or any(do.action == "set_reject_on_discard" for do in dos),
        sync=bool(fields & {"sync_eligible", "sync_told"}),
    )


def _reads(checks: Iterable[Check], reading: str) -> bool:
    return any(check.reading == reading for check in checks)


def _promotes(do: Do) -> bool:
    return do.action == "set_role" and do.args.get("role") == "active"
