"""Guards a failed site of a declared family: the family's ``guard`` runbook closes the site when it serves again beside
its mate. The decision uses facets only.

It is not known for every family whether a site stays closed after its next start, so it is guarded until it is
restored.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.errors import NotStarted
from orchestrator.family.guard import GuardDecision, GuardSessions, GuardTarget
from orchestrator.family.reachability import REACHABILITY
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.facets import Facet
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability

Found = Mapping[str, Reading | Failure]


def serving_reading(file: FamilyFile) -> str:
    """The reading that shows which site serves."""
    return next(
        name
        for name, reading in file.readings.items()
        if reading.survey and any(field.facet is Facet.SERVES for field in reading.fields.values())
    )


class FacetGuard:
    """See ``GuardStrategy``."""

    is_permanent = False
    is_degraded = False

    def __init__(self, file: FamilyFile, target: GuardTarget, sessions: GuardSessions) -> None:
        self._target, self._sessions = target, sessions
        self._runbook = f"{file.family}/guard"
        self.runbooks = frozenset({self._runbook})
        self._reading = serving_reading(file)

    def assess(self) -> GuardDecision:
        """See ``GuardStrategy``."""
        services = self._target.services
        self._sessions.start()
        reached = self._sessions.ask("source", REACHABILITY, services)
        here = {name: one for name, one in reached.items() if isinstance(one, Reachability)}
        if not any(one.answers for one in here.values()):
            why = next((one.why for one in here.values() if one.why), "no reason given")
            return GuardDecision("silent", f"it does not answer: {why}")
        source = self._sessions.ask("source", self._reading, services)
        return decide_guard(source, self._sessions.ask("target", self._reading, services))

    def validate_guardable(self, now: GuardDecision, *, failed: bool, restored: str | None) -> None:
        """See ``GuardStrategy``."""
        site, mate = self._target.site, self._target.mate
        if now.kind == "leave":
            raise NotStarted(
                f"{site} answers, but {mate} does not report that it serves; guarding {site} could end the service",
                hint="check with `failover status`; guard a site that has failed, not one that serves",
            )
        if now.kind == "act" and restored:
            raise NotStarted(
                f"run {restored} restored {site}; guarding {site} would close a healthy site",
                hint=f"check with `failover status`; if both sites serve, close one of them: {site} or {mate}",
            )

    def warning(self) -> str:
        """See ``GuardStrategy``."""
        return ""

    def describe(self) -> str:
        """See ``GuardStrategy``."""
        target = self._target
        return (
            f"Whenever both {target.site} and {target.mate} serve, this command closes {target.site} by the runbook "
            f"{self._runbook} without asking again, and records it."
        )

    def runbook(self, now: GuardDecision) -> str:
        """See ``GuardStrategy``."""
        return self._runbook

    def refused(self, now: GuardDecision) -> str:
        """See ``GuardStrategy``."""
        return ""


def decide_guard(here: Found, there: Found) -> GuardDecision:
    """Decide what to do now, from the reports of both sites on whether they serve. Closing a site while its mate serves
    no client would end the service, so the mate must first report that it serves."""
    served = [service for service in here if _serves(there.get(service)) is True]
    if not served:
        return GuardDecision("leave", "it answers, but its mate does not report that it serves")
    both = tuple(service for service in served if _serves(here[service]) is True)
    if both:
        return GuardDecision("act", f"it serves {', '.join(both)}, and SO DOES ITS MATE", both, both_active=both)
    unknown = [service for service in served if _serves(here[service]) is None]
    if unknown:
        found = here[unknown[0]]
        why = found.text if isinstance(found, Failure) else "the site does not report it"
        return GuardDecision("unclear", f"it answers; whether it serves is unknown: {why}")
    return GuardDecision(
        "safe", "it does not serve; it could serve after a start, so it stays guarded until it is restored"
    )


def _serves(found: Reading | Failure | None) -> bool | None:
    return found.flag(Facet.SERVES) if isinstance(found, Reading) else None
