"""``failover validate``: checks AMPS replication configurations against each other, before AMPS does it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import BEFORE
from orchestrator.cli.options import InventoryFile


class Format(StrEnum):
    """The output formats of a validation."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    MERMAID = "mermaid"
    SVG = "svg"


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("validate", rich_help_panel=BEFORE)(validate)


def validate(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CONFIG...", help="Configuration files, or folders with such files.", show_default=False
        ),
    ] = None,
    from_inventory: Annotated[
        bool,
        typer.Option("--from-inventory", help="Read the configuration from each instance of the inventory, now."),
    ] = False,
    inventory: InventoryFile = None,
    form: Annotated[
        Format, typer.Option("--format", "-f", help="What to print: the findings, or a drawing of the replication.")
    ] = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Print one line for each finding in the table.")] = False,
    define: Annotated[
        list[str] | None,
        typer.Option("--define", "-D", metavar="NAME=VALUE", help="The value of ${NAME} in the configurations."),
    ] = None,
    environment: Annotated[
        bool, typer.Option("--environment", help="Also take values of ${NAME} from the environment, as AMPS does.")
    ] = False,
    topics: Annotated[
        list[Path] | None,
        typer.Option(
            "--topics", metavar="FILE", help="A list of existing topics: a name and a message type on each line."
        ),
    ] = None,
    all_topics: Annotated[
        bool, typer.Option("--all-topics", help="Assume that the configurations and --topics name all topics.")
    ] = False,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="INSTANCE=HOST", help="The host name under which INSTANCE is reached."),
    ] = None,
    failover_set: Annotated[
        list[str] | None,
        typer.Option("--failover-set", metavar="A,B", help="Clients fail over between these instances."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            "--assume",
            metavar="NAME=VALUE",
            help="Change an assumption; docs/how-to/amps-validation.md lists the assumptions.",
        ),
    ] = None,
    nine: Annotated[bool, typer.Option("--nine", help="Make only the nine checks of AMPS, and no others.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 4 also if something could not be decided.")
    ] = False,
    suggest_exclusions: Annotated[
        bool,
        typer.Option(
            "--suggest-exclusions",
            help="Suggest the fewest exclusions with which AMPS accepts the links, and show their effects.",
        ),
    ] = False,
    intended: Annotated[
        list[str] | None,
        typer.Option(
            "--intended",
            metavar="INSTANCE",
            help="Suggest changes for the other instances only: this instance differs on purpose.",
        ),
    ] = None,
    rolling_plan: Annotated[
        list[Path] | None,
        typer.Option(
            "--rolling-plan",
            metavar="OLD",
            help="Show in which order to change the instances from the old files or folders to CONFIG.",
        ),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of --json, and stop.")] = False,
) -> None:
    """Check AMPS replication configurations against each other. Exit code 4 if AMPS would refuse a link.

    \b
    Examples:
      failover validate nyc-1.xml nyc-2.xml
      failover validate config/ --format sarif > amps.sarif
      failover validate --from-inventory -i amps.yaml
      failover validate config/ --suggest-exclusions --intended view-server
      failover validate new/ --rolling-plan old/
    """
    from orchestrator.cli.pairs.validate import ValidationRequest, print_schema, print_validation

    if schema:
        print_schema()
        return
    request = ValidationRequest(
        paths=paths or [],
        form="json" if as_json else form.value,
        brief=brief,
        define=define or [],
        environment=environment,
        topics=topics or [],
        all_topics=all_topics,
        host=host or [],
        failover_set=failover_set or [],
        assume=assume or [],
        nine=nine,
        strict=strict,
        suggest=suggest_exclusions or bool(intended),
        intended=intended or [],
        rolling=rolling_plan or [],
    )
    if not from_inventory:
        raise typer.Exit(print_validation(request))
    from orchestrator.cli.pairs.validate import print_live_validation
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    raise typer.Exit(print_live_validation(tools, tools.inventory(inventory), request))
