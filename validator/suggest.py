"""The smallest set of exclusions that lets an intended asymmetry pass, and the guarantees that it gives up.

A check that fails must be excluded where it fails. An instance that replicates to an instance that excludes a check
must then exclude ``cascade``. The same rule applies further upstream (60East, "cascade validation check"). ``cascade``
is preferred to the check itself, because it gives up no comparison of contents. The result is the least fixpoint of
these two rules. Mandatory checks are never suggested: a mandatory check that fails shows a fault, not an asymmetry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from adapters.amps.config.model import MANDATORY, Check, Destination, Instance, ReplicatedTopic, Topic
from orchestrator.errors import DefinitionError
from validator.checks import Case, verdicts
from validator.fabric.fabric import Fabric, Link
from validator.fabric.holdings import Carriage
from validator.fabric.remainder import remainder
from validator.fixes import paste, relaxed_entry
from validator.judge import gives_up
from validator.report import Suggestion

_SHOWN_MAX = 6

_Cases = dict[tuple[Link, Topic], str]  # the link and topic where a check fails, and the reason


def suggestions(fabric: Fabric) -> tuple[Suggestion, ...]:
    """The exclusions to add to the current configurations. Raises ``DefinitionError`` for an unknown instance."""
    intended = set(fabric.options.intended)
    for name in sorted(intended):
        if name not in fabric.directory.by_name:
            raise DefinitionError(f"the instance {name}, which is intended to be asymmetric, was not given")
    search = _Search(fabric)
    search.failing(link for link in fabric.links if not intended or _touches(link, intended))
    search.cascading(intended)
    return tuple(sorted(search.result(), key=lambda each: (each.source, each.destination, each.topic)))


def _touches(link: Link, names: set[str]) -> bool:
    return link.source.name in names or link.target.name in names


class _Search:
    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._added: dict[ReplicatedTopic, dict[Check, _Cases]] = defaultdict(dict)
        self._home: dict[ReplicatedTopic, tuple[Instance, Destination]] = {}
        self._changed: set[Instance] = set()

    def failing(self, links: Iterable[Link]) -> None:
        """Excludes every check that fails now, except ``cascade``, where it fails."""
        for link in links:
            for topic, carriage in self._fabric.traffic(link):
                for verdict in verdicts(Case(self._fabric, link, topic, carriage)):
                    if verdict.is_decided and verdict.check is not Check.CASCADE:
                        self._exclude(link, topic, carriage.entry, carriage.enforced, verdict.check, verdict.message)
            for left in remainder(self._fabric, link):
                if left.verdict.is_decided and left.verdict.check is not Check.CASCADE:
                    topic = Topic(left.entry.name or ".*", left.entry.message_type)
                    enforced = frozenset(Check) - left.entry.excluded
                    self._exclude(link, topic, left.entry, enforced, left.verdict.check, left.verdict.message)

    def cascading(self, intended: set[str]) -> None:
        """Excludes ``cascade`` upstream of every entry that enforces fewer checks, until nothing is left to exclude."""
        waiting = {each for each in self._fabric.instances if not intended or each.name in intended} | self._changed
        while waiting:
            instance = waiting.pop()
            for link in self._fabric.incoming[instance]:
                for topic, carriage in self._fabric.traffic(link):
                    if self._cascade(link, topic, carriage):
                        waiting.add(link.source)

    def _cascade(self, link: Link, topic: Topic, carriage: Carriage) -> bool:
        """Excludes ``cascade`` if the topic needs it on the link. True when the entry did not exclude it before."""
        if Check.CASCADE not in carriage.enforced:
            return False
        enforced = self._enforced(carriage) | {Check.CASCADE}
        back = self._fabric.ways_back(link)
        for relay in self._fabric.holdings[link.target].relays(topic).all:
            if relay.destination in back and not self._fabric.assumptions.cascade_counts_way_back:
                continue
            missing = enforced - self._enforced(relay)
            if missing:
                names = ", ".join(sorted(missing))
                reason = f"{link.target.name} replicates {topic.name} to {relay.destination.label} without {names}"
                return self._exclude(link, topic, carriage.entry, enforced, Check.CASCADE, reason)
        return False

    def _enforced(self, carriage: Carriage) -> frozenset[Check]:
        more = [self._added[entry].keys() for entry in carriage.entries if entry in self._added]
        return carriage.enforced.difference(*more) if more else carriage.enforced

    def _exclude(
        self,
        link: Link,
        topic: Topic,
        entry: ReplicatedTopic,
        enforced: frozenset[Check],
        check: Check,
        reason: str,
    ) -> bool:
        """Adds ``check`` to the exclusions of the entry. True when it was not added before."""
        if check in MANDATORY or check not in enforced:
            return False
        is_new = check not in self._added[entry]
        self._added[entry].setdefault(check, {}).setdefault((link, topic), reason)
        self._home[entry] = (link.source, link.destination)
        if is_new:
            self._changed.add(link.source)
        return is_new

    def result(self) -> Iterator[Suggestion]:
        for entry, added in self._added.items():
            if added:
                yield self._suggestion(entry, added)

    def _suggestion(self, entry: ReplicatedTopic, added: dict[Check, _Cases]) -> Suggestion:
        source, destination = self._home[entry]
        reasons = [reason for check in Check for reason in added.get(check, {}).values()]
        losses = [gives_up(check, link, topic.name) for check in Check for link, topic in added.get(check, {})]
        telling = added.keys() - {Check.CASCADE} or added.keys()  # cascade follows from the exclusions of others
        needed = {topic for check in telling for _, topic in added[check]}
        links = [link for link in self._fabric.outgoing[source] if link.destination is destination]
        carried = {topic for link in links for topic, how in self._fabric.traffic(link) if entry in how.entries}
        xml = relaxed_entry(entry, added)
        return Suggestion(
            source=source.name,
            destination=", ".join(link.target.name for link in links),
            topic=entry.name or ".*",
            message_type=entry.message_type,
            add=tuple(check.value for check in Check if check in added),
            because=_shown(reasons),
            gives_up=_shown(losses),
            also_relaxes=_shown(topic.name for topic in sorted(carried - needed)),
            fix=paste(source, f"Destination {destination.label}, in place of the entry", xml, entry.at),
        )


def _shown(sentences: Iterable[str]) -> tuple[str, ...]:
    """The first few distinct sentences, and the number of the others."""
    distinct = list(dict.fromkeys(sentences))
    if len(distinct) <= _SHOWN_MAX:
        return tuple(distinct)
    return (*distinct[:_SHOWN_MAX], f"and {len(distinct) - _SHOWN_MAX} more")
