"""The nine checks that AMPS makes on a link, for one topic at a time.

Each check is one pure function from a case to None (it passes) or to a verdict. Source of every condition: 60East,
"Replication Configuration Validation". Its "this instance" is ``case.source`` here; its "downstream instance" is
``case.target``. These functions ignore whether a check is excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adapters.amps.config.model import Check, Destination, Place, Queue, Topic
from adapters.amps.config.settings import Assumptions
from validator.fabric.fabric import Fabric, Link
from validator.fabric.holdings import Carriage, Holdings


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check that fails, or (``is_decided`` false) cannot be decided. ``at_target``: the place in the target's file."""

    check: Check
    message: str
    at_target: Place
    is_decided: bool = True
    missing: frozenset[Check] = frozenset()
    culprit: Destination | None = None


class Case:
    """One topic on one link, with the data that the checks need."""

    __slots__ = ("back", "carriage", "fabric", "link", "relays", "source", "target", "topic")

    def __init__(self, fabric: Fabric, link: Link, topic: Topic, carriage: Carriage) -> None:
        self.fabric = fabric
        self.link = link
        self.topic = topic
        self.carriage = carriage
        self.source: Holdings = fabric.holdings[link.source]
        self.target: Holdings = fabric.holdings[link.target]
        self.relays = self.target.relays(topic)
        ways = (self.target.carriage(way, topic) for way in fabric.ways_back(link))
        self.back = tuple(way for way in ways if way is not None)

    @property
    def assumptions(self) -> Assumptions:
        return self.fabric.assumptions

    @property
    def names(self) -> tuple[str, str, str]:
        """The topic, this instance and the downstream instance, by name."""
        return self.topic.name, self.link.source.name, self.link.target.name

    def passes_through(self, destination: Destination, group: str) -> bool | None:
        """Does ``destination`` of the downstream instance forward messages from ``group``? None: unknown."""
        return passes(self.fabric, destination, group)


def passes(fabric: Fabric, destination: Destination, group: str) -> bool | None:
    """Does ``PassThrough`` of ``destination`` let messages from ``group`` through? None: unknown."""
    if destination.passthrough is None:
        return False
    pattern = fabric.book.pattern(destination.passthrough)
    if pattern.is_universal:
        return True
    if fabric.assumptions.passthrough_match == "search" and not pattern.is_regex:
        return pattern.text in group
    if fabric.assumptions.passthrough_match == "search":
        return fabric.book.matches(pattern, group)
    if not pattern.is_regex:
        return pattern.text == group
    return None if pattern.regex is None else pattern.regex.fullmatch(group)


def txlog(case: Case) -> Verdict | None:
    """The topic is contained in the transaction log of the downstream instance."""
    logged = case.target.logged(case.topic)
    if logged:
        return None
    topic, _, target = case.names
    at = case.link.target.log.at if case.link.target.log else case.link.target.at
    if logged is None:
        message = (
            f"it is unknown whether {topic} is in the transaction log of {target}, "
            "because an expression cannot be read"
        )
        return Verdict(Check.TXLOG, message, at, is_decided=False)
    return Verdict(Check.TXLOG, f"{topic} is not in the transaction log of {target}", at)


def replicate(case: Case) -> Verdict | None:
    """The topic is replicated from the downstream instance back to this instance."""
    if case.back:
        return None
    topic, source, target = case.names
    ways = case.fabric.ways_back(case.link)
    at = ways[0].at if ways else case.link.target.at
    if any(case.target.carriers[way].is_uncertain(case.topic) for way in ways):
        message = (
            f"it is unknown whether {target} replicates {topic} back to {source}, "
            "because an expression cannot be read"
        )
        return Verdict(Check.REPLICATE, message, at, is_decided=False)
    why = "" if ways else f", because it has no destination that leads to {source}"
    return Verdict(Check.REPLICATE, f"{target} does not replicate {topic} back to {source}{why}", at)


def sow(case: Case) -> Verdict | None:
    """If the topic is a SOW topic in this instance, it must also be a SOW topic in the downstream instance."""
    if case.source.sow(case.topic) is None or case.target.sow(case.topic) is not None:
        return None
    topic, source, target = case.names
    return Verdict(Check.SOW, f"{topic} is a SOW topic on {source} but not on {target}", case.link.target.at)


def keys(case: Case) -> Verdict | None:
    """… and the SOW in the downstream instance must use the same Key definitions."""
    here = case.source.sow(case.topic)
    if here is None:
        return None
    topic, source, target = case.names
    there = case.target.sow(case.topic)
    if there is None:
        message = f"{topic} has keys on {source} but is not a SOW topic on {target}"
        return Verdict(Check.KEYS, message, case.link.target.at)
    if here.keys == there.keys:
        return None
    if not case.assumptions.key_order_matters and sorted(here.keys) == sorted(there.keys):
        return None
    message = f"{topic} has the keys {_listed(here.keys)} on {source} but {_listed(there.keys)} on {target}"
    return Verdict(Check.KEYS, message, there.at)


def queue(case: Case) -> Verdict | None:
    """If the topic is a queue in this instance, it must also be a queue in the downstream instance."""
    here = case.source.queue(case.topic)
    if here is None:
        return None
    topic, source, target = case.names
    there = case.target.queue(case.topic)
    if there is None:
        local = case.target.local_queue(case.topic)
        what = "is a LocalQueue, which is not replicated, on" if local else "is not a queue on"
        message = f"{topic} is a {here.kind} on {source} but {what} {target}"
        return Verdict(Check.QUEUE, message, local.at if local else case.link.target.at)
    if case.assumptions.queue_needs_same_kind and here.kind != there.kind:
        return Verdict(Check.QUEUE, f"{topic} is a {here.kind} on {source} but a {there.kind} on {target}", there.at)
    return None


def queue_underlying(case: Case) -> Verdict | None:
    """A queue must use the same underlying topic definition and filters in the downstream instance."""
    here = case.source.queue(case.topic)
    if here is None:
        return None
    topic, source, target = case.names
    there = case.target.queue(case.topic)
    if there is None:
        if not case.assumptions.queue_underlying_needs_queue:
            return None
        message = f"the queue {topic} of {source} has no counterpart with the same underlying topic on {target}"
        return Verdict(Check.QUEUE_UNDERLYING, message, case.link.target.at)
    if (here.underlying, here.filter) == (there.underlying, there.filter):
        return None
    message = f"the queue {topic} is based on {_basis(here)} on {source} but on {_basis(there)} on {target}"
    return Verdict(Check.QUEUE_UNDERLYING, message, there.at)


def queue_passthrough(case: Case) -> Verdict | None:
    """If the topic is a queue in this instance, the downstream instance must pass it through from this group."""
    if case.source.queue(case.topic) is None:
        return None
    topic, _, target = case.names
    group = case.link.source.group
    undecided: Verdict | None = None
    for relay in case.relays.by_passthrough.values():
        passed = case.passes_through(relay.destination, group)
        if passed:
            continue
        to, at = relay.destination.label, relay.destination.passthrough_at or relay.destination.at
        if passed is False:
            message = f"{target} does not pass the queue {topic} from group {group} through to {to}"
            return Verdict(Check.QUEUE_PASSTHROUGH, message, at, culprit=relay.destination)
        message = f"it is unknown whether {target} passes the queue {topic} from group {group} through to {to}"
        undecided = Verdict(Check.QUEUE_PASSTHROUGH, message, at, is_decided=False, culprit=relay.destination)
    return undecided


def replicate_filter(case: Case) -> Verdict | None:
    """If the topic uses a replication filter, the way back must use the same one."""
    here = case.carriage.filters
    if here == {""} or not case.back:
        return None
    topic, source, target = case.names
    for relay in case.back:
        if relay.filters == here and len(here) == 1:
            continue
        at = relay.entry.at
        if len(here) > 1 or len(relay.filters) > 1:
            message = f"several Topic entries with different filters match {topic}; how AMPS combines them is unknown"
            return Verdict(Check.REPLICATE_FILTER, message, at, is_decided=False, culprit=relay.destination)
        message = (
            f"{source} filters {topic} by {_filter(here)}, "
            f"but {target} replicates it back with {_filter(relay.filters)}"
        )
        return Verdict(Check.REPLICATE_FILTER, message, at, culprit=relay.destination)
    return None


def cascade(case: Case) -> Verdict | None:
    """The downstream instance enforces, where it replicates the topic, every check that this instance enforces."""
    enforced = case.carriage.enforced
    topic, source, target = case.names
    if enforced <= case.relays.enforced:
        return None
    for relay in case.relays.all:
        if enforced <= relay.enforced:
            continue
        if not case.assumptions.cascade_counts_way_back and relay in case.back:
            continue
        missing = enforced - relay.enforced
        names = ", ".join(sorted(missing))
        message = f"{target} replicates {topic} to {relay.destination.label} without {names}, which {source} enforces"
        at = next((entry.at for entry in relay.entries if entry.excluded & missing), relay.entry.at)
        return Verdict(Check.CASCADE, message, at, missing=missing, culprit=relay.destination)
    return None


CHECKS: Mapping[Check, Callable[[Case], Verdict | None]] = {
    Check.TXLOG: txlog,
    Check.REPLICATE: replicate,
    Check.SOW: sow,
    Check.CASCADE: cascade,
    Check.QUEUE: queue,
    Check.KEYS: keys,
    Check.REPLICATE_FILTER: replicate_filter,
    Check.QUEUE_PASSTHROUGH: queue_passthrough,
    Check.QUEUE_UNDERLYING: queue_underlying,
}


def verdicts(case: Case) -> list[Verdict]:
    """The verdict of every check that does not pass, including excluded checks."""
    found = (check(case) for check in CHECKS.values())
    return [verdict for verdict in found if verdict is not None]


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(values) if values else "none"


def _filter(filters: frozenset[str]) -> str:
    text = next(iter(filters))
    return f"«{text}»" if text else "no filter"


def _basis(queue: Queue) -> str:
    return f"{queue.underlying} filtered by «{queue.filter}»" if queue.filter else f"{queue.underlying} unfiltered"
