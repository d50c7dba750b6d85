"""The complete plan that a person is asked to approve: the plan as stored, every command that it would send, and the
differences between its procedure and the shipped one. No device is asked, so an approver needs no access to devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.clock import iso
from orchestrator.core.decide.approve import GRAVE, asked_about
from orchestrator.core.run import Run
from orchestrator.counting import counted
from orchestrator.engine.approvers import shipped_like
from orchestrator.engine.dry_run import LanePreview, preview
from orchestrator.engine.dry_run_lines import CommandAhead, ReadOnly
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, Call
from orchestrator.family.reachability import with_made_readings
from orchestrator.model import events as ev
from orchestrator.model.inventory import Hook, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Item, Reading
from orchestrator.model.readings import item_argument
from orchestrator.model.runbook import Side, Step, format_duration
from orchestrator.operations.procedure import step_lines
from orchestrator.operations.runs.differences import differences
from orchestrator.operations.runtime import Tools
from orchestrator.reports.wording import called
from orchestrator.version import VERSION

_LANES_IN_FULL = 5


class Unread(ReadOnly):
    """A site as its adapters declare it. It is never read."""

    def __init__(self, declared: type[Adapter]) -> None:
        self.readings = with_made_readings(declared.readings)
        self.actions = declared.actions

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """A failure for each service: showing a plan asks no site."""
        return dict.fromkeys(services, Failure(kind="NotAsked", text="not read"))


def what_is_asked(tools: Tools, name: str, run: Run, created: ev.RunCreated, *, whole: bool) -> Iterator[str]:
    """The plan for an approver. ``whole``: with every service and every condition."""
    sought = run.approvals.sought
    plan = run.plan if sought is None else asked_about(run.plan, sought)
    marker = "SIMULATED  " if plan.simulated else ""
    requester = plan.approval.requester if plan.approval is not None else created.account
    yield f"{marker}run {name}: {plan.runbook.runbook}, planned by {called(created)}, requested by {requester}"
    yield f"  {plan.runbook.summary}"
    for side, site in (("source", plan.source), ("target", plan.target)):
        yield from _site_lines(side, plan.inventory.sites[site])
    yield f"  services: {', '.join(plan.services)}"
    yield from _procedure_lines(plan, created.version)
    yield from _commands(tools, plan, whole=whole)
    yield from (
        f"  hook {hook.name} receives {', '.join(hook.on)}: {_receiver(hook)}" for hook in plan.inventory.hooks
    )
    yield from _decided(plan)
    yield from _left_open(plan)
    yield from (f"  {note}" for note in plan.notes)
    yield from _terms(plan, run)


def as_data(tools: Tools, name: str, run: Run, created: ev.RunCreated) -> dict[str, Any]:
    """The plan for an approver, for machines."""
    sought = run.approvals.sought
    plan = run.plan if sought is None else asked_about(run.plan, sought)
    shipped = shipped_like(plan.runbook)
    return {
        "run": name,
        "simulated": plan.simulated,
        "digest": plan.digest,
        "plan": plan.model_dump(mode="json"),
        "is_shipped": plan.runbook == shipped,
        "differences": None if shipped is None else _differences(plan, shipped),
        "commands": [
            {"service": lane.service, "step": step.id, "site": one.site, "device": one.device, "line": one.line}
            | {"purpose": one.purpose, "when": one.when}
            for lane in _lanes(tools, plan)
            for step in lane.steps
            for one in step.commands
        ],
        "planned_by": {"by": created.by, "account": created.account, "uid": created.uid, "version": created.version},
        "is_waiting": sought is not None,
        "given": [one.model_dump(mode="json") for one in run.approvals.given],
        "exit_code": 0,
    }


def _site_lines(side: str, site: Site) -> Iterator[str]:
    title = f" ({site.title})" if site.title else ""
    yield f"  {side}: {site.name}{title} through {', '.join(part.adapter for part in site.parts)}"
    for part in site.parts:
        for device in part.devices:
            where = f"{device.address}:{device.port}" if device.address else "no address"
            pinned = f"; host key {device.host_key}" if device.host_key else ""
            yield f"    {device.name}: {where}{pinned}"


def _procedure_lines(plan: ev.Plan, version: str) -> Iterator[str]:
    shipped, name = shipped_like(plan.runbook), plan.runbook.runbook
    if version != VERSION:
        yield f"  planned by version {version} of this program; this machine has version {VERSION}"
    if shipped is None:
        yield f"  NOT A SHIPPED PROCEDURE: no shipped runbook has the name {name}"
        return
    found = _differences(plan, shipped)
    if not found:
        yield f"  the procedure is {name} as shipped"
        return
    yield f"  NOT AS SHIPPED: {name} differs in {counted(len(found), 'place')} (shipped -> here)"
    yield from (f"    {line}" for line in found)


def _differences(plan: ev.Plan, shipped: Any) -> list[str]:
    return list(differences(shipped.model_dump(mode="json"), plan.runbook.model_dump(mode="json")))


def _lanes(tools: Tools, plan: ev.Plan) -> list[LanePreview]:
    """The steps of each service, as in the dry run. Raises ``DefinitionError`` if an adapter is not installed."""
    return preview(plan, _declared(tools, plan), tools.clock)


def _declared(tools: Tools, plan: ev.Plan) -> Mapping[Side, ReadOnly]:
    sites = plan.inventory.sites
    return {
        "source": Unread(tools.registry.declarations(sites[plan.source])),
        "target": Unread(tools.registry.declarations(sites[plan.target])),
    }


def _commands(tools: Tools, plan: ev.Plan, *, whole: bool) -> Iterator[str]:
    try:
        lanes = _lanes(tools, plan)
    except DefinitionError as error:
        yield f"  THE COMMANDS CANNOT BE SHOWN HERE: {error}"
        return
    shown = lanes if whole else lanes[:_LANES_IN_FULL]
    for lane in shown:
        yield f"  {lane.service}"
        for number, (step, ahead) in enumerate(zip(plan.runbook.steps, lane.steps, strict=True), 1):
            yield f"  {number}. {step.title}{'  (point of no return)' if step.point_of_no_return else ''}"
            if whole:
                yield from (f"       {line}" for line in step_lines(step))
            yield from (f"       {_word(one):<9} {one.typed}" for one in ahead.commands)
            if step.for_each is not None:
                yield from _on_items(step)
                yield from _on_decided(tools, plan, lane.service, step)
    if len(lanes) > len(shown):
        rest = counted(len(lanes) - len(shown), "more service")
        yield f"  and {rest} with the same steps: `failover approve --show` shows them all"


def _word(command: CommandAhead) -> str:
    if command.purpose == "read":
        return "perhaps" if command.when else "read"
    return f"{command.when}?" if command.when else "SEND"


def _on_items(step: Step) -> Iterator[str]:
    """The action of a step on each of the items that are listed when the step starts."""
    assert step.do is not None  # by the runbook's model
    choices = " or ".join(step.decide.choices) if step.decide is not None else "as decided"
    yield f"       {'each':<9} {step.do.action}, once for each item that is listed then: {choices}"


def _on_decided(tools: Tools, plan: ev.Plan, service: str, step: Step) -> Iterator[str]:
    """The commands of a step for each item that is decided in advance, sent if the item is listed then."""
    assert step.do is not None  # by the runbook's model
    spec = _declared(tools, plan)[step.do.on].actions[step.do.action]
    name = Item.argument if step.for_each is None else item_argument(step.for_each.reading, plan.runbook.family)
    for item, ruling in plan.policy.transactions.items():
        outcome = {} if step.decide is None else {"outcome": str(ruling.choice)}
        for line in spec.commands(Call(service, {**step.do.args, name: item, **outcome})):
            yield f"       {'if listed':<9} {plan.site_name(step.do.on)}> {line}"


def _receiver(hook: Hook) -> str:
    return " ".join(hook.command) if hook.command else hook.webhook.url if hook.webhook else ""


def _decided(plan: ev.Plan) -> Iterator[str]:
    for gate, choice in plan.policy.on_gate.items():
        why = plan.policy.why(gate)
        yield f"  decided in advance on {gate}: {choice}" + (f" ({why})" if why else "")
    for item, ruling in plan.policy.transactions.items():
        source = f", sha256 {ruling.file}" if ruling.file else ""
        who = f"by {called(ruling)}{source} ({ruling.reason})"
        yield f"  decided in advance on transaction {item}: {ruling.choice}, {who}"


def _left_open(plan: ev.Plan) -> Iterator[str]:
    """The questions of the procedure that are not answered in advance, and who answers them."""
    questions: dict[str, tuple[str, ...]] = {}
    for step in plan.runbook.steps:
        for rule in (step.when_guard_breaks, step.when_stalled, step.ask, step.decide):
            if rule is not None and rule.gate not in plan.policy.on_gate:
                questions[rule.gate] = tuple(rule.choices)
    if not questions:
        return
    is_signed = plan.approval is not None and plan.approval.signed
    who = "the leader of the run, alone" if not is_signed else "the leader of the run"
    yield f"  open questions, answered by {who}:"
    for gate, choices in questions.items():
        yield f"    {gate}: {' / '.join(choices)}"
    if is_signed:
        grave = [choice for choice in sorted(GRAVE) if any(choice in choices for choices in questions.values())]
        yield (
            f"    these answers need another approver: {', '.join(grave)}"
            if grave
            else "    none of these answers needs another approver"
        )


def _terms(plan: ev.Plan, run: Run) -> Iterator[str]:
    rule, sought = plan.approval, run.approvals.sought
    if rule is None:
        yield "  this run needs no approval"
    else:
        glass = "--break-glass is allowed" if rule.break_glass else "--break-glass is not allowed"
        worth = (
            "an approval counts only if an approver of this machine's policy has signed it"
            if rule.signed
            else "approvals are not signed, so they prove nothing"
        )
        people = counted(rule.needed, "other person", "other people")
        people = f"approval by {people} within {format_duration(rule.within)}"
        yield f"  {people}; {glass}; {worth}"
    yield f"  plan {plan.digest}"
    if sought is not None:
        given = f"{len(run.approvals.given)} of {counted(sought.needed, 'approval')} so far"
        yield f"  {given}; until {iso(sought.expires_at)}"
