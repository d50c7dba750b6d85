"""Runs ``failover pipeline history``, prints what it found, and keeps the forecast where a dry run finds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.cli.reconciling import spark_installed
from orchestrator.cli.spark_options import SparkWish
from orchestrator.cli.terminal import presentable, say_unless, show_document, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.errors import OutputLost
from orchestrator.reports.forecast import FEWEST, NAME, Forecast, encoded


def history(
    tools: Tools, names: Sequence[str], spark: SparkWish, out: str | None, *, learn: bool, as_json: bool
) -> int:
    """Put the history together and print it. Returns 0, or 4 when a file could not be used."""
    say = say_unless(as_json)
    with spark_installed():
        from pipeline.commands import run_history
        from pipeline.history.narrate import lines_of
        from pipeline.places import write_whole

        report, forecast = run_history(names, spark.settings(), out, tools.clock, say)
        if learn:
            path = tools.state / NAME
            try:
                write_whole(path, encoded(forecast))
            except OSError as error:
                raise OutputLost(f"{path} could not be written: {error.strerror}") from error
            say(learned(path, forecast))
    if as_json:
        show_json({"result": report.model_dump(mode="json") | {"exit_code": 4 if report.unread_files else 0}})
    else:
        show_document("\n".join(presentable(line) for line in lines_of(report)))
    return 4 if report.unread_files else 0


def learned(path: Path, forecast: Forecast) -> str:
    """What came of keeping ``forecast`` at ``path``."""
    if forecast.tells:
        return f"dry runs read their ranges from {path} now"
    return f"{path} is kept, but tells dry runs nothing yet: no step was finished {FEWEST} times"
