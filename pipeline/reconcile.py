"""Compares two exports: one pass of fingerprints, a closer check where they differ, then the judgement.

Any engine can run the steps of ``sql/reconcile.sql``. The size of their answers depends on the number of endpoints, not
on the number of messages. When nothing differs, only the first query runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import ComputationFailed, DefinitionError, FailoverError, OutputLost
from pipeline.ask import Ask, failover_of
from pipeline.assemble import assemble, settings_of
from pipeline.engines.executor import Executor, Near, Range, Row, Script
from pipeline.explain import as_table
from pipeline.layout import MICROS, damaged_file
from pipeline.places import Place
from pipeline.readings import rows_read
from pipeline.report import CLASSES, Interval, Report, Sample, Work
from pipeline.rows import NOT_REPLICATED, EndpointKey
from pipeline.sides import Side, check_pair, common_services, files_of_both
from pipeline.tally import Tally, clocks_of
from pipeline.timeline import Scale, intervals
from pipeline.width import numbers_log2

_SAMPLES_A_CLASS = 5
_FEW = 1_000
# Below this number of differences, their table is one file.
_SMALL_TABLE = 1_000_000
# Reading skips messages by endpoint and by number, if the condition is not longer than these limits.
_NAMED_MAX = 500
_LISTED_MAX = 10_000
Say = Callable[[str], None]
Told = tuple[tuple[Interval, ...], tuple[Sample, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report, and the differences. ``write`` writes a table of the differences. ``close`` releases the engine's
    resources."""

    report: Report
    write: Callable[[Place], None]
    close: Callable[[], None]


def reconcile(
    engine: Executor, left: Side, right: Side, ask: Ask, clock: Clock, say: Say = lambda _: None
) -> Outcome:
    """Compare ``left`` with ``right``.

    Raises ``DefinitionError`` for exports that do not belong together, and for a damaged file; ``ComputationFailed``
    when not every message was read. The caller must close the outcome after writing.
    """
    check_pair(left, right)
    try:
        return _Reconciliation(engine, left, right, ask, clock, say).run()
    except (FailoverError, pa.ArrowException, OSError) as error:
        is_told = isinstance(error, OutputLost) or getattr(error, "file", None) is not None or "memory" in str(error)
        if is_told:
            raise
        # An engine that reads a damaged file does not name the file.
        for place, files in files_of_both(left, right):
            damage = damaged_file(place, files) if place.is_local else None
            if damage is not None:
                raise damage from error
        raise


class _Reconciliation:
    """One run of ``reconcile``."""

    def __init__(self, engine: Executor, left: Side, right: Side, ask: Ask, clock: Clock, say: Say) -> None:
        self._engine, self._left, self._right = engine, left, right
        self._ask, self._clock, self._say = ask, clock, say
        self._script = Script("reconcile", engine)
        self._services = common_services(left, right)
        self._bits = numbers_log2(left, right) if ask.numbers_log2 is None else ask.numbers_log2
        self._has_logs = left.has_logs or right.has_logs

    def run(self) -> Outcome:
        self._say("comparing the fingerprints of both sides")
        self._fold()
        self._names = self._endpoints_by_id()
        tallies = {self._key(row): Tally.of(row) for row in self._script.rows("endpoints")}
        self._check_all_read(tallies)
        work = self._plan(tallies)
        spans: tuple[Interval, ...] = ()
        samples: tuple[Sample, ...] = ()
        if work.plan != "fingerprints":
            self._say(f"reading {work.rows_drilled:,} of {counted(work.rows, 'message')} in detail")
            self._drill(tallies, work)
            self._explain(tallies)
            is_few = sum(tally.differences for tally in tallies.values()) <= _FEW
            spans, samples = (self._tell_each if is_few else self._tell_sums)(tallies)
        clocks = clocks_of(tallies)
        report = assemble(self._left, self._right, self._ask, tallies, clocks, work, self._clock.now())
        report = report.model_copy(update={"intervals": spans, "samples": samples}).sealed()
        return Outcome(report, self._writer(tallies, work), self._engine.release)

    def _fold(self) -> None:
        """Prepare the only query that reads all messages."""
        script, sides = self._script, (self._left, self._right)
        has_digests = all(side.has_digests for side in sides)
        has_local = any(side.has_local for side in sides)
        has_priorities = any(side.has_priorities for side in sides)
        self._engine.open_sides(*sides, self._services)
        for letter in "lr":
            script.view("keyed", f"keyed_{letter}", rows=f"rows_{letter}", bits=self._bits)
            script.view(
                "folded",
                f"folded_{letter}",
                side=letter,
                digest=", digest" if has_digests else "",
                is_local=f"coalesce(replicated = '{NOT_REPLICATED}', FALSE)" if has_local else "FALSE",
                priority="min(priority)" if has_priorities else "CAST(NULL AS INT)",
                priorities="max(priority)" if has_priorities else "CAST(NULL AS INT)",
                numbers=script.text("numbers") if self._has_logs else "",
            )
        script.hold("buckets", numbers=script.text("numbers_of_both") if self._has_logs else "")
        script.view("compared")

    def _endpoints_by_id(self) -> Mapping[int, EndpointKey]:
        """Every endpoint of the manifests, by the hash of its names. Raises ``DefinitionError`` when two endpoints have
        the same hash."""
        keys = sorted({one.key for side in (self._left, self._right) for one in side.manifest.endpoints})
        columns = {name: [getattr(key, name) for key in keys] for name in ("service", "name", "kind")}
        self._engine.given("names", pa.table(columns, schema=_NAMES))
        rows = self._engine.rows(
            self._engine.dialect.spelled("SELECT service, name, kind, hash64(service, name, kind) AS id FROM names")
        )
        found = {row["id"]: EndpointKey(row["service"], row["name"], row["kind"]) for row in rows}
        if len(found) < len(keys):
            raise DefinitionError("the names of two endpoints have the same 64-bit hash")
        return found

    def _key(self, row: Row) -> EndpointKey:
        """The endpoint of a row."""
        if row["endpoint_id"] not in self._names:
            raise DefinitionError(
                "an export has messages of an endpoint that no manifest names", hint="collect both sites again"
            )
        return self._names[row["endpoint_id"]]

    def _check_all_read(self, tallies: Mapping[EndpointKey, Tally]) -> None:
        """Check the row counts before judging: rows that were not read would look like messages that the site lost."""
        sides = (
            (self._left, sum(one.left.messages for one in tallies.values())),
            (self._right, sum(one.right.messages for one in tallies.values())),
        )
        for side, read in sides:
            told = side.manifest.rows_of(self._services)
            if read != told:
                raise ComputationFailed(
                    f"{read:,} of {counted(told, 'message')} of {side.manifest.site} were read, "
                    "so no verdict is possible",
                    hint=f"copy {side.place.name} again; if this repeats, {self._engine.name} cannot read the files",
                )

    def _plan(self, tallies: dict[EndpointKey, Tally]) -> Work:
        rows = sum(one.rows for one in tallies.values())
        is_question = any(one.is_in_question for one in tallies.values())
        if is_question:
            self._engine.expect(sum(one.buckets for one in tallies.values()))
            self._decide(tallies)
        to_drill = sum(one.rows_drilled for one in tallies.values())
        number = sum(one.buckets for one in tallies.values())
        is_apart = any(one.clusters_apart for one in tallies.values())
        is_all = self._ask.equal_duplicates or to_drill > self._ask.everything_above * rows
        return Work(
            plan="everything" if is_all and rows else "drill" if to_drill or is_apart else "fingerprints",
            buckets=number,
            buckets_drilled=number if is_all else sum(one.buckets_drilled for one in tallies.values()),
            rows=rows,
            rows_drilled=rows if is_all else to_drill,
            overlooked_at_most=number * 2.0**-self._engine.hash_bits,
            engine=self._engine.name,
        )

    def _decide(self, tallies: Mapping[EndpointKey, Tally]) -> None:
        """Decide which buckets are read in detail. Only endpoints in question have such buckets."""
        ids = [number for number, key in self._names.items() if key in tallies and tallies[key].is_in_question]
        self._engine.given("in_question", pa.table({"endpoint_id": pa.array(ids, pa.int64())}))
        self._script.view("clusters")
        self._script.hold("decided")
        for row in self._script.rows("chosen"):
            tallies[self._key(row)].add_chosen(row)

    def _drill(self, tallies: dict[EndpointKey, Tally], work: Work) -> None:
        """Find the differences message by message. The counts by endpoint go into ``tallies``."""
        script, everything = self._script, work.plan == "everything"
        self._engine.expect(work.rows_drilled)
        self._engine.narrow(None if everything else self._near(work))
        script.view("keyed", "near_keyed", rows="near", bits=self._bits)
        if not everything:
            script.view("near", "near_wanted", rows="near_keyed")
        script.view("copies", rows="near_keyed" if everything else "near_wanted")
        script.view("messages")
        script.hold("judged")
        for row in script.rows("sums"):
            tallies[self._key(row)].add_messages(row, is_all=everything)
        places = script.text("along")
        if not everything:
            places += f" UNION ALL {script.text('ends')}"
        order = Script("order", self._engine)
        for row in order.rows("breaks", rows=places, by="endpoint_id, stream_id", group="endpoint_id"):
            tallies[self._key(row)].add_breaks(row)

    def _near(self, work: Work) -> Near | None:
        """The messages to read for the buckets that are read in detail; also makes the table of these buckets. None when
        the condition would be too long, or most messages would be read."""
        if not self._engine.tells_ranges or work.buckets_drilled > _LISTED_MAX:
            self._engine.view("wanted_buckets", self._script.text("wanted", bits=self._bits))
            return None
        rows = self._script.rows("wanted", bits=self._bits)
        given = {name: pa.array([row[name] for row in rows], pa.int64()) for name in _BUCKET}
        self._engine.given("wanted_buckets", pa.table(given))
        ranges = [_numbers(row["bucket"], row["omitted"]) for row in rows]
        read = min(work.rows, rows_read(ranges, work.rows_drilled))
        if read > self._ask.everything_above * work.rows:
            return None
        names = {self._names[row["endpoint_id"]].name for row in rows}
        return Near(names if len(names) <= _NAMED_MAX else None, ranges)

    def _explain(self, tallies: Mapping[EndpointKey, Tally]) -> None:
        """Adds to each difference the reason for it."""
        script, skew = self._script, round(self._ask.clock_skew_s * MICROS)
        settings = settings_of(self._left, self._right, self._ask, tallies)
        self._engine.given("settings", as_table(settings))
        spelled = self._engine.dialect.spelled(
            "SELECT *, hash64(service, endpoint, kind) AS endpoint_id FROM settings"
        )
        self._engine.view("endpoint_settings", spelled)
        script.view("named")
        script.view("moved" if _may_have_moved(tallies) else "unmoved", "moved")
        script.view("publishers" if self._has_logs else "no_publishers", "publishers")
        whys = {
            f"why_{own}": script.text("why", own=own, other=other, number=number, skew=skew)
            for own, other, number in (("l", "r", 0), ("r", "l", 1))
        }
        script.hold("differences", skew=skew, **whys)

    def _tell_each(self, tallies: Mapping[EndpointKey, Tally]) -> Told:
        """The intervals and samples, when the differences are few enough to fetch. Their explanations go into
        ``tallies``."""
        scale = self._scale(tallies)
        rows = self._script.rows("each", zero=scale.zero, width=scale.width)
        self._add(rows, tallies)
        return intervals(rows, scale), _samples(rows)

    def _tell_sums(self, tallies: Mapping[EndpointKey, Tally]) -> Told:
        """The intervals and samples of many differences. The engine counts them."""
        scale = self._scale(tallies)
        self._add(self._script.rows("whys"), tallies)
        times = self._script.rows("times", zero=scale.zero, width=scale.width)
        seen = [name for name in CLASSES if any(tally.has(name) for tally in tallies.values())]
        some = [row for name in seen for row in self._script.rows("some", name=name, most=_SAMPLES_A_CLASS)]
        return intervals(times, scale), _samples(some)

    def _scale(self, tallies: Mapping[EndpointKey, Tally]) -> Scale:
        return Scale.of(tallies.values(), failover_of(self._left, self._right, self._ask), self._ask.interval_s)

    def _add(self, counts: Sequence[Row], tallies: Mapping[EndpointKey, Tally]) -> None:
        for row in counts:
            if row["class"] in ("missing", "extra"):
                tallies[self._key(row)].add_uncommon(row)

    def _writer(self, tallies: Mapping[EndpointKey, Tally], work: Work) -> Callable[[Place], None]:
        if work.plan == "fingerprints":
            return lambda _: None
        sql = self._script.text("table")
        is_small = sum(tally.differences for tally in tallies.values()) < _SMALL_TABLE
        return lambda place: self._engine.write(sql, place.child("differences"), is_small=is_small)


_BUCKET = ("endpoint_id", "stream_id", "bucket")
_NAMES = pa.schema([pa.field(name, pa.string()) for name in ("service", "name", "kind")])


def _numbers(bucket: int, bits: int) -> Range:
    return bucket << bits, (bucket + 1 << bits) - 1


def _may_have_moved(tallies: Mapping[EndpointKey, Tally]) -> bool:
    """Does one endpoint of a service lack messages, while another endpoint of the service has extra messages?"""
    fewer = {key.service for key, one in tallies.items() if one.missing or one.surplus_l}
    return any(key.service in fewer and (one.extra or one.surplus_r) for key, one in tallies.items())


def _samples(rows: Sequence[Row]) -> tuple[Sample, ...]:
    """A few samples of each class of differences."""
    picked = (islice((row for row in rows if row["class"] == name), _SAMPLES_A_CLASS) for name in CLASSES)
    return tuple(_sample(row) for some in picked for row in some)


def _sample(row: Row) -> Sample:
    return Sample(
        kind=row["class"],
        service=row["service"],
        endpoint=row["endpoint"],
        message_id=row["message_id"],
        spooled_at=None if row["spooled"] is None else row["spooled"] / MICROS,
        why=row["why"],
        elsewhere=row["elsewhere"],
    )
