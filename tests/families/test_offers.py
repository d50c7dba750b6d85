"""A refusal names the families that offer what was asked for, by their own offers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adapters.declared.family import family_of
from orchestrator.documents.loader import read_family
from orchestrator.family.moves import Given
from orchestrator.family.offers import Offering, offering
from orchestrator.model.families import SHIPPED
from orchestrator.model.inventory import Site
from orchestrator.operations.families import not_offered

DEVICES = [{"name": "ny1", "address": "127.0.0.1", "port": 9}]


def suspends(family: Offering) -> bool:
    part = family.watch()
    return part is not None and bool(part.suspends)


@pytest.mark.parametrize(
    ("what", "offers", "hint"),
    [
        ("guard", lambda one: one.guard() is not None, "families that offer this: amps, solace"),
        ("--readings", lambda one: one.watch() is not None, "families that offer this: amps, solace"),
        ("--suspend-at", suspends, "families that offer this: solace"),
        ("tea", lambda one: False, "families that offer this: none"),
    ],
)
def test_the_hint_names_who_offers_it(what: str, offers: Callable[[Offering], bool], hint: str) -> None:
    """Law: no list of names is kept; who overrides the method offers it."""
    error = not_offered("ledger", what, offers)
    assert str(error) == f"the family ledger does not offer {what}"
    # Families in files are among them where a command has found their files.
    assert set(hint.split(": ")[1].split(", ")) <= set(
        error.hint.removeprefix("families that offer this: ").split(", ")
    )


@pytest.mark.parametrize("family", ["amps", "solace"])
def test_a_part_that_suspends_watches_the_active_site(family: str) -> None:
    """Law: what suspends replication does so at the one site that is watched; what does not says why."""
    part = offering(family).watch()
    assert part is not None
    assert bool(part.suspends) == bool(part.active_by)
    assert bool(part.suspends) != bool(part.no_suspension)


@pytest.mark.parametrize(
    ("given", "runbook"),
    [
        ({}, "uncontrolled-commanded"),
        ({"--attest": "power is off"}, "uncontrolled"),
        ({"--reason": "power is off"}, "uncontrolled"),
    ],
)
def test_who_answers_for_the_fence_needs_no_command(given: Given, runbook: str) -> None:
    """Law: the command of a fence plan may need the node that is dead, so it is not run where a person has answered."""
    family = family_of(read_family(SHIPPED / "rabbitmq.yaml").result(), SHIPPED / "rabbitmq")
    site = Site.model_validate(
        {"name": "ny", "adapter": "rabbitmq", "devices": DEVICES, "fence": [{"command": "limit"}]}
    )
    assert family.runbook_for("uncontrolled", site, given) == runbook
