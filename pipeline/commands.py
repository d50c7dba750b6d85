"""The commands as functions, for the command line and for ``spark-submit`` alike. Prints nothing itself."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from orchestrator.reports.forecast import NAME as FORECAST
from orchestrator.reports.forecast import Forecast
from orchestrator.reports.forecast import encoded as encoded_forecast
from pipeline.amps.instance import Instance, check_apart
from pipeline.amps.journals import JournalsOutcome, compare_journals
from pipeline.amps.report import JournalsReport, SowReport, encoded
from pipeline.amps.sow import SowOutcome, SowSide, compare_sows
from pipeline.ask import Ask
from pipeline.faults import spark_faults
from pipeline.history.history import files_of, history_of
from pipeline.history.page import page_of
from pipeline.history.report import HistoryReport
from pipeline.reconcile import reconcile
from pipeline.report import Report
from pipeline.results import REPORT, check_free, differences_table, result_at
from pipeline.session import SparkSettings, spark_session
from pipeline.sides import Side, check_pair
from pipeline.watching import watched

Say = Callable[[str], None]
PAGE = "history.html"
_MEMORY = re.compile(r"\d+[kmgt]", re.IGNORECASE)
_MASTER = re.compile(r"(local(-cluster)?(\[.*\])?|yarn)$|(spark|k8s)://.")


def run_reconcile(
    left: str, right: str, ask: Ask, settings: SparkSettings, out: str | None, clock: Clock, say: Say
) -> Report:
    """Compare two exports; with ``out`` also write report and differences there, all or nothing.

    Raises the errors of ``orchestrator.errors``; then nothing was written.
    """
    sides = Side.open(left), Side.open(right)
    check_pair(*sides)
    with _session(settings, out, say) as spark:
        outcome = reconcile(spark, *sides, ask, clock, say)
        if out is not None:
            say(f"writing {out}")
            with result_at(out) as result:
                if outcome.differences is not None:
                    result.table("differences", differences_table(outcome.differences))
                result.document(REPORT, outcome.report.encoded())
        outcome.close()
        return outcome.report


def run_journals(
    left: str, right: str, skew_s: float, settings: SparkSettings, out: str | None, clock: Clock, say: Say
) -> JournalsReport:
    """Compare the logs of two AMPS instances; ``out`` and errors as in ``run_reconcile``."""
    instances = Instance.of_journals(left), Instance.of_journals(right)
    check_apart(*instances)
    with _session(settings, out, say) as spark:
        outcome = compare_journals(spark, *instances, skew_s, clock, say)
        _write(out, outcome, say)
        outcome.close()
        return outcome.report


def run_sow(
    left: SowSide, right: SowSide, skew_s: float, settings: SparkSettings, out: str | None, clock: Clock, say: Say
) -> SowReport:
    """Compare the SOW topics of two AMPS instances; ``out`` and errors as in ``run_reconcile``."""
    check_apart(left.instance, right.instance)
    if not {*left.instance.sow} | {*right.instance.sow}:
        raise DefinitionError("there is no SOW dump on either side", hint="they are at INSTANCE/sow/TOPIC.TYPE.txt")
    with _session(settings, out, say) as spark:
        outcome = compare_sows(spark, left, right, skew_s, clock, say)
        _write(out, outcome, say)
        outcome.close()
        return outcome.report


def run_history(
    names: Sequence[str], settings: SparkSettings, out: str | None, clock: Clock, say: Say
) -> tuple[HistoryReport, Forecast]:
    """The history of exported runs and kept checks; with ``out`` also page, forecast and facts. Errors as above."""
    files = files_of(names)
    with _session(settings, out, say) as spark:
        outcome = history_of(spark, files, clock, say)
        if out is not None:
            say(f"writing {out}")
            with result_at(out) as result:
                result.table("facts", outcome.facts)
                result.document(PAGE, page_of(outcome.report))
                result.document(FORECAST, encoded_forecast(outcome.forecast))
                result.document(REPORT, outcome.report.encoded())
        outcome.close()
        return outcome.report, outcome.forecast


@contextmanager
def _session(settings: SparkSettings, out: str | None, say: Say) -> Iterator[SparkSession]:
    """Spark, started only where its result can be put."""
    if out is not None:
        check_free(out)
    say("starting Spark")
    with spark_session(settings) as spark, spark_faults(), watched(spark, say):
        yield spark


def _write(out: str | None, outcome: JournalsOutcome | SowOutcome, say: Say) -> None:
    if out is None:
        return
    say(f"writing {out}")
    with result_at(out) as result:
        result.table("differences", outcome.differences)
        result.table("quarantine", outcome.unread)
        result.document(REPORT, encoded(outcome.report))


def settings_of(
    master: str | None, memory: str, partitions: int | None, scratch: str | None, conf: list[str] | None
) -> SparkSettings:
    """Settings from options as typed. Raises ``DefinitionError``."""
    options = {}
    for one in conf or []:
        name, equals, value = one.partition("=")
        if not equals or not name.startswith("spark."):
            raise DefinitionError(f"--conf: {one!r} is not spark.NAME=VALUE")
        options[name] = value
    if not _MEMORY.fullmatch(memory):
        raise DefinitionError(f"--memory: {memory!r} is no size, such as 800m or 4g")
    if master is not None and not _MASTER.match(master):
        raise DefinitionError(f"--master: {master!r} is neither local, local[N], spark://…, yarn nor k8s://…")
    if scratch is not None and not (Path(scratch).is_dir() and os.access(scratch, os.W_OK)):
        raise DefinitionError(f"--scratch: {scratch} is not a directory that can be written")
    return SparkSettings(master, memory, partitions, None if scratch is None else Path(scratch), options)
