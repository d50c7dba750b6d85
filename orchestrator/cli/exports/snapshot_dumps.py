"""Takes a snapshot from dumps that were copied to this machine. It must never connect to an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from orchestrator.cli.exports.reconcile import FINDINGS, parquet_installed
from orchestrator.cli.exports.snapshot import every_few_seconds, summary_of
from orchestrator.cli.render.terminal import presentable, say_unless, show, show_json
from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.family.offers import offering
from orchestrator.model.inventory import Inventory
from orchestrator.operations.exports.snapshot import SnapshotRequest, folder_here, job_of, services_of, site_of
from orchestrator.operations.families import known_family, not_offered
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.amps.collect import Progress
    from pipeline.manifest import DumpsRead, Manifest


def take_snapshot_of_dumps(
    tools: Tools,
    inventory: Inventory,
    request: SnapshotRequest,
    dumps: Sequence[str],
    dumped_at: str | None,
    out: str,
    *,
    as_json: bool,
) -> int:
    """Read the dumps into the directory ``out`` and print the amounts. Returns the exit code: 0, or 4 if a part of them
    could not be read. Raises ``FailoverError``. The same call resumes where it stopped."""
    site = site_of(inventory, request)
    family = known_family(tools, site)
    if not offering(family).reads_dumps():
        raise not_offered(family, "snapshots of dumps", lambda one: one.reads_dumps())
    places = _places(dumps, services_of(inventory, request))
    with parquet_installed():
        from pipeline.amps.collect import collect_dumps, dumps_of
        from pipeline.amps.instance import Instance
        from pipeline.moments import moment

        made_at = None if dumped_at is None else moment(dumped_at, "--dumped-at")
        found = dumps_of({service: Instance.of_dumps(place) for service, place in places.items()}, made_at)
        job = job_of(tools, site, sorted(places), request.run, serving={})
        manifest = collect_dumps(
            found, folder_here(out), job, tools.clock, observe=_say_progress(tools.clock, say_unless(as_json))
        )
    assert manifest.dumps is not None  # the snapshot was made from dumps
    _show(manifest, manifest.dumps, out, as_json=as_json)
    return FINDINGS if manifest.dumps.unread else 0


def _places(dumps: Sequence[str], services: Sequence[str]) -> dict[str, str]:
    """The place of the dumps of each service's instance. Raises ``DefinitionError``."""
    places: dict[str, str] = {}
    for text in dumps:
        name, equals, place = text.partition("=")
        if not equals or name not in services:
            if len(services) > 1:
                raise DefinitionError(
                    f"--dumps {text}: the name of a service is missing",
                    hint=f"write SERVICE=DIR; the services are {', '.join(services)}",
                )
            name, place = services[0], text
        if name in places:
            raise DefinitionError(
                f"--dumps: {name} is given twice", hint="put all dumps of a service in one directory"
            )
        places[name] = place
    return places


def _say_progress(clock: Clock, say: Callable[[str], None]) -> Callable[[Progress], None]:
    seldom = every_few_seconds(clock)

    def observe(progress: Progress) -> None:
        if progress.has_ended or seldom():
            say(
                f"{counted(progress.messages, 'message')}, {progress.dumps:,} of {counted(progress.dumps_total, 'dump')}"
            )

    return observe


def _show(manifest: Manifest, read: DumpsRead, out: str, *, as_json: bool) -> None:
    pieces = sum(one.pieces for one in read.unread)
    if as_json:
        more = {"dumps": read.dumps, "unread": pieces, "left_aside": read.left_aside, "unknown": manifest.unknown}
        show_json({"result": {**summary_of(manifest, out), **more, "exit_code": FINDINGS if pieces else 0}})
        return
    if manifest.simulated:
        show("SIMULATED")
    show(
        f"{out} contains {counted(manifest.messages, 'message or record', 'messages and records')} of"
        f" {counted(len(manifest.endpoints), 'topic')} of {manifest.site}, from {counted(read.dumps, 'dump')}"
    )
    if read.left_aside:
        counts = ", ".join(f"{number:,} {presentable(name)}" for name, number in read.left_aside.items())
        show(f"  entries that are not messages were left out: {counts}")
    for one in read.unread:
        pieces_of = f"{presentable(one.file)}: {counted(one.pieces, 'piece')}"
        show(f"  {pieces_of} could not be read; the first reason: {presentable(one.reason)}")
    if read.unread:
        show(f"  each unreadable piece is in {out}/quarantine, with its offset")
