"""DuckDB, in this process: it needs no Java and no start, and data that does not fit into memory goes to a directory.

It reads only exports of this machine. It does not use the network: no extension is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from orchestrator.errors import ComputationFailed, DefinitionError, FailoverError, OutputLost
from pipeline.engines.executor import Dialect, Near, Row
from pipeline.layout import SCHEMA
from pipeline.places import Place
from pipeline.sides import Files, Side

# DuckDB treats every name in a list of files as a pattern.
_PATTERN = re.compile(r"[*?\[\]]")
_MASK = "18446744073709551615::HUGEINT"
_TYPES: Mapping[pa.DataType, str] = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.bool_(): "BOOLEAN",
    pa.float64(): "DOUBLE",
    pa.binary(): "BLOB",
}

DIALECT = Dialect(
    {
        "hash64": lambda *values: f"CAST(hash({', '.join(values)}) >> 1 AS BIGINT)",
        "wsum": lambda value: f"(sum({value}) & {_MASK})",
        "wmul": lambda one, other: f"(({one})::HUGEINT * ({other})::HUGEINT & {_MASK})",
        "wsub": lambda one, other: f"((({one})::HUGEINT - ({other})::HUGEINT) & {_MASK})",
        "floordiv": lambda one, other: f"((({one}) - (((({one}) % {other}) + {other}) % {other})) // {other})",
        "moment": lambda micros: f"make_timestamptz({micros})",
        "named": lambda name: f'"{name}"',
        "ratio": lambda one, other: f"(CAST({one} AS DOUBLE) / CAST({other} AS DOUBLE))",
        "percentile_of": lambda value, share: f"quantile_cont({value}, {share})",
    }
)


class Duck:
    """An ``Executor``. ``scratch``: a directory that only this process uses."""

    hash_bits = 63
    tells_ranges = False
    dialect = DIALECT

    def __init__(self, scratch: Path, *, memory: str = "2g", threads: int | None = None) -> None:
        self.name = f"duckdb {duckdb.__version__}"
        self._connection = duckdb.connect(
            config={
                "memory_limit": f"{memory.upper()}iB" if memory[-1:].isalpha() else memory,
                "temp_directory": str(scratch),
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                **({} if threads is None else {"threads": str(threads)}),
            }
        )
        self._held: list[str] = []

    def open_sides(self, left: Side, right: Side, services: Collection[str]) -> None:
        """See ``Executor``."""
        for letter, side in (("l", left), ("r", right)):
            files = side.files(services, is_each_named=True)
            parts = [_select(side.place, one) for one in files] or [_NOTHING]
            self.view(f"rows_{letter}", "\nUNION ALL\n".join(parts))

    def check_output(self, place: Place) -> None:
        """See ``Executor``."""
        raise DefinitionError(f"DuckDB writes only to this machine, not to {place.name}", hint="use --engine spark")

    def expect(self, rows: int) -> None:
        """See ``Executor``. DuckDB does not need this number."""

    def narrow(self, near: Near | None) -> None:
        """See ``Executor``."""
        self.view("near", "SELECT 0 AS side, * FROM rows_l UNION ALL SELECT 1 AS side, * FROM rows_r")

    def given(self, name: str, table: pa.Table) -> None:
        """See ``Executor``."""
        self._connection.register(f"{name}_arrow", table)
        self.hold(name, f"SELECT * FROM {name}_arrow")
        self._connection.unregister(f"{name}_arrow")

    def read(self, name: str, what: str, places: Sequence[Place], settings: Mapping[str, Any]) -> None:
        """See ``Executor``."""
        from pipeline.engines.readers import batches_of, schema_of

        failed: list[DefinitionError] = []

        def batches() -> Iterator[pa.RecordBatch]:
            for place in places:
                try:
                    yield from batches_of(what, place.address, settings)
                except OSError as error:
                    why = f"this file cannot be read: {error.strerror or error}"
                    failed.append(DefinitionError(why, file=place.name, hint="copy it again"))
                    raise

        reader = pa.RecordBatchReader.from_batches(schema_of(what), batches())
        try:
            self._connection.register(f"{name}_arrow", reader)
            self.hold(name, f"SELECT * FROM {name}_arrow")
            self._connection.unregister(f"{name}_arrow")
        except FailoverError:
            # DuckDB only reports that its input ended.
            if failed:
                raise failed[0] from None
            raise

    def view(self, name: str, sql: str) -> None:
        """See ``Executor``."""
        self._run(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")

    def hold(self, name: str, sql: str) -> None:
        """See ``Executor``."""
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")
        self._held.append(name)

    def rows(self, sql: str) -> list[Row]:
        """See ``Executor``."""
        with _faults():
            found = self._connection.execute(sql)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def write(self, sql: str, place: Place, *, is_small: bool) -> None:
        """See ``Executor``."""
        if not place.is_local:
            self.check_output(place)
        try:
            place.local.mkdir()
        except OSError as error:
            raise OutputLost(f"{place.name} could not be made: {error.strerror}") from error
        file = quoted(f"{place.path}/part-00001.parquet")
        self._run(f"COPY ({sql}) TO {file} (FORMAT parquet, COMPRESSION zstd)")

    def release(self) -> None:
        """See ``Executor``."""
        for name in self._held:
            self._run(f"DROP TABLE IF EXISTS {name} CASCADE")
        self._held.clear()

    def close(self) -> None:
        """Release memory and files."""
        self._connection.close()

    def _run(self, sql: str) -> None:
        with _faults():
            self._connection.execute(sql)


def _select(place: Place, files: Files) -> str:
    """A query for the messages of the files, with the columns that ``Executor`` defines."""
    if not place.is_local:
        raise DefinitionError(
            f"DuckDB reads only exports on this machine, not {place.name}", hint="use --engine spark"
        )
    paths = ", ".join(quoted(_PATTERN.sub(r"[\g<0>]", f"{place.path}/{path}")) for path in files.paths)
    # The service is set here: a directory or column of that name is ignored.
    source = f"read_parquet([{paths}], hive_partitioning = false)"
    assert files.service is not None  # is_each_named is set
    service = f"{quoted(files.service)} AS service"
    columns = [_column(name, files.absent) for name in SCHEMA.names]
    return f"SELECT {service}, {', '.join(columns)} FROM {source}"


def _column(name: str, absent: Collection[str]) -> str:
    renamed = {"spooled_at": "micros", "expires_at": "expires"}.get(name)
    if name in absent:
        kind = SCHEMA.field(name).type
        return f"CAST(NULL AS {'BIGINT' if renamed else _TYPES.get(kind, 'BLOB')}) AS {renamed or name}"
    return f"epoch_us({name}) AS {renamed}" if renamed else name


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


_NOTHING = (
    "SELECT CAST(NULL AS VARCHAR) AS service, "
    + ", ".join(_column(name, SCHEMA.names) for name in SCHEMA.names)
    + " WHERE FALSE"
)


@contextmanager
def _faults() -> Iterator[None]:
    """Within this block, convert DuckDB's exceptions to ours, with the same meaning as for Spark."""
    try:
        yield
    except duckdb.Error as error:
        raise _fault_of(error) from error
    except RuntimeError as error:
        # An interrupted call raises this error instead of the signal handler's exception.
        if "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise


def _fault_of(error: duckdb.Error) -> FailoverError:
    text = str(error).strip()
    first = text.splitlines()[0] if text else type(error).__name__
    if "No space left on device" in text or "max_temp_directory_size" in text:
        return OutputLost(
            "the disk for results or scratch space is full", hint="give another directory with --scratch"
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return ComputationFailed(
            "DuckDB ran out of memory", hint="give more memory with --memory, or more disk space with --scratch"
        )
    return ComputationFailed(f"DuckDB could not finish: {first}"[:500])
