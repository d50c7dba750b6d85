"""Runs ``failover pipeline history``, prints the result, and keeps the forecast for dry runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.cli.exports.reconcile import FINDINGS, engine_installed
from orchestrator.cli.render.terminal import presentable, say_unless, show_document, show_json
from orchestrator.cli.spark_options import SparkOptions
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError, NotStarted, OutputLost
from orchestrator.operations.runtime import Tools
from orchestrator.reports.forecast import FEWEST, NAME, Forecast, encoded, read_forecast


def history(
    tools: Tools, names: Sequence[str], spark: SparkOptions, out: str | None, *, learn: bool, as_json: bool
) -> int:
    """Make the history and print it. Returns 0, or 4 if a file could not be used."""
    say = say_unless(as_json)
    with engine_installed():
        from pipeline.commands import run_history
        from pipeline.history.narrate import lines_of
        from pipeline.places import write_whole

        path = tools.state / NAME

        def check(found: Forecast) -> None:
            if learn:
                check_learns_more(path, found)

        report, forecast = run_history(names, spark.settings(), out, tools.clock, say, check)
        if learn:
            try:
                write_whole(path, encoded(forecast))
            except OSError as error:
                raise OutputLost(f"{path} could not be written: {error.strerror}") from error
            say(learned(path, forecast))
    code = FINDINGS if report.unread_files else 0
    if as_json:
        show_json({"result": report.model_dump(mode="json") | {"exit_code": code}})
    else:
        show_document("\n".join(presentable(line) for line in lines_of(report)))
    return code


def check_learns_more(path: Path, forecast: Forecast) -> None:
    """Raises ``NotStarted`` if the stored forecast comes from more runs than ``forecast``. Then the stored one stays."""
    if not forecast.runs:
        raise NotStarted(
            f"no run was read, so {path} was not changed",
            hint="name a directory of exported runs, or leave out --learn",
        )
    try:
        kept = read_forecast(path)
    except DefinitionError:
        return  # the stored file is no forecast, so any forecast is better
    if kept is not None and forecast.runs < kept.runs:
        raise NotStarted(
            f"{path} is from {counted(kept.runs, 'run')}, but only {forecast.runs:,} were read, so it was not changed",
            hint=f"give all records to the command, or remove {path} first",
        )
    if kept is not None and _ranges(forecast) < _ranges(kept):
        told = f"{path} has {counted(_ranges(kept), 'range')}, but these runs give only {_ranges(forecast):,}"
        raise NotStarted(
            f"{told}, so the file was not changed", hint=f"give all records to the command, or remove {path} first"
        )


def _ranges(forecast: Forecast) -> int:
    """The number of ranges in the forecast that dry runs use."""
    seen = (*(one.seconds for one in forecast.steps), *(one.rate for one in forecast.drains))
    return sum(one.n >= FEWEST for one in seen)


def learned(path: Path, forecast: Forecast) -> str:
    """The sentence after ``forecast`` was stored at ``path``."""
    if forecast.tells:
        return f"dry runs now read their ranges from {path}"
    return f"{path} was written, but dry runs cannot use it yet, because no step was finished {FEWEST} times"
