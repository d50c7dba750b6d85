"""Takes a reading from an adapter so that a failure is data, and makes the readings that no adapter has to offer.

``reachability`` is made here, from the reading that its family names for it (``Reading.reaches``). A site that does not
answer is a result too, and the first thing to know about a site that is said to be lost. ``other_manager`` is made from
all readings that show a manager beside this program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from orchestrator.errors import AdapterError
from orchestrator.family.contract import NOT_OFFERED, ReadingSpec
from orchestrator.model.facets import Facet
from orchestrator.model.other_manager import OTHER_MANAGER, OtherManager, manager_in, shows_only_a_manager, worst
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability, Role, known_reading

REACHABILITY = "reachability"
# The failures of a site that is gone. Every other failure came from a device that answered.
_SILENCE = frozenset({"Unreachable", "ConnectionLost", "CommandTimedOut"})


class Probed(Protocol):
    """The reading half of an adapter."""

    @property
    def readings(self) -> Mapping[str, ReadingSpec]: ...

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]: ...


def probe(site: Probed, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
    """One answer for each of ``services``, also if the request fails: then each answer is a failure."""
    if reading == REACHABILITY:
        source = _source_of(site.readings) or REACHABILITY
        return {service: _reach(found) for service, found in _ask(site, source, services).items()}
    if reading == OTHER_MANAGER and (shown := showing_managers(site.readings)):
        answers = {name: _ask(site, name, services) for name in shown}
        return {
            service: _managers({name: found[service] for name, found in answers.items()}, shown)
            for service in services
        }
    return _ask(site, reading, services)


def with_made_readings(readings: Mapping[str, ReadingSpec]) -> Mapping[str, ReadingSpec]:
    """The readings that a runbook may use with an adapter that declares ``readings``."""
    made = {}
    source = _source_of(readings)
    if source is not None:
        made[REACHABILITY] = ReadingSpec(
            REACHABILITY, "whether the site answers, and whether it serves", readings[source].commands
        )
    shown = showing_managers(readings)
    if shown:

        def lines(services: Sequence[str]) -> Sequence[str]:
            return [line for name in shown for line in readings[name].commands(services)]

        summary = "whether another manager may act at the site"
        made[OTHER_MANAGER] = ReadingSpec(OTHER_MANAGER, summary, lines, model=OtherManager)
    return {**readings, **made}


def showing_managers(readings: Mapping[str, ReadingSpec]) -> Mapping[str, type[Reading]]:
    """The readings that show a manager beside this program, each with its model."""
    models = {name: model_of(spec) for name, spec in readings.items()}
    return {name: model for name, model in models.items() if model is not None and Facet.PILOT in model.facets}


def _source_of(readings: Mapping[str, ReadingSpec]) -> str | None:
    """The reading that is declared for reachability; else one that reports which site serves, else the first one."""
    models = {name: model for name, spec in readings.items() if (model := model_of(spec)) is not None}
    reaching = [name for name, model in models.items() if model.reaches]
    serving = [name for name, model in models.items() if Facet.SERVES in model.facets and model.surveyed]
    return next(iter([*reaching, *serving, *models]), None)


def model_of(spec: ReadingSpec) -> type[Reading] | None:
    """The model of a reading that an adapter declares: the one it names, or that of an installed family."""
    return spec.model or known_reading(spec.name)


def _ask(site: Probed, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
    if reading not in site.readings:
        text = f"the adapter does not offer the reading {reading}"
        return dict.fromkeys(services, Failure(kind=NOT_OFFERED, text=text))
    try:
        answers = site.probe(reading, services)
    except AdapterError as error:
        return dict.fromkeys(services, Failure.of(error))
    return {service: answers.get(service) or _no_answer(service) for service in services}


def _managers(
    answers: Mapping[str, Reading | Failure], models: Mapping[str, type[Reading]]
) -> OtherManager | Failure:
    """The combined answer of all these readings.

    If a reading failed that shows more than a manager, the site itself was not read. Then the result is a failure, and
    the site is read again, unless another reading shows that a manager may act.
    """
    managers = tuple(manager_in(models[name], found) for name, found in answers.items())
    state = worst(managers)
    failed = (
        found
        for name, found in answers.items()
        if isinstance(found, Failure) and not shows_only_a_manager(models[name])
    )
    failure = None if state == "acts" else next(failed, None)
    return OtherManager(other_manager=state, managers=managers) if failure is None else failure


def _no_answer(service: str) -> Failure:
    return Failure(kind="UnreadableReply", text=f"the adapter gave no answer for {service}")


def _reach(found: Reading | Failure) -> Reachability:
    if isinstance(found, Failure):
        return Reachability(answers=found.kind not in _SILENCE, why=found.text)
    serves = found.flag(Facet.SERVES) if found.exclusive else None
    return Reachability(answers=True, role=None if serves is None else Role.ACTIVE if serves else Role.STANDBY)
