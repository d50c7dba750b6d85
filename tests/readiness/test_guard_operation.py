"""The operation behind `failover guard`: its caller leads the runs; it reports typed events and prints nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.errors import NotStarted
from orchestrator.model import events as ev
from orchestrator.operations.guard.guard import Guard, guard_of
from orchestrator.operations.guard.request import GuardFailed, GuardReport, GuardRequest
from tests.cli.shell import VPN, Shell
from tests.readiness.test_guard import Night, night_of


@pytest.fixture
def night(shell: Shell) -> Night:
    """A pair whose first site failed, and is back as active."""
    night = night_of(shell, VPN)
    night.lose()
    night.wait(60)
    return night


class Caller:
    """Starts no run: gives the next of ``ends`` instead, and then presses Ctrl-C."""

    def __init__(self, night: Night, ends: Sequence[int | NotStarted]) -> None:
        self.plans: list[ev.Plan] = []
        self.events: list[GuardReport | GuardFailed] = []
        self._ends = list(ends)
        self._night = night

    def lead(self, plan: ev.Plan) -> int:
        if not self._ends:
            raise KeyboardInterrupt
        self.plans.append(plan)
        end = self._ends.pop(0)
        if isinstance(end, NotStarted):
            raise end
        return end

    def guard(self, stack: ExitStack) -> Guard:
        request = GuardRequest("ny", (), None, Path(self._night.inventory), 2.0, "a test")
        tools = self._night.shell.tools()
        return guard_of(tools, request, stack, lead=self.lead, again=lambda *_: 70, listener=self.events.append)

    def run(self) -> Guard:
        with ExitStack() as stack:
            guard = self.guard(stack)
            guard.validate()
            with pytest.raises(KeyboardInterrupt):
                guard.run()
        return guard


def test_a_refused_fence_is_followed_by_the_role_alone(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: the first run fences; where it is refused the next one only changes the role, and the result says so."""
    caller = Caller(night, [3, 0])
    capsys.readouterr()
    result = caller.run().result()
    assert [one.runbook.runbook for one in caller.plans] == ["solace/guard", "solace/guard-standby"]
    assert [one.state for one in caller.events if isinstance(one, GuardReport)][:3] == ["guarding", "act", "fence"]
    assert (result.ending, result.is_degraded, result.exit_code) == ("stopped", True, 0)
    assert result.alarm.startswith("BOTH SITES ACTIVE: read at ")
    assert capsys.readouterr() == ("", "")


def test_what_is_in_the_way_is_reported_once(night: Night) -> None:
    """Law: a run that cannot start is retried, and the same cause is reported once."""
    caller = Caller(night, [NotStarted("the door is shut"), NotStarted("the door is shut")])
    result = caller.run().result()
    assert [str(one.error) for one in caller.events if isinstance(one, GuardFailed)] == ["the door is shut"]
    assert (len(caller.plans), result.exit_code) == (2, 3)


def test_a_run_says_what_was_read_before_it(night: Night) -> None:
    """Law: the plan has the reason, what the guard read of both sites, and no question for an operator."""
    caller = Caller(night, [0])
    caller.run()
    [plan] = caller.plans
    assert {one.seen.on for one in plan.read_before} == {"source", "target"}
    assert plan.notes[0].startswith("ny came back: it is active for")
    assert plan.policy.on_gate["step-failed"] == "stop"
