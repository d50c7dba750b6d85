"""Compares what came of a phase with what its folder expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.model.reading import Bounds
from orchestrator.reports.report import LaneReport
from tests.scenarios.script import AccountText, LaneText, Number
from tests.scenarios.staging import Played, label_of

# Figures that hang on the moment things happen: not the same on the machine's clock.
TIMED = ("duplicated", "out_of_order", "waiting", "outage_s", "stranded")


def differences(played: Played, *, timed: bool = True) -> list[str]:
    """What is not as expected, one sentence each. ``timed``: figures count that depend on exact moments."""
    expected = played.phase.expect
    found = []
    if played.report.exit_code != expected.exit:
        found.append(f"exit code {played.report.exit_code}, expected {expected.exit}")
    if timed and not _fits(played.report.seconds, expected.seconds):
        found.append(f"it took {played.report.seconds}s, expected {expected.seconds}")
    if set(expected.lanes) != set(played.run.lanes):
        return [*found, f"lanes {sorted(played.run.lanes)}, expected {sorted(expected.lanes)}"]
    for lane in played.report.lanes:
        found += [f"{lane.service}: {text}" for text in _lane(played, lane, expected.lanes[lane.service], timed)]
    return found


def _lane(played: Played, lane: LaneReport, expected: LaneText, timed: bool) -> Iterator[str]:
    if lane.outcome != expected.outcome:
        yield f"{lane.outcome} ({lane.reason}), expected {expected.outcome}"
    if expected.reason not in lane.reason:
        yield f"the reason is {lane.reason!r}, expected {expected.reason!r} in it"
    roles = {site: role for site, role in played.roles[lane.service].items() if site in expected.roles}
    if roles != expected.roles:
        yield f"roles {roles}, expected {dict(expected.roles)}"
    decisions = tuple(f"{one.gate}{f' {one.item}' if one.item else ''}: {one.choice}" for one in lane.decisions)
    if decisions != expected.decisions:
        yield f"decisions {decisions}, expected {expected.decisions}"
    states = {step.id: step.status for step in lane.steps}
    for step, state in expected.steps.items():
        if states.get(step, "not begun") != state:
            yield f"step {step} is {states.get(step, 'not begun')}, expected {state}"
    if not _fits(lane.at_risk_messages, expected.at_risk):
        yield f"{lane.at_risk_messages} messages at risk, expected {expected.at_risk}"
    if expected.effects is not None and (effects := _effects(played, lane.service)) != expected.effects:
        yield f"effects {effects}, expected {dict(expected.effects)}"
    labels = {label_of(one.event) for one in played.records if one.lane == lane.service}
    labels |= {label.split()[0] for label in labels}
    yield from (f"{label} is not in the record" for label in expected.recorded if label not in labels)
    yield from (f"{label} is in the record" for label in expected.unrecorded if label in labels)
    yield from _account(played, lane.service, expected.account, timed)


def _account(played: Played, service: str, expected: AccountText, timed: bool) -> Iterator[str]:
    tally = played.after[service]
    found: Mapping[str, float] = {
        "lost": tally.lost,
        "stranded": tally.stranded,
        "duplicated": tally.duplicated,
        "out_of_order": tally.out_of_order,
        "waiting": tally.waiting,
        "both_active": len(tally.both_active),
        "mixed": len(tally.mixed_transactions),
        "outage_s": tally.outage_seconds,
    }
    for name, value in found.items():
        wanted = getattr(expected, name)
        if wanted is not None and (timed or name not in TIMED) and not _fits(value, wanted):
            yield f"{name} {value}, expected {wanted}"


def _effects(played: Played, service: str) -> dict[str, int]:
    """Changing commands that took effect in this phase: ``ny set_role standby``, with how often."""
    before = played.before[service].commands
    found: dict[str, int] = {}
    for key, count in played.after[service].commands.items():
        new = count.effects - (before[key].effects if key in before else 0)
        if new:
            found[" ".join((key.site, key.action, *(value for _, value in key.args)))] = new
    return found


def _fits(value: float | None, wanted: Number | None) -> bool:
    """Is ``value`` the number, or within the bounds? Without a wish everything is; without a value nothing is."""
    if wanted is None:
        return True
    if value is None:
        return False
    if isinstance(wanted, Bounds):
        low = wanted.at_least is None or value >= wanted.at_least
        return low and (wanted.at_most is None or value <= wanted.at_most)
    return value == wanted
