"""Instances of 60East AMPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.amps.offers.sow_complete import SOW_COMPLETE
from adapters.amps.reading_models import (
    Bootstrap,
    Clients,
    Instance,
    Links,
    Permissions,
    Queues,
    Sow,
    TransactionLog,
    Transports,
)
from orchestrator.family.guard import MakeGuard
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.next_steps import NextSteps
from orchestrator.family.offers import Offering
from orchestrator.family.readiness import ReadinessJudge
from orchestrator.family.rehearsal import MakeScene
from orchestrator.family.status import StatusPart
from orchestrator.family.watch import WatchPart
from orchestrator.model.facets import Facet
from orchestrator.model.families import SHIPPED, Words
from orchestrator.model.inventory import Site


@dataclass(frozen=True, kw_only=True)
class Amps(Offering):
    """What AMPS offers, see ``orchestrator.family.offers``."""

    def options(self, kind: Kind) -> Sequence[MoveOption]:
        from adapters.amps.offers import moves

        return moves.options(kind)

    def instead(self, what: str) -> str:
        if what == "snapshot":
            return "a snapshot of AMPS is made from its dumps: give them with --dumps"
        if what != "repair":
            return ""
        return (
            "AMPS instances have no roles to repair. `failover status` shows which instances let clients in; "
            "`failover restore` closes an instance, and `failover failback` opens it"
        )

    def reads_dumps(self) -> bool:
        return True

    def runbook_for(self, kind: Kind, site: Site, given: Given) -> str:
        from adapters.amps.offers import moves

        return moves.runbook_for(kind, site, given)

    def next_steps(self) -> NextSteps:
        from adapters.amps.offers.next_steps import NEXT_STEPS

        return NEXT_STEPS

    def readiness(self) -> ReadinessJudge:
        """See ``adapters.amps.offers.readiness``."""
        from adapters.amps.offers.readiness import JUDGE

        return JUDGE

    def status(self) -> StatusPart:
        """See ``adapters.amps.offers.status``."""
        from adapters.amps.offers.status import STATUS

        return STATUS

    def rehearsal(self) -> MakeScene:
        """See ``adapters.mock.amps.scene``."""
        from adapters.mock.amps.scene import AmpsScene

        return AmpsScene

    def guard(self) -> MakeGuard:
        """See ``adapters.amps.offers.guard``."""
        from adapters.amps.offers.guard import InstanceGuard

        return InstanceGuard

    def watch(self) -> WatchPart:
        """See ``adapters.amps.offers.watch``."""
        from adapters.amps.offers.watch import WATCH

        return WATCH


AMPS = Amps(
    name="amps",
    words=Words(
        "instance",
        "instances",
        "message",
        none_serves="NO INSTANCE LETS CLIENTS IN",
        outage="no instance let clients in",
        keeps="its journals",
        link_down="link not connected",
    ),
    readings={
        "instance": Instance,
        "transports": Transports,
        "clients": Clients,
        "links": Links,
        "queues": Queues,
        "transaction_log": TransactionLog,
        "bootstrap": Bootstrap,
        "sow": Sow,
        "permissions": Permissions,
    },
    runbooks=SHIPPED / "amps",
    comparisons={"sow-complete": SOW_COMPLETE},
    makes={("set_client_transports", "state"): {"enabled": {Facet.SERVES: True}, "disabled": {Facet.SERVES: False}}},
)
