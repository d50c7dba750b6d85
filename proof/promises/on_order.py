"""What must hold when a change is on its way to a site: the record and the world at that very moment."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain, words
from proof.promises.rules import Rules


def judge_order(
    rules: Rules, case: Case, lane: LaneFacts, order: Plain, epoch: int, world: Plain | None
) -> Iterator[Broken]:
    """Every promise that this order breaks. ``epoch``: the highest one that any process was given."""
    intent = _intent_of(lane, order)
    yield from _powerless(order, epoch)
    yield from _unrecorded(lane, order, intent)
    if order["action"] in rules.not_idempotent:
        yield from _again(lane, order, intent, world)
    yield from rules.order(case, lane, order, intent, world)
    if intent is not None:
        intent.orders += 1


def _intent_of(lane: LaneFacts, order: Plain) -> Intent | None:
    """The recorded intent that this order carries out: not ended, and the same in every word."""
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


def _unrecorded(lane: LaneFacts, order: Plain, intent: Intent | None) -> Iterator[Broken]:
    """Promise 4: before a device hears anything, the intent is on disk."""
    if intent is None:
        yield Broken(4, f"{words(order)}, and no intent is on disk that says so")
    elif lane.outcome is not None:
        yield Broken(4, f"{words(order)}, after the lane had ended {lane.outcome}")


def _again(lane: LaneFacts, order: Plain, intent: Intent | None, world: Plain | None) -> Iterator[Broken]:
    """Promise 4: what cannot be taken back is sent again only once it is shown that it had no effect."""
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
    # Whoever asks twice for what was done once is refused by the device; but it must not be asked at all.
    if any(effect[:3] == key and effect[3] for effect in effects):
        yield Broken(4, f"{words(order)}, after it had taken effect")
