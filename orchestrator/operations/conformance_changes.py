"""The laws of changes: each action that has an inverse is done at one site, read, done again, and rolled back.

This changes a real site, so the caller must name that site. An action starts only from a state that was read, and that
its inverse restores. An action that would make a site serve is never the first. An action that cannot be rolled back is
not done. At the end the site is as it was, or the verdict says what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from orchestrator.clock import Clock
from orchestrator.errors import AdapterError
from orchestrator.family.contract import ActionSpec, Adapter, Call
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family, made_by
from orchestrator.model.outcome import Effect
from orchestrator.model.reading import Reading
from orchestrator.operations.conformance import Verdict

# How long an effect may take until it can be read, and the pause between readings, seconds.
_SHOWN_S, _PAUSE_S = 15.0, 0.2
_FENCE, _FENCE_READING = "set_external_fence", "external_fence"

SHOWN = "After an action, a reading shows its effect."
TWICE = "An idempotent action is accepted a second time, and then changes nothing."
BACK = "An inverse rolls its action back."
CLOSED = "A closed site does not serve, and the site serves again after it is opened."
FENCED = "The command of the fence plan closes and opens the site, and a reading shows both."
LAWS = (SHOWN, TWICE, BACK, CLOSED, FENCED)


@dataclass(frozen=True, slots=True)
class Changed:
    """A session with the site that may be changed, and the service for the actions."""

    site: str
    adapter: Adapter
    service: str


@dataclass(frozen=True, slots=True)
class _Trial:
    """An action with its effects, and the action that rolls it back."""

    call: Call
    action: str
    makes: Mapping[str, bool]
    inverse: str
    back: Call
    law: str = ""

    def __str__(self) -> str:
        return " ".join((self.action, *(f"{name}={value}" for name, value in self.call.args.items())))


@dataclass(slots=True)
class _Found:
    """By law, the violations and the actions that were done; ``left``: why an action was not done."""

    broken: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    done: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    left: list[str] = field(default_factory=list)
    unfenced: str = "the site has no fence plan with a command"

    def note(self, law: str, trial: _Trial, problem: str) -> None:
        """Record one observation about a law."""
        self.done[law].append(str(trial))
        if problem:
            self.broken[law].append(f"{trial}: {problem}")


class _Always:
    def check(self) -> None:
        """Every command may leave: the caller has named the site that is changed."""


def verdicts_of_changes(family: Family, changed: Changed, clock: Clock) -> Iterator[Verdict]:
    """Every law of changes, at this site."""
    found, site = _Found(), _Site(family, changed, clock)
    for trial in _trials(family, changed, found):
        _play(site, trial, found)
    for law in LAWS:
        broken, done = found.broken[law], found.done[law]
        where = tuple(f"{changed.site}: {one}" for one in broken or dict.fromkeys(done))
        why = tuple(found.left) or ("no action of the family has an inverse",)
        if law == FENCED:
            why = (found.unfenced,)
        yield Verdict(law, "broken" if broken else "holds" if done else "not checked", where if done else why)


def _trials(family: Family, changed: Changed, found: _Found) -> Iterator[_Trial]:
    """The actions that can be done and rolled back. An action that changes which site serves comes last: until then the
    site serves."""
    specs = changed.adapter.actions
    trials = [one for spec in specs.values() for one in _of_action(family, spec, specs, changed.service, found)]
    yield from sorted(trials, key=lambda one: Facet.SERVES in one.makes)
    if _FENCE in specs and _FENCE_READING in changed.adapter.readings:
        closed, opened = (Call(changed.service, {"state": state}) for state in ("closed", "open"))
        # If the site has no such command, the reason is shown in these brackets instead.
        missing = [line for call in (closed, opened) for line in specs[_FENCE].commands(call) if line.startswith("<")]
        if missing:
            found.unfenced = missing[0].strip("<>")
        else:
            yield _Trial(closed, _FENCE, {"closed": True}, _FENCE, opened, FENCED)


def _of_action(
    family: Family, spec: ActionSpec, specs: Mapping[str, ActionSpec], service: str, found: _Found
) -> Iterator[_Trial]:
    calls = list(_calls(family, spec.name, service))
    if not calls:
        return
    if spec.inverse is None or spec.inverse not in specs:
        found.left.append(f"{spec.name} has no inverse, so its change could not be rolled back")
        return
    for call, makes in calls:
        if set(call.args) != set(spec.arguments):
            found.left.append(f"{spec.name} takes arguments that only a runbook gives")
        elif not makes.get(Facet.SERVES):
            backs = _calls(family, spec.inverse, service)
            undone = {name: not value for name, value in makes.items()}
            back = next((one for one, made in backs if undone.items() <= made.items()), None)
            if back is None:
                found.left.append(f"{spec.name}: {spec.inverse} does not have the opposite effect")
            else:
                yield _Trial(call, spec.name, makes, spec.inverse, back)


def _calls(family: Family, action: str, service: str) -> Iterator[tuple[Call, Mapping[str, bool]]]:
    """Each call of an action that has an effect, with its effects."""
    for (name, argument), values in family.makes.items():
        for value in values if name == action else ():
            args = {argument: value} if argument else {}
            yield Call(service, args), made_by(family.makes, action, args)


class _Site:
    """The site's readings, and its answers to actions."""

    def __init__(self, family: Family, changed: Changed, clock: Clock) -> None:
        self._family, self._changed, self._clock = family, changed, clock
        self.actions = changed.adapter.actions

    def shows(self, wanted: Mapping[str, bool]) -> bool | None:
        """Are all readings as ``wanted``? None: a part of them is unknown."""
        found = [self._value(name) for name in wanted]
        same = [None if one is None else one is value for one, value in zip(found, wanted.values(), strict=True)]
        return False if False in same else None if None in same else True

    def comes_to_show(self, wanted: Mapping[str, bool]) -> bool:
        """Wait until all readings are as ``wanted``. False: they were not within ``_SHOWN_S``."""
        until = self._clock.now() + _SHOWN_S
        while (found := self.shows(wanted)) is not True and self._clock.now() < until:
            self._clock.sleep(_PAUSE_S)
        return found is True

    def _value(self, name: str) -> bool | None:
        for reading, field_name in self._places(name):
            value = self._changed.adapter.probe(reading, [self._changed.service]).get(self._changed.service)
            found = getattr(value, field_name) if isinstance(value, Reading) else None
            if isinstance(found, bool):
                return found
        return None

    def _places(self, name: str) -> Iterator[tuple[str, str]]:
        """The readings that show a facet or a field, each with the name of its field."""
        if name == "closed" and _FENCE_READING in self._changed.adapter.readings:
            yield _FENCE_READING, name
        for reading, model in self._family.readings.items():
            facets = {facet.value: one for facet, one in model.facets.items()}
            own = facets.get(name, name if name in model.model_fields and name not in facets else "")
            if own and reading in self._changed.adapter.readings:
                yield reading, own

    def do(self, action: str, call: Call) -> str:
        """Do the action. Returns the error in the answer; empty: it was accepted."""
        try:
            (result,) = self._changed.adapter.apply(action, [call], _Always())
        except AdapterError as error:
            return str(error)
        return (
            ""
            if result.effect is Effect.ACCEPTED
            else f"{result.effect}: {result.detail or 'the site gave no reason'}"
        )


def _play(site: _Site, trial: _Trial, found: _Found) -> None:
    """Do the action, repeat it if that is allowed, and roll it back, even after an error."""
    before = {name: not value for name, value in trial.makes.items()}
    if site.shows(before) is not True:
        what = ", ".join(f"{name}: {str(value).lower()}" for name, value in before.items())
        found.left.append(f"{trial} can start only if a reading shows {what}, but this site does not show that")
        return
    closed = "the process was interrupted"
    try:
        closed = _done(site, trial, found)
    finally:  # also after an interrupt, so that no change is left
        opened = _rolled_back(site, trial, before, site.do(trial.inverse, trial.back))
        found.note(trial.law or BACK, trial, opened)
    if Facet.SERVES in trial.makes:
        found.note(CLOSED, trial, closed or opened)


def _done(site: _Site, trial: _Trial, found: _Found) -> str:
    answered = site.do(trial.action, trial.call)
    shown = site.comes_to_show(trial.makes)
    problem = (
        ""
        if shown
        else "the action was done, but no reading shows its effect" + (f" ({answered})" if answered else "")
    )
    found.note(trial.law or SHOWN, trial, problem)
    if site.actions[trial.action].idempotent and shown:
        again = site.do(trial.action, trial.call)
        kept = site.comes_to_show(trial.makes)
        found.note(
            TWICE,
            trial,
            again or ("" if kept else "after the second time, no reading shows the effect of the action"),
        )
    return problem


def _rolled_back(site: _Site, trial: _Trial, before: Mapping[str, bool], answered: str) -> str:
    if site.comes_to_show(before):
        return ""
    why = f" ({answered})" if answered else ""
    return f"LEFT CHANGED: {trial.inverse} does not roll the action back{why}; roll it back by hand"
