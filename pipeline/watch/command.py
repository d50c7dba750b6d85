"""The watch as a function, for the command line and for ``spark-submit`` alike. Prints nothing itself."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from pipeline.faults import spark_faults
from pipeline.places import Place
from pipeline.session import SparkSettings, spark_session
from pipeline.watch.alone import only_jvm
from pipeline.watch.arrivals import Rules
from pipeline.watch.checkpoint import checkpoint_at
from pipeline.watch.stream import Batch, follow

_PATTERN = frozenset("*?[]{}\\")
_URI = re.compile(r"[a-z][a-z0-9+.-]+:/")


def watch(
    readings: str,
    checkpoint: str,
    out: str | None,
    rules: Rules,
    settings: SparkSettings,
    *,
    every_s: float | None,
    clock: Clock,
    stopping: Callable[[], AbstractContextManager[threading.Event]],
    say: Callable[[str], None],
) -> Iterator[Batch]:
    """Follow the looks kept in ``readings``; see ``follow``. Raises its errors, those of ``checkpoint_at``, and
    ``DefinitionError`` for what is no directory of this machine. On a cluster every worker must have ``readings`` at
    the same path; checkpoint and alerts are written by this process alone.

    ``stopping`` is entered once Spark has started, as that has its own way with Ctrl-C.
    """
    place, kept = _here("the readings", readings), _here("the checkpoint", checkpoint)
    alerts = None if out is None else _here("--out", out)
    if not place.exists():
        hint = "`failover watch --readings DIR` makes it, and fills it"
        raise DefinitionError(f"there is no directory {readings}", hint=hint)
    if set(place.path) & _PATTERN:
        raise DefinitionError(
            f"{readings} has a sign that Spark takes for a pattern: one of {' '.join(sorted(_PATTERN))}"
        )
    if alerts is not None:
        if alerts.local.resolve() == place.local.resolve():
            raise DefinitionError(f"--out {out}: alerts among the readings would be read as such")
        alerts.check_can_be_made()
    with checkpoint_at(kept.local, place.for_spark, rules, None if alerts is None else alerts.local) as held:
        say("starting Spark")
        with (
            spark_session(settings) as spark,
            spark_faults(),
            stopping() as stop,
            only_jvm(spark, held.path, stop, say),
        ):
            yield from follow(spark, place, held, rules, every_s=every_s, clock=clock, stop=stop, say=say)


def _here(what: str, name: str) -> Place:
    """The directory ``name``, which need not be there yet; ``file:///…`` is one, too. Raises ``DefinitionError``."""
    if _URI.match(name) and not name.startswith("file://"):
        hint = "one that all workers mount will do, by its path or as file:///…"
        raise DefinitionError(f"{what}: {name} is not a directory of this machine", hint=hint)
    place = Place.of(name)
    if place.exists() and not place.is_directory():
        raise DefinitionError(f"{what}: {name} is not a directory")
    return place
