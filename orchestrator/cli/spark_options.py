"""The options that every command on Spark has: worded once, and handed to the command as one value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.together import Command, together

if TYPE_CHECKING:
    from pipeline.session import SparkSettings


@dataclass(frozen=True, slots=True)
class SparkWish:
    """Where and how much, as typed. Each field is an option of its own."""

    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="A Spark cluster (default: every core of this machine)."),
    ] = None
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Bound of Spark's memory here: 2g, 800m.")
    ] = "2g"
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", metavar="N", min=1, help="Pieces of work between two exchanges of rows."),
    ] = None
    scratch: Annotated[
        str | None,
        typer.Option("--scratch", metavar="DIR", help="For what does not fit into memory (default: /tmp)."),
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="spark.NAME=VALUE", help="Any Spark setting; repeat for several."),
    ] = None

    def settings(self) -> SparkSettings:
        """The same for Spark. Raises ``DefinitionError``."""
        from pipeline.commands import settings_of

        return settings_of(self.master, self.memory, self.partitions, self.scratch, self.conf)


def on_spark(command: Command) -> Command:
    """``command`` with the options of ``SparkWish`` in place of its parameter ``spark``; a signal ends it in order."""

    @wraps(command)
    def in_order(**given: object) -> None:
        from orchestrator.cli.stopping import stopped_in_order

        with stopped_in_order():
            command(**given)

    return together(spark=SparkWish)(in_order)
