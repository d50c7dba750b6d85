"""Management that lags behind: a site that shows everything as it was some seconds ago, as a cache does.

The site shows the oldest state of the last seconds that a reading could have seen. All readings of a site have one age,
so a later reading never shows an older state than an earlier one. This module must never invent a state.
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
    """The states that the lagging sites of one simulated run have shown. All processes share them. ``effects`` counts the
    readings that differ from the present state."""

    def __init__(self, lags: Sequence[Lag], clock: Clock, effects: Counter[str]) -> None:
        self._effects = effects
        self._seconds = {lag.site: lag.seconds for lag in lags}
        self._clock = clock
        self._kept: dict[tuple[str, str, str], list[tuple[float, Reading]]] = defaultdict(list)

    @property
    def most(self) -> float:
        """The largest lag of a site, in seconds."""
        return max(self._seconds.values(), default=0.0)

    def shown(self, site: str, reading: str, answers: Answers) -> Answers:
        """The readings that the site shows instead of ``answers``. A failure to answer shows at once."""
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
        """A change is about to be made at the site. The state until then stays visible for some time."""
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
                continue  # the site cannot be read, so nothing is kept

    def _keep(self, site: str, reading: str, answers: Answers) -> None:
        now, seconds = self._clock.now(), self._seconds[site]
        for service, answer in answers.items():
            if not isinstance(answer, Failure):
                kept = self._kept[site, reading, service]
                kept.append((now, answer))
                while kept[0][0] < now - seconds:
                    kept.pop(0)
