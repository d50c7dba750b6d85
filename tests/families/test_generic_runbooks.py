"""A family in a file without runbooks of its own is moved by its facets."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.declared.family import family_of
from orchestrator.documents.generic_runbooks import KINDS, can_be_made, generic_runbook
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import load_runbook, read_family
from orchestrator.errors import DefinitionError
from orchestrator.family.reachability import with_made_readings
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.facets import Facet
from orchestrator.model.families import SHIPPED
from orchestrator.model.runbook import Runbook
from proof.exploration.generic.family import Generic
from proof.exploration.search import explore
from tests.families.declared import COUNTER, ROOT, Counters
from tests.shipped import silent_late_conditions

pytestmark = pytest.mark.realtime


def plain() -> dict[str, Any]:
    """The counter, whose backlog is known at both sites."""
    made: dict[str, Any] = copy.deepcopy(dict(COUNTER))
    del made["readings"]["counter"]["fields"]["unsent"]["when"]
    return made


def of_both_ends() -> dict[str, Any]:
    """The counter, with the last number of each end in place of a backlog."""
    made = plain()
    fields = made["readings"]["counter"]["fields"]
    del fields["unsent"]
    fields["count"] = {"from": "/count", "type": "number", "facet": "mark", "unit": "step"}
    fields["copied"] = {"from": "/copied", "type": "number", "facet": "reached", "unit": "step"}
    return made


def following() -> dict[str, Any]:
    """The counter of both ends, of which a copy follows its mate: it is promoted, and made a copy again."""
    made = of_both_ends()
    fields, actions = made["readings"]["counter"]["fields"], made["actions"]
    fields["follows"] = {"from": "/follows", "type": "bool"}
    fields["count"]["when"], fields["copied"]["when"] = {"follows": False}, {"follows": True}
    promote = {name: value for name, value in actions["start"].items() if name != "inverse"}
    actions["promote"] = promote | {"makes": {"serves": True, "follows": False}}
    actions["follow"] = promote | {"summary": "copy the mate", "makes": {"serves": False, "follows": True}}
    made["model"] = {
        "follows": [False, True],
        "serves": {"only_while": {"follows": False}, "restarted": True},
        "link": {"either_end": {"follows": True}},
        "backlog": {"only_while": {"link": True, "follows": False}, "dropped_while": {"follows": True}},
    }
    return made


def shipped(family: str) -> dict[str, Any]:
    """What the file of a shipped family says, without its runbooks."""
    return dict(yaml.safe_load((ROOT / f"runbooks/{family}.yaml").read_text()))


def made_of(file: dict[str, Any], kind: str) -> Runbook:
    """The whole runbook of a file, with what it continues with."""
    declared = FamilyFile.model_validate_json(json.dumps(file))
    made = generic_runbook(declared, kind)
    rest = () if made.continue_with is None else generic_runbook(declared, "controlled").steps
    return made.model_copy(update={"steps": (*made.steps, *rest), "continue_with": None})


def broken_rules(runbook: Runbook, file: dict[str, Any] | None = None) -> set[str]:
    """What the explorer finds."""
    family = family_of(FamilyFile.model_validate_json(json.dumps(file or plain())), None)
    kind: Any = family.adapters[family.name]
    world = Generic(family, runbook)
    assert world.unexplored(runbook) == []
    walk = explore(runbook, kind.actions, states_max=20_000, disturbances_max=1, family=world)
    assert walk.states > 200
    return {one.rule for one in walk.found}


def findings(runbook: Runbook, file: dict[str, Any]) -> list[str]:
    """The codes of what lint finds, without notes."""
    family = family_of(FamilyFile.model_validate_json(json.dumps(file)), None)
    declared: Any = family.adapters[family.name]
    found = lint(runbook, with_made_readings(declared.readings), declared.actions)
    return [one.code for one in found if one.level in ("error", "warning")]


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        *((plain(), kind) for kind in KINDS),
        (of_both_ends(), "controlled"),
        (following(), "restore"),
        (shipped("rabbitmq"), "restore"),
        pytest.param(of_both_ends(), "restore", marks=pytest.mark.long),
        pytest.param(following(), "controlled", marks=pytest.mark.long),
        pytest.param(following(), "failback", marks=pytest.mark.long),
        pytest.param(shipped("redis"), "restore", marks=pytest.mark.long),
        pytest.param(shipped("redis"), "failback", marks=pytest.mark.long),
    ],
)
def test_it_keeps_the_promises(file: dict[str, Any], kind: str) -> None:
    """Law: what is made passes lint, and breaks no promise however it is disturbed."""
    runbook = made_of(file, kind)
    assert findings(runbook, file) == []
    assert broken_rules(runbook, file) == set()


@pytest.mark.parametrize(
    "file",
    [plain(), of_both_ends(), following(), shipped("rabbitmq"), shipped("redis")],
    ids=lambda file: file["family"],
)
def test_each_stop_half_way_names_its_remedy(file: dict[str, Any]) -> None:
    """Law: what is made from facets says what an operator does if a run stops half-way."""
    made = [
        made_of(file, kind) for kind in KINDS if can_be_made(FamilyFile.model_validate_json(json.dumps(file)), kind)
    ]
    assert {one.runbook.partition("/")[2] for one in made} >= {"controlled", "uncontrolled", "restore"}
    assert [text for one in made for text in silent_late_conditions(one)] == []


@pytest.mark.parametrize("family", ["postgresql", "redis", "rabbitmq", "nats", ""])
def test_a_site_that_its_mate_hears_is_not_lost(family: str) -> None:
    """Law: no silence of the source lets the target take over while that hears from it: the operator alone is cut off."""
    file = read_family(SHIPPED / f"{family}.yaml").result() if family else FamilyFile.model_validate(plain())
    written = str(SHIPPED / family / "uncontrolled.yaml")
    runbook = load_runbook(written) if family else generic_runbook(file, "uncontrolled")
    [(reading, link)] = [
        (one, name)
        for one, declared in file.readings.items()
        for name, field in declared.fields.items()
        if field.facet is Facet.LINK
    ]
    [last] = [step for step in runbook.steps if step.point_of_no_return]
    wait = next(step for step in runbook.steps if step.id == "link-lost")
    for checks in (last.require, wait.until):
        assert any((one.on, one.reading, dict(one.where)) == ("target", reading, {link: False}) for one in checks)


def test_control_of_a_site_that_its_mate_hears() -> None:
    """Negative control: what is made of facets, without the read at its end, is found by lint and by the explorer."""
    *steps, last = made_of(plain(), "uncontrolled").steps
    kept = tuple(check for check in last.require if "hears from" not in check.say)
    assert kept != last.require
    runbook = made_of(plain(), "uncontrolled").model_copy(
        update={"steps": (*steps, last.model_copy(update={"require": kept}))}
    )
    assert findings(runbook, plain()) == ["link-not-read"]
    assert broken_rules(runbook) == {"promoted-while-heard"}


def without(runbook: Runbook, *, guard: bool = False, reconfirm: bool = False) -> Runbook:
    """The runbook that does not read the source as closed while it waits, or does not read the end again."""
    *steps, drain, last = runbook.steps
    if guard:
        kept = tuple(check for check in drain.guard if check.on == "target")
        drain = drain.model_copy(update={"guard": kept})
    if reconfirm:
        last = last.model_copy(update={"reconfirm": (), "when_guard_breaks": None, "progress": None})
    return runbook.model_copy(update={"steps": (*steps, drain, last)})


def test_control_of_both_ends() -> None:
    """Negative control: a mark of a source that is not read as closed is found by lint; ends that are exchanged, and a
    drain that is not read again, by lint and by the explorer."""
    file = of_both_ends()
    runbook = generic_runbook(FamilyFile.model_validate(file), "controlled")
    assert findings(without(runbook, guard=True), file) == ["mark-not-gated"]
    unread = without(runbook, reconfirm=True)
    assert "not-reconfirmed" in findings(unread, file)
    assert "messages-left" in broken_rules(unread, file)
    text = runbook.model_dump_json(by_alias=True)
    swapped = text.replace('"copied":{', '"count":{').replace('"field":"count"', '"field":"copied"')
    wrong = Runbook.model_validate_json(swapped)
    assert "wrong-ends" in findings(wrong, file)
    assert "promoted-undrained" in broken_rules(wrong, file)
    drain = runbook.steps[-2]
    assert drain.progress is not None
    alone = drain.model_copy(update={"progress": drain.progress.model_copy(update={"up_to": None})})
    rises = runbook.model_copy(update={"steps": (*runbook.steps[:-2], alone, runbook.steps[-1])})
    assert findings(rises, file) == ["progress-rises"]


def test_control_of_a_restore() -> None:
    """Negative control: a restore that lets the failed site serve again is found, and so is one that opens it in place
    of closing it."""
    restore = made_of(following(), "restore")
    start = restore.model_dump_json(by_alias=True).replace('"action":"stop"', '"action":"start"')
    opened = Runbook.model_validate_json(start.replace('"where":{"writable":false}', '"where":{"writable":true}', 1))
    assert "promoted-unconfirmed" in broken_rules(opened, following())
    *steps, last = restore.steps
    again = steps[-1].model_copy(update={"id": "again", "do": opened.steps[1].do, "expect": ()})
    reopened = restore.model_copy(update={"steps": (*steps, again, last)})
    assert "promoted-unconfirmed" in broken_rules(reopened, following())


def test_the_way_back_is_that_of_the_shipped_runbooks() -> None:
    """Law: from its file alone Redis gets the actions of its shipped restore, in their order, after the question about
    what is dropped; RabbitMQ, whose sites keep what waits, is asked nothing and waits until that has arrived."""
    told = [
        step.do.action for step in load_runbook(ROOT / "runbooks/redis/restore.yaml").steps if step.do is not None
    ]
    redis = made_of(shipped("redis"), "restore")
    assert (
        [step.do.action for step in redis.steps if step.do is not None] == told == ["close", "follow", "clear_gate"]
    )
    asked = [index for index, step in enumerate(redis.steps) if step.ask is not None and step.ask.gate == "data-loss"]
    follows = [index for index, step in enumerate(redis.steps) if step.do is not None and step.do.action == "follow"]
    assert asked[0] < follows[0]
    rabbitmq = made_of(shipped("rabbitmq"), "restore")
    asked_or_waits = [step.id for step in rabbitmq.steps if step.ask or step.progress]
    assert [one for one in asked_or_waits if not one.startswith("manager-at-")] == ["arrived"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda one: one["actions"].pop("follow"),
            "exactly one action must make follows: true at a closed site, as at the mate, but no action does",
        ),
        (
            lambda one: one["actions"].update(copy=one["actions"]["follow"]),
            "must make follows: true at a closed site, as at the mate, but these do: follow, copy",
        ),
        (
            lambda one: one["actions"]["follow"]["makes"].update(serves=True),
            "exactly one action must make follows: true at a closed site, as at the mate, but no action does",
        ),
        (
            lambda one: one["actions"]["stop"].pop("inverse"),
            "must make serves: false and have an inverse, but no action does",
        ),
        (
            lambda one: one["readings"]["counter"]["fields"].pop("linked"),
            "no field reports the state of the link at the mate",
        ),
        (
            lambda one: (
                one["actions"]["stop"]["makes"].update(gated=True),
                one["actions"]["start"]["makes"].update(gated=False),
                one["model"].update(gated=[False, False]),
            ),
            "must make gated: false at a closed site, as at the mate, but no action does",
        ),
        (
            # The gate goes before the site follows, and so it would serve in between.
            lambda one: (
                one["actions"]["stop"]["makes"].update(gated=True),
                one["actions"]["follow"]["makes"].update(gated=False, slow=True),
                one["model"].update(
                    gated=[False, False],
                    slow=[False, False],
                    serves={"only_while": {"gated": False}},
                ),
            ),
            "no order of these actions makes a closed site the mate",
        ),
    ],
)
def test_what_the_file_leaves_open_of_the_way_back(change: Any, sentence: str) -> None:
    """Law: where the file does not say what a lost site must do to become a mate, or how one knows that it is, there
    is no restore, and a sentence says why."""
    file = following()
    change(file)
    with pytest.raises(DefinitionError, match="restore, and the program cannot make one from its file") as raised:
        generic_runbook(FamilyFile.model_validate_json(json.dumps(file)), "restore")
    assert sentence in str(raised.value)


def test_a_failback_needs_a_controlled_move() -> None:
    """Law: a fail-back continues with the planned move, the family's own or that of its facets; without either there is
    none."""
    file = plain()
    del file["readings"]["counter"]["fields"]["unsent"]
    declared = FamilyFile.model_validate_json(json.dumps(file))
    with pytest.raises(DefinitionError, match="no runbook controlled"):
        generic_runbook(declared, "failback")
    assert generic_runbook(declared, "failback", {"controlled"}).continue_with == "counter/controlled"


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
        (
            lambda one: one["actions"]["stop"].pop("inverse"),
            "must make serves: false and have an inverse, but no action does",
        ),
        (lambda one: one["actions"].update(halt=one["actions"]["stop"]), "these do: stop, halt"),
        (lambda one: one["actions"].update(run=one["actions"]["start"]), "these do: start, run"),
        (lambda one: one["actions"].pop("start"), "the inverse start of the action stop does not restore"),
        (
            lambda one: (
                one.update(model={"copies": [False, True]}),
                one["readings"]["counter"]["fields"].update(copies={"from": "/copies", "type": "bool"}),
            ),
            "as the model describes it, but no action does",
        ),
        (
            lambda one: one["readings"]["counter"]["fields"]["unsent"].update(when={"writable": True}),
            "no field shows that the target has everything",
        ),
        (
            lambda one: one["readings"]["counter"]["fields"].pop("unsent"),
            "no field shows that the target has everything",
        ),
        (
            lambda one: one["readings"]["counter"]["fields"].pop("linked"),
            "no field reports the state of the link at the target",
        ),
    ],
)
def test_what_the_file_leaves_open(change: Any, sentence: str) -> None:
    """Law: where the file does not say which action is meant, or nothing would show a drain, there is no runbook, and a
    sentence says why."""
    file = plain()
    change(file)
    with pytest.raises(DefinitionError, match="the program cannot make one from its file") as raised:
        generic_runbook(FamilyFile.model_validate(file), "controlled")
    assert sentence in str(raised.value)
