"""Buckets are as wide as the data wants, and little is read around those that differ."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from pipeline.engines.executor import Near, Script
from pipeline.engines.spark import Spark
from pipeline.generator import Shape, TwoSites, write_small
from pipeline.layout import ROWS_A_PAGE
from pipeline.readings import RANGES_MAX, READINGS_MAX, in_ranges, merged, readings, rows_read
from pipeline.rows import Message
from pipeline.sides import Side, common_services
from pipeline.width import numbers_log2
from tests.spark.oracle import NOON, Case, Endpoint, write

RANGES = st.lists(st.tuples(st.integers(-100, 100), st.integers(0, 9)).map(lambda one: (one[0], one[0] + one[1])))


@settings(deadline=None)
@given(ranges=RANGES, most=st.integers(1, 12))
def test_few_ranges_cover_all_that_were_given(ranges: Sequence[tuple[int, int]], most: int) -> None:
    """Few enough, in order, apart, nothing is left out; where all may stay as they are, nothing is added either."""
    found = merged(ranges, most)
    wanted = {number for low, high in ranges for number in range(low, high + 1)}
    covered = {number for low, high in found for number in range(low, high + 1)}
    assert len(found) <= most
    assert all(before[1] < after[0] - 1 for before, after in pairwise(found))
    assert wanted <= covered
    if len(ranges) <= most:
        assert covered == wanted


@settings(deadline=None)
@given(ranges=RANGES, most=st.integers(1, 12))
def test_the_condition_holds_for_the_numbers_in_the_ranges(ranges: Sequence[tuple[int, int]], most: int) -> None:
    """However often it halves them, the condition is true of every number of the ranges and of no other."""
    found = merged(ranges, most)
    numbers = ",".join(f"({number})" for number in range(-120, 121))
    condition = re.sub(r"(\d)L", r"\1", in_ranges(found))
    with closing(sqlite3.connect(":memory:")) as database:
        rows = f"WITH all_rows(sequence) AS (VALUES {numbers}) SELECT sequence FROM all_rows"
        chosen = database.execute(f"{rows} WHERE {condition}")
        assert {number for (number,) in chosen} == {n for low, high in found for n in range(low, high + 1)}


@settings(deadline=None)
@given(
    spans=st.lists(st.tuples(st.integers(-9_000, 9_000), st.integers(0, 900))),
    wanted=st.lists(st.tuples(st.integers(-9_500, 9_500), st.integers(0, 9)), max_size=300),
)
def test_nothing_wanted_is_left_unread(spans: list[tuple[int, int]], wanted: list[tuple[int, int]]) -> None:
    """However files and ranges lie: each file is read once if it has a wanted number, with every such number of it,
    and otherwise not at all; by a few readings of a few ranges each."""
    files = {str(number): (low, low + wide) for number, (low, wide) in enumerate(spans)}
    ranges = [(low, low + wide) for low, wide in wanted]
    numbers = {number for low, high in ranges for number in range(low, high + 1)}
    found = readings(files, ranges)
    assert len(found) <= READINGS_MAX
    assert all(0 < len(one.ranges) <= RANGES_MAX for one in found)
    read = [(file, one.ranges) for one in found for file in one.files]
    assert len({file for file, _ in read}) == len(read)
    for file, (low, high) in files.items():
        covered = {
            n for name, some in read if name == file for a, b in some for n in range(max(a, low), min(b, high) + 1)
        }
        assert numbers & set(range(low, high + 1)) <= covered


def test_files_are_read_with_their_own_ranges() -> None:
    """Many ranges are told exactly where each file has but some of them; files without any are left out."""
    files = {f"{number:02}": (number * 1_000, number * 1_000 + 999) for number in range(20)}
    ranges = [(number * 100, number * 100 + 9) for number in range(150)]
    found = readings(files, ranges)
    assert [file for one in found for file in one.files] == [f"{number:02}" for number in range(15)]
    assert [some for one in found for some in one.ranges] == ranges


def test_what_is_read_counts_the_pages_of_ranges_that_are_apart() -> None:
    """Neighbouring buckets are one range, however many they are; each that stands alone costs a page at either side."""
    near = [(number * 256, number * 256 + 255) for number in range(100)]
    alone = [(number * 1_000_000, number * 1_000_000 + 255) for number in range(100)]
    assert rows_read(near, 51_200) == 51_200 + 2 * ROWS_A_PAGE
    assert rows_read(alone, 51_200) == 51_200 + 200 * ROWS_A_PAGE


@pytest.mark.parametrize(
    ("form", "step", "width"),
    [
        ("rmid1:0d77c-b0b2e66aece-00000000-{:08x}", 1, 8),
        ("rmid1:0d77c-b0b2e66aece-00000000-{:08x}", 200, 16),
        ("ID:{}-x", 1, 8),
    ],
)
def test_width_follows_how_far_apart_the_numbers_are(tmp_path: Path, form: str, step: int, width: int) -> None:
    """A bucket holds about 256 messages, also of an endpoint that gets every 200th number of its stream."""
    messages = tuple(Message(form.format(number * step), NOON) for number in range(50))
    sides = write([Case(Endpoint(messages), Endpoint(messages[10:]))], tmp_path)
    assert numbers_log2(*map(Side.open, sides)) == width


def test_width_bounds_the_number_of_buckets(tmp_path: Path) -> None:
    """A hundred million messages a side are cut into no more than 131,072 buckets; no messages need no sample."""
    side = Side.open(write([Case(Endpoint((Message("1|1", NOON),)), Endpoint(()))], tmp_path)[0])
    (file,) = side.manifest.files
    large = side.manifest.model_copy(update={"files": (file.model_copy(update={"rows": 100_000_000}),)})
    assert numbers_log2(side, replace(side, manifest=large)) == 10
    nothing = replace(side, manifest=side.manifest.model_copy(update={"files": ()}))
    assert numbers_log2(nothing, nothing) == 8


def test_the_jvm_compiles_what_reads_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Of methods of more than 8,000 bytes the JVM makes no machine code: reading would be many times slower."""
    two = TwoSites(Shape(200, endpoints=2, missing=1))
    left, right = (Side.open(str(side)) for side in write_small(two, tmp_path))
    engine = Spark(spark)
    script = Script("reconcile", engine)
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    try:
        engine.open_sides(left, right, common_services(left, right))
        ranges = [(number * 10, number * 10 + 5) for number in range(RANGES_MAX)]
        engine.narrow(Near(["orders/q00000"], ranges * READINGS_MAX))
        engine.given("wanted_buckets", pa.table({name: pa.array([1], pa.int64()) for name in BUCKET}))
        script.view("keyed", "near_keyed", rows="near", bits=4)
        script.view("near", "near_wanted", rows="near_keyed")
        script.view("copies", rows="near_wanted")
        script.view("messages")
        sizes = _method_sizes(spark, spark.sql(script.text("judged")))
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", "false")
    assert len(sizes) > 1
    assert max(sizes) < 8_000


BUCKET = ("endpoint_id", "stream_id", "bucket")


def _method_sizes(spark: SparkSession, rows: DataFrame) -> list[int]:
    """The longest method of each piece of code that Spark makes for a query, in bytes."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        plan = rows._jdf.queryExecution().executedPlan()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "true")
    assert spark._jvm is not None
    text = spark._jvm.org.apache.spark.sql.execution.debug.package.codegenString(plan)
    return [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", text)]
