"""The verdicts about topics that only a regular expression covers.

60East does not document how AMPS compares an expression on one side with the other side's configuration. Here an
expression is compared with the other side's expressions. The same text, or an expression that certainly covers it,
passes. If the other side has no entry of the message type, the check fails. Every other case is undecided. SOW topics
and queues always have literal names, so for them only containers (``Pattern``) are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adapters.amps.config.model import Check, Place, ReplicatedTopic
from adapters.amps.config.patterns import Pattern
from validator.checks import Verdict
from validator.fabric.fabric import Fabric, Link
from validator.fabric.holdings import E, Selector


@dataclass(frozen=True, slots=True)
class Left:
    """A verdict about the part of ``entry`` that no known topic covers."""

    entry: ReplicatedTopic
    verdict: Verdict


def remainder(fabric: Fabric, link: Link) -> Iterator[Left]:
    """The verdicts about the topics that expressions of the link cover beyond the known topics."""
    carrier = fabric.holdings[link.source].carriers[link.destination]
    for message_type, entries in carrier.patterns.items():
        for entry, pattern in entries:
            if pattern.names is not None:
                continue
            scopes = _scopes(fabric, link, message_type, pattern)
            if scopes:
                question = _Question(fabric, link, entry, pattern, scopes)
                yield from (Left(entry, verdict) for verdict in question.verdicts())


def _scopes(fabric: Fabric, link: Link, message_type: str, pattern: Pattern) -> list[tuple[Pattern, ...]]:
    """The sets of unnamed topics to check. Each set is a tuple of expressions that all its topics match.

    With ``only_logged_topics``, a set has the topics that match the entry and an expression of the source's transaction
    log.
    """
    if not fabric.assumptions.only_logged_topics:
        return [(pattern,)]
    logged = fabric.holdings[link.source].log.patterns.get(message_type, ())
    open_ended = [each for _, each in logged if each.names is None]
    return [(pattern, each) for each in open_ended if pattern.overlaps(each) is not False]


class _Question:
    """One expression of one link."""

    def __init__(
        self,
        fabric: Fabric,
        link: Link,
        entry: ReplicatedTopic,
        pattern: Pattern,
        scopes: list[tuple[Pattern, ...]],
    ) -> None:
        self._fabric = fabric
        self._link = link
        self._entry = entry
        self._pattern = pattern
        self._scopes = scopes
        self._target = fabric.holdings[link.target]

    def verdicts(self) -> Iterator[Verdict]:
        yield from self._txlog()
        yield from self._replicate()
        yield from self._filters()
        yield from self._cascade()
        yield from self._containers()

    def _covered(self, patterns: Iterable[Pattern]) -> bool:
        """Does every scope have an expression that certainly covers it?"""
        candidates = list(patterns)
        return all(any(each.covers(part) for each in candidates for part in scope) for scope in self._scopes)

    def _txlog(self) -> Iterator[Verdict]:
        target = self._link.target
        patterns = [pattern for _, pattern in self._of_type(self._target.log)]
        if self._covered(patterns):
            return
        at = target.log.at if target.log else target.at
        if patterns:
            yield self._undecided(Check.TXLOG, f"is in the transaction log of {target.name}", at)
        else:
            message = (
                f"{target.name} logs no {self._entry.message_type} topics, "
                f"so it logs no topic that matches {self._text}"
            )
            yield Verdict(Check.TXLOG, message, at)

    def _replicate(self) -> Iterator[Verdict]:
        source, target = self._link.source, self._link.target
        ways = self._fabric.ways_back(self._link)
        patterns = [pattern for way in ways for _, pattern in self._of_type(self._target.carriers[way])]
        if self._covered(patterns):
            return
        at = ways[0].at if ways else target.at
        if patterns:
            yield self._undecided(Check.REPLICATE, f"is replicated back to {source.name}", at)
        else:
            message = f"{target.name} replicates no {self._entry.message_type} topics back to {source.name}"
            yield Verdict(Check.REPLICATE, message, at)

    def _filters(self) -> Iterator[Verdict]:
        """The way back of these topics must have the filter of this entry."""
        if not self._entry.filter:
            return
        for way in self._fabric.ways_back(self._link):
            for back, pattern in self._of_type(self._target.carriers[way]):
                if back.filter == self._entry.filter or pattern.names is not None:
                    continue
                if self._covered([pattern]):
                    message = (
                        f"{self._text} is filtered by «{self._entry.filter}», but by another filter on the way back"
                    )
                    yield Verdict(Check.REPLICATE_FILTER, message, back.at, culprit=way)
                    return
                if self._pattern.overlaps(pattern) is not False:
                    what = f"is replicated back by the filter «{self._entry.filter}»"
                    yield self._undecided(Check.REPLICATE_FILTER, what, back.at)
                    return

    def _cascade(self) -> Iterator[Verdict]:
        """Every onward entry of the target must enforce the checks that this entry enforces."""
        for destination, carrier in self._target.carriers.items():
            for onward, pattern in self._of_type(carrier):
                missing = onward.excluded - self._entry.excluded
                if not missing or pattern.names is not None or self._pattern.overlaps(pattern) is False:
                    continue
                names = ", ".join(sorted(missing))
                to = destination.label
                if self._covered([pattern]):
                    message = f"{self._link.target.name} replicates {self._text} to {to} without {names}"
                    yield Verdict(Check.CASCADE, message, onward.at, missing=missing, culprit=destination)
                else:
                    yield self._undecided(Check.CASCADE, f"is replicated to {to} with {names} enforced", onward.at)
                return

    def _containers(self) -> Iterator[Verdict]:
        """If the entry may carry topics of a SOW container of the source, the target needs one with the same keys."""
        source = self._fabric.holdings[self._link.source]
        theirs = self._target.containers.get(self._entry.message_type, [])
        for container, pattern in source.containers.get(self._entry.message_type, []):
            if pattern.names is not None or self._pattern.overlaps(pattern) is False:
                continue
            mates = [mate for mate, theirs_pattern in theirs if theirs_pattern.covers(pattern)]
            if not mates:
                what = f"is a SOW topic on {self._link.target.name} as those of {container.name} are"
                yield self._undecided(Check.SOW, what, self._link.target.at)
            elif all(mate.keys != container.keys for mate in mates):
                message = f"the topics of {container.name} have different keys on {self._link.target.name}"
                yield Verdict(Check.KEYS, message, mates[0].at)

    def _undecided(self, check: Check, what: str, at: Place) -> Verdict:
        message = f"every known topic of {self._text} is checked; it is unknown whether every other topic {what}"
        return Verdict(check, message, at, is_decided=False)

    def _of_type(self, selector: Selector[E]) -> Sequence[tuple[E, Pattern]]:
        return selector.patterns.get(self._entry.message_type, [])

    @property
    def _text(self) -> str:
        return f"«{self._pattern.text}»"
