"""The judge of one run: fed event after event and order after order, it names every promise that is broken.

It believes no word of the engine where it is shown the world. It must never be read by anything that decides.
"""

from __future__ import annotations

import json

from proof.promises.facts import Broken, Case, Plain
from proof.promises.families import rules_of
from proof.promises.on_order import judge_order
from proof.promises.on_record import judge_record
from proof.promises.on_world import judge_end, judge_world


class Judge:
    """What was found is in ``broken``, in the order it was found; each sentence once."""

    def __init__(self, plan: Plain, world: Plain | None = None) -> None:
        self.case = Case.of(plan, world)
        self.broken: list[Broken] = []
        self._epoch = 1
        self._rules = rules_of(self.case.runbook)

    def lead(self, epoch: int, *, is_held: bool = False) -> None:
        """A process was given the lease under ``epoch``. ``is_held``: that of a living one had not run out."""
        if is_held:
            self._find(Broken(5, f"the lease was given under epoch {epoch}, and another process still had it"))
        if epoch <= self._epoch and self.case.seq > 1:
            self._find(Broken(5, f"the lease was given twice under epoch {epoch}"))
        self._epoch = max(self._epoch, epoch)

    def record(self, record: Plain, world: Plain | None = None, *, epoch: int | None = None) -> None:
        """An event is on disk: ``seq``, ``lane`` and ``event`` of it. ``epoch``: of the process that wrote it."""
        if epoch is not None and epoch < self._epoch:
            self._find(Broken(5, f"a process of epoch {epoch} wrote {record['event']['kind']}; {self._epoch} leads"))
        self._find(*judge_record(self._rules, self.case, record, world))
        self.case.take(record)

    def written(self, line: Plain, world: Plain | None = None, *, epoch: int | None = None) -> None:
        """The same of a line as the journal has it, its event still text; what is known already is let be."""
        if line["seq"] > self.case.seq:
            record = {"seq": line["seq"], "lane": line["lane"], "event": json.loads(line["event"])}
            self.record(record, world, epoch=epoch)

    def previewed(self, before: Plain, after: Plain) -> None:
        """A dry run went from one to the other."""
        for name, service in after["services"].items():
            if service["received"] != before["services"][name]["received"]:
                self._find(Broken(6, f"{name}: the dry run sent {service['received'][-1]}"))

    def look(self, world: Plain) -> None:
        """What is true of the world now."""
        self._find(*judge_world(self._rules, self.case, world))

    def order(self, order: Plain, world: Plain | None = None) -> None:
        """A change is about to reach a site. ``moment`` is its world time, if there is a world."""
        lane = self.case.lanes.get(order["service"])
        if lane is None:
            self._find(Broken(4, f"{order['service']}: it is not of this run, and is told {order['action']}"))
            return
        self._find(*judge_order(self._rules, self.case, lane, order, self._epoch, world))
        lane.ordered.append(order)

    @property
    def counts(self) -> bool:
        """Does the verdict on this end depend on what became of messages?"""
        return any(self._rules.counts(self.case, lane) for lane in self.case.lanes.values())

    def end(self, world: Plain) -> None:
        """Nobody leads the run any more, and nothing is on its way."""
        if self.case.outcome is None and not self.case.is_paused:
            self._find(Broken(4, "the run has no named end"))
        self._find(*judge_world(self._rules, self.case, world), *judge_end(self._rules, self.case, world))

    def _find(self, *broken: Broken) -> None:
        for one in broken:
            if one not in self.broken:
                self.broken.append(one)
