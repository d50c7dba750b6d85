"""``failover snapshot``: the messages of every queue and topic endpoint of a site, or of AMPS dumps, as Parquet."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.help import AFTER
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import AsJson, Filter, site_option


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("snapshot", rich_help_panel=AFTER)(snapshot)


@together(which=Filter)
def snapshot(
    context: typer.Context,
    which: Filter,
    site: Annotated[str, site_option("The site to read.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write the snapshot to DIR, or continue an unfinished snapshot in DIR."
        ),
    ],
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="The fail-over run that needs this evidence: its ID, or 'last'."),
    ] = None,
    dumps: Annotated[
        list[str] | None,
        typer.Option(
            "--dumps",
            metavar="[SERVICE=]DIR",
            help="AMPS: a directory with journal/… (from amps_journal_dump) and sow/TOPIC.TYPE.txt (from amps_sow_dump"
            " -v).",
        ),
    ] = None,
    dumped_at: Annotated[
        str | None,
        typer.Option(
            "--dumped-at", metavar="TIME", help="When the dumps were made (default: the time of each file)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the messages of every endpoint of a site as Parquet.

    It only reads, page by page, and continues an interrupted snapshot. For AMPS, it reads dumps that were copied to
    this machine; it does not connect to an instance.

    \b
    Examples:
      failover snapshot Trading_VPN --site ny --out exports/ny
      failover snapshot --site nj --out exports/nj --run last
      failover snapshot --site ny orders --dumps dumps/ny --out exports/ny
      failover pipeline reconcile exports/ny exports/nj --out evidence
    """
    from orchestrator.cli.exports.snapshot import take_snapshot
    from orchestrator.cli.exports.snapshot_dumps import take_snapshot_of_dumps
    from orchestrator.cli.runs.signals import stopped_in_order
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.exports.snapshot import SnapshotRequest

    tools = tools_of(context)
    inventory = tools.inventory(which.inventory)
    wanted = SnapshotRequest(site, which.services, run)
    with stopped_in_order("the same command continues the snapshot"):
        if dumps is None:
            take_snapshot(tools, inventory, wanted, out, as_json=as_json)
        else:
            code = take_snapshot_of_dumps(tools, inventory, wanted, dumps, dumped_at, out, as_json=as_json)
            raise typer.Exit(code)
