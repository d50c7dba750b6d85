"""The dry run, which changes nothing: the checks as they are now, and every command that would be sent, by device, in
order.

Two barriers keep it harmless. The adapters are made ``read_only``, so their sessions cannot send a changing command. And
``ReadOnly`` offers only the reading half of an adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from orchestrator.clock import Clock
from orchestrator.core.decide.evaluate import Verdict, judge_one, remedy_of, what_is_wrong
from orchestrator.core.decide.for_each import listed
from orchestrator.core.decide.foresee import foreseen, guard_broken_now, unanswered
from orchestrator.core.drain_estimate import number_left
from orchestrator.core.run import Lane
from orchestrator.core.serving import is_suspended, lets_clients_in, role_in
from orchestrator.engine.dry_run_lines import CommandAhead, Lines, Phase, ReadOnly
from orchestrator.model import events as ev
from orchestrator.model.comparisons import compared_by, comparison
from orchestrator.model.facets import Facet
from orchestrator.model.families import amount
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Item, describe, in_words, items_of, matches
from orchestrator.model.readings import Role, is_backlog, item_argument
from orchestrator.model.runbook import Approval, Check, GuardBreak, Side, Stall, Step, format_duration

Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class CheckNow:
    """A check, judged now. ``holds`` None: unknown now. ``later``: the check is about a state that the run will cause.
    ``remedy``: what an operator does if the check does not hold, or empty if that is not known."""

    site: str
    text: str
    holds: bool | None
    later: bool
    phase: Phase = "before"
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class StepPreview:
    """One step of one service: its checks, and the commands that it would send, in order. A wait repeats its readings.

    ``gauge``: the present value of the number that has to fall to 0 during a wait. None for other steps, or if unknown.
    """

    id: str
    title: str
    checks: tuple[CheckNow, ...]
    commands: tuple[CommandAhead, ...]
    notes: tuple[str, ...] = ()
    point_of_no_return: bool = False
    gauge: int | None = None


@dataclass(frozen=True, slots=True)
class LanePreview:
    """The actions of a run for one service, judged now. ``roles``, ``lets_clients_in`` and ``suspended`` (replication)
    hold the present state by site, as far as it was read."""

    service: str
    steps: tuple[StepPreview, ...]
    roles: Mapping[str, Role]
    lets_clients_in: Mapping[str, bool]
    suspended: Mapping[str, bool]
    unanswered: str = ""  # a question that is certain to come, without an answer or an operator
    would_stop: str = ""  # the question at which the run would stop, as chosen in advance
    would_ask: str = ""

    @property
    def would_refuse(self) -> str:
        """Why a run started now would refuse, or empty."""
        return self.unanswered if self._refusing is None else self._refusing.text

    @property
    def remedy(self) -> str:
        """What an operator does about the check for which a run started now would refuse, or empty."""
        return "" if self._refusing is None else self._refusing.remedy

    @property
    def _refusing(self) -> CheckNow | None:
        checks = (check for step in self.steps for check in step.checks)
        return next((one for one in checks if not one.later and one.holds is not True), None)

    @property
    def is_refused(self) -> bool:
        """Is a check of the present state read as false? An unknown check does not count."""
        return any(check.holds is False and not check.later for step in self.steps for check in step.checks)


def preview(
    plan: ev.Plan, adapters: Mapping[Side, ReadOnly], clock: Clock, *, attended: bool = False
) -> list[LanePreview]:
    """Take all readings once, and make the preview of every service of ``plan``. ``attended``: an operator can be
    asked."""
    seen = _read(plan, adapters, clock)
    devices = {side: _device(plan, side, adapter) for side, adapter in adapters.items()}
    return [
        _with_questions(
            plan,
            _Layout(
                plan,
                Lines(plan, adapters, devices),
                replace(Lane(service), seen=tuple(seen[service]), seen_mark=0),
            ),
            attended,
        )
        for service in plan.services
    ]


def _with_questions(plan: ev.Plan, layout: _Layout, attended: bool) -> LanePreview:
    """The preview of a service, with the questions that are known now and their outcome."""
    broken = guard_broken_now(plan, layout.service)
    known = {"refuses": "" if attended else unanswered(plan) or broken, "stops": "", "asks": broken * attended}
    for step in plan.runbook.steps:
        if step.foresee is not None:
            items = layout.foreseen(step.foresee)
            what, why = (
                ("refuses", items) if isinstance(items, str) else foreseen(plan, step.foresee, items, attended)
            )
            known[what] = known.get(what) or why
    return replace(layout.lane(), unanswered=known["refuses"], would_stop=known["stops"], would_ask=known["asks"])


def _read(plan: ev.Plan, adapters: Mapping[Side, ReadOnly], clock: Clock) -> dict[str, list[ev.Seen]]:
    wanted = dict.fromkeys(ask for step in plan.runbook.steps for ask in (*_before(step), *_meanwhile(step)))
    compared = {ask for step in plan.runbook.steps for ask in _compared(step)}
    wanted = dict.fromkeys(sorted(wanted, key=lambda ask: ask in compared))  # readings that are compared come last
    seen: dict[str, list[ev.Seen]] = {service: [] for service in plan.services}
    for on, reading in wanted:
        asked_at = clock.now()
        answers = adapters[on].probe(reading, plan.services)
        for service in plan.services:
            found = answers[service]
            seen[service].append(
                ev.Seen(on=on, reading=reading, asked_at=asked_at, failure=found)
                if isinstance(found, Failure)
                else ev.Seen(on=on, reading=reading, asked_at=asked_at, value=found)
            )
    return seen


def _before(step: Step) -> list[tuple[Side, str]]:
    """The readings of the step before it does anything."""
    checks = (*step.only_if, *step.require, *step.reconfirm)
    return list(dict.fromkeys(ask for check in checks for ask in check.asks))


def _compared(step: Step) -> set[tuple[Side, str]]:
    """The readings that are compared with a value of the other site."""
    found: set[tuple[Side, str]] = {(check.on, check.reading) for check in step.checks if check.elsewhere}
    follows = step.progress
    return found if follows is None or follows.up_to is None else {*found, (follows.on, follows.reading)}


def _meanwhile(step: Step) -> list[tuple[Side, str]]:
    """The readings of the step while it waits or compares, and to list its items."""
    checks = (*step.until, *step.guard, *step.never)
    asks: list[tuple[Side, str]] = [ask for check in checks for ask in check.asks]
    asks += compared_by(step.compare)
    asks += [] if step.progress is None else [(side, reading) for side, reading, _ in step.progress.values]
    asks += [] if step.for_each is None else [(step.for_each.on, step.for_each.reading)]
    return list(dict.fromkeys(asks))


def _device(plan: ev.Plan, side: Side, adapter: ReadOnly) -> str:
    """The device that gets the commands of ``side``: the only device, or the node of an HA pair that serves now."""
    site = plan.inventory.sites[plan.site_name(side)]
    if len(site.devices) == 1:
        return site.devices[0].name
    if "health" not in adapter.readings:
        return f"an instance of {site.name}"
    found = adapter.probe("health", plan.services[:1]).get(plan.services[0])
    node = None if found is None or isinstance(found, Failure) else found.facet(Facet.NODE)
    if node:
        return str(node)
    return f"the serving node of {site.name}"


@dataclass(frozen=True, slots=True)
class _Layout:
    """Makes the preview of the steps for one service. ``service``: a lane that holds the readings."""

    plan: ev.Plan
    lines: Lines
    service: Lane

    def lane(self) -> LanePreview:
        steps, changed = [], False
        for step in self.plan.runbook.steps:
            steps.append(self._step(step, changed))
            changed = changed or step.changes
        told = self._told(role_in), self._told(lets_clients_in), self._told(is_suspended)
        return LanePreview(self.service.service, tuple(steps), *told)

    def _told(self, look: Callable[[ev.Seen], Told | None]) -> dict[str, Told]:
        """The value that ``look`` finds in the readings of each site. The last reading with a value counts."""
        found = ((self.plan.site_name(seen.on), look(seen)) for seen in self.service.seen)
        return {site: told for site, told in found if told is not None}

    def _step(self, step: Step, changed: bool) -> StepPreview:
        if not changed and any(judge_one(self.plan, self.service, check).holds is False for check in step.only_if):
            note = f"the step would be left out now: only if {self._conditions(step)}"
            return StepPreview(step.id, step.title, (), tuple(self.lines.reads(_before(step), "before")), (note,))
        commands = [*self.lines.reads(_before(step), "before"), *self.lines.reads(_meanwhile(step), "work")]
        if step.foresee is not None:
            each = self.plan.runbook.steps[self.plan.runbook.index_of(step.foresee)].for_each
            commands += self.lines.reads([] if each is None else [(each.on, each.reading)], "work")
        if step.for_each is not None:
            sent = list(self._on_items(step))
            commands += sent
            # The items are listed again. The proof is that an item is no longer listed.
            again = [(step.for_each.on, step.for_each.reading)]
            commands += self.lines.reads(again, "proof", is_sure=bool(sent))
        elif step.do is not None:
            commands += self.lines.sends(self.service.service, step.do, step.do.args)
            proof = dict.fromkeys((one.on, one.reading) for one in (*step.expect, *step.report))
            commands += self.lines.reads(proof, "proof")
        checks = [self._ahead(check, "before") if changed else self._now(check) for check in step.require]
        checks += [] if changed else self._broken_now(step)
        checks += [self._ahead(check, "before") for check in step.reconfirm]
        checks += [self._ahead(check, "work") for check in (*step.until, *step.guard)]
        checks += [self._ahead(check, "proof") for check in step.expect]
        return StepPreview(
            step.id,
            step.title,
            tuple(checks),
            tuple(commands),
            tuple(self._notes(step)),
            step.point_of_no_return,
            self._gauge(step),
        )

    def foreseen(self, name: str) -> list[Item] | str:
        """The items that step ``name`` would need decisions on now; or a text that says why they are unknown."""
        each = self.plan.runbook.steps[self.plan.runbook.index_of(name)].for_each
        assert each is not None  # lint checks it
        found = listed(self.plan, self.service, each)
        return found.why if isinstance(found, Verdict) else found

    def _gauge(self, step: Step) -> int | None:
        """The present backlog that a wait would have to drain. None: another step, or unknown."""
        if step.progress is None:
            return None
        if not is_backlog(step.progress.reading, step.progress.field, self.plan.runbook.family):
            return None
        left = number_left(step.progress, self.service.seen)
        return None if left is None else int(left)

    def _now(self, check: Check) -> CheckNow:
        verdict = judge_one(self.plan, self.service, check)
        site = self.plan.site_name(check.on)
        why = verdict.why or f"{site}: {in_words(check.where)}"
        return CheckNow(site, why, verdict.holds, later=False, remedy=verdict.remedy)

    def _broken_now(self, step: Step) -> Iterator[CheckNow]:
        """The ``never`` checks that are true now, so that the wait of ``step`` would fail, with the text of that
        failure."""
        for check in step.never:
            if judge_one(self.plan, self.service, check).holds:
                why = what_is_wrong(self.plan, self.service, check)
                remedy = remedy_of(self.plan, self.service, check)
                yield CheckNow(
                    self.plan.site_name(check.on), why, holds=False, later=False, phase="work", remedy=remedy
                )

    def _ahead(self, check: Check, phase: Phase) -> CheckNow:
        site = self.plan.site_name(check.on)
        return CheckNow(site, f"{site}: {in_words(check.where)}", None, later=True, phase=phase)

    def _on_items(self, step: Step) -> Iterator[CommandAhead]:
        """The commands for the items that are listed now: for the decision of each item, or for every possible choice."""
        assert step.do is not None  # the runbook's model checks it
        name = (
            Item.argument if step.for_each is None else item_argument(step.for_each.reading, self.plan.runbook.family)
        )
        for item in self._items_now(step):
            args = {**step.do.args, name: item}
            ruling = self.plan.policy.transactions.get(item)
            if step.decide is None:
                yield from self.lines.sends(self.service.service, step.do, args, "" if ruling else "decided")
            elif ruling is not None:
                yield from self.lines.sends(self.service.service, step.do, {**args, "outcome": str(ruling.choice)})
            else:
                for choice in step.decide.choices:
                    yield from self.lines.sends(self.service.service, step.do, {**args, "outcome": choice}, choice)

    def _listing(self, step: Step) -> Check:
        """The check that lists the items of the step. If the step acts on earlier decisions, the check of the step that
        decides."""
        assert step.for_each is not None
        each = step.for_each
        if each.decided_in is not None:
            return self._listing(self.plan.runbook.steps[self.plan.runbook.index_of(each.decided_in)])
        return Check(on=each.on, reading=each.reading, where=each.where)

    def _listed(self, listing: Check) -> Sequence[Item] | None:
        """All items that are listed now; None if unknown."""
        seen = self.service.reading(listing.on, listing.reading)
        return None if seen is None else items_of(seen.value)

    def _items_now(self, step: Step) -> list[str]:
        """The keys of the step's items that are listed now."""
        listing = self._listing(step)
        return [item.key for item in self._listed(listing) or () if matches(item, listing.where)]

    def _conditions(self, step: Step) -> str:
        return "; ".join(f"{self.plan.site_name(check.on)}: {in_words(check.where)}" for check in step.only_if)

    def _notes(self, step: Step) -> Iterator[str]:
        if step.only_if:
            yield f"only if {self._conditions(step)}"
            yield from self._read_now(step.only_if)
        for check in step.never:
            yield f"the step fails if {self.plan.site_name(check.on)}: {in_words(check.where)}"
        if step.hold:
            yield f"must hold for {format_duration(step.hold)}"
        if step.ask is not None:
            yield self._asks(step.ask)
        if step.compare is not None:
            yield f"compared at both sites: {step.compare}"
            rule = comparison(step.compare)
            yield f"if the comparison does not pass: {self._answers(rule.gate, rule.choices, 'stop')}"
        if step.for_each is not None:
            yield from self._notes_on_items(step)
        waiting = self._gauge(step)
        if waiting is not None:
            yield f"{amount(waiting, self.plan.runbook.family)} in the queue now"
        if step.when_guard_breaks is not None:
            yield self._on_gate("the guard is broken", step.when_guard_breaks.grace, step.when_guard_breaks)
        if step.when_stalled is not None:
            yield self._on_gate("nothing moves", step.when_stalled.after, step.when_stalled)

    def _read_now(self, checks: Sequence[Check]) -> Iterator[str]:
        """The remarks of the readings of ``checks``, such as names, which say more than the values."""
        for check in checks:
            seen = self.service.reading(check.on, check.reading)
            said = "" if seen is None or seen.value is None else seen.value.remark(list(check.where))
            if said:
                yield f"{self.plan.site_name(check.on)}: {said}"

    def _asks(self, ask: Approval) -> str:
        return f"asked: {ask.text.removesuffix('.')}: {self._answers(ask.gate, ask.choices, ask.unattended)}"

    def _answers(self, gate: str, choices: Sequence[str], unattended: str) -> str:
        """The possible answers to a question, or the answer that was decided in advance."""
        policy = self.plan.policy
        if gate not in policy.on_gate:
            return f"{' / '.join(choices)}; unattended: {unattended}"
        why = policy.why(gate)
        return f"{policy.on_gate[gate]}, decided in advance" + (f" ({why})" if why else "")

    def _on_gate(self, what: str, after: float, rule: GuardBreak | Stall) -> str:
        decided = self.plan.policy.on_gate.get(rule.gate)
        choices = self._answers(rule.gate, rule.choices, rule.unattended)
        if decided == "wait":
            bound = format_duration(rule.wait_at_most)
            then = "stop" if rule.unattended == "wait" else rule.unattended
            choices = f"wait, decided in advance, for {bound} at most; then, unattended: {then}"
        return f"if {what} for {format_duration(after)}: {choices}"

    def _notes_on_items(self, step: Step) -> Iterator[str]:
        listing, items = self._listing(step), self._items_now(step)
        listed = self._listed(listing)
        if listed is None:
            yield judge_one(self.plan, self.service, listing).why
            return
        unclear = [item for item in listed if matches(item, listing.where) is None]
        for item in unclear:
            words = describe(item, list(listing.where))
            yield f"unknown at the moment: {self.plan.site_name(listing.on)}: {item.key}: {words}"
        undecided = [item for item in items if item not in self.plan.policy.transactions]
        if step.decide is not None and undecided:
            yield f"prepared now, and a decision is needed: {', '.join(undecided)}"
        elif not items and not unclear:
            yield "none at the moment"
        if step.delay and items:
            yield f"only items that are still listed after {format_duration(self.plan.delay_of(step))}"
