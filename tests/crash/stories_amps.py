"""The runbooks of AMPS as stories to be killed in: the simulated fabric under load, every shipped runbook once.

The judge is that of ``proof.promises``; besides, nothing may be sent that the undisturbed run does not send.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.clock import VirtualClock
from orchestrator.core.run import fold
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.family.contract import Adapter
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.runbook import Choice, Side
from simulator.amps.worlds import AMPS_WORLDS
from tests.amps_admin.leading import SETTLES_S
from tests.amps_admin.world_pair import AWAY, HOME, INSTANCES, WorldPair
from tests.core.killing import RUN, Story
from tests.crash.stories import ExactFleet, watched
from tests.scenarios.watch import Watch

NY, LDN = INSTANCES[HOME], INSTANCES[AWAY]
CLOSE_NY, OPEN_NY = "ny disable transports/1", "ny enable transports/1"
CLOSE_LDN, OPEN_LDN = "ldn disable transports/1", "ldn enable transports/1"
DOWN_NY, DOWN_LDN = f"ny downgrade replication/{LDN}", f"ldn downgrade replication/{NY}"
UP_LDN = f"ldn upgrade replication/{NY}"
PROXY = "ldn enable_proxied_transfer queues/jobs-queue!json"
DEAD: Mapping[str, Choice] = {"unfenced": "attest"}
LOST: Mapping[str, Choice] = {**DEAD, "data-loss": "accept"}


def near(folder: Path, **how: Any) -> WorldPair:
    """Sync links; New York serves."""
    pair = WorldPair(folder, "in process", **how)
    pair.wait(20)
    return pair


def far(folder: Path) -> WorldPair:
    """Async links, and London closed."""
    pair = WorldPair(folder, "in process", sync=False)
    pair.act(AWAY, "disable", "transports/1")
    pair.wait(20)
    return pair


def dead(folder: Path) -> WorldPair:
    """New York is gone."""
    return _killed(near(folder))


def dead_and_far(folder: Path) -> WorldPair:
    """The same across async links."""
    return _killed(far(folder))


def replaced(folder: Path) -> WorldPair:
    """London goes on alone."""
    return _replaced(near(folder))


def back(folder: Path) -> WorldPair:
    """New York was replaced, and has started again, its clients kept out."""
    return _started(_replaced(near(folder)))


def back_and_open(folder: Path) -> WorldPair:
    """The same, and it lets clients in by itself."""
    return _started(_replaced(near(folder, starts_closed=False)))


def empty(folder: Path) -> WorldPair:
    """New York has lost its files, and is about to fetch all from London."""
    pair = _replaced(near(folder, bootstrap=True, queues=False))
    pair.lose(HOME)
    return _started(pair)


def returned(folder: Path) -> WorldPair:
    """Clients are at London, and New York is whole again."""
    pair = _started(_replaced(near(folder, starts_closed=False)))
    pair.wait(20)
    pair.act(AWAY, "upgrade", f"replication/{NY}")
    pair.wait(20)
    return pair


def returned_and_far(folder: Path) -> WorldPair:
    """The same across async links; New York keeps its clients out."""
    pair = far(folder)
    pair.act(HOME, "disable", "transports/1")
    pair.act(AWAY, "enable", "transports/1")
    pair.wait(20)
    return pair


def _killed(pair: WorldPair) -> WorldPair:
    pair.kill(HOME)
    pair.wait(20)
    return pair


def _replaced(pair: WorldPair) -> WorldPair:
    _killed(pair).act(AWAY, "downgrade", f"replication/{NY}")
    return pair


def _started(pair: WorldPair) -> WorldPair:
    pair.start(HOME)
    return pair


@dataclass(frozen=True, slots=True)
class AmpsStory:
    """One run. ``sends``: what its undisturbed telling makes the instances do, in order; ``end`` is how that ends, and
    ``ends`` how one may that was killed."""

    runbook: str
    prepare: Callable[[Path], WorldPair]
    sends: list[str]
    policy: Mapping[str, Choice] = field(default_factory=dict)
    source: str = HOME
    fault: str | None = None
    end: ev.Outcome = ev.Outcome.DONE
    ends: frozenset[ev.Outcome] = frozenset()


AMPS_STORIES = {
    "controlled": AmpsStory("amps/controlled", near, [CLOSE_NY, DOWN_LDN]),
    "turned back": AmpsStory(
        "amps/controlled",
        near,
        [CLOSE_NY, OPEN_NY],
        fault=f"disable {NY}: link {NY} {LDN} down",
        end=ev.Outcome.REVERTED,
    ),
    "doubtful": AmpsStory("amps/controlled", near, [CLOSE_NY, DOWN_LDN], fault=f"disable {NY}: lose reply"),
    "controlled-async": AmpsStory("amps/controlled-async", far, [CLOSE_NY, OPEN_LDN]),
    "uncontrolled": AmpsStory("amps/uncontrolled", dead, [DOWN_LDN], DEAD),
    "uncontrolled-async": AmpsStory("amps/uncontrolled-async", dead_and_far, [OPEN_LDN], LOST),
    "proxied-transfer": AmpsStory("amps/proxied-transfer", replaced, [PROXY], {"proxied-transfer": "accept"}),
    "guard": AmpsStory("amps/guard", back_and_open, [CLOSE_NY]),
    "restore": AmpsStory("amps/restore", back, [CLOSE_NY, UP_LDN, OPEN_NY]),
    "restore-bootstrap": AmpsStory(
        "amps/restore-bootstrap",
        empty,
        [CLOSE_NY, UP_LDN, OPEN_NY],
        {"bootstrap": "attest"},
        ends=frozenset([ev.Outcome.REFUSED]),  # it has fetched all meanwhile: nothing is left to be done by bootstrap
    ),
    "failback": AmpsStory("amps/failback", returned, [CLOSE_LDN, DOWN_NY], source=AWAY),
    "failback-async": AmpsStory("amps/failback-async", returned_and_far, [CLOSE_LDN, OPEN_NY], source=AWAY),
}


@dataclass
class AmpsKillStage:
    """One telling's world, as ``tests.core.killing`` wants it; made anew for each."""

    pair: WorldPair
    story: AmpsStory
    plan: ev.Plan
    watch: Watch
    begun: int

    @property
    def clock(self) -> VirtualClock:
        """The world's."""
        return self.pair.clock

    def adapters(self) -> dict[Side, Adapter]:
        """Both sides' adapters, watched."""
        sides: tuple[Side, Side] = ("source", "target")
        return {side: self.watch.adapter(side, self.pair.adapter(self.plan.site_name(side))) for side in sides}

    def judge(self) -> list[str]:
        """Every promise broken, and what was sent that should not have been.

        AMPS may be told the same again; and what was never sent need not be, where it is so already.
        """
        self.clock.sleep(SETTLES_S)
        journal = Journal.at(self.pair.folder / "journal.db")
        records = list(journal.records(RUN))
        broken = self.watch.verdict(journal, fold(records))
        journal.close()
        is_undisturbed = sum(one.event.kind == "run.started" for one in records) == 1
        sent = list(dict.fromkeys(self.pair.commands[self.begun :]))
        wanted = [one for one in self.story.sends if is_undisturbed or one in sent]
        return [*broken, *([] if sent == wanted else [f"sent {sent}, not {self.story.sends}"])]


def amps_story(
    name: str, folder: Path, *, engine: type[Engine] = Engine, fleet: type[InlineFleet] = ExactFleet
) -> Story:
    """The story of that name, told in ``folder``."""
    story = AMPS_STORIES[name]
    stages: list[AmpsKillStage] = []

    def make() -> AmpsKillStage:
        AMPS_WORLDS.forget(str(folder))
        pair = story.prepare(folder)
        if story.fault is not None:
            pair.fault(story.fault)
        plan = pair.plan(story.runbook, story.source, story.policy)
        stages.append(AmpsKillStage(pair, story, plan, Watch(pair.look, RUN, plan), len(pair.commands)))
        return stages[-1]

    return Story(
        name=name,
        plan=make().plan,
        world=make,
        judge=lambda world, outcome: world.judge(),
        ends=story.ends | {story.end},
        engine=watched(engine, stages),
        fleet=fleet,
    )
