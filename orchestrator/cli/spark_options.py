"""The options of every pipeline command. They are defined once, and each command gets them as one value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.option_groups import Command, together

if TYPE_CHECKING:
    from pipeline.engines.settings import Settings


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The typed options for the engine, its place and its size. Each field is a separate option."""

    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="spark|duckdb|auto",
            help="The engine; auto uses DuckDB on this machine, and Spark for data that is large or elsewhere.",
        ),
    ] = "auto"
    master: Annotated[
        str | None,
        typer.Option(
            "--master", metavar="URL", help="The URL of a Spark cluster (default: every core of this machine)."
        ),
    ] = None
    remote: Annotated[
        str | None,
        typer.Option("--remote", metavar="sc://HOST:PORT", help="The address of a Spark Connect server."),
    ] = None
    memory: Annotated[
        str,
        typer.Option("--memory", metavar="SIZE", help="The maximum memory of the engine on this machine: 2g, 800m."),
    ] = "2g"
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", metavar="N", min=1, help="Spark: the number of partitions after each shuffle."),
    ] = None
    scratch: Annotated[
        str | None,
        typer.Option(
            "--scratch", metavar="DIR", help="The directory for data that does not fit into memory (default: /tmp)."
        ),
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="spark.NAME=VALUE", help="Any Spark setting; repeat for several settings."),
    ] = None

    def settings(self) -> Settings:
        """The options as settings of the pipeline. Raises ``DefinitionError``."""
        from pipeline.engines.settings import settings_of

        return settings_of(
            self.engine,
            master=self.master,
            remote=self.remote,
            memory=self.memory,
            partitions=self.partitions,
            scratch=self.scratch,
            conf=self.conf,
        )


def on_spark(command: Command) -> Command:
    """``command`` with the options of ``SparkOptions`` in place of its parameter ``spark``. A signal ends it cleanly."""

    @wraps(command)
    def in_order(**given: object) -> None:
        from orchestrator.cli.runs.signals import stopped_in_order

        with stopped_in_order():
            command(**given)

    return together(spark=SparkOptions)(in_order)
