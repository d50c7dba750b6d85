"""The rules for a change that is on its way to a site, checked against the record and the world at that moment."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises import by_facets
from proof.promises.checks import fits_all
from proof.promises.durations import seconds
from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain, words
from proof.promises.on_reading import MAX_AGE_S
from proof.promises.passage import NEAR_S
from proof.promises.rules import Rules

# A command that is sent when less than this is left of the lease could take effect after the lease ends.
_LEASE_LEFT_S = 1.0


def judge_order(
    rules: Rules, case: Case, lane: LaneFacts, order: Plain, epoch: int, world: Plain | None
) -> Iterator[Broken]:
    """Every promise that this order breaks. ``epoch``: the highest epoch that any process was given."""
    intent = _intent_of(lane, order)
    yield from _powerless(order, epoch)
    yield from _by_the_skin(order)
    yield from _unrecorded(lane, order, intent)
    yield from _stands_on_what_is_old(case, lane, order, intent)
    if (
        case.is_whole
        and rules.gives_up(case, lane, order, world)
        and not (intent is not None and intent.event["undo"])
    ):
        yield from _gives_up_into_a_question(case, lane, order, intent)
    if order["action"] in rules.not_idempotent:
        yield from _again(lane, order, intent, world)
    if intent is None or not intent.event["undo"] or rules.meaning.is_exclusive:
        yield from by_facets.judge_order(rules.meaning, case, lane, order)
    yield from rules.order(case, lane, order, intent, world)
    if intent is not None:
        intent.orders += 1


def _intent_of(lane: LaneFacts, order: Plain) -> Intent | None:
    """The recorded intent that this order carries out: without an end, and with the same side, action and arguments."""
    for number in sorted(lane.intents, reverse=True):
        intent = lane.intents[number]
        said = intent.event
        same = (said["on"], said["action"], said["args"]) == (order["on"], order["action"], order["args"])
        if same and intent.effect is None:
            return intent
    return None


def _powerless(order: Plain, epoch: int) -> Iterator[Broken]:
    """Promise 5: only the process that holds the newest lease sends anything."""
    if order["epoch"] < epoch:
        yield Broken(5, f"{words(order)}, by a process of epoch {order['epoch']}, while {epoch} leads")


def _by_the_skin(order: Plain) -> Iterator[Broken]:
    """Promise 5: no command leaves after the end of the lease, or so late that its effect could come after that end. A
    process that no longer leads sends nothing."""
    if order.get("lease_left", _LEASE_LEFT_S) < _LEASE_LEFT_S:
        left = "no" if order["lease_left"] <= 0 else "hardly any"
        yield Broken(5, f"{words(order)}, with {left} time left of the lease")
    if order.get("is_away"):
        yield Broken(5, f"{words(order)}, while the journal cannot say who leads")
    if order.get("is_over"):
        yield Broken(5, f"{words(order)}, by a process that no longer leads")


def _gives_up_into_a_question(case: Case, lane: LaneFacts, order: Plain, intent: Intent | None) -> Iterator[Broken]:
    """Promise 16: in an unattended run, the source gives up its clients only if every question that will certainly come
    already has its answer."""
    if case.is_attended or intent is None:
        return
    policy, names = case.plan["policy"], list(case.steps)
    for step in [case.steps[name] for name in names[names.index(intent.event["step"]) :]]:
        ask, decide = step["ask"], step["decide"]
        if ask and not step["only_if"] and policy["on_gate"].get(ask["gate"]) not in ask["choices"]:
            yield Broken(16, f"{words(order)}, and no one can answer {ask['gate']} later")
        if decide and decide["gate"] not in policy["on_gate"]:
            yield from _undecided_items(lane, order, step, policy)


def _undecided_items(lane: LaneFacts, order: Plain, step: Plain, policy: Plain) -> Iterator[Broken]:
    """Promise 16, for the items that a later step will find."""
    each = step["for_each"]
    listed = lane.read(each["on"], each["reading"])
    if listed is None:
        yield Broken(16, f"{words(order)}, and what {step['id']} will ask about was not listed")
        return
    for item in listed["items"]:
        if fits_all(item, each["where"]) and item["xid"] not in policy["transactions"]:
            yield Broken(16, f"{words(order)}, and no one has decided on {item['xid']}, which is listed")


def _unrecorded(lane: LaneFacts, order: Plain, intent: Intent | None) -> Iterator[Broken]:
    """Promise 4: the intent is on disk before a device receives a command."""
    if intent is None:
        yield Broken(4, f"{words(order)}, and no intent is on disk that says so")
    elif lane.outcome is not None:
        yield Broken(4, f"{words(order)}, after the lane had ended {lane.outcome}")


def _stands_on_what_is_old(case: Case, lane: LaneFacts, order: Plain, intent: Intent | None) -> Iterator[Broken]:
    """Promise 15: the readings that a command depends on are recent when it leaves, however long it had to wait."""
    tried = case.passages[lane.service].last if case.is_whole and "now" in order else None
    if intent is None or tried is None or tried.number != intent.event["intent"] or tried.stands_on is None:
        return
    step = case.steps[intent.event["step"]]
    if order["now"] - tried.stands_on.asked > seconds(step.get("max_age"), MAX_AGE_S) + NEAR_S:
        yield Broken(15, f"{words(order)}, and its readings are too old now")


def _again(lane: LaneFacts, order: Plain, intent: Intent | None, world: Plain | None) -> Iterator[Broken]:
    """Promise 4: a command that cannot be undone is sent again only after a reading showed that it had no effect."""
    if intent is not None and intent.orders:
        yield Broken(4, f"{words(order)}, {intent.orders + 1} times for one intent")
    for earlier in lane.intents.values():
        said = earlier.event
        same = (said["on"], said["action"], said["args"]) == (order["on"], order["action"], order["args"])
        if earlier is intent or not same or not earlier.orders:
            continue
        if earlier.effect == "doubtful" and not earlier.is_disproved:
            yield Broken(4, f"{words(order)}, while attempt {said['intent']} is in doubt")
    key = [order["site"], order["action"], order["args"]]
    effects = () if world is None else world["services"][lane.service]["effects"]
    # The device refuses a second request for the same change, but it must not even receive one.
    if any(effect[:3] == key and effect[3] for effect in effects):
        yield Broken(4, f"{words(order)}, after it had taken effect")
