"""Names full of signs that mean something to a shell, a CLI, XML, a URL or a path, through every adapter.

What arrives is exactly the name, seen at the other end (the world's own account, or the program that was run); or it is
refused, and nothing at all was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.local.adapter import LocalAdapter
from adapters.solace.reading_models import ReplicationStatus
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import AdapterError, DefinitionError
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Device, Site
from orchestrator.model.outcome import Effect, Failure
from simulator.lab.of_world import serve_world
from simulator.lab.server import LabSettings
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.attack.names import ILLEGAL, LEGAL
from tests.seam import Permits

pytestmark = pytest.mark.realtime


@dataclass
class Far:
    """An adapter of one family, and what is known at its other end."""

    adapter: Adapter
    world: World
    lines: Callable[[], tuple[str, ...]]

    def heard(self) -> dict[str, int]:
        """How many changes arrived, by the name of the service they arrived for."""
        tallies = self.world.tallies()
        return {name: sum(one.received for one in tally.commands.values()) for name, tally in tallies.items()}


FAMILIES = ("mock", "solace-cli", "solace-semp")


@pytest.fixture(scope="module")
def fars(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Far]]:
    """One world with all these names, behind each family."""
    vpns = tuple(VpnLayout(name, publish_rate=0, consume_rate=0) for name in LEGAL)
    world = World(WorldLayout((SiteLayout("ny", ("ny1",)), SiteLayout("nj", ("nj1",))), vpns), SystemClock())
    folder = tmp_path_factory.mktemp("names")
    setting = AdapterContext(SystemClock(), SecretStore())
    registry = Registry()
    mock = Site(
        name="ny", adapter="mock", devices=(Device(name="ny1"),), options={"world": WORLDS.register("names", world)}
    )
    with serve_world(world, directory=folder, settings=LabSettings(semp="https")) as lab:
        found = {"mock": mock}
        for name, path in (("solace-cli", lab.inventory_path), ("solace-semp", lab.semp_inventory_path)):
            found[name] = load_inventory(path)[0].sites["ny"]
        fars = {
            name: Far(registry.adapter_for(site, setting), world, lambda: lab.log("ny", "ny1").changes)
            for name, site in found.items()
        }
        for far in fars.values():
            far.adapter.open()
        yield fars
        for far in fars.values():
            far.adapter.close()
    WORLDS.forget("names")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_legal_name_arrives_as_it_is(fars: Mapping[str, Far], family: str) -> None:
    """Law: it is read, and changed, by exactly that name; no neighbour hears anything."""
    far = fars[family]
    for name in LEGAL:
        [(asked, answer)] = far.adapter.probe("replication", [name]).items()
        assert (asked, isinstance(answer, ReplicationStatus)) == (name, True), answer
        before = far.heard()
        [result] = far.adapter.apply("set_role", [Call(name, {"role": "standby"})], Permits())
        changed = {one for one, count in far.heard().items() if count != before[one]}
        assert (result.effect, changed) == (Effect.ACCEPTED, {name}), result.detail


@pytest.mark.parametrize("family", FAMILIES)
def test_together_they_do_not_mix(fars: Mapping[str, Far], family: str) -> None:
    """Law: asked for all at once, each has its own answer."""
    answers = fars[family].adapter.probe("replication", LEGAL)
    assert set(answers) == set(LEGAL)
    assert [name for name, answer in answers.items() if isinstance(answer, Failure)] == []


def refused(far: Far, name: str) -> None:
    """Neither a reading nor a change with this name gets anywhere."""
    before, lines = far.heard(), far.lines()
    with suppress(AdapterError, DefinitionError):
        assert not isinstance(far.adapter.probe("replication", [name]).get(name), ReplicationStatus)
    for action, args in (
        ("set_role", {"role": "active"}),
        ("complete_transaction", {"xid": "1-1-1", "outcome": "commit"}),
    ):
        try:
            results = list(far.adapter.apply(action, [Call(name, args)], Permits()))
        except (AdapterError, DefinitionError):
            continue
        assert {one.effect for one in results} <= {Effect.NOT_SENT, Effect.REJECTED}
    assert (far.heard(), far.lines()) == (before, lines)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_illegal_name_goes_nowhere(fars: Mapping[str, Far], family: str) -> None:
    """Law: it is refused before anything that changes has left, and no service hears of it."""
    for name in ILLEGAL:
        refused(fars[family], name)


@pytest.mark.parametrize("family", FAMILIES)
@given(
    name=st.text("ab \"'`;|&<>\\\n\r\x00\t*?", min_size=1, max_size=20).filter(lambda name: set(name) - set("ab "))
)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_other_illegal_name_goes_nowhere(fars: Mapping[str, Far], family: str, name: str) -> None:
    """Law: the same for any mixture of signs that no name may have."""
    refused(fars[family], name)


@pytest.mark.parametrize("family", FAMILIES[1:])
@pytest.mark.parametrize(
    "xid", ["1-1-1 ; x", "1-1-1\nend", "../../msgVpns/a", "1-1-1/commit", "1-1-1?x=1", "1-1-1#", '1"', "", "x" * 300]
)
def test_an_xid_that_is_none_goes_nowhere(fars: Mapping[str, Far], family: str, xid: str) -> None:
    """Law: what devices and decision files call a transaction is not trusted any more than a name."""
    far = fars[family]
    before, lines = far.heard(), far.lines()
    calls = [Call("a b", {"xid": xid, "outcome": "commit"})]
    assert {one.effect for one in far.adapter.apply("complete_transaction", calls, Permits())} <= {Effect.NOT_SENT}
    assert (far.heard(), far.lines()) == (before, lines)


# --- commands of the operator's own -----------------------------------------------------------------------------------


@pytest.fixture
def local(tmp_path: Path) -> LocalAdapter:
    """A site with one program, which writes down its words and its environment byte by byte."""
    program = tmp_path / "note"
    program.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" "$FAILOVER_SERVICE" > {tmp_path}/heard\n')
    program.chmod(0o755)
    commands = {"note": {"argv": [str(program), "{service}", "{site}"], "per": "service"}}
    site = Site(name="ny", adapter="local", devices=(Device(name="ny1"),), options={"commands": commands})
    return LocalAdapter.fitted(site)(site, AdapterContext(SystemClock(), SecretStore()))


def run_for(local: LocalAdapter, name: str) -> Effect:
    [result] = local.apply("run", [Call(name, {"command": "note"})], Permits())
    return result.effect


def test_a_word_of_a_command_is_the_name(local: LocalAdapter, tmp_path: Path) -> None:
    """Law: a program gets the name as one word, never read by a shell; or it is not run."""
    for name in LEGAL:
        (tmp_path / "heard").unlink(missing_ok=True)
        if run_for(local, name) is Effect.NOT_SENT:
            assert name.startswith("-")
            assert not (tmp_path / "heard").exists()
        else:
            assert (tmp_path / "heard").read_text().split("\0")[:-1] == [name, "ny", name]


def test_an_illegal_name_starts_no_command(local: LocalAdapter, tmp_path: Path) -> None:
    """Law: nothing is run for it."""
    assert {run_for(local, name) for name in ILLEGAL} == {Effect.NOT_SENT}
    assert not (tmp_path / "heard").exists()
