"""Additions to the plans of unplanned moves: the last known state, earlier outages, and the answers about a fence."""

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
    """The answers that ``--attest`` and ``--reason`` give in advance. ``accepts``: the answers of ``--reason`` if the
    site is reached, in place of its fence; None: the site is not reached. Raises ``DefinitionError`` if both are
    given."""
    if attest is not None and reason is not None:
        raise DefinitionError(
            "--attest says that the site is fenced, but --reason says that it is not; give only one of them"
        )
    if reason is not None and accepts is not None:
        return accepts
    return {"unfenced": "attest"} if attest is not None else {"unfenced": "waive"} if reason is not None else {}


def accepting(policy: ev.Policy, answers: Mapping[str, Choice], why: str | None) -> ev.Policy:
    """The policy with these additional answers in advance, and ``why``."""
    reasons = dict.fromkeys(answers, checked_text(why, "the reason")) if why else {}
    return policy.model_copy(
        update={"on_gate": {**policy.on_gate, **answers}, "reasons": {**policy.reasons, **reasons}}
    )


def without_waiver(plan: ev.Plan) -> ev.Plan:
    """The same plan, but the run does not offer to continue without a fence."""
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
    """The plan with the last known state of the failed site, for each service. The site is lost, so it is not read now.

    It is information for people. So a damaged record of an earlier run does not prevent this one.
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
    """The plan with the present readings of both sites, and with the times when earlier runs read both as active. A
    site that does not answer does not stop the planning: the run itself finds out."""
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
    """The last reading of the acting site as standby: before it, both sites cannot have been active."""
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
    """Does the reading show which site is active, or how much a site holds that its mate lacks? Never if both may
    serve."""
    return model is not None and model.exclusive and bool({Facet.SERVES, Facet.BACKLOG} & set(model.facets))


def with_outage(tools: Tools, plan: ev.Plan, *, acting: str, at: float | None, spool_lost: bool) -> ev.Plan:
    """The plan with the fail-over that it undoes: from the record, or as the operator states it. ``acting`` served.

    A damaged record may be hiding a suspension or a lost spool, so it does not show that going back is safe. A restore,
    which only makes a site standby, continues with a note. Raises ``NotStarted``.
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
                f"{error}, so the record does not show that it is safe to fail back",
                hint="see `failover runs verify`; to fail back anyway: --accept-risk 'who agreed, and why'",
            ) from error
        notes = (*notes, f"the record of the fail-over cannot be used: {error}")
    outage = outage_of_all(known, stated_at=at, spool_lost=spool_lost, now=tools.clock.now())
    return plan.model_copy(update={"outage": outage, "notes": notes})


def see_one_active(tools: Tools, plan: ev.Plan, began: float) -> None:
    """For a restore: raise ``NotStarted`` if both sites were read active since ``began``, and no recorded fail-over
    explains it. Then the operator chooses which site keeps activity; a restore would choose it by its direction.

    A damaged record is no reason to refuse (``with_outage`` says so in a note).
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
            f"{', '.join(found)}: both sites are active, but no fail-over to {plan.target} on record explains that",
            hint=f"{how}; then restore the other site",
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
                "fail back",
                hint="--attest 'who compared both sites, how, when', --evidence REPORT, or --accept-risk 'why'",
            )


def with_evidence(tools: Tools, plan: ev.Plan, path: Path, fresh_s: float) -> ev.Plan:
    """The plan of a fail-back whose safety a reconciliation shows. The gate's decision names the report.

    Raises ``NotStarted`` if the report is too old, of another run, or does not show that it is safe.
    """
    from pipeline.evidence import Return, load_evidence, objections, statement

    if RISK_GATE in plan.policy.on_gate:
        raise DefinitionError("give only one of --evidence, --attest and --accept-risk")
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
        hint = "take new evidence now: --evidence take; or take both snapshots again with --run, and reconcile them"
        if {one.code for one in found} == {"evidence-verdict"}:
            hint = (
                "after these messages are consumed or explained, take both snapshots again; to fail back anyway: "
                "--accept-risk 'who agreed, and why'"
            )
        raise NotStarted(f"{path} is not valid evidence: {'; '.join(one.message for one in found)}", hint=hint)
    policy = accepting(plan.policy, {RISK_GATE: "accept"}, statement(report, path.name))
    return plan.model_copy(update={"policy": policy})


def site_to_leave(inventory: Inventory, services: Sequence[str], pair: str | None, to: str | None) -> str | None:
    """The site that gives up activity when activity goes back to ``to`` (None: the pair's home site)."""
    fitting = [
        one
        for one in inventory.pairs
        if pair in (None, one.name) and (not services or any(service in one.services for service in services))
    ]
    if len(fitting) != 1:
        return None  # make_plan reports the error
    home, other = fitting[0].sites
    if to not in (None, home, other):
        raise DefinitionError(f"{to!r} is not a site of the pair {fitting[0].name}", hint=f"--site {home} or {other}")
    return other if to in (None, home) else home
