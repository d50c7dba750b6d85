"""Every command on a real cluster: a standalone master and two workers on loopback, one killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import IO, Any

import pyarrow.parquet as pq
import pyspark
import pytest

from orchestrator.clock import VirtualClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from orchestrator.reports.forecast import NAME as FORECAST
from pipeline.amps.instance import Instance, Topic
from pipeline.amps.journals import JournalsOutcome, compare_journals
from pipeline.amps.keys import Definition
from pipeline.amps.sow import SowOutcome, SowSide, compare_sows
from pipeline.engines.duck import Duck
from pipeline.generator import Shape, TwoSites, write_small
from pipeline.history.history import HistoryOutcome
from pipeline.java import find_java
from pipeline.report import Report
from tests.cli.shell import VPN
from tests.spark import processes
from tests.spark.dumps import Logged, journal_text
from tests.spark.fabric import some_pair
from tests.spark.looking import NIGHT, WATCH_RULES, File, brief, night
from tests.spark.past import Night, inline, typed
from tests.spark.processes import BRIEF_JVM, PATIENCE_S, ROOT
from tests.spark.tables import tables_of

pytestmark = pytest.mark.realtime

SHAPE = Shape(messages=3_000, endpoints=4, missing=12, extra=9, duplicate=7, changed=5, displaced=3)
SPARK_HOME = Path(pyspark.__file__).parent


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Cluster:
    """A master and its workers, as processes of this machine. ``url`` is what --master takes."""

    folder: Path
    url: str = ""
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self) -> None:
        """Master and two workers; returns when both workers are registered."""
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        master = self._spawn("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        _until(master, "I have been elected leader")
        for worker in [self._worker(number) for number in (1, 2)]:
            _until(worker, "Successfully registered")

    def kill_a_worker(self) -> None:
        """The second worker and its executor, at once and without a word."""
        os.killpg(self.processes[-1].pid, signal.SIGKILL)

    def stop(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def _worker(self, number: int) -> subprocess.Popen[str]:
        place = self.folder / f"worker-{number}"
        place.mkdir()
        limits = ("--cores", "1", "--memory", "700m", "--webui-port", "0")
        return self._spawn("worker.Worker", "--host", "127.0.0.1", *limits, "--work-dir", str(place), self.url)

    def _spawn(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        program = SPARK_HOME / "bin" / "spark-class"
        process = subprocess.Popen(
            ["bash", str(program), f"org.apache.spark.deploy.{name}", *arguments],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process


def environment() -> Mapping[str, str]:
    """What the processes of the cluster need to know, workers' Python too."""
    return {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": BRIEF_JVM,
    }


def _until(process: subprocess.Popen[str], words: str) -> None:
    """Read what it says up to these words, then go on reading, so that it never waits for us."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            break
    else:
        raise AssertionError(f"it ended and never said {words!r}")
    threading.Thread(target=process.stdout.read, daemon=True).start()


@pytest.fixture
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A whole one, part of which a test kills."""
    if which("bash") is None:
        pytest.skip("Spark's own start script needs bash")
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two exports with known differences."""
    left, right = write_small(TwoSites(SHAPE), tmp_path_factory.mktemp("exports"))
    return str(left), str(right)


# Small executors, and pieces of work small enough for one to die between two of them.
SETTINGS = (
    "spark.executor.memory=500m",
    "spark.executor.cores=1",
    "spark.sql.files.maxPartitionBytes=100000",
    "spark.sql.shuffle.partitions=2",
    "spark.sql.codegen.wholeStage=false",  # to compile each small query would take longer than to run it
    "spark.driver.host=127.0.0.1",
    "spark.driver.bindAddress=127.0.0.1",
    "spark.ui.enabled=false",
    f"spark.driver.extraJavaOptions={BRIEF_JVM}",
    f"spark.executor.extraJavaOptions={BRIEF_JVM}",
)
CONF = [word for setting in SETTINGS for word in ("--conf", setting)]
TRUTH = {name: getattr(SHAPE, name) for name in ("missing", "extra", "duplicate", "changed", "displaced")}


def begun(command: list[str], folder: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """A process whose Spark is the cluster's; its stderr is progress."""
    return processes.begun(
        command, {**environment(), "FAILOVER_STATE": str(folder / "state"), "PYTHONPATH": str(ROOT)}
    )


# What users submit, once for each command: one application for all of them.
EXAMPLE = ROOT / "pipeline" / "submit.py"
SUBMITTED = """
import json, runpy, sys
example, commands = sys.argv[1:]
codes = []
for arguments in json.loads(commands):
    sys.argv = [example, *arguments]
    try:
        runpy.run_path(example, run_name="__main__")
    except SystemExit as ended:
        codes.append(ended.code)
print(json.dumps(codes))
"""


def submitted(cluster: Cluster, folder: Path, *commands: Sequence[str]) -> list[str]:
    """Commands of the pipeline, by spark-submit."""
    script = folder / "several.py"
    script.write_text(SUBMITTED, encoding="utf-8")
    submit = ["bash", str(SPARK_HOME / "bin" / "spark-submit"), "--master", cluster.url, *CONF]
    return [*submit, str(script), str(EXAMPLE), json.dumps(commands)]


def ours(cluster: Cluster, *arguments: str) -> list[str]:
    """A command of the pipeline, by --master."""
    command = [sys.executable, "-m", "orchestrator.cli", "pipeline", *arguments]
    return [*command, "--master", cluster.url, *CONF, "--memory", "600m"]


def sums(folder: Path) -> dict[str, int]:
    """What was found, over all endpoints."""
    report = Report.model_validate(json.loads((folder / "report.json").read_text("utf-8")))
    ends = report.endpoints
    found = {"missing": sum(one.missing.messages for one in ends), "extra": sum(one.extra.messages for one in ends)}
    order = {
        "duplicate": sum(one.duplicates_right for one in ends),
        "displaced": sum(one.order_breaks for one in ends),
    }
    return {**found, **order, "changed": sum(one.changed for one in ends)}


TOPICS = ("t0", "t1")


@dataclass(frozen=True)
class Found:
    """What a command found: its documents without the moments at which they were made, and its tables as sorted rows."""

    documents: dict[str, Any]
    tables: dict[str, list[str]]

    @classmethod
    def at(cls, folder: Path) -> Found:
        """As it was written."""
        documents = {file.name: json.loads(file.read_bytes()) for file in folder.glob("*.json")}
        tables = {path.name: pq.read_table(path).to_pylist() for path in folder.iterdir() if path.is_dir()}
        return cls.of(documents, tables)

    @classmethod
    def of(cls, documents: Mapping[str, dict[str, Any]], tables: Mapping[str, list[dict[str, Any]]]) -> Found:
        timeless = {
            name: {key: value for key, value in told.items() if key not in ("created_at", "made_at", "engine")}
            for name, told in documents.items()
        }
        return cls(timeless, {name: sorted(map(str, rows)) for name, rows in tables.items()})


def dumped(folder: Path) -> tuple[str, str]:
    """Dumps of two instances that differ in many ways, one of them with a journal that was cut off."""
    sites = zip(some_pair(77, TOPICS), ("ny", "nj"), strict=True)
    left, right = (site.write(folder / name, TOPICS) for site, name in sites)
    (folder / "nj" / "journal" / "torn.txt").write_bytes(journal_text([Logged(1, "1", 1, b"{}")])[:-60])
    return left, right


def locally(engine: Duck, left: str, right: str, folder: Path) -> dict[str, Found]:
    """The same questions about dumps, answered by the other engine on this machine."""
    clock, found = VirtualClock(), {}
    keys = {Topic(topic, "json"): Definition(("/id",)) for topic in TOPICS}
    here, there = (SowSide(Instance.of_directory(name), keys) for name in (left, right))
    logs = Instance.of_journals(left), Instance.of_journals(right)
    asked: dict[str, Callable[[], JournalsOutcome | SowOutcome]] = {
        "journals": lambda: compare_journals(engine, *logs, 1.0, clock),
        "sow": lambda: compare_sows(engine, here, there, 1.0, clock),
    }
    for name, ask in asked.items():
        one = ask()
        found[name] = Found.of({"report.json": one.report.model_dump(mode="json")}, tables_of(one, folder))
        one.close()
    return found


@dataclass(frozen=True)
class Followed:
    """A night of readings at a place that all have, its first half there before its second. Alerts and checkpoint are
    at such a place, too."""

    place: Path
    files: Sequence[File] = field(default_factory=night)

    def asked(self, part: slice) -> list[str]:
        """Bring a part of the night, and ask for what is there."""
        self.place.mkdir(exist_ok=True)
        for file in self.files[part]:
            file.write(self.place / "readings")
        readings, followed, alerts = ((self.place / name).as_uri() for name in ("readings", "followed", "alerts"))
        return [
            "watch",
            readings,
            "--checkpoint",
            followed,
            "--out",
            alerts,
            *WATCH_RULES,
            "--available-now",
            "--json",
        ]

    def alerts(self) -> list[dict[str, Any]]:
        """All that were written."""
        files = sorted((self.place / "alerts").iterdir())
        return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def lose_a_worker(cluster: Cluster, told: IO[str] | None) -> None:
    """While it reconciles, which it tells there."""
    assert told is not None
    said = []
    for line in told:
        said.append(line)
        if "in detail" in line:
            return cluster.kill_a_worker()
    raise AssertionError(f"it ended and never looked closer: {''.join(said)[-2000:]}")


def test_two_applications(
    cluster: Cluster,
    exports: tuple[str, str],
    duck: Duck,
    night_of_runs: Night,
    outcome: HistoryOutcome,
    tmp_path: Path,
) -> None:
    """Law: by spark-submit, with the session that is given, journals, sow and history, whose workers read dumps and
    records in Python, say and write on a cluster what they do on one machine, to the last row; and what history learns
    there, a dry run tells. Reconcile finds every known number with one of two workers killed while tasks are under way.
    The workers fold readings that are at a place that all have, called by a URI: begun by spark-submit and gone on with
    by --master, watch makes the known alerts, each once."""
    followed = Followed(tmp_path / "shared by all")
    left, right = dumped(tmp_path)
    keys = [word for topic in TOPICS for word in ("--keys", f"{topic}.json=/id")]
    asked = {
        "journals": (left, right),
        "sow": (left, right, *keys),
        "history": (str(night_of_runs.records), "--learn"),
        "reconcile": exports,
    }
    commands = [[name, *given, "--out", str(tmp_path / "found" / name)] for name, given in asked.items()]
    (tmp_path / "found").mkdir()
    submit = submitted(cluster, tmp_path, followed.asked(slice(50)), *commands)
    with begun(submit, tmp_path) as process, ThreadPoolExecutor(1) as reader:
        assert process.stdout is not None and process.stderr is not None
        noise = reader.submit(process.stderr.read)
        lose_a_worker(cluster, process.stdout)  # Spark hands on there whatever Python says
        out, err = process.stdout.read(), noise.result()
    assert out.splitlines()[-1:] == ["[4, 4, 4, 0, 4]"], err[-2000:]
    assert 0 < len(followed.alerts()) < len(NIGHT)
    assert sums(tmp_path / "found" / "reconcile") == TRUTH
    for name, known in locally(duck, left, right, tmp_path).items():
        assert Found.at(tmp_path / "found" / name) == known, name
        assert len(known.tables["differences"]) > 10 and known.tables["quarantine"]
    check_past(tmp_path, outcome, night_of_runs)
    with begun(ours(cluster, *followed.asked(slice(50, None))), tmp_path) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4, err[-2000:]
    assert json.loads(out.splitlines()[-1])["result"]["lines"] == len(followed.files) * 3
    assert brief(followed.alerts()) == NIGHT


@pytest.mark.long
def test_a_worker_dies_in_the_middle(cluster: Cluster, exports: tuple[str, str], tmp_path: Path) -> None:
    """Law: by --master, too, reconcile finds every known number with one of two workers killed."""
    with begun(ours(cluster, "reconcile", *exports, "--out", str(tmp_path / "found")), tmp_path) as process:
        lose_a_worker(cluster, process.stderr)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 4, err[-2000:]
    assert sums(tmp_path / "found") == TRUTH


def check_past(folder: Path, outcome: HistoryOutcome, night: Night) -> None:
    """The history that was written is that of this machine, and a dry run of the same pair shows what was learnt."""
    told = {"report.json": outcome.report, "forecast.json": outcome.forecast}
    documents = {name: one.model_dump(mode="json") for name, one in told.items()}
    past = Found.of(documents, tables_of(outcome, folder))
    assert Found.at(folder / "found" / "history") == past
    assert len(past.tables["facts"]) > 50
    assert (folder / "found" / "history" / "history.html").exists()
    learnt = folder / "state" / FORECAST
    assert learnt.read_bytes() == (folder / "found" / "history" / FORECAST).read_bytes()
    (night.folder / FORECAST).write_bytes(learnt.read_bytes())
    tools = Tools(night.folder, VirtualClock(), SecretStore(None), Registry(), inline)
    asked_for = (
        "controlled",
        "--vpn",
        VPN,
        "--xa",
        str(ROOT / "examples" / "demo-decisions.yaml"),
        "--dry-run",
        "--json",
    )
    ahead = json.loads(typed(tools, *asked_for).splitlines()[-1])["result"]
    notes = {step["id"]: step["notes"] for step in ahead["lanes"][0]["steps"]}
    assert any(note.endswith(" s in 6 earlier runs") for note in notes["demote"])
    assert any("earlier waits (at " in note for note in notes["drain"])
