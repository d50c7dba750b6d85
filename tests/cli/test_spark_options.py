"""The options of Spark: one mechanism for every command that runs on it."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.testing import CliRunner

from orchestrator.cli.spark_options import SparkOptions, on_spark


def _asked(*words: str) -> tuple[str, SparkOptions, bool]:
    """What a command with these options is given when it is called with ``words``."""
    app = typer.Typer()
    given: list[tuple[str, SparkOptions, bool]] = []

    @app.command()
    @on_spark
    def ask(*, left: Annotated[str, typer.Argument()], spark: SparkOptions, loud: bool = False) -> None:
        given.append((left, spark, loud))

    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return given[0]


def test_what_is_typed_arrives() -> None:
    """Each option of Spark arrives in its own field, beside the command's own parameters."""
    spark = ["--engine", "spark", "--master", "local[2]", "--memory", "800m", "--partitions", "3", "--scratch", "/s"]
    conf = ["--conf", "spark.a=1", "--conf", "spark.b=2"]
    wish = SparkOptions("spark", "local[2]", None, "800m", 3, "/s", ["spark.a=1", "spark.b=2"])
    assert _asked("exports/ny", "--loud", *spark, *conf) == ("exports/ny", wish, True)


def test_nothing_typed_is_the_defaults() -> None:
    """A command without options asks for what the fields say."""
    assert _asked("exports/ny") == ("exports/ny", SparkOptions(), False)
