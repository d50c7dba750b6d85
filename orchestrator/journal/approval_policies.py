"""The approval policies that services had in the inventories of their runs, kept with the journal.

They are kept by the service and its devices, as claims are (``lease.service_key``). So an inventory without the policy,
or another inventory over the same devices, does not drop the policy. The former policies of a service hold beside its
present one, until a run with a different inventory is approved under them. So people agree to a weaker policy before it
takes effect.

This protects against mistakes. It does not protect against an account that can write to the journal's database; the
machine's policy does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from orchestrator.journal.database import statements as sql
from orchestrator.journal.database.database import Database, Transaction
from orchestrator.journal.errors import mapped_errors
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import service_key
from orchestrator.model import events as ev
from orchestrator.model.inventory import ApprovalPolicy


def policies_of(journal: Journal, plan: ev.Plan) -> list[ApprovalPolicy]:
    """The former policies of the services of ``plan``, each policy once."""
    keys = frozenset(service_key(plan, service) for service in plan.services)
    with mapped_errors("be read"):
        found = _kept(journal.database, keys)
    return list(dict.fromkeys(policy for _, policies in found for policy in policies))


def keep(journal: Journal, plan: ev.Plan) -> None:
    """Before a run of ``plan`` is recorded, add its inventory's policy to the policies of its services."""
    policy = own_policy(plan)
    if policy is None:
        return
    keys = frozenset(service_key(plan, service) for service in plan.services)
    with mapped_errors("be written"), journal.database.writing() as commit:
        known = dict(_kept(commit, keys))
        _put(commit, {key: [*known.get(key, ()), policy] for key in keys if policy not in known.get(key, ())})


def replace(journal: Journal, plan: ev.Plan) -> None:
    """After people approved a run of ``plan``, replace the policies of its services by its inventory's policy."""
    policy = own_policy(plan)
    keys = frozenset(service_key(plan, service) for service in plan.services)
    with mapped_errors("be written"), journal.database.writing() as commit:
        changed = {key: [] if policy is None else [policy] for key, kept in _kept(commit, keys) if kept != [policy]}
        _put(commit, changed)


def own_policy(plan: ev.Plan) -> ApprovalPolicy | None:
    """The policy of the plan's own inventory."""
    return next((pair.approval for pair in plan.inventory.pairs if pair.name == plan.pair), None)


def _kept(read: Transaction | Database, keys: frozenset[str]) -> list[tuple[str, list[ApprovalPolicy]]]:
    """The policies of these services, by key. One query reads all: a query for each service would be a thousand queries
    for a thousand services. The table has a row for each service that ever had a policy."""
    rows: Sequence[tuple[str, str]] = [(str(key), str(text)) for key, text in read.ask(sql.POLICIES_KEPT, {})]
    return [
        (key, [ApprovalPolicy.model_validate(one) for one in json.loads(text)]) for key, text in rows if key in keys
    ]


def _put(commit: Transaction, policies: dict[str, list[ApprovalPolicy]]) -> None:
    if not policies:
        return
    commit.run(sql.FORGET_POLICY, [{"b_service": key} for key in policies])
    rows = [{"service": key, "policies": _as_text(kept)} for key, kept in policies.items() if kept]
    if rows:
        commit.run(sql.KEEP_POLICY, rows)


def _as_text(policies: Iterable[ApprovalPolicy]) -> str:
    return json.dumps([one.model_dump(mode="json") for one in policies])
