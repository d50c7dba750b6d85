"""Guards a failed AMPS instance: ``amps/guard`` disables its client transports.

An instance forgets this at its next start, so it is guarded until it is restored.
"""

from __future__ import annotations

from adapters.amps.offers.guard_decision import GuardObservation, decide_guard
from orchestrator.errors import NotStarted
from orchestrator.family.guard import GuardDecision, GuardSessions, GuardTarget
from orchestrator.family.reachability import REACHABILITY
from orchestrator.model.readings import Reachability

_GUARD = "amps/guard"


class InstanceGuard:
    """See ``GuardStrategy``."""

    runbooks = frozenset({_GUARD})
    is_permanent = False
    is_degraded = False

    def __init__(self, target: GuardTarget, sessions: GuardSessions) -> None:
        self._target, self._sessions = target, sessions

    def assess(self) -> GuardDecision:
        """See ``GuardStrategy``."""
        services = self._target.services
        self._sessions.start()
        reached = self._sessions.ask("source", REACHABILITY, services)
        here = {name: one for name, one in reached.items() if isinstance(one, Reachability)}
        if not any(one.answers for one in here.values()):
            return decide_guard(GuardObservation(here, {}, {}))
        doors = self._sessions.ask("source", "transports", services)
        return decide_guard(GuardObservation(here, doors, self._sessions.ask("target", "transports", services)))

    def validate_guardable(self, now: GuardDecision, *, failed: bool, restored: str | None) -> None:
        """See ``GuardStrategy``. Across sync links both instances of a healthy pair let clients in."""
        site = self._target.site
        if now.kind == "leave":
            raise NotStarted(
                f"{site} answers, but {self._target.mate} does not report that it lets clients in; guarding {site} could "
                "end the service",
                hint="check with `failover status`; guard an instance that has failed, not one that serves",
            )
        if now.kind == "act" and (restored or not failed):
            why = f"run {restored} restored it" if restored else "no record says that it failed"
            raise NotStarted(
                f"{site} answers and lets clients in, and {why}; guarding it would disconnect the clients of a healthy "
                "instance",
                hint=f"if {site} did fail, `failover restore --site {site}` keeps clients away until it is in sync",
            )

    def warning(self) -> str:
        """See ``GuardStrategy``."""
        return ""

    def describe(self) -> str:
        """See ``GuardStrategy``."""
        return (
            f"Whenever both {self._target.site} and {self._target.mate} let clients in, this command disables the client "
            f"transports of {self._target.site} without asking again, and records it."
        )

    def runbook(self, now: GuardDecision) -> str:
        """See ``GuardStrategy``."""
        return _GUARD

    def refused(self, now: GuardDecision) -> str:
        """See ``GuardStrategy``."""
        return ""
