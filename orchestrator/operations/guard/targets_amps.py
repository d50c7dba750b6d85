"""Guarding a failed AMPS instance: its client transports are disabled by ``amps/guard``.

An instance forgets that when it is started again, so the guard goes on until the instance is restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from orchestrator.errors import NotStarted
from orchestrator.family.reachability import REACHABILITY
from orchestrator.model.plan import ReadBefore
from orchestrator.model.readings import Reachability
from orchestrator.operations.guard.targets import Beat, Looks
from orchestrator.operations.runtime import Tools
from orchestrator.reports.guard_decision import Standing
from orchestrator.reports.guard_decision_amps import AmpsSight, standing_amps

_GUARD = "amps/guard"


class InstancePost:
    """See ``posts.Post``."""

    runbooks = frozenset({_GUARD})
    lasts = False
    is_short = False

    def __init__(self, tools: Tools, beat: Beat, stack: ExitStack) -> None:
        self._beat, self._looks = beat, Looks(tools, beat, stack)

    @property
    def read(self) -> Sequence[ReadBefore]:
        """See ``posts.Post``."""
        return self._looks.read

    def look(self) -> Standing:
        """See ``posts.Post``."""
        services = self._beat.services
        self._looks.start()
        told = self._looks.ask("source", REACHABILITY, services)
        here = {name: one for name, one in told.items() if isinstance(one, Reachability)}
        if not any(one.answers for one in here.values()):
            return standing_amps(AmpsSight(here, {}, {}))
        doors = self._looks.ask("source", "transports", services)
        return standing_amps(AmpsSight(here, doors, self._looks.ask("target", "transports", services)))

    def see_lost(self, now: Standing, *, failed: bool, restored: str | None) -> None:
        """See ``posts.Post``. Across sync links both instances of a healthy pair let clients in."""
        site = self._beat.site
        if now.kind == "leave":
            raise NotStarted(
                f"{site} answers, and {self._beat.mate} does not say that it lets clients in: guarding {site} could "
                "end the service",
                hint="look with `failover status`; guard an instance that has failed, not one that serves",
            )
        if now.kind == "act" and (restored or not failed):
            why = f"it was restored by run {restored}" if restored else "no record says that it failed"
            raise NotStarted(
                f"{site} answers and lets clients in, and {why}: guarding it would send away the clients of a healthy "
                "instance",
                hint=f"if it did fail, `failover restore --site {site}` sends them away until it is resynchronised",
            )

    def notice(self) -> str:
        """See ``posts.Post``."""
        return ""

    def promise(self) -> str:
        """See ``posts.Post``."""
        return (
            f"Whenever {self._beat.site} lets clients in while {self._beat.mate} does too, this will disable its client "
            "transports, without asking again, and record it."
        )

    def runbook(self, now: Standing) -> str:
        """See ``posts.Post``."""
        return _GUARD

    def refused(self, now: Standing) -> str:
        """See ``posts.Post``."""
        return ""
