"""Draws the things beside a run of message VPNs: manual changes of operators, and other runs over the same sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from orchestrator.model.plan import Policy
from proof.simulation.solace.draw_world import NODES
from proof.simulation.story import Further, Kind, Part, Story

_FURTHER = 0.3
_FURTHER_SHARED = 0.6  # where several services share the site
_SHUTTING: frozenset[Kind] = frozenset({"uncontrolled-isolated", "uncontrolled-commanded"})
_APART = 0.6
_ANSWERED: Mapping[str, str] = {"leave-behind": "accept", "unfenced": "attest", "unsafe-return": "accept"}


def episode(chance: Random, part: Part) -> tuple[str, ...]:
    """Faults that follow each other, some seconds apart."""
    source, target = part.source, other(part.source)
    pause = chance.choice((0.3, 1.0, 3.0))
    steps = chance.choice(
        (
            # A person makes the source active again, the bridge fails, and a person makes the source standby again.
            (f"role {source} active", "bridge down", f"role {source} standby"),
            (f"role {source} active", "bridge down 20s", f"role {source} standby"),
            (f"role {source} active", f"role {source} standby"),
            (f"role {source} active",),
            (f"role {target} active", f"role {target} standby"),
            ("bridge down", f"role {source} active", f"role {source} standby", "stall"),
            (f"unreachable {source} 40s",),
            (f"unreachable {target} 6s",),
            (f"node {source}/{NODES[source][0]} down 15s",),
            ("bridge down 8s",),
            ("tm prepares 9-77-00",),
        )
    )
    return tuple(f"at {number * pause:g}s: {what}" for number, what in enumerate(steps))


def apart(chance: Random, story: Story) -> dict[str, Any]:
    """Changes of the story: one of several services behind one door cannot be activated, while the others fail over.
    Drawn separately from the rest."""
    if story.kind not in _SHUTTING or len(story.services) < 2 or chance.random() >= _APART:
        return {}
    gates = {
        **story.policy.on_gate,
        "leave-behind": "accept",
        "step-failed": chance.choice(("revert", "revert", "stop")),
    }
    policy = story.policy.model_copy(update={"on_gate": gates, "reasons": dict.fromkeys(gates, "agreed before")})
    refusal = f"activate {chance.choice(story.services)}: refuse{chance.choice(('', ' 6s', ' 10m'))}"
    return {"policy": policy, "faults": (*story.faults, refusal)}


def other(site: str) -> str:
    """The mate of ``site``."""
    return next(name for name in NODES if name != site)


def further(chance: Random, story: Story) -> tuple[Further, ...]:
    """The runs that may come after this run, or beside it."""
    makers = _AFTER.get(story.kind, ())
    if not makers or chance.random() >= (_FURTHER_SHARED if len(story.services) > 1 or _left(story) else _FURTHER):
        return ()
    made = chance.choice(makers)(chance, story)
    return tuple(one for one in made if one.services)


def _left(story: Story) -> tuple[str, ...]:
    """Services of the same sites that the run does not move."""
    vpns = getattr(story.layout, "vpns", ())
    return tuple(vpn.name for vpn in vpns if vpn.name not in story.services)


def _more(chance: Random, story: Story, kind: Kind, services: tuple[str, ...], **more: Any) -> Further:
    policy = story.policy
    if chance.random() < 0.7:  # otherwise the decisions for the first run, or none
        gates = {**policy.on_gate, **_ANSWERED}
        reasons = dict.fromkeys(gates, "agreed before")
        policy = policy.model_copy(update={"on_gate": gates, "reasons": reasons})
    return Further(
        kind=kind,
        services=services,
        policy=policy if isinstance(policy, Policy) else Policy(),
        source=more.pop("source", story.source),
        haste=True,
        threads=chance.randrange(1_000_000) if chance.random() < 0.3 else None,
        wait=chance.choice((0.5, 3.0, 20.0)),
        **more,
    )


def _same_for_others(chance: Random, story: Story) -> tuple[Further, ...]:
    """Another person moves the other services of the site, at the same time or later."""
    return (_more(chance, story, story.kind, _left(story), beside=chance.random() < 0.6),)


def _restores(kind: Kind) -> Callable[[Random, Story], tuple[Further, ...]]:
    def made(chance: Random, story: Story) -> tuple[Further, ...]:
        """The site comes back: one of its services, or all of them, and perhaps activity goes back to it."""
        services = story.services if chance.random() < 0.5 else story.services[:1]
        back = _more(chance, story, kind, services)
        if chance.random() < 0.6:
            return (back,)
        source = other(story.source)
        return back, _more(chance, story, "failback", services, source=source, after_failover=True, suspended=False)

    return made


def _guarded(chance: Random, story: Story) -> tuple[Further, ...]:
    """The guard of the site runs, beside the run or after it."""
    is_beside = bool(_left(story)) and chance.random() < 0.5
    return (_more(chance, story, "guard", _left(story) if is_beside else story.services, beside=is_beside),)


def _back_again(chance: Random, story: Story) -> tuple[Further, ...]:
    """The moved services are moved back."""
    return (_more(chance, story, "controlled", story.services, source=other(story.source)),)


_AFTER: Mapping[Kind, tuple[Callable[[Random, Story], tuple[Further, ...]], ...]] = {
    "uncontrolled-isolated": (_same_for_others, _same_for_others, _restores("restore"), _guarded),
    "uncontrolled-commanded": (_same_for_others, _same_for_others, _restores("restore-commanded"), _guarded),
    "uncontrolled": (_same_for_others, _restores("restore"), _guarded),
    "controlled": (_back_again, _same_for_others),
    "restore": (_same_for_others,),
    "restore-commanded": (_same_for_others,),
    "guard": (_same_for_others, _restores("restore")),
    "failback": (_same_for_others,),
    "repair-standby": (_restores("restore"), _same_for_others),
    "repair-active": (_restores("restore"), _same_for_others),
}
