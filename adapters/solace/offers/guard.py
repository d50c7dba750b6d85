"""Guards a failed site of appliances. ``solace/guard`` closes the site to clients and makes it standby.
``solace/guard-standby`` only makes it standby, for a site that cannot, or must not, be closed. ``guard_decision``
judges the readings.
"""

from __future__ import annotations

from collections.abc import Mapping

from adapters.solace.offers.guard_decision import GuardObservation, decide_guard
from adapters.solace.reading_models import Fence, ReplicationStatus
from orchestrator.errors import NotStarted
from orchestrator.family.guard import GuardDecision, GuardSessions, GuardTarget
from orchestrator.family.reachability import REACHABILITY
from orchestrator.model.readings import Reachability, Role

_FENCING, _STANDBY_ONLY = "solace/guard", "solace/guard-standby"


class ApplianceGuard:
    """See ``GuardStrategy``."""

    runbooks = frozenset({_FENCING, _STANDBY_ONLY})
    is_permanent = True

    def __init__(self, target: GuardTarget, sessions: GuardSessions) -> None:
        self._target, self._sessions = target, sessions
        declared = target.declared
        self._can_fence = "set_backbone" in declared.actions and "fence" in declared.readings
        self._here: Mapping[str, Reachability] = {}
        self.is_degraded = False

    def assess(self) -> GuardDecision:
        """See ``GuardStrategy``."""
        seen = self._seen()
        self._here = seen.here
        return decide_guard(seen)

    def _seen(self) -> GuardObservation:
        services, everything = self._target.services, self._everything
        self._sessions.start()
        reached = self._sessions.ask("source", REACHABILITY, everything)
        here = {name: one for name, one in reached.items() if isinstance(one, Reachability)}
        if not any(one.answers for one in here.values()):
            return GuardObservation({name: here[name] for name in services}, {})
        mate = self._sessions.ask("target", "replication", self._target.pair.services)
        roles = {name: one.role if isinstance(one, ReplicationStatus) else None for name, one in mate.items()}
        doors = self._sessions.ask("source", "fence", everything[:1])[everything[0]] if self._can_fence else None
        return GuardObservation(
            here={name: here[name] for name in services},
            there={name: roles[name] for name in services},
            fence=doors if isinstance(doors, Fence) else None,
            others=[
                name
                for name, one in here.items()
                if roles.get(name) is not Role.ACTIVE and one.role is not Role.STANDBY
            ],
            can_fence=self._can_fence and not self.is_degraded,
        )

    @property
    def _everything(self) -> list[str]:
        """Every service at the guarded site. Closing the site affects all of them."""
        target = self._target
        mine = [pair for pair in target.inventory.pairs if target.site in pair.sites]
        return list(dict.fromkeys((*target.services, *(name for pair in mine for name in pair.services))))

    def validate_guardable(self, now: GuardDecision, *, failed: bool, restored: str | None) -> None:
        """See ``GuardStrategy``."""
        site = self._target.site
        if now.kind == "leave":
            raise NotStarted(
                f"{site} answers, but {self._target.mate} does not report that it is active; guarding {site} could "
                "end the service",
                hint="check with `failover status`; guard a site that has failed, not one that serves",
            )
        is_standby = all(one.role is Role.STANDBY for one in self._here.values())
        if is_standby and now.kind == "act" and (restored or not failed):
            why = f"run {restored} restored it" if restored else "no record says that it failed"
            raise NotStarted(
                f"{site} is standby and connected, and {why}; guarding it would cut off a healthy standby",
                hint="no guard is needed; if the site did fail, use `failover restore` to make it standby and fence it",
            )

    def warning(self) -> str:
        """See ``GuardStrategy``."""
        if self._can_fence:
            return ""
        return f"the adapter of {self._target.site} cannot close it to clients; the guard can only make it standby"

    def describe(self) -> str:
        """See ``GuardStrategy``."""
        fence = "closes every node to clients and makes the site" if self._can_fence else "makes the site"
        return (
            f"As soon as {self._target.site} answers while {self._target.mate} is active, this command {fence} standby "
            "without asking again, and records it."
        )

    def runbook(self, now: GuardDecision) -> str:
        """See ``GuardStrategy``."""
        return _FENCING if now.fence else _STANDBY_ONLY

    def refused(self, now: GuardDecision) -> str:
        """See ``GuardStrategy``."""
        if not now.fence:
            return ""
        self.is_degraded = True
        return f"{self._target.site} could not be fenced; the guard now only changes its role"
