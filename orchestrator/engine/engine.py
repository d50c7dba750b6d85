"""The loop: decide, record, perform, record. Only this module connects decisions, the journal and devices.

The order inside one turn is the safety argument. First, the new events and the decisions on them are folded into a draft,
which the lifecycle table may refuse (*legality*). The draft is written with all intents in one commit, which also checks
the lease (*durability*). Then the state in memory is updated (*memory*), and the records are shown (*observers*). Only
then are the actions and readings carried out. A process that is killed between any two of these can be resumed: a command
that is not on disk was not sent.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.clock import Clock
from orchestrator.core.decide import Ask, ClaimSite, Observe, Request, decide
from orchestrator.core.rollout import to_begin
from orchestrator.core.run import Lane, Run, worst
from orchestrator.engine.approvers import Approvers
from orchestrator.engine.deadline import Deadline
from orchestrator.engine.dispatch import Act, Answer, Completion, Ended, Fleet, Observation
from orchestrator.engine.garbage import few_collections
from orchestrator.engine.in_flight import Acting
from orchestrator.engine.observers import Observer, Observers
from orchestrator.engine.signed_words import Hearing
from orchestrator.engine.turn import Draft, ended
from orchestrator.errors import FailoverError
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease, service_key
from orchestrator.journal.site_claims import Sites
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.requests import ApprovalRequest

# How often the inbox is checked while nothing else happens, seconds.
INBOX_EVERY = 1.0
# A lane that makes more decisions than this in one turn is in an endless loop.
_DECISIONS_MAX = 200
# A device answers, or times out, in less than this, seconds. If it takes longer, this machine was suspended meanwhile.
_SLOWEST_S = 120.0


class Engine:
    """Leads one run from the state of its record to its end, or to a point where it must stop.

    ``approvers``: the people whose signatures count. ``approval``: the approval rule that this machine's policy requires
    of the run, if it differs from the rule in the plan.
    """

    def __init__(
        self,
        journal: Journal,
        lease: Lease,
        writer: Writer,
        run: Run,
        fleet: Fleet,
        clock: Clock,
        *,
        by: str,
        account: str = "",
        uid: int | None = None,
        attended: bool = False,
        observers: Sequence[Observer] = (),
        approvers: Approvers | None = None,
        approval: ev.ApprovalRule | None = None,
    ) -> None:
        self.run_state = run
        self._journal = journal
        self._lease = lease
        self._writer = writer
        self._fleet = fleet
        self._clock = clock
        # The clock of this machine may be behind the clock that wrote the record. The time of the record must not go
        # back, and the run must not wait until this clock has caught up. Whole seconds need no rounding.
        self._ahead = max(0, math.ceil(run.last_at - clock.now()))
        self._who = ev.Who(by, account, uid)
        self._hearing = Hearing(
            writer.run, self._who, approvers or Approvers(), lambda: journal.records(writer.run), terms=approval
        )
        self._attended = attended
        self._observers = Observers(observers)
        self._sites = Sites(journal, writer.run, run)
        self._claimed: list[Completion] = []  # answers to claims that are not recorded yet
        self._observing: dict[str, int] = {}
        self._acting = Acting(fleet)
        self._asking: set[tuple[str, str, str | None]] = set()
        self._wakes: list[tuple[float, str]] = []
        self._inbox_at = 0.0
        self._pause = ""
        self._deadline = Deadline()
        self._forgiven = frozenset(service for service, lane in run.lanes.items() if lane.ended)

    def pause(self, reason: str) -> None:
        """Stop at the next safe point: start nothing new, await the actions under way. Safe in a signal handler."""
        self._pause = reason
        self._fleet.interrupt()

    def run(self, *, abort: ev.AbortAsked | None = None, policy: ev.Policy | None = None) -> Run:
        """Lead the run until every lane has ended or a pause was asked for.

        Raises ``LeaseLost`` when another process took over, and ``JournalUnavailable`` when nothing can be recorded.
        Nothing is sent after either.
        """
        try:
            with few_collections():
                self._lead(abort, policy)
        finally:
            # After any end, also an error: commands that still wait in the fleet must not be sent.
            self._lease.revoke()
            self._fleet.close()
        return self.run_state

    def _lead(self, abort: ev.AbortAsked | None, policy: ev.Policy | None) -> None:
        self._sites.tidy()
        self._turn(self._opening(abort, policy), self.run_state.lanes)
        while self.run_state.is_open and not self._pause:
            self._round()
        if self.run_state.is_open:
            self._stop_safely()
        else:
            self._finish()

    def _opening(self, abort: ev.AbortAsked | None, policy: ev.Policy | None) -> Draft:
        """The first events of this process: who leads, which actions are in doubt, which lanes continue."""
        draft = self._draft()
        if self.run_state.status == "finished":
            # A request that arrived before the run ended came too late. It must not take effect now.
            draft.taken.extend(number for number, _ in self._journal.requests(self._writer.run))
        who = self._who._asdict()
        draft.add_own(ev.RunStarted(epoch=self._writer.epoch, attended=self._attended, **who))
        self._hearing.agree(draft, policy)
        for service, lane in self.run_state.lanes.items():
            for intent in lane.outstanding:
                lost = "the process that sent the command ended before the outcome was recorded"
                draft.add(service, ev.ActionEnded(intent=intent.number, effect=Effect.DOUBTFUL, detail=lost))
            if lane.status != "ready" and not lane.settled:
                draft.add(service, ev.LaneResumed(**who))
            if abort is not None and not draft.lane(service).ended:
                draft.add(service, abort)
        return draft

    def _draft(self) -> Draft:
        return Draft(self.run_state, self._clock.now() + self._ahead, self._ahead)

    # --- one round ------------------------------------------------------------------------------------------------

    def _round(self) -> None:
        completions = self._fleet.collect(self._next_moment())
        answers, self._claimed = self._claimed, []
        # First: a process that was suspended for longer than its lease must not decide on earlier readings.
        was_away = self._keep_lease()
        draft = self._draft()
        touched = dict.fromkeys(self._read_anew(draft, completions) if was_away else ())
        touched.update(dict.fromkeys(self._take_in(draft, [*completions, *answers])))
        touched.update(dict.fromkeys(self._due(draft.at)))
        touched.update(dict.fromkeys(self._read_inbox(draft)))
        touched.update(dict.fromkeys(self._acting.let_in()))
        if touched or draft.events or draft.taken:
            self._turn(draft, touched)

    def _keep_lease(self) -> bool:
        """Renew the lease when it is time. Returns whether it had expired. Raises ``LeaseLost`` if another process took
        it."""
        now = self._clock.now()
        had_run_out = now > self._lease.expires_at
        if now >= self._lease.renew_at:
            self._lease.renew()
        return had_run_out

    def _read_anew(self, draft: Draft, completions: Iterable[Completion]) -> Iterator[str]:
        """Make lanes with readings read again, since the readings may be hours old. A lane with a young observation in
        ``completions`` is left out. Yields the services."""
        news = [done for done in completions if isinstance(done, Observation) and done.seen]
        coming = {one.service for one in news if self._clock.now() - min(s.asked_at for s in one.seen) < _SLOWEST_S}
        for service, lane in self.run_state.lanes.items():
            if lane.seen_mark == lane.mark and service not in coming and not lane.ended and not lane.outstanding:
                draft.add(service, ev.ReadingsExpired(step=""))
                yield service

    def _next_moment(self) -> float:
        if self._claimed:
            return self._clock.now()
        soonest = min(self._inbox_at, self._wakes[0][0]) if self._wakes else self._inbox_at
        return min(self._lease.renew_at, soonest - self._ahead)

    def _due(self, now: float) -> list[str]:
        due = []
        while self._wakes and self._wakes[0][0] <= now:
            due.append(heapq.heappop(self._wakes)[1])
        return due

    def _take_in(self, draft: Draft, completions: Iterable[Completion]) -> list[str]:
        """Add the completions to the draft. Returns the services that they concern."""
        touched = []
        for done in completions:
            service, lane = done.service, draft.lane(done.service)
            match done:
                case Observation():
                    if self._observing.get(service) == done.mark:
                        del self._observing[service]
                    draft.add(service, ev.Observed(mark=done.mark, seen=self._dated(done.seen), gauge=done.gauge))
                case Ended():
                    self._acting.end(service, done.intent)
                    draft.add(service, ended(done))
                case Answer():
                    self._asking.discard((service, done.gate.gate, done.gate.item))
                    self._take_answer(draft, lane, done)
            touched.append(service)
        return touched

    def _dated(self, seen: tuple[ev.Seen, ...]) -> tuple[ev.Seen, ...]:
        """The readings with their times converted to the time of the record."""
        if not self._ahead:
            return seen
        return tuple(one.model_copy(update={"asked_at": one.asked_at + self._ahead}) for one in seen)

    def _take_answer(self, draft: Draft, lane: Lane, answer: Answer) -> None:
        gate = lane.open_gate(answer.gate.gate, answer.gate.item)
        if gate != answer.gate or lane.ended:
            return  # the question has ended meanwhile, or has changed
        if answer.ruling is None or answer.ruling.choice not in answer.gate.choices:
            self._attended = False  # no operator is there to answer
            return
        for event in self._hearing.answer(draft, lane, answer.gate, answer.ruling):
            draft.add(lane.service, event)

    def _read_inbox(self, draft: Draft) -> list[str]:
        """Take in aborts, votes and answers from other processes. Returns the services that they concern."""
        if draft.at < self._inbox_at:
            return []
        self._inbox_at = draft.at + INBOX_EVERY
        touched = []
        for number, request in self._journal.requests(self._writer.run):
            draft.taken.append(number)
            if request is None:
                continue
            if isinstance(request, ApprovalRequest):
                self._hearing.about_plan(draft, request)
                continue
            for service in self._concerned(request.lane):
                lane = draft.lane(service)
                if lane.ended:
                    continue
                for event in self._hearing.requested(draft, lane, request):
                    draft.add(service, event)
                touched.append(service)
        return touched

    def _concerned(self, lane: str | None) -> list[str]:
        return [service for service in self.run_state.lanes if lane is None or service == lane]

    # --- one turn -------------------------------------------------------------------------------------------------

    def _turn(self, draft: Draft, touched: Iterable[str]) -> None:
        # First: a lane whose time is over must not decide on completions that came too late.
        requests: list[Request] = list(self._time_out(draft))
        for service in self.run_state.lanes if self._seek_approval(draft) else touched:
            if not self._must_wait(draft, service):
                requests.extend(self._advance(draft, service))
        requests.extend(self._begin_wave(draft))
        requests.extend(self._fail_fast(draft))
        self._record(draft)
        self._perform(draft.acts, requests)

    def _seek_approval(self, draft: Draft) -> bool:
        """Ask people about the plan, and take in their votes. Returns whether the lanes may start from now on.

        Until the decision, only the inbox and the time are checked. If denied or too late, every lane is refused.
        """
        self._hearing.request_approval(draft)
        sought = draft.approvals.sought
        if sought is not None and sought.expires_at not in (wake for wake, _ in self._wakes):
            heapq.heappush(self._wakes, (sought.expires_at, self.run_state.plan.services[0]))
        if draft.approvals.is_denied:
            self._pause = self._pause or self._hearing.refuse(draft)
        return draft.approvals.is_granted and not self.run_state.approvals.is_granted

    def _must_wait(self, draft: Draft, service: str) -> bool:
        """Must the lane wait for its wave, or for the approval of the plan?"""
        lane = draft.lane(service)
        if self._hearing.holds(draft, lane):
            return True
        return self.run_state.plan.waves is not None and lane.status == "ready" and lane.abort is None

    def _begin_wave(self, draft: Draft) -> list[Request]:
        """Start the lanes of the present wave. If no lane is under way and none may start, pause the run."""
        waves = self.run_state.plan.waves
        if waves is None or (self.run_state.plan.approval is not None and not draft.approvals.is_granted):
            return []
        lanes = {service: draft.lane(service) for service in self.run_state.lanes}
        requests: list[Request] = []
        for service in to_begin(waves, lanes, forgiven=self._forgiven):
            requests.extend(self._advance(draft, service))
        still_open = [lane for service in lanes if not (lane := draft.lane(service)).ended]
        if still_open and all(lane.status == "ready" for lane in still_open):
            self._pause = self._pause or f"the waves stopped, because services failed; not started: {len(still_open)}"
        return requests

    def _advance(self, draft: Draft, service: str) -> Sequence[Request]:
        """Decide until the lane has to wait for something. Returns the requests that it waits for."""
        for _ in range(_DECISIONS_MAX):
            lane = draft.lane(service)
            move = decide(self.run_state.plan, lane, draft.at, attended=self._attended)
            if not move.events:
                if move.wake is not None:
                    heapq.heappush(self._wakes, (move.wake, service))
                return move.requests
            if not self._acting.admit(service, move.events):
                return ()
            for event in move.events:
                draft.add(service, event)
        raise FailoverError(f"{service}: the decisions at step {draft.lane(service).step} repeat without an end")

    def _fail_fast(self, draft: Draft) -> list[Request]:
        """With ``fail_fast``, after the first lane that failed, abort every other lane that can still be rolled back."""
        failed = next((lane for lane in draft.lanes.values() if lane.outcome not in (None, ev.Outcome.DONE)), None)
        if failed is None or not self.run_state.plan.policy.fail_fast:
            return []
        requests: list[Request] = []
        for service in self.run_state.lanes:
            lane = draft.lane(service)
            if lane.status in ("ready", "running") and lane.abort is None:
                draft.add(service, ev.AbortAsked(by="--fail-fast", reason=f"{failed.service} ended {failed.outcome}"))
                requests.extend(self._advance(draft, service))
        return requests

    def _time_out(self, draft: Draft) -> Iterator[Request]:
        """After the deadline of the run, abort every lane that it concerns. Yields the requests that follow."""
        if (due := self._deadline.wake_at(draft)) is not None:
            heapq.heappush(self._wakes, (due, self.run_state.plan.services[0]))
        for service, asked in self._deadline.expired(draft):
            draft.add(service, asked)
            yield from self._advance(draft, service)

    def _record(self, draft: Draft) -> None:
        # First: these failures happened earlier, and the last record of a run must remain the end of the run.
        draft.events[:0] = [(None, failure) for failure in self._observers.failures()]
        if not draft.events and not draft.taken:
            return
        run, first, at = self._writer.run, self._writer.seq + 1, draft.at
        records = [ev.Record(run, seq, at, lane, event) for seq, (lane, event) in enumerate(draft.events, first)]
        self._writer = self._journal.append(self._writer, draft.at, draft.events, taken=draft.taken)
        # The run first: the approval is recorded before the start of the lanes that it allows.
        for record in records:
            if record.lane is None:
                self.run_state.fold(record)
        self.run_state.lanes.update(draft.lanes)
        self.run_state.seq, self.run_state.last_at = self._writer.seq, draft.at
        self._sites.settle(draft.events, draft.at)
        self._observers.show(records, self.run_state)

    def _perform(self, acts: Sequence[Act], requests: Iterable[Request]) -> None:
        fresh: list[Observe | Ask | Act] = list(acts)
        for request in requests:
            if isinstance(request, ClaimSite):
                self._claimed.append(self._claim(request))
                continue
            if isinstance(request, Observe):
                if self._observing.get(request.service) == request.mark:
                    continue
                self._observing[request.service] = request.mark
            else:
                key = (request.service, request.gate.gate, request.gate.item)
                if key in self._asking:
                    continue
                self._asking.add(key)
            fresh.append(request)
        if fresh:
            self._fleet.submit(fresh)

    def _claim(self, request: ClaimSite) -> Observation:
        """The journal's answer to a claim, as the reading that the lane waits for."""
        now = self._clock.now()
        found = self._sites.claim(request, self._writer.epoch, now + self._ahead)
        seen = ev.Seen(on=request.on, reading=found.kind, asked_at=now, value=found)
        return Observation(request.service, request.mark, (seen,), None)

    # --- the end --------------------------------------------------------------------------------------------------

    def _stop_safely(self) -> None:
        """Await the actions that were sent, record their ends, and decide nothing more."""
        while self._acting:
            draft = self._draft()
            done = self._fleet.collect(self._lease.renew_at)
            self._take_in(draft, [one for one in done if isinstance(one, Ended)])
            self._record(draft)
            self._keep_lease()
        draft = self._draft()
        draft.add_own(ev.RunPaused(reason=self._pause))
        self._record(draft)
        self._lease.release()

    def _finish(self) -> None:
        lanes = self.run_state.lanes.values()
        draft = self._draft()
        draft.add_own(ev.RunFinished(outcome=worst(lane.outcome for lane in lanes if lane.outcome is not None)))
        self._record(draft)
        self._sites.finish(draft.at)
        self._lease.release([service_key(self.run_state.plan, lane.service) for lane in lanes if lane.settled])
