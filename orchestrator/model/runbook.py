"""Runbooks as data: an ordered list of steps, no code, no templating.

docs/reference/runbooks.md is the grammar. A step is of one of these shapes:

- a *check*: only ``require``;
- a *foresight*: ``foresee``, which lists now what a later step will need decisions on;
- an *action*: ``do`` with ``expect``, and an ``undo`` before the point of no return;
- a *wait*: ``until`` with ``guard`` and what to do when the guard breaks or nothing moves;
- an *approval*: ``ask``, a gate that a person must answer;
- a *comparison*: ``compare``, a named rule over both sites;
- an *each*: ``for_each`` item of a reading, a person or policy decides, and ``do`` is done to that item.

Whether the words fit an adapter's declarations is checked by ``lint``, not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from orchestrator.model.reading import Elsewhere, WhereValue, elsewhere_in

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$")
_LONGEST = 366 * 86_400.0  # seconds; no clock of a machine waits for much more
_NO_DURATION = "a duration is a number with a unit: 100ms, 60s, 5m, 2h"


def parse_duration(value: object) -> float:
    """Seconds of ``"60s"``, ``"5m"``, ``"100ms"``, ``"1.5h"``; a bare number has no unit and is refused."""
    if not isinstance(value, str):
        raise ValueError(_NO_DURATION)
    return _parse_duration(value)


# Every record of a plan holds its runbook, and all runbooks together have few different durations.
@lru_cache(maxsize=256)
def _parse_duration(text: str) -> float:
    found = _DURATION.match(text)
    if found is None:
        raise ValueError(_NO_DURATION)
    seconds = float(found[1]) / 1000 if found[2] == "ms" else float(found[1]) * _UNITS[found[2]]
    if seconds > _LONGEST:
        raise ValueError("a duration is at most 366d")
    return seconds


@lru_cache(maxsize=256)
def format_duration(seconds: float) -> str:
    """The shortest exact form that ``parse_duration`` reads back."""
    for unit in ("d", "h", "m", "s"):
        if seconds >= _UNITS[unit] and (seconds / _UNITS[unit]).is_integer():
            return f"{seconds / _UNITS[unit]:.0f}{unit}"
    text = f"{seconds * 1000:.15f}".rstrip("0").removesuffix(".") + "ms"
    # A stored runbook must read back as it was, to the last digit.
    return text if parse_duration(text) == seconds else f"{Decimal(repr(seconds)):f}s"


# Seconds. An unattended run with neither site serving must end by itself before it is forgotten.
WAIT_AT_MOST = 3600.0
# Seconds. What a changing command depends on is read again when it is older.
MAX_AGE = 30.0

Duration = Annotated[
    float,
    BeforeValidator(parse_duration, json_schema_input_type=str),
    PlainSerializer(format_duration, return_type=str),
]
Side = Literal["source", "target"]
Claim = Literal["hold", "release"]
Choice = Literal[
    "wait", "revert", "escalate", "retry", "stop", "commit", "rollback", "waive", "attest", "later", "accept"
]


# What people may also answer, to a question about the plan as a whole; never a choice of a runbook.
Answer = Choice | Literal["approve", "deny", "break-glass"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Look(_Strict):
    """A reading of one side; on its own it is taken for the report, and decides nothing."""

    on: Side
    reading: str


class Check(Look):
    """A condition on a reading. ``say`` is what it means for a person when it does not hold."""

    where: Mapping[str, WhereValue] = Field(min_length=1)
    say: str = ""

    @property
    def elsewhere(self) -> tuple[Elsewhere, ...]:
        """The values of the other site that it compares with."""
        return tuple(elsewhere_in(self.where))

    @property
    def asks(self) -> tuple[tuple[Side, str], ...]:
        """What is read for it, in this order."""
        return (*((other.on, other.reading) for other in self.elsewhere), (self.on, self.reading))


class Do(_Strict):
    """An action; keys besides ``on`` and ``action`` are its arguments, as text."""

    on: Side
    action: str
    args: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather_arguments(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "args" in data:
            return data
        known = {key: value for key, value in data.items() if key in ("on", "action")}
        return {**known, "args": {key: value for key, value in data.items() if key not in known}}


class Undo(_Strict):
    """How a step is rolled back: its own precondition, action and proof. An idempotent action may lack ``expect``."""

    require: tuple[Check, ...] = ()
    do: Do
    expect: tuple[Check, ...] = ()


class GuardBreak(_Strict):
    """What happens when a guard stays broken for longer than ``grace``.

    ``wait_at_most``: for how long a ``wait`` that was decided in advance, or holds ``unattended``, continues while
    nothing gets better.
    """

    grace: Duration
    gate: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Choice
    wait_at_most: Duration = WAIT_AT_MOST


class Stall(_Strict):
    """What happens when ``progress`` shows no change for longer than ``after``, though the guard holds.

    ``wait_at_most`` as for ``GuardBreak``.
    """

    after: Duration
    gate: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Choice
    wait_at_most: Duration = WAIT_AT_MOST


class Progress(_Strict):
    """The number that must fall to 0 while waiting: a field of a reading. ``up_to``: it must rise to this value of the
    other site instead, and what is missing falls to 0."""

    on: Side
    reading: str
    field: str
    up_to: Elsewhere | None = None

    @property
    def values(self) -> tuple[tuple[Side, str, str], ...]:
        """What is read for it, in this order: sides, readings and fields."""
        own = (self.on, self.reading, self.field)
        return (own,) if self.up_to is None else ((self.up_to.on, self.up_to.reading, self.up_to.field), own)


class Poll(_Strict):
    """Bounds of the time between two readings while waiting."""

    min: Duration = 0.05
    max: Duration = 2.0


class ForEach(_Strict):
    """The items of a reading a step works through. ``decided_in``: only items that step decided on in this run."""

    on: Side
    reading: str
    where: Mapping[str, WhereValue] = Field(min_length=1)
    decided_in: str | None = None


class Decide(_Strict):
    """A gate for each item: nothing is done to an item before a person or a named policy chose. ``unattended``: what
    happens where no one decided; ``revert`` becomes ``stop`` where there is no way back."""

    gate: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Literal["stop", "revert"] = "stop"


class Approval(_Strict):
    """A question that an operator must answer before the lane continues. ``text`` is what they agree to; ``option`` is
    the option of the command line that answers it in advance."""

    gate: str
    text: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Choice
    option: str = ""


class Step(_Strict):
    """One step. ``only_if``: the step is left out when this is read as false; unknown is asked again, then fails it.
    ``unless_escalated``: it is left out after an escalation, since it would drop what the source alone has.
    ``never``: what ends a wait in failure as soon as it is read as true. ``hold``: how long a goal must hold without
    a break. ``compare``: a rule over readings of both sites. Durations are seconds once loaded.

    ``reconfirm``: what earlier waits have proven and the action depends on; it is read in the same round as ``require``,
    and only an escalation waives it. ``max_age``: how old these readings may be when the action leaves. ``claim``: the
    action changes something that belongs to the whole site. With ``hold`` the service relies on it from now on; with
    ``release`` it no longer does, and the action waits until no other service does. ``foresee``: the id of a later step
    with ``decide``, whose items are listed now. ``report``: what is read in the last round of the step only to be
    reported; that it cannot be read changes nothing. ``leaves``: what stays changed when the lane is rolled back, said by
    the author, since nothing can undo the step; ``nothing`` if a rollback finds nothing to do.

    ``within``: how long a postcondition may take to show. ``patience``: how long an unknown reading is asked again
    before the step fails. ``settle``: how long after a doubtful action a negative reading is not believed, since the
    effect may land late. ``delay``: how long items are left to others first. ``timeout`` ends a wait.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    only_if: tuple[Check, ...] = ()
    unless_escalated: bool = False
    require: tuple[Check, ...] = ()
    reconfirm: tuple[Check, ...] = ()
    foresee: str | None = None
    ask: Approval | None = None
    compare: str | None = None
    claim: Claim | None = None
    do: Do | None = None
    expect: tuple[Check, ...] = ()
    undo: Undo | None = None
    leaves: str = ""
    report: tuple[Look, ...] = ()
    until: tuple[Check, ...] = ()
    never: tuple[Check, ...] = ()
    guard: tuple[Check, ...] = ()
    when_guard_breaks: GuardBreak | None = None
    when_stalled: Stall | None = None
    progress: Progress | None = None
    poll: Poll = Poll()
    for_each: ForEach | None = None
    decide: Decide | None = None
    within: Duration = 15.0
    patience: Duration = 30.0
    settle: Duration = 2.0
    delay: Duration = 0.0
    hold: Duration = 0.0
    max_age: Duration = MAX_AGE
    timeout: Duration | None = None
    attempts: int = Field(default=3, ge=1, le=20)
    point_of_no_return: bool = False

    @property
    def leaves_nothing(self) -> bool:
        """Has a rollback nothing to do here, as the author says?"""
        return self.leaves == "nothing"

    @model_validator(mode="after")
    def _one_shape(self) -> Step:
        if self.until and (self.do or self.for_each):
            raise ValueError("a step that waits (until) has no do and no for_each")
        shapes = (self.do, self.until, self.ask, self.compare, self.foresee)
        if not (self.require or any(shapes)):
            raise ValueError("a step needs at least one of require, do, until, ask, compare, foresee")
        if sum(bool(shape) for shape in shapes) > 1:
            raise ValueError("a step has one of do, until, ask, compare, foresee")
        if (self.never or self.hold) and not self.until:
            raise ValueError("never and hold belong to a step that waits (until)")
        if self.for_each and not self.do:
            raise ValueError("for_each needs a do")
        if self.decide and not self.for_each:
            raise ValueError("decide needs a for_each")
        if (self.reconfirm or self.claim) and (self.do is None or self.for_each):
            raise ValueError("reconfirm and claim belong to a step with a do, and without for_each")
        if bool(self.guard or self.reconfirm) != bool(self.when_guard_breaks):
            raise ValueError("guard or reconfirm, and when_guard_breaks, come together")
        if self.when_stalled and not self.progress:
            raise ValueError("when_stalled needs progress, the number that must fall")
        return self

    @property
    def changes(self) -> bool:
        """Does this step do anything to a device?"""
        return self.do is not None

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every condition of the step itself; those of its undo are not among them."""
        before = (*self.only_if, *self.require, *self.reconfirm)
        return (*before, *self.expect, *self.until, *self.never, *self.guard)


class Runbook(_Strict):
    """A procedure for one service in one direction. ``continue_with`` names a shipped runbook whose steps follow; the
    loader appends them, so that a loaded runbook has none left."""

    runbook: str = Field(pattern=r"^[a-z][a-z0-9-]*/[a-z][a-z0-9-]*$")
    summary: str
    continue_with: str | None = None
    steps: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct_steps(self) -> Runbook:
        ids = [step.id for step in self.steps]
        for step_id in ids:
            if ids.count(step_id) > 1:
                raise ValueError(f"two steps are called {step_id}")
        return self

    @property
    def family(self) -> str:
        """``solace`` of ``solace/controlled``."""
        return self.runbook.split("/")[0]

    def index_of(self, step_id: str) -> int:
        """The position of a step. Raises KeyError."""
        for index, step in enumerate(self.steps):
            if step.id == step_id:
                return index
        raise KeyError(step_id)
