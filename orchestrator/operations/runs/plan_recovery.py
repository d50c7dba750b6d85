"""What the plans of unplanned moves need besides: what was last known, earlier outages, who answers for a fence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from orchestrator.characters import typed
from orchestrator.core.serving import role_in
from orchestrator.counting import named
from orchestrator.errors import DefinitionError, JournalCorrupt, NotStarted
from orchestrator.family.reachability import model_of, probe
from orchestrator.model import events as ev
from orchestrator.model.comparisons import RISK_GATE, compared_by, known_comparisons
from orchestrator.model.facets import Facet
from orchestrator.model.inventory import Inventory, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.plan import ReadBefore
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role, name_of
from orchestrator.model.runbook import Choice, Side
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools, checked_text
from orchestrator.reports.history import History, outage_of_all
from orchestrator.reports.next_steps import one_active


def unfenced_answers(
    attest: str | None, reason: str | None, accepts: Mapping[str, Choice] | None
) -> Mapping[str, Choice]:
    """The answers that ``--attest`` and ``--reason`` give in advance. ``accepts``: what the reason answers where the site
    is reached, in place of its fence; None: it is not. Raises ``DefinitionError`` for both."""
    if attest is not None and reason is not None:
        raise DefinitionError("--attest says that it is fenced, --reason that it is not: give one of them")
    if reason is not None and accepts is not None:
        return accepts
    return {"unfenced": "attest"} if attest is not None else {"unfenced": "waive"} if reason is not None else {}


def accepting(policy: ev.Policy, answers: Mapping[str, Choice], why: str | None) -> ev.Policy:
    """The policy with these answers made in advance too, and ``why``."""
    reasons = dict.fromkeys(answers, checked_text(why, "the reason")) if why else {}
    return policy.model_copy(
        update={"on_gate": {**policy.on_gate, **answers}, "reasons": {**policy.reasons, **reasons}}
    )


def without_waiver(plan: ev.Plan) -> ev.Plan:
    """The same plan, in which under way without a fence is not offered."""
    if plan.policy.on_gate.get("unfenced") == "waive":
        raise DefinitionError("--fence-first and --reason contradict each other", hint="attest the fence: --attest")
    steps = tuple(
        step
        if step.ask is None or step.ask.gate != "unfenced"
        else step.model_copy(update={"ask": step.ask.model_copy(update={"choices": ("attest", "stop")})})
        for step in plan.runbook.steps
    )
    return plan.model_copy(update={"runbook": plan.runbook.model_copy(update={"steps": steps})})


def with_last_known(tools: Tools, plan: ev.Plan) -> ev.Plan:
    """The plan with what was last known of the failed site, for each service; it is lost, so nothing is read now.

    It is for people to know, so a record of some earlier run that does not prove itself keeps no one from acting now.
    """
    alike: dict[str, list[str]] = {}  # each known state, with its services
    before: list[ReadBefore] = []
    with closing(tools.journal()) as journal:
        history = History(journal, _sites_of(plan))
        for service in plan.services:
            try:
                known = history.last_known(service, plan.source)
            except JournalCorrupt as error:
                alike.setdefault(f"unknown; {error}", []).append(service)
                continue
            alike.setdefault(known.words(), []).append(service)
            for at, value in known.readings.values():
                if value.number(Facet.BACKLOG) is not None or value.number(Facet.MARK) is not None:
                    seen = ev.Seen(on="source", reading=name_of(value), asked_at=at, value=value)
                    before.append(ReadBefore(service=service, seen=seen))
    notes = tuple(f"last known of {named(services)} at {plan.source}: {words}" for words, services in alike.items())
    return plan.model_copy(update={"notes": notes, "read_before": tuple(before)})


def with_readings(tools: Tools, plan: ev.Plan) -> ev.Plan:
    """The plan with what both sites say now, and with what earlier runs read of a time when both were active. A site that
    does not answer is no reason not to continue: the run itself finds out."""
    sides: tuple[Side, Side] = ("source", "target")
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda side: _read(tools, plan, side), sides)
    before = tuple(one for some in found for one in some)
    try:
        with closing(tools.journal()) as journal:
            history = History(journal, _sites_of(plan))
            notes = tuple(note for service in plan.services for note in history.both_active(service))
            before = (*was_standby(history, plan), *before)
    except JournalCorrupt as error:
        # Where an earlier reading of the record failed by the same error, a note says so already.
        is_noted = any(str(error) in note for note in plan.notes)
        notes = () if is_noted else (f"the record does not show when both sites were active: {error}",)
    return plan.model_copy(update={"notes": (*plan.notes, *notes), "read_before": before})


def was_standby(history: History, plan: ev.Plan) -> Iterator[ReadBefore]:
    """When the acting site was last read as standby: both sites cannot have been active before."""
    for service in plan.services:
        found = history.last_standby(service, plan.target)
        if found is not None:
            at, value = found
            seen = ev.Seen(on="target", reading=name_of(value), asked_at=at, value=value)
            yield ReadBefore(service=service, seen=seen)


def _read(tools: Tools, plan: ev.Plan, side: Side) -> list[ReadBefore]:
    site = plan.inventory.sites[plan.site_name(side)]
    before: list[ReadBefore] = []
    offered = [
        name for name, spec in tools.registry.declarations(site).readings.items() if _shows_position(model_of(spec))
    ]
    if not offered:
        return before
    with reading_only(tools, site) as adapter:
        for reading in offered:
            at = tools.clock.now()
            for service, value in probe(adapter, reading, plan.services).items():
                if not isinstance(value, Failure):
                    seen = ev.Seen(on=side, reading=reading, asked_at=at, value=value)
                    before.append(ReadBefore(service=service, seen=seen))
    return before


def _shows_position(model: type[Reading] | None) -> bool:
    """Does it report who is active, or what a site holds that its mate lacks? Not where both sites may serve."""
    return model is not None and model.exclusive and bool({Facet.SERVES, Facet.BACKLOG} & set(model.facets))


def with_outage(tools: Tools, plan: ev.Plan, *, acting: str, at: float | None, spool_lost: bool) -> ev.Plan:
    """The plan with the fail-over it undoes: from the record, or as the operator states it. ``acting`` served.

    A record that does not prove itself may be of a suspension or of a lost spool, so it is no ground to go back on. A
    site is made standby anyway, with a note. Raises ``NotStarted``.
    """
    notes = plan.notes
    known: list[ev.Outage | None] = [None] * len(plan.services)
    try:
        with closing(tools.journal()) as journal:
            history = History(journal, _sites_of(plan))
            known = [history.last_outage(service, acting) for service in plan.services]
    except JournalCorrupt as error:
        is_compared = any(
            rule.gate == RISK_GATE
            for step in plan.runbook.steps
            if (rule := known_comparisons().get(step.compare or ""))
        )
        if is_compared and RISK_GATE not in plan.policy.on_gate:
            raise NotStarted(
                f"{error}, so the record does not show that it is safe to go back",
                hint="see `failover runs verify`; to fail back anyway, by name: --accept-risk 'who agreed, and why'",
            ) from error
        notes = (*notes, f"nothing is taken from the record of the fail-over: {error}")
    outage = outage_of_all(known, stated_at=at, spool_lost=spool_lost, now=tools.clock.now())
    return plan.model_copy(update={"outage": outage, "notes": notes})


def see_one_active(tools: Tools, plan: ev.Plan, began: float) -> None:
    """For a restore: raise ``NotStarted`` where both sites were read active since ``began``, and no fail-over on record
    made them so. Then the operator chooses which site keeps activity; a restore would choose it by its direction.

    A record that does not prove itself is no ground to refuse (``with_outage`` says so in a note).
    """
    read = {
        (one.service, one.seen.on)
        for one in plan.read_before
        if role_in(one.seen) is Role.ACTIVE and one.seen.asked_at >= began
    }
    both = [service for service in plan.services if {(service, "source"), (service, "target")} <= read]
    try:
        with closing(tools.journal()) as journal:
            history = History(journal, _sites_of(plan))
            found = [service for service in both if history.last_outage(service, plan.target) is None]
    except JournalCorrupt:
        return
    if found:
        how = one_active(plan.runbook.family, typed(found[0]), plan.target, plan.source, both=True)
        raise NotStarted(
            f"{', '.join(found)}: both sites are active, and no fail-over to {plan.target} is on record that made it so",
            hint=f"{how}; then restore the other one",
        )


def _sites_of(plan: ev.Plan) -> list[Site]:
    return [plan.inventory.sites[name] for name in (plan.source, plan.target)]


def see_comparable(tools: Tools, plan: ev.Plan) -> None:
    """For a run without an operator: raise ``DefinitionError`` if a site cannot be read for the comparison of
    ``plan``."""
    if RISK_GATE in plan.policy.on_gate:
        return
    asked = [one for step in plan.runbook.steps for one in compared_by(step.compare)]
    for side, reading in asked:
        site = plan.inventory.sites[plan.site_name(side)]
        if reading not in tools.registry.declarations(site).readings:
            adapters = ", ".join(part.adapter for part in site.parts)
            raise DefinitionError(
                f"no adapter of {site.name} ({adapters}) reads {reading}, so this program cannot show that it is safe to "
                "go back",
                hint="--attest 'who compared both sites, how, when', --evidence REPORT, or --accept-risk 'why'",
            )


def with_evidence(tools: Tools, plan: ev.Plan, path: Path, fresh_s: float) -> ev.Plan:
    """The plan of a fail-back whose safety a reconciliation shows; the gate's decision names it.

    Raises ``NotStarted`` when the report is stale, of another run, or does not show it.
    """
    from pipeline.evidence import Return, load_evidence, objections, statement

    if RISK_GATE in plan.policy.on_gate:
        raise DefinitionError("--evidence shows that it is safe; --attest and --accept-risk go without: give one")
    path = path / "report.json" if path.is_dir() else path
    report = load_evidence(path)
    wanted = Return(
        run=None if plan.outage is None else plan.outage.run,
        failover_at=None if plan.outage is None else plan.outage.at,
        acting=plan.source,
        restored=plan.target,
        services=tuple(plan.services),
        simulated=plan.simulated,
    )
    found = objections(report, wanted, now=tools.clock.now(), fresh_s=fresh_s)
    if found:
        hint = "take it now: --evidence take; or take both snapshots again with --run, and reconcile them"
        if {one.code for one in found} == {"evidence-verdict"}:
            hint = (
                "once that is consumed or explained, take both snapshots again; or fail back anyway, by name: "
                "--accept-risk 'who agreed, and why'"
            )
        raise NotStarted(f"{path} is no evidence: {'; '.join(one.message for one in found)}", hint=hint)
    policy = accepting(plan.policy, {RISK_GATE: "accept"}, statement(report, path.name))
    return plan.model_copy(update={"policy": policy})


def site_to_leave(inventory: Inventory, services: Sequence[str], pair: str | None, to: str | None) -> str | None:
    """The site that gives up activity when it goes back to ``to`` (None: the pair's home site)."""
    fitting = [
        one
        for one in inventory.pairs
        if pair in (None, one.name) and (not services or any(service in one.services for service in services))
    ]
    if len(fitting) != 1:
        return None  # make_plan says what is wrong
    home, other = fitting[0].sites
    if to not in (None, home, other):
        raise DefinitionError(f"{to!r} is not a site of the pair {fitting[0].name}", hint=f"--site {home} or {other}")
    return other if to in (None, home) else home
