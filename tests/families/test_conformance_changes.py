"""The laws of changes: each can be broken, each is held by a pair that is simulated, and nothing is changed unless a site
is named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.declared.family import DeclaredFamily, family_of
from adapters.mock.declared.adapter import mock_name
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import Adapter, AdapterContext, Call, Permit, Result
from orchestrator.family.secrets import SecretStore
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.families import needed_family
from orchestrator.model.inventory import Device, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.operations.conformance import Verdict
from orchestrator.operations.conformance_changes import (
    BACK,
    CLOSED,
    FENCED,
    LAWS,
    SHOWN,
    TWICE,
    Changed,
    verdicts_of_changes,
)
from orchestrator.operations.declared_families import offer_families
from proof.simulation.outside import FencedAdapter, OutsideFence
from proof.simulation.story import FenceCommand
from simulator.generic.layout import GenericService, generic_layout
from simulator.generic.world import GenericWorld
from simulator.generic.worlds import GENERIC_WORLDS
from tests.families.declared import COUNTER, Counters

SERVICE = "orders"


def outcomes(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """How each law ended."""
    assert [one.law for one in verdicts] == list(LAWS)
    return {one.law: one.outcome for one in verdicts}


def simulated(family: str, site: str, *, fenced: bool = False) -> tuple[list[Verdict], bool]:
    """The verdicts at one site of a simulated pair, and whether ny serves afterwards."""
    offer_families()
    clock, found = VirtualClock(), needed_family(family)
    assert isinstance(found, DeclaredFamily)
    assert found.file is not None
    layout = generic_layout(found.file, sites=("ny", "nj"), source="ny", services=(GenericService(name=SERVICE),))
    world = GenericWorld(layout, clock)
    with GENERIC_WORLDS.standing(world, "laws", file=None, clock=clock) as (_, reference):
        kind: Any = found.adapters[mock_name(family)]
        device = Device(name=f"{site}-1")
        where = Site(name=site, adapter=mock_name(family), devices=(device,), options={"world": reference})
        adapter = kind(where, AdapterContext(clock, SecretStore()))
        if fenced:
            fence = OutsideFence(FenceCommand(site=site), clock, lambda closed: world.fence(site, closed=closed))
            adapter = FencedAdapter(adapter, clock, fence)
        verdicts = list(verdicts_of_changes(found, Changed(site, adapter, SERVICE), clock))
        with world.request():
            return verdicts, world.view("ny", SERVICE).serves


@pytest.mark.parametrize("family", ["redis", "rabbitmq", "nats"])
def test_a_simulated_pair_keeps_them(family: str) -> None:
    """Law: what can be rolled back is done, read, done again and rolled back at the site that serves; it serves then."""
    verdicts, serves = simulated(family, "ny", fenced=True)
    assert outcomes(verdicts) == dict.fromkeys(LAWS, "holds")
    assert serves


def test_no_site_is_opened() -> None:
    """Law: at a site that does not serve nothing is closed, and nothing is opened beside its mate."""
    verdicts, serves = simulated("redis", "nj")
    assert set(outcomes(verdicts).values()) == {"not checked"}
    assert any("can start only if a reading shows serves: true" in why for why in verdicts[0].details)
    assert serves


class Door:
    """A site that is open or closed, with one fault of its own."""

    def __init__(self, fault: str = "") -> None:
        file = FamilyFile.model_validate(dict(COUNTER))
        self.family = family_of(file, None)
        real: Any = self.family.adapters["counter"]
        self.readings, self.actions, self.fault = real.readings, real.actions, fault
        self.is_open, self.told = True, list[str]()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``Adapter``."""
        said = None if self.fault == "mute" else self.is_open
        model: Any = self.family.readings[reading]
        return {one: model(writable=said) for one in services}

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``Adapter``."""
        for call in calls:
            permit.check()
            again = action in self.told
            self.told.append(action)
            if self.fault == "killed":
                raise KeyboardInterrupt
            if self.fault == "no second call" and again:
                yield Result(call, Effect.REJECTED, detail="already done")
                continue
            if self.fault != f"deaf to {action}":
                self.is_open = action == "start"
            if self.fault == "opens at the second call" and again:
                self.is_open = True
            yield Result(call, Effect.ACCEPTED)


def at_a_door(fault: str) -> tuple[dict[str, str], list[Verdict], Door]:
    """How the laws end at a door with this fault."""
    door = Door(fault)
    changed = Changed("ny", cast("Adapter", door), SERVICE)
    verdicts = list(verdicts_of_changes(door.family, changed, VirtualClock()))
    return outcomes(verdicts), verdicts, door


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ("", set()),
        ("deaf to stop", {SHOWN, CLOSED}),
        ("deaf to start", {BACK, CLOSED}),
        ("no second call", {TWICE}),
        ("opens at the second call", {TWICE}),
    ],
)
def test_each_law_can_be_broken(fault: str, broken: set[str]) -> None:
    """Law: a site that does not do what its family's file says breaks the law that says it, and no other."""
    found, verdicts, door = at_a_door(fault)
    assert {law for law, outcome in found.items() if outcome == "broken"} == broken
    assert found[FENCED] == "not checked"
    left = any("LEFT CHANGED" in one for verdict in verdicts for one in verdict.details)
    assert left is (not door.is_open) is (fault == "deaf to start")


def test_what_cannot_be_read_is_not_done() -> None:
    """Law: an action starts only from a state that was read."""
    found, _, door = at_a_door("mute")
    assert (set(found.values()), door.told) == ({"not checked"}, [])


def test_an_interrupt_rolls_back() -> None:
    """Law: who interrupts it leaves no closed site behind: the inverse is sent whatever happened."""
    door = Door("killed")
    with pytest.raises(KeyboardInterrupt):
        list(verdicts_of_changes(door.family, Changed("ny", cast("Adapter", door), SERVICE), VirtualClock()))
    assert door.told == ["stop", "start"]


@pytest.mark.realtime
def test_the_command(tmp_path: Path) -> None:
    """Law: without ``--change`` nothing is changed; with it the named site is, and is as before in the end. A site
    that is none of the family is refused."""
    counters = Counters.make(tmp_path)
    words = ("family", "test", "counter", "--inventory", str(tmp_path / "inventory.yaml"))
    before = (tmp_path / "ny.json").stat().st_mtime_ns
    code, text = counters.run(*words)
    assert (code, LAWS[0] in text, (tmp_path / "ny.json").stat().st_mtime_ns == before) == (0, False, True), text
    code, text = counters.run(*words, "--change", "ny", "--json")
    laws = {one["law"]: one["outcome"] for one in json.loads(text.splitlines()[-1])["laws"]}
    assert (code, {laws[law] for law in LAWS if law != FENCED}, laws[FENCED]) == (0, {"holds"}, "not checked"), text
    assert ((tmp_path / "ny.json").stat().st_mtime_ns > before, counters.role("ny")) == (True, "primary")
    code, text = counters.run(*words, "--change", "la")
    assert (code, "its sites are ny, nj" in text) == (2, True), text
