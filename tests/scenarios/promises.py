"""What must hold after every phase of every scenario, whatever it expects: the promises, judged by the world's account.

``broken`` trusts no word of the engine where the world can be asked. What people decided by name counts as theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from adapters.mock.account import CommandKey, Tally
from adapters.mock.faults import RoleFault
from orchestrator import events as ev
from orchestrator.readings import Bridge, QueueDepth, ReplicationStatus
from orchestrator.reports.report import EXIT_CODES
from orchestrator.state import Lane, fold
from tests.scenarios.script import Scenario
from tests.scenarios.staging import Played
from tests.scenarios.witness import Noted

NOT_IDEMPOTENT = ("complete_transaction", "delete_transaction")
# Runbooks whose `done` promises that nothing was lost.
LOSSLESS = ("solace/controlled", "solace/failback")


def broken(scenario: Scenario, played: Played) -> list[str]:
    """Every promise that this phase broke, one sentence each."""
    found: list[str] = []
    for service in scenario_services(played):
        lane = played.run.lanes.get(service)
        after = played.after[service]
        found += _twice(after)
        if lane is None:
            found += [*_untouched(service, played), *_bystander(scenario, service, played)]
            continue
        found += _two_actives(scenario, played, lane)
        found += _too_early(played, lane)
        found += _lost(played, lane)
        found += _changed_nothing(played, lane)
        found += _where_activity_is(scenario, played, lane)
        found += _undecided(played, lane)
        found += _fence(played, lane)
    return [*found, *_record(played)]


def scenario_services(played: Played) -> list[str]:
    """All message VPNs of the world, moved or not."""
    return list(played.after)


# --- one after the other ------------------------------------------------------------------------------------------


def _two_actives(scenario: Scenario, played: Played, lane: Lane) -> Iterator[str]:
    """Promise 1. Somebody's own hands, or a risk accepted by name, are not our action."""
    for noted in _changes(played, lane, "set_role", role="active"):
        other = next(site for site in noted.roles if site != noted.site)
        serving = noted.roles[other] == "active" and noted.serves[other]
        if serving and not _accepted(played, lane, "unfenced") and not _foreign(scenario, other):
            yield f"{lane.service}: {noted.site} was told to be active while {other} was"
    yield from _bystander(scenario, lane.service, played)
    ours = _effects(played.after[lane.service]).keys() - _effects(played.before[lane.service]).keys()
    promoted = {key.site for key in ours if key.action == "set_role" and ("role", "active") in key.args}
    known = len(played.before[lane.service].both_active)
    for start, end in played.after[lane.service].both_active[known:]:
        began = [one for one in played.after[lane.service].roles if one.moment == start and one.role == "active"]
        mine = [one.site for one in began if one.site in promoted and not _foreign(scenario, one.site)]
        if mine and not _accepted(played, lane, "unfenced"):
            yield f"{lane.service}: activating {mine[0]} made two active sites for {end - start:.1f}s"


def _too_early(played: Played, lane: Lane) -> Iterator[str]:
    """Promise 2: after a reading of depth 0 with the bridge bound, in one round, since the source gave up activity;
    and the world agrees that nothing was left."""
    if played.plan.runbook.runbook not in LOSSLESS or lane.escalated_at_risk is not None or _escalated(played, lane):
        return
    for noted in _changes(played, lane, "set_role", role="active"):
        if noted.site == played.plan.target and noted.depth:
            yield f"{lane.service}: activated with {noted.depth} messages still queued at {played.plan.source}"
    drained = False
    for record in played.records:
        if record.lane != lane.service:
            continue
        match record.event:
            case ev.ActionIntended(on="source", action="set_role"):
                drained = False
            case ev.ActionIntended(on="target", action="set_role", args={"role": "active"}) if not drained:
                yield f"{lane.service}: record {record.seq} activates, and no reading had shown it drained"
            case ev.Observed():
                drained = drained or _shows_drained(record.event)


def _shows_drained(event: ev.Observed) -> bool:
    values = {(seen.on, seen.reading): seen.value for seen in event.seen}
    queue, target = values.get(("source", "replication_queue")), values.get(("target", "replication"))
    is_empty = isinstance(queue, QueueDepth) and queue.messages == 0
    return is_empty and isinstance(target, ReplicationStatus) and target.bridge is Bridge.BOUND


def _lost(played: Played, lane: Lane) -> Iterator[str]:
    """Promise 3: nothing, when it went well or back; after an escalation, no more than was said to be at risk."""
    if played.plan.runbook.runbook not in LOSSLESS or _accepted(played, lane, "unsafe-return"):
        return
    new = played.after[lane.service].lost - played.before[lane.service].lost
    if new > 0 and lane.outcome in (ev.Outcome.DONE, ev.Outcome.REVERTED, ev.Outcome.REFUSED):
        yield f"{lane.service}: {lane.outcome}, and {new} messages were lost"
    if lane.outcome is ev.Outcome.ESCALATED and lane.escalated_at_risk is not None and new > lane.escalated_at_risk:
        yield f"{lane.service}: {lane.escalated_at_risk} messages were said to be at risk, and {new} were lost"


def _twice(tally: Tally) -> Iterator[str]:
    """Promise 4: what cannot be taken back takes effect once at most, and is not sent again after it did."""
    for key, count in tally.commands.items():
        if key.action in NOT_IDEMPOTENT and count.effects > 1:
            yield f"{tally.vpn}: {key.action} {dict(key.args)} took effect {count.effects} times at {key.site}"


def _changed_nothing(played: Played, lane: Lane) -> Iterator[str]:
    """Refused means that nothing was changed."""
    before, after = _own_effects(played.before[lane.service]), _own_effects(played.after[lane.service])
    if lane.outcome is ev.Outcome.REFUSED and before != after:
        yield f"{lane.service}: refused, and the world was changed: {after}"


def _untouched(service: str, played: Played) -> Iterator[str]:
    """What is not of the run is sent nothing; but the door of a site is everybody's."""
    before, after = played.before[service].commands, played.after[service].commands
    sent = [key for key in after if after[key] != before.get(key) and key.action != "set_backbone"]
    if sent:
        yield f"{service}: it is not of this run, and was sent {sent}"


def _bystander(scenario: Scenario, service: str, played: Played) -> Iterator[str]:
    """Promise 1, for what is not of the run: opening a door must not let clients in at a second active site."""
    new = played.after[service].both_active[len(played.before[service].both_active) :]
    opened = [noted for noted in played.noted if noted.action == "set_backbone" and noted.args["state"] == "up"]
    if new and opened and not any(_foreign(scenario, site) for site in (played.plan.source, played.plan.target)):
        yield f"{service}: opening the door of {opened[0].site} made two active sites"


def _where_activity_is(scenario: Scenario, played: Played, lane: Lane) -> Iterator[str]:
    """The name of an end says who is active; unless somebody else had a hand in it, or the site is dark."""
    if any(_foreign(scenario, site) for site in (played.plan.source, played.plan.target)):
        return
    source, target = played.plan.source, played.plan.target
    away = {target: "active"} if source in played.dark else {source: "standby", target: "active"}
    wanted: dict[ev.Outcome | None, dict[str, str]] = {
        ev.Outcome.DONE: away,
        ev.Outcome.ESCALATED: away,
        ev.Outcome.REVERTED: {source: "active", target: "standby"},
    }
    if _accepted(played, lane, "unfenced"):
        wanted[ev.Outcome.DONE] = {target: "active"}
    roles = played.roles[lane.service]
    for site, role in wanted.get(lane.outcome, {}).items():
        if roles[site] != role:
            yield f"{lane.service}: ended {lane.outcome} with roles {dict(roles)}"


def _undecided(played: Played, lane: Lane) -> Iterator[str]:
    """Promise 7: prepared ones only, on the formerly active site, by a decision with a reason; others are let be."""
    for noted in _changes(played, lane, *NOT_IDEMPOTENT):
        xid = noted.args["xid"]
        rulings = [ruling for (_, item), ruling in lane.rulings.items() if item == xid]
        if not rulings or not rulings[-1].reason:
            yield f"{lane.service}: {noted.action} {xid} without a decision and its reason"
        elif noted.action == "complete_transaction":
            if noted.site != played.plan.source:
                yield f"{lane.service}: {xid} was completed at {noted.site}"
            if rulings[-1].choice != noted.args["outcome"]:
                yield f"{lane.service}: {xid}: decided {rulings[-1].choice}, sent {noted.args['outcome']}"


def _fence(played: Played, lane: Lane) -> Iterator[str]:
    """Promise 8: only the restore lets clients back in, and only to a site that is standby; or an undo of the fence."""
    for noted in _changes(played, lane, "set_backbone", state="up"):
        if lane.outcome in (ev.Outcome.REVERTED, ev.Outcome.STUCK):
            continue  # it was taken back
        if played.plan.runbook.runbook != "solace/restore":
            yield f"{lane.service}: {played.plan.runbook.runbook} opened the fence of {noted.site}"
        elif noted.roles[noted.site] != "standby":
            yield f"{lane.service}: the fence of {noted.site} was opened while it was {noted.roles[noted.site]}"


def _record(played: Played) -> Iterator[str]:
    """Promises 11 and 12: the record proves itself (reading it did), and tells what the process believed."""
    recorded = fold(played.records)
    if recorded != played.run:
        yield "the record folds to something else than the process believed"
    worst = EXIT_CODES[recorded.outcome] if recorded.outcome is not None else 6
    if played.report.exit_code != worst or not played.report.simulated:
        yield f"the report says exit {played.report.exit_code}, simulated {played.report.simulated}"


# --- helpers ------------------------------------------------------------------------------------------------------


def _changes(played: Played, lane: Lane, *actions: str, **args: str) -> Iterator[Noted]:
    for noted in played.noted:
        if noted.service == lane.service and noted.action in actions and args.items() <= dict(noted.args).items():
            yield noted


def _effects(tally: Tally) -> dict[CommandKey, int]:
    return {key: count.effects for key, count in tally.commands.items() if count.effects}


def _own_effects(tally: Tally) -> dict[CommandKey, int]:
    """Without the door, which is everybody's: another lane may have moved it."""
    return {key: count for key, count in _effects(tally).items() if key.action != "set_backbone"}


def _foreign(scenario: Scenario, site: str) -> bool:
    """Does somebody else change this site's role in the scenario?"""
    faults = (fault.what for phase in scenario.phases for fault in phase.faults)
    return any(isinstance(what, RoleFault) and what.site == site for what in faults)


def _accepted(played: Played, lane: Lane, gate: str) -> bool:
    """Did somebody answer for it by name?"""
    takes = ("attest", "waive", "accept")
    return any(
        isinstance(one.event, ev.GateDecided) and one.event.gate == gate and one.event.ruling.choice in takes
        for one in played.records
        if one.lane == lane.service
    )


def _escalated(played: Played, lane: Lane) -> bool:
    return any(isinstance(one.event, ev.Escalated) and one.lane == lane.service for one in played.records)
