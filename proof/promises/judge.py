"""The judge of one run. It receives every event and every order, and names every broken promise.

Where the judge is shown the world, it does not rely on any statement of the engine. No code that decides may ever read
the judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from proof.promises.by_facets import note
from proof.promises.facts import Broken, Case, Plain, read_moment
from proof.promises.families import rules_of
from proof.promises.on_course import judge_course, judge_heard, judge_own
from proof.promises.on_order import judge_order
from proof.promises.on_reading import judge_reading, stood_before
from proof.promises.on_record import judge_record
from proof.promises.on_waiting import judge_overdue, judge_waiting
from proof.promises.on_world import judge_end, judge_lasting, judge_world
from proof.promises.passage import Passage, Round
from proof.promises.rules import Rules


class Judge:
    """``broken`` lists the broken promises in the order in which they were found, each sentence once."""

    def __init__(
        self, plan: Plain, world: Plain | None = None, *, is_whole: bool = False, rules: Rules | None = None
    ) -> None:
        """``is_whole``: the judge hears every record with its moments, every question to a device, and every message of
        people. ``rules``: the rules of a family that the judge does not know."""
        self.case = Case.of(plan, world, is_whole=is_whole)
        self.broken: list[Broken] = []
        self._epoch = 1
        self._rules = rules_of(self.case.runbook) if rules is None else rules
        self.stale = 0  # rounds of readings that arrived after the lane had moved on
        self._lost_after: int | None = None

    def lose_record(self, last: int) -> None:
        """Records after ``last`` are lost from now on, because the journal is another one."""
        self._lost_after = last

    def lead(self, epoch: int, *, is_held: bool = False) -> None:
        """A process was given the lease under ``epoch``. ``is_held``: the lease of another living process had not run
        out."""
        if is_held:
            self._find(Broken(5, f"the lease was given under epoch {epoch}, and another process still had it"))
        if epoch <= self._epoch and self.case.seq > 1:
            self._find(Broken(5, f"the lease was given twice under epoch {epoch}"))
        self._epoch = max(self._epoch, epoch)

    def asked(self, on: str, reading: str, moment: float) -> None:
        """A reading of a side is asked right now."""
        self.case.asked.note(on, reading, moment, self.case.seq)

    def hear(self, request: Plain, *, is_led: bool = True) -> None:
        """A message to the run from another terminal: an abort, an answer or an approval. ``is_led``: a process can
        receive the message. A message is too late if the run is over and no process leads it. Such a message must not
        surprise the person who resumes the run."""
        hearing = self.case.hearing
        match request["kind"]:
            case "abort" if is_led or self.case.outcome is None:
                self.resumed_to_abort()
            case "decide":
                what = (request["lane"], request["gate"], request.get("item"), request["choice"], request["by"], None)
                hearing.said.add(what)
            case "approval":
                hearing.words.append(request)

    def resumed_to_abort(self) -> None:
        """A process resumes the run in order to abort it."""
        for name, lane in self.case.lanes.items():
            if lane.outcome in (None, "needs-operator", "stuck"):
                self.case.hearing.called_off[name] = self.case.hearing.called_off.get(name, 0) + 1

    def answered(self, service: str, gate: Plain, choice: str, by: str) -> None:
        """A person at the terminal answers a question. ``gate`` is the question as it was asked."""
        self.case.hearing.said.add((service, gate["gate"], gate["item"], choice, by, gate["why"]))

    def left(self) -> None:
        """The person has left the terminal."""
        self.case.hearing.has_left = True

    def planned(self, digest: str) -> None:
        """The plan has this digest from now on. Answers about a plan with another digest are void."""
        if digest != self.case.hearing.digest:
            self.case.hearing.digest = digest
            self.case.hearing.words.clear()

    def record(self, record: Plain, world: Plain | None = None, *, epoch: int | None = None) -> None:
        """An event is on disk. ``record`` has its ``seq``, ``lane`` and ``event``, and its ``at`` if known. ``epoch``:
        that of the process that wrote it."""
        case = self.case
        if epoch is not None and epoch < self._epoch:
            self._find(Broken(5, f"a process of epoch {epoch} wrote {record['event']['kind']}; {self._epoch} leads"))
        self._find(*judge_record(self._rules, case, record, world))
        if case.is_whole:
            self._conduct(record)
        case.take(record)
        if record["lane"] is not None:
            note(self._rules.meaning, case.lanes[record["lane"]], record["event"])

    def written(
        self, line: Plain, world: Plain | None = None, *, epoch: int | None = None, moment: float | None = None
    ) -> None:
        """Like ``record``, for a line of the journal, in which the event is still text. Lines that are already known are
        skipped. ``moment``: the world's moment at which the line was written."""
        if line["seq"] > self.case.seq:
            if self._lost_after is not None and line["seq"] > self._lost_after:
                self._find(Broken(11, "the run continues, and its record is lost"))
            if moment is not None:
                self.case.offset = line["at"] - moment
            record = {"seq": line["seq"], "lane": line["lane"], "at": line["at"], "event": json.loads(line["event"])}
            self.record(record, world, epoch=epoch)

    def _conduct(self, record: Plain) -> None:
        """The additional rules for a whole run: what its decisions depend on, and whether it makes them in time."""
        case, event = self.case, record["event"]
        if record["at"] < case.at:
            self._find(Broken(12, f"record {record['seq']} is dated before the one before it"))
        case.at = record["at"]
        at = record["at"] - case.offset
        if record["lane"] is None:
            case.note_start(event)
            self._find(*judge_own(case, event))
            return
        lane = case.passages[record["lane"]]
        if event["kind"] == "observed":
            self._observed(lane, record, at)
            return
        for rule in (judge_course, judge_reading, judge_waiting):
            self._find(*rule(case, lane, event, at))
        is_heard = event["kind"] == "abort.asked" and event["by"] != "--timeout"
        if is_heard and case.hearing.could_hear is None:
            case.hearing.could_hear = {name for name, one in case.passages.items() if one.outcome is None}
        step = case.steps.get(event.get("step") or lane.step)
        before, stands_on = None, lane.round
        if event["kind"] == "action.intended" and step is not None:
            before = stood_before(lane, step, event)
        lane.take(event, record["seq"], at, step)
        if event["kind"] == "action.intended":
            lane.intend(event, before, stands_on)

    def _observed(self, lane: Passage, record: Plain, at: float) -> None:
        """A round of readings is on record. A reading that was asked before the lane moved cannot justify a decision."""
        case, event = self.case, record["event"]
        is_fresh = True
        for seen in event["seen"]:
            known = case.asked.find(seen["on"], seen["reading"], seen["asked_at"] - case.offset)
            if known == 0:
                where = case.site(seen["on"])
                self._find(Broken(15, f"{lane.service}: {seen['reading']} of {where} is dated when it was not asked"))
            is_fresh = is_fresh and (known is None or known >= lane.began)
        if not is_fresh:
            self.stale += 1
        if not is_fresh or lane.outcome is not None:
            return
        values = {(seen["on"], seen["reading"]): seen["value"] for seen in event["seen"]}
        times = {(one["on"], one["reading"]): one["asked_at"] - case.offset for one in event["seen"]}
        seen = Round(record["seq"], min(times.values()), values, times)
        lane.see(seen, event["gauge"], at, case.steps.get(lane.step))
        self._find(*judge_overdue(case, lane, seen))

    def previewed(self, before: Plain, after: Plain) -> None:
        """A dry run began in the world ``before`` and ended in the world ``after``."""
        for name, service in after["services"].items():
            if service["received"] != before["services"][name]["received"]:
                self._find(Broken(6, f"{name}: the dry run sent {service['received'][-1]}"))

    def look(self, world: Plain) -> None:
        """Judges the present state of the world."""
        self._find(*judge_world(self._rules, self.case, world))

    def order(self, order: Plain, world: Plain | None = None) -> None:
        """A change is about to reach a site. ``moment`` is its world time, if there is a world."""
        lane = self.case.lanes.get(order["service"])
        if self._lost_after is not None:
            self._find(Broken(11, f"{order['service']}: a command leaves, and its intent is on no record"))
            if lane is not None:
                lane.ordered.append(order)
            return
        if lane is None:
            self._find(Broken(4, f"{order['service']}: it is not of this run, and is reported {order['action']}"))
            return
        order = {**order, "read": read_moment(self.case, lane, order)}
        self._find(*judge_order(self._rules, self.case, lane, order, self._epoch, world))
        lane.ordered.append({**order, **self._rules.noted(order, world)})

    def lasting(self, world: Plain) -> None:
        """All runs of the world are over, or no process leads them. Checks that the permanent results of each run still
        hold."""
        self._find(*judge_lasting(self._rules, self.case, world))

    def claimed(self, claims: Mapping[str, Plain], world: Plain) -> None:
        """Judges a report's statements about each service, once no process leads the run any more."""
        for name, claim in claims.items():
            lane = self.case.lanes[name]
            self._find(*self._rules.claim(self.case, lane, claim, world))

    @property
    def counts(self) -> bool:
        """Does the verdict on this end depend on the outcome of messages?"""
        return any(self._rules.counts(self.case, lane) for lane in self.case.lanes.values())

    def end(self, world: Plain) -> None:
        """No process leads the run any more, and no command is in transit."""
        if self.case.outcome is None and not self.case.is_paused:
            self._find(Broken(4, "the run has no named end"))
        self._find(*judge_world(self._rules, self.case, world), *judge_end(self._rules, self.case, world))
        if self.case.is_whole:
            self._find(*judge_heard(self.case))

    def _find(self, *broken: Broken) -> None:
        for one in broken:
            if one not in self.broken:
                self.broken.append(one)
