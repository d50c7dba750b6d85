"""A plan in at most twelve lines: the moves, their time, the step that cannot be undone, and the differences between
services. Pure.

An operator reads this summary right before the only question. The key ``d`` shows everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.counting import counted, named
from orchestrator.engine.dry_run import LanePreview
from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.families import amount, family_called
from orchestrator.model.runbook import format_duration
from orchestrator.reports.plan_preview import holds, is_any_checked, verdict

LINES = 12
_DIFFERENT = 2


def summary(
    plan: ev.Plan,
    lanes: Sequence[LanePreview],
    *,
    took: str,
    checks: Mapping[str, str],
    held: Mapping[str, str],
    breaks_glass: bool = False,
) -> list[str]:
    """At most ``LINES`` lines. ``took`` is the expected time in words. ``checks`` is the age of the last good check, by
    service. ``held`` are the services that belong to an unfinished run. ``breaks_glass``: the run starts without the
    approvals."""
    lines = [
        _headline(plan),
        f"  services: {named(plan.services)}",
        f"  sites: {_sites(plan)}",
        *_queued(plan, lanes),
        f"  time: {_limit(plan)}{took or 'unknown (no earlier run is on record)'}",
        f"  questions: {_questions(plan, lanes)}",
        f"  cannot be undone: {_no_return(plan)}",
        *_different(lanes),
        *_conditions(plan, checks, breaks_glass),
    ]
    return [*lines[: LINES - 1], _verdict(lanes, held)]


def must_type(plan: ev.Plan, *, breaks_glass: bool) -> str:
    """The name that the operator has to type to confirm. Empty if ``y`` is enough."""
    is_forced = plan.runbook.runbook.rpartition("/")[2].startswith("uncontrolled")
    return plan.source if is_forced or breaks_glass else ""


def _headline(plan: ev.Plan) -> str:
    marker = "SIMULATED  " if plan.simulated else ""
    kind, many = plan.runbook.runbook.rpartition("/")[2], counted(len(plan.services), "service")
    source, target = plan.source, plan.target
    if kind.startswith("uncontrolled"):
        return f"{marker}FAIL OVER {many}: {source} is lost, {target} takes over"
    if kind.startswith("restore"):
        return f"{marker}Restore {source} as standby for {many}; {target} stays active"
    if kind.startswith("repair"):
        return f"{marker}Make {target} the only active site of {many}"
    if kind.startswith("failback"):
        return f"{marker}Fail back {many}: {source} to {target}"
    if kind.startswith("controlled"):
        return f"{marker}Planned move of {many}: {source} to {target}"
    return f"{marker}{plan.runbook.runbook} for {many}: {plan.runbook.summary}"


def _sites(plan: ev.Plan) -> str:
    return "; ".join(
        f"{site.name}{f' ({site.title})' if site.title else ''}: {named([one.name for one in site.devices])}"
        for site in (plan.inventory.sites[name] for name in (plan.source, plan.target))
    )


def _queued(plan: ev.Plan, lanes: Sequence[LanePreview]) -> Iterator[str]:
    """The line with the backlog that has to drain. No line if the procedure waits for no queue."""
    family = family_called(plan.runbook.family)
    waits = any(step.progress is not None for step in plan.runbook.steps)
    if not waits or (family is not None and not family.offers(Facet.BACKLOG)):
        return
    found = {lane.service: _gauge(lane) for lane in lanes}
    known = {service: gauge for service, gauge in found.items() if gauge is not None}
    if not known:
        yield "  queued now: unknown"
        return
    most = max(known, key=lambda service: known[service])
    which = f", the most at {most}: {known[most]:,}" if len(known) > 1 and known[most] else ""
    unread = f"; unknown for {counted(len(found) - len(known), 'service')}" if len(known) < len(found) else ""
    yield f"  queued now: {amount(sum(known.values()), plan.runbook.family)}{which}{unread}"


def _gauge(lane: LanePreview) -> int | None:
    return next((step.gauge for step in lane.steps if step.gauge is not None), None)


def _limit(plan: ev.Plan) -> str:
    limit = plan.policy.timeout
    return "" if limit is None else f"rolled back if not done within {format_duration(limit)}; "


def _questions(plan: ev.Plan, lanes: Sequence[LanePreview]) -> str:
    """The questions that the run will ask. If none are known, a sentence that it asks only if something goes wrong."""
    asked = [step.title for step in plan.runbook.steps if step.ask and step.ask.gate not in plan.policy.on_gate]
    asking = [lane.service for lane in lanes if lane.would_ask]
    sure = [*([f"{', '.join(dict.fromkeys(asked))} (if it applies)"] if asked else [])]
    sure += [f"transactions or links of {named(asking)}"] if asking else []
    if not sure:
        return "none are known now; if something goes wrong, the run asks"
    return "; ".join(sure)


def _no_return(plan: ev.Plan) -> str:
    steps = plan.runbook.steps
    for number, step in enumerate(steps, 1):
        if step.point_of_no_return:
            return f"from step {number} of {len(steps)} on: {step.title}"
    for number, step in enumerate(steps, 1):
        if step.changes and step.undo is None and not step.leaves_nothing:
            return f"step {number} of {len(steps)}: {step.title}"
    return "nothing; every change has an undo"


def _different(lanes: Sequence[LanePreview]) -> Iterator[str]:
    """A line for each service whose run would refuse, stop or ask."""
    told = [(lane.service, verdict(lane)) for lane in lanes if verdict(lane)]
    shown = told if len(told) <= _DIFFERENT else told[: _DIFFERENT - 1]
    yield from (f"  {service}: {words}" for service, words in shown)
    if len(told) > len(shown):
        yield f"  {named([service for service, _ in told[len(shown) :]])}: these differ too; type d to see each"


def _conditions(plan: ev.Plan, checks: Mapping[str, str], breaks_glass: bool) -> Iterator[str]:
    people = "" if plan.approval is None else counted(plan.approval.needed, "other person", "other people")
    if plan.approval is not None and breaks_glass:
        yield f"  approval: WITHOUT the approval of {people}, because you gave --break-glass"
    elif plan.approval is not None:
        yield f"  approval: the run starts after {people} approved it, within {format_duration(plan.approval.within)}"
    if plan.notes:
        more = f" (and {counted(len(plan.notes) - 1, 'more note')})" if len(plan.notes) > 1 else ""
        yield f"  note: {plan.notes[0]}{more}"
    ages: dict[str, list[str]] = {}
    for service, words in checks.items():
        ages.setdefault(words, []).append(service)
    if len(ages) == 1:
        yield f"  checked: {next(iter(ages))}"
    elif ages:
        yield f"  checked: {'; '.join(f'{named(names)}: {words}' for words, names in ages.items())}"


def _verdict(lanes: Sequence[LanePreview], held: Mapping[str, str]) -> str:
    refusing = [lane.service for lane in lanes if lane.would_refuse or lane.service in held]
    if refusing:
        return f"  REFUSED if started now: {named(refusing)}"
    if not is_any_checked(lanes):
        return "  NOTHING COULD BE CHECKED: the effect of its commands is unknown"
    return f"  {holds(lanes)}"
