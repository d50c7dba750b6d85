"""Another manager that may act on a pair: a move is refused until it is paused, or accepted by name."""

from __future__ import annotations

import copy
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.declared.family import family_of
from adapters.declared.reading_models import reading_model, reading_of
from orchestrator.documents.generic_runbooks import generic_runbook
from orchestrator.documents.lint.runbook import lint
from orchestrator.family.reachability import with_reachability
from orchestrator.model.declared.file import MANAGER_GATE, OTHER_MANAGER, FamilyFile, ReadingFile
from orchestrator.model.events import GateDecided, Ruling
from orchestrator.model.facets import Facet
from orchestrator.model.runbook import Step
from proof.exploration.generic.family import Generic
from proof.exploration.generic.promises import Evidence
from proof.exploration.search import explore
from tests.families.declared import COUNTER, Counters

pytestmark = pytest.mark.realtime


def managed(kind: str = "text", *, needed: bool = False) -> dict[str, Any]:
    """The counter, which shows who else manages it."""
    made: dict[str, Any] = copy.deepcopy(dict(COUNTER))
    fields = made["readings"]["counter"]["fields"]
    del fields["unsent"]["when"]
    fields["manager"] = {"from": "/manager", "type": kind, "facet": "pilot"} | ({"needed": True} if needed else {})
    return made


def a_pair(folder: Path, *, needed: bool = False, **more: Any) -> Counters:
    """Two counters without runbooks of their own; ``more`` is what ny says besides."""
    counters = Counters.make(folder)
    shutil.rmtree(folder / "families/counter")
    file = folder / "families/counter.yaml"
    said = yaml.safe_load(file.read_text())
    said["readings"]["counter"]["fields"] = managed(needed=needed)["readings"]["counter"]["fields"]
    file.write_text(yaml.safe_dump(said, sort_keys=False))
    counters.write("ny", state={"role": "primary"}, linked=True, unsent=0, **more)
    counters.write("nj", state={"role": "copy"}, linked=True, unsent=0, manager="")
    return counters


@pytest.mark.parametrize(
    ("kind", "said", "state"),
    [
        ("text", "Patroni", "acts"),
        ("text", "", "none"),
        ("text", None, "unknown"),
        ("bool", True, "acts"),
        ("bool", False, "none"),
        ("bool", None, "unknown"),
    ],
)
def test_what_is_read(kind: str, said: object, state: str) -> None:
    """Law: a name or true means that it may act, an empty text or false that none does, and nothing is unknown."""
    declared = ReadingFile.model_validate(
        {"summary": "s", "sql": "select 1", "fields": {"who": {"type": kind, "facet": "pilot"}}}
    )
    model = reading_model("any", "managers", declared)
    read = reading_of(model, declared, [{"who": said}])
    assert read.facet(Facet.PILOT) == state
    assert read.remark([OTHER_MANAGER]) == ("(Patroni)" if said == "Patroni" else "")


def test_a_move_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    """Law: nothing is changed while another manager may act; its pause, or a reason given by name, lets the move
    go. Status and check name the manager."""
    counters = a_pair(tmp_path, manager="Patroni")
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert (code, "Another manager may act at the source" in text, "Pause it first" in text) == (3, True, True), text
    assert "--accept-manager" in text
    assert counters.role("ny") == "primary"
    code, text = counters.run("status")
    assert (code, "another manager may act at ny (Patroni)" in " ".join(text.split())) == (4, True), text
    code, text = counters.run("check")
    assert (code, "another manager may act at ny" in " ".join(text.split())) == (4, True), text
    code, text = counters.run("controlled", "--service", "one", "--yes", "--accept-manager", "paused by hand, J. Doe")
    assert code == 0, text
    assert (counters.role("ny"), counters.role("nj")) == ("gated", "primary")
    code, text = counters.run("runs", "export", "last")
    assert (code, "paused by hand, J. Doe" in text, "other_manager" in text) == (0, True, True)
    counters.write("nj", state={"role": "primary"}, linked=True, unsent=0, manager="")
    counters.write("ny", state={"role": "gated"}, linked=True, unsent=0, manager="")
    code, text = counters.run("controlled", "--service", "one", "--from", "nj", "--yes")
    assert code == 0, text


def test_unknown_is_shown_and_refused_where_it_is_needed(tmp_path: Path) -> None:
    """Law: that it is not known whether another manager acts refuses a move of a family that needs to know it only."""
    (tmp_path / "needed").mkdir()
    needing = a_pair(tmp_path / "needed", needed=True)
    code, text = needing.run("controlled", "--service", "one", "--yes")
    assert (code, needing.role("ny")) == (3, "primary"), text
    (tmp_path / "other").mkdir()
    other = a_pair(tmp_path / "other")
    code, text = other.run("status", "--json")
    assert '"other_manager":"unknown"' in text, text
    code, text = other.run("controlled", "--service", "one", "--yes")
    assert (code, other.role("nj")) == (0, "primary"), text


@pytest.mark.parametrize("kind", ["controlled", "uncontrolled"])
def test_it_is_asked_before_anything_changes(kind: str) -> None:
    """Law: a runbook that changes something without that question is an error; with it, the explorer finds nothing."""
    file = FamilyFile.model_validate(managed())
    family = family_of(file, None)
    declared: Any = family.adapters["counter"]
    runbook = generic_runbook(file, kind)

    def codes(one: Any) -> set[str]:
        found = lint(one, with_reachability(declared.readings), declared.actions)
        return {finding.code for finding in found if finding.level in ("error", "warning")}

    assert codes(runbook) == set()
    silent = tuple(step for step in runbook.steps if not step.id.startswith("manager-at"))
    assert codes(runbook.model_copy(update={"steps": silent})) == {"manager-not-asked"}
    for asked in [step.id for step in runbook.steps if step.id.startswith("manager-at")]:
        rest = tuple(step for step in runbook.steps if step.id != asked)
        assert codes(runbook.model_copy(update={"steps": rest})) == {"manager-not-asked"}, asked
    world = Generic(family, runbook)
    assert world.unexplored(runbook) == []
    walk = explore(runbook, declared.actions, states_max=30_000, disturbances_max=0, family=world)
    assert [one.rule for one in walk.found] == []


def test_one_of_two_that_serve_is_closed_without_a_question() -> None:
    """Law: a guard closes at once, whoever else may act; what is not read as serving at the target, does not show that
    the source ended, or cannot be rolled back, is asked about first."""
    file = FamilyFile.model_validate(managed())
    declared: Any = family_of(file, None).adapters["counter"]
    runbook = generic_runbook(file, "guard")
    *before, close = runbook.steps
    final = {"stop": dataclasses.replace(declared.actions["stop"], inverse=None)}

    def asks(step: Step, **more: Any) -> bool:
        changed = runbook.model_copy(update={"steps": (*before, step)})
        found = lint(changed, with_reachability(declared.readings), {**declared.actions, **more})
        return "manager-not-asked" in {finding.code for finding in found}

    assert not asks(close)
    assert asks(close.model_copy(update={"require": ()}))
    assert asks(close.model_copy(update={"expect": ()}))
    assert asks(close, **final)
    assert close.do is not None
    assert asks(close.model_copy(update={"do": close.do.model_copy(update={"on": "target"})}))


def test_an_accepted_manager_is_no_accepted_loss() -> None:
    """Law: for the explorer, whoever accepts another manager accepts nothing that is left behind."""
    for gate, accepted in ((MANAGER_GATE, False), ("link-lost", True)):
        ruling = Ruling(choice="accept", reason="paused by hand", by="ann")
        decided = GateDecided(gate=gate, step="one", ruling=ruling)
        assert Evidence().decided(decided).is_given_up is accepted
