"""Solace: the rules for a change that is on its way to a site."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain, words
from proof.promises.solace.facts import (
    COMMANDED,
    LOSSLESS,
    NOT_IDEMPOTENT,
    REPAIR_ACTIVE,
    REPAIR_STANDBY,
    has_foreign_hand,
    is_fenced,
    is_foreign,
)
from proof.promises.solace.on_site import is_closing, judge_door

_OPENING = frozenset({("set_backbone", "up"), ("set_external_fence", "open")})


def judge_order(
    case: Case, lane: LaneFacts, order: Plain, intent: Intent | None, world: Plain | None
) -> Iterator[Broken]:
    """Every promise that this order breaks."""
    if (order["action"], order["args"].get("state")) in _OPENING:
        yield from _fence_opened(case, lane, order, intent, world)
        yield from judge_door(case, lane, order, world)
    if order["action"] == "set_role" and order["args"]["role"] == "active":
        yield from _two_active(case, lane, order, world)
        yield from _too_early(case, lane, order, world)
        yield from _unrepaired(case, lane, order, world)
        yield from _not_fenced(case, lane, order)
        yield from _not_read_again(case, lane, order)
    if order["action"] in NOT_IDEMPOTENT:
        yield from _undecided(case, lane, order)
        yield from _too_soon(case, lane, order, world)
    yield from _unsafe_return(case, lane, order)
    yield from _left_unaccepted(case, lane, order)


def _two_active(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promise 1: the other site is standby, or no client can reach it, or a person answered by name for the missing
    fence."""
    if world is None or lane.accepted("unfenced"):
        return
    other = case.site("target" if order["on"] == "source" else "source")
    is_active = world["services"][lane.service]["roles"][other] == "active"
    if is_active and not is_fenced(world, other) and not is_foreign(case, lane, world, other):
        yield Broken(1, f"{words(order)}, while {other} is active")


def _not_fenced(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 8: if a command fences the lost site, the fence was read as closed, after that command and before this
    order."""
    if case.runbook != COMMANDED or order["on"] != "target":
        return
    seen = lane.read("source", "external_fence", after=lane.tried.get(("source", "set_external_fence"), 0))
    if seen is None or seen["closed"] is not True:
        yield Broken(8, f"{words(order)}, and nothing read since had shown {case.site('source')} as fenced")


def _too_early(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promise 2: a queue that was read as drained is really empty."""
    if case.runbook not in LOSSLESS or order["on"] != "target" or lane.escalated is not None:
        return
    yield from _still_queued(case, lane, order, world)


def _still_queued(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    if world is None or has_foreign_hand(case, lane, world, since=order.get("read")):
        return
    left = world["services"][lane.service]["queued"][case.site("source")]
    if left:
        yield Broken(2, f"{words(order)}, with {left} messages still queued at {case.site('source')}")


def _not_read_again(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 15: the result of the wait is read again at the point of no return, regardless of its age."""
    if not case.is_whole or order["on"] != "target" or lane.escalated is not None:
        return
    if case.runbook not in LOSSLESS and case.runbook != REPAIR_STANDBY:
        return
    queue = _read_for_it(case, lane, "source", "replication_queue")
    bridge = _read_for_it(case, lane, "target", "replication")
    # Two standby sites take nothing from publishers, so a repair needs no bridge.
    is_bound = case.runbook == REPAIR_STANDBY or bridge.get("bridge") == "bound"
    if queue.get("messages") != 0 or not is_bound:
        yield Broken(15, f"{words(order)}, and that nothing is queued was not read again for it")


def _read_for_it(case: Case, lane: LaneFacts, side: str, reading: str) -> Plain:
    """The value of a reading in the round on which the last intent was decided. Empty if the round does not contain
    it."""
    last = case.passages[lane.service].last
    return {} if last is None or last.stands_on is None else last.stands_on.values.get((side, reading)) or {}


def _unrepaired(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promise 2 of a repair: one of two standby sites is activated only if the other site's queue was read as empty and
    really was empty, unless an operator escalated. No publisher can reach that queue, so the bridge does not matter."""
    if case.runbook != REPAIR_STANDBY or lane.escalated is not None:
        return
    seen = lane.read("source", "replication_queue")
    if seen is None or seen.get("messages") != 0:
        yield Broken(2, f"{words(order)}, and the queue of {case.site('source')} was not read as empty")
    yield from _still_queued(case, lane, order, world)


def _left_unaccepted(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 3 of a repair: one of two active sites is made standby only after an operator accepted by name that
    messages stay there. Its mate must have been read as active."""
    if case.runbook != REPAIR_ACTIVE or order["action"] != "set_role":
        return
    if not lane.accepted("leave-behind"):
        yield Broken(3, f"{words(order)}, and no operator accepted what stays there")
    mate = "target" if order["on"] == "source" else "source"
    seen = _read_for_it(case, lane, mate, "replication") if case.is_whole else lane.read(mate, "replication")
    if seen is None or seen.get("role") != "active":
        yield Broken(3, f"{words(order)}, and its mate was not read as active")


def gives_up(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> bool:
    """Does this order make the source give up activity, so that no site serves until the target does?"""
    if (order["action"], order["on"], order["args"].get("role")) != ("set_role", "source", "standby"):
        return False
    is_beside = case.runbook.startswith(("solace/restore", "solace/guard", "solace/repair"))
    return not is_beside and world is not None and world["services"][lane.service]["roles"][order["site"]] == "active"


def noted(order: Plain, world: Plain | None) -> Plain:
    """For an order that shuts a door: was the door open before?"""
    if world is None or not is_closing(order["action"], order["args"]):
        return {}
    return {"found_open": not is_fenced(world, order["site"])}


def _undecided(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 7: only prepared transactions are completed, at the formerly active site, each with a recorded decision and
    its reason."""
    xid = order["args"]["xid"]
    ruling = lane.rulings.get(xid)
    if ruling is None or not ruling["reason"] or not ruling["by"]:
        yield Broken(7, f"{words(order)}, without a recorded decision and its reason")
        return
    completes = order["action"] == "complete_transaction"
    if completes and order["on"] != "source":
        yield Broken(7, f"{words(order)}, which is not the formerly active site")
    if completes and ruling["choice"] != order["args"]["outcome"]:
        yield Broken(7, f"{words(order)}, and {ruling['choice']} was decided")
    wanted = "prepared" if completes else "complete"
    listed = (lane.read(order["on"], "transactions") or {}).get("items", ())
    state = next((item["state"] for item in listed if item["xid"] == xid), "not listed")
    if state != wanted:
        yield Broken(7, f"{words(order)}, and it was last read as {state}")


def _too_soon(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promise 7: at the newly active site the transaction manager has its chance first. A person who activates a site
    during the run gives the manager another chance, for which the run cannot wait."""
    at_target = order["action"] == "delete_transaction" and order["on"] == "target"
    if world is None or has_foreign_hand(case, lane, world):
        return
    if at_target and world["services"][order["service"]].get("manager_due"):
        yield Broken(7, f"{words(order)}, before the transaction manager had its chance")


def _fence_opened(
    case: Case, lane: LaneFacts, order: Plain, intent: Intent | None, world: Plain | None
) -> Iterator[Broken]:
    """Promise 8: only two things let clients back in: a restore, once nothing is active there, and an undo of our own
    fence."""
    if intent is not None and intent.event["undo"]:
        # The run's own fence may never have been shut. Then it is as open as before.
        shut_before = case.begun is not None and not all(case.begun["sites"][order["site"]]["doors"])
        if shut_before and not any(one["action"] == order["action"] for one in lane.ordered):
            yield Broken(8, f"{words(order)}, and this run had not shut it")
        return
    if not case.runbook.startswith("solace/restore"):
        yield Broken(8, f"{words(order)}, and {case.runbook} is no restore")
    if world is None:
        return
    for name, service in world["services"].items():
        # A service that is not replicated has no mate, and serves wherever it is.
        active = service["replicated"] and service["roles"][order["site"]] == "active"
        if active and not (name in case.lanes and is_foreign(case, case.lanes[name], world, order["site"])):
            yield Broken(8, f"{words(order)}, while {name} is active there")


def _unsafe_return(case: Case, lane: LaneFacts, order: Plain) -> Iterator[Broken]:
    """Promise 9: a fail-back changes nothing until the return is shown to be safe, or the risk is accepted by name."""
    if case.runbook != "solace/failback" or lane.accepted("unsafe-return"):
        return
    sides = [lane.read(side, "endpoints") for side in ("source", "target")]
    if sides[0] is None or sides[1] is None:
        yield Broken(9, f"{words(order)}, and the endpoints of both sites had not been read")
        return
    risk = _risk(sides[0]["items"], sides[1]["items"], case.plan["outage"])
    if risk:
        yield Broken(9, f"{words(order)}, though {risk}")


def _risk(acting: list[Plain], returning: list[Plain], outage: Plain | None) -> str:
    """The reason why it is not safe to go back. Empty if it is safe. Written a second time, from the promise alone."""
    if outage is not None and outage["spool_lost"]:
        return "the returning site lost its spool"
    if outage is not None and outage["suspended"] is not False:
        return "replication may have been suspended"
    counts = {(one["endpoint"], one["name"]): one["messages"] for one in returning}
    for one in acting:
        younger = (
            outage is not None and one["oldest_at"] is not None and one["oldest_at"] > outage["at"] + outage["skew"]
        )
        equal = one["messages"] is not None and counts.get((one["endpoint"], one["name"])) == one["messages"]
        if one["messages"] != 0 and not younger and not equal:
            return f"{one['name']} holds messages from before the fail-over"
    return ""
