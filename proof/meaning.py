"""What a family of a plug-in says of itself, as the judge of the promises takes it: its own readings are asked."""

from __future__ import annotations

from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from proof.promises.by_facets import Facets, Meaning
from proof.promises.facts import Plain


def meaning_of(family: Family) -> Meaning:
    """Of a family that the judge does not know: no one else can say its facets once more."""
    serving = [model for model in family.readings.values() if Facet.SERVES in model.facets]

    def facets(reading: str, value: Plain) -> Facets:
        model = family.readings.get(reading)
        found = None if model is None else model.model_validate(value)
        return {} if found is None else {facet: found.facet(facet) for facet in Facet}

    return Meaning(facets, family.makes, is_exclusive=any(model.exclusive for model in serving))
