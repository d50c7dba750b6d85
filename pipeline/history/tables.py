"""The questions about past runs, as Spark tables that grow with steps, services and devices, never with runs.

Their columns are the fields of the report's models.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from orchestrator.errors import DefinitionError
from pipeline.history.facts import Fact, facts_of_lines, facts_of_text, unread
from pipeline.places import Place
from pipeline.runs import read_run

SCHEMA = (
    "kind string, at double, simulated boolean, run string, runbook string, service string, site string, "
    "device string, name string, state string, seconds double, amount double, file string"
)
PARQUET = ".parquet"
_PIECES = 256
_DAYS_30 = 30 * 86_400.0
_WEEK = 7 * 86_400.0
# A trend through fewer points is a line through noise.
_FEWEST = 3
# What a forecast is judged by: so many runs before the one that it is about.
_REMEMBERED = 50


def read_facts(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The facts in ``files`` (paths or URIs that every worker can read), read by the workers, each file by one."""
    names = spark.sparkContext.parallelize(files, min(len(files), _PIECES))
    return spark.createDataFrame(names.flatMap(_read), SCHEMA)


def _read(name: str) -> list[Fact]:
    place = Place.of(name)
    try:
        if name.endswith(PARQUET):
            return facts_of_lines(name, read_run(place))
        return facts_of_text(name, place.read().decode("utf-8"))
    except DefinitionError as error:
        return [unread(name, str(error).removeprefix(f"{name}: "))]
    except UnicodeDecodeError:
        return [unread(name, "it is no text")]


def each_once(facts: DataFrame) -> DataFrame:
    """The facts without those that another file tells too. A run that went on after it was exported may be in two
    files: the one with more records counts."""
    of_runs = facts.where("run IS NOT NULL")
    fullest = F.max_by("file", F.struct("amount", "file")).alias("file")
    files = of_runs.where("kind = 'run'").groupBy("run").agg(fullest)
    checks = facts.where("kind = 'check'").dropDuplicates([name for name in Fact._fields if name != "file"])
    once = of_runs.join(F.broadcast(files), ["run", "file"], "left_semi")
    return once.unionByName(checks).unionByName(facts.where("kind = 'unread'"))


def _percentiles(column: str) -> list[Column]:
    return [F.percentile(column, F.lit(share)).alias(name) for name, share in _SHARES]


_SHARES = (("p05", 0.05), ("p50", 0.5), ("p95", 0.95))


def _trend(column: str) -> Column:
    """Change in 30 days, of a straight line through all; null through too few, or through a few days."""
    slope = F.regr_slope(F.col(column), F.col("at") / _DAYS_30)
    is_long = (F.count(column) >= _FEWEST) & (F.max("at") - F.min("at") >= _WEEK)
    return F.when(is_long, slope).alias("trend")


def _done_steps(facts: DataFrame) -> DataFrame:
    return facts.where((F.col("kind") == "step") & (F.col("state") == "done") & F.col("seconds").isNotNull())


def phases(facts: DataFrame) -> DataFrame:
    """How long each finished step took, by runbook; ``n`` steps, seconds, and how they change in 30 days."""
    done = _done_steps(facts)
    columns = [F.count("seconds").alias("n"), *_percentiles("seconds"), F.max("seconds").alias("longest")]
    number = F.max("amount").alias("number")  # in the runbook
    return done.groupBy("simulated", "runbook", F.col("name").alias("step")).agg(*columns, _trend("seconds"), number)


def outages(facts: DataFrame) -> DataFrame:
    """How long services had no active site, by runbook: the recovery time that clients saw."""
    lanes = facts.where((F.col("kind") == "lane") & F.col("seconds").isNotNull())
    columns = [F.count("seconds").alias("n"), *_percentiles("seconds"), F.max("seconds").alias("longest")]
    return lanes.groupBy("simulated", "runbook").agg(*columns, _trend("seconds"))


def endings(facts: DataFrame) -> DataFrame:
    """How runs ended, by runbook."""
    runs = facts.where(F.col("kind") == "run")
    return runs.groupBy("simulated", "runbook", F.col("state").alias("outcome")).agg(F.count("*").alias("n"))


def drains(facts: DataFrame) -> DataFrame:
    """Messages a second, by service, hour (UTC) in which it began, and backlog (its power of ten)."""
    size = F.pow(F.lit(10), F.floor(F.log10("amount"))).cast("long").alias("backlog")
    hour = F.floor((F.col("at") % 86_400) / 3_600).cast("int").alias("hour")
    return (
        _rates(facts).groupBy("simulated", "service", hour, size).agg(F.count("*").alias("n"), *_percentiles("rate"))
    )


def _rates(facts: DataFrame) -> DataFrame:
    """Drains that took time; ``rate`` in messages a second."""
    drained = facts.where((F.col("kind") == "drain") & (F.col("seconds") > 0))
    return drained.withColumn("rate", F.col("amount") / F.col("seconds"))


def retries(facts: DataFrame) -> DataFrame:
    """Second attempts and doubtful ends of actions, by device (or site, where no device was told)."""
    actions = facts.where(F.col("kind") == "action")
    again = F.sum(F.col("amount") - 1).cast("long").alias("again")
    doubtful = F.count(F.when(F.col("state") == "doubtful", 1)).alias("doubtful")
    refused = F.count(F.when(F.col("state") == "rejected", 1)).alias("refused")
    columns = [F.count("*").alias("n"), again, doubtful, refused]
    return actions.groupBy("simulated", "site", "device", F.col("name").alias("action")).agg(*columns)


def failures(facts: DataFrame) -> DataFrame:
    """Readings that failed, by site, reading and kind of error."""
    failed = facts.where(F.col("kind") == "failure")
    what = (F.col("name").alias("reading"), F.col("state").alias("error"))
    return failed.groupBy("simulated", "site", *what).agg(F.sum("amount").cast("long").alias("n"))


def drift(facts: DataFrame) -> DataFrame:
    """Readiness over time: each check's first and last state, how often it changed, and when last."""
    subject = ["simulated", "site", "service", "check"]
    along = Window.partitionBy(*subject).orderBy("at")
    before = F.lag("state").over(along)
    checks = facts.where(F.col("kind") == "check").withColumnRenamed("name", "check")
    moved = checks.withColumn("changed", (before != F.col("state")).cast("int"))
    return moved.groupBy(*subject).agg(
        F.count("*").alias("n"),
        F.min_by("state", "at").alias("first"),
        F.max_by("state", "at").alias("last"),
        F.coalesce(F.sum("changed"), F.lit(0)).alias("changes"),
        F.max(F.when(F.col("changed") == 1, F.col("at"))).alias("changed_at"),
    )


def prediction_errors(facts: DataFrame) -> DataFrame:
    """How wrong a forecast from earlier runs alone would have been, by runbook and step.

    ``off``: the middle of |took - foretold| in seconds; ``within``: the share that fell into the range foretold.
    """
    done = _done_steps(facts)
    earlier = (
        Window.partitionBy("simulated", "runbook", "name", "service")
        .orderBy("at", "run")
        .rowsBetween(-_REMEMBERED, -1)
    )
    told = done.withColumn("seen", F.collect_list("seconds").over(earlier)).where(F.size("seen") >= _FEWEST)
    ordered = F.array_sort("seen")
    foretold = told.select(
        "simulated",
        "runbook",
        "name",
        "seconds",
        *[_at_share(ordered, share).alias(name) for name, share in _SHARES],
    )
    off = F.abs(F.col("seconds") - F.col("p50"))
    is_within = F.col("seconds").between(F.col("p05"), F.col("p95"))
    return foretold.groupBy("simulated", "runbook", F.col("name").alias("step")).agg(
        F.count("*").alias("n"),
        F.percentile(off, F.lit(0.5)).alias("off"),
        F.avg(is_within.cast("double")).alias("within"),
    )


def _at_share(ordered: Column, share: float) -> Column:
    """The percentile of a sorted list, between its two nearest values, as ``percentile`` takes it."""
    place = (F.size(ordered) - 1) * F.lit(share)
    low = F.floor(place).cast("int")
    left = F.element_at(ordered, low + 1)
    right = F.element_at(ordered, F.least(low + 2, F.size(ordered)))
    return left + (right - left) * (place - low)


def step_forecasts(facts: DataFrame) -> DataFrame:
    """Seconds of each step, by service and (``service`` null) over all of them."""
    done = _done_steps(facts)
    sets = done.groupBy("simulated", "runbook", "name", "service").agg(
        F.count("*").alias("n"), *_percentiles("seconds")
    )
    everyone = done.groupBy("simulated", "runbook", "name").agg(F.count("*").alias("n"), *_percentiles("seconds"))
    return sets.unionByName(everyone.withColumn("service", F.lit(None).cast("string")))


def drain_forecasts(facts: DataFrame) -> DataFrame:
    """Messages a second, by service and (``service`` null) over all of them."""
    rates = _rates(facts)
    columns = [F.count("*").alias("n"), *_percentiles("rate")]
    everyone = rates.groupBy("simulated").agg(*columns).withColumn("service", F.lit(None).cast("string"))
    return rates.groupBy("simulated", "service").agg(*columns).unionByName(everyone)
