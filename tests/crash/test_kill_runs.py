"""Kill -9 at every instant of whole runs over the full mock worlds, then resume (promise 4).

`make test` tries the instants around each command, and ``MOST`` of each story, evenly spread (``MOST_AMPS`` of those of
AMPS). Every instant of every story is tried by `make proof`.
Each test prints how many it tried; ``pytest -rP`` shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from orchestrator.model import events as ev
from tests.core.killing import ForgetsDoubt, Fuse, HastyFleet, PerformsFirst, Story, Telling, guilty, tell
from tests.crash.stories import FuseAt, evenly, sampled, story
from tests.crash.stories_amps import AMPS_STORIES, amps_story

MOST, MOST_AMPS, EVERY = 8, 6, 1_000_000
DONE, REVERTED, ESCALATED = ev.Outcome.DONE, ev.Outcome.REVERTED, ev.Outcome.ESCALATED

# Scenario, phase, and the ends that a run killed anywhere in it may have; the first is that of the undisturbed one.
STORIES = [
    ("controlled-plain", 0, [DONE]),
    ("bridge-loss-unattended", 0, [REVERTED]),
    ("bridge-loss-escalates", 0, [ESCALATED]),
    # Killed before anybody could call it off, it is not called off.
    ("called-off-in-drain", 0, [REVERTED, DONE]),
    ("xa-undecided-then-decided", 0, [ev.Outcome.NEEDS_OPERATOR]),
    ("commit-lost-reply", 0, [DONE]),
    ("commit-late", 0, [DONE]),
    ("one-of-three-fails", 0, [ev.Outcome.REFUSED]),
    ("uncontrolled-dark", 0, [DONE]),
    ("isolated-and-back", 0, [DONE]),
    # A refusal that the killed process met is not met again: then one service is moved and relies on the shared door, so
    # the other one cannot open it and stops (promise 14).
    ("isolated-both-refused", 0, [REVERTED, DONE, ev.Outcome.NEEDS_OPERATOR]),
    ("long-outage", 1, [DONE]),
    ("long-outage", 2, [DONE]),
    ("repair-standby-drains", 0, [DONE]),
    ("repair-standby-home", 0, [DONE]),
    ("repair-active-accepted", 0, [DONE]),
]


def _count(tellings: Sequence[Telling], counting: Fuse) -> None:
    sys.stdout.write(f"killed at {len(tellings)} of {counting.count} instants\n")


def _sampled(most: int) -> pytest.MarkDecorator:
    """A sample of the instants by default, and every one of them in the long form."""
    return pytest.mark.parametrize(
        "most", [pytest.param(most, id="sample"), pytest.param(EVERY, id="every", marks=pytest.mark.long)]
    )


@_sampled(MOST)
@pytest.mark.parametrize(
    ("name", "phase", "ends"), STORIES, ids=[f"{name}-{phase + 1}" for name, phase, _ in STORIES]
)
def test_killed_anywhere(name: str, phase: int, ends: list[ev.Outcome], most: int, tmp_path: Path) -> None:
    """Whenever it is killed, resume leads to a named end, nothing is sent twice, and every promise is kept."""
    _kill_anywhere(story(name, tmp_path, *ends, phase=phase), tmp_path, ends[0], most)


@_sampled(MOST_AMPS)
@pytest.mark.parametrize("name", AMPS_STORIES)
def test_killed_anywhere_amps(name: str, most: int, tmp_path: Path) -> None:
    """The same of every shipped runbook of AMPS; and nothing is sent that the undisturbed run does not send."""
    _kill_anywhere(amps_story(name, tmp_path), tmp_path, AMPS_STORIES[name].end, most)


def _kill_anywhere(told: Story, folder: Path, end: ev.Outcome, most: int) -> None:
    counting = Fuse()
    undisturbed = tell(told, folder, counting)
    assert (undisturbed.outcome, undisturbed.complaints) == (end, [])
    tellings = [tell(told, folder, Fuse(at)) for at in sampled(counting.places, most)]
    assert list(guilty(tellings)) == []
    _count(tellings, counting)


@_sampled(MOST // 2)
@pytest.mark.parametrize("after", [1, 4, 9])
def test_killed_twice(after: int, most: int, tmp_path: Path) -> None:
    """Killed again soon after the resume: still one end, still nothing twice."""
    told = story("controlled-plain", tmp_path, DONE)
    counting = Fuse()
    tell(told, tmp_path, counting)
    tellings = [tell(told, tmp_path, FuseAt(at, at + after)) for at in evenly(counting.count, most)]
    assert list(guilty(tellings)) == []
    _count(tellings, counting)


def test_killed_over_and_over(tmp_path: Path) -> None:
    """A process that dies every so many instants still gets there: each life gets further."""
    told = story("controlled-plain", tmp_path, DONE)
    assert list(guilty([tell(told, tmp_path, Fuse(every=every)) for every in (53, 61, 71)])) == []


# --- negative controls: engines that are broken on purpose are caught ------------------------------------------------


def _tellings(name: str, folder: Path, **broken: object) -> Iterator[Telling]:
    """Undisturbed, then killed at one instant after the other."""
    told = story(name, folder, DONE, **broken)  # type: ignore[arg-type]
    counting = Fuse()
    yield tell(told, folder, counting)
    for at in range(1, counting.count + 1):
        yield tell(told, folder, Fuse(at))


def test_an_engine_that_acts_before_the_record_is_caught(tmp_path: Path) -> None:
    """With intents recorded after the deed, some instant sends a commit twice."""
    found = guilty(_tellings("commit-late", tmp_path, engine=PerformsFirst, fleet=HastyFleet))
    assert any("was sent to ny 2 times" in text for text in found)


def test_an_engine_that_acts_before_the_record_is_caught_amps(tmp_path: Path) -> None:
    """With intents recorded after the deed, an instance is told something of which nothing is on disk."""
    told = amps_story("controlled", tmp_path, engine=PerformsFirst, fleet=HastyFleet)
    assert any("no intent is on disk" in text for text in guilty([tell(told, tmp_path, Fuse())]))


def test_an_engine_that_resends_doubts_is_caught(tmp_path: Path) -> None:
    """A doubt that is taken for "not sent" sends a commit twice."""
    found = guilty(_tellings("commit-late", tmp_path, engine=ForgetsDoubt))
    assert any("was sent to ny 2 times" in text for text in found)
