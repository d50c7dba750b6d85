"""Turns Spark's exceptions into the product's own errors: one sentence, with file and column if known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException, PythonException

from orchestrator.errors import ComputationFailed, DefinitionError, FailoverError, OutputLost

_FILE = re.compile(r"(?:file:(?://)?)?(/[^\s'\"`]+\.parquet)|([a-z0-9]+://[^\s'\"`]+\.parquet)")
_LOOK = re.compile(r"(?:file:(?://)?)?(/[^\s'\"`]+\.jsonl)")
_COLUMN = re.compile(r"[Cc]olumn:? \[?`?([A-Za-z_]+)")
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Corrupt)\b.*")
_CAUSE = re.compile(r"Caused by: [\w.$]+: (.+)")
# For an error in the JVM itself, the first line only names the object that was called.
_THROWN = re.compile(r"^(?:: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (.+)", re.MULTILINE)


@contextmanager
def spark_faults() -> Iterator[None]:
    """Within this block, convert Spark's exceptions: ``DefinitionError`` for a file that cannot be read,
    ``OutputLost`` for a full disk, ``ComputationFailed`` for everything else."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise fault_of(error) from error


def fault_of(error: Exception) -> FailoverError:
    """The error to raise for an exception of Spark."""
    text = _whole_text(error)
    file = _FILE.search(text)
    look = _LOOK.search(text)
    if look is not None and "FAILED_READ_FILE" in text:
        why = "permission denied" if "Permission denied" in text else "the file was removed, or the disk fails"
        return DefinitionError(f"this file cannot be read: {why}", file=look[1], hint="fix the cause and start again")
    if "FAILED_READ_FILE" in text or "CANNOT_READ_FILE" in text or "is not a Parquet file" in text:
        column = _COLUMN.search(text)
        which = f"column {column[1]} cannot be read" if column else "this file is not a complete Parquet file"
        return DefinitionError(which, file=(file[1] or file[2]) if file else None, hint="collect or copy it again")
    if "No space left on device" in text:
        return OutputLost(
            "the disk for results or scratch space is full",
            hint="free disk space, or give other directories with --out and --scratch",
        )
    if "OutOfMemoryError" in text or "Not enough memory" in text:
        return ComputationFailed("Spark ran out of memory", hint="give more memory with --memory, or more partitions")
    if "FileSystem not found" in text or "UnsupportedFileSystemException" in text:
        return ComputationFailed(
            "Spark cannot read this kind of URI",
            hint="for s3a:// add hadoop-aws: --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION",
        )
    if isinstance(error, Py4JNetworkError):
        return ComputationFailed(
            "Spark's JVM ended unexpectedly", hint="the JVM may have run out of memory; give it more with --memory"
        )
    if isinstance(error, PythonException):
        return ComputationFailed(
            f"a reader failed: {_last_line(text)}", hint="check that every worker can read the file"
        )
    cause = _CAUSE.findall(text) or _THROWN.findall(text)
    return ComputationFailed(f"Spark could not finish: {cause[-1] if cause else text.strip().splitlines()[0]}"[:500])


def _last_line(text: str) -> str:
    """The line of a traceback that names the exception."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if _EXCEPTION.match(line)), lines[0])


def _whole_text(error: Exception) -> str:
    parts = [str(error)]
    if isinstance(error, Py4JJavaError):
        parts.append(str(error.java_exception))
    cause = error.__cause__
    return "\n".join([*parts, _whole_text(cause) if isinstance(cause, Exception) else ""])
