"""Draws pairs with two standby or two active sites, caused by manual changes, and the risks that an operator accepts. The
site that was active last varies, and so does the queue that can drain. After two active sites both queues hold messages.
"""

from __future__ import annotations

from random import Random
from typing import Any

from orchestrator.model.runbook import Choice
from proof.simulation.story import Kind, Story
from simulator.solace.layout import WorldLayout

# The faults before a run, the seconds that they take, and the fields of the story that describe them to the plan.
Before = tuple[tuple[str, ...], float, dict[str, Any]]

KINDS: frozenset[Kind] = frozenset({"repair-standby", "repair-active"})
_ACCEPTED = 0.6
_NOT_SO = 0.1


def both_standby(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """A manual move that stopped half-way, or two active sites that were both made standby."""
    if chance.random() < _NOT_SO:
        return (), 1.0, {}
    pause = chance.choice((0.3, 1.0, 3.0))
    steps = chance.choice(
        (
            (f"role {source} standby",),
            (f"role {source} standby",),
            (f"role {source} standby", "bridge down"),
            ("bridge down", f"role {source} standby"),
            (f"role {target} active", f"role {source} standby", f"role {target} standby"),
            (f"role {source} standby", f"role {target} active", f"role {target} standby"),
            (f"role {target} active", f"role {target} standby", f"role {source} standby"),
        )
    )
    return _one_by_one(steps, pause), len(steps) * pause + chance.choice((0.5, 5.0)), {}


def both_active(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The standby site was made active while its mate was active. Clients may have moved to this site since."""
    if chance.random() < _NOT_SO:
        return (), 1.0, {}
    pause = chance.choice((0.3, 1.0, 3.0))
    steps = chance.choice(
        (
            (f"role {target} active",),
            (f"role {target} active",),
            ("bridge down 8s", f"role {target} active"),
            (f"role {source} standby", f"role {target} active", f"role {source} active"),
        )
    )
    return _one_by_one(steps, pause), len(steps) * pause + chance.choice((0.5, 5.0)), {}


def possible(faults: tuple[str, ...], layout: WorldLayout, kind: Kind) -> tuple[str, ...]:
    """The faults, without those of transactions that their manager may have ended before the run, at either site."""
    ended = [xid for vpn in layout.vpns for xid, _ in vpn.manager.outcomes] if kind in KINDS else []
    return tuple(one for one in faults if not (" tm " in one and one.endswith(tuple(ended))))


def answers(chance: Random, story: Story) -> dict[str, Any]:
    """Changes of the story: the answers in advance that ``--accept-loss`` and other decisions give."""
    if story.kind not in KINDS:
        return {}
    gates: dict[str, Choice] = {
        gate: choice for gate, choice in story.policy.on_gate.items() if gate != "leave-behind"
    }
    if chance.random() < _ACCEPTED:
        gates |= {"leave-behind": "accept", "suspended": "escalate", "undrained": "escalate"}
    elif chance.random() < 0.5:
        gates |= {"undrained": chance.choice(("wait", "stop"))}
    policy = story.policy.model_copy(update={"on_gate": gates, "reasons": dict.fromkeys(gates, "agreed before")})
    return {"policy": policy}


def _one_by_one(steps: tuple[str, ...], pause: float) -> tuple[str, ...]:
    return tuple(f"at {number * pause:g}s: {what}" for number, what in enumerate(steps))
