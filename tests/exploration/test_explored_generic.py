"""A family without a model of its own is explored by its facets, and by what its actions make of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from examples.ledger import ledger
from orchestrator.documents.loader import read_runbook
from orchestrator.family.composite import compose
from orchestrator.family.registry import Registry
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from orchestrator.model.reading import Reading
from proof.exploration.generic.family import Generic, can_be_modelled
from proof.exploration.generic.shapes import SOME, reading_with
from proof.exploration.search import Exploration, explore
from proof.exploration.story import story

SHIPPED = (Path(ledger.__file__).parent / "runbooks/controlled.yaml").read_text("utf-8")
_, LINKED, CLOSE, DRAIN, OPEN, BATCHES = re.split(r"(?=^  - id: )", SHIPPED, flags=re.M)
RECONFIRM = OPEN[OPEN.index("    reconfirm:") : OPEN.index("    do:")]
GUARD = DRAIN[DRAIN.index("    guard:") : DRAIN.index("    progress:")]
IDLE_TARGET = "      - {on: target, reading: ledger, where: {writable: false}}\n"
IDLE_SOURCE = "      - {on: source, reading: ledger, where: {writable: false}, say: the source still takes rows}\n"
ACTIONS = {**ledger.LedgerAdapter.actions, **compose([Registry().get("local")]).actions}


def walk(folder: Path, text: str, family: Family = ledger.LEDGER, disturbances: int = 1) -> Exploration:
    """Explore a text of this family."""
    file = folder / "own.yaml"
    file.write_text(text, "utf-8")
    runbook = read_runbook(file).result()
    model = Generic(family, runbook)
    return explore(runbook, ACTIONS, states_max=50_000, disturbances_max=disturbances, family=model)


def rules(found: Exploration) -> list[str]:
    """What it finds broken."""
    assert found.unexplored == []
    return [one.rule for one in found.found]


def test_the_shipped_one_is_clean(tmp_path: Path) -> None:
    """Law: nothing is found where every part is there, and each kind of end is reached."""
    found = walk(tmp_path, SHIPPED)
    assert [story(one) for one in found.found] == []
    assert set(found.ends) == {"refused", "done", "reverted", "escalated", "needs-operator", "stuck"}
    runbook = read_runbook(tmp_path / "own.yaml").result()
    assert Generic(ledger.LEDGER, runbook).harmless(runbook) == ["close_batch"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (SHIPPED.replace(CLOSE, "").replace(OPEN, OPEN.replace(IDLE_SOURCE, "") + CLOSE), "promoted-unconfirmed"),
        (SHIPPED.replace(DRAIN, "").replace(RECONFIRM, ""), "promoted-undrained"),
        (SHIPPED.replace(GUARD, "").replace(RECONFIRM, ""), "promoted-undrained"),
        (SHIPPED.replace(RECONFIRM, ""), "messages-left"),
        (SHIPPED.replace(IDLE_SOURCE, ""), "two-active"),
        (
            SHIPPED.replace("    expect:\n      - {on: target, reading: ledger, where: {writable: true}}\n", ""),
            "not-done",
        ),
        (SHIPPED.replace("unattended: revert", "unattended: escalate"), "escalated-unattended"),
    ],
    ids=["open first", "no drain", "no guard", "not read again", "source not read", "not proven", "gives up"],
)
def test_a_broken_one_is_found(tmp_path: Path, text: str, rule: str) -> None:
    """Law: without one part of it, the promise that needs this part is broken, by a story."""
    assert text != SHIPPED
    found = walk(tmp_path, text)
    assert rule in rules(found)
    assert all(story(one)[0].startswith("at first: ") for one in found.found)


def test_what_may_serve_twice(tmp_path: Path) -> None:
    """Law: where both sites of a pair may serve, two that do break nothing; what is left behind still does."""

    class Shared(ledger.Ledger):
        """Both may."""

        exclusive: ClassVar[bool] = False

        @property
        def sent(self) -> bool | None:
            """As in the one that it derives from."""
            return super().sent

    family = replace(ledger.LEDGER, readings={**ledger.LEDGER.readings, "ledger": Shared})
    assert "two-active" not in rules(walk(tmp_path, SHIPPED.replace(IDLE_SOURCE, ""), family))
    assert "messages-left" in rules(walk(tmp_path, SHIPPED.replace(RECONFIRM, ""), family))


class Half(StrEnum):
    """What a database says it is."""

    PRIMARY = "primary"
    STANDBY = "standby"


class Derived(Reading):
    """The same in the product's own terms: every facet is derived."""

    facets: ClassVar[Mapping[Facet, str]] = {
        Facet.SERVES: "writable",
        Facet.LINK: "linked",
        Facet.BACKLOG: "unsent",
        Facet.SUSPENDED: "paused",
    }
    unit: ClassVar[str] = "row"

    kind: Literal["derived"] = "derived"
    half: Half | None = None
    state: str | None = None
    unsent: int | None = None
    paused: bool | None = None

    @property
    def writable(self) -> bool | None:
        """By its half."""
        return None if self.half is None else self.half is Half.PRIMARY

    @property
    def linked(self) -> bool | None:
        """By its state."""
        return None if self.state is None else self.state == "streaming"

    @property
    def sent(self) -> bool | None:
        """Is nothing left?"""
        return None if self.unsent is None else self.unsent == 0


DERIVED = replace(ledger.LEDGER, readings={**ledger.LEDGER.readings, "ledger": Derived})


def test_facets_that_are_derived(tmp_path: Path) -> None:
    """Law: values are found that have the facets; a text that the runbook compares with is one of them. Where
    replication can be switched off, a runbook that does not look at that leaves something behind."""
    wanted = {Facet.SERVES: True, Facet.LINK: True, Facet.BACKLOG: SOME}
    assert reading_with(Derived, wanted, ["streaming"]) == Derived(half=Half.PRIMARY, state="streaming", unsent=SOME)
    assert reading_with(Derived, wanted, []) is None
    text = SHIPPED.replace("linked: true", "state: streaming").replace("writable: false", "half: standby")
    assert rules(walk(tmp_path, text, DERIVED, 0)) == ["messages-left"]
    seen = text.replace("{writable: true, state: streaming}", "{writable: true, state: streaming, paused: false}")
    assert rules(walk(tmp_path, seen, DERIVED)) == []


def test_what_it_cannot_say_is_named(tmp_path: Path) -> None:
    """Law: with a word that no facet explains nothing is walked, and the word is named."""
    text = SHIPPED.replace("where: {sent: true}", "where: {sent: true, colour: red}")
    text = text.replace("do: {on: source, action: close_batch}", "do: {on: source, action: close_all}")
    found = walk(tmp_path, text.replace('state: "yes"', "state: perhaps"))
    assert (found.unexplored, found.states) == (
        ["colour of reading ledger", "action set_writable with state perhaps", "action close_all"],
        0,
    )
    assert walk(tmp_path, SHIPPED.replace("linked: true", "linked: false"), DERIVED).unexplored == [
        "reading ledger: no value of its fields has these facets"
    ]


def test_who_has_no_model() -> None:
    """Law: a family that does not say who serves, or what its actions make of that, is not explored."""
    assert can_be_modelled(ledger.LEDGER)
    assert not can_be_modelled(replace(ledger.LEDGER, makes={}))
    assert not can_be_modelled(replace(ledger.LEDGER, readings={"batches": ledger.Batches}))
