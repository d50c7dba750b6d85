"""Builds the ``Meaning`` of a plug-in family for the judge of the promises, from the family's own readings."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from orchestrator.model.other_manager import OTHER_MANAGER, OtherManager, manager_in
from proof.promises.by_facets import Facets, Meaning
from proof.promises.facts import Plain


def meaning_of(family: Family) -> Meaning:
    """The meaning of a family for which the judge has no rules. Its facets come from the family's own code, because the
    judge has no independent copy of them."""
    serving = [model for model in family.readings.values() if Facet.SERVES in model.facets]

    def facets(reading: str, value: Plain) -> Facets:
        model = family.readings.get(reading)
        found = None if model is None else model.model_validate(value)
        return {} if found is None else {facet: found.facet(facet) for facet in Facet}

    def managers(reading: str, value: Plain) -> Mapping[str, str]:
        if reading == OTHER_MANAGER:
            return {one.name: one.state for one in OtherManager.model_validate(value).managers}
        model = family.readings.get(reading)
        if model is None or Facet.PILOT not in model.facets:
            return {}
        found = manager_in(model, model.model_validate(value))
        return {found.name: found.state}

    exclusive = any(model.exclusive for model in serving)
    return Meaning(facets, family.makes, managers=managers, is_exclusive=exclusive)
