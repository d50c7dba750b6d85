"""Draws the faults of the world, in its fault grammar."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from proof.simulation.story import Kind
from simulator.solace.layout import WorldLayout

_LASTS = (" 1s", " 3s", " 5s", " 12s", "")
_FOR_A_WHILE = (" 2s", " 6s", " 25s")
_COMMANDS = ("demote", "activate", "revert", "complete", "delete", "fence", "unfence", "any")
_PHASES = ("demote", "drain", "transactions", "activate", "revert", "complete", "delete", "reads", "fence", "unfence")
_OF_A_PAIR, _LOCKED_FOR_GOOD = 0.1, 0.03
_CRITICAL = ("demote", "activate")
# A later effect would come when no process waits for it any more: a timeout of 5s, and 2s to settle.
_LATE = ("500ms", "2s", "6s")


def draw_faults(chance: Random, layout: WorldLayout, source: str, target: str, kind: Kind) -> tuple[str, ...]:
    """Some faults, as text. Most stories have few faults, so that each fault can have its effect."""
    count = chance.choices((0, 1, 2, 3, 5), (15, 35, 25, 15, 10))[0]
    faults = tuple(_fault(chance, layout, source, target, kind) for _ in range(count))
    return (*faults, *(_of_pair(chance, layout) if chance.random() < _OF_A_PAIR else ()), *_for_good(chance))


def _of_pair(chance: Random, layout: WorldLayout) -> tuple[str, ...]:
    """Faults of both members of a site: both die. Or the other member takes over in the middle of a command, and the
    synchronisation of their configuration undoes an earlier setting."""
    site = chance.choice(layout.sites)
    phase, lasts = chance.choice((*_CRITICAL, "drain", "fence")), chance.choice(_FOR_A_WHILE)
    if len(site.nodes) < 2 or chance.random() < 0.4:
        return tuple(f"{phase}: node {site.name}/{node} down{lasts}" for node in site.nodes)
    was = chance.choice(("active", "standby"))
    switched = f"{phase}: ha switch {site.name}"
    return (switched, f"{phase} +{chance.choice(('100ms', '600ms', '3s'))}: role {site.name} {was}")


def _for_good(chance: Random) -> tuple[str, ...]:
    """An account that is locked in the middle of a run, and stays locked. A lost reply makes the run open new sessions,
    so that it notices the lock."""
    if chance.random() >= _LOCKED_FOR_GOOD:
        return ()
    after = chance.choice(("+1s", "+4s", "+8s"))
    return f"any {after}: wrong password 8h", f"any {after}: lose reply"


def _fault(chance: Random, layout: WorldLayout, source: str, target: str, kind: Kind) -> str:
    if chance.random() < 0.45:
        return _of_answer(chance)
    if kind in ("controlled", "failback") and chance.random() < 0.25:
        return f"{chance.choice(('demote', 'drain', 'drain +100ms'))}: {_of_bridge(chance)}"
    return f"{_when(chance)}: {_of_state(chance, layout, source, target)}"


def _of_bridge(chance: Random) -> str:
    """A fault of the bridge, while the queue has to drain through it."""
    lasts = chance.choice(("", "", *_LASTS))
    return chance.choice((f"bridge down{lasts}", f"stall{lasts}", f"slow {chance.choice((5, 50))}x{lasts}"))


def _when(chance: Random) -> str:
    """The trigger of a fault: a moment, or a request to a site."""
    if chance.random() < 0.25:
        return f"at {chance.choice((0.0, 0.05, 0.3, 1.0, 3.0, 7.0, 15.0)):g}s"
    wait = chance.choice(("", "", " +100ms", " +1s", " +4s"))
    return f"{chance.choice(_PHASES if chance.random() < 0.5 else _CRITICAL)}{wait}"


def _of_answer(chance: Random) -> str:
    """A fault of one answer, or of all answers for some time."""
    what = chance.choice(
        ("refuse", "lose request", "lose reply", "lose reply", "late", "truncate reply", "garbage reply")
    )
    lasts = chance.choice(("", "", "", *_FOR_A_WHILE))
    if what == "late":
        return f"{chance.choice(_COMMANDS)}: late {chance.choice(_LATE)}"
    if what == "refuse":
        return f"{chance.choice(_COMMANDS)}: refuse{lasts}"
    return f"{chance.choice((*_COMMANDS, 'drain', 'transactions', 'reads'))}: {what}{lasts}"


def _of_state(chance: Random, layout: WorldLayout, source: str, target: str) -> str:
    site = chance.choice((source, target))
    nodes = next(one.nodes for one in layout.sites if one.name == site)
    xids = [one.xid for vpn in layout.vpns for one in vpn.transactions]
    lasts = chance.choice(_LASTS)
    choices: list[Sequence[str]] = [
        (f"bridge down{lasts}",) * 4,
        (f"stall{lasts}",) * 2,
        (f"slow {chance.choice((2, 10, 100))}x{lasts}",),
        (f"spool full {site}{lasts}",),
        (f"unreachable {site}{chance.choice(_FOR_A_WHILE)}",) * 2,
        (f"node {site}/{chance.choice(nodes)} down{lasts}",) * 2,
        (f"role {site} {chance.choice(('active', 'standby'))}",),
        (f"tm prepares 9-{chance.randrange(256):02x}-00",),
    ]
    if len(nodes) > 1:
        choices += [(f"ha switch {site}",) * 2, (f"ha split {site}{chance.choice(_FOR_A_WHILE)}",)]
    if xids:
        choices += [(f"tm {chance.choice(('commits', 'rolls back'))} {chance.choice(xids)}",) * 2]
    return chance.choice([text for group in choices for text in group])
