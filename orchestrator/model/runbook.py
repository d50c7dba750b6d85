"""Runbooks as data: an ordered list of steps, no code, no templating.

docs/reference/runbooks.md is the grammar. A step is of one of these shapes:

- a *check*: only ``require``;
- a *foresight*: ``foresee``, which lists now the items that a later step will need decisions on;
- an *action*: ``do`` with ``expect``, and an ``undo`` before the point of no return;
- a *wait*: ``until`` with ``guard``, and the rules for a broken guard and for a stall;
- an *approval*: ``ask``, a gate that a person must answer;
- a *comparison*: ``compare``, a named rule over both sites;
- an *each*: ``for_each`` item of a reading, a person or policy decides, and ``do`` is done to that item.

``lint``, not this module, checks that the names fit an adapter's declarations.
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
_LONGEST = 366 * 86_400.0  # seconds; the clock of a machine cannot wait for much more
_NO_DURATION = "a duration must be a number with a unit: 100ms, 60s, 5m, 2h"


def parse_duration(value: object) -> float:
    """Seconds of ``"60s"``, ``"5m"``, ``"100ms"``, ``"1.5h"``; a bare number has no unit and is refused."""
    if not isinstance(value, str):
        raise ValueError(_NO_DURATION)
    return _parse_duration(value)


# Cached: every record of a plan holds its runbook, and all runbooks together have few different durations.
@lru_cache(maxsize=256)
def _parse_duration(text: str) -> float:
    found = _DURATION.match(text)
    if found is None:
        raise ValueError(_NO_DURATION)
    seconds = float(found[1]) / 1000 if found[2] == "ms" else float(found[1]) * _UNITS[found[2]]
    if seconds > _LONGEST:
        raise ValueError("a duration must be at most 366d")
    return seconds


@lru_cache(maxsize=256)
def format_duration(seconds: float) -> str:
    """The shortest exact form that ``parse_duration`` reads back."""
    for unit in ("d", "h", "m", "s"):
        if seconds >= _UNITS[unit] and (seconds / _UNITS[unit]).is_integer():
            return f"{seconds / _UNITS[unit]:.0f}{unit}"
    text = f"{seconds * 1000:.15f}".rstrip("0").removesuffix(".") + "ms"
    # A stored runbook must be read back with exactly the same durations.
    return text if parse_duration(text) == seconds else f"{Decimal(repr(seconds)):f}s"


# Seconds. An unattended run during which no site serves must end by itself before people forget it.
WAIT_AT_MOST = 3600.0
# Seconds. Readings that a changing command depends on are taken again when they are older.
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


# An answer can also be a vote on the whole plan. A runbook never offers these votes as choices.
Answer = Choice | Literal["approve", "deny", "break-glass"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Look(_Strict):
    """A reading of one side. Without a condition it is taken only for the report, and decides nothing."""

    on: Side
    reading: str


class Check(Look):
    """A condition on a reading. If the condition does not hold, ``say`` tells a person what that means, and ``remedy``
    what to do about it."""

    where: Mapping[str, WhereValue] = Field(min_length=1)
    say: str = ""
    remedy: str = ""

    @property
    def elsewhere(self) -> tuple[Elsewhere, ...]:
        """The values of the other site that the check compares with."""
        return tuple(elsewhere_in(self.where))

    @property
    def asks(self) -> tuple[tuple[Side, str], ...]:
        """The readings that the check needs, in this order."""
        return (*((other.on, other.reading) for other in self.elsewhere), (self.on, self.reading))


class Do(_Strict):
    """An action. Keys other than ``on`` and ``action`` are its arguments, as text."""

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
    """The gate when a guard stays broken for longer than ``grace``.

    ``wait_at_most``: for how long the choice ``wait``, decided in advance or ``unattended``, continues while nothing
    improves.
    """

    grace: Duration
    gate: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Choice
    wait_at_most: Duration = WAIT_AT_MOST


class Stall(_Strict):
    """The gate when ``progress`` shows no change for longer than ``after``, although the guard holds.

    ``wait_at_most`` as for ``GuardBreak``.
    """

    after: Duration
    gate: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Choice
    wait_at_most: Duration = WAIT_AT_MOST


class Progress(_Strict):
    """The number that must fall to 0 during a wait: a field of a reading. With ``up_to``, the number must instead rise to
    this value of the other site, so the difference falls to 0."""

    on: Side
    reading: str
    field: str
    up_to: Elsewhere | None = None

    @property
    def values(self) -> tuple[tuple[Side, str, str], ...]:
        """The values that are read for the number, in this order, each as side, reading and field."""
        own = (self.on, self.reading, self.field)
        return (own,) if self.up_to is None else ((self.up_to.on, self.up_to.reading, self.up_to.field), own)


class Poll(_Strict):
    """Bounds of the time between two readings during a wait."""

    min: Duration = 0.05
    max: Duration = 2.0


class ForEach(_Strict):
    """The items of a reading that a step works through. ``decided_in``: the id of an earlier step; only items that it
    decided on in this run."""

    on: Side
    reading: str
    where: Mapping[str, WhereValue] = Field(min_length=1)
    decided_in: str | None = None


class Decide(_Strict):
    """A gate for each item: nothing is done to an item before a person or a named policy chose. ``unattended``: the
    choice for undecided items without an operator. ``revert`` becomes ``stop`` if the lane cannot be rolled back."""

    gate: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Literal["stop", "revert"] = "stop"


class Approval(_Strict):
    """A question that an operator must answer before the lane continues. ``text``: the statement that the operator agrees
    to. ``option``: the option of the command line that answers the question in advance."""

    gate: str
    text: str
    choices: tuple[Choice, ...] = Field(min_length=1)
    unattended: Choice
    option: str = ""


class Step(_Strict):
    """One step. ``only_if``: the step is skipped if these checks are read as false. An unknown value is read again, and
    then the step fails. ``unless_escalated``: the step is skipped after an escalation, since it would drop data that only
    the source has. ``never``: a wait fails as soon as one of these checks is read as true. ``hold``: how long the goal
    must hold without a break. ``compare``: a rule over readings of both sites. Durations are seconds once loaded.

    ``reconfirm``: results of earlier waits that the action depends on. They are read in the same round as ``require``,
    and only an escalation waives them. ``max_age``: how old these readings may be when the action is sent. ``claim``: the
    action changes a thing of the whole site. With ``hold`` the service relies on the thing from now on. With ``release``
    the service no longer relies on it, and the action waits until no other service does. ``foresee``: the id of a later
    step with ``decide``, whose items are listed now. ``report``: readings that the last round of the step takes only for
    the report; a failure of them changes nothing. ``leaves``: for a step that cannot be undone, the author's description
    of the change that stays after a rollback; ``nothing`` if a rollback has nothing to do.

    ``within``: how long a postcondition may take to show. ``patience``: how long an unknown value is read again before
    the step fails. ``settle``: how long after a doubtful action a negative reading does not count, since the action may
    take effect late. ``delay``: how long others may handle the items first. ``timeout`` ends a wait.
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
        """Does the author declare that a rollback has nothing to do for this step?"""
        return self.leaves == "nothing"

    @model_validator(mode="after")
    def _one_shape(self) -> Step:
        if self.until and (self.do or self.for_each):
            raise ValueError("a step that waits (until) cannot have do or for_each")
        shapes = (self.do, self.until, self.ask, self.compare, self.foresee)
        if not (self.require or any(shapes)):
            raise ValueError("a step needs at least one of require, do, until, ask, compare, foresee")
        if sum(bool(shape) for shape in shapes) > 1:
            raise ValueError("a step can have only one of do, until, ask, compare, foresee")
        if (self.never or self.hold) and not self.until:
            raise ValueError("`never` and `hold` are only for a step that waits (`until`)")
        if self.for_each and not self.do:
            raise ValueError("a step with for_each needs a do")
        if self.decide and not self.for_each:
            raise ValueError("a step with decide needs a for_each")
        if (self.reconfirm or self.claim) and (self.do is None or self.for_each):
            raise ValueError("reconfirm and claim are only for a step with a do and without for_each")
        if bool(self.guard or self.reconfirm) != bool(self.when_guard_breaks):
            raise ValueError(
                "a step with guard or reconfirm needs when_guard_breaks, and only such a step can have it"
            )
        if self.when_stalled and not self.progress:
            raise ValueError("a step with when_stalled needs progress, the number that must fall")
        return self

    @property
    def changes(self) -> bool:
        """Does this step send an action to a device?"""
        return self.do is not None

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every condition of the step itself, without the conditions of its undo."""
        before = (*self.only_if, *self.require, *self.reconfirm)
        return (*before, *self.expect, *self.until, *self.never, *self.guard)


class Runbook(_Strict):
    """A procedure for one service in one direction. ``continue_with`` names a shipped runbook whose steps follow. The
    loader appends these steps, so a loaded runbook has no ``continue_with``."""

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
