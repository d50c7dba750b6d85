"""Mistakes in a family file and in its runbooks: each is found, where it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.declared.adapter import adapter_of
from adapters.declared.family import family_of
from orchestrator.documents.generic_runbooks import KINDS, can_be_made
from orchestrator.documents.loader import load_runbook, read_family, read_runbook
from orchestrator.errors import DefinitionError, UnreadableReply
from orchestrator.family.contract import Call
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.families import SHIPPED
from proof.exploration.generic.family import Generic
from proof.exploration.search import explore
from tests.families.declared import COUNTER

FILE = SHIPPED / "postgresql.yaml"


def mistaken(folder: Path, old: str, new: str) -> tuple[Path, int]:
    """The shipped file with one mistake, and the line where it begins."""
    text = FILE.read_text()
    assert text.count(old) >= 1, old
    path = folder / "postgresql.yaml"
    path.write_text(text.replace(old, new, 1))
    return path, text[: text.index(old)].count("\n") + 1


MISTAKES = {
    "an unknown key": ("    summary: refuse the writers", "    sumary: refuse the writers", "unknown-key"),
    "an unknown facet": ("facet: reached", "facet: reachedd", "not-allowed"),
    "a facet on the wrong type": ("writable: {type: bool", "writable: {type: number", "facet-type"),
    "no unit": (", unit: byte", "", "no-unit"),
    "what was issued without what has arrived": (
        "      replayed: {type: number, facet: reached, unit: byte}",
        "      replayed: {type: number}",
        "one-end",
    ),
    "two units": (
        "      replayed: {type: number, facet: reached, unit: byte}",
        "      replayed: {type: number, facet: reached, unit: row}",
        "two-units",
    ),
    "a rate for a depth": ("unit: byte", "unit: byte/s", "rate"),
    "no reading of who serves": ("{type: bool, facet: serves}", "{type: bool}", "no-serves"),
    "two readings of the last number": (
        "      clients: {type: number, facet: clients}",
        "      clients: {type: number, facet: mark, unit: byte}",
        "facet-twice",
    ),
    "two last numbers, both read by status": ("    survey: false\n", "", "facet-twice"),
    "hexadecimal parts of a text": ("type: number, hex_bits: 32", "type: text, hex_bits: 32", "wrong-value"),
    "an inverse that does not exist": ("inverse: open_writers", "inverse: open_writer", "unknown-action"),
    "an inverse that is none": ("inverse: open_writers", "inverse: close_writers", "no-inverse"),
    "a facet that no action can make": ("makes: {follows_next: true}", "makes: {backlog: true}", "makes-what"),
    "a field that no action can make": ("makes: {follows_next: true}", "makes: {folows: true}", "makes-what"),
    "a model of a field that is not there": (
        "  knows_mate: [true, true]",
        "  knows_mates: [true, true]",
        "unknown-field",
    ),
    "an option put into a statement": ("rolname = :writers", "rolname = '{writers}'", "sql-text"),
    "an unknown parameter": ("where datname = :service", "where datname = :servise", "unknown-option"),
    "half a word": ('"{data}", -maxdepth', '"{data}/x", -maxdepth', "half-word"),
    "an unknown option in a command": ('"{data}", -maxdepth', '"{dat}", -maxdepth', "unknown-option"),
    "a shell": ("exec: [find,", 'exec: [sh, -c, "find",', "shell"),
    "a program that an option names": ("exec: [find,", 'exec: ["{data}",', "program"),
    "a secret among the options": (
        "  writers: {says",
        "  writers_password: {says: x}\n  writers: {says",
        "option-secret",
    ),
    "a secret among the driver's arguments": ("connect_timeout: 3,", "password: word,", "secret-written"),
    "an option that every site has": ("  writers: {says", "  address: {says: x}\n  writers: {says", "option-given"),
    "a default of another type": (
        "  writers: {says",
        "  count: {says: x, default: 3}\n  writers: {says",
        "option-default",
    ),
    "a reading that changes": (
        "select not pg_is_in_recovery()",
        "alter system reset all; select true",
        "reading-changes",
    ),
    "a statement cut at a comma": (
        "    sql: [checkpoint]",
        "    sql: [select pg_switch_wal(1, 2)]",
        "half-statement",
    ),
    "no database": ("connect:\n  sql:", "connect:\n  sqll:", "unknown-key"),
    "the service in what is done for the site": (
        "    summary: whether the server takes writes, and how many clients are connected",
        "    summary: who takes writes\n    per: site",
        "per-site",
    ),
    "a pointer into a query": ("writable: {type: bool", "writable: {from: /writable, type: bool", "field-source"),
    "two ways to ask": ("    sql: [checkpoint]", "    sql: [checkpoint]\n    exec: [pg_ctl]", "wrong-value"),
    "a time-out of nothing": ("    timeout: 10m", "    timeout: 0s", "wrong-value"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, tmp_path: Path) -> None:
    """Law: the file is refused with a sentence for the mistake, and with a line of the file."""
    old, new, code = MISTAKES[name]
    path, _ = mistaken(tmp_path, old, new)
    read = read_family(path)
    assert read.value is None, name
    assert [one for one in read.findings if one.line is not None], read.findings
    assert code in {one.code for one in read.findings}, [str(one) for one in read.findings]


def test_control_the_shipped_file_has_none() -> None:
    """Negative control: the file that the mistakes are made in is without one."""
    assert read_family(FILE).findings == ()


def explored(folder: Path, old: str, new: str) -> set[str]:
    """The rules that a changed copy of the shipped runbook breaks."""
    text = (SHIPPED / "postgresql/controlled.yaml").read_text()
    assert old in text
    path = folder / "own.yaml"
    path.write_text(text.replace(old, new, 1))
    runbook = read_runbook(path).result()
    file = read_family(FILE).result()
    family = Generic(family_of(file, SHIPPED / "postgresql"), runbook)
    assert family.unexplored(runbook) == []
    actions = family_of(file, SHIPPED / "postgresql").adapters["postgresql"].actions  # type: ignore[attr-defined]
    walk = explore(runbook, actions, states_max=20_000, disturbances_max=1, family=family)
    assert walk.states > 1_000
    return {one.rule for one in walk.found}


def test_a_promotion_that_does_not_ask_for_the_source_is_found(tmp_path: Path) -> None:
    """Law: the model that `makes` and `model` give finds a target that takes over while the source takes writes."""
    asked = "{closed: true, writes: false}\n        say: the source was started\n"
    assert explored(tmp_path, asked, asked.replace("closed: true, writes: false", "closed: [true, false]"))


def test_control_the_shipped_runbook_breaks_nothing(tmp_path: Path) -> None:
    """Negative control: the same walk of the shipped runbook finds nothing."""
    assert explored(tmp_path, "summary: Planned", "summary: A planned") == set()


@pytest.mark.parametrize("name", ["restore", "restore-rebuilt", "uncontrolled-fenced"])
def test_what_follows_a_loss_breaks_nothing(name: str) -> None:
    """Law: no order of events lets a failed server come back as a second primary, or a step count that is not so."""
    runbook = read_runbook(SHIPPED / f"postgresql/{name}.yaml").result()
    family = family_of(read_family(FILE).result(), SHIPPED / "postgresql")
    actions = family.adapters["postgresql"].actions  # type: ignore[attr-defined]
    walk = explore(runbook, actions, states_max=20_000, disturbances_max=1, family=Generic(family, runbook))
    assert (walk.states > 1_000, walk.found) == (True, [])
    assert "done" in walk.ends


def test_values_are_read_strictly() -> None:
    """Law: null and absent are unknown, what is no value of its type is refused, and a field that means nothing at this
    end is unknown."""
    from adapters.declared.reading_models import reading_model, reading_of, rows_of

    file = FamilyFile.model_validate(COUNTER)
    declared = file.readings["counter"]
    model = reading_model("any", "counter", declared)
    rows = rows_of('{"state": {"role": "primary"}, "unsent": 3, "next": null}', 0, declared, {})
    found = reading_of(model, declared, rows)
    assert (found.model_dump()["writable"], found.model_dump()["unsent"]) == (True, 3)
    rows = rows_of('{"state": {"role": "copy"}, "unsent": 0}', 0, declared, {})
    found = reading_of(model, declared, rows)
    assert (found.model_dump()["writable"], found.model_dump()["unsent"]) == (False, None)
    for wrong in (
        '{"state": {"role": "primary"}, "unsent": "many"}',
        '{"state": {"role": "primary"}, "unsent": 0.5}',
        "no",
    ):
        with pytest.raises(UnreadableReply):
            reading_of(model, declared, rows_of(wrong, 0, declared, {}))


def test_a_position_in_a_log_is_a_number() -> None:
    """Law: parts of so many bits each make one number, which grows as the position does; what is none is refused, and
    what means something only at a server that was stopped is unknown at one that runs."""
    from adapters.declared.reading_models import reading_model, reading_of, rows_of

    declared = read_family(FILE).result().readings["control"]
    model = reading_model("any", "control", declared)

    def read(state: str, place: str) -> dict[str, object]:
        text = f"Database cluster state:               {state}\nLatest checkpoint location:           {place}\n"
        return reading_of(model, declared, rows_of(text, 0, declared, {})).model_dump()

    last, next_file = read("shut down", "0/FFFFFFD8"), read("shut down", "1/28")
    assert (last["closed"], last["writes"], last["ended"]) == (True, False, 0xFFFFFFD8)
    assert next_file["ended"] == 0x100000028
    running = read("in production", "1/28")
    assert (running["closed"], running["writes"], running["ended"]) == (False, None, None)
    for wrong in ("1/", "1/G0", "1/100000000", "1/-2"):
        with pytest.raises(UnreadableReply):
            read("shut down", wrong)


def test_a_runbook_of_a_family_file_is_loaded_by_its_name() -> None:
    """Law: runbooks in the folder beside the file are known by the name of the family."""
    from orchestrator.operations.declared_families import offer_families

    offer_families()
    assert load_runbook("postgresql/controlled").family == "postgresql"


def test_a_new_file_has_no_mistake(tmp_path: Path) -> None:
    """Law: what `family new` prints can be checked, and nothing is found; it has every runbook at once."""
    from orchestrator.operations.declared_families import findings_of_file, new_family_file

    path = tmp_path / "orders-db.yaml"
    path.write_text(new_family_file("orders-db"))
    assert findings_of_file(path) == []
    file = read_family(path).result()
    assert file.family == "orders-db"
    assert all(can_be_made(file, kind) for kind in KINDS)
    with pytest.raises(DefinitionError, match="cannot be the name"):
        new_family_file("Orders DB")


def test_runbooks_beside_a_file_are_checked_with_it(tmp_path: Path) -> None:
    """Law: lint of a family file finds what is wrong with its runbooks."""
    from orchestrator.operations.declared_families import findings_of_file

    (tmp_path / "postgresql").mkdir()
    (tmp_path / "postgresql.yaml").write_text(FILE.read_text())
    text = (SHIPPED / "postgresql/controlled.yaml").read_text()
    (tmp_path / "postgresql/controlled.yaml").write_text(text.replace("action: take_over", "action: takeover"))
    found = [one.code for one in findings_of_file(tmp_path / "postgresql.yaml")]
    assert sorted(found) == ["no-runbook", "unknown-action"]  # nothing gives an unplanned move
    assert findings_of_file(FILE) == []


def test_an_unknown_facet_is_named_with_what_was_meant(tmp_path: Path) -> None:
    """Law: a word that is none of a list is told as every other one: with the list, and the nearest."""
    path, _ = mistaken(tmp_path, "facet: reached", "facet: reachedd")
    [finding] = read_family(path).findings
    assert "Input should be" not in finding.message
    assert "did you mean reached?" in (finding.hint or ""), finding


def test_a_statement_is_shown_with_its_parameters() -> None:
    """Law: a plan and a record show the parameters of each statement; a plan leaves out those of items."""
    file = read_family(FILE).result()
    known = {"writers": "app"}
    actions = adapter_of(file, family_of(file, None).readings, known).actions
    assert actions["close_writers"].commands(Call("shop", {}))[0].endswith('{"service": "shop", "writers": "app"}')
    (planned,) = actions["resolve"].commands(Call("shop", {}))
    (sent,) = actions["resolve"].commands(Call("shop", {"outcome": "commit", "gid": "it's"}))
    assert planned.endswith("\\gexec")
    assert sent == planned + ' {"outcome": "commit", "gid": "it\'s"}'
