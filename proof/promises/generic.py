"""The promises for a family declared in a file, checked against its pair's world: serving sites, waiting and lost units.

``by_facets`` gives the meaning of the family's readings and actions. The true state comes from the world alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from proof.promises.by_facets import Meaning
from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain, changes_since, words
from proof.promises.rules import Rules

_NEAR, _NEAR_S = 1e-6, 0.01
_FENCE, _MANAGER_GATE = "set_external_fence", "other-manager"
# Ends after which nothing may be lost. After an escalation, no more than the reported number may be lost.
_COUNTED = ("done", "reverted", "refused", "escalated")


def rules_by_world(meaning: Meaning, whole_site: Iterable[str]) -> Rules:
    """``whole_site``: the actions that are done once for all services of a site."""
    one = _ByWorld(meaning)
    return Rules(
        meaning=meaning,
        order=one.order,
        record=one.record,
        world=one.world,
        end=one.end,
        counts=one.counts,
        lasting=_nothing,
        claim=one.claim,
        gives_up=one.gives_up,
        shared=frozenset({*whole_site, _FENCE}),
        outside=frozenset({_FENCE}),
    )


def _nothing(*known: Any) -> Iterator[Broken]:
    del known
    yield from ()


def _serving(lane: LaneFacts, world: Plain) -> Plain:
    found: Plain = world["services"][lane.service]["serving"]
    return found


def _foreign(case: Case, lane: LaneFacts, world: Plain, *, since: float | None = None) -> list[Sequence[Any]]:
    """The changes by another operator, or by a start of a node, that made a site serve or stop serving. Changes by our
    commands are not included. They happened since the run started, or since the moment ``since``."""
    changes = [one for one in changes_since(case, lane, world) if one[3] != "command"]
    return [one for one in changes if since is None or one[0] >= since]


def _is_foreign(case: Case, lane: LaneFacts, world: Plain, site: str) -> bool:
    """Did something other than our commands last change whether the site serves?"""
    last = [one for one in changes_since(case, lane, world) if one[1] == site][-1:]
    return bool(last) and last[0][3] != "command"


def _showed_link(order: Plain, service: Plain, world: Plain) -> bool:
    """Has the link held since before the first reading that the order depends on, including the delay of readings?"""
    since, read = service["linked_since"], order.get("read")
    return since is not None and read is not None and bool(since + world.get("lags", 0.0) <= read)


@dataclass(frozen=True, slots=True)
class _ByWorld:
    meaning: Meaning

    def _is_counted(self, case: Case) -> bool:
        return self.meaning.is_lossless(case)

    def order(
        self, case: Case, lane: LaneFacts, order: Plain, intent: Intent | None, world: Plain | None
    ) -> Iterator[Broken]:
        """A change is on its way to a site."""
        if world is None or self.meaning.serves(order) is None:
            return
        yield from self._managed(case, lane, order, world)
        if self.meaning.serves(order) is not True:
            return
        other = case.site("target" if order["on"] == "source" else "source")
        service = world["services"][lane.service]
        is_foreign = _is_foreign(case, lane, world, other)
        if self.meaning.is_exclusive and service["takes"][other] and not is_foreign:
            if not lane.accepted("unfenced"):
                yield Broken(1, f"{words(order)}, while {other} serves clients")
            elif order["on"] == "target" and not self._is_counted(case) and _showed_link(order, service, world):
                yield Broken(1, f"{words(order)}, which could see by its link that {other} is alive")
        if order["on"] != "target" or not self._is_counted(case) or lane.escalated is not None:
            return
        left = service["waiting"][case.site("source")]
        if left and not _foreign(case, lane, world, since=order.get("read")):
            yield Broken(2, f"{words(order)}, with {left} units still waiting at {case.site('source')}")

    def _managed(self, case: Case, lane: LaneFacts, order: Plain, world: Plain) -> Iterator[Broken]:
        """Promise 5: no change at a site where another manager may act since before the run, or where its reading does
        not tell, unless a person accepted that. A reading that shows ``none`` or ``unasked`` for that manager excuses the
        change. A missing reading does not. The ``guard`` runbooks ask no person, because they close a site that serves
        beside its mate."""
        site, kind = case.site(order["on"]), case.runbook.partition("/")[2]
        began = {} if case.begun is None else case.begun["sites"][site]["managers"]
        now = world["sites"][site]["managers"]
        managers = [name for name in began if {began[name], now[name]} <= {"acts", "unknown"}]
        if not managers or kind.startswith("guard") or lane.accepted(_MANAGER_GATE):
            return
        said = [
            self.meaning.managers(reading, seen["value"])
            for (on, reading), (_, seen) in lane.seen.items()
            if on == order["on"] and seen.get("value") is not None
        ]
        for name in managers:
            if not any(one.get(name) in ("none", "unasked") for one in said):
                yield Broken(5, f"{words(order)}, while {name} may act at {site}, and no person accepted that")

    def record(self, case: Case, lane: LaneFacts, event: Plain, world: Plain | None) -> Iterator[Broken]:
        """A step that counts as done or rolled back is really so: it was read, and the world agrees."""
        if world is None or event.get("step") in lane.waived:
            return
        is_undo = event["kind"] == "undo.done"
        if event["kind"] != "step.done" and not (is_undo and not event["skipped"]):
            return
        step = case.steps[event["step"]]
        task = step["undo"] if is_undo else step
        do = task.get("do")
        wanted = None if do is None else self.meaning.serves({"action": do["action"], "args": do["args"]})
        if do is None or wanted is None or not task.get("expect"):
            return
        site = case.site(do["on"])
        # A shut gate may still serve the sessions that were open before.
        is_serving = _serving(lane, world)[site] if wanted else world["services"][lane.service]["takes"][site]
        if is_serving is not wanted and not _is_foreign(case, lane, world, site):
            is_so = "does not serve" if wanted else "serves clients"
            yield Broken(1, f"{lane.service}: {event['step']} is done, and {site} {is_so}")

    def world(self, case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
        """Promise 1: no command of ours starts an interval in which both sites serve."""
        if lane.accepted("unfenced") or not self.meaning.is_exclusive:
            return
        begun = case.begun["moment"] if case.begun is not None else 0.0
        for start, _ in service["both_active"]:
            ours = [
                site
                for moment, site, what, by in changes_since(case, lane, world)
                if what == "active" and by == "command" and abs(moment - start) < _NEAR
            ]
            for site in ours if start >= begun else ():
                other = next(one for one in service["serving"] if one != site)
                if not _is_foreign(case, lane, world, other):
                    yield Broken(1, f"{lane.service}: making {site} serve made two active sites")

    def end(self, case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
        """Promises 3 and 4, once no process leads the run any more and everything in transit has arrived."""
        if _foreign(case, lane, world):
            return
        yield from self._where_service_is(case, lane, world)
        yield from self._changed_nothing(case, lane, service)
        yield from self._lost(case, lane, service)

    def _where_service_is(self, case: Case, lane: LaneFacts, world: Plain) -> Iterator[Broken]:
        """The name of an end determines which site serves, unless a step was waived, or the site is lost or fenced."""
        kind = case.runbook.partition("/")[2]
        if lane.waived or not (self._is_counted(case) or kind.startswith("uncontrolled")):
            return
        source, target = case.site("source"), case.site("target")
        before = {} if case.begun is None else _serving(lane, case.begun)
        is_known = self._is_counted(case) and world["sites"][source]["serves"]
        moved = {target: True, source: False} if is_known else {target: True}
        wanted = {"done": moved, "escalated": moved, "reverted": before}.get(lane.outcome or "", {})
        for site, serves in wanted.items():
            if _serving(lane, world)[site] is not serves:
                yield Broken(
                    4, f"{lane.service}: ended {lane.outcome}, and {site} {'does not serve' if serves else 'serves'}"
                )

    def _changed_nothing(self, case: Case, lane: LaneFacts, service: Plain) -> Iterator[Broken]:
        """Refused means that nothing was changed."""
        if lane.outcome != "refused" or case.begun is None:
            return
        before = len(case.begun["services"][lane.service]["received"])
        for site, action, *_ in service.get("received", [])[before:]:
            yield Broken(4, f"{lane.service}: refused, and {action} took effect at {site}")

    def counts(self, case: Case, lane: LaneFacts) -> bool:
        """Does the run promise no loss, or a limit on the loss? Only then the outcome of the units matters."""
        return self._is_counted(case) and lane.outcome in _COUNTED

    def _lost(self, case: Case, lane: LaneFacts, service: Plain) -> Iterator[Broken]:
        """Promise 3: nothing is lost if the run is done, reverted or refused. After an escalation, no more than was
        reported."""
        if not self.counts(case, lane) or case.begun is None or lane.waived or "lost" not in service:
            return
        new = service["lost"] - case.begun["services"][lane.service]["lost"]
        at_risk = None if lane.escalated is None else lane.escalated["at_risk"]
        if new > 0 and lane.outcome in ("done", "reverted", "refused"):
            yield Broken(3, f"{lane.service}: {lane.outcome}, and {new} units were lost")
        if lane.outcome == "escalated" and at_risk is not None and new > at_risk:
            yield Broken(3, f"{lane.service}: {at_risk} units were said to be at risk, and {new} were lost")

    def claim(self, case: Case, lane: LaneFacts, claim: Plain, world: Plain) -> Iterator[Broken]:
        """Promise 17: the report says only what is true, unless something else changed the service."""
        if _foreign(case, lane, world) or world.get("lags"):
            return
        for site, role in claim["roles"].items():
            serves = _serving(lane, world)[site]
            if role in ("active", "standby") and (role == "active") is not serves:
                yield Broken(17, f"{lane.service}: the report says that {site} is {role}, and it is not")
        said = claim["outage_seconds"]
        if said is not None and case.begun is not None and _dark_s(case, lane, world) > said + _NEAR_S:
            yield Broken(17, f"{lane.service}: the report says that no site was active for less than it was")

    def gives_up(self, case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> bool:
        """Does this order make the source give up its clients?"""
        is_serving = world is None or _serving(lane, world)[case.site("source")]
        return order["on"] == "source" and self.meaning.serves(order) is False and bool(is_serving)


def _dark_s(case: Case, lane: LaneFacts, world: Plain) -> float:
    """The number of seconds in which no site was active, from the start of the run to the last change."""
    assert case.begun is not None  # the caller checks this
    serving = dict(_serving(lane, case.begun))
    at, dark = float(case.begun["moment"]), 0.0
    for moment, site, what, _ in world["services"][lane.service]["changes"]:
        if moment < at:
            continue
        if True not in serving.values():
            dark += moment - at
        at, serving[site] = moment, what == "active"
    return dark
