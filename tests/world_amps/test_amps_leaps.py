"""Where nothing moves, the world leaps. What happens in it is the same for who looks all the time and who does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.world_amps.conftest import Stage

Build = Callable[..., Stage]
FOR = 60


def told(one: Stage) -> dict[str, Any]:
    """What happened, with its moments; but not when a link came back whose other side was down or cut off: who was not
    looking for a while does not count the tries in between."""
    with one.world.request():
        fabric = one.world.fabric
        links = [link for instance in fabric.instances.values() for link in instance.links.values()]
        return {
            "changes": fabric.ledger.changes,
            "open": fabric.ledger.open,
            "logs": {name: sorted(line.text for line in instance.log) for name, instance in fabric.instances.items()},
            "links": [(link.to, link.disconnected_at, link.disconnects) for link in links],
            "clients": {name: fabric.clients_at(name) for name in fabric.instances},
        }


@pytest.mark.parametrize(
    ("fault", "leaves"),
    [
        ("at 20s: kill B 3s", ("open", [(0.0, ("A", "B")), (20.0, ("A",)), (23.3, ("A", "B"))])),
        ("at 20.05s: kill B 3s", ("open", [(0.0, ("A", "B")), (20.1, ("A",)), (23.4, ("A", "B"))])),
        ("at 20s: link A B down 5s", ("links", [("B", 20.0, 1), ("A", 20.0, 1)])),
        ("at 20s: somebody disables A", ("changes", [(19.9, "A", "closed", "somebody")])),
        ("at 20s: somebody downgrades A", ("changes", [(19.9, "A", "async", "somebody")])),
    ],
)
def test_a_leap_changes_nothing(stage: Build, fault: str, leaves: tuple[str, object]) -> None:
    """A fault happens at its moment, and lasts as long as it says, however long nobody looked before it."""
    seen = []
    for looks in (1, FOR * 20):
        one = stage(feed={"rate": 0.0})
        one.fault(fault)
        for _ in range(looks):
            one.wait(FOR / looks)
            one.world.tally()
        seen.append(told(one))
    leapt, watched = seen
    part, wanted = leaves
    assert watched[part] == wanted
    assert leapt == watched


def test_a_cut_ends_at_its_moment_though_nobody_looks(stage: Build) -> None:
    """The links are back when it is over, not when somebody looks the next time."""
    one = stage(feed={"rate": 0.0})
    one.fault("at 20s: link A B down 5s")
    one.wait(FOR)
    assert [link for _, _, link in told(one)["links"]] == [1, 1]
    back = [link.connected_at for name in "AB" for link in one.world.console(name).instance.links.values()]
    assert back == [25.0, 25.0]
