"""Another manager that may act on a pair: a move is refused until it is paused, or accepted by name."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.declared.family import family_of
from adapters.declared.reading_models import reading_model, reading_of
from orchestrator.clock import SystemClock
from orchestrator.documents.generic_runbooks import generic_runbook
from orchestrator.documents.lint.runbook import lint
from orchestrator.family.contract import AdapterContext
from orchestrator.family.reachability import probe, with_made_readings
from orchestrator.model.declared.file import FamilyFile, ReadingFile
from orchestrator.model.events import GateDecided, Ruling
from orchestrator.model.facets import Facet
from orchestrator.model.inventory import Device, Site
from orchestrator.model.other_manager import MANAGER_GATE, OTHER_MANAGER, OtherManager
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Step
from proof.exploration.generic.family import Generic
from proof.exploration.generic.promises import Evidence
from proof.exploration.search import explore
from tests.families.declared import COUNTER, Counters
from tests.seam import Secretless

pytestmark = pytest.mark.realtime


def managed(kind: str = "text") -> dict[str, Any]:
    """The counter, which shows who else manages it; a cluster manager is asked where the site says where."""
    made: dict[str, Any] = copy.deepcopy(dict(COUNTER))
    fields = made["readings"]["counter"]["fields"]
    del fields["unsent"]["when"]
    fields["manager"] = {"from": "/manager", "type": kind, "facet": "pilot"}
    made["options"]["cluster"] = {"says": "the file that the cluster manager writes", "default": ""}
    made["readings"]["cluster"] = {
        "summary": "whether the cluster manager may act",
        "per": "site",
        "only_with": "cluster",
        "exec": ["cat", "{cluster}"],
        "fields": {"cluster_manager": {"regex": r"manages=(\w*)", "type": "text", "facet": "pilot"}},
    }
    return made


def a_pair(folder: Path, **more: Any) -> Counters:
    """Two counters without runbooks of their own; ``more`` is what ny says besides."""
    counters = Counters.make(folder)
    shutil.rmtree(folder / "families/counter")
    file = folder / "families/counter.yaml"
    said = yaml.safe_load(file.read_text())
    said |= {name: managed()[name] for name in ("options", "readings")}
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
    who = "Patroni" if said == "Patroni" else "who"
    assert read.remark([OTHER_MANAGER]) == {"acts": f"{who} may act", "unknown": "unknown whether who may act"}.get(
        state, ""
    )


def test_a_move_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    """Law: nothing is changed while another manager may act; its pause, or a reason given by name, lets the move
    go. Status and check name the manager."""
    counters = a_pair(tmp_path, manager="Patroni")
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert (code, "Another manager is active at the source" in text, "Pause it first" in text) == (3, True, True), (
        text
    )
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


def test_unknown_is_shown_and_refused(tmp_path: Path) -> None:
    """Law: a move is refused, too, while it is unknown whether another manager may act, unless that is accepted by
    name; status and check say it, with the reason, and the site itself is shown."""
    counters = a_pair(tmp_path, manager="")
    asked_at(counters, "ny")
    code, text = counters.run("status", "--json")
    assert (code, '"other_manager":"unknown"' in text, '"serves":true' in text) == (4, True, True), text
    code, text = counters.run("status")
    words = " ".join(text.split())
    assert (code, "unknown whether another manager may act at ny (cluster manager: cat ended" in words) == (4, True)
    code, text = counters.run("check", "--json")
    assert (code, "unknown whether another manager may act at ny" in text) == (4, True), text
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert (code, counters.role("ny")) == (3, "primary"), text
    assert "unknown whether cluster manager may act: cat ended with exit code 1" in " ".join(text.split())
    code, text = counters.run("controlled", "--service", "one", "--yes", "--accept-manager", "its host is gone, ann")
    assert (code, counters.role("nj")) == (0, "primary"), text


def test_each_of_several_counts(tmp_path: Path) -> None:
    """Law: one that acts refuses a move whatever the other ones say, and is named; one that the site does not say
    where to ask for has no say, and is shown as that; the dry run shows what is asked."""
    counters = a_pair(tmp_path, manager="")
    code, text = counters.run("status", "--json")
    told = json.loads(text)["services"][0]["sites"]["ny"]
    assert (code, told["other_manager"]) == (0, "none"), text
    assert told["managers"] == [
        {"name": "manager", "state": "none"},
        {"name": "cluster_manager", "state": "unasked"},
    ]
    asked_at(counters, "ny").write_text("manages=crm")
    code, text = counters.run("controlled", "--service", "one", "--yes", "--dry-run")
    assert (code, f"cat {tmp_path}/ny.cluster" in text, f"cat {tmp_path}/nj.cluster" in text) == (0, True, False), (
        text
    )
    assert "ny: crm may act" in text, text
    code, text = counters.run("status")
    assert (code, "another manager may act at ny (crm)" in " ".join(text.split())) == (4, True), text
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert (code, "ny: crm may act." in " ".join(text.split()), counters.role("ny")) == (3, True, "primary"), text
    counters.write("ny", state={"role": "primary"}, linked=True, unsent=0, manager="Patroni")
    code, text = counters.run("status")
    assert (code, "another manager may act at ny (Patroni; crm)" in " ".join(text.split())) == (4, True), text
    counters.write("ny", state={"role": "primary"}, linked=True, unsent=0, manager="")
    (tmp_path / "ny.cluster").write_text("manages=")
    code, text = counters.run("controlled", "--service", "one", "--yes")
    assert (code, counters.role("nj")) == (0, "primary"), text


def asked_at(counters: Counters, site: str) -> Path:
    """The site says where its cluster manager is asked; there is nothing yet."""
    inventory, file = counters.folder / "inventory.yaml", counters.folder / f"{site}.cluster"
    said = inventory.read_text().replace(f"file: {counters.folder}/{site}.json", f"&, cluster: {file}")
    inventory.write_text(said.replace("&", f"file: {counters.folder}/{site}.json"))
    return file


def test_a_site_that_is_not_read_is_no_question(tmp_path: Path) -> None:
    """Law: where the site itself does not answer, whether another manager may act is not had: it is read again, and no
    operator is asked; unless another reading shows that one may act."""
    file = FamilyFile.model_validate(managed())
    kind: Any = family_of(file, None).adapters["counter"]
    options = {"file": str(tmp_path / "gone"), "programs": "/usr/bin", "cluster": str(tmp_path / "cluster")}
    site = Site(name="ny", adapter="counter", devices=(Device(name="ny1"),), options=options)
    adapter = kind(site, AdapterContext(SystemClock(), Secretless()))

    def told() -> Reading | Failure:
        return probe(adapter, OTHER_MANAGER, ["one"])["one"]

    (tmp_path / "cluster").write_text("manages=")
    assert isinstance(told(), Failure)
    (tmp_path / "cluster").write_text("manages=crm")
    found = told()
    assert isinstance(found, OtherManager)
    assert (found.other_manager, found.remark([OTHER_MANAGER]).partition(";")[0]) == ("acts", "crm may act")
    adapter.close()


@pytest.mark.parametrize("kind", ["controlled", "uncontrolled"])
def test_it_is_asked_before_anything_changes(kind: str) -> None:
    """Law: a runbook that changes something without that question is an error; with it, the explorer finds nothing."""
    file = FamilyFile.model_validate(managed())
    family = family_of(file, None)
    declared: Any = family.adapters["counter"]
    runbook = generic_runbook(file, kind)

    def codes(one: Any) -> set[str]:
        found = lint(one, with_made_readings(declared.readings), declared.actions)
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
        found = lint(changed, with_made_readings(declared.readings), {**declared.actions, **more})
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
