"""The look ahead: what holds now, every command in order and to which device, and no way to change anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import pytest

from adapters.solace.reading_models import DeviceHealth, Endpoints, QueueDepth, Transaction, Transactions
from orchestrator.clock import VirtualClock
from orchestrator.engine.dry_run import LanePreview, StepPreview, preview
from orchestrator.engine.dry_run_lines import CommandAhead, ReadOnly
from orchestrator.errors import Unreachable
from orchestrator.family.contract import ReadingSpec
from orchestrator.model import events as ev
from orchestrator.model.inventory import Device
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from tests.core.builders import CHECK, CONTROLLED, DEMOTE, DRAIN, a_plan
from tests.core.scripted import ScriptedPair, ScriptedSite

RULING = ev.Ruling(choice="rollback", reason="cancelled", by="ann")


def _shown(name: str, services: Sequence[str]) -> Sequence[str]:
    return (f"show {name} {' '.join(services)}",)


class ToldSite(ScriptedSite):
    """A scripted site whose readings have command lines, as those of a device do, and more readings."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        name: ReadingSpec(name, name, commands=partial(_shown, name))
        for name in ("replication", "replication_queue", "transactions", "health", "endpoints")
    }

    def __init__(self, pair: ScriptedPair, side: Side, extra: Mapping[str, Reading | Failure] | None = None) -> None:
        super().__init__(pair, side)
        self.extra = extra or {}

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        if reading in self.extra:
            return dict.fromkeys(services, self.extra[reading])
        return super().probe(reading, services)


@pytest.fixture
def pair() -> ScriptedPair:
    return ScriptedPair(VirtualClock(), depth=1_500)


def looked(pair: ScriptedPair, plan: ev.Plan, **extra: Reading | Failure) -> LanePreview:
    """The preview of the only lane."""
    [lane] = look(pair, plan, **extra)
    return lane


def look(pair: ScriptedPair, plan: ev.Plan, **extra: Reading | Failure) -> list[LanePreview]:
    adapters: dict[Side, ReadOnly] = {}
    for side in ("source", "target"):
        adapters[side] = ReadOnly(ToldSite(pair, side, extra))
    return preview(plan, adapters, pair.clock)


def step(lane: LanePreview, step_id: str) -> StepPreview:
    return next(one for one in lane.steps if one.id == step_id)


def lines(commands: Sequence[CommandAhead], purpose: str | None = None) -> list[str]:
    return [f"{one.device}: {one.line}" for one in commands if purpose in (None, one.purpose)]


def listings(one: StepPreview) -> list[tuple[str, str]]:
    """When the items are listed, and on what condition."""
    return [(each.phase, each.when) for each in one.commands if "show transactions" in each.line]


def test_it_has_no_way_to_change_anything(pair: ScriptedPair) -> None:
    """Law (promise 6): what a preview is given has no ``apply``, and nothing but readings reaches a site."""
    site = ReadOnly(ToldSite(pair, "source"))
    assert not hasattr(site, "apply")
    assert not hasattr(site, "open")
    look(pair, a_plan())
    assert {heard.verb for heard in pair.heard} <= set(ToldSite.readings)
    assert pair.took == []


def test_each_step_reads_acts_and_proves_in_this_order(pair: ScriptedPair) -> None:
    """Law: the commands of a step are those of its preconditions, of its work, and of its proof."""
    lane = looked(pair, a_plan(CHECK, DEMOTE, DRAIN))
    assert lines(step(lane, "demote").commands) == [
        "ny-1: Trading standby",
        "ny-1: show replication Trading",
    ]
    assert lines(step(lane, "drain").commands) == [
        "ny-1: show replication_queue Trading",
        "nj-1: show replication Trading",
    ]
    activate = step(looked(pair, a_plan()), "activate")
    assert [one.phase for one in activate.commands] == ["before", "before", "work", "proof"]
    assert [one.phase for one in activate.checks] == ["before", "before", "proof"]
    assert activate.point_of_no_return


def test_a_check_speaks_of_now_only_before_the_first_change(pair: ScriptedPair) -> None:
    """Law: what the run has yet to bring about cannot be judged now, and is not."""
    lane = looked(pair, a_plan())
    now = [check for one in lane.steps for check in one.checks if not check.later]
    assert [check.holds for check in now] == [True, True]
    assert {one.id for one in lane.steps if any(check.later for check in one.checks)} >= {"drain", "activate"}
    assert lane.would_refuse == ""


def test_what_does_not_hold_would_refuse(pair: ScriptedPair) -> None:
    """Law: a check that fails now is the reason a run would refuse with; one that is unknown is no better."""
    pair.lose_bridge()
    lane = looked(pair, a_plan())
    assert "ny: " in lane.would_refuse
    failure = Failure(kind="UnreadableReply", text="no rule covers the answer")
    assert "unknown: no rule covers the answer" in looked(pair, a_plan(), replication=failure).would_refuse


def test_a_site_that_does_not_answer(pair: ScriptedPair) -> None:
    """Law: a request that fails is unknown for every service, and ends no preview."""
    pair.fail("replication", Unreachable("no route"), times=99)
    lane = looked(pair, a_plan())
    assert "no route" in lane.would_refuse
    assert [one.id for one in lane.steps] == [data["id"] for data in CONTROLLED]


def test_items_as_they_are_decided(pair: ScriptedPair) -> None:
    """Law: a decided item shows its command; an undecided one shows each choice, marked as such."""
    pair.prepare("1-a-b")
    pair.prepare("1-a-c")
    lane = looked(pair, a_plan(policy=ev.Policy(transactions={"1-a-b": RULING})))
    sends = [(one.when, one.line) for one in step(lane, "transactions").commands if one.purpose == "change"]
    assert sends[0] == ("", "Trading 1-a-b rollback")
    assert sends[1:] == [("commit", "Trading 1-a-c commit"), ("rollback", "Trading 1-a-c rollback")]
    assert step(lane, "transactions").notes == ("prepared now, and a decision is needed: 1-a-c",)
    deletes = [(one.when, one.line) for one in step(lane, "delete-at-target").commands if one.purpose == "change"]
    assert deletes == [("", "Trading 1-a-b"), ("decided", "Trading 1-a-c")]
    assert step(lane, "delete-at-target").notes == ("only items that are still listed after 5s",)


def test_no_items_now(pair: ScriptedPair) -> None:
    """Law: a step without items says so, and shows no command for them; they are listed again only if there are some."""
    one = step(looked(pair, a_plan()), "transactions")
    assert (lines(one.commands, "change"), one.notes) == ([], ("none at the moment",))
    assert listings(one) == [("work", ""), ("proof", "if needed")]
    pair.prepare("1-a-b")
    assert listings(step(looked(pair, a_plan()), "transactions")) == [("work", ""), ("proof", "")]


def test_items_that_nobody_can_tell(pair: ScriptedPair) -> None:
    """Law: what could not be listed is unknown, not none; nor is one whose state is not told."""
    failure = Failure(kind="Unreachable", text="no route")
    one = step(looked(pair, a_plan(), transactions=failure), "transactions")
    assert (lines(one.commands, "change"), one.notes) == ([], ("ny: transactions is unknown: no route",))
    stateless = Transactions(
        items=(
            Transaction(xid="1-a-b", replicated=True),
            Transaction(xid="1-a-c", replicated=True, state="prepared"),
        )
    )
    one = step(looked(pair, a_plan(), transactions=stateless), "transactions")
    unclear, decision = one.notes
    assert (unclear, "1-a-c" in decision, "1-a-b" in decision) == (
        "unknown at the moment: ny: 1-a-b: state unknown, replicated",
        True,
        False,
    )


def test_the_drain(pair: ScriptedPair) -> None:
    """Law: how much is to drain, and what happens when it does not, is said beforehand."""
    assert step(looked(pair, a_plan()), "drain").notes == (
        "1,500 in the queue now",
        "if the guard is broken for 1m: wait / revert / escalate; unattended: revert",
        "if nothing moves for 2m: wait / revert / escalate; unattended: revert",
    )
    decided = a_plan(policy=ev.Policy(on_gate={"bridge-lost": "escalate"}))
    assert "if the guard is broken for 1m: escalate, decided in advance" in step(looked(pair, decided), "drain").notes
    unread = QueueDepth()
    assert len(step(looked(pair, a_plan(), replication_queue=unread), "drain").notes) == 2


@pytest.mark.parametrize(
    ("health", "device"),
    [
        (DeviceHealth(node="ny-2", serving=True), "ny-2"),
        (DeviceHealth(node="ny-2", serving=False), "the serving node of ny"),
        (DeviceHealth(), "the serving node of ny"),
        (Failure(kind="Unreachable", text="no route"), "the serving node of ny"),
    ],
)
def test_the_node_of_a_pair_that_serves(pair: ScriptedPair, health: Any, device: str) -> None:
    """Law: of an HA pair the node that serves now is named, and nobody is named when that is not known."""
    plan = a_plan()
    site = plan.inventory.sites["ny"]
    both = site.model_copy(update={"devices": (*site.devices, Device(name="ny-2", address="ny-2.example"))})
    sites = {**plan.inventory.sites, "ny": both}
    plan = plan.model_copy(update={"inventory": plan.inventory.model_copy(update={"sites": sites})})
    lane = looked(pair, plan, health=health)
    assert {one.device for one in step(lane, "demote").commands} == {device}


FENCE = {
    "id": "fence",
    "title": "The source is closed",
    "only_if": [{"on": "source", "reading": "replication", "where": {"role": "standby"}}],
    "do": {"on": "source", "action": "nudge"},
}


def test_a_step_that_does_not_apply_now(pair: ScriptedPair) -> None:
    """Law: a step whose condition is read as false shows that it would be left out; after a change nobody knows."""
    lane = looked(pair, a_plan(FENCE, DEMOTE))
    one = step(lane, "fence")
    assert (one.checks, lines(one.commands, "change")) == ((), [])
    assert one.notes == ("the step would be left out now: only if ny: role standby",)
    later = step(looked(pair, a_plan(DEMOTE, FENCE)), "fence")
    assert lines(later.commands, "change") == ["ny-1: Trading"]
    assert later.notes == ("only if ny: role standby",)


def test_questions_and_comparisons(pair: ScriptedPair) -> None:
    """Law: what people will be asked, and what both sites are compared by, is in the plan."""
    ask = {
        "id": "unfenced",
        "title": "Somebody answers",
        "ask": {"gate": "unfenced", "text": "Is it fenced?", "choices": ["attest", "stop"], "unattended": "stop"},
    }
    compare = {"id": "safe", "title": "It is safe", "compare": "failback-safe"}
    plan = a_plan(ask, compare)
    lane = looked(pair, plan, endpoints=Endpoints())
    assert step(lane, "unfenced").notes == ("asked: Is it fenced?: attest / stop; unattended: stop",)
    assert step(lane, "safe").notes == (
        "compared at both sites: failback-safe",
        "if the comparison does not pass: accept / attest / stop; unattended: stop",
    )
    assert lines(step(lane, "safe").commands) == ["ny-1: show endpoints Trading", "nj-1: show endpoints Trading"]
    policy = ev.Policy(
        on_gate={"unfenced": "attest", "unsafe-return": "accept"}, reasons={"unfenced": "the cables are pulled"}
    )
    decided = looked(pair, plan.model_copy(update={"policy": policy}), endpoints=Endpoints())
    assert step(decided, "unfenced").notes == (
        "asked: Is it fenced?: attest, decided in advance (the cables are pulled)",
    )
    assert step(decided, "safe").notes == (
        "compared at both sites: failback-safe",
        "if the comparison does not pass: accept, decided in advance",
    )


def test_a_wait_with_conditions(pair: ScriptedPair) -> None:
    """Law: what ends a wait in failure, and how long its goal must hold, is in the plan."""
    wait = {
        "id": "lost",
        "title": "It is lost",
        "until": [{"on": "source", "reading": "replication_queue", "where": {"messages": {"at_most": 10}}}],
        "never": [{"on": "source", "reading": "replication", "where": {"role": ["active", "standby"]}}],
        "hold": "10s",
    }
    one = step(looked(pair, a_plan(wait)), "lost")
    assert one.notes == ("the step fails if ny: role active or standby", "must hold for 10s")
    assert [(check.text, check.holds, check.later) for check in one.checks] == [
        ("ny: role active", False, False),
        ("ny: messages at most 10", None, True),
    ]
    assert lines(one.commands) == ["ny-1: show replication_queue Trading", "ny-1: show replication Trading"]


def test_many_services_are_read_together() -> None:
    """Law: one request serves all services; each has its own plan."""
    pair = ScriptedPair(VirtualClock(), ("A", "B"))
    lanes = look(pair, a_plan(services=("A", "B")))
    assert [lane.service for lane in lanes] == ["A", "B"]
    assert {heard.services for heard in pair.heard} == {("A", "B")}
    assert lines(step(lanes[1], "demote").commands, "change") == ["ny-1: B standby"]
