"""Fences and suspension in the world: a shut backbone keeps clients and bridge out, on the node it was shut on."""

from __future__ import annotations

from pathlib import Path

from adapters.mock.adapter import MockAdapter
from adapters.solace.reading_models import Endpoints, Fence, QueueDepth
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect
from simulator.solace.world import World
from tests.seam import Permits, read, told
from tests.world.stage import Adapters, Stages


def fence(adapter: MockAdapter) -> Fence:
    return read(adapter, Fence, "V")


def shut(adapter: MockAdapter, state: str) -> list[Effect]:
    return [result.effect for result in adapter.apply("set_backbone", [Call("V", {"state": state})], Permits())]


def test_a_shut_backbone_drops_clients_and_bridge(stage: Stages, adapter: Adapters) -> None:
    """All clients go at once, none can come, and the mate's bridge loses the queue: a fenced site drains nothing."""
    here = stage(publish_rate=10, backlog=50, drain_rate=10)
    ny = adapter(here.world, "ny")
    here.wait(1)
    assert (fence(ny).open, fence(ny).closed) == (True, False)
    assert shut(ny, "down") == [Effect.ACCEPTED]
    assert (fence(ny).open, fence(ny).closed) == (False, True)
    before = here.depth()
    here.wait(10)
    assert (here.depth(), here.row("nj").local_bridge, here.row("ny").queue_bound) == (before, "down", False)


def test_an_opened_backbone_lets_them_back(stage: Stages, adapter: Adapters) -> None:
    """Clients come by their host list, the bridge dials again, the queue drains, and nothing was lost."""
    here = stage(publish_rate=10, backlog=50, drain_rate=100)
    ny = adapter(here.world, "ny")
    shut(ny, "down")
    here.wait(5)
    shut(ny, "up")
    here.wait(10)
    assert (fence(ny).open, here.depth(), here.row("nj").local_bridge, here.tally().lost) == (True, 0, "up", 0)


def test_each_node_is_told(stage: Stages, adapter: Adapters) -> None:
    """The flag is not config-synced: the adapter shuts both nodes, and a switch-over does not let clients in."""
    here = stage(ha=True, publish_rate=10)
    ny = adapter(here.world, "ny")
    shut(ny, "down")
    here.fault("any: ha switch ny")
    here.wait(5)
    assert [node.backbone_up for node in fence(ny).nodes] == [False, False]
    assert fence(ny).closed is True


def test_a_node_that_does_not_answer_makes_the_fence_unknown(stage: Stages, adapter: Adapters) -> None:
    """Closed is a word about every node; silence is not one."""
    here = stage(publish_rate=10)
    ny = adapter(here.world, "ny")
    shut(ny, "down")
    here.fault("any: unreachable ny 60s")
    assert (fence(ny).closed, fence(ny).open) == (None, None)


def test_a_fence_survives_on_file(stage: Stages, tmp_path: Path) -> None:
    """A world that is saved and loaded is fenced as before, and remembers that replication is suspended."""
    here = stage(publish_rate=10)
    here.node("ny").set_msg_backbone(up=False)
    here.node("ny").set_reject_on_discard("V", enabled=False)
    here.world.save(tmp_path / "world.json")
    again = World.load(tmp_path / "world.json", here.clock)
    node = again.appliance("ny", "NY_Appliance1")
    assert (node.is_backbone_up(), node.replication_queue("V").reject_on_discard) == (False, False)


def test_suspension_stores_locally_what_the_queue_cannot_hold(stage: Stages, adapter: Adapters) -> None:
    """docs/sources/solace-procedure.md, uncontrolled 3: publishers go on once the queue is full, and the sites differ
    from then on."""
    here = stage(publish_rate=100, drain_rate=1, quota_mb=1, message_bytes=1_048_576 // 50)
    here.fault("any: bridge down")
    here.node("ny").set_reject_on_discard("V", enabled=False)
    here.wait(5)
    assert here.tally().acknowledged > here.depth()
    queue = read(adapter(here.world, "nj"), QueueDepth, "V")
    assert queue.rejects_on_discard is False  # config-sync carries it to the other site (docs/sources/solace.md, 1.4)


def test_endpoints_tell_the_age_of_their_oldest_message(stage: Stages, adapter: Adapters) -> None:
    """In seconds since the epoch, never later than it was sent, and to a second exact."""
    here = stage(publish_rate=10, consume_rate=0, unconsumed=0)
    here.wait(30)
    here.depth()
    found = read(adapter(here.world, "ny"), Endpoints, "V")
    queue = next(item for item in found.items if item.endpoint == "queue")
    assert queue.messages == 300
    assert here.clock.now() - 31 <= told(float, queue.oldest_at) <= here.clock.now() - 29
