"""A family in a file without runbooks of its own is moved by its facets."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters.declared.family import family_of
from orchestrator.documents.generic_runbooks import KINDS, generic_runbook
from orchestrator.documents.lint.runbook import lint
from orchestrator.errors import DefinitionError
from orchestrator.family.reachability import with_reachability
from orchestrator.model.family_file import FamilyFile
from orchestrator.model.runbook import Runbook
from proof.exploration.generic.family import Generic
from proof.exploration.search import explore
from tests.families.declared import COUNTER, Counters

pytestmark = pytest.mark.realtime


def plain() -> dict[str, Any]:
    """The counter, whose backlog is known at both sites."""
    made: dict[str, Any] = copy.deepcopy(dict(COUNTER))
    del made["readings"]["counter"]["fields"]["unsent"]["when"]
    return made


def broken_rules(runbook: Runbook) -> set[str]:
    """What the explorer finds."""
    family = family_of(FamilyFile.model_validate(plain()), None)
    kind: Any = family.adapters["counter"]
    world = Generic(family, runbook)
    assert world.unexplored(runbook) == []
    walk = explore(runbook, kind.actions, states_max=20_000, disturbances_max=1, family=world)
    assert walk.states > 300
    return {one.rule for one in walk.found}


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_the_promises(kind: str) -> None:
    """Law: what is made passes lint, and breaks no promise however it is disturbed."""
    runbook = generic_runbook(FamilyFile.model_validate(plain()), kind)
    declared: Any = family_of(FamilyFile.model_validate(plain()), None).adapters["counter"]
    found = lint(runbook, with_reachability(declared.readings), declared.actions)
    assert [one for one in found if one.level in ("error", "warning")] == []
    assert broken_rules(runbook) == set()


@pytest.mark.parametrize("lacking", ["drain", "source"])
def test_control_it_is_seen_when_it_breaks_one(lacking: str) -> None:
    """Negative control: without the drain, or without a look at the source before the target opens, a promise breaks."""
    runbook = generic_runbook(FamilyFile.model_validate(plain()), "controlled")
    *steps, last = runbook.steps
    if lacking == "drain":
        steps = [step for step in steps if step.id != "drain"]
        last = last.model_copy(update={"reconfirm": (), "when_guard_breaks": None, "progress": None})
    else:
        steps = [step for step in steps if step.id != "close"]
        last = last.model_copy(update={"require": ()})
    assert broken_rules(runbook.model_copy(update={"steps": (*steps, last)}))


def test_it_is_moved_there_and_back(tmp_path: Path) -> None:
    """Law: the commands find the runbook that is made, show it, and move by it."""
    counters = Counters.make(tmp_path)
    shutil.rmtree(tmp_path / "families/counter")
    file = tmp_path / "families/counter.yaml"
    file.write_text(file.read_text().replace("        when:\n          writable: true\n", ""))
    counters.write("nj", state={"role": "copy"}, linked=True, unsent=0)
    code, text = counters.run("runbook", "show", "counter/controlled")
    assert (code, "Close the source" in text) == (0, True), text
    for source, target in (("ny", "nj"), ("nj", "ny")):
        code, text = counters.run("controlled", "--service", "one", "--from", source, "--yes")
        assert code == 0, text
        assert (counters.role(source), counters.role(target)) == ("gated", "primary")
    code, text = counters.run("family", "test", "counter", "--inventory", str(tmp_path / "inventory.yaml"))
    assert (code, "0 broken, 0 not checked" in text) == (0, True), text
    counters.write("nj", state={"role": "gated"}, linked=False, unsent=0)
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert (code, "the link is down at the target" in text) == (3, True), text
    assert counters.role("ny") == "primary"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda one: one["actions"]["stop"].pop("inverse"), "no action makes serves: false and nothing else"),
        (lambda one: one["actions"].update(halt=one["actions"]["stop"]), "not one action but stop, halt"),
        (lambda one: one["actions"].update(run=one["actions"]["start"]), "not one action but start, run"),
        (lambda one: one["actions"].pop("start"), "no action makes serves: true and nothing else"),
        (
            lambda one: one["readings"]["counter"]["fields"]["unsent"].update(when={"writable": True}),
            "no field counts what waits at a source that was closed",
        ),
        (lambda one: one["readings"]["counter"]["fields"].pop("unsent"), "no field counts what waits"),
        (
            lambda one: one["readings"]["counter"]["fields"].pop("linked"),
            "no field tells the target's end of the link",
        ),
    ],
)
def test_what_the_file_leaves_open(change: Any, sentence: str) -> None:
    """Law: where the file does not say which action is meant, or nothing would show a drain, there is no runbook, and a
    sentence says why."""
    file = plain()
    change(file)
    with pytest.raises(DefinitionError, match="its file does not give one") as raised:
        generic_runbook(FamilyFile.model_validate(file), "controlled")
    assert sentence in str(raised.value)
