"""Draws the things beside a run: other runs of the same world, people who have to approve, slow devices.

Each kind is drawn with its own random numbers, so that it adds to a story and does not change the rest of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from proof.simulation.scene import FamilyDraw
from proof.simulation.story import FaultEvent, Part, Quirk, QuirkKind, Slow, Sought, Story, StrikeKind, Word

_THREADED = 0.4  # of all runs
_SLOW, _QUIRKY, _SOUGHT, _SECRET, _KEYED, _LIMITED = 0.14, 0.12, 0.06, 0.2, 0.3, 0.08
_QUIRKS: Sequence[QuirkKind] = ("mute", "swapped", "swapped", "broken session", "broken session", "host key")
# Close to the length of a lease and the maximum age of a reading, and far above both.
_NAPS = (1.0, 11.0, 12.5, 13.5, 14.5, 16.0, 27.0, 29.0, 31.0, 40.0)
_DIGESTS_ASKED = (0.5, 2.0, 5.0, 9.0, 20.0)
_PEOPLE = ("bob", "eve", "dan", "ann")


def threads(seed: int) -> int | None:
    """The number that draws the order of answers when both sites are used at the same time. None: one site at a time."""
    chance = Random(f"failover threads {seed}")
    return chance.randrange(1_000_000) if chance.random() < _THREADED else None


def slow(story: Story, sites: Sequence[str], family: FamilyDraw) -> tuple[Slow, ...]:
    """Devices that take seconds or minutes for an answer."""
    chance = Random(f"failover slow {story.seed}")
    if chance.random() >= _SLOW:
        return ()
    return tuple(
        Slow(
            site=chance.choice(sites),
            seconds=chance.choice((2.0, 6.0, 14.0, 17.0, 33.0, *family.naps)),
            reading=chance.choice(("", "", *family.slow_readings)),
            skip=chance.choice((0, 0, 1, 2, 4, 8)),
            times=chance.choice((1, 1, 1, 3)),
            after=chance.random() < 0.6,
        )
        for _ in range(chance.choice((1, 1, 2)))
    )


def quirks(story: Story, sites: Sequence[str]) -> tuple[Quirk, ...]:
    """Sessions that break in the middle, results that are missing or exchanged, or another host key."""
    chance = Random(f"failover quirks {story.seed}")
    if chance.random() >= _QUIRKY:
        return ()
    kind = chance.choice(_QUIRKS)
    late = (5, 9, 14, 20, 30) if kind == "host key" else (0, 0, 1, 2)
    times = chance.choice((1, 6, 1_000)) if kind == "host key" else chance.choice((1, 1, 2))
    return (Quirk(site=chance.choice(sites), kind=kind, skip=chance.choice(late), times=times),)


def sought(seed: int) -> Sought | None:
    """Sometimes other people have to approve. They do so in time, late, twice, for another plan, or not at all, or they
    deny."""
    chance = Random(f"failover approvals {seed}")
    if chance.random() >= _SOUGHT:
        return None
    needed = chance.choice((1, 1, 2))
    words = [_word(chance) for _ in range(chance.choice((0, 1, 2, 3, 4)))]
    # Usually enough people approve, or few runs would start.
    if chance.random() < 0.6:
        words += [Word(after=3.0 + number, by=name) for number, name in enumerate(("bob", "eve")[:needed])]
    return Sought(
        needed=needed, within=chance.choice((6.0, 15.0)), break_glass=chance.random() < 0.5, words=tuple(words)
    )


def _word(chance: Random) -> Word:
    return Word(
        after=chance.choice(_DIGESTS_ASKED),
        by=chance.choice(_PEOPLE),
        choice=chance.choice(("approve", "approve", "approve", "approve", "deny", "break-glass")),
        of_other_plan=chance.random() < 0.2,
        reason=chance.choice(("looked at", "looked at", "")),
    )


def secret(seed: int, known: str) -> str:
    """Sometimes people repeat a secret in their reasons."""
    return known if Random(f"failover secret {seed}").random() < _SECRET else ""


def limited(story: Story) -> dict[str, Any]:
    """Sometimes the run has a timeout, also under the policy of a later resume."""
    chance = Random(f"failover limit {story.seed}")
    if chance.random() >= _LIMITED:
        return {}
    limit = {"timeout": chance.choice((1.0, 4.0, 12.0, 30.0, 90.0))}
    later = story.later and story.later.model_copy(update=limit)
    return {"policy": story.policy.model_copy(update=limit), "later": later}


def keyed(seed: int) -> bool:
    """Does the caller give the run a key?"""
    return Random(f"failover key {seed}").random() < _KEYED


# Further events that hit processes, with their probability in a simulated run.
_BESIDES: Mapping[StrikeKind, float] = {
    "step": 0.16,
    "signal": 0.06,
    "journal away": 0.07,
    "disk full": 0.05,
    "outside": 0.08,
    "late word": 0.03,
    "pause": 0.05,
    "kill": 0.05,
}
_ON_DISK: Mapping[StrikeKind, float] = {"journal replaced": 0.25, "torn": 0.2}


def strikes(story: Story, family: FamilyDraw, taken: Sequence[FaultEvent]) -> tuple[FaultEvent, ...]:
    """At most one event of each kind, at separate instants: anywhere, or next to one of the commands."""
    chance = Random(f"failover besides {story.seed}")
    used = {(one.near, one.at) for one in taken}
    found: list[FaultEvent] = []
    for kind, likely in {**_BESIDES, **(_ON_DISK if story.on_disk else {})}.items():
        if chance.random() >= likely:
            continue
        strike = _strike(chance, kind, story, family)
        if (strike.near, strike.at) not in used:
            used.add((strike.near, strike.at))
            found.append(strike)
    if any(one.beside for one in story.further):
        found += _besides(chance, used)
    return tuple(found)


def _strike(chance: Random, kind: StrikeKind, story: Story, family: FamilyDraw) -> FaultEvent:
    is_near = chance.random() < 0.5
    at = chance.randrange(1, 8) if is_near else chance.randrange(4, 60 + 30 * len(story.services))
    more: dict[str, Any] = {}
    if kind in ("pause", "kill"):
        more = {"clock_s": chance.choice(family.clocks), "elsewhere": kind == "kill"}
        more["lives"] = chance.choice((None, 0, 1, 3, 10)) if kind == "pause" else None
    if kind == "outside" or (kind in ("kill", "step", "pause") and chance.random() < 0.3):
        more["meanwhile"] = family.episode(chance, story)
    return FaultEvent(
        at=at,
        near=chance.choice(family.calls) if is_near else "",
        kind=kind,
        seconds=_seconds(chance, kind, family),
        tear=chance.random(),
        **more,
    )


def _seconds(chance: Random, kind: StrikeKind, family: FamilyDraw) -> float:
    if kind == "journal away":
        return chance.choice((0.5, 0.5, 2.0, 5.0, 12.0, 20.0))
    if kind in ("step", "pause"):
        return chance.choice((*_NAPS, *family.naps))
    return chance.choice((0.1, 1.0, 8.0, 20.0))


def _besides(chance: Random, used: set[tuple[str, int]]) -> list[FaultEvent]:
    """The moments in the first run at which another run starts, or continues."""
    instants = sorted(chance.sample(range(10, 90), k=chance.choice((1, 2, 3))))
    return [
        FaultEvent(at=at, kind="beside", lives=chance.choice((None, 12, 25, 40)))
        for at in instants
        if ("", at) not in used
    ]


def away(part: Part, seed: int, family: FamilyDraw) -> dict[str, Any]:
    """A run that stopped for a person may wait for hours. The world continues meanwhile, and a person may act by hand."""
    chance = Random(f"failover away {seed}")
    if not part.resumes:
        return {}
    between = family.episode(chance, part) if chance.random() < 0.6 else ()
    return {"back_after": chance.choice((0.0, 5.0, 20.0, 60.0, *family.naps)), "between": between}
