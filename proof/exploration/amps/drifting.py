"""The changes that a pair of AMPS instances undergoes by itself or by another person. An instance dies and comes back,
links are lost and catch up, clients leave, queue messages are handed over. This module must never know which step waits
for a change.
"""

from __future__ import annotations

from collections.abc import Iterator

from proof.exploration.amps.pair import BACKLOG, FRESH, LEVEL, Life, Pair, settled
from proof.exploration.family import ANOTHER_OPERATOR, SIDE_NAMES, SOURCE, TARGET, Move, with_side

STARTED, BACK = "is started again", "can be reached again"


def drifts(pair: Pair, asked: frozenset[str], looks: frozenset[str]) -> Iterator[Move[Pair]]:
    """See ``family.Family``. Changes of clients and queue messages happen only when a reading can show them. All other
    changes may happen in any round, because promises depend on them."""
    yield from _meddles(pair)
    for side in (SOURCE, TARGET):
        yield from _lives(pair, side)
    yield from _links(pair)
    if "clients" in asked:
        for side in (SOURCE, TARGET):
            if pair.clients[side] and not pair.takes(side):
                gone = pair._replace(clients=with_side(pair.clients, side, False))
                yield f"the last client of the {SIDE_NAMES[side]} is gone", gone, True
    if "queues" in asked and "owned" in looks:
        yield from _hands_over(pair)


def _meddles(pair: Pair) -> Iterator[Move[Pair]]:
    """Another person lets clients in or shuts them out. In one disturbance, both may happen, with messages in between."""
    for side in (SOURCE, TARGET):
        name = SIDE_NAMES[side]
        if pair.life[side] in ("dead", "fetching"):
            continue
        if pair.door[side] != "on":
            opened = pair._replace(door=with_side(pair.door, side, "on"))
            yield f"{ANOTHER_OPERATOR} lets clients in at the {name}", settled(opened), False
        if pair.door[side] != "off":
            shut = pair._replace(door=with_side(pair.door, side, "off"))
            yield f"{ANOTHER_OPERATOR} shuts clients out at the {name}", settled(shut), False
    is_closed = pair.door[SOURCE] == "off" and pair.life[SOURCE] == "up"
    if is_closed and pair.connected:
        told = with_side(pair.told, SOURCE, pair.told[SOURCE] or not pair.sync[SOURCE])
        served = pair._replace(behind=with_side(pair.behind, SOURCE, BACKLOG), told=told, link=False)
        what = f"{ANOTHER_OPERATOR} lets clients in at the source for a while, and its link is lost meanwhile"
        yield what, settled(served), False


def _lives(pair: Pair, side: int) -> Iterator[Move[Pair]]:
    name, life = SIDE_NAMES[side], pair.life[side]
    if life == "dead":
        yield f"the {name} {STARTED}", started(pair, side), False
        return
    if life == "cut-off":
        yield f"the {name} {BACK}", _living(pair, side, "up"), False
    elif life == "recovering":
        yield f"the {name} has finished its recovery", settled(_living(pair, side, "up")), True
    elif life == "fetching":
        if _can_fetch(pair, side):
            got = pair._replace(empty=with_side(pair.empty, side, pair.empty[1 - side]))
            yield f"the {name} has fetched its state", settled(_living(got, side, "recovering")), True
    else:
        if side == SOURCE:
            yield "the source can no longer be reached from here", _living(pair, side, "cut-off"), False
        yield f"the {name} dies and {STARTED}", started(died(pair, side), side), False
    yield f"the {name} dies", died(pair, side), False


def _living(pair: Pair, side: int, life: Life) -> Pair:
    return pair._replace(life=with_side(pair.life, side, life))


def _can_fetch(pair: Pair, side: int) -> bool:
    """An instance can fetch its state only from a mate that runs and does not wait for a bootstrap itself
    (docs/sources/amps.md, 3.5)."""
    mate = 1 - side
    return pair.link and pair.runs(mate) and not (pair.empty[mate] and pair.fetches[mate])


def died(pair: Pair, side: int) -> Pair:
    """The process is gone. Its data on disk stays, and messages in transit become a backlog."""
    behind = with_side(pair.behind, side, BACKLOG if pair.behind[side] else LEVEL)
    gone = pair._replace(clients=with_side(pair.clients, side, False), behind=behind)
    return settled(_living(gone, side, "dead"))


def started(pair: Pair, side: int) -> Pair:
    """The instance starts as configured: transports, links (docs/sources/amps.md, 9.2) and proxied transfer."""
    fetches = pair.empty[side] and pair.fetches[side]
    back = pair._replace(
        door=with_side(pair.door, side, "on" if pair.starts_open[side] else "off"),
        sync=with_side(pair.sync, side, pair.configured),
        proxied=with_side(pair.proxied, side, "off"),
    )
    return settled(_living(back, side, "fetching" if fetches else "recovering"))


def _links(pair: Pair) -> Iterator[Move[Pair]]:
    what = "the network between the instances is lost" if pair.link else "the network between the instances is back"
    yield what, settled(pair._replace(link=not pair.link)), not pair.link
    for side in (SOURCE, TARGET):
        name = SIDE_NAMES[side]
        if not pair.runs(side):
            continue
        if not pair.connected and pair.sync[side] and pair.behind[side]:
            # The action of the configuration that 60East recommends for pairs.
            downgraded = pair._replace(sync=with_side(pair.sync, side, False))
            yield f"the {name} downgrades its link by itself", settled(downgraded), True
        if pair.connected:
            level = FRESH if pair.clients[side] else LEVEL
            if pair.behind[side] > level:
                flown = _arrived(pair, side)._replace(behind=with_side(pair.behind, side, level))
                yield f"the mate of the {name} catches up", settled(flown), True
            elif pair.told[side] and pair.sync[side]:
                yield f"what the {name} had acknowledged arrives", settled(_arrived(pair, side)), True


def _arrived(pair: Pair, side: int) -> Pair:
    return pair._replace(told=with_side(pair.told, side, False))


def _hands_over(pair: Pair) -> Iterator[Move[Pair]]:
    """An owner without consumers hands its queue messages to an instance with consumers (docs/sources/amps.md, 9.1)."""
    for side in (SOURCE, TARGET):
        if pair.owned[side] and pair.connected and pair.clients[1 - side] and not pair.clients[side]:
            given = pair._replace(owned=with_side(pair.owned, side, False))
            yield f"the {SIDE_NAMES[side]} hands its queue messages over", given, True
