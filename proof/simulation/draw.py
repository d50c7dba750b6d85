"""From a seed to a story: which world, which run, which people, and what goes wrong. The same seed, the same story.

What a later version draws from a seed may be another story; a story worth keeping is kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from adapters.mock.layout import WorldLayout
from orchestrator.plan import Policy, Ruling, Waves
from orchestrator.runbook import Choice
from proof.simulation.draw_faults import draw_faults
from proof.simulation.draw_world import NODES, draw_layout
from proof.simulation.story import KINDS, Kind, Omission, Person, Story, Strike, StrikeKind

_WEIGHTS: Mapping[Kind, int] = {
    "controlled": 50,
    "uncontrolled": 10,
    "uncontrolled-isolated": 9,
    "restore": 10,
    "failback": 10,
    "guard": 4,
    "guard-standby": 3,
    "suspend": 4,
}
# What a person or a policy may say at each gate.
_CHOICES: Mapping[str, Sequence[Choice]] = {
    "bridge-lost": ("revert", "escalate", "wait"),
    "drain-stalled": ("revert", "escalate", "wait"),
    "sync-stalled": ("stop", "wait"),
    "step-failed": ("revert", "stop", "retry", "waive"),
    "undo-failed": ("stop", "retry"),
    "unfenced": ("attest", "waive", "stop"),
    "leave-behind": ("accept", "revert"),
    "unsafe-return": ("accept", "stop"),
}
_ENDLESS = frozenset({"retry", "wait"})  # decided beforehand, they have no end in a world that does not mend
_ANSWERS = ("first", "revert", "escalate", "retry", "stop", "commit", "rollback", "waive", "attest", "accept", "wait")
_OMITTED = (
    ("replication", "role"),
    ("replication", "bridge"),
    ("replication", "queue_bound"),
    ("replication", "remote_bridge_up"),
    ("replication", "sync_eligible"),
    ("replication", "enabled"),
    ("replication_queue", "messages"),
    ("replication_queue", "rejects_on_discard"),
    ("health", "serving"),
    ("health", "spool_active"),
    ("fence", "closed"),
    ("fence", "open"),
)
_STRIKES: Sequence[tuple[StrikeKind, int]] = (
    ("kill", 50),
    ("pause", 14),
    ("race", 8),
    ("step", 8),
    ("abort", 8),
    ("answer", 8),
)
_CALLS = ("set_role", "set_role", "set_backbone", "complete_transaction", "delete_transaction")
_LOSSES = ("bridge-lost", "drain-stalled", "unfenced", "leave-behind")
_ON_DISK_EVERY = 25  # a real file costs more than all the rest of a story


def draw(seed: int, kinds: Sequence[Kind] = KINDS) -> Story:
    """The story of ``seed``, of one of ``kinds``."""
    chance = Random(f"failover {seed}")
    kind = chance.choices(kinds, [_WEIGHTS[one] for one in kinds])[0]
    source = chance.choice(tuple(NODES))
    target = next(name for name in NODES if name != source)
    layout = draw_layout(chance, kind, source)
    prelude, wait, more = _before(chance, kind, layout, source, target)
    on_disk = seed % _ON_DISK_EVERY == 0
    story = Story(
        seed=seed,
        kind=kind,
        layout=layout,
        source=source,
        services=_services(chance, layout),
        prelude=prelude,
        wait=wait,
        faults=draw_faults(chance, layout, source, target, kind),
        omissions=_omissions(chance),
        person=_person(chance),
        policy=_policy(chance, layout),
        later=_policy(chance, layout),
        resumes=chance.choice((0, 0, 1, 2)),
        haste=chance.random() < 0.93 or kind == "restore",  # a synchronisation may take a day
        on_disk=on_disk,
        rehearsed=chance.random() < 0.05,
        clock_s=chance.choice((0.0, 0.0, -2.5, 3_600.0, -86_400.0)),
        **more,
    )
    story = story.model_copy(update={"waves": _waves(chance, story.services)})
    return story.model_copy(update={"strikes": _strikes(chance, story)})


def _services(chance: Random, layout: WorldLayout) -> tuple[str, ...]:
    """Mostly all; sometimes one of the site's services stays out of the run."""
    names = tuple(vpn.name for vpn in layout.vpns)
    return names[:-1] if len(names) > 1 and chance.random() < 0.3 else names


def _waves(chance: Random, services: Sequence[str]) -> Waves | None:
    if len(services) < 2 or chance.random() < 0.6:
        return None
    canary = chance.choice(services) if chance.random() < 0.5 else None
    return Waves(size=1, canary=canary, max_failed=chance.choice((1, 2)))


def _before(
    chance: Random, kind: Kind, layout: WorldLayout, source: str, target: str
) -> tuple[tuple[str, ...], float, dict[str, Any]]:
    """What happened before the run begins, for how long, and what its plan knows of it."""
    return _PRELUDES.get(kind, _calm)(chance, layout, source, target)


Before = tuple[tuple[str, ...], float, dict[str, Any]]


def _calm(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    return (), chance.choice((0.0, 0.5, 3.0)), {}


def _dark(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The source is lost, for good or for a while; or only its management is."""
    lasts = chance.choice(("", "", "", " 20s", " 40s", " 2m"))
    if chance.random() < 0.2:
        return (f"at 0s: unreachable {source}{lasts}",), 1.0, {}
    down = [f"at 0s: node {source}/{node} down{lasts}" for node in _nodes(layout, source)]
    return tuple(down[: 1 if chance.random() < 0.05 else None]), chance.choice((0.5, 5.0)), {}


def _cut_off(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    if chance.random() < 0.1:
        return (), 1.0, {}
    return (f"at 0s: bridge down{chance.choice(('', '', ' 8s', ' 1m'))}",), chance.choice((0.5, 3.0)), {}


def _returned(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The source was lost, its mate took over, and it is back by now: perhaps as active too, perhaps not yet."""
    away = chance.choice((5, 10, 20))
    faults = [f"at 0s: node {source}/{node} down {away}s" for node in _nodes(layout, source)]
    faults.append(f"at 2s: role {target} active")
    if chance.random() < 0.4:
        faults.append(f"at {away + 4}s: role {source} standby")
    wait = away + chance.choice((-2.0, 3.0, 8.0, 15.0))
    return tuple(faults), wait, {"outage_ago": wait - 2.0, "suspended": chance.choice((False, False, None, True))}


def _failed_over(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    """The source acts since a while, and its mate is standby again."""
    faults = [f"at 0s: node {target}/{node} down 4s" for node in _nodes(layout, target)]
    faults += [f"at 1s: role {source} active", f"at 6s: role {target} standby"]
    wait = chance.choice((9.0, 14.0, 30.0))
    known = {
        "outage_ago": wait - 1.0 if chance.random() < 0.85 else None,
        "suspended": chance.choice((False, False, False, False, None, True)),
        "spool_lost": chance.random() < 0.05,
    }
    return tuple(faults), wait, known


def _acting(chance: Random, layout: WorldLayout, source: str, target: str) -> Before:
    down = [f"at 0s: node {source}/{node} down" for node in _nodes(layout, source)]
    return (*down, f"at 1s: role {target} active"), 3.0, {}


_PRELUDES: Mapping[Kind, Callable[[Random, WorldLayout, str, str], Before]] = {
    "uncontrolled": _dark,
    "uncontrolled-isolated": _cut_off,
    "restore": _returned,
    "guard": _returned,
    "guard-standby": _returned,
    "failback": _failed_over,
    "suspend": _acting,
}


def _nodes(layout: WorldLayout, site: str) -> tuple[str, ...]:
    return next(one.nodes for one in layout.sites if one.name == site)


def _omissions(chance: Random) -> tuple[Omission, ...]:
    if chance.random() < 0.8:
        return ()
    chosen = chance.sample(_OMITTED, k=chance.choice((1, 1, 2)))
    return tuple(
        Omission(reading=reading, field=field, skip=chance.randrange(6), times=chance.choice((1, 3, 10, 1_000)))
        for reading, field in chosen
    )


def _person(chance: Random) -> Person | None:
    if chance.random() < 0.5:
        return None
    answers = chance.choices(_ANSWERS, (6, *[1] * (len(_ANSWERS) - 1)), k=chance.randrange(6))
    return Person(answers=tuple(answers), thinks=chance.choice((0.0, 1.0, 8.0, 40.0)))


def _policy(chance: Random, layout: WorldLayout) -> Policy:
    on_gate = {
        gate: chance.choice([choice for choice in choices if choice not in _ENDLESS])
        for gate, choices in _CHOICES.items()
        if chance.random() < (0.5 if gate in _LOSSES else 0.15)
    }
    xids = [one.xid for vpn in layout.vpns for one in vpn.transactions]
    rulings = {
        xid: Ruling(choice=chance.choice(("commit", "rollback")), reason="as the manager's log says", by="ann")
        for xid in xids
        if chance.random() < 0.8
    }
    return Policy(on_gate=on_gate, reason="agreed before", transactions=rulings, fail_fast=chance.random() < 0.1)


def _strikes(chance: Random, story: Story) -> tuple[Strike, ...]:
    """What happens to processes, at instants of their own."""
    # About as many instants as the run has; later ones hit what comes after a death.
    spread = (60 + 50 * len(story.services)) * chance.choice((1, 1, 2))
    instants = sorted(chance.sample(range(1, spread), k=chance.choice((0, 0, 1, 1, 1, 2, 2, 3, 5))))
    return tuple(_strike(chance, at, story) for at in instants)


def _place(chance: Random, at: int) -> dict[str, Any]:
    """Anywhere, or right before or after one of the first commands."""
    return {"at": at} if chance.random() < 0.65 else {"near": chance.choice(_CALLS), "at": chance.randrange(1, 7)}


def _strike(chance: Random, at: int, story: Story) -> Strike:
    kinds: list[StrikeKind] = [kind for kind, _ in _STRIKES]
    weights = [weight for _, weight in _STRIKES]
    if story.on_disk:
        kinds, weights = [*kinds, "torn", "disk full"], [*weights, 40, 25]
    kind = chance.choices(kinds, weights)[0]
    seconds = (
        chance.choice((0.1, 1.0, 20.0)) if kind in ("kill", "torn", "disk full") else chance.choice((1.0, 16.0, 40.0))
    )
    off = (0.0, 0.0, 1.0, -1.0, 30.0, -30.0) if kind in ("pause", "race") else (0.0, 0.0, -30.0, 600.0, -7_200.0)
    return Strike(
        **_place(chance, at),
        kind=kind,
        seconds=seconds,
        elsewhere=kind == "kill" and chance.random() < 0.25,
        clock_s=chance.choice(off),
        lives=chance.choice((None, 3, 10, 25)) if kind in ("pause", "race") else None,
        choice=_word(chance, kind),
        tear=chance.random(),
    )


def _word(chance: Random, kind: StrikeKind) -> Any:
    if kind == "answer":
        return chance.choice(_ANSWERS[1:])
    return "abort" if kind == "kill" and chance.random() < 0.1 else ""
