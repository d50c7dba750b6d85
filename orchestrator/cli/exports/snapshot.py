"""Takes a snapshot: reads one site's messages through its adapter into an export. It must never change a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from orchestrator.cli.exports.reconcile import parquet_installed
from orchestrator.cli.render.terminal import say_unless, show, show_json
from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.model.inventory import Inventory
from orchestrator.operations.exports.snapshot import SnapshotRequest, collect_site, folder_here
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.collect import Progress
    from pipeline.manifest import Manifest

_EVERY_S = 2.0


def take_snapshot(
    tools: Tools, inventory: Inventory, request: SnapshotRequest, out: str, *, as_json: bool
) -> Manifest:
    """Read the site into the directory ``out`` and print the amounts. Raises ``FailoverError``. The same call resumes
    where it stopped."""
    with parquet_installed():
        observe = _say_progress(tools.clock, say_unless(as_json))
        manifest = collect_site(tools, inventory, request, folder_here(out), observe)
    show_manifest(manifest, out, as_json=as_json)
    return manifest


def _say_progress(clock: Clock, say: Callable[[str], None]) -> Callable[[Progress], None]:
    seldom = every_few_seconds(clock)

    def observe(progress: Progress) -> None:
        if progress.endpoint is None or seldom():
            of_all = f"{progress.endpoints:,} of {counted(progress.endpoints_total, 'endpoint')}"
            say(f"{counted(progress.messages, 'message')}, {of_all}")

    return observe


def every_few_seconds(clock: Clock) -> Callable[[], bool]:
    """A function that returns True every few seconds, when the progress is to be printed again. The caller must print it
    each time."""
    next_at = clock.now() + _EVERY_S

    def is_time() -> bool:
        nonlocal next_at
        if clock.now() < next_at:
            return False
        next_at = clock.now() + _EVERY_S
        return True

    return is_time


def summary_of(manifest: Manifest, out: str) -> dict[str, object]:
    """The output of --json."""
    return {
        "simulated": manifest.simulated,
        "site": manifest.site,
        "out": out,
        "endpoints": len(manifest.endpoints),
        "messages": manifest.messages,
        "files": len(manifest.files),
        "incomplete": [str(one.key) for one in manifest.endpoints if one.is_whole is False],
    }


def show_manifest(manifest: Manifest, out: str, *, as_json: bool) -> None:
    """Print the amounts, and the endpoints that were not read in full."""
    if as_json:
        show_json({"result": {**summary_of(manifest, out), "exit_code": 0}})
        return
    if manifest.simulated:
        show("SIMULATED")
    endpoints = f"{counted(len(manifest.endpoints), 'endpoint')} of {manifest.site}"
    show(f"{out} contains {counted(manifest.messages, 'message')} of {endpoints}")
    for one in manifest.endpoints:
        if one.is_whole is False:
            show(f"  {one.key}: fewer messages were read than the endpoint reported; take the snapshot again")
        elif one.is_whole is None:
            show(
                f"  {one.key}: the endpoint did not report its number of messages, so it is unknown if all were read"
            )
