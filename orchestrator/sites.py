"""Who relies on what belongs to a whole site, across lanes, runs and machines: kept in the journal, one row a service.

A fence or an interface is one thing for all services of a site. Whoever shuts it relies on it afterwards, often for
days after the run has ended, until a restore; whoever opens it must know that no other service does. Both are decided
in one transaction of the journal, so that of two processes one gets its claim and the other one an answer.

What it cannot know: two journals that know nothing of each other, and people at the devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

import sqlalchemy as sa

from orchestrator import events as ev
from orchestrator import statements as sql
from orchestrator.database import Transaction
from orchestrator.decide import ClaimSite
from orchestrator.errors import LeaseLost
from orchestrator.journal import Journal, mapped_errors
from orchestrator.lease import service_key, service_place
from orchestrator.readings import SiteClaims
from orchestrator.runbook import Side, Step
from orchestrator.state import Lane, Run

# A claim that is older than a door that was seen open is of a fence that is gone. Clocks of bastions may differ.
_STALE_S = 600.0
# On a server whoever asks for a claim waits for the one before; a file has one writer anyway.
_ONE_BY_ONE = sa.select(sa.func.pg_advisory_xact_lock(sa.bindparam("b_lock", type_=sa.BigInteger)))
_LOCK = 0x7369746573

State = Literal["relies", "opening", "leaving"]


class _Row(NamedTuple):
    """One service and one thing of a site. ``name`` is the service's, for people; ``run`` changed the row last."""

    service: str
    name: str
    run: str
    state: State
    at: float


class Sites:
    """The claims of one run's lanes. ``state`` is the run as its engine folds it."""

    def __init__(self, journal: Journal, run: str, state: Run) -> None:
        self._journal, self._run, self._state = journal, run, state
        plan = state.plan
        self._keys = {service: service_key(plan, service) for service in plan.services}
        self._names = {key: service for service, key in self._keys.items()}
        self._places: Mapping[Side, str] = {
            "source": service_place("", [plan.inventory.sites[plan.source]]),
            "target": service_place("", [plan.inventory.sites[plan.target]]),
        }
        self._claiming = {step.id: step for step in plan.runbook.steps if step.claim is not None}

    def claim(self, request: ClaimSite, epoch: int, at: float) -> SiteClaims:
        """The answer to a lane's wish, recorded. Raises ``LeaseLost`` under an old epoch, ``JournalUnavailable``."""
        key, where = self._keys[request.lane], self._where(request.on, request.thing)
        with self._changing() as commit:
            if [int(found) for (found,) in commit.ask(sql.EPOCH, {"b_run": self._run})] != [epoch]:
                raise LeaseLost(f"run {self._run} is led by another process now")
            rows = [_Row(*row) for row in commit.ask(sql.SITE_CLAIMS_AT, where)]
            others = [row for row in rows if row.service != key and self._is_in_the_way(row, request)]
            state: State = "relies" if request.wish == "hold" else "leaving"
            if request.wish == "release" and not others:
                state = "opening"
            if request.wish != "hold" or not others:
                mine = _Row(key, request.lane, self._run, state, at)
                commit.run(sql.REMOVE_SITE_CLAIM, [{**where, "b_service": key}])
                commit.run(
                    sql.ADD_SITE_CLAIM, [{"place": where["b_place"], "thing": request.thing, **mine._asdict()}]
                )
        return SiteClaims(
            thing=request.thing,
            wish=request.wish,
            granted=not others,
            others=tuple(f"{row.name} (run {row.run})" for row in others),
            is_waiting=bool(others) and all(self._is_under_way(row) for row in others),
        )

    def settle(self, events: Iterable[tuple[str | None, ev.Event]], at: float) -> None:
        """Take in what was recorded at ``at``: what was opened is claimed no more, and older claims on a door that was
        open are void."""
        for service, event in events if self._claiming else ():
            if service is not None and isinstance(event, ev.LaneEnded):
                self._give_way(service)
            if service is None or not isinstance(event, ev.StepDone | ev.StepSkipped | ev.UndoDone):
                continue
            step = self._claiming.get(event.step)
            if step is None:
                continue
            if isinstance(event, ev.UndoDone) or step.claim == "release":
                self._remove(service, step)
            elif isinstance(event, ev.StepDone) and event.reversible:
                self._void_older(step, at - _STALE_S)

    def tidy(self) -> None:
        """The same for what an earlier process recorded and did not live to settle."""
        steps = [step.id for step in self._state.plan.runbook.steps]
        for service, lane in self._state.lanes.items():
            for step in self._claiming.values():
                if step.claim == "release" and steps.index(step.id) < lane.step:
                    self._remove(service, step)

    def finish(self, at: float) -> None:
        """The run has ended. A service that was not moved relies on nothing of it; one that was moved keeps its claims
        on the site that it left, dated anew, and has none on the site where it is active now."""
        with mapped_errors("be read"):
            if not self._journal.database.ask(sql.SITE_CLAIMANTS, {}):
                return
        with self._changing() as commit:
            for service, lane in self._state.lanes.items():
                mine = {"b_run": self._run, "b_service": self._keys[service]}
                if lane.outcome in (ev.Outcome.REFUSED, ev.Outcome.REVERTED):
                    commit.run(sql.REMOVE_SITE_CLAIMS_OF, [mine])
                elif lane.outcome in (ev.Outcome.DONE, ev.Outcome.ESCALATED):
                    commit.run(sql.DATE_SITE_CLAIMS_OF, [{**mine, "new_at": at}])
                    there = {"b_place": self._places["target"], "b_service": self._keys[service]}
                    commit.run(sql.REMOVE_SITE_CLAIMS_AT, [there])

    def _is_in_the_way(self, row: _Row, request: ClaimSite) -> bool:
        if request.wish == "hold":
            return row.state == "opening"
        return row.state == "relies" and not self._gives_up(row)

    def _gives_up(self, row: _Row) -> bool:
        """Is it a lane of this run that is rolled back, or never moved? Its row does not tell yet."""
        lane = self._lane_of(row)
        if lane is None or row.run != self._run:
            return False
        return bool(lane.turning) or lane.status in ("reverting", "reverted", "refused")

    def _is_under_way(self, row: _Row) -> bool:
        """Will this very run decide, without being asked, whether the service goes on relying on it?"""
        lane = self._lane_of(row)
        return lane is not None and not lane.ended

    def _lane_of(self, row: _Row) -> Lane | None:
        name = self._names.get(row.service)
        return None if name is None else self._state.lanes[name]

    def _where(self, on: Side, thing: str) -> dict[str, str]:
        return {"b_place": self._places[on], "b_thing": thing}

    def _give_way(self, service: str) -> None:
        """A lane that stopped on its way to open a door, and has sent nothing, keeps nobody from shutting it."""
        lane = self._state.lanes[service]
        steps = self._state.plan.runbook.steps
        step = steps[lane.step] if lane.step < len(steps) else None
        is_sent = any(intent.may_have_obeyed for intent in lane.intents)
        if step is not None and step.do is not None and step.claim == "release" and not is_sent:
            with self._changing() as commit:
                where = self._where(step.do.on, step.do.action)
                commit.run(sql.LEAVE_SITE, [{**where, "b_service": self._keys[service], "new_state": "leaving"}])

    def _remove(self, service: str, step: Step) -> None:
        assert step.do is not None  # a step that claims something has an action
        with self._changing() as commit:
            where = self._where(step.do.on, step.do.action)
            commit.run(sql.REMOVE_SITE_CLAIM, [{**where, "b_service": self._keys[service]}])

    def _void_older(self, step: Step, before: float) -> None:
        assert step.do is not None  # a step that claims something has an action
        where = self._where(step.do.on, step.do.action)
        with self._changing() as commit:
            unfinished = set(commit.ask(sql.CLAIMED, {}))
            rows = [_Row(*row) for row in commit.ask(sql.SITE_CLAIMS_AT, where)]
            void = [row for row in rows if row.at < before and (row.service, row.run) not in unfinished]
            if void:
                commit.run(sql.REMOVE_SITE_CLAIM, [{**where, "b_service": row.service} for row in void])

    @contextmanager
    def _changing(self) -> Iterator[Transaction]:
        database = self._journal.database
        with mapped_errors("be written"), database.writing() as commit:
            if not database.is_embedded:
                commit.ask(_ONE_BY_ONE, {"b_lock": _LOCK})
            yield commit
