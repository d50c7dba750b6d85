"""Message VPNs of Solace appliances and brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.solace.offers.failback import FAILBACK_SAFE
from adapters.solace.reading_models import (
    DeviceHealth,
    Endpoints,
    Fence,
    Platform,
    QueueDepth,
    ReplicationStatus,
    Transactions,
)
from orchestrator.family.guard import MakeGuard
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.offers import Offering
from orchestrator.family.readiness import ReadinessJudge
from orchestrator.family.rehearsal import MakeScene
from orchestrator.family.status import StatusPart
from orchestrator.family.watch import WatchPart
from orchestrator.model.facets import Facet
from orchestrator.model.families import SHIPPED, Words
from orchestrator.model.fences import FenceKind
from orchestrator.model.inventory import Site

# A fence shuts the message backbone of every node, which needs the management of the nodes. On appliances, it can shut
# the interface of the network blade on every node instead. A message VPN's `enabled` and its services cannot be used as
# a fence: config-sync copies them to the other site.
INTERFACE = r"^[0-9]+/[0-9]+/[A-Za-z0-9]+$"
INTERFACE_SAYS = "write an interface as fabric/slot/name, for example 1/1/lag1"


@dataclass(frozen=True, kw_only=True)
class Solace(Offering):
    """What Solace offers, see ``orchestrator.family.offers``."""

    def options(self, kind: Kind) -> Sequence[MoveOption]:
        from adapters.solace.offers import moves

        return moves.options(kind)

    def instead(self, what: str) -> str:
        return "add solace-semp under `also` of the site; solace-semp shows them" if what == "snapshot" else ""

    def runbook_for(self, kind: Kind, site: Site, given: Given) -> str:
        from adapters.solace.offers import moves

        return moves.runbook_for(kind, site, given)

    def readiness(self) -> ReadinessJudge:
        """See ``adapters.solace.offers.readiness``."""
        from adapters.solace.offers.readiness import JUDGE

        return JUDGE

    def status(self) -> StatusPart:
        """See ``adapters.solace.offers.status``."""
        from adapters.solace.offers.status import STATUS

        return STATUS

    def rehearsal(self) -> MakeScene:
        """See ``adapters.mock.solace.scene``."""
        from adapters.mock.solace.scene import SolaceScene

        return SolaceScene

    def guard(self) -> MakeGuard:
        """See ``adapters.solace.offers.guard``."""
        from adapters.solace.offers.guard import ApplianceGuard

        return ApplianceGuard

    def watch(self) -> WatchPart:
        """See ``adapters.solace.offers.watch``."""
        from adapters.solace.offers.watch import WATCH

        return WATCH


SOLACE = Solace(
    name="solace",
    words=Words(
        "message VPN",
        "message VPNs",
        "message",
        keeps="its message spool",
        link_down="bridge not bound",
        blocked="PUBLISHERS WAIT: {site} refuses synchronous messages of {services} until {mate} is restored"
        " (reject-msg-when-sync-ineligible)",
    ),
    readings={
        "replication": ReplicationStatus,
        "replication_queue": QueueDepth,
        "transactions": Transactions,
        "health": DeviceHealth,
        "fence": Fence,
        "endpoints": Endpoints,
        "platform": Platform,
    },
    runbooks=SHIPPED / "solace",
    comparisons={"failback-safe": FAILBACK_SAFE},
    fences={
        "backbone": FenceKind("shut the message backbone", "set_backbone", "fence"),
        "interface": FenceKind("shut an interface", "set_backbone", "fence", INTERFACE, INTERFACE_SAYS),
    },
    makes={
        ("set_role", "role"): {"active": {Facet.SERVES: True}, "standby": {Facet.SERVES: False}},
        ("set_reject_on_discard", "enabled"): {"no": {Facet.SUSPENDED: True}, "yes": {Facet.SUSPENDED: False}},
    },
)
