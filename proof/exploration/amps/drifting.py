"""What happens to a pair of AMPS instances by itself, or by somebody else: the source dies and comes back, links are lost
and catch up, clients leave, queue messages are handed over. Must never know which step is waiting for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from proof.exploration.amps.pair import FRESH, LEVEL, Pair, settled
from proof.exploration.family import SIDE_NAMES, SOURCE, TARGET, Move, with_side

# The fields in which links show.
FLOW = frozenset({"connected", "caught_up", "keeping_up", "behind_s", "sync", "downgraded", "recovered"})


def drifts(pair: Pair, asked: frozenset[str], looks: frozenset[str]) -> Iterator[Move[Pair]]:
    """See ``family.Family``. What could not show waits until it can; but doors may be opened and the source may restart
    whenever somebody looks, since promises are about them."""
    if not pair.meddled:
        for side in (SOURCE, TARGET):
            if pair.door[side] == "off" and (side == TARGET or pair.life not in ("dead", "fetching")):
                opened = pair._replace(door=with_side(pair.door, side, "on"), meddled=True)
                yield f"somebody else lets clients in at the {SIDE_NAMES[side]}", settled(opened), False
    if "source" in asked:
        yield from _lives(pair)
    if asked & {"links", "instance"} and looks & FLOW:
        yield from _links(pair)
    if "clients" in asked:
        for side in (SOURCE, TARGET):
            if pair.clients[side] and not pair.takes(side):
                gone = pair._replace(clients=with_side(pair.clients, side, False))
                yield f"the last client of the {SIDE_NAMES[side]} is gone", gone, True
    if "queues" in asked and "owned" in looks:
        yield from _hands_over(pair)


def _lives(pair: Pair) -> Iterator[Move[Pair]]:
    if pair.life == "dead":
        yield "the source is started again", started(pair), False
        return
    if pair.life == "cut-off":
        yield "the source can be reached again", pair._replace(life="up"), False
    elif pair.life == "recovering":
        yield "the source has finished its recovery", settled(pair._replace(life="up")), True
    elif pair.life == "fetching":
        if pair.link and not (pair.empty[TARGET] and pair.fetches[TARGET]):
            got = pair._replace(life="recovering", empty=with_side(pair.empty, SOURCE, pair.empty[TARGET]))
            yield "the source has fetched its state", settled(got), True
    else:
        yield "the source cannot be reached from here any more", pair._replace(life="cut-off"), False
        yield "the source dies and is started again", started(died(pair)), False
    yield "the source dies", died(pair), False


def died(pair: Pair) -> Pair:
    """The process of the source is gone; what is on disk stays."""
    return settled(pair._replace(life="dead", clients=with_side(pair.clients, SOURCE, False)))


def started(pair: Pair) -> Pair:
    """It comes up as configured: transports, links (DOC:9759) and proxied transfer."""
    fetches = pair.empty[SOURCE] and pair.fetches[SOURCE]
    return settled(
        pair._replace(
            life="fetching" if fetches else "recovering",
            door=with_side(pair.door, SOURCE, "on" if pair.starts_open else "off"),
            sync=with_side(pair.sync, SOURCE, pair.configured),
            proxied=with_side(pair.proxied, SOURCE, "off"),
        )
    )


def _links(pair: Pair) -> Iterator[Move[Pair]]:
    what = "the network between the instances is lost" if pair.link else "the network between the instances is back"
    yield what, settled(pair._replace(link=not pair.link)), not pair.link
    for side in (SOURCE, TARGET):
        name = SIDE_NAMES[side]
        if not pair.runs(side):
            continue
        if not pair.connected and pair.sync[side] and pair.behind[side]:
            # An action of its configuration, as 60East recommends one for pairs.
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
    """The owner gives its queue messages to who has consumers, if it has none itself (facts section 9.1)."""
    for side in (SOURCE, TARGET):
        if pair.owned[side] and pair.connected and pair.clients[1 - side] and not pair.clients[side]:
            given = pair._replace(owned=with_side(pair.owned, side, False))
            yield f"the {SIDE_NAMES[side]} hands its queue messages over", given, True
