"""The ways in which a round of readings may be answered: truly, not at all, or with values left out. This module must
never know which step asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.model.events import Seen
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability
from orchestrator.model.runbook import Side
from proof.exploration.family import SIDE_NAMES, E, Family, P

# The moment of every reading, in seconds. The present time of a lane in canonical form is this moment.
NOW = 1_000_000_000.0

Ask = tuple[Side, str]
_SILENCE = Failure(kind="Unreachable", text="no answer")
_CLOSED = Failure(kind="AuthenticationFailed", text="the account is not accepted")


def rounds(family: Family[P, E], pair: P, asks: Sequence[Ask]) -> Iterator[tuple[str, tuple[Seen, ...]]]:
    """Every way in which one round of ``asks`` may be answered. The first one is the truth."""
    yield "", tuple(_seen(ask, *_truth(family, pair, ask)) for ask in asks)
    for name in dict.fromkeys(on for on, _ in asks):
        if not any(_is_had(family, pair, ask) for ask in asks if ask[0] == name):
            continue
        for what, failure in (("does not answer", _SILENCE), ("refuses the account", _CLOSED)):
            yield (
                f"the {name} {what}",
                tuple(
                    _seen(ask, *(_failed(ask, failure) if ask[0] == name else _truth(family, pair, ask)))
                    for ask in asks
                ),
            )
        if any(on == name and family.blank(reading) is not None for on, reading in asks):
            yield (
                f"the {name} leaves values out",
                tuple(_seen(ask, *(_left_out if ask[0] == name else _truth)(family, pair, ask)) for ask in asks),
            )


def _seen(ask: Ask, value: Reading | None, failure: Failure | None) -> Seen:
    return Seen.model_construct(on=ask[0], reading=ask[1], asked_at=NOW, value=value, failure=failure)


def _is_had(family: Family[P, E], pair: P, ask: Ask) -> bool:
    return family.reaches(pair, SIDE_NAMES.index(ask[0]), ask[1])


def _truth(family: Family[P, E], pair: P, ask: Ask) -> tuple[Reading | None, Failure | None]:
    if not _is_had(family, pair, ask):
        return _failed(ask, _SILENCE)
    return family.read(pair, SIDE_NAMES.index(ask[0]), ask[1]), None


def _failed(ask: Ask, failure: Failure) -> tuple[Reading | None, Failure | None]:
    if ask[1] == "reachability":
        return Reachability(answers=failure is not _SILENCE, why=failure.text), None
    return None, failure


def _left_out(family: Family[P, E], pair: P, ask: Ask) -> tuple[Reading | None, Failure | None]:
    blank = family.blank(ask[1]) if _is_had(family, pair, ask) else None
    return _truth(family, pair, ask) if blank is None else (blank, None)
