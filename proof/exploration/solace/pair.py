"""A replicated pair, reduced to the subjects of the promises: roles, bridge, depth in three classes, one transaction,
doors. The pair obeys actions and moves by itself, by its own rules.

The rules are those of the documents (docs/sources/solace-procedure.md, docs/sources/solace.md), not those of a runbook.
The expectations of a step are never checked here. A side is 0 (source) or 1 (target), the sides that a run fixes. Values
are immutable, and nothing is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from proof.exploration.family import ANOTHER_OPERATOR, SIDE_NAMES, SOURCE, TARGET, Change, Move, with_side

Door = Literal["open", "half", "shut"]
Held = Literal["prepared", "committed", "rolled-back", "gone"]
# ``passing``: the site may answer again by itself, as after a restart. ``down``: only a person can repair it.
Dark = Literal["no", "passing", "down"]
# Another message VPN of the same sites. ``none``: it does not rely on the source's shut doors. ``under way``: it relies
# on them and is under way. ``relies``: it has failed over behind them.
Neighbour = Literal["none", "under way", "relies"]

XID = "1-0a-01"
# Depth classes of a replication queue: empty, less than before, a backlog.
BACKLOG = 2


class Pair(NamedTuple):
    """One moment of the pair. ``last``: the side that was made active last. ``link``: the network between the sites.

    ``depth``: class of each side's replication queue. ``bypassed``: messages bypassed the queue while replication was
    suspended, so that no queue holds them. ``dark``: a site's management does not answer and no client is served.
    ``others``: another message VPN is active at the source. ``neighbour``: another message VPN relies on the source's
    shut doors; ``opening``: this one was granted to open them, and from then on no other one can start to rely on them.
    ``untold``: the devices do not report sync eligibility. ``unequal``: endpoints hold messages of different age.
    ``late``: a change that was obeyed and has not taken effect yet.
    """

    active: tuple[bool, bool] = (True, False)
    last: int = SOURCE
    link: bool = True
    depth: tuple[int, int] = (0, 0)
    rejects: bool = True
    bypassed: bool = False
    dark: tuple[Dark, Dark] = ("no", "no")
    door: tuple[Door, Door] = ("open", "open")
    outside: tuple[bool, bool] = (False, False)
    serving: tuple[bool, bool] = (True, True)
    others: bool = False
    neighbour: Neighbour = "none"
    opening: bool = False
    held: tuple[Held, Held] = ("gone", "gone")
    untold: bool = False
    unequal: bool = False
    late: Change | None = None

    def with_late(self, change: Change | None) -> Pair:
        """See ``family.Moment``."""
        return self._replace(late=change)

    def is_dark(self, side: int) -> bool:
        """Does the site neither answer nor serve? It keeps its settings."""
        return self.dark[side] != "no"

    def connects(self, side: int) -> bool:
        """Can clients and the mate's bridge connect to the site?"""
        return self.door[side] == "open" and not self.outside[side] and not self.is_dark(side)

    def serves(self, side: int) -> bool:
        """Does the site serve clients? A half-shut door still lets clients in."""
        shut = self.door[side] == "shut" or self.outside[side] or self.is_dark(side)
        return self.active[side] and not shut

    def bound(self, side: int) -> bool:
        """Is this side's bridge bound to its mate's queue? The bridge runs on the standby site, towards the site that was
        active last."""
        towards = self.active[1 - side] or self.last == 1 - side
        return not self.active[side] and towards and self.link and self.connects(0) and self.connects(1)


# --- obeying --------------------------------------------------------------------------------------------------------


def obey(pair: Pair, change: Change) -> Pair | None:
    """The pair after ``change`` has taken effect. None if the device refuses the change by its own rules."""
    side = change.side
    match change.action:
        case "set_role":
            wanted = change.arg("role") == "active"
            if wanted == pair.active[side]:
                return pair
            last = side if wanted else pair.last
            return pair._replace(active=with_side(pair.active, side, wanted), last=last)
        case "set_backbone":
            door: Door = "open" if change.arg("state") == "up" else "shut"
            return pair._replace(door=with_side(pair.door, side, door))
        case "set_external_fence":
            return pair._replace(outside=with_side(pair.outside, side, change.arg("state") == "closed"))
        case "set_reject_on_discard":
            return pair._replace(rejects=change.arg("enabled") == "yes")
        case "complete_transaction":
            return _complete(pair, side, change.arg("outcome"))
        case "delete_transaction":
            if pair.held[side] not in ("committed", "rolled-back"):
                return None
            return pair._replace(held=with_side(pair.held, side, "gone"))
        case _:
            raise ValueError(f"the model has no action {change.action}")


def _complete(pair: Pair, side: int, outcome: str) -> Pair | None:
    """Heuristic completion, which is replicated like everything else (docs/sources/solace-procedure.md, controlled 6)."""
    if pair.held[side] != "prepared":
        return None
    done: Held = "committed" if outcome == "commit" else "rolled-back"
    held = with_side(pair.held, side, done)
    if pair.bound(1 - side) and held[1 - side] == "prepared":
        held = (done, done)
    return pair._replace(held=held)


def obey_half(pair: Pair, change: Change) -> Pair | None:
    """The pair after only one of two nodes has obeyed. None for an action that only the serving node receives."""
    if change.action != "set_backbone":
        return None
    return pair._replace(door=with_side(pair.door, change.side, "half"))


def is_so(pair: Pair, change: Change) -> bool:
    """Does the effect of ``change`` hold? For a door one node is enough, because nodes of a site may come back one by
    one."""
    side = change.side
    match change.action:
        case "set_backbone":
            return pair.door[side] != ("shut" if change.arg("state") == "up" else "open")
        case "complete_transaction":
            return pair.held[side] != "prepared"
        case _:
            return obey(pair, change) in (pair, None)


# --- moving on its own ----------------------------------------------------------------------------------------------

# The fields in which the flow of messages shows.
FLOW = frozenset({"bridge", "remote_bridge_up", "queue_bound", "sync_eligible", "messages", "drained"})


def drifts(pair: Pair, asked: frozenset[str], looks: frozenset[str]) -> Iterator[Move[Pair]]:
    """See ``family.Family``. A change that no reading can show waits until one can. Roles may always change, because
    promises depend on them."""
    yield from _meddles(pair, asked)
    if asked & _DOORS:
        yield from _neighbours(pair)
    for side in (SOURCE, TARGET):
        if SIDE_NAMES[side] in asked:
            yield from _darkens(pair, side)
    if asked & {"replication", "replication_queue"} and looks & FLOW:
        yield from _flows(pair)
    if "health" in asked and not pair.serving[SOURCE]:
        yield "the message spool of the source comes up", pair._replace(serving=(True, pair.serving[1])), True
    if "fence" in asked and pair.others:
        yield "the other message VPNs of the source give up activity", pair._replace(others=False), True
    if "transactions" in asked and pair.held != ("gone", "gone") and pair.held[pair.last] != "gone":
        yield "the transaction manager ends its transaction", _manager_ends(pair), True


def _meddles(pair: Pair, asked: frozenset[str]) -> Iterator[Move[Pair]]:
    """Another person changes a role. In one disturbance, the role may change twice, with messages in between."""
    for side in (SOURCE, TARGET):
        name, is_active = SIDE_NAMES[side], pair.active[side]
        moved = pair._replace(
            active=with_side(pair.active, side, not is_active), last=pair.last if is_active else side
        )
        yield f"{ANOTHER_OPERATOR} makes the {name} {'standby' if is_active else 'active'}", moved, False
    if not any(pair.active) and "replication" in asked and not pair.is_dark(SOURCE):
        served = pair._replace(depth=with_side(pair.depth, SOURCE, BACKLOG), last=SOURCE, link=False)
        yield (
            f"{ANOTHER_OPERATOR} makes the source active for a while, and its bridge is lost meanwhile",
            served,
            False,
        )


def repaired(pair: Pair) -> Iterator[Pair]:
    """See ``family.Family``. Other services that rely on the shut doors are restored first."""
    yield pair
    pair = pair._replace(link=True, neighbour="none", others=False, serving=(True, True))
    source, target = pair.dark
    yield pair._replace(dark=("no", target))
    yield pair._replace(dark=(source, "no"))
    yield pair._replace(dark=("no", "no"))


# The readings that show, or ask, whether the doors of a whole site are shut.
_DOORS = frozenset({"fence", "external_fence", "site_claims"})


def _neighbours(pair: Pair) -> Iterator[Move[Pair]]:
    """Another service of the same sites, moved by another lane or run."""
    is_shut = pair.door[SOURCE] == "shut" or pair.outside[SOURCE]
    match pair.neighbour:
        case "none" if is_shut and not pair.opening:
            yield (
                "another service starts to fail over behind the shut door",
                pair._replace(neighbour="under way"),
                False,
            )
        case "under way":
            yield "the other service has failed over", pair._replace(neighbour="relies"), True
            yield "the other service is rolled back", pair._replace(neighbour="none"), True


def claims(pair: Pair, side: int, wish: str) -> tuple[bool, bool, Pair]:
    """See ``family.Family``: another service may rely on the doors of the source."""
    if wish == "hold" or side != SOURCE:
        return True, False, pair._replace(opening=False)
    granted = pair.neighbour == "none"
    return granted, pair.neighbour == "under way", pair._replace(opening=granted and wish == "release")


def _darkens(pair: Pair, side: int) -> Iterator[Move[Pair]]:
    """The site restarts, switches over or is gone. A site that may answer again at any time may also never do so."""
    name = SIDE_NAMES[side]
    if pair.is_dark(side):
        is_course = pair.dark[side] == "passing"
        yield f"the {name} answers again", pair._replace(dark=with_side(pair.dark, side, "no")), is_course
        return
    yield f"the {name} goes dark", pair._replace(dark=with_side(pair.dark, side, "passing")), False


def _flows(pair: Pair) -> Iterator[Move[Pair]]:
    what = "the replication bridge is lost" if pair.link else "the network between the sites is back"
    yield what, pair._replace(link=not pair.link), not pair.link
    for side in (SOURCE, TARGET):
        depth = pair.depth[side]
        if depth and pair.bound(1 - side):
            what = "drains" if depth == 1 else "drains in part"
            fell = pair._replace(depth=with_side(pair.depth, side, depth - 1))
            yield f"the queue of the {SIDE_NAMES[side]} {what}", fell, True
        if depth < BACKLOG and pair.serves(side):
            grown = pair._replace(depth=with_side(pair.depth, side, BACKLOG))
            yield f"messages are published at the {SIDE_NAMES[side]}", grown, True


def _manager_ends(pair: Pair) -> Pair:
    held = with_side(pair.held, pair.last, "gone")
    return pair._replace(held=("gone", "gone") if pair.bound(1 - pair.last) else held)
