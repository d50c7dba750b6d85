"""Could this pair be moved now? A judgement of readings taken from both sites, as findings with stable codes.

Pure: readings in, findings out. Sources: docs/sources/solace-procedure.md (the bridge bound before a planned move, a
fencing plan before an unplanned one), docs/sources/solace.md, 0, 1.10, 4.1, 4.5 and 4.8. A check that could not be
made is *unknown*, never good. Must never ask a device, and never guess what one did not say.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Pair
from orchestrator.reports.readiness.amps import READINGS as AMPS_READINGS
from orchestrator.reports.readiness.amps import Validated, judge_amps
from orchestrator.reports.readiness.facets import judge_facets
from orchestrator.reports.readiness.services import of_service
from orchestrator.reports.readiness.shapes import (
    READINGS,
    SERVICE_CHECKS,
    SITE_CHECKS,
    Checked,
    Readiness,
    SiteRead,
    is_good,
    matter,
)
from orchestrator.reports.readiness.sites import of_sites

__all__ = [
    "AMPS_READINGS",
    "READINGS",
    "SERVICE_CHECKS",
    "SITE_CHECKS",
    "Checked",
    "Readiness",
    "SiteRead",
    "Validated",
    "is_good",
    "judge",
    "judge_amps",
    "judge_facets",
    "matter",
    "not_judged",
]


def not_judged(pair: Pair, why: str) -> Readiness:
    """A pair that nothing here knows how to judge: one finding, and no check of another family."""
    hint = "check it by the means of its own product; no command here can tell whether it could be moved"
    finding = Finding(level=Level.UNKNOWN, code="family-unknown", message=why, hint=hint)
    found = Checked("kind of service", "unknown", finding=finding)
    return Readiness(pair, (found,), site_checks=(), service_checks=())


def judge(pair: Pair, sites: tuple[SiteRead, SiteRead]) -> Readiness:
    """Judge a pair by what both of its ``sites`` said."""
    services: Sequence[Checked] = [one for service in pair.services for one in of_service(service, sites)]
    return Readiness(pair, (*of_sites(sites), *services))
