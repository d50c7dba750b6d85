"""Draws a story from a seed: the world, the run, the people, and the faults. The same seed gives the same story.

A later version may draw another story from the same seed. A story that must last is therefore kept as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from orchestrator.model.plan import Policy, Ruling, Waves
from proof.simulation import draw_more
from proof.simulation.families import simulation_of
from proof.simulation.journal import SECRET
from proof.simulation.plans import readings_of
from proof.simulation.scene import FamilyDraw, Scene
from proof.simulation.story import (
    KINDS,
    FaultEvent,
    Kind,
    Lag,
    Omission,
    Person,
    Story,
    StrikeKind,
    family_of,
    runbook_of,
)

_ENDLESS = frozenset({"retry"})  # decided in advance, it would repeat for ever in a world that repairs nothing
_ANSWERS = ("first", "revert", "escalate", "retry", "stop", "commit", "rollback", "waive", "attest", "accept", "wait")
_STRIKES: Sequence[tuple[StrikeKind, int]] = (
    ("kill", 50),
    ("pause", 14),
    ("race", 8),
    ("step", 8),
    ("abort", 8),
    ("answer", 8),
)
_LOCKED_OUT, _LOCKED_OUT_LATER = 0.03, 0.08  # of all runs; a later lock hits only new sessions
_LOCKED_FOR = ("", " 1s", " 6s", " 25s")
# Clocks of two machines differ, sometimes by hours. A machine's clock may step while the machine is down.
_OFF_ELSEWHERE = (0.0, 0.0, 1.0, -1.0, 30.0, -30.0, 7_200.0, -3_600.0)
_STEPPED = (0.0, 0.0, -30.0, 600.0, -7_200.0)
_UNTOLD = 0.08
_RARE = 0.03  # of the simulated runs, taken from all other kinds
_FROM_ELSEWHERE = 0.3  # of the simulated runs in which a person is asked
_ON_DISK_EVERY = 25  # a real file costs more than all the rest of a story


def draw(seed: int, kinds: Sequence[Kind] = KINDS) -> Story:
    """The story of ``seed``, of one of ``kinds``."""
    chance = Random(f"failover {seed}")
    kind = _kind(chance, seed, kinds)
    family = simulation_of(family_of(kind)).draw
    scene = family.scene(chance, kind)
    story = Story(
        seed=seed,
        kind=kind,
        layout=scene.layout,
        source=scene.source,
        services=scene.services,
        prelude=scene.prelude,
        wait=scene.wait,
        faults=(*scene.faults, *_account(seed)),
        omissions=(*_omissions(chance, family), *_untold(seed, kind, family)),
        lags=_lags(chance, family, scene),
        person=_person(chance),
        policy=_policy(chance, family, scene),
        later=_policy(chance, family, scene),
        resumes=chance.choice((0, 0, 1, 2)),
        haste=chance.random() < 0.93 or kind in family.endless,
        on_disk=seed % _ON_DISK_EVERY == 0,
        rehearsed=chance.random() < 0.05,
        clock_s=chance.choice((0.0, 0.0, -2.5, 3_600.0, -86_400.0)),
        **scene.more,
    )
    story = story.model_copy(update={"waves": _waves(chance, story.services)})
    strikes = _strikes(chance, story, family.calls)
    return _with_more(story, scene, family, (*strikes, *_elsewhere(story, strikes, family)))


def _kind(chance: Random, seed: int, kinds: Sequence[Kind]) -> Kind:
    """The runbook. Runbooks without a weight are drawn separately, so that the seeds of all others keep their stories."""
    weights = [simulation_of(family_of(one)).draw.weights[one] for one in kinds]
    rare = [one for one, weight in zip(kinds, weights, strict=True) if not weight]
    usual = chance.choices(kinds, weights)[0] if any(weights) else chance.choice(rare)
    apart = Random(f"failover seldom kind {seed}")
    return apart.choice(rare) if rare and apart.random() < _RARE else usual


def _with_more(story: Story, scene: Scene, family: FamilyDraw, strikes: tuple[FaultEvent, ...]) -> Story:
    """The story with everything beside the run. Each part is drawn with its own random numbers."""
    seed = story.seed
    story = story.model_copy(update=family.apart(Random(f"failover apart {seed}"), story))
    further = family.further(Random(f"failover further {seed}"), story)
    more: dict[str, Any] = {
        "further": further,
        "threads": draw_more.threads(seed),
        "slow": draw_more.slow(story, scene.sites, family),
        "quirks": draw_more.quirks(story, scene.sites),
        "sought": draw_more.sought(seed),
        "secret": draw_more.secret(seed, SECRET),
        "keyed": draw_more.keyed(seed),
        "own": family.own(Random(f"failover own {seed}"), story.kind),
        **draw_more.away(story, seed, family),
        **draw_more.limited(story),
    }
    story = story.model_copy(update=more)
    return story.model_copy(update={"strikes": (*strikes, *draw_more.strikes(story, family, strikes))})


def _account(seed: int) -> tuple[str, ...]:
    """Sometimes an account is not accepted, once or for some time: by the first device that is asked, or in the middle of
    the run. Drawn with its own random numbers, so that it adds to a story and does not change the rest of it."""
    first, later = Random(f"failover account {seed}"), Random(f"failover account later {seed}")
    faults = []
    if first.random() < _LOCKED_OUT:
        faults.append(f"any: wrong password{first.choice(_LOCKED_FOR)}")
    if later.random() < _LOCKED_OUT_LATER:
        faults.append(f"any {later.choice(('+1s', '+4s', '+8s', '+20s'))}: wrong password{later.choice(_LOCKED_FOR)}")
    return tuple(faults)


def _untold(seed: int, kind: Kind, family: FamilyDraw) -> tuple[Omission, ...]:
    """Sometimes a field that the runbook asks for is not reported, perhaps only once. Drawn separately, too."""
    chance = Random(f"failover untold {seed}")
    if chance.random() >= _UNTOLD:
        return ()
    asked = sorted({reading for reading, _ in family.omitted} & readings_of(runbook_of(kind)))
    reading = chance.choice(asked)
    field = chance.choice([field for one, field in family.omitted if one == reading])
    times = chance.choice((1, 3, 1_000))
    return (Omission(reading=reading, field=field, skip=chance.choice((0, 0, 0, 2)), times=times),)


def _elsewhere(story: Story, strikes: Sequence[FaultEvent], family: FamilyDraw) -> tuple[FaultEvent, ...]:
    """If a person is at the terminal, another person may answer from another terminal. Drawn separately, too."""
    chance = Random(f"failover other terminal {story.seed}")
    if story.person is None or chance.random() >= _FROM_ELSEWHERE:
        return ()
    free = [at for at in range(1, 40) if all(one.at != at for one in strikes)]
    choice = chance.choice([*_ANSWERS[1:], *(one for choices in family.choices.values() for one in choices)])
    return (FaultEvent(at=chance.choice(free), kind="answer", choice=choice),)


def _waves(chance: Random, services: Sequence[str]) -> Waves | None:
    if len(services) < 2 or chance.random() < 0.5:
        return None
    canary = chance.choice(services) if chance.random() < 0.5 else None
    return Waves(size=1, canary=canary, max_failed=chance.choice((1, 2)))


def _omissions(chance: Random, family: FamilyDraw) -> tuple[Omission, ...]:
    if chance.random() < 0.8:
        return ()
    chosen = chance.sample(family.omitted, k=min(chance.choice((1, 1, 2)), len(family.omitted)))
    return tuple(
        Omission(reading=reading, field=field, skip=chance.randrange(6), times=chance.choice((1, 3, 10, 1_000)))
        for reading, field in chosen
    )


def _lags(chance: Random, family: FamilyDraw, scene: Scene) -> tuple[Lag, ...]:
    """The management of one site, or of both, lags behind."""
    if chance.random() < 0.88:
        return ()
    sites = chance.sample(scene.sites, k=chance.choice((1, 1, 2)))
    return tuple(Lag(site=site, seconds=chance.choice(family.lags)) for site in sites)


def _person(chance: Random) -> Person | None:
    if chance.random() < 0.5:
        return None
    answers = chance.choices(_ANSWERS, (6, *[1] * (len(_ANSWERS) - 1)), k=chance.randrange(6))
    return Person(answers=tuple(answers), thinks=chance.choice((0.0, 1.0, 8.0, 40.0)))


def _policy(chance: Random, family: FamilyDraw, scene: Scene) -> Policy:
    on_gate = {
        gate: chance.choice(
            [choice for choice in choices if choice not in _ENDLESS and (choice != "wait" or family.waits)]
        )
        for gate, choices in family.choices.items()
        if chance.random() < family.pressing.get(gate, 0.15)
    }
    rulings = {
        xid: Ruling(choice=chance.choice(("commit", "rollback")), reason="as the manager's log says", by="ann")
        for xid in scene.xids
        if chance.random() < 0.8
    }
    return Policy(
        on_gate=on_gate,
        reasons=dict.fromkeys(on_gate, "agreed before"),
        transactions=rulings,
        fail_fast=chance.random() < 0.1,
    )


def _strikes(chance: Random, story: Story, calls: Sequence[str]) -> tuple[FaultEvent, ...]:
    """The events that hit processes, at separate instants."""
    # About as many instants as the run has. Later instants hit the processes that follow a death.
    spread = (60 + 50 * len(story.services)) * chance.choice((1, 1, 2))
    instants = sorted(chance.sample(range(1, spread), k=chance.choice((0, 0, 1, 1, 1, 2, 2, 3, 5))))
    return tuple(_strike(chance, at, story, calls) for at in instants)


def _place(chance: Random, at: int, calls: Sequence[str]) -> dict[str, Any]:
    """Anywhere, or right before or after one of the first commands."""
    return {"at": at} if chance.random() < 0.65 else {"near": chance.choice(calls), "at": chance.randrange(1, 7)}


def _strike(chance: Random, at: int, story: Story, calls: Sequence[str]) -> FaultEvent:
    kinds: list[StrikeKind] = [kind for kind, _ in _STRIKES]
    weights = [weight for _, weight in _STRIKES]
    if story.on_disk:
        kinds, weights = [*kinds, "torn", "disk full"], [*weights, 40, 25]
    kind = chance.choices(kinds, weights)[0]
    seconds = (
        chance.choice((0.1, 1.0, 20.0)) if kind in ("kill", "torn", "disk full") else chance.choice((1.0, 16.0, 40.0))
    )
    place = _place(chance, at, calls)
    elsewhere = kind == "kill" and chance.random() < 0.25
    return FaultEvent(
        **place,
        kind=kind,
        seconds=seconds,
        elsewhere=elsewhere,
        clock_s=chance.choice(_OFF_ELSEWHERE if elsewhere or kind in ("pause", "race") else _STEPPED),
        lives=chance.choice((None, 3, 10, 25)) if kind in ("pause", "race") else None,
        choice=_word(chance, kind),
        tear=chance.random(),
    )


def _word(chance: Random, kind: StrikeKind) -> Any:
    if kind == "answer":
        return chance.choice(_ANSWERS[1:])
    return "abort" if kind == "kill" and chance.random() < 0.1 else ""
