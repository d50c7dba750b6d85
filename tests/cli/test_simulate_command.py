"""``failover simulate`` on the command line: what it prints, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from proof.simulation.draw import draw
from proof.simulation.effects import EFFECTS, kind_of
from proof.simulation.night import play
from proof.simulation.shrink import shrink
from proof.simulation.stores import Stores
from proof.simulation.story import Story
from tests.cli.shell import Shell
from tests.proof.mutants import MUTANTS, broken_by

# An engine that is broken on purpose, and a night that shows it, full of troubles that have nothing to do with it.
MUTANT = next(one for one in MUTANTS if one.name == "promote-before-confirm")
SEED = 281
NIGHT = ("--seeds", "1", "--from", str(SEED))


def test_for_machines(shell: Shell) -> None:
    """The last line is the result, says SIMULATED, and agrees with the exit code."""
    ended = shell("simulate", "--seeds", "3", "--from", "10", "--kind", "suspend", "--json")
    assert ended.code == ended.result["exit_code"] == 0
    assert ended.result["simulated"] is True
    assert ended.result["seeds"] == 3
    assert ended.result["kinds"] == {"suspend": 3}


def test_for_people(shell: Shell) -> None:
    """A person reads how many nights there were, how they ended, and that no promise was broken."""
    ended = shell("simulate", "--seeds", "2", "--kind", "suspend")
    assert ended.code == 0
    assert ended.out.startswith("SIMULATED  2 runs")
    assert "no promise was broken" in ended.out


def test_what_took_effect(shell: Shell) -> None:
    """Law: what was left out of readings, shown late or answered is counted where it happened, for machines by family,
    and a person reads the same sums; a night in which nothing of that happens says so."""
    nights = ("simulate", "--seeds", "60", "--kind", "restore")
    effects = shell(*nights, "--json").result["effects"]
    assert set(effects) == {"solace"}
    told = next(line for line in shell(*nights).out.splitlines() if "other effects" in line)
    for kind in EFFECTS:
        count = sum(times for effect, times in effects["solace"].items() if kind_of(effect) == kind)
        assert (f"{kind} {count:,}" in told) is (count > 0)
    assert "field missing from a reading" in told
    assert "outdated reading" in told
    quiet = next(
        seed
        for seed in range(2_000)
        if draw(seed, ("suspend",)).troubles == 0 and not draw(seed, ("suspend",)).person
    )
    alone = shell("simulate", "--seeds", "1", "--from", str(quiet), "--kind", "suspend")
    assert "other effects: nothing" in alone.out


def test_a_runbook_that_is_not_simulated(shell: Shell) -> None:
    """Law: a name that is no simulated runbook is refused with those that are near it: exit code 2."""
    ended = shell("simulate", "--kind", "amps/controled")
    assert (ended.code, ended.complaint) == (2, "--kind amps/controled: there is no simulated runbook with this name")
    assert "did you mean amps/controlled?" in ended.hint


@pytest.fixture
def broken() -> Iterator[None]:
    """The product is broken."""
    with broken_by(MUTANT):
        yield


@pytest.mark.usefixtures("broken")
def test_a_failing_night_can_be_had_again(shell: Shell) -> None:
    """Law: exit code 4, what broke, and one line that gives the very same night, whatever else was played with it."""
    ended = shell("simulate", "--seeds", "3", "--from", str(SEED - 1))
    assert ended.code == 4
    told = next(line for line in ended.out.splitlines() if line.startswith(f"seed {SEED} ("))
    again = next(line for line in ended.out.splitlines() if f"--from {SEED}" in line)
    command = again.partition("to repeat this run: failover ")[2].split()
    assert told in shell(*command).out.splitlines()


def test_a_night_that_fails_for_a_kind_is_had_again_for_that_kind(shell: Shell) -> None:
    """Law: the line names the kinds that were asked for, since another choice of kinds draws another night."""
    with broken_by(next(one for one in MUTANTS if one.name == "guard-ignored")):
        ended = shell("simulate", "--seeds", "40", "--kind", "controlled", "--kind", "failback", "--json")
        [first, *_] = [one["failing"] for one in ended.values if "failing" in one]
        assert first["again"].endswith(" --kind controlled --kind failback")
        repeated = shell(*first["again"].split()[1:], "--json")
    assert [one["failing"] for one in repeated.values if "failing" in one] == [first]
    assert ended.result["exit_code"] == 4
    assert first["seed"] in ended.result["failing"]


@pytest.mark.usefixtures("broken")
def test_a_failing_night_is_made_small(shell: Shell) -> None:
    """Law: what is left still breaks the same promise, and without any one of it nothing is broken any more."""
    drawn = draw(SEED)
    ended = shell("simulate", *NIGHT, "--shrink", "--json")
    [failing] = [one["failing"] for one in ended.values if "failing" in one]
    small = Story.model_validate(failing["story"])
    promise = failing["broken"][0].partition(":")[0]
    assert small.troubles < drawn.troubles
    assert promise in _broken(small)
    for name in ("prelude", "faults", "strikes", "omissions", "lags"):
        items = getattr(small, name)
        for index in range(len(items)):
            without = small.model_copy(update={name: (*items[:index], *items[index + 1 :])})
            assert promise not in _broken(without), items[index]


@pytest.mark.usefixtures("broken")
def test_a_small_night_is_told(shell: Shell) -> None:
    """Law: a person reads each thing that goes wrong in it, and the line to have it again."""
    stores = Stores()
    small = shrink(draw(SEED), stores).story
    stores.close()
    lines = shell("simulate", *NIGHT, "--shrink").out.splitlines()
    at = lines.index(f"  to repeat this run: failover simulate {' '.join(NIGHT)}")
    told = lines[at - small.troubles - len(small.prelude) : at]
    assert told[0] == f"  fault before the run: {small.prelude[0]}"
    assert told[1] == f"  fault in the run: {small.faults[0]}"
    assert lines[at - len(told) - 1].startswith(f"seed {SEED} (")


def test_a_whole_night_cannot_be_made_small() -> None:
    """Law: there is nothing to look for in a night that breaks no promise."""
    stores = Stores()
    with pytest.raises(ValueError, match="breaks no promise"):
        shrink(draw(SEED), stores)
    stores.close()


def _broken(story: Any) -> set[str]:
    stores = Stores()
    try:
        return {str(one).partition(":")[0] for one in play(story, stores).broken}
    finally:
        stores.close()


def test_a_family_in_a_file_is_simulated(shell: Shell) -> None:
    """Law: the name of a family in a file means its runbooks; with a runbook's name it is that one."""
    ended = shell("simulate", "--seeds", "2", "--kind", "redis/controlled", "--json")
    assert (ended.code, ended.result["kinds"]) == (0, {"redis/controlled": 2})
    assert (
        shell("simulate", "--kind", "redis/controled").complaint
        == "--kind redis/controled: there is no simulated runbook with this name"
    )
