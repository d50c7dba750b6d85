"""A pair of AMPS instances, reduced to the subjects of the promises: client transports, links, messages that the mate
lacks, queue messages, and the life of each instance. The pair obeys actions and moves by itself, by its own rules.

The rules are those of the documents (docs/sources/amps.md, 9.7 and 3.5, 9 and 10), not those of a runbook. The
expectations of a step are never checked here. A side is 0 (source) or 1 (target), the sides that a run fixes. Values are
immutable, and nothing is random.

Assumptions: disconnected clients may be counted for some time, and publish until then. An instance that lets clients in
has clients, and they publish.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from proof.exploration.family import SOURCE, TARGET, Change, with_side

# An instance has several client transports and several queues. Each is switched separately.
Switch = Literal["on", "part", "off"]
# ``cut-off``: it does not answer this program, but continues otherwise. ``fetching``: it is empty and gets its state from
# the mate.
Life = Literal["up", "recovering", "fetching", "cut-off", "dead"]
# How far the mate is behind: not at all, by the messages in transit under load, by more.
LEVEL, FRESH, BACKLOG = 0, 1, 2


class Pair(NamedTuple):
    """One moment of the pair. ``link``: the network between the instances works.

    ``door``: client transports; ``outside``: the plan's fence keeps clients away anyway. ``clients``: clients are
    connected. ``configured``: links are sync by configuration; ``sync``: the present mode of each link. ``behind``: how
    much each holds that its mate lacks; ``told``: publishers were told that a part of it is safe. ``queues``: there are
    queues; ``owned``: the instance owns queue messages. ``empty``: the transaction log is empty; ``fetches``: an empty
    instance bootstraps by configuration. ``starts_open``: client transports are enabled when it starts. ``permitted``:
    the account may act. ``late``: a change that was obeyed and has not taken effect yet.
    """

    door: tuple[Switch, Switch] = ("on", "off")
    outside: tuple[bool, bool] = (False, False)
    clients: tuple[bool, bool] = (True, False)
    link: bool = True
    configured: bool = True
    sync: tuple[bool, bool] = (True, True)
    behind: tuple[int, int] = (LEVEL, LEVEL)
    told: tuple[bool, bool] = (False, False)
    queues: bool = False
    owned: tuple[bool, bool] = (False, False)
    proxied: tuple[Switch, Switch] = ("off", "off")
    life: tuple[Life, Life] = ("up", "up")
    empty: tuple[bool, bool] = (False, False)
    fetches: tuple[bool, bool] = (False, False)
    starts_open: tuple[bool, bool] = (True, False)
    permitted: bool = True
    late: Change | None = None

    def with_late(self, change: Change | None) -> Pair:
        """See ``family.Moment``."""
        return self._replace(late=change)

    def runs(self, side: int) -> bool:
        """Does the instance record published messages, and replicate them?"""
        return self.life[side] in ("up", "cut-off")

    def takes(self, side: int) -> bool:
        """Does the instance let clients connect? It already does so during its recovery (docs/sources/amps.md, 3.1)."""
        return self.door[side] != "off" and not self.outside[side] and self.life[side] not in ("dead", "fetching")

    @property
    def connected(self) -> bool:
        """Are the links connected? Replication starts after recovery (docs/sources/amps.md, 3.5)."""
        return self.link and self.runs(SOURCE) and self.runs(TARGET)

    def is_dark(self, side: int) -> bool:
        """Does the instance not answer this program?"""
        return self.life[side] in ("cut-off", "dead")

    @property
    def is_apart(self) -> bool:
        """Do both have clients, while one acknowledges messages to its publishers before the mate has them?"""
        return all(self.clients) and not all(self.sync)

    def keeps_up(self, side: int) -> bool:
        """Is this side's outgoing link up to date? Messages acknowledged before an upgrade must have arrived, too."""
        is_over = not (self.told[side] and self.sync[side])
        return self.connected and self.behind[side] <= FRESH and is_over


def settled(pair: Pair) -> Pair:
    """``pair`` with all its immediate consequences."""
    clients = (_has_clients(pair, SOURCE), _has_clients(pair, TARGET))
    pair = pair._replace(clients=clients)
    for side in (SOURCE, TARGET):
        if pair.life[side] == "dead" and pair.takes(1 - side):
            # Clients continue at the mate. The missing messages are given up now, not by a later action.
            pair = pair._replace(told=with_side(pair.told, side, False))
    for side in (SOURCE, TARGET):
        pair = _published(pair, side)
    return pair


def _has_clients(pair: Pair, side: int) -> bool:
    """An instance that lets clients in has clients. Clients that were there before stay for some time."""
    return pair.takes(side) or (pair.clients[side] and pair.runs(side) and not pair.outside[side])


def _published(pair: Pair, side: int) -> Pair:
    """Clients publish. Over a link that is not sync, their messages are acknowledged at once (docs/sources/amps.md, 9.7).
    A downgrade acknowledges the waiting messages (docs/sources/amps.md, 9.2). A client that is not connected gets no
    acknowledgement, and sends again elsewhere."""
    if not pair.runs(side) or not pair.clients[side]:
        return pair
    behind = max(pair.behind[side], FRESH) if pair.connected else BACKLOG
    return pair._replace(
        behind=with_side(pair.behind, side, behind),
        told=with_side(pair.told, side, pair.told[side] or not pair.sync[side]),
        owned=with_side(pair.owned, side, pair.queues),
        empty=with_side(pair.empty, side, False),
    )


def repaired(pair: Pair) -> Iterator[Pair]:
    """See ``family.Family``. Perhaps people also wait until all messages have arrived, and upgrade downgraded links."""
    yield pair
    answers = pair._replace(link=True, permitted=True)
    level = answers._replace(behind=(LEVEL, LEVEL), told=(False, False), owned=(False, False), empty=(False, False))
    source, target = pair.life
    for well in (answers, level._replace(sync=(pair.configured, pair.configured))):
        yield settled(well._replace(life=("up", target)))
        yield settled(well._replace(life=(source, "up")))
        yield settled(well._replace(life=("up", "up")))


# --- obeying --------------------------------------------------------------------------------------------------------

_SWITCHES: dict[str, Switch] = {"enabled": "on", "disabled": "off"}


def obey(pair: Pair, change: Change) -> Pair | None:
    """See ``family.Family``."""
    if change.action == "set_external_fence":
        return settled(pair._replace(outside=with_side(pair.outside, change.side, change.arg("state") == "closed")))
    if not pair.permitted or pair.life[change.side] == "dead":
        return None
    match change.action:
        case "set_client_transports":
            return settled(_switched(pair, change, _SWITCHES[change.arg("state")]))
        case "set_link_mode":
            # An upgrade has no effect on a link that is async by its configuration.
            sync = change.arg("mode") == "sync" and pair.configured
            return settled(pair._replace(sync=with_side(pair.sync, change.side, sync)))
        case "set_proxied_transfer":
            return _switched(pair, change, _SWITCHES[change.arg("state")]) if pair.queues else None
        case _:
            raise ValueError(f"the model has no action {change.action}")


def obey_half(pair: Pair, change: Change) -> Pair | None:
    """See ``family.Family``. One transport of several, one queue of several."""
    if change.action in ("set_link_mode", "set_external_fence") or obey(pair, change) in (None, pair):
        return None
    return settled(_switched(pair, change, "part"))


def _switched(pair: Pair, change: Change, to: Switch) -> Pair:
    if change.action == "set_client_transports":
        return pair._replace(door=with_side(pair.door, change.side, to))
    return pair._replace(proxied=with_side(pair.proxied, change.side, to))


def is_so(pair: Pair, change: Change) -> bool:
    """See ``family.Family``."""
    if change.action == "set_link_mode":
        return pair.sync[change.side] == (change.arg("mode") == "sync")
    if change.action == "set_external_fence":
        return pair.outside[change.side] == (change.arg("state") == "closed")
    switch = (pair.door if change.action == "set_client_transports" else pair.proxied)[change.side]
    return switch in ("part", _SWITCHES[change.arg("state")])
