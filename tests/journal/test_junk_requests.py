"""Whoever can write the journal can write anything into its inbox: nothing there ends the process that leads a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.journal.database import statements as sql
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from tests.core.builders import a_plan
from tests.core.killing import judge_pair
from tests.core.leading import RUN, Lead, When
from tests.core.scripted import ScriptedPair
from tests.journal.people import signed_rule

Opener = Callable[..., Journal]

DECIDE = {"kind": "decide", "by": "eve", "gate": "xa", "choice": "commit"}
APPROVE = {"kind": "approval", "by": "eve", "choice": "approve", "plan": "x"}
JUNK: dict[str, Any] = {
    "no JSON": "{",
    "nothing": "",
    "too deep": "[" * 100_000,
    "a list": [],
    "a text": "abort",
    "no kind": {"by": "eve"},
    "another kind": {"kind": "obey", "by": "eve"},
    "nobody": {"kind": "abort"},
    "a number for a name": {"kind": "abort", "by": 7},
    "half of a character": '{"kind": "abort", "by": "eve\\ud800"}',
    "a decision on nothing": {"kind": "decide", "by": "eve"},
    "no choice": {"kind": "approval", "by": "eve"},
    "a service that is none": {**DECIDE, "lane": {}},
    "no list of services": {**DECIDE, "lane": ["Trading"]},
    "an item that is none": {**DECIDE, "item": 5},
    "a number without end": {**APPROVE, "uid": "9" * 10_000, "at": "9" * 10_000, "signature": "x"},
    "a number of another script": {**APPROVE, "uid": "٣", "at": "٣", "signature": "x"},
    "no moment": {**APPROVE, "at": "-1", "signature": "x"},
    "a choice that is none": {**APPROVE, "choice": "obey"},
    "two lines": {**APPROVE, "choice": "approve\nx", "at": "1", "signature": "x"},
}


@pytest.mark.parametrize("approval", [None, signed_rule(within=5.0)], ids=["no approval", "approval"])
@pytest.mark.parametrize("junk", JUNK)
def test_junk_ends_nothing(opened: Opener, clock: VirtualClock, junk: str, approval: ev.ApprovalRule | None) -> None:
    """Law: a request that cannot be read is taken and changes nothing: the run reaches the end that it has without it,
    and the next process does not meet it again."""
    lead = Lead(ScriptedPair(clock, depth=100, rate=100, lag=0.5), opened())
    body = JUNK[junk] if isinstance(JUNK[junk], str) else json.dumps(JUNK[junk])

    def insert(*_: object) -> None:
        with lead.journal.database.writing() as commit:
            commit.run(sql.ADD_REQUEST, [{"run": RUN, "body": body, "taken": False}])

    seen = ev.RunStarted if approval is None else ev.GateOpened
    plan = a_plan().model_copy(update={"approval": approval})
    run = lead.start(plan, observers=[When(seen, insert)], account="ann")
    wanted = Outcome.DONE if approval is None else Outcome.REFUSED
    assert (run.outcome, judge_pair(lead.pair, run.outcome), opened().requests(RUN)) == (wanted, [], [])
