"""The watch as a function, for the command line and for ``spark-submit``. It prints nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from orchestrator.stopping import Stop
from pipeline.engines.settings import Settings
from pipeline.places import Place
from pipeline.watch.alone import await_last_jvm, name_jvm
from pipeline.watch.arrivals import Rules
from pipeline.watch.checkpoint import Batch, By, Checkpoint, begun_by, checkpoint_at
from pipeline.watch.kept import Kept
from pipeline.watch.loop import follow_here

_PATTERN = frozenset("*?[]{}\\")
_URI = re.compile(r"[a-z][a-z0-9+.-]+:/")


def watch(
    readings: str,
    checkpoint: str,
    out: str | None,
    rules: Rules,
    settings: Settings,
    *,
    every_s: float | None,
    clock: Clock,
    stopping: Callable[[], AbstractContextManager[Stop]],
    say: Callable[[str], None],
) -> Iterator[Batch]:
    """Follow the looks kept in ``readings``; see ``follow``. Raises the errors of ``follow`` and ``checkpoint_at``, and
    ``DefinitionError`` if a path is not a directory of this machine. On a cluster every worker must have ``readings`` at
    the same path. Only this process writes checkpoint and alerts.

    ``stopping`` is entered after Spark has started, because Spark's start handles Ctrl-C itself. If the settings name no
    engine, this process follows the looks without Spark, unless the checkpoint was started with Spark.
    """
    place, kept = _here("the readings", readings), _here("the checkpoint", checkpoint)
    alerts = None if out is None else _here("--out", out)
    if not place.exists():
        hint = "`failover watch --readings DIR` makes this directory"
        raise DefinitionError(f"the directory {readings} does not exist", hint=hint)
    if alerts is not None:
        if alerts.local.resolve() == place.local.resolve():
            raise DefinitionError(
                f"--out {out}: this is the directory of the readings, and alerts there would be read as readings"
            )
        alerts.check_can_be_made()
    by = _by(settings, kept)
    if by == "spark" and set(place.path) & _PATTERN:
        raise DefinitionError(
            f"{readings} has a character that Spark reads as a pattern (one of {' '.join(sorted(_PATTERN))})"
        )
    with checkpoint_at(kept.local, place.for_spark, rules, None if alerts is None else alerts.local, by) as held:
        if by == "loop":
            with closing(Kept(held)) as remembered, stopping() as stop:
                yield from follow_here(
                    place.local, remembered, rules, every_s=every_s, clock=clock, stop=stop, say=say
                )
            return
        yield from _on_spark(place, held, rules, settings, every_s=every_s, clock=clock, stopping=stopping, say=say)


def _by(settings: Settings, kept: Place) -> By:
    """Does Spark or the loop follow the readings? Raises ``DefinitionError`` for DuckDB, which cannot follow."""
    if settings.engine == "duckdb":
        raise DefinitionError("DuckDB cannot follow readings", hint="leave out --engine, because no engine is needed")
    if settings.engine == "spark" or settings.names_a_cluster:
        return "spark"
    return begun_by(kept.local) or "loop"


def _on_spark(
    place: Place,
    held: Checkpoint,
    rules: Rules,
    settings: Settings,
    *,
    every_s: float | None,
    clock: Clock,
    stopping: Callable[[], AbstractContextManager[Stop]],
    say: Callable[[str], None],
) -> Iterator[Batch]:
    from pipeline.faults import spark_faults
    from pipeline.jvm import jvm_pid
    from pipeline.session import is_given, spark_session
    from pipeline.watch.stream import follow

    with stopping() as stop:
        await_last_jvm(held.path, stop, say)
    say("starting Spark")
    with spark_session(settings.for_spark()) as spark, spark_faults(), stopping() as stop:
        # Under spark-submit the JVM is the process that started this one.
        name_jvm(held.path, os.getppid() if is_given() else jvm_pid())
        yield from follow(spark, place, held, rules, every_s=every_s, clock=clock, stop=stop, say=say)


def _here(what: str, name: str) -> Place:
    """The directory ``name``, which may not exist yet. ``file:///…`` is allowed. Raises ``DefinitionError``."""
    if _URI.match(name) and not name.startswith("file://"):
        hint = "give a directory that all workers mount, by its path or as file:///…"
        raise DefinitionError(f"{what}: {name} is not a directory of this machine", hint=hint)
    place = Place.of(name)
    if place.exists() and not place.is_directory():
        raise DefinitionError(f"{what}: {name} is not a directory")
    return place
