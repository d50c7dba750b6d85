"""`failover simulate` of families in files: the shipped ones keep every promise, and a planted mistake is found."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import orchestrator.family.reachability
import orchestrator.model.other_manager
from orchestrator.cli.simulated.simulate import kinds_named
from orchestrator.documents.generic_runbooks import KINDS
from orchestrator.errors import DefinitionError
from orchestrator.operations.declared_families import offer_families
from proof.simulation.draw import draw
from proof.simulation.families import kinds_of
from proof.simulation.many import Figures, play_seeds
from proof.simulation.night import play
from proof.simulation.stores import Stores
from proof.simulation.story import Story
from tests.families.planted import (
    Steps,
    asks_about_one_manager,
    before_it_stops,
    copied,
    does_not_ask_about_sessions,
    edited,
    in_place,
    never_asked_about_its_link,
    never_drained,
    nobody_asks_about_a_manager,
    on_the_wrong_side,
    takes_an_unknown_manager_for_none,
)
from tests.proof.mutants.swapping import Mutant, broken_by

FAMILIES = ("nats", "postgresql", "redis", "rabbitmq")


@pytest.fixture(autouse=True)
def families() -> None:
    """Those that come with the program are known."""
    offer_families()


@pytest.mark.parametrize("family", FAMILIES)
def test_no_seed_breaks_a_promise(family: str) -> None:
    """Law: every promise that a simulation can see holds for each family in a file, and runs end well among them."""
    figures = play_seeds(range(40), kinds_of(family))
    assert figures.failing == []
    assert figures.ends["done"] >= 5


def unfinished(kinds: Sequence[str]) -> list[str]:
    """The runbooks of which none of the first 30 seeds is done: no run of these shows anything of their later steps."""
    return [kind for kind in kinds if not any(play_seeds((seed,), (kind,)).ends["done"] for seed in range(30))]


@pytest.mark.parametrize("family", FAMILIES)
def test_each_runbook_is_played_to_its_end(family: str) -> None:
    """Law: what is drawn lets every runbook of a family end well."""
    assert unfinished(kinds_of(family)) == []


@pytest.mark.parametrize("family", ["redis", "rabbitmq"])
def test_those_of_facets_alone(tmp_path: Path, family: str) -> None:
    """Law: the runbooks that are made of a family's file, restore and failback too, keep every promise and end well."""
    path = copied(tmp_path, family)
    shutil.rmtree(tmp_path / family)
    with in_place(path):
        kinds = kinds_of(family)
        assert [kind.partition("/")[2] for kind in kinds] == sorted(KINDS)
        assert play_seeds(range(40), kinds).failing == []
        assert unfinished(kinds) == []


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("first", range(40, 1_000, 120))
def test_many_seeds(family: str, first: int) -> None:
    """Law: the same of a thousand."""
    assert play_seeds(range(first, first + 120), kinds_of(family)).failing == []


def test_the_same_seed_gives_the_same_run() -> None:
    """Law: a story that is stored and read back is the same one, whatever its family's file says by then."""
    stores = Stores()
    for seed in (1, 3):
        story = draw(seed, ("redis/controlled",))
        again = Story.model_validate_json(story.model_dump_json(exclude_defaults=True))
        assert again == story
        assert play(story, stores) == play(again, stores)
    stores.close()


def _of_the_runbook(edit: Callable[[Steps], None], kind: str = "controlled") -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        edited(path.with_name(path.stem) / f"{kind}.yaml", edit)

    return plant


# In how many of the first 12 seeds each planted mistake has to be found, at least, and by which promise.
PLANTED: dict[str, tuple[str, Callable[[Path], None], int, int]] = {
    "redis promotes before it stops": ("redis", _of_the_runbook(before_it_stops), 5, 1),
    "rabbitmq promotes before it stops": ("rabbitmq", _of_the_runbook(before_it_stops), 5, 1),
    "postgresql promotes before it stops": ("postgresql", _of_the_runbook(before_it_stops), 5, 1),
    "rabbitmq reads the drain at the target": ("rabbitmq", _of_the_runbook(on_the_wrong_side), 4, 2),
    "redis asks about no manager": ("redis", _of_the_runbook(nobody_asks_about_a_manager), 1, 5),
    "postgresql asks about one manager of two": (
        "postgresql",
        _of_the_runbook(asks_about_one_manager("database")),
        1,
        5,
    ),
    "redis does not wait for the drain": ("redis", _of_the_runbook(never_drained), 1, 2),
    "rabbitmq does not wait for the drain": ("rabbitmq", _of_the_runbook(never_drained), 5, 2),
}


def found(
    tmp_path: Path, family: str, plant: Callable[[Path], None], seeds: int, kind: str = "controlled"
) -> Figures:
    """What the seeds say of the family with the mistake in it."""
    path = copied(tmp_path, family)
    plant(path)
    with in_place(path):
        return play_seeds(range(seeds), (f"{family}/{kind}",))


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(tmp_path: Path, name: str) -> None:
    """Law: few seeds show a mistake in a runbook, by the promise that it breaks."""
    family, plant, least, promise = PLANTED[name]
    figures = found(tmp_path, family, plant, 12)
    broken = [one for one in figures.failing if any(what.promise == promise for what in one.broken)]
    assert len(broken) >= least, figures.failing


@pytest.mark.parametrize("family", FAMILIES)
def test_a_source_that_only_the_operator_cannot_reach(tmp_path: Path, family: str) -> None:
    """Law: with the link held by a source that does not answer, few seeds show that nothing asks the target about it."""
    plant = _of_the_runbook(never_asked_about_its_link, "uncontrolled")
    figures = found(tmp_path, family, plant, 100, "uncontrolled")
    said = [str(one) for failing in figures.failing for one in failing.broken]
    assert any("could see by its link that" in one for one in said), said


def test_a_closing_that_breaks_off(tmp_path: Path) -> None:
    """Law: where the gate is shut and the sessions behind it are not ended, as their answer is lost, few seeds show that
    nothing asks for that."""
    figures = found(tmp_path, "rabbitmq", _of_the_runbook(does_not_ask_about_sessions), 40)
    said = [str(one) for failing in figures.failing for one in failing.broken]
    assert any("serves clients" in one for one in said), said


def test_a_manager_that_is_unknown(tmp_path: Path) -> None:
    """Law: few seeds show that a runbook takes a manager of which nothing is known for none."""
    figures = found(tmp_path, "redis", _of_the_runbook(takes_an_unknown_manager_for_none), 120)
    said = [str(one) for failing in figures.failing for one in failing.broken]
    assert any("may act at" in one for one in said), said


# Where the parts that make one reading of several managers are broken.
MISREAD = (
    Mutant(
        "first-manager-alone",
        "one of several managers is asked",
        (
            (
                orchestrator.family.reachability,
                "showing_managers",
                lambda whole: lambda readings: dict(list(whole(readings).items())[:1]),
            ),
        ),
    ),
    Mutant(
        "best-manager-counts",
        "a manager that is away hides one that acts",
        ((orchestrator.model.other_manager, "_WORST_FIRST", lambda order: order[::-1]),),
    ),
)


@pytest.mark.parametrize("mutant", MISREAD, ids=lambda one: one.name)
def test_a_manager_that_is_overlooked(mutant: Mutant) -> None:
    """Law: few seeds show that a program which asks about several managers overlooks one."""
    with broken_by(mutant):
        figures = play_seeds(range(40), ("redis/controlled",))
    said = [str(one) for failing in figures.failing for one in failing.broken]
    assert any("may act at" in one for one in said), said


def test_what_can_be_named() -> None:
    """Law: a family in a file stands for all of its runbooks; what is not there is refused with what is."""
    assert kinds_named(["redis"]) == kinds_of("redis")
    assert kinds_named(["redis/controlled", "amps/restore"]) == ("redis/controlled", "amps/restore")
    with pytest.raises(DefinitionError, match="no simulated runbook"):
        kinds_named(["redis/controled"])
    with pytest.raises(DefinitionError, match="no simulated runbook"):
        kinds_named(["mysql/controlled"])
