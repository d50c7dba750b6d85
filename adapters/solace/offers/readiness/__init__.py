"""Judges from readings of both sites whether a message VPN can be moved now. Returns findings with stable codes.

Pure: readings in, findings out. Sources: docs/sources/solace-procedure.md (the bridge bound before a planned move, a
fencing plan before an unplanned one), docs/sources/solace.md, 0, 1.10, 4.1, 4.5 and 4.8.
"""

from __future__ import annotations

from adapters.solace.offers.readiness.services import of_service
from adapters.solace.offers.readiness.sites import of_sites
from orchestrator.family.readiness import Readiness, ReadinessJudge, SiteRead, Validate
from orchestrator.model.inventory import Pair

# The checks of each service and of each site, in the order in which they are shown.
SERVICE_CHECKS = ("roles", "bridge", "sync", "queue", "transactions")
SITE_CHECKS = (
    *("answers", "host keys", "ha", "mate", "version", "transaction mode", "config-sync", "access", "fence plan"),
    "clock",
)
READINGS = ("replication", "replication_queue", "transactions", "health", "platform")


def judge(pair: Pair, sites: tuple[SiteRead, SiteRead], validate: Validate) -> Readiness:
    """Judge a pair by the readings of both ``sites``. A broker has no configuration that could be validated."""
    del validate
    services = [one for service in pair.services for one in of_service(service, sites)]
    return Readiness(pair, (*of_sites(sites, READINGS), *services), SITE_CHECKS, SERVICE_CHECKS)


JUDGE = ReadinessJudge(READINGS, judge)
