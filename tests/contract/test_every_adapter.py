"""Laws about all adapters together: none goes without the conformance suite, and all read the same of one world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from orchestrator.family.contract import Call
from orchestrator.family.reachability import probe
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from simulator.solace.faults import parse_faults
from tests.contract.benches import BENCHES, MAIN, ODD, OTHER, REGISTRY, WorldBench
from tests.contract.laws import Counting, results_of

# Registered, and held to the laws on a bench of its own, or to laws of its own: it speaks to nothing of this world.
ELSEWHERE: Mapping[str, str] = {
    "local": "tests/contract/test_local.py",
    "amps-admin": "tests/contract/test_amps_admin.py",
    "mock-amps": "tests/contract/test_mock_amps.py",
}
SERVICES = (MAIN, OTHER, *ODD)
# Until everybody has connected again, and nothing moves any more.
SETTLED_S = 1.0
# What no two moments have in common.
OF_THE_MOMENT = frozenset({"in_state_s", "clock_offset_s", "oldest_at"})


def test_every_registered_adapter_is_held_to_the_laws() -> None:
    """An adapter that is installed with the product has a bench, or a reason and laws elsewhere."""
    assert set(REGISTRY.names()) == set(BENCHES) | (set(ELSEWHERE) & set(REGISTRY.names()))


def as_it_is(bench: WorldBench) -> None:
    """Nothing happened."""


def moved(bench: WorldBench) -> None:
    """One message VPN is active at the other site, with one transaction completed on the way."""
    calls = [
        ("ny", "set_role", Call(MAIN, {"role": "standby"})),
        ("ny", "complete_transaction", Call(MAIN, {"xid": "0021B028-00-01", "outcome": "commit"})),
        ("nj", "set_role", Call(MAIN, {"role": "active"})),
    ]
    for site, action, call in calls:
        results_of(bench.adapter(site=site), action, [call], Counting(bench))


def cut(bench: WorldBench) -> None:
    """The replication link is cut."""
    bench.world.inject(parse_faults(["at 0s: bridge down"]))


def switched(bench: WorldBench) -> None:
    """The HA mate serves, and the node that served before shows nothing any more."""
    bench.world.inject(parse_faults(["at 0s: ha switch ny"]))


@pytest.mark.realtime
@pytest.mark.parametrize("happens", [as_it_is, moved, cut, switched])
def test_the_same_readings_of_the_same_world(happens: Callable[[WorldBench], None], tmp_path: Path) -> None:
    """Whatever one adapter says of a site, no other says something else; what one cannot tell is unknown to it."""
    told: dict[str, Mapping[str, Mapping[str, Reading | Failure]]] = {}
    for name, kind in BENCHES.items():
        (tmp_path / name).mkdir()
        with kind(tmp_path / name) as bench:
            happens(bench)
            bench.clock.sleep(SETTLED_S)
            told[name] = {
                f"{reading} at {site}": probe(adapter, reading, SERVICES)
                for site in ("ny", "nj")
                for adapter in [bench.adapter(site=site)]
                for reading in adapter.readings
            }
    assert sorted(_contradictions(told)) == []


def _contradictions(told: Mapping[str, Mapping[str, Mapping[str, Reading | Failure]]]) -> Iterator[str]:
    for name, readings in told.items():
        for reading, answers in readings.items():
            for service, answer in answers.items():
                theirs = told["mock"][reading][service]
                yield from (
                    f"{name}, {reading} of {service}: {text}" for text in _differences(_plain(answer), _plain(theirs))
                )


def _plain(answer: Reading | Failure) -> object:
    return answer.model_dump(mode="json") if not isinstance(answer, Failure) else {"failed": answer.kind}


def _differences(mine: object, theirs: object, at: str = "") -> Iterator[str]:
    """Where both say something, and not the same."""
    if mine is None or theirs is None:
        return
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in (mine.keys() | theirs.keys()) - OF_THE_MOMENT:
            yield from _differences(mine.get(key), theirs.get(key), f"{at}.{key}")
    elif isinstance(mine, list) and isinstance(theirs, list):
        ordered = [sorted(one, key=repr) for one in (_keyed(mine), _keyed(theirs))]
        if len(mine) != len(theirs):
            yield f"{at}: {mine} and {theirs}"
        for one, other in zip(*ordered, strict=False):
            yield from _differences(one[1], other[1], f"{at}[{one[0]}]")
    elif isinstance(mine, float) and isinstance(theirs, float | int):
        if abs(mine - theirs) > 0.001:
            yield f"{at}: {mine} and {theirs}"
    elif mine != theirs:
        yield f"{at}: {mine!r} and {theirs!r}"


def _keyed(items: list[object]) -> list[tuple[str, object]]:
    names = ("xid", "name", "node")
    return [
        (str(next((one[key] for key in names if key in one), one)) if isinstance(one, dict) else str(one), one)
        for one in items
    ]
