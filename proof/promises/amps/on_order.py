"""AMPS: the rules for a change that is on its way to a site."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.amps.facts import LOSSLESS, MEANING, foreign_changes, instances, is_async, is_foreign, made_by
from proof.promises.by_facets import judge_drained
from proof.promises.checks import value_of
from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain, words

# By runbook: the gates that a person must have answered by name before anything is sent, each with its promise.
_ANSWERED = {
    "amps/uncontrolled": (("unfenced", 1),),
    "amps/uncontrolled-async": (("unfenced", 1), ("data-loss", 3)),
    "amps/proxied-transfer": (("proxied-transfer", 3),),
    "amps/restore-bootstrap": (("bootstrap", 9),),
}
_SHOWS_S = 2.5  # a command follows its reading within this many seconds


def judge_order(
    case: Case, lane: LaneFacts, order: Plain, intent: Intent | None, world: Plain | None
) -> Iterator[Broken]:
    """Every promise that this order breaks."""
    is_undo = intent is not None and intent.event["undo"]
    what = made_by(order["action"], order["args"])
    if not is_undo:
        yield from _unanswered(case, lane, order, world)
        yield from _unsafe_return(case, lane, order)
        yield from _stands_in_for_the_living(case, lane, order)
    if what == "open":
        yield from _lets_in(case, lane, order, world)
    gives_over = (order["on"], what) in (("target", "open"), ("target", "async"))
    if gives_over and not is_undo and case.runbook in LOSSLESS:
        yield from _too_early(case, lane, order, world, what)
        yield from _not_read_again(case, lane, order, intent)
    if what == "async" and case.runbook in LOSSLESS:
        yield from _owned_elsewhere(case, lane, order, world)


def _unanswered(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promises 1, 3 and 9: a person has answered by name for facts that no reading can prove, and for messages that are
    given up."""
    for gate, promise in _ANSWERED.get(case.runbook, ()):
        if not lane.accepted(gate):
            yield Broken(promise, f"{words(order)}, and no operator attested it ({gate})")
    if world is None:
        return
    both = instances(lane, world)
    if "restore" in case.runbook and is_async(both) and not lane.accepted("stale-tail"):
        yield Broken(9, f"{words(order)}, and no operator attested what it had not replicated")
    gives_up = is_async(both) and both[case.site("source")]["ahead"] > 0 and not lane.accepted("data-loss")
    if case.runbook == "amps/uncontrolled" and gives_up:
        yield Broken(3, f"{words(order)}, and messages at {case.site('source')} are given up silently")


def _stands_in_for_the_living(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 1: a run that takes over for a lost instance has read that this instance does not answer."""
    if case.runbook not in ("amps/uncontrolled", "amps/uncontrolled-async", "amps/proxied-transfer"):
        return
    seen = lane.read("source", "reachability")
    if not lane.waived and (seen is None or seen["answers"] is not False):
        yield Broken(1, f"{words(order)}, and {case.site('source')} was not read as lost")


def _lets_in(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promises 1 and 8: clients are let in only where they can do no harm."""
    site = order["site"]
    if "restore" in case.runbook and not lane.waived:
        shown = [lane.read(on, "links") for on in ("source", "target")]
        if not all(one is not None and _to_mate(one)["connected"] and _to_mate(one)["sync"] for one in shown):
            yield Broken(8, f"{words(order)}, and its links were not read as connected and sync")
    if world is None or lane.accepted("unfenced"):
        return
    both = instances(lane, world)
    other = next(name for name in both if name != site)
    if not both[other]["takes_clients"] or is_foreign(case, lane, world, other, "open"):
        return
    if is_async(both):
        yield Broken(1, f"{words(order)}, while {other} lets clients in, and the link is async")
    elif _is_known_to_be_cut(both, world) and any(_is_known_to_go_alone(case, lane, world, one) for one in both):
        yield Broken(1, f"{words(order)}, while {other} lets clients in, and nothing passes between them")


def _to_mate(links: Plain) -> Plain:
    """The link to the other site. If there is none, its values are unknown."""
    unknown = {"connected": None, "sync": None}
    return next((one for one in links["items"] if one["name"] == links["mate"]), unknown)


def _is_known_to_be_cut(both: Plain, world: Plain) -> bool:
    """Has a link been lost since before the sample that was read?"""
    return any(one["cut_since"] is not None and _is_told(one, one["cut_since"], world) for one in both.values())


def _is_told(instance: Plain, since: float, world: Plain) -> bool:
    """Could a reading of the instance before this order show a state that has held since the moment ``since``?"""
    sampled_at: float = instance["sampled_at"]
    return since < sampled_at - _SHOWS_S - float(world.get("lags", 0.0))


def _is_known_to_go_alone(case: Case, lane: LaneFacts, world: Plain, site: str) -> bool:
    """Has the site's link been async, so that publishers do not wait for the mate, since before the sample that was
    read?"""
    instance, changes = instances(lane, world)[site], world["services"][lane.service]["changes"]
    since = max((moment for moment, where, what, _ in changes if (where, what) == (site, "async")), default=0.0)
    return not instance["sync"] and _is_told(instance, since, world)


def _too_early(case: Case, lane: LaneFacts, order: Plain, world: Plain | None, what: str) -> Iterator[Broken]:
    """Promise 2: the target takes over only after a reading showed that it has everything, and it really has. The target
    also takes over when it stops waiting for its mate. No facet shows that."""
    if lane.escalated is not None:
        return
    if what == "async":
        yield from judge_drained(MEANING, case, lane, order)
    source = case.site("source")
    if world is None or foreign_changes(case, lane, world):
        return
    left = instances(lane, world)[source]["ahead"]
    if left:
        yield Broken(2, f"{words(order)}, with {left} messages only at {source}")


def _not_read_again(case: Case, lane: LaneFacts, order: Plain, intent: Intent | None) -> Iterator[Broken]:
    """Promise 15: the result of the wait is read again at the point of no return, regardless of its age."""
    if not case.is_whole or lane.escalated is not None or intent is None:
        return
    if not case.steps[intent.event["step"]]["point_of_no_return"]:
        return
    last = case.passages[lane.service].last
    values = {} if last is None or last.stands_on is None else last.stands_on.values
    links = values.get(("source", "links"))
    if links is None or value_of(links, "caught_up") is not True:
        yield Broken(15, f"{words(order)}, and that it has everything was not read again for it")


def gives_up(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> bool:
    """Does this order make the source shut its clients out?"""
    closes = made_by(order["action"], order["args"]) == "closed"
    return closes and order["on"] == "source" and case.runbook in LOSSLESS


def _owned_elsewhere(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promise 3: people are not told that the source may be stopped while it owns messages of a queue."""
    if lane.waived or lane.escalated is not None:
        return
    queues = lane.read("source", "queues")
    if queues is None or queues["items"] is None or any(one["owned"] != 0 for one in queues["items"]):
        yield Broken(3, f"{words(order)}, and {case.site('source')} was not read as owning no queue message")
    if world is None or foreign_changes(case, lane, world):
        return
    owned = instances(lane, world)[case.site("source")]["owned"]
    if owned:
        yield Broken(3, f"{words(order)}, with {owned} queue messages owned by {case.site('source')}")


def _unsafe_return(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 9: a fail-back goes only to an instance that was read as whole."""
    if not case.runbook.startswith("amps/failback") or lane.waived:
        return
    whole, holds = lane.read("target", "instance"), lane.read("target", "bootstrap")
    if whole is None or whole["recovered"] is not True:
        yield Broken(9, f"{words(order)}, and {case.site('target')} was not read as recovered")
    if holds is None or (holds["configured"] is not False and holds["empty"] is not False):
        yield Broken(9, f"{words(order)}, and {case.site('target')} was not read as having its messages")
