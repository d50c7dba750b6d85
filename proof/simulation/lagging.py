"""Management that lags behind: a site that shows everything as it was some seconds ago, as a cache does.

What is shown is the oldest state of the last seconds that anybody could have checked. All readings of a site are of
one age, so that what is read later is never older than what was read before it. Must never make up a state.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from orchestrator.clock import Clock
from orchestrator.errors import AdapterError
from orchestrator.family.contract import Adapter
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from proof.simulation.effects import shown_older
from proof.simulation.story import Lag

Answers = Mapping[str, Reading | Failure]


class Lagging:
    """What the sites of one simulated run have shown, as far as some of them lag. Used by all processes together;
    ``effects`` counts the readings that were another than they would have been."""

    def __init__(self, lags: Sequence[Lag], clock: Clock, effects: Counter[str]) -> None:
        self._effects = effects
        self._seconds = {lag.site: lag.seconds for lag in lags}
        self._clock = clock
        self._kept: dict[tuple[str, str, str], list[tuple[float, Reading]]] = defaultdict(list)

    @property
    def most(self) -> float:
        """By how many seconds anything lags."""
        return max(self._seconds.values(), default=0.0)

    def shown(self, site: str, reading: str, answers: Answers) -> Answers:
        """What the site shows instead of ``answers``. That it does not answer is true at once."""
        if site not in self._seconds:
            return answers
        self._keep(site, reading, answers)
        seen = {
            service: answer if isinstance(answer, Failure) else self._kept[site, reading, service][0][1]
            for service, answer in answers.items()
        }
        older = sum(one is not answers[service] and one != answers[service] for service, one in seen.items())
        if older:
            self._effects[shown_older(reading)] += older
        return seen

    def before_change(self, site: str, adapter: Adapter) -> None:
        """Something is about to be changed at the site: what was true until then stays to be seen for a while."""
        if site not in self._seconds:
            return
        known: dict[str, list[str]] = defaultdict(list)
        for where, reading, service in self._kept:
            if where == site:
                known[reading].append(service)
        for reading, services in known.items():
            try:
                self._keep(site, reading, adapter.probe(reading, services))
            except AdapterError:
                continue  # no one can look, so nothing is kept

    def _keep(self, site: str, reading: str, answers: Answers) -> None:
        now, seconds = self._clock.now(), self._seconds[site]
        for service, answer in answers.items():
            if not isinstance(answer, Failure):
                kept = self._kept[site, reading, service]
                kept.append((now, answer))
                while kept[0][0] < now - seconds:
                    kept.pop(0)
