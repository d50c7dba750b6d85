"""The checks of one service: roles, bridge, eligibility, replication queue, prepared transactions. Pure.

The pair is judged from both ends. ``bridge`` is meaningful on the standby only; ``queue_bound``,
``remote_bridge_up`` and ``sync_eligible`` on the active only (docs/sources/solace.md, 0.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adapters.solace.reading_models import Bridge, QueueDepth, ReplicationStatus, Transactions, TransactionState
from orchestrator.characters import typed
from orchestrator.counting import counted
from orchestrator.family.readiness import Checked, SiteRead, finding_of
from orchestrator.model.findings import Finding, Level
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Role

# The vendor's defaults for the event of a message spool's high mark (docs/sources/solace.md, 4.7), percent.
HIGH_SET, HIGH_CLEAR = 80.0, 60.0
_NO_ACTIVE = "no active site is known"
_READ_FIRST = "once the site answers, run `failover status` and check again"


def of_service(service: str, sites: tuple[SiteRead, SiteRead]) -> Iterator[Checked]:
    """Every check of ``service``."""
    ends = {site.name: site.of("replication", service) for site in sites}
    told = {name: end for name, end in ends.items() if isinstance(end, ReplicationStatus)}
    yield _roles(service, ends, told)
    active = next((name for name, end in told.items() if end.role is Role.ACTIVE), None)
    standby = next((name for name, end in told.items() if end.role is Role.STANDBY and name != active), None)
    yield _bridge(service, active, standby, told)
    yield _sync(service, active, told)
    yield _queue(service, sites, active, standby)
    yield _transactions(service, sites, active)


def _roles(service: str, ends: Mapping[str, object], told: Mapping[str, ReplicationStatus]) -> Checked:
    words = ", ".join(f"{name} {_role_of(end)}" for name, end in ends.items())
    roles = [end.role for end in told.values()]
    off = [name for name, end in told.items() if end.enabled is False]
    silent = [f"{name}: {end.text}" for name, end in ends.items() if isinstance(end, Failure)]
    finding: Finding | None = None
    if off:
        finding = finding_of(
            Level.ERROR,
            "not-replicated",
            f"{service} is not replicated at {' and '.join(off)}, so its mate has none of its messages",
            "enable replication for this message VPN at both sites, or remove it from the inventory",
        )
    elif roles == [Role.ACTIVE, Role.ACTIVE]:
        finding = finding_of(
            Level.ERROR,
            "both-active",
            f"{service} is active at both sites: clients may be on either, and proper operation cannot be guaranteed",
            f"choose the site that stays active: `failover repair {typed(service)} --site SITE` makes the other "
            "one standby",
        )
    elif roles == [Role.STANDBY, Role.STANDBY]:
        finding = finding_of(
            Level.ERROR,
            "no-active-site",
            f"{service} is standby at both sites: no site serves it",
            "if a run stopped half-way (`failover runs list`), resume or abort it; else choose the site to be active: "
            f"`failover repair {typed(service)} --site SITE` shows what each site holds",
        )
    elif silent or None in roles or any(end.enabled is None for end in told.values()):
        why = "; ".join(silent) or f"the sites did not report everything ({words})"
        finding = _unknown("roles", f"the roles of {service} are unknown: {why}")
    serving = next((name for name, end in told.items() if end.role is Role.ACTIVE), "")
    return Checked("roles", words if finding else f"{serving} active", service=service, finding=finding)


def _role_of(end: object) -> str:
    return str(end.role) if isinstance(end, ReplicationStatus) and end.role is not None else "unknown"


def _bridge(service: str, active: str | None, standby: str | None, told: Mapping[str, ReplicationStatus]) -> Checked:
    if active is None or standby is None:
        why = "a bridge has a state only between an active and a standby site"
        return Checked("bridge", "unknown", service=service, finding=_unknown("bridge", _of("bridge", service, why)))
    here, there = told[active], told[standby]
    words = f"{standby} {there.bridge or 'unknown'}, {active} queue {_bound(here.queue_bound)}"
    held = (None if there.bridge is None else there.bridge is Bridge.BOUND, here.queue_bound, here.remote_bridge_up)
    finding: Finding | None = None
    if any(one is False for one in held):
        finding = finding_of(
            Level.ERROR,
            "bridge-not-bound",
            f"the replication bridge of {service} is not bound ({words}): a controlled move is not possible now",
            f"check the bridge at {standby} (`show bridge #MSGVPN_REPLICATION_BRIDGE message-vpn {service} detail`)",
        )
    elif None in held:
        finding = _unknown("bridge", _of("bridge", service, words))
    return Checked("bridge", words if finding else "bound", service=service, finding=finding)


def _bound(bound: bool | None) -> str:
    return "unknown" if bound is None else "bound" if bound else "unbound"


def _sync(service: str, active: str | None, told: Mapping[str, ReplicationStatus]) -> Checked:
    eligible = None if active is None else told[active].sync_eligible
    finding: Finding | None = None
    if active is not None and eligible is True and told[active].reject_when_ineligible:
        finding = finding_of(
            Level.NOTE,
            "sync-rejects",
            f"{service} refuses synchronous messages while its mate is away: after an uncontrolled fail-over its "
            "publishers wait until the failed site is restored",
            "to serve them without the mate, configure `no reject-msg-when-sync-ineligible` at the message VPN",
        )
    elif eligible is False:
        finding = finding_of(
            Level.WARNING,
            "sync-ineligible",
            f"{service} is not eligible for synchronous replication: if {active} were lost now, synchronous "
            "messages would be lost too",
            "the queue has a backlog, or the bridge was down; check the rates, and that the queue gets shorter",
        )
    elif eligible is None:
        why = _NO_ACTIVE if active is None else "the active site did not report its eligibility"
        finding = _unknown("sync", _of("eligibility", service, why))
    words = {True: "eligible", False: "NOT eligible", None: "unknown"}[eligible]
    return Checked("sync", words, service=service, finding=finding)


def _queue(service: str, sites: tuple[SiteRead, SiteRead], active: str | None, standby: str | None) -> Checked:
    queues = {site.name: site.of("replication_queue", service) for site in sites}
    here, there = queues.get(active or ""), queues.get(standby or "")
    failed = next((f"{name}: {one.text}" for name, one in queues.items() if isinstance(one, Failure)), "")
    full = here.percent_full if isinstance(here, QueueDepth) else None
    words = "unknown" if full is None else f"{full:.1f}%"
    finding: Finding | None = None
    if full is not None and full >= HIGH_SET:
        finding = finding_of(
            Level.ERROR,
            "queue-high",
            f"the replication queue of {service} at {active} is {full:.0f}% full; once it is full, publishers are "
            "refused",
            "find out why the mate does not take the messages; follow it with `failover watch`",
        )
    elif isinstance(there, QueueDepth) and there.messages:
        finding = finding_of(
            Level.WARNING,
            "queue-left-behind",
            f"the standby {standby} holds {counted(there.messages, 'message')} of {service} that {active} never got",
            "they come from an earlier fail-over; find out what they are before a fail-back",
        )
    elif isinstance(here, QueueDepth) and here.rejects_on_discard is False:
        finding = finding_of(
            Level.WARNING,
            "queue-suspended",
            f"replication of {service} is suspended: once the queue is full, messages are kept at {active} only",
            "lift the suspension by `failover restore`, or by hand with reject-msg-to-sender-on-discard",
        )
    elif full is not None and full >= HIGH_CLEAR:
        finding = finding_of(
            Level.WARNING,
            "queue-filling",
            f"the replication queue of {service} at {active} is {full:.0f}% full; draining it will take time",
            "check with `failover watch` that the queue gets shorter before you move the service",
        )
    elif full is None or failed or not isinstance(there, QueueDepth) or there.messages is None:
        roles = "no active site with a standby mate is known" if None in (active, standby) else ""
        why = failed or roles or "the device did not report usage, quota or depth"
        finding = _unknown("queue", _of("replication queue", service, why))
    return Checked("queue", words, service=service, finding=finding)


def _transactions(service: str, sites: tuple[SiteRead, SiteRead], active: str | None) -> Checked:
    found = next((site.of("transactions", service) for site in sites if site.name == active), None)
    if not isinstance(found, Transactions):
        why = found.text if isinstance(found, Failure) else _NO_ACTIVE
        finding = _unknown("transactions", _of("transactions", service, why))
        return Checked("transactions", "unknown", service=service, finding=finding)
    states = [item.state for item in found.items if item.replicated is not False]
    if None in states:
        finding = _unknown(
            "transactions", _of("transactions", service, f"{active} does not report the state of each transaction")
        )
        return Checked("transactions", "unknown", service=service, finding=finding)
    prepared, completed = states.count(TransactionState.PREPARED), _completed(service, sites)
    words = f"{prepared} prepared" + (f", {completed} completed" if completed else "")
    note: Finding | None = None
    if prepared:
        note = finding_of(
            Level.NOTE,
            "transactions-prepared",
            f"{service} has {counted(prepared, 'prepared transaction')} at {active}; each needs a decision while "
            "neither site is active",
            "have the decisions ready: `--xa FILE`",
        )
    elif completed:
        note = finding_of(
            Level.NOTE,
            "transactions-completed",
            f"{service} has {counted(completed, 'completed transaction')}, at both sites together, that were not deleted",
            "a run deletes only those that it decided; check with `show transaction` at both sites who completed these",
        )
    return Checked("transactions", words, service=service, finding=note)


def _completed(service: str, sites: tuple[SiteRead, SiteRead]) -> int:
    """The completed transactions of both sites: docs/sources/solace-procedure.md, controlled 6, checks both."""
    listed = [found for site in sites if isinstance(found := site.of("transactions", service), Transactions)]
    return sum(item.state is TransactionState.COMPLETE for found in listed for item in found.items)


def _of(what: str, service: str, why: str) -> str:
    return f"the {what} of {service} {'are' if what.endswith('s') else 'is'} unknown: {why}"


def _unknown(check: str, message: str) -> Finding:
    return finding_of(Level.UNKNOWN, f"{check}-unknown", message, _READ_FIRST)
