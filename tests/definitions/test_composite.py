"""Several adapters of one site, as one: who is asked, who is opened, what is declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from adapters.solace.reading_models import DeviceHealth
from orchestrator.clock import VirtualClock
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import load_runbook
from orchestrator.errors import AuthenticationFailed, CommandTimedOut, HostKeyRejected, Unreachable
from orchestrator.family.composite import compose
from orchestrator.family.contract import ActionSpec, Adapter, AdapterContext, Call, Permit, ReadingSpec, Result
from orchestrator.family.reachability import with_made_readings
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from tests.seam import Permits

SETTING = AdapterContext(clock=VirtualClock(), secrets=SecretStore())


def a_kind(
    readings: Sequence[str] = (),
    actions: Sequence[str] = (),
    *,
    name: str = "",
    simulated: bool = False,
    refuses: Exception | None = None,
) -> type[Adapter]:
    """An adapter that answers with its own name, and keeps a diary."""

    class Kind:
        readings: ClassVar[Mapping[str, ReadingSpec]]
        actions: ClassVar[Mapping[str, ActionSpec]]
        simulated: ClassVar[bool]
        diary: list[str]

        def __init__(self, site: Site, setting: AdapterContext) -> None:
            self.site, self.setting = site, setting
            self.diary = site.options["diary"]  # a list that the parts share

        def open(self) -> None:
            self.diary.append(f"{name} opened")
            if refuses is not None:
                raise refuses

        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading]:
            return dict.fromkeys(services, DeviceHealth(node=name))

        def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
            return (Result(call, Effect.ACCEPTED, device=name) for call in calls)

        def close(self) -> None:
            self.diary.append(f"{name} closed")

    Kind.readings = {one: ReadingSpec(one, name, lambda services: []) for one in readings}
    Kind.actions = {one: ActionSpec(one, name, idempotent=True, commands=lambda call: []) for one in actions}
    Kind.simulated = simulated
    return Kind


def a_site(*also: str) -> tuple[Site, list[str]]:
    diary: list[str] = []
    site = Site.model_validate(
        {
            "name": "ny",
            "adapter": "one",
            "devices": [{"name": "ny1"}],
            "also": [{"adapter": name} for name in also],
        }
    )
    shared = {"diary": diary}
    parts = tuple(one.model_copy(update={"options": shared}) for one in site.also)
    return site.model_copy(update={"options": shared, "also": parts}), diary


def test_one_adapter_is_itself() -> None:
    """Law: a site with one adapter is spoken to by that one, with nothing in between."""
    kind = a_kind()
    assert compose([kind]) is kind


def test_the_first_that_declares_it_is_asked() -> None:
    """Law: each reading and action goes to the first adapter that has it, and what it declares is that one's."""
    kinds = [
        a_kind(["health", "fence"], ["set_role"], name="semp"),
        a_kind(["health", "platform"], ["set_role", "shut"], name="cli"),
    ]
    kind = compose(kinds)
    assert {name: spec.summary for name, spec in kind.readings.items()} == {
        "health": "semp",
        "fence": "semp",
        "platform": "cli",
    }
    assert {name: spec.summary for name, spec in kind.actions.items()} == {"set_role": "semp", "shut": "cli"}
    site, _ = a_site("two")
    adapter = kind(site, SETTING)
    assert adapter.probe("health", ["A"])["A"] == DeviceHealth(node="semp")
    assert adapter.probe("platform", ["A"])["A"] == DeviceHealth(node="cli")
    assert [one.device for one in adapter.apply("set_role", [Call("A")], Permits())] == ["semp"]
    assert [one.device for one in adapter.apply("shut", [Call("A")], Permits())] == ["cli"]
    with pytest.raises(ValueError, match="no adapter of the site has a reading transactions"):
        adapter.probe("transactions", ["A"])
    with pytest.raises(ValueError, match="no adapter of the site has an action boil"):
        adapter.apply("boil", [Call("A")], Permits())


@pytest.mark.parametrize(("kinds", "all_of_them"), [((True, True), True), ((True, False), False)])
def test_half_a_simulation_is_none(kinds: tuple[bool, ...], all_of_them: bool) -> None:
    """Law (promise 13): a site counts as simulated only if nothing that speaks for it is real."""
    assert compose([a_kind(simulated=one) for one in kinds]).simulated is all_of_them


AWAY, LATE = Unreachable("no route"), CommandTimedOut("no answer")
WRONG, OTHER = AuthenticationFailed("wrong password"), HostKeyRejected("another key")


@pytest.mark.parametrize(
    ("first", "second", "raised"),
    [
        (None, None, None),
        (AWAY, None, AWAY),
        (LATE, None, LATE),
        (None, AWAY, None),
        (None, LATE, None),
        (None, WRONG, WRONG),
        (AWAY, WRONG, WRONG),
        (OTHER, WRONG, OTHER),
        (AWAY, AWAY, AWAY),
    ],
)
def test_opening_tells_early_what_a_person_must_mend(
    first: Exception | None, second: Exception | None, raised: Exception | None
) -> None:
    """Law: all are opened whatever becomes of one; a refusal of any is raised, silence only of the first."""
    site, diary = a_site("two")
    adapter = compose([a_kind(name="1", refuses=first), a_kind(name="2", refuses=second)])(site, SETTING)
    if raised is None:
        adapter.open()
    else:
        with pytest.raises(type(raised), match=str(raised)):
            adapter.open()
    assert diary == ["1 opened", "2 opened"]


def test_all_are_closed() -> None:
    """Law: closing a site closes every session."""
    site, diary = a_site("two", "three")
    compose([a_kind(name=name) for name in "123"])(site, SETTING).close()
    assert sorted(diary) == ["1 closed", "2 closed", "3 closed"]


# --- through the registry ------------------------------------------------------------------------------------------

COMMANDS = {
    "cut": {"argv": ["cut-ports"], "check": ["ports-are-cut"], "undo": "open"},
    "open": {"argv": ["open-ports"], "idempotent": True},
}


def a_real_site(**more: object) -> Site:
    also = [{"adapter": "local", "options": {"commands": COMMANDS}}]
    given = {"name": "ny", "adapter": "solace-semp", "devices": [{"name": "a", "address": "a", "port": 1943}]}
    return Site.model_validate({**given, "also": also, "fence": [{"command": "cut"}], **more})


def test_what_a_site_declares_is_what_its_options_give() -> None:
    """Law: an adapter whose words depend on the site declares that site's, so a wrong one is found beforehand."""
    declared = Registry().declarations(a_real_site())
    assert declared.actions["run"].arguments["command"].choices == ("cut", "open")
    assert declared.actions["ensure"].arguments["command"].choices == ("open",)
    assert {"replication", "fence", "external_fence"} <= set(declared.readings)
    without = Registry().declarations(a_real_site(fence=()))
    assert "external_fence" not in without.readings
    assert "set_external_fence" not in without.actions


def test_simulated_is_said_by_the_site_or_by_all_its_adapters() -> None:
    """Law: a lab's site says so itself; otherwise all that speak for it must be simulated."""
    registry = Registry()
    assert not registry.is_simulated(a_real_site())
    assert registry.is_simulated(a_real_site(simulated=True))
    assert registry.is_simulated(a_real_site(adapter="mock", also=()))
    assert not registry.is_simulated(a_real_site(adapter="mock"))


@pytest.mark.parametrize("name", ["solace/uncontrolled-commanded", "solace/restore-commanded"])
def test_the_shipped_runbooks_fit_a_site_with_a_command(name: str) -> None:
    """Law: a shipped runbook has no error for the sites it is chosen for, each side judged by its own adapters."""
    runbook = load_runbook(name)
    plain = a_real_site(also=(), fence=())
    sides: Mapping[Side, Site] = {"source": a_real_site(), "target": plain}
    for side, site in sides.items():
        declared = Registry().declarations(site)
        found = lint(runbook, with_made_readings(declared.readings), declared.actions, side=side)
        assert [str(one) for one in found if one.level == "error"] == []
    declared = Registry().declarations(plain)
    codes = {
        one.code for one in lint(runbook, with_made_readings(declared.readings), declared.actions, side="source")
    }
    assert {"unknown-reading", "unknown-action"} <= codes


def test_the_commanded_runbooks_are_the_others_and_the_command() -> None:
    """Law: what is true of the runbooks without a command stays true of those with one."""
    restore, commanded = load_runbook("solace/restore"), load_runbook("solace/restore-commanded")
    assert [step for step in commanded.steps if not step.id.endswith("-outside")] == list(restore.steps)
    dark, commanded = load_runbook("solace/uncontrolled"), load_runbook("solace/uncontrolled-commanded")
    assert [step.id for step in commanded.steps] == ["source-lost", "target-ready", "fence", "activate"]
    assert commanded.steps[:2] == dark.steps[:2]
    closed = commanded.steps[3].require[-1]
    assert (closed.reading, closed.where) == ("external_fence", {"closed": True})
    without = commanded.steps[3].model_copy(update={"require": commanded.steps[3].require[:-1]})
    assert without == dark.steps[-1]
