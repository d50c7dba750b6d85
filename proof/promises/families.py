"""Selects the rules for a run: those of its runbook's family. Any other family gets rules from its facets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proof.promises.amps import AMPS
from proof.promises.by_facets import Meaning
from proof.promises.facts import Broken
from proof.promises.rules import Rules
from proof.promises.solace import SOLACE

_FAMILIES: Mapping[str, Rules] = {"solace": SOLACE, "amps": AMPS}


def rules_of(runbook: str) -> Rules:
    """The rules of the family that a runbook is for. Raises ``KeyError`` for a family that the judge does not know."""
    return _FAMILIES[runbook.partition("/")[0]]


def rules_by_facets(meaning: Meaning) -> Rules:
    """The rules of any other family. Such a family has no simulated world, so only its record is judged."""
    return Rules(
        meaning=meaning,
        order=_nothing,
        record=_nothing,
        world=_nothing,
        end=_nothing,
        counts=lambda case, lane: False,
        lasting=_nothing,
        claim=_nothing,
        gives_up=lambda case, lane, order, world: order["on"] == "source" and meaning.serves(order) is False,
    )


def _nothing(*known: Any) -> Iterator[Broken]:
    del known
    yield from ()
