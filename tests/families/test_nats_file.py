"""What the family of NATS makes of answers that a server gave (2.15.1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.declared.family import family_of
from adapters.declared.reading_models import reading_model, reading_of, rows_of
from orchestrator.documents.loader import read_family, read_runbook
from orchestrator.family.composite import compose
from orchestrator.family.contract import Adapter
from orchestrator.family.registry import Registry
from orchestrator.model.families import SHIPPED
from orchestrator.model.reading import Reading
from orchestrator.operations.declared_families import findings_of_file, offer_families
from proof.exploration.generic.family import Generic
from proof.exploration.search import Exploration, explore

FILE = read_family(SHIPPED / "nats.yaml").result()
SITE = {"service": "ORDERS", "subjects": ("orders.>",), "parked": "parked.ORDERS", "mate": "$JS.ny.API"}
LEVEL = {"_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1"}
CONFIG: dict[str, Any] = {"name": "ORDERS", "retention": "limits", "sealed": False, "metadata": LEVEL}
STATE = {"messages": 20, "first_seq": 1, "last_seq": 20, "last_ts": "2026-11-25T15:02:10.45Z", "consumer_count": 0}
MIRROR = {"name": "ORDERS", "external": {"api": "$JS.ny.API", "deliver": ""}}
NONE = {"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}


def read(answer: dict[str, Any], code: int = 0) -> Reading:
    """The reading ``stream`` of an answer."""
    declared = FILE.readings["stream"]
    rows = rows_of(json.dumps(answer), code, declared, {})
    return reading_of(reading_model("any", "stream", declared), declared, rows, SITE)


def stream(**config: Any) -> dict[str, Any]:
    """A stream that takes messages, but for ``config``."""
    return {"config": {**CONFIG, "subjects": ["orders.>"], **config}, "state": STATE}


def mirror(*, active: int, api: str = "$JS.ny.API", **config: Any) -> dict[str, Any]:
    """A mirror that heard of its stream ``active`` ns ago."""
    of = {**MIRROR, "external": {"api": api, "deliver": ""}}
    return {
        "config": {**CONFIG, "mirror": of, **config},
        "state": STATE,
        "mirror": {**of, "lag": 0, "active": active},
    }


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (stream(), {"writable": True, "follows": False, "issued": 20, "reached": None, "heard": None}),
        (stream(subjects=["parked.ORDERS"]), {"writable": False, "takes": False, "issued": 20}),
        (stream(subjects=["orders.>", "bills.>"]), {"writable": True, "takes_these_alone": False}),
        # Trap N3: it has the subjects and refuses messages, for ever.
        (stream(sealed=True), {"writable": False, "sealed": True}),
        (stream(retention="workqueue"), {"by_limits": False}),
        # Trap N1: before 2.12 a mirror cannot be promoted; before 2.11 the server tells no level.
        (stream(metadata={**LEVEL, "_nats.level": "1"}), {"promotable": False}),
        (stream(metadata={}), {"promotable": False}),
        (mirror(active=471687), {"writable": False, "follows": True, "heard": True, "issued": None, "reached": 20}),
        # Trap N2: in a partition the lag is 0, and so it is before the first contact.
        (mirror(active=17_000_000_000), {"heard": False, "reached": 20}),
        (mirror(active=-1), {"heard": False}),
        (mirror(active=1, api="$JS.la.API"), {"writable": False, "follows": False, "heard": None}),
    ],
)
def test_what_an_answer_says(answer: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Law: who takes messages, and how old the link is, is read from what the server says of both; never from its lag."""
    found = read(answer)
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_no_stream() -> None:
    """Law: a site without the stream takes no messages, and all else is unknown."""
    found = read(NONE, 10059)
    assert (found.model_dump(exclude_none=True)) == {"kind": "any/stream", "known": False, "writable": False}


def test_the_file_and_its_runbooks_have_no_mistake() -> None:
    """Law: lint finds nothing in what is shipped."""
    offer_families()
    assert findings_of_file(SHIPPED / "nats.yaml") == []


def walked(path: Path) -> Exploration:
    """A runbook with every outcome, and one disturbance."""
    runbook = read_runbook(path).result()
    family = family_of(FILE, SHIPPED / "nats")
    kinds = [cast("type[Adapter]", family.adapters["nats"]), Registry().get("local")]
    return explore(
        runbook, compose(kinds).actions, states_max=50_000, disturbances_max=1, family=Generic(family, runbook)
    )


@pytest.mark.parametrize("kind", ["controlled", "uncontrolled", "uncontrolled-commanded", "restore"])
def test_a_runbook_is_explored_clean(kind: str) -> None:
    """Law: no promise is broken whatever happens once, and everything that the runbook reads is known to the model."""
    found = walked(SHIPPED / f"nats/{kind}.yaml")
    assert ([one.rule for one in found.found], found.unexplored) == ([], [])
    assert {"done", "refused", "needs-operator"} <= set(found.ends)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (
            "controlled",
            "where: {writable: false}, say: the source takes messages again}\n      - {on: target",
            "where: {writable: true}}\n      - {on: target",
        ),
        ("controlled", "where: {known: false, writable: false}}", "where: {known: false}}"),
    ],
)
def test_a_broken_runbook_is_found(tmp_path: Path, kind: str, old: str, new: str) -> None:
    """Negative control: a check that is missing, or asks for the opposite, is found with the way to it."""
    text = (SHIPPED / f"nats/{kind}.yaml").read_text()
    assert old in text
    path = tmp_path / "own.yaml"
    path.write_text(text.replace(old, new, 1))
    found = walked(path)
    assert found.found or "done" not in found.ends
