"""``failover man``: the manual pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import DEVELOP


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("man", rich_help_panel=DEVELOP)(man)


def man(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory for the pages, such as build/man.")],
) -> None:
    """Write a manual page for each command.

    \b
    Example:
      failover man build/man
    """
    from orchestrator.cli.render.man_pages import write_manual
    from orchestrator.cli.render.terminal import show
    from orchestrator.counting import counted
    from orchestrator.version import VERSION

    root = context.find_root()
    show(f"{counted(write_manual(root.command, root, directory, VERSION), 'page')} written to {directory}")
