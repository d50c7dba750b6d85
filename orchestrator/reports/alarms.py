"""The known problems of a run, in sentences at the start of every report. Each sentence states only what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.counting import counted
from orchestrator.model import events as ev
from orchestrator.model.families import amount, words_of
from orchestrator.model.readings import Role
from orchestrator.reports.document import Alarm, LaneReport, LeftBehind

_NAMED = 5  # the most services in one sentence; each also has a row below


def alarms_of(plan: ev.Plan, lanes: Sequence[LaneReport]) -> Iterator[Alarm]:
    """The alarms of a run, the worst first."""
    both = [lane for lane in lanes if lane.both_active]
    if both:
        yield Alarm(kind="both-active", services=_services(both), text=_both_active(plan, both))
    for why in dict.fromkeys(lane.not_aborted for lane in lanes if lane.not_aborted):
        late = [lane for lane in lanes if lane.not_aborted == why]
        text = f"NOT ABORTED: {why}: {how_it_is(plan.source, plan.target, late)}"
        yield Alarm(kind="not-aborted", services=_services(late), text=text)
    for what in dict.fromkeys(lane.left_changed for lane in lanes if lane.left_changed):
        changed = _services([lane for lane in lanes if lane.left_changed == what])
        text = f"LEFT CHANGED: these steps were not rolled back for {named_in(changed)}: {'; '.join(what)}"
        yield Alarm(kind="left-changed", services=changed, text=text)
    left = [lane for lane in lanes if lane.left_behind is not None and not lane.left_behind.is_nothing]
    if left:
        yield Alarm(kind="left-behind", services=_services(left), text=_left_behind(plan.runbook.family, left))
    # After a planned move the mate is running, and makes the new active site eligible within seconds.
    is_alone = "/uncontrolled" in plan.runbook.runbook
    refused = [lane for lane in lanes if is_alone and lane.refuses_synchronous.get(plan.target)]
    if refused:
        text = words_of(plan.runbook.family).blocked.format(
            site=plan.target, mate=plan.source, services=named_in(_services(refused))
        )
        yield Alarm(kind="sync-refused", services=_services(refused), text=text)


def how_it_is(source: str, target: str, lanes: Sequence[LaneReport]) -> str:
    """The last readings in words, such as ``Trading_VPN: nj is active``. Services in the same state share a part."""
    ways: dict[str, list[LaneReport]] = {}
    for lane in lanes:
        ways.setdefault(who_serves(source, target, lane), []).append(lane)
    return "; ".join(f"{named_in(_services(some))}: {way}" for way, some in ways.items())


def who_serves(source: str, target: str, lane: LaneReport) -> str:
    """The last reading of the pair in words, such as ``nj is active``. Without a reading the state is unknown."""
    active = [site for site in (source, target) if lane.roles.get(site) is Role.ACTIVE]
    serving = active or [site for site in (source, target) if lane.lets_clients_in.get(site)]
    if serving:
        what = "active" if active else "open to clients"
        return f"{serving[0]} is {what}" if len(serving) == 1 else f"{source} and {target} are both {what}"
    if lane.no_active_site_since is not None:
        return f"no site is known to be active since {lane.no_active_site_since}"
    return "it is unknown which site is active"


def named_in(services: Sequence[str]) -> str:
    """The names of the services in one phrase."""
    more = f" and {len(services) - _NAMED} more" if len(services) > _NAMED else ""
    return ", ".join(services[:_NAMED]) + more


def _services(lanes: Sequence[LaneReport]) -> tuple[str, ...]:
    return tuple(lane.service for lane in lanes)


def _both_active(plan: ev.Plan, lanes: Sequence[LaneReport]) -> str:
    spans = [one for lane in lanes for one in lane.both_active]
    at_most = [one.at_most_seconds for one in spans]
    known = [one for one in at_most if one is not None]
    most = f", at most {max(known):.1f}s" if len(known) == len(at_most) else ", the longest possible time is unknown"
    open_ones = [one for one in spans if one.until is None]
    end = (
        f"no later reading shows the end (last read {max(one.last for one in open_ones)})"
        if open_ones
        else f"ended by {max(one.until or '' for one in spans)}"
    )
    least = max(one.at_least_seconds for one in spans)
    return (
        f"BOTH SITES ACTIVE: {plan.source} and {plan.target} were both read active for {named_in(_services(lanes))} "
        f"from {min(one.first for one in spans)} on, for at least {least:.1f}s{most}; {end}. "
        "Messages that were published or consumed meanwhile may be duplicated, and may be at one site only"
    )


def _left_behind(family: str, lanes: Sequence[LaneReport]) -> str:
    found = [lane.left_behind for lane in lanes if lane.left_behind is not None]
    known = [one for one in found if one.messages is not None]
    parts = [_how_many(family, known)] if known else []
    unknown = len(found) - len(known)
    if unknown:
        whose = "" if not known else f" for {counted(unknown, 'more service')}"
        unit = words_of(family).backlog
        much = f"the number of {unit}s" if unit else "the amount of data"
        parts.append(f"{much} that only {found[0].site} holds is unknown{whose}, because no reading shows it")
    return f"LEFT AT {found[0].site}: {'; '.join(parts)}"


def _how_many(family: str, known: Sequence[LeftBehind]) -> str:
    number = sum(one.messages or 0 for one in known)
    oldest = min(one.read_at or "" for one in known)
    text = f"{amount(number, family)} queued for its mate, read at {oldest}"
    return (
        text
        if all(one.is_fresh for one in known)
        else f"{text}; this reading is old, so the present number is unknown"
    )
