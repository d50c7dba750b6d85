"""Which services rely on a thing of a whole site, across lanes, runs and machines: kept in the journal, one row a
service.

A fence or an interface is one thing for all services of a site. A service that shuts it relies on it afterwards, often
for days after the run has ended, until a restore. A service that opens it must know that no other service relies on it.
Both are decided in one transaction of the journal. So of two processes, one gets its claim, and the
other gets the answer which service is in its way.

Limits: two journals that know nothing of each other, and people at the devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

import sqlalchemy as sa

from orchestrator.core.decide import ClaimSite
from orchestrator.core.decide.granting import Party, Row, fate, granted, left_on_the_way, was_not_moved
from orchestrator.core.run import Lane, Run
from orchestrator.journal.database import statements as sql
from orchestrator.journal.database.database import Transaction
from orchestrator.journal.errors import lost, mapped_errors, taken_over
from orchestrator.journal.journal import Journal, head_if_any
from orchestrator.journal.lease import service_key
from orchestrator.model import events as ev
from orchestrator.model.places import service_place
from orchestrator.model.readings import SiteClaims
from orchestrator.model.runbook import Side, Step

# A claim that is older than the moment when its door was seen open belongs to a fence that no longer exists. The margin
# allows for clocks of bastions that differ.
_STALE_S = 600.0
# On a server, a process that asks for a claim waits for the one before. An embedded file has one writer anyway.
_ONE_BY_ONE = sa.select(sa.func.pg_advisory_xact_lock(sa.bindparam("b_lock", type_=sa.BigInteger)))
_LOCK = 0x7369746573

T = TypeVar("T")


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
        """Record the answer to a lane's request, and return it. Raises ``LeaseLost`` under an old epoch,
        ``JournalUnavailable``."""
        key, where = self._keys[request.service], self._where(request.on, request.thing)

        def ask(commit: Transaction) -> SiteClaims:
            head = head_if_any(commit, self._run)
            if head is None or head.epoch != epoch:
                raise lost(self._run) if head is None or head.epoch < epoch else taken_over(self._run)
            rows = [Row(*row) for row in commit.ask(sql.SITE_CLAIMS_AT, where)]
            answer, state = granted(rows, request, Party(key, self._run, self._lane_of))
            if state is not None:
                commit.run(sql.REMOVE_SITE_CLAIM, [{**where, "b_service": key}])
                self._put(commit, where, Row(key, request.service, self._run, state, at))
            return answer

        return self._change(ask)

    def _put(self, commit: Transaction, where: Mapping[str, str], row: Row) -> None:
        commit.run(sql.ADD_SITE_CLAIM, [{"place": where["b_place"], "thing": where["b_thing"], **row._asdict()}])

    def settle(self, events: Iterable[tuple[str | None, ev.Event]], at: float) -> None:
        """Apply events that were recorded at ``at``. A door that was opened is no longer claimed. Older claims on a
        door that was found open are void."""
        for service, event in events if self._claiming else ():
            if service is not None and isinstance(event, ev.LaneEnded):
                self._give_way(service, is_left=event.left)
            step = self._claiming.get(getattr(event, "step", ""))
            if service is None or step is None:
                continue
            match fate(step, event):
                case "removed":
                    self._remove(service, step)
                case "older-void":
                    self._void_older(service, step, at)

    def tidy(self) -> None:
        """Settle the events that an earlier process recorded but did not settle before it died."""
        steps = [step.id for step in self._state.plan.runbook.steps]
        for service, lane in self._state.lanes.items():
            for step in self._claiming.values():
                if step.claim == "release" and steps.index(step.id) < lane.step:
                    self._remove(service, step)

    def finish(self, at: float) -> None:
        """Settle the claims at the end of the run. A service that was not moved relies on no claim of the run. A
        service that was moved keeps its claims on the site that it left, with a new date. It has none on the site where
        it is active now."""

        def has_claims() -> bool:
            with mapped_errors("be read"):
                return bool(self._journal.database.ask(sql.SITE_CLAIMANTS, {}))

        def close(commit: Transaction) -> None:
            for service, lane in self._state.lanes.items():
                mine = {"b_run": self._run, "b_service": self._keys[service]}
                if was_not_moved(lane.outcome):
                    commit.run(sql.REMOVE_SITE_CLAIMS_OF, [mine])
                elif lane.outcome in (ev.Outcome.DONE, ev.Outcome.ESCALATED):
                    commit.run(sql.DATE_SITE_CLAIMS_OF, [{**mine, "new_at": at}])
                    there = {"b_place": self._places["target"], "b_service": self._keys[service]}
                    commit.run(sql.REMOVE_SITE_CLAIMS_AT, [there])

        if self._journal.insist(has_claims):
            self._change(close)

    def _lane_of(self, key: str) -> Lane | None:
        name = self._names.get(key)
        return None if name is None else self._state.lanes[name]

    def _where(self, on: Side, thing: str) -> dict[str, str]:
        return {"b_place": self._places[on], "b_thing": thing}

    def _give_way(self, service: str, *, is_left: bool) -> None:
        """A lane that was to open a door, and ended before it sent anything, does not stop another lane from shutting
        the door. The same holds for a lane that was left as it is, since no process continues it."""
        on_the_way = left_on_the_way(self._state.lanes[service], self._state.plan.runbook.steps)
        for step in self._claiming.values():
            if step.do is not None and (is_left or step is on_the_way):
                where = self._where(step.do.on, step.do.action)
                left = {**where, "b_service": self._keys[service], "b_state": "opening", "new_state": "leaving"}
                self._change(partial(_leave, left))

    def _remove(self, service: str, step: Step) -> None:
        assert step.do is not None  # a step that claims something has an action
        gone = {**self._where(step.do.on, step.do.action), "b_service": self._keys[service]}
        self._change(lambda commit: commit.run(sql.REMOVE_SITE_CLAIM, [gone]))

    def _void_older(self, service: str, step: Step, at: float) -> None:
        assert step.do is not None  # a step that claims something has an action
        where, key = self._where(step.do.on, step.do.action), self._keys[service]

        def void(commit: Transaction) -> None:
            unfinished = set(commit.ask(sql.CLAIMED, {}))
            rows = [Row(*row) for row in commit.ask(sql.SITE_CLAIMS_AT, where)]
            late = [row for row in rows if row.at < at - _STALE_S and (row.service, row.run) not in unfinished]
            commit.run(
                sql.REMOVE_SITE_CLAIM, [{**where, "b_service": one} for one in (key, *(r.service for r in late))]
            )
            self._put(commit, where, Row(key, service, self._run, "relies", at))

        self._change(void)

    def _change(self, do: Callable[[Transaction], T]) -> T:
        """One transaction, tried again while the journal does not answer. Every change here has the same effect when
        done twice."""
        database = self._journal.database

        def change() -> T:
            with mapped_errors("be written"), database.writing() as commit:
                if not database.is_embedded:
                    commit.ask(_ONE_BY_ONE, {"b_lock": _LOCK})
                return do(commit)

        return self._journal.insist(change)


def _leave(left: Mapping[str, str], commit: Transaction) -> None:
    commit.run(sql.LEAVE_SITE, [left])
