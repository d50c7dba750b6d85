"""Collects one site's messages into an export: resumable, with progress, in bounded memory.

The device side is behind ``Source``. Committed messages are never read again. After a crash the collection first
removes the uncommitted data from the disk, then continues after the last committed message. It commits by time as
well as by rows; otherwise a slow device would have to be read from its start again. This file must never interpret
the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.clock import Clock
from pipeline.commits import Commit, CommitLog, Halfway, Opening, collecting
from pipeline.manifest import CensusModel, DumpsRead, EndpointSnapshot, Manifest, ServiceSnapshot
from pipeline.parts import Bounds, Parts
from pipeline.rows import Cursor, EndpointKey, Source

ROWS_A_COMMIT = 1_000_000
SECONDS_A_COMMIT = 60.0
ROWS_A_REPORT = 1_000


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a collection. ``messages`` includes earlier attempts. ``endpoint`` None: the collection ended."""

    endpoints: int
    endpoints_total: int
    messages: int
    endpoint: EndpointKey | None


@dataclass(frozen=True, slots=True)
class Job:
    """What to collect, and the facts about it for the manifest."""

    site: str
    services: Sequence[ServiceSnapshot]
    run: str | None = None
    failover_at: float | None = None
    simulated: bool = False
    rows_a_commit: int = ROWS_A_COMMIT
    seconds_a_commit: float = SECONDS_A_COMMIT
    rows_a_report: int = ROWS_A_REPORT

    def manifest(
        self,
        log: CommitLog,
        clock: Clock,
        endpoints: tuple[EndpointSnapshot, ...],
        *,
        unknown: tuple[str, ...] = (),
        dumps: DumpsRead | None = None,
    ) -> Manifest:
        """The manifest of this job, written when the collection ends."""
        return Manifest(
            site=self.site,
            simulated=self.simulated,
            run=self.run,
            failover_at=self.failover_at,
            started_at=log.opening.started_at,
            finished_at=clock.now(),
            services=tuple(self.services),
            endpoints=endpoints,
            files=tuple(log.files),
            unknown=unknown,
            dumps=dumps,
        )


Observer = Callable[[Progress], None]


def collect(
    source: Source,
    directory: Path,
    job: Job,
    clock: Clock,
    *,
    observe: Observer = lambda _: None,
    bounds: Bounds | None = None,
) -> Manifest:
    """Read everything ``source`` has into ``directory``; writes the manifest there and returns it.

    Raises ``DefinitionError`` when the directory holds another export, ``LeaseHeld`` when another process collects
    into it, ``OutputLost`` when the directory cannot be written. Errors of the source pass through. After any of these
    errors, the same call continues where this call stopped.
    """
    with collecting(directory, Opening(site=job.site, run=job.run, started_at=clock.now())) as log:
        _Collection(source, directory, job, log, clock, observe, bounds).run()
        return log.end(job.manifest(log, clock, tuple(log.endpoints)))


class _Collection:
    """One attempt at a collection."""

    def __init__(
        self,
        source: Source,
        directory: Path,
        job: Job,
        log: CommitLog,
        clock: Clock,
        observe: Observer,
        bounds: Bounds | None,
    ) -> None:
        self._source = source
        self._job = job
        self._log = log
        self._clock = clock
        self._observe = observe
        self._parts = Parts(directory, job.site, first=log.next_file, bounds=bounds)
        self._done = len(log.endpoints)
        self._total = 0
        self._messages = sum(file.rows for file in log.files)
        self._uncommitted = 0
        self._committed_at = clock.now()
        self._ended: list[EndpointSnapshot] = []

    def run(self) -> None:
        keys = self._source.endpoints()
        self._total = len(keys)
        done = {endpoint.key for endpoint in self._log.endpoints}
        try:
            for key in keys:
                if key not in done:
                    self._read(key)
            self._commit(None)
        finally:
            self._parts.abandon()
        self._tell(None)

    def _read(self, key: EndpointKey) -> None:
        begun = self._begin(key)
        cursor: Cursor | None = begun.cursor if begun.messages else None
        position, count, last = begun.position, begun.messages, begun.message_id
        self._tell(key)
        for message in self._source.messages(key, cursor):
            position = position + 1 if message.position is None else message.position
            count, last = count + 1, message.message_id
            self._parts.add(key, position, message)
            self._messages += 1
            self._uncommitted += 1
            if self._is_due():
                self._commit(begun.model_copy(update={"position": position, "messages": count, "message_id": last}))
            if self._messages % self._job.rows_a_report == 0:
                self._tell(key)
        self._end(key, begun, count)

    def _begin(self, key: EndpointKey) -> Halfway:
        halfway = self._log.halfway
        if halfway is not None and halfway.key == key:
            return halfway
        before = self._source.census(key)
        return Halfway(
            service=key.service,
            name=key.name,
            kind=key.kind,
            position=-1,
            message_id="",
            messages=0,
            taken_from=before.at,
            censuses=(CensusModel.of(before),),
        )

    def _end(self, key: EndpointKey, begun: Halfway, count: int) -> None:
        after = self._source.census(key)
        self._ended.append(
            EndpointSnapshot(
                service=key.service,
                name=key.name,
                kind=key.kind,
                messages=count,
                taken_from=begun.taken_from,
                taken_to=after.at,
                censuses=(*begun.censuses, CensusModel.of(after)),
            )
        )
        self._done += 1

    def _commit(self, halfway: Halfway | None) -> None:
        files = tuple(self._parts.close_all())
        if files or self._ended or halfway:
            self._log.commit(
                Commit(files=files, endpoints=tuple(self._ended), halfway=halfway, next_file=self._parts.next_number)
            )
        self._ended.clear()
        self._uncommitted, self._committed_at = 0, self._clock.now()

    def _is_due(self) -> bool:
        waited_s = self._clock.now() - self._committed_at
        return self._uncommitted >= self._job.rows_a_commit or waited_s >= self._job.seconds_a_commit

    def _tell(self, key: EndpointKey | None) -> None:
        self._observe(Progress(self._done, self._total, self._messages, key))
