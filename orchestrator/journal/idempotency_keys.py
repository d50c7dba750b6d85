"""A caller's own keys: the run that each key started, and the request that was made with it.

Of all calls with one key, at most one starts a run. A key belongs to one request, so all parts of the request are kept
with it, each as a hash. If a key is used again with a different request, the request is refused, and the differing
parts are named. The other fields of a plan (notes, findings in older records, the requester, the hooks that are told of
the run) are no part of the request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import KeyUsed
from orchestrator.journal.database import statements as sql
from orchestrator.journal.database.database import Database, Transaction
from orchestrator.journal.errors import mapped_errors
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev

# The fields of a plan that are no part of the request.
NOT_ASKED = frozenset({"notes", "outage", "read_before", "predictions"})
# The fields of a decision that say who made it and where it was written down.
_WHO = ("by", "account", "uid", "file", "signed")
# The part for all fields of a plan without a separate part, and for all options that no field holds.
_OPTIONS = "other options"


@dataclass(frozen=True, slots=True)
class UsedKey:
    """The run that a key started, and its request as written by ``stored``; None for a key of version 0.1.0."""

    run: str
    asked: str | None


def parts(plan: ev.Plan, options: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The request, by part, each as a hash. ``plan`` has no secrets in it. ``options``: those that no field of the plan
    holds."""
    # Without default values: a later version has more fields, and the same request must keep the same hash.
    plain = plan.model_dump(mode="json", exclude_defaults=True)
    for name in NOT_ASKED:
        plain.pop(name, None)
    policy, approval, services = plain.pop("policy", {}), plain.pop("approval", None), plain.pop("services")
    rulings = policy.pop("transactions", {})
    runbook, families = plain.pop("runbook"), plain.pop("families", None)
    asked = {
        # A declared family's file holds the commands that the steps of its runbook send.
        "the runbook": [runbook, families] if families else runbook,
        "the direction": [plain.pop("pair"), plain.pop("source"), plain.pop("target")],
        "the services": services if "waves" in plain else sorted(services),
        "the inventory": _without(plain.pop("inventory"), "hooks"),
        "the answers given in advance": policy,
        "the decisions on transactions": {name: _without(ruling, *_WHO) for name, ruling in rulings.items()},
        "the approvals": _without(approval, "requester"),
        _OPTIONS: [plain, {name: value for name, value in (options or {}).items() if value}],
    }
    return {name: _hash(value) for name, value in asked.items()}


def stored(asked: Mapping[str, str]) -> str:
    """The parts as text, in the form that is kept with a key."""
    return json.dumps(asked, sort_keys=True)


def differences(asked: Mapping[str, str], key: UsedKey, first: ev.Plan) -> Sequence[str]:
    """The parts in which a request differs from the request that used the key. ``first``: the plan of the earlier
    request.

    Version 0.1.0 kept the plan alone, so options that are not in the plan cannot be compared.
    """
    if key.asked is None:
        before = parts(first)
        return [name for name, value in asked.items() if name != _OPTIONS and before.get(name) != value]
    before = json.loads(key.asked)
    return [name for name, value in asked.items() if before.get(name) != value]


def _without(value: Mapping[str, Any] | None, *names: str) -> Mapping[str, Any] | None:
    return None if value is None else {key: inner for key, inner in value.items() if key not in names}


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


# --- in the journal ---------------------------------------------------------------------------------------------------


def run_of_key(journal: Journal, key: str) -> UsedKey | None:
    """The use of ``key``; None if it was not used."""
    with mapped_errors("be read"):
        return _find(journal.database, key)


def use_up(journal: Journal, commit: Transaction, key: str, run: str, asked: str | None) -> None:
    """Note that ``key`` starts ``run``, in the transaction that records it. Raises ``KeyUsed``."""
    first = _find(commit, key)
    if first is None:
        try:
            commit.run(sql.ADD_KEY, [{"key": key, "run": run, "request": asked}])
            return
        except sa.exc.IntegrityError:  # only PostgreSQL: there, writers do not wait for each other
            first = run_of_key(journal, key)
    name = first.run if first is not None else ""
    raise KeyUsed(f"the key {key!r} already started run {name}", run=name, hint="see `failover runs show`")


def _find(read: Transaction | Database, key: str) -> UsedKey | None:
    found = read.ask(sql.RUN_OF_KEY, {"b_key": key})
    return UsedKey(*found[0]) if found else None
