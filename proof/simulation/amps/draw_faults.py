"""Draws the faults of an AMPS fabric, in its fault grammar."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from proof.simulation.story import Kind
from simulator.amps.layout import FabricLayout

_LASTS = (" 1s", " 3s", " 6s", " 15s", "")
_FOR_A_WHILE = (" 2s", " 6s", " 25s")
_COMMANDS = ("disable", "enable", "downgrade", "upgrade", "proxy", "unproxy", "act")
_PHASES = (*_COMMANDS, "reads", "any")
_PLANNED: frozenset[Kind] = frozenset(
    {"amps/controlled", "amps/controlled-async", "amps/failback", "amps/failback-async"}
)
_CRITICAL = ("disable", "enable", "downgrade")
# The last effect comes when no process waits for the answer any more, and well before an effect is given up (30s).
_LATE = ("500ms", "2s", "6s", "20s")


def draw_faults(chance: Random, layout: FabricLayout, kind: Kind) -> tuple[str, ...]:
    """Some faults, as text. Most simulated runs have few faults, so that each fault can have its effect."""
    count = chance.choices((0, 1, 2, 3, 5), (20, 40, 20, 12, 8))[0]
    return tuple(_fault(chance, layout, kind) for _ in range(count))


def _fault(chance: Random, layout: FabricLayout, kind: Kind) -> str:
    if kind in _PLANNED and chance.random() < 0.3:
        return f"disable{chance.choice(('', ' +200ms', ' +1s'))}: {_of_link(chance, layout)}"
    if chance.random() < 0.45:
        return _of_answer(chance)
    return f"{_when(chance)}: {_of_state(chance, layout)}"


def _of_link(chance: Random, layout: FabricLayout) -> str:
    """A fault of the link, while it has to catch up."""
    one, other = _pair(chance, layout)
    what = chance.choice(("down", "down", f"slow {chance.choice((10, 100))}x"))
    return f"link {one} {other} {what}{chance.choice(('', '', *_LASTS))}"


def _pair(chance: Random, layout: FabricLayout) -> tuple[str, str]:
    """The two instances of a service."""
    group = chance.choice([one.group_name for one in layout.instances])
    one, other = (instance.name for instance in layout.instances if instance.group_name == group)
    return one, other


def _when(chance: Random) -> str:
    """The trigger of a fault: a moment, or a request to an instance."""
    if chance.random() < 0.35:
        return f"at {chance.choice((0.0, 0.3, 1.0, 3.0, 6.0, 10.0, 15.0, 25.0)):g}s"
    wait = chance.choice(("", "", " +200ms", " +1s", " +4s", " +8s"))
    return f"{chance.choice(_PHASES if chance.random() < 0.3 else _CRITICAL)}{wait}"


def _of_answer(chance: Random) -> str:
    """A fault of one answer, or of all answers for some time."""
    what = chance.choice(
        ("refuse", "lose request", "lose reply", "lose reply", "late", "late", "truncate reply", "garbage reply")
    )
    if what == "late":
        return f"{chance.choice(_COMMANDS)}: late {chance.choice(_LATE)}"
    phase = chance.choice(_PHASES if chance.random() < 0.4 else _CRITICAL)
    return f"{phase}: {what}{chance.choice(('', '', '', *_FOR_A_WHILE))}"


def _of_state(chance: Random, layout: FabricLayout) -> str:
    one, other = _pair(chance, layout)
    name, lasts = chance.choice((one, other)), chance.choice(_LASTS)
    choices: list[Sequence[str]] = [
        (f"link {one} {other} down{lasts}",) * 5,
        (f"link {one} {other} slow {chance.choice((10, 100))}x{lasts}",) * 3,
        (f"kill {name}{chance.choice((' 3s', ' 8s', ''))}",) * 3,
        (f"silent {name}{chance.choice(_FOR_A_WHILE)}",) * 2,
        (f"stale {name}{chance.choice((' 2s', ' 5s', ' 15s'))}",) * 2,
        (f"somebody {chance.choice(('disables', 'enables', 'downgrades', 'upgrades'))} {name}",) * 2,
        (f"somebody {chance.choice(('proxies', 'unproxies'))} {name}",),
    ]
    return chance.choice([text for group in choices for text in group])
