"""The commands as functions, for the command line and for ``spark-submit``. They print nothing.

Each function imports its libraries when it is called, so a command does not wait for the libraries of other commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from pipeline.ask import Ask
from pipeline.engines.choice import chosen, engine_for
from pipeline.engines.executor import Executor
from pipeline.engines.settings import Settings
from pipeline.places import Place
from pipeline.results import REPORT, check_free, result_at

if TYPE_CHECKING:
    from orchestrator.reports.forecast import Forecast
    from pipeline.amps.journals import JournalsOutcome
    from pipeline.amps.report import JournalsReport, SowReport
    from pipeline.amps.sow import SowOutcome, SowSide
    from pipeline.history.report import HistoryReport
    from pipeline.report import Report

Say = Callable[[str], None]
PAGE = "history.html"
# A journal entry takes at least this number of bytes in a dump.
_BYTES_AN_ENTRY = 1_000


def run_reconcile(
    left: str, right: str, ask: Ask, settings: Settings, out: str | None, clock: Clock, say: Say
) -> Report:
    """Compare two exports; with ``out`` also write report and differences there, all or nothing.

    Raises the errors of ``orchestrator.errors``; nothing was written in that case.
    """
    from pipeline.reconcile import reconcile
    from pipeline.sides import Side, check_pair

    sides = Side.open(left), Side.open(right)
    check_pair(*sides)
    rows = sum(side.manifest.messages for side in sides)
    with _engine(settings, [side.place for side in sides], rows, out, say) as engine:
        outcome = reconcile(engine, *sides, ask, clock, say)
        if out is not None:
            say(f"writing {out}")
            with result_at(out) as result:
                outcome.write(result.place)
                result.document(REPORT, outcome.report.encoded())
        outcome.close()
        return outcome.report


def run_journals(
    left: str, right: str, skew_s: float, settings: Settings, out: str | None, clock: Clock, say: Say
) -> JournalsReport:
    """Compare the logs of two AMPS instances; ``out`` and errors as in ``run_reconcile``."""
    from pipeline.amps.instance import Instance, check_apart
    from pipeline.amps.journals import compare_journals

    instances = Instance.of_journals(left), Instance.of_journals(right)
    check_apart(*instances)
    places = [place for one in instances for place in one.journals]
    with _engine(settings, places, _entries_of(places), out, say) as engine:
        outcome = compare_journals(engine, *instances, skew_s, clock, say)
        _write(out, outcome, say)
        outcome.close()
        return outcome.report


def run_sow(
    left: SowSide, right: SowSide, skew_s: float, settings: Settings, out: str | None, clock: Clock, say: Say
) -> SowReport:
    """Compare the SOW topics of two AMPS instances; ``out`` and errors as in ``run_reconcile``."""
    from pipeline.amps.instance import check_apart
    from pipeline.amps.sow import compare_sows

    check_apart(left.instance, right.instance)
    if not {*left.instance.sow} | {*right.instance.sow}:
        raise DefinitionError("neither side has a SOW dump", hint="SOW dumps are at INSTANCE/sow/TOPIC.TYPE.txt")
    both = (left.instance, right.instance)
    places = [place for one in both for place in (*one.journals, *one.sow.values())]
    with _engine(settings, places, _entries_of(places), out, say) as engine:
        outcome = compare_sows(engine, left, right, skew_s, clock, say)
        _write(out, outcome, say)
        outcome.close()
        return outcome.report


def run_history(
    names: Sequence[str],
    settings: Settings,
    out: str | None,
    clock: Clock,
    say: Say,
    check: Callable[[Forecast], None] = lambda _: None,
) -> tuple[HistoryReport, Forecast]:
    """The history of exported runs and kept checks; with ``out`` also page, forecast and facts. Errors as above.

    ``check`` raises an error to refuse the forecast. It runs before anything is written.
    """
    from orchestrator.reports.forecast import NAME as FORECAST
    from orchestrator.reports.forecast import encoded as encoded_forecast
    from pipeline.history.history import files_of, history_of
    from pipeline.history.page import page_of

    files = files_of(names)
    with _engine(settings, files, len(files), out, say) as engine:
        outcome = history_of(engine, files, clock, say)
        check(outcome.forecast)
        if out is not None:
            say(f"writing {out}")
            with result_at(out) as result:
                outcome.write(result.place)
                result.document(PAGE, page_of(outcome.report))
                result.document(FORECAST, encoded_forecast(outcome.forecast))
                result.document(REPORT, outcome.report.encoded())
        outcome.close()
        return outcome.report, outcome.forecast


@contextmanager
def _engine(settings: Settings, places: Sequence[Place], rows: int, out: str | None, say: Say) -> Iterator[Executor]:
    """The engine that suits. It starts only if its result can be written to ``out``."""
    written = [] if out is None else [check_free(out)]
    name = chosen(settings, [*places, *written], rows)
    with engine_for(settings, name, rows, say) as engine:
        for place in written:
            if not place.is_local:
                engine.check_output(place)
        yield engine


def _entries_of(places: Sequence[Place]) -> int:
    """The approximate number of entries of these dumps."""
    return sum(place.size() for place in places) // _BYTES_AN_ENTRY


def _write(out: str | None, outcome: JournalsOutcome | SowOutcome, say: Say) -> None:
    from pipeline.amps.report import encoded

    if out is None:
        return
    say(f"writing {out}")
    with result_at(out) as result:
        outcome.write(result.place)
        result.document(REPORT, encoded(outcome.report))
