"""The user's settings of the engine: which engine, where it runs, its limits. Needs no engine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from pipeline.session import SparkSettings

_ENGINES = ("auto", "spark", "duckdb")
_MEMORY = re.compile(r"\d+[kmgt]", re.IGNORECASE)
_MASTER = re.compile(r"(local(-cluster)?(\[.*\])?|yarn)$|(spark|k8s)://.")
_REMOTE = re.compile(r"sc://.")


@dataclass(frozen=True, slots=True)
class Settings:
    """As ``pipeline.session.SparkSettings``, and ``engine``: its name, or ``auto`` for the one that suits."""

    engine: Literal["auto", "spark", "duckdb"] = "auto"
    master: str | None = None
    remote: str | None = None
    memory: str = "2g"
    partitions: int | None = None
    scratch: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def names_a_cluster(self) -> bool:
        """Does a setting ask for Spark by its place or by its options?"""
        named = (self.master, self.remote, self.partitions)
        return any(one is not None for one in named) or bool(self.options) or "PYSPARK_GATEWAY_PORT" in os.environ

    def for_spark(self, rows: int | None = None) -> SparkSettings:
        """The settings for Spark. ``rows``: the number of rows to read."""
        from pipeline.session import SparkSettings

        return SparkSettings(
            self.master, self.memory, self.partitions, self.scratch, self.options, self.remote, messages=rows
        )


def settings_of(
    engine: str = "auto",
    *,
    master: str | None = None,
    remote: str | None = None,
    memory: str = "2g",
    partitions: int | None = None,
    scratch: str | None = None,
    conf: list[str] | None = None,
) -> Settings:
    """Settings from the options that the user typed. Raises ``DefinitionError``."""
    options = {}
    for one in conf or []:
        name, equals, value = one.partition("=")
        if not equals or not name.startswith("spark."):
            raise DefinitionError(f"--conf: {one!r} does not have the form spark.NAME=VALUE")
        options[name] = value
    if engine not in _ENGINES:
        raise DefinitionError(f"--engine: {engine!r} is not one of {', '.join(_ENGINES)}")
    if not _MEMORY.fullmatch(memory):
        raise DefinitionError(f"--memory: {memory!r} is not a size; write for example 800m or 4g")
    if master is not None and not _MASTER.match(master):
        raise DefinitionError(f"--master: {master!r} is not valid; write local, local[N], spark://…, yarn or k8s://…")
    if remote is not None and not _REMOTE.match(remote):
        raise DefinitionError(f"--remote: {remote!r} does not have the form sc://HOST:PORT")
    if master is not None and remote is not None:
        raise DefinitionError("--master and --remote cannot be used together", hint="give only one of them")
    if scratch is not None and not (Path(scratch).is_dir() and os.access(scratch, os.W_OK)):
        raise DefinitionError(f"--scratch: {scratch} is not a writable directory")
    chosen = cast("Literal['auto', 'spark', 'duckdb']", engine)
    return Settings(chosen, master, remote, memory, partitions, None if scratch is None else Path(scratch), options)
