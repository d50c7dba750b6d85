"""Runs ``failover pipeline watch`` and prints its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.cli.exports.reconcile import FINDINGS, engine_installed
from orchestrator.cli.render.terminal import say, say_unless, show, show_json
from orchestrator.cli.runs.signals import asked_to_stop, until_stopped
from orchestrator.cli.spark_options import SparkOptions
from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import ComputationFailed

if TYPE_CHECKING:
    from pipeline.watch.arrivals import Rules
    from pipeline.watch.checkpoint import Batch, State
    from pipeline.watch.fold import Key

# If there are more services, only those with an alarm have a row.
_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class FollowRequest:
    """The typed request. ``every_s`` is None to read the existing readings and end."""

    readings: str
    checkpoint: str
    out: str | None
    every_s: float | None
    window_s: float
    stall_s: float
    late_s: float
    full_within_s: float


def follow_readings(clock: Clock, request: FollowRequest, spark: SparkOptions, *, as_json: bool) -> int:
    """Follow the readings to the end, or until a person stops it.

    Returns the exit code: 0, or 4 if an alarm is active, or if a new line could not be used.
    """
    tell = say_unless(as_json)
    with engine_installed():
        from pipeline.watch.arrivals import Rules
        from pipeline.watch.command import watch

        rules = Rules(request.window_s, request.stall_s, request.late_s, request.full_within_s)
        first = last = None
        with until_stopped():
            for batch in watch(
                request.readings,
                request.checkpoint,
                request.out,
                rules,
                spark.settings(),
                every_s=request.every_s,
                clock=clock,
                stopping=asked_to_stop,
                say=tell,
            ):
                if first is None and batch.state.batch >= 0:
                    tell(_goes_on(batch.state))
                first, last = first or batch.state, batch.state
                if batch.lines:
                    _tell(batch, rules, shows_all=request.every_s is not None, as_json=as_json)
        if first is None or last is None:
            raise ComputationFailed(
                "the watch was stopped before it had started", hint="start the same command again"
            )
        is_alarming = any(course.alarms for course in last.courses.values())
        code = FINDINGS if is_alarming or last.totals.unusable > first.totals.unusable else 0
        _end(last, rules, code, as_json=as_json)
        return code


def _goes_on(state: State) -> str:
    """The stored progress from which the watch continues after a stop or a kill."""
    alarming = sum(bool(course.alarms) for course in state.courses.values())
    totals = f"{counted(state.totals.lines, 'reading')} and {counted(state.totals.alerts, 'alert')}"
    return f"continues after {totals}; services with an alarm: {alarming:,} of {len(state.courses):,}"


def _tell(batch: Batch, rules: Rules, *, shows_all: bool, as_json: bool) -> None:
    """Print one batch: its alerts, then the state of the services with readings in the batch."""
    from pipeline.watch.alerts import alert_line, standing_of

    for alert in batch.alerts:
        if as_json:
            show_json(alert)
        else:
            show(alert_line(alert))
    if as_json:
        services = [standing_of(batch.state.courses[key], *key, rules) for key in batch.touched]
        show_json({"batch": batch.number, "lines": batch.lines, "services": services})
    elif shows_all:
        _show_services(batch.state, batch.touched, rules)
    else:
        say(f"  {counted(batch.state.totals.lines, 'reading')}, {counted(batch.state.totals.alerts, 'alert')}")


def _end(last: State, rules: Rules, code: int, *, as_json: bool) -> None:
    """Print the last state, and the counts since the checkpoint was started."""
    from pipeline.watch.alerts import standing_of

    courses = last.courses
    counts = {
        "lines": last.totals.lines,
        "late": sum(course.late for course in courses.values()),
        "duplicates": sum(course.duplicates for course in courses.values()),
        "unusable": last.totals.unusable,
        "others": last.totals.others,
        "waiting": sum(len(course.waiting) for course in courses.values()),
        "alerts": last.totals.alerts,
    }
    if as_json:
        services = [standing_of(course, *key, rules) for key, course in sorted(courses.items())]
        show_json({"result": {"services": services, **counts, "exit_code": code}})
        return
    _show_services(last, sorted(courses), rules)
    told = [(number, _COUNTED[name]) for name, number in counts.items() if number or name == "lines"]
    show(", ".join(counted(number, *words) for number, words in told))


_COUNTED = {
    "lines": ("reading", "readings"),
    "late": ("too late", "too late"),
    "duplicates": ("twice", "twice"),
    "unusable": ("could not be used", "could not be used"),
    "others": ("without a queue or a link", "without a queue or a link"),
    "waiting": ("waits for earlier readings", "wait for earlier readings"),
    "alerts": ("alert", "alerts"),
}


def _show_services(state: State, keys: Sequence[Key], rules: Rules) -> None:
    """Print a line for each service, or for each service with an alarm, and the number of other services."""
    from pipeline.watch.alerts import standing_line

    alarming = [key for key in keys if state.courses[key].alarms]
    shown = (keys if len(keys) <= _SHOWN_MAX else alarming)[:_SHOWN_MAX]
    for key in shown:
        show(standing_line(state.courses[key], *key, rules))
    if len(shown) < len(keys):
        show(f"{counted(len(keys) - len(shown), 'more service')}; {len(alarming):,} of all services have an alarm")
