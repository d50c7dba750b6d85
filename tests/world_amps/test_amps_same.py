"""Whatever speaks for an instance, in process or over its administration interface, reads the same of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.model.outcome import Failure
from simulator.amps.embedded import HOME, SERVICE
from tests.amps_admin.world_pair import WorldPair

# Remembered by a session, and not of the instance; and what the inventory of each says of the disk.
OF_THE_SESSION = frozenset({"calm_s", "steady_s"})
FAULTS = ("at 12s: link orders-ny orders-ldn down 4s", "at 20s: stale orders-ny 5s")


def parts(reading: object) -> object:
    """A reading without what belongs to the session."""
    if isinstance(reading, dict):
        return {name: parts(value) for name, value in reading.items() if name not in OF_THE_SESSION}
    return [parts(one) for one in reading] if isinstance(reading, list | tuple) else reading


def test_readings_of_one_world_are_the_same_both_ways(tmp_path: Path) -> None:
    """Through a cut of the link, statistics that stand still, and clients that come and go."""
    pair = WorldPair(tmp_path, "in process", starts_closed=False)
    inside = pair.adapter(HOME)
    pair.way = "over HTTP"
    outside = pair.adapter(HOME)
    pair.fault(*FAULTS)
    pair.wait(5.0)
    for _ in range(10):
        pair.wait(2.0)
        for reading in inside.readings:
            one, other = (adapter.probe(reading, [SERVICE])[SERVICE] for adapter in (inside, outside))
            assert not isinstance(one, Failure)
            assert parts(one.model_dump()) == parts(other.model_dump()), reading
    pair.end()


def test_control_a_difference_is_seen() -> None:
    """Negative control: the comparison leaves out nothing but what it names."""
    with pytest.raises(AssertionError):
        assert parts({"items": [{"calm_s": 1, "sync": True}]}) == parts({"items": [{"calm_s": 2, "sync": False}]})
    assert parts({"items": ({"calm_s": 1},)}) == parts({"items": [{"calm_s": 2}]})
