"""Runs ``failover compare``: reads both sites at the same time, reconciles them, and shows the verdict first."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.exports.reconcile import code_for, engine_installed
from orchestrator.cli.render.terminal import presentable, say, say_unless, show_document, show_json
from orchestrator.cli.spark_options import SparkOptions
from orchestrator.errors import OutputLost
from orchestrator.model.inventory import Inventory
from orchestrator.operations.exports.compare import Comparison, Observe, compared, pair_of
from orchestrator.operations.exports.snapshot import folder_here
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.collect import Progress as Read


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """The typed request."""

    pair: str | None
    services: tuple[str, ...]
    run: str | None
    out: str | None
    html: Path | None


def compare_pair(
    tools: Tools, inventory: Inventory, request: CompareRequest, spark: SparkOptions, *, as_json: bool
) -> int:
    """Compare both sites of a pair and print the result. Returns the exit code: 0, or 4 if a person should check it."""
    pair = pair_of(inventory, request.pair)
    with engine_installed():
        from pipeline.narrate import lines_of
        from pipeline.page import page_of
        from pipeline.places import write_whole

        with _folder(request.out) as folder:
            wanted = Comparison(pair, request.services, request.run)
            observers = partial(progress_of, shows=not as_json)
            report = compared(tools, inventory, wanted, folder, spark.settings(), observers, say_unless(as_json))
        if request.html is not None:
            try:
                write_whole(request.html, page_of(report))
            except OSError as error:
                lost = f"{request.html} could not be written: {error.strerror}"
                raise OutputLost(lost, hint="free space on the disk, or give another file with --html") from error
            say_unless(as_json)(f"the whole report is in {request.html}")
    code = code_for(report.findings)
    if as_json:
        show_json({"result": {**report.model_dump(mode="json"), "exit_code": code}})
    else:
        show_document("\n".join(presentable(line) for line in lines_of(report)))
    return code


@contextmanager
def _folder(out: str | None) -> Iterator[Path]:
    """The folder for the exports: ``out``, or a temporary folder that is removed after the block."""
    if out is not None:
        yield folder_here(out)
        return
    with tempfile.TemporaryDirectory(prefix="failover-compare-") as folder:
        yield Path(folder)


@contextmanager
def progress_of(sites: Sequence[str], *, shows: bool) -> Iterator[dict[str, Observe]]:
    """An observer for each site: a progress bar on a terminal, otherwise a line from time to time."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    if not shows or not sys.stderr.isatty():
        yield {site: _in_words(site, shows=shows) for site in sites}
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=Console(stderr=True, emoji=False), transient=True) as bars:
        tasks = {site: bars.add_task(f"reading {site}", total=None, told="") for site in sites}

        def observer(site: str) -> Observe:
            def observe(progress: Read) -> None:
                bars.update(
                    tasks[site],
                    total=progress.endpoints_total,
                    completed=progress.endpoints,
                    told=f"endpoints, {progress.messages:,} messages",
                )

            return observe

        yield {site: observer(site) for site in sites}


def _in_words(site: str, *, shows: bool) -> Observe:
    lock = threading.Lock()

    def observe(progress: Read) -> None:
        if shows and progress.endpoint is None:
            with lock:
                say(f"{site}: {progress.messages:,} messages of {progress.endpoints_total:,} endpoints")

    return observe
