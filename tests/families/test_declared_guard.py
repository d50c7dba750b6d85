"""`failover guard` of a family in a file: what it decides by facets, and the runbook that its file gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.declared.family import family_of
from adapters.declared.guard import decide_guard, serving_reading
from orchestrator.documents.generic_runbooks import generic_runbook
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import read_family
from orchestrator.errors import DefinitionError
from orchestrator.family.reachability import with_made_readings
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.families import SHIPPED
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from tests.families.declared import COUNTER, Counters

FILE = FamilyFile.model_validate(COUNTER)
MODEL = family_of(FILE, None).readings["counter"]
SERVES, CLOSED, UNKNOWN = (MODEL.model_validate(one) for one in ({"writable": True}, {"writable": False}, {}))
AWAY = Failure(kind="unreachable", text="it does not answer")

CASES: Mapping[str, tuple[Reading | Failure, Reading | Failure, str, str]] = {
    "both serve": (SERVES, SERVES, "act", "it serves one, and SO DOES ITS MATE"),
    "it is closed": (CLOSED, SERVES, "safe", "it does not serve"),
    "the mate is closed": (SERVES, CLOSED, "leave", "its mate does not report that it serves"),
    "the mate is away": (SERVES, AWAY, "leave", "its mate does not report that it serves"),
    "the mate reports nothing": (SERVES, UNKNOWN, "leave", "its mate does not report that it serves"),
    "it reports nothing": (UNKNOWN, SERVES, "unclear", "the site does not report it"),
    "its server is down": (AWAY, SERVES, "unclear", "it does not answer"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_it_does(case: str) -> None:
    """Law: a site is closed only where both are read as serving; what is unknown closes nothing."""
    here, there, kind, why = CASES[case]
    now = decide_guard({"one": here}, {"one": there})
    assert (now.kind, why in now.why) == (kind, True), now
    assert now.services == (("one",) if kind == "act" else ())


def test_each_service_alone() -> None:
    """Law: of several services, those are closed that both sites serve."""
    now = decide_guard({"a": SERVES, "b": CLOSED, "c": SERVES}, {"a": SERVES, "b": SERVES, "c": CLOSED})
    assert (now.kind, now.services, now.both_active) == ("act", ("a",), ("a",))


@pytest.mark.parametrize("family", ["postgresql", "redis", "rabbitmq", "nats"])
def test_those_that_come_with_the_program(family: str) -> None:
    """Law: each is guarded by the one action that ends service and can be rolled back, and by a runbook that lint
    accepts: a run of the guard is refused otherwise, and both sites keep serving."""
    file = read_family(SHIPPED / f"{family}.yaml").result()
    made = family_of(file, SHIPPED / family)
    assert made.guard() is not None
    runbook = generic_runbook(file, "guard")
    kind: Any = made.adapters[family]
    assert [one.message for one in lint(runbook, with_made_readings(kind.readings), kind.actions)] == []
    close = runbook.steps[-1]
    assert close.do is not None
    assert (close.do.on, file.actions[close.do.action].makes["serves"]) == ("source", False)
    assert all(check.reading == serving_reading(file) for check in close.require)


LEFT = [
    *(
        (family, "guard", family in ("postgresql", "rabbitmq"))
        for family in ("postgresql", "rabbitmq", "redis", "nats")
    ),
    ("rabbitmq", "controlled", True),
    ("postgresql", "restore", True),
    ("redis", "restore", False),
]


@pytest.mark.parametrize(("family", "kind", "left"), LEFT)
def test_a_closed_site_has_no_client(family: str, kind: str, left: bool) -> None:
    """Law: a runbook made from a file closes a site only once its clients are gone, if the file counts them. Without
    this, a command that broke off after it shut the door counted as done, and open sessions still wrote."""
    runbook = generic_runbook(read_family(SHIPPED / f"{family}.yaml").result(), kind)
    (close,) = [step for step in runbook.steps if step.id == "close"]
    assert (0 in [value for check in close.expect for value in check.where.values() if value is not False]) is left


def test_a_runbook_that_no_run_would_take(tmp_path: Path) -> None:
    """Law: a guard does not start with a runbook that lint refuses: it would find out once both sites serve."""
    counters = Counters.make(tmp_path)
    counters.write("nj", state={"role": "primary"}, linked=True)
    (tmp_path / "ny.json").unlink()
    runbook = (tmp_path / "families/counter/controlled.yaml").read_text()
    broken = runbook.replace("counter/controlled", "counter/guard").replace("action: stop", "action: halt")
    (tmp_path / "families/counter/guard.yaml").write_text(broken)
    code, text = counters.run("guard", "--site", "ny", "--yes")
    assert (code, "halt" in text, "guarding" in text) == (2, True, False), text


def test_where_no_action_is_meant() -> None:
    """Law: without an inverse it could not be rolled back, so the family offers no guard, and its runbook says why."""
    plain: dict[str, Any] = {**COUNTER, "actions": {k: {**v, "inverse": None} for k, v in COUNTER["actions"].items()}}
    file = FamilyFile.model_validate(plain)
    assert family_of(file, None).guard() is None
    with pytest.raises(DefinitionError, match="must make serves: false and have an inverse, but no action does"):
        generic_runbook(file, "guard")
