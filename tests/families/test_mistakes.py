"""Mistakes in family files and runbooks, made in copies of the three that come with the program: each is found by lint,
with its line, or by exploration, with its story."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.declared.family import family_of
from orchestrator.documents.loader import read_family, read_runbook
from orchestrator.operations.declared_families import findings_of_file, offer_families
from proof.exploration.generic.family import Generic
from proof.exploration.search import explore
from tests.families.planted import (
    Steps,
    asks_about_one_manager,
    before_it_stops,
    copied,
    edited,
    never_asked_about_its_link,
    never_drained,
    nobody_asks_about_a_manager,
    not_asked_about_its_link,
    takes_an_unknown_manager_for_none,
)


class Mistake(NamedTuple):
    """``where``: the family's file, or one of its runbooks; ``found``: a code of lint, or rules of exploration."""

    where: str
    old: str
    new: str
    found: str

    @property
    def family(self) -> str:
        return self.where.partition("/")[0]


_CLOSED = "{writable: false}\n        say: the source takes messages again\n"
_UNDO = (
    "{writable: false}\n          say: the target takes messages, so opening the source could make two active sites\n"
)


def _without(name: str) -> Callable[[Steps], None]:
    """Leaves a step out."""

    def edit(steps: Steps) -> None:
        steps[:] = [step for step in steps if step["id"] != name]

    return edit


LINTED: Mapping[str, Mistake] = {
    "a facet on the wrong type": Mistake(
        "redis", "serves: {from: /serves, type: bool", "serves: {from: /serves, type: number", "facet-type"
    ),
    "a unit that is missing": Mistake("rabbitmq", ", unit: message", "", "no-unit"),
    "a rate taken for a depth": Mistake("redis", "unit: byte", "unit: byte/s", "rate"),
    "an inverse that is none": Mistake("redis", "inverse: open", "inverse: close", "no-inverse"),
    "an inverse of nothing": Mistake("redis", "makes: {serves: true, gated: false}", "makes: {}", "no-inverse"),
    "a unit that is not what waits": Mistake("redis", "  backlog: byte\n", "  backlog: key\n", "two-units"),
    "a value that never means true": Mistake(
        "rabbitmq", "type: bool, true_when: 1}", "type: bool, true_when: []}", "never-true"
    ),
    "a program that changes in a reading": Mistake(
        "postgresql", 'exec: [pg_controldata, "{data}"]', 'exec: [rm, "{data}"]', "reading-changes"
    ),
    "a word that changes in a reading": Mistake(
        "redis", '"{port}", CLIENT, LIST]', '"{port}", CONFIG, SET, x, y]', "reading-changes"
    ),
    "a parameter in quotes": Mistake(
        "postgresql", "where datname = :service order", "where datname = ':service' order", "sql-text"
    ),
    "an inverse that is not there": Mistake("rabbitmq", "inverse: open", "inverse: opened", "unknown-action"),
    "a secret in argv": Mistake(
        "redis", "exec: [redis-cli, -e,", "exec: [redis-cli, --password=hunter2, -e,", "secret-written"
    ),
    "a secret in a body": Mistake(
        "rabbitmq", "body: {configure:", "body: {password: hunter2, configure:", "secret-written"
    ),
    "an option that is a secret": Mistake(
        "redis", "options:\n", "options:\n  auth_token: {says: x}\n", "option-secret"
    ),
    "a reading that changes": Mistake(
        "rabbitmq", "http: {get: [api, permissions", "http: {put: [api, permissions", "reading-changes"
    ),
    "a path in one part": Mistake("rabbitmq", "[api, permissions,", "[api/permissions,", "path-part"),
    "half a word": Mistake("rabbitmq", '"{shovel}"', '"x-{shovel}"', "half-word"),
    "an option that nobody gives": Mistake("rabbitmq", '"{shovel}"', '"{shovl}"', "unknown-option"),
    "a shell": Mistake("redis", "exec: [redis-cli, -e,", "exec: [sh, -c, redis-cli, -e,", "shell"),
    "something that nothing makes": Mistake("redis", "makes: {gated: false}", "makes: {gate: false}", "makes-what"),
    "no reading of who serves": Mistake("redis", ", facet: serves}", "}", "no-serves"),
    "two links": Mistake(
        "rabbitmq", "type: bool, true_when: 1}", "type: bool, true_when: 1, facet: link}", "facet-twice"
    ),
    "a rule that follows from itself": Mistake(
        "redis", "link: {either_end: {follows: true}}", "link: {only_while: {serves: true}}", "model-rule"
    ),
    "called idempotent, and it is not": Mistake(
        "rabbitmq", "      - delete: [api, connections", "      - post: [api, connections", "not-idempotent"
    ),
    "an option in the text of a statement": Mistake(
        "postgresql", "rolname = :writers", "rolname = '{writers}'", "sql-text"
    ),
    "the end of the log is not read again": Mistake(
        "postgresql/controlled",
        "        where: {replayed: {reaches: {on: source, reading: control, field: ended}}}\n",
        "        where: {linked: true}\n",
        "not-reconfirmed",
    ),
    "the end of the log of a source that may write on": Mistake(
        "postgresql/controlled",
        "where: {writable: false}, say: the source takes writes again",
        "where: {follows: false}, say: the source takes writes again",
        "mark-not-gated",
    ),
    "the gate is read, and not that the sessions behind it are ended": Mistake(
        "rabbitmq/controlled", "{writable: false, sessions_ended: true}", "{writable: false}", "sessions-not-proven"
    ),
    "the clients that are left are not counted": Mistake(
        "postgresql/controlled", "{writable: false, clients: 0}", "{writable: false}", "sessions-not-proven"
    ),
    "the link is not read again": Mistake(
        "redis/uncontrolled",
        "where: {linked: false}\n        say: the target hears from the failed server again",
        "where: {follows: true}\n        say: the target is not a replica",
        "link-not-read",
    ),
    "a reading of two managers": Mistake(
        "redis",
        "      sentinel: {regex",
        "      sentinels: {regex: (x), type: text, facet: pilot}\n      sentinel: {regex",
        "facet-twice",
    ),
    "a name that the program gives": Mistake("redis", "  managers:\n", "  other_manager:\n", "reading-name"),
    "it is left out without an option that is not there": Mistake(
        "redis", "only_with: cluster_host", "only_with: cluster_hosts", "unknown-option"
    ),
    "it is left out without an option that is always there": Mistake(
        "redis", "only_with: cluster_host", "only_with: programs", "unknown-option"
    ),
    "a fence that nothing closes": Mistake(
        "postgresql", "    action: follow_from_next_start", "    action: follow_from_the_next", "unknown-action"
    ),
    "a fence that nothing proves": Mistake(
        "postgresql", "    reading: signal\n", "    reading: signl\n", "unknown-reading"
    ),
    "a step of an action that is not there": Mistake(
        "rabbitmq/controlled", "do: {on: target, action: open}", "do: {on: target, action: opens}", "unknown-action"
    ),
    "a check of a field that is not there": Mistake(
        "rabbitmq/controlled", "where: {waiting: 0}}", "where: {waitng: 0}}", "unknown-field"
    ),
}
EXPLORED: Mapping[str, Mistake] = {
    "it takes over without asking the source": Mistake(
        "rabbitmq/controlled", _CLOSED, _CLOSED.replace("false", "[true, false]"), "promoted-unconfirmed two-active"
    ),
    "the drain is read at the target": Mistake(
        "rabbitmq/controlled",
        "{on: source, reading: backlog, where: {waiting: 0}",
        "{on: target, reading: backlog, where: {waiting: 0}",
        "promoted-undrained messages-left",
    ),
    "it takes over without asking whether the fenced server was started": Mistake(
        "postgresql/uncontrolled-fenced",
        "where: {running: false, writes: false}\n        say: the failed server was started\n",
        "where: {running: [true, false]}\n        say: the failed server was started\n",
        "promoted-unconfirmed two-active",
    ),
    "it is rolled back without asking the target": Mistake(
        "rabbitmq/controlled", _UNDO, _UNDO.replace("false", "[true, false]"), "promoted-unconfirmed two-active"
    ),
}
_SHIPPED = ("nats", "postgresql", "rabbitmq", "redis")


def _asks_for_the_opposite(steps: Steps) -> None:
    """The first step wants a source that serves nobody."""
    serves = next(one for one in steps[0]["require"] if one["where"] == {"writable": True})
    serves["where"] = {"writable": False}


# Whole steps that are moved, changed or left out.
EDITED: Mapping[str, tuple[str, Callable[[Steps], None], str]] = {
    "it promotes before it stops": ("rabbitmq/controlled", before_it_stops, "promoted-unconfirmed two-active"),
    "nothing waits for the drain": ("rabbitmq/controlled", never_drained, "promoted-undrained messages-left"),
    "it can only refuse": ("rabbitmq/controlled", _asks_for_the_opposite, "never-done"),
    "nothing asks about another manager": (
        "redis/controlled",
        nobody_asks_about_a_manager,
        "changed-while-managed",
    ),
    "one of two other managers is asked about": (
        "postgresql/controlled",
        asks_about_one_manager("database"),
        "changed-while-managed",
    ),
    "an unknown manager is taken for none": (
        "rabbitmq/controlled",
        takes_an_unknown_manager_for_none,
        "changed-while-managed",
    ),
    "nobody answers for the fence": (
        "rabbitmq/uncontrolled",
        _without("unfenced"),
        "promoted-unconfirmed two-active",
    ),
    **{
        f"{family}: nothing asks at the end whether the target hears from the source": (
            f"{family}/uncontrolled",
            not_asked_about_its_link,
            "promoted-while-heard",
        )
        for family in _SHIPPED
    },
}
# By the line of a step that lint names: the steps of which it is said.
UNHEARD: Mapping[str, tuple[Callable[[Steps], None], set[str]]] = {
    "not before the question": (_without("link-lost"), {"unfenced"}),
    "not at the point of no return": (not_asked_about_its_link, {"take-over"}),
    "never": (never_asked_about_its_link, {"unfenced", "take-over"}),
}


def planted(folder: Path, mistake: Mistake) -> tuple[Path, Path, int]:
    """The copy of the family's file, the file with the mistake, and the line where that begins."""
    path = copied(folder, mistake.family)
    where = folder / f"{mistake.where}.yaml"
    text = where.read_text()
    assert mistake.old in text, mistake.old
    every = mistake.old.startswith("{on:")
    where.write_text(text.replace(mistake.old, mistake.new, -1 if every else 1))
    return path, where, text[: text.index(mistake.old)].count("\n") + 1


@pytest.mark.parametrize("name", LINTED)
def test_lint_finds_it(name: str, tmp_path: Path) -> None:
    """Law: the finding has the file of the mistake and a line that is not below it."""
    offer_families()
    path, where, line = planted(tmp_path, LINTED[name])
    found = [one for one in findings_of_file(path) if one.code == LINTED[name].found]
    assert found, [str(one) for one in findings_of_file(path)]
    lines = [one.line for one in found if one.file == str(where)]
    assert [one for one in lines if one is not None and one <= line + 1], (line, found)


@pytest.mark.parametrize("name", EXPLORED)
def test_exploration_finds_it(name: str, tmp_path: Path) -> None:
    """Law: the rule that it breaks is named, and so is the way to it."""
    offer_families()
    path, where, _ = planted(tmp_path, EXPLORED[name])
    assert is_found(path, where, EXPLORED[name].found)


@pytest.mark.parametrize("name", EDITED)
def test_exploration_finds_a_missing_step(name: str, tmp_path: Path) -> None:
    """Law: the same of whole steps."""
    offer_families()
    where, edit, rules = EDITED[name]
    path = copied(tmp_path, where.partition("/")[0])
    edited(tmp_path / f"{where}.yaml", edit)
    assert is_found(path, tmp_path / f"{where}.yaml", rules)


@pytest.mark.parametrize("kind", ["controlled", "uncontrolled", "restore"])
@pytest.mark.parametrize(
    ("where", "edit"),
    [
        ("redis", nobody_asks_about_a_manager),
        ("redis", asks_about_one_manager("managers")),
        ("redis", takes_an_unknown_manager_for_none),
        ("postgresql", asks_about_one_manager("database")),
        ("postgresql", asks_about_one_manager("cluster")),
    ],
)
def test_lint_finds_a_manager_that_is_not_asked_about(
    where: str, edit: Callable[[Steps], None], kind: str, tmp_path: Path
) -> None:
    """Law: a runbook asks about every manager that the family knows, and about one of which nothing is known too."""
    offer_families()
    path = copied(tmp_path, where)
    edited(tmp_path / where / f"{kind}.yaml", edit)
    found = [one for one in findings_of_file(path) if one.code == "manager-not-asked"]
    assert found
    assert {one.file for one in found} == {str(tmp_path / where / f"{kind}.yaml")}


@pytest.mark.parametrize("family", _SHIPPED)
@pytest.mark.parametrize("name", UNHEARD)
def test_lint_finds_that_nothing_asks_whether_the_source_is_heard(family: str, name: str, tmp_path: Path) -> None:
    """Law: a lost source is one that its mate no longer hears; each step that takes that for granted is named."""
    offer_families()
    edit, steps = UNHEARD[name]
    path = copied(tmp_path, family)
    edited(tmp_path / family / "uncontrolled.yaml", edit)
    found = [one for one in findings_of_file(path) if one.code == "link-not-read"]
    assert {step for step in steps for one in found if f"step {step} " in one.message} == steps
    assert len(found) == len(steps)
    assert all(one.line is not None and one.file == str(tmp_path / family / "uncontrolled.yaml") for one in found)


@pytest.mark.parametrize("kind", ["controlled", "uncontrolled"])
@pytest.mark.parametrize("family", _SHIPPED)
def test_lint_finds_a_move_that_moves_nothing(family: str, kind: str, tmp_path: Path) -> None:
    """Law: without the step that makes the target serve, a run would end done with no active site."""
    offer_families()
    path = copied(tmp_path, family)
    edited(tmp_path / family / f"{kind}.yaml", _without("take-over"))
    assert "never-moved" in {one.code for one in findings_of_file(path)}


@pytest.mark.parametrize("family", _SHIPPED)
def test_lint_finds_a_fence_that_stays_closed(family: str, tmp_path: Path) -> None:
    """Law (promise 8): what a command closes for a move, some restore opens."""
    offer_families()
    path = copied(tmp_path, family)
    (tmp_path / family / "restore-commanded.yaml").unlink()
    assert "fence-not-opened" in {one.code for one in findings_of_file(path)}


def is_found(path: Path, where: Path, rules: str) -> bool:
    """Is one of these rules broken, by a way that is told?"""
    file = read_family(path).result()
    family = family_of(file, path.with_name(file.family))
    runbook = read_runbook(where).result()
    actions = family.adapters[family.name].actions  # type: ignore[attr-defined]
    walk = explore(runbook, actions, states_max=20_000, disturbances_max=1, family=Generic(family, runbook))
    found = [one for one in walk.found if one.rule in rules.split()]
    assert found, {one.rule for one in walk.found}
    return all(one.ways for one in found if one.rule != "never-done")


@pytest.mark.parametrize("family", _SHIPPED)
def test_control_the_shipped_ones_have_none(family: str, tmp_path: Path) -> None:
    """Negative control: the files that the mistakes are made in are without one."""
    offer_families()
    assert findings_of_file(copied(tmp_path, family)) == []
    assert len(LINTED) + len(EXPLORED) + len(EDITED) >= 25
