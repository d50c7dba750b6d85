"""The watch as a function, for the command line and for ``spark-submit`` alike. Prints nothing itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from pipeline.faults import spark_faults
from pipeline.places import Place
from pipeline.session import SparkSettings, spark_session
from pipeline.watch.checkpoint import checkpoint_at
from pipeline.watch.course import Rules
from pipeline.watch.stream import Batch, follow

_PATTERN = frozenset("*?[]{}\\")


def watch(
    readings: str,
    checkpoint: Path,
    out: Path | None,
    rules: Rules,
    settings: SparkSettings,
    *,
    every_s: float | None,
    clock: Clock,
    stopping: Callable[[], AbstractContextManager[threading.Event]],
    say: Callable[[str], None],
) -> Iterator[Batch]:
    """Follow the looks kept in ``readings``; see ``follow``. Raises its errors, those of ``checkpoint_at``, and
    ``DefinitionError`` when there is no such directory.

    ``stopping`` is entered once Spark has started, as that has its own way with Ctrl-C.
    """
    place = Place.of(readings)
    if not place.is_directory():
        hint = "`failover watch --readings DIR` makes it, and fills it"
        raise DefinitionError(f"there is no directory {readings}", hint=hint)
    if set(place.path) & _PATTERN:
        raise DefinitionError(
            f"{readings} has a sign that Spark takes for a pattern: one of {' '.join(sorted(_PATTERN))}"
        )
    with checkpoint_at(checkpoint, place.for_spark, rules, out) as held:
        say("starting Spark")
        with spark_session(settings) as spark, spark_faults(), stopping() as stop:
            yield from follow(spark, place, held, rules, every_s=every_s, clock=clock, stop=stop, say=say)
