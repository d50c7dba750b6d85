"""The moments of a pair of AMPS instances from which a runbook is explored, fitting ones and others."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.model.runbook import Runbook
from proof.exploration.amps.drifting import died, started
from proof.exploration.amps.pair import Pair, settled
from proof.exploration.family import SOURCE, with_side
from proof.exploration.vocabulary import dos_of, readings_of


def starts(runbook: Runbook) -> Iterator[tuple[str, Pair]]:
    """See ``family.Family``."""
    words = readings_of(runbook) | {do.action for do in dos_of(runbook)}
    base = Pair(queues=bool(words & {"queues", "set_proxied_transfer"}))
    both = base._replace(door=("on", "on"), starts_open=(True, True))
    apart = base._replace(configured=False, sync=(False, False))
    yield "clients are at the source, the target is closed, the links are sync", settled(base)
    yield "both let clients in, the links are sync", settled(both)
    yield "clients are at the source, the target is closed, the links are async", settled(apart)
    apart_both = apart._replace(door=("on", "on"))  # across async links a target starts closed
    yield "both let clients in, the links are async", settled(apart_both)
    yield "the link of the source is downgraded", settled(base._replace(sync=(False, True)))
    yield "the instances are cut off from each other", settled(base._replace(link=False))
    yield "the account may not act", settled(base._replace(permitted=False))
    yield from _lost(both, "sync")
    yield from _lost(base, "sync", "the target is closed, and ")
    yield from _lost(apart, "async", "the target is closed, and ")
    yield "the source is dead, and proxied transfer is on", _proxied(_without(both._replace(queues=True)))
    yield from _back(both, "sync")
    yield from _back(apart_both, "async")
    yield "the source is back from a downgrade, and the target was opened since", _owing(base)
    if words & {"bootstrap", "transaction_log"}:
        yield from _empty(_without(both))


def _lost(pair: Pair, links: str, target: str = "") -> Iterator[tuple[str, Pair]]:
    yield f"{target}the source is dead, the links were {links}", died(settled(pair), SOURCE)
    if links == "sync":
        downgraded = died(settled(pair._replace(sync=(False, True))), SOURCE)
        yield f"{target}the source is dead, its link was downgraded before", downgraded
    cut_off = settled(pair._replace(link=False, life=("cut-off", "up")))
    yield f"{target}the source is cut off and still has clients, the links are {links}", cut_off


def _without(pair: Pair) -> Pair:
    """The target continues alone."""
    dead = died(settled(pair), SOURCE)
    return settled(dead._replace(sync=(dead.sync[SOURCE], False)))


def _proxied(pair: Pair) -> Pair:
    """This start is used even if the runbook never mentions queues, because that may be a mistake in the runbook."""
    return pair._replace(proxied=("off", "on"))


def _back(pair: Pair, links: str) -> Iterator[tuple[str, Pair]]:
    alone = _without(pair)
    yield (
        f"the source is back and lets no client in, the links are {links}",
        started(alone._replace(starts_open=with_side(alone.starts_open, SOURCE, False)), SOURCE),
    )
    yield f"the source is back and lets clients in, the links are {links}", started(alone, SOURCE)
    proxied = _proxied(_without(pair._replace(queues=True)))
    yield f"the source is back, proxied transfer is on, the links are {links}", started(proxied, SOURCE)


def _owing(pair: Pair) -> Pair:
    """No client continued at the target meanwhile, so no message was given up. A restart has reset the link
    (docs/sources/amps.md, 9.2)."""
    back = started(died(settled(pair._replace(sync=(False, True))), SOURCE), SOURCE)
    return settled(back._replace(life=("up", "up"), door=("on", "on")))


def _empty(alone: Pair) -> Iterator[tuple[str, Pair]]:
    bare = alone._replace(empty=(True, False), owned=with_side(alone.owned, SOURCE, False), starts_open=(False, True))
    fetching = bare._replace(fetches=(True, False))
    yield "the source is dead and empty, and set to bootstrap", fetching
    yield "the source is empty and fetches its state", started(fetching, SOURCE)
    yield "the source is empty, and not set to bootstrap", started(bare, SOURCE)
    idle = Pair(door=("off", "off"), clients=(False, False), queues=alone.queues, starts_open=(False, False))
    idle = idle._replace(life=("dead", "up"), empty=(True, True), fetches=(True, False))
    yield "both are empty and set to bootstrap", started(idle._replace(fetches=(True, True)), SOURCE)
    yield "both are empty, the source is set to bootstrap", started(idle, SOURCE)
