"""The ways of a family in a file to fence a failed site: which runbook a fence plan means, and what lint says of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.declared.family import family_of
from orchestrator.documents.lint.inventory import lint_adapters
from orchestrator.documents.loader import load_runbook, read_family, read_inventory
from orchestrator.family.moves import Given, Kind
from orchestrator.family.registry import Registry
from orchestrator.model.fences import known_fences
from orchestrator.model.inventory import Device, FenceOption, Site
from orchestrator.operations.declared_families import offer_families
from tests.families.declared_pairs import inventory_of
from tests.families.planted import copied, in_place

COMMAND, STOPPED, ATTEST = {"command": "cut"}, {"stopped": True}, {"attest": "pull the plug"}


@pytest.fixture(autouse=True)
def families() -> None:
    """Those that come with the program are known."""
    offer_families()


@pytest.mark.parametrize(
    ("kind", "plan", "given", "runbook"),
    [
        ("uncontrolled", [], {}, "uncontrolled"),
        ("uncontrolled", [STOPPED, COMMAND], {}, "uncontrolled-fenced"),
        ("uncontrolled", [COMMAND, STOPPED], {}, "uncontrolled-commanded"),
        ("uncontrolled", [ATTEST, STOPPED], {}, "uncontrolled"),
        ("uncontrolled", [STOPPED], {"--attest": "x"}, "uncontrolled"),
        ("uncontrolled", [COMMAND], {"--reason": "x"}, "uncontrolled"),
        ("restore", [STOPPED], {}, "restore"),
        ("restore", [STOPPED, COMMAND], {}, "restore-commanded"),
        ("restore", [COMMAND], {"--rebuild": ""}, "restore-rebuilt-commanded"),
        ("restore", [], {"--rebuild": ""}, "restore-rebuilt"),
        ("controlled", [STOPPED, COMMAND], {}, "controlled"),
    ],
)
def test_which_runbook_a_fence_plan_means(kind: Kind, plan: list[object], given: Given, runbook: str) -> None:
    """Law: the plan's first way counts, unless an operator answers for the fence; what a command closed, it opens."""
    path = Path(__file__).parents[2] / "runbooks/postgresql.yaml"
    family = family_of(read_family(path).result(), path.with_name("postgresql"))
    fence = tuple(FenceOption.model_validate(one) for one in plan)
    site = Site(adapter="postgresql", devices=(Device(name="ny", address="10.1.0.5"),), fence=fence)
    assert family.runbook_for(kind, site, given) == runbook


@pytest.mark.parametrize("name", ["postgresql/restore", "postgresql/restore-rebuilt", "redis/restore"])
def test_a_restore_that_opens_a_fence_is_the_other_one_besides(name: str) -> None:
    """Law: what is true of the runbook without a command stays true of the one with it."""
    commanded = load_runbook(f"{name}-commanded").steps
    assert [one.id for one in commanded if one.claim == "release"] == ["unfence-outside"]
    assert tuple(one for one in commanded if one.claim is None) == load_runbook(name).steps


def codes(path: Path) -> set[str]:
    """What lint finds at the sites of an inventory."""
    inventory = read_inventory(path).result()
    registry = Registry()
    return {one.code for one in lint_adapters(inventory, registry.declarations, registry.shared)}


@pytest.mark.parametrize(("family", "found"), [("postgresql", False), ("redis", True)])
def test_a_fence_of_another_family(tmp_path: Path, family: str, found: bool) -> None:
    """Law: a fence plan names what its own family can do; that another family can is of no help."""
    path = inventory_of(tmp_path, family, fence="[{stopped: true}]")
    assert ("fence-impossible" in codes(path)) is found


def test_two_families_with_one_word(tmp_path: Path) -> None:
    """Law: where two families call a fence the same, each site has its own family's."""
    path = copied(tmp_path, "redis")
    with path.open("a") as file:
        file.write("fences:\n  stopped: {does: close the gate, action: close, reading: server}\n")
    with in_place(path):
        assert known_fences("redis")["stopped"].action == "close"
        assert known_fences("postgresql")["stopped"].action == "follow_from_next_start"
