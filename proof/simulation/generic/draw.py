"""Draws runs of a family in a file: the pair, the events in it before the run, and the faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from orchestrator.documents.loader import load_runbook
from orchestrator.model.declared.file import FamilyFile, managers_in
from orchestrator.model.facets import Facet
from orchestrator.model.runbook import Choice, Runbook, Step
from proof.simulation.scene import Scene
from proof.simulation.story import CommandEnd, FenceCommand, Further, Kind, OwnCommand, Part, Story
from simulator.generic.layout import GenericLayout, GenericService, generic_layout

SITES = ("ny", "nj")
_SERVICES = ("orders", "trades")
_LASTS = (" 1s", " 3s", " 6s", " 15s", "")
_FOR_A_WHILE = (" 2s", " 6s", " 25s")
# A later effect would come when no process waits for it any more: a timeout of 5s, and 2s to settle.
_LATE = ("500ms", "2s", "6s")
_ANSWERS = ("refuse", "lose request", "lose reply", "lose reply", "truncate reply", "garbage reply")
_ENDS = (
    CommandEnd(effect="rejected", after=None),
    CommandEnd(effect="doubtful", lasts=5.0, after=None),
    CommandEnd(effect="doubtful", lasts=5.0, after=3.0),
    CommandEnd(after=None),
    CommandEnd(),
)
_ALWAYS: Mapping[str, Sequence[Choice]] = {
    "step-failed": ("revert", "stop", "retry", "waive"),
    "undo-failed": ("stop", "retry"),
}
# The weight of a runbook by the start of its name. Every other runbook has the weight 1.
_WEIGHTS = {"controlled": 6, "failback": 4, "uncontrolled": 3, "restore": 2}

Before = tuple[tuple[str, ...], float]  # faults, and the seconds before the run starts


class GenericDraw:
    """See ``scene.FamilyDraw``. ``file``: the family's file. ``kinds``: its runbooks."""

    endless: frozenset[Kind] = frozenset()
    naps: Sequence[float] = (45.0, 90.0)
    clocks: Sequence[float] = (0.0, 1.0, -1.0, 30.0, -30.0, 7_200.0, -3_600.0)
    lags: Sequence[float] = (0.3, 0.9)
    waits: bool = True

    def __init__(self, file: FamilyFile, kinds: Sequence[Kind]) -> None:
        self._file = file
        runbooks = {kind: load_runbook(kind) for kind in kinds}
        self.weights: Mapping[Kind, int] = {kind: _weight(kind) for kind in kinds}
        self.choices: Mapping[str, Sequence[Choice]] = {
            **_ALWAYS,
            **dict(gate for one in runbooks.values() for gate in _gates(one)),
        }
        self.pressing: Mapping[str, float] = dict.fromkeys(
            (gate for gate, choices in self.choices.items() if {"attest", "escalate", "accept"} & set(choices)), 0.6
        )
        self.omitted: Sequence[tuple[str, str]] = [
            (name, field) for name, reading in file.readings.items() for field in reading.fields
        ]
        self.calls: Sequence[str] = sorted({action for one in runbooks.values() for action in _actions(one)}) or ["-"]
        # The actions that the world has to obey. The simulated pair does not execute the command of a fence plan.
        self._told = [name for name in self.calls if name in file.actions] or sorted(file.actions)
        self._parted = [name for name in file.closing if file.actions[name].parts > 1]
        self.slow_readings: Sequence[str] = [*file.readings, *self.calls]
        # The actions that another person may do by hand: they change which site serves, and need no preparation by a
        # runbook.
        self._hands = [name for name, one in file.actions.items() if Facet.SERVES in one.makes and not one.arguments]
        self._managers = list(managers_in(file))
        self._takes_over = _opening(file, runbooks.values())

    def episode(self, chance: Random, part: Part) -> tuple[str, ...]:
        """A person acts at the sites by hand, or something happens to them."""
        site = chance.choice(SITES)
        steps: list[tuple[str, ...]] = [("link down 6s",), (f"down {site} 8s",), (f"silent {site} 6s",)]
        if self._hands:
            steps += [(f"somebody {chance.choice(self._hands)} {site}", "link down 6s")]
        return tuple(f"at {number * 2}s: {what}" for number, what in enumerate(chance.choice(steps)))

    def further(self, chance: Random, story: Story) -> tuple[Further, ...]:
        """The moved services are moved back, or the other service is moved too."""
        if not story.kind.endswith("/controlled") or chance.random() >= 0.15:
            return ()
        layout = story.layout
        assert isinstance(layout, GenericLayout)
        left = tuple(one.name for one in layout.services if one.name not in story.services)
        if left:
            return (Further(kind=story.kind, source=story.source, services=left, policy=story.policy, beside=True),)
        back = layout.mate_of(story.source)
        return (Further(kind=story.kind, source=back, services=story.services, policy=story.policy),)

    def apart(self, chance: Random, story: Story) -> dict[str, Any]:
        """No changes, because the services are alike."""
        return {}

    def own(self, chance: Random, kind: Kind) -> OwnCommand | None:
        """None, because the operator's own command is the same for every family."""
        return None

    def scene(self, chance: Random, kind: Kind) -> Scene:
        """Two sites with one service, or with two services if they can be moved separately."""
        source = chance.choice(SITES)
        target = next(site for site in SITES if site != source)
        count = 1 if self._file.whole_site else chance.choices((1, 2), (80, 20))[0]
        layout = generic_layout(
            self._file,
            sites=SITES,
            source=source,
            services=tuple(_service(chance, name) for name in _SERVICES[:count]),
            noticed=chance.choice((0.0, 0.5, 2.0)),
        )
        services = tuple(one.name for one in layout.services)
        prelude, wait = self._before(chance, kind, source, target)
        managed, acting = self._manager(Random(chance.random()))
        return Scene(
            layout=layout,
            sites=(source, target),
            source=source,
            services=services[:1] if chance.random() < 0.3 else services,
            prelude=(*managed, *prelude),
            wait=wait,
            faults=(*self._faults(chance, kind), *acting),
            more=_fence(chance, kind, source),
        )

    def _before(self, chance: Random, kind: Kind, source: str, target: str) -> Before:
        name = kind.partition("/")[2]
        if name.startswith(("controlled", "failback")):
            return (), chance.choice((0.5, 3.0, 6.0))
        if name.startswith("uncontrolled"):
            wait = 1.0 + chance.choice((0.5, 4.0))
            if name.endswith("-fenced"):  # its machine has to answer
                return (f"at 1s: somebody {chance.choice(self._file.stopping)} {source}",), wait
            if chance.random() < 0.4:
                # Only the operator is cut off. Perhaps the link is lost as well, until about the time when the target
                # takes over.
                cut = chance.choice(("", "", " 16s", " 20s", " 40s"))
                return (f"at 1s: silent {source}", *((f"at 1s: link down{cut}",) if cut else ())), wait
            return (f"at 1s: down {source}{chance.choice(('', '', '', ' 20s', ' 40s'))}",), wait
        away = chance.choice((6, 12))
        taken = (f"at 2s: somebody {self._takes_over} {target}",) if self._takes_over else ()
        lost = (f"at 1s: down {source} {away}s", *taken)
        return lost, away + chance.choice((0.5, 5.0, 10.0))

    def _manager(self, chance: Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """If the family reads other managers, one of them may act at a site, or its reading does not tell. That begins
        before the run or during it. Perhaps the manager does act during the run."""
        if not self._managers or chance.random() >= 0.25:
            return (), ()
        site, name = chance.choice(SITES), chance.choice(self._managers)
        hidden = "hidden " if chance.random() < 0.45 else ""
        what = f"manager {hidden}{site} {name}{chance.choice(('', '', ' 8s'))}"
        if chance.random() < 0.3:
            return (), (f"act {chance.choice(self._told)}{chance.choice(('', ' +500ms'))}: {what}",)
        managed = (f"at 0s: {what}",)
        if hidden or not self._hands or chance.random() < 0.5:
            return managed, ()
        hand, wait = chance.choice(self._hands), chance.choice(("", " +20ms", " +500ms", " +3s"))
        return managed, (f"act {chance.choice(self._told)}{wait}: manager does {hand} {site}",)

    # Faults

    def _faults(self, chance: Random, kind: Kind) -> tuple[str, ...]:
        """Some faults, as text. Most runs have few faults, so that each fault can have its effect."""
        count = chance.choices((0, 1, 2, 3, 5), (20, 40, 20, 12, 8))[0]
        return tuple(self._fault(chance) for _ in range(count))

    def _fault(self, chance: Random) -> str:
        if chance.random() < 0.45:
            return self._of_answer(chance)
        return f"{self._when(chance)}: {self._of_state(chance)}"

    def _of_answer(self, chance: Random) -> str:
        if self._parted and chance.random() < 0.2:
            return f"act {chance.choice(self._parted)}: break off"
        if chance.random() < 0.25:
            return f"act {chance.choice(self._told)}: late {chance.choice(_LATE)}"
        phase = (
            f"act {chance.choice(self._told)}" if chance.random() < 0.6 else chance.choice(("reads", "any", "act"))
        )
        return f"{phase}: {chance.choice(_ANSWERS)}{chance.choice(('', '', '', *_FOR_A_WHILE))}"

    def _when(self, chance: Random) -> str:
        if chance.random() < 0.3:
            return f"at {chance.choice((0.0, 0.3, 1.0, 3.0, 6.0, 10.0, 15.0)):g}s"
        wait = chance.choice(("", "", " +20ms", " +200ms", " +1s", " +4s"))
        return f"act {chance.choice(self._told)}{wait}"

    def _of_state(self, chance: Random) -> str:
        site, lasts = chance.choice(SITES), chance.choice(_LASTS)
        choices: list[Sequence[str]] = [
            (f"link down{lasts}",) * 5,
            (f"link slow {chance.choice((10, 100, 1_000))}x{lasts}",) * 3,
            (f"down {site}{chance.choice((' 3s', ' 8s', ''))}",) * 3,
            (f"silent {site}{chance.choice(_FOR_A_WHILE)}",) * 2,
        ]
        if self._hands:
            choices.append((f"somebody {chance.choice(self._hands)} {site}",))
        return chance.choice([text for group in choices for text in group])


def _weight(kind: Kind) -> int:
    name = kind.partition("/")[2]
    return next((weight for start, weight in _WEIGHTS.items() if name.startswith(start)), 1)


def _service(chance: Random, name: str) -> GenericService:
    rate = float(chance.choice((20, 100, 400)))
    return GenericService(
        name=name,
        rate=rate,
        drain=rate * chance.choice((1.1, 2.0, 10.0)),
        waiting=round(rate * chance.choice((0.0, 1.0, 4.0))),
        lingers=chance.choice((0.0, 0.2, 2.0)),
    )


def _fence(chance: Random, kind: Kind, source: str) -> dict[str, Any]:
    """The command of the source's fence plan, if the runbook has one."""
    if not kind.endswith("-commanded"):
        return {}
    ends = chance.choices(_ENDS, k=chance.choice((0, 0, 1, 2)))
    silent = chance.sample(range(1, 12), k=chance.choice((0, 0, 1, 3)))
    return {"fence": FenceCommand(site=source, ends=tuple(ends), silent=tuple(sorted(silent)))}


def _gates(runbook: Runbook) -> Iterator[tuple[str, Sequence[Choice]]]:
    """Each question of a runbook, with its possible answers."""
    for step in runbook.steps:
        for asks in (step.ask, step.when_guard_breaks, step.when_stalled):
            if asks is not None:
                yield asks.gate, asks.choices


def _actions(runbook: Runbook) -> Iterator[str]:
    for step in runbook.steps:
        yield from (do.action for do in _dos(step))


def _dos(step: Step) -> Iterator[Any]:
    if step.do is not None:
        yield step.do
    if step.undo is not None:
        yield step.undo.do


def _opening(file: FamilyFile, runbooks: Iterable[Runbook]) -> str | None:
    """The action by which a person makes a target serve: the one that the family's runbooks use, or the first suitable
    one. None: there is none."""
    made = [name for name, one in file.actions.items() if one.makes.get(Facet.SERVES) and not one.arguments]
    dos = (do for runbook in runbooks for step in runbook.steps for do in _dos(step))
    told = [do.action for do in dos if do.on == "target" and do.action in made]
    return next(iter([*told, *made]), None)
