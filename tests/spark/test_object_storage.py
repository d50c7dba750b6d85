"""Exports and results in a bucket, as a server that speaks S3 has them. Spark itself needs hadoop-aws for that, which is
not among the packages that the tests may install: what is tested is what every command reads and writes by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from orchestrator.errors import DefinitionError, OutputLost
from pipeline.generator import Shape, TwoSites, write_small
from pipeline.places import Place
from pipeline.sides import Side, check_pair
from tests.spark.apart import free_port, serving
from tests.spark.processes import PATIENCE_S, ROOT

pytestmark = pytest.mark.realtime

SHAPE = Shape(messages=600, endpoints=3, missing=2)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty bucket; the environment names its server, as an operator's does."""
    port = free_port()
    server = [sys.executable, "-c", f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"]
    told = {
        "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "one",
        "AWS_SECRET_ACCESS_KEY": "two",
        "AWS_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as said, serving(server, port, {}, said), pytest.MonkeyPatch.context() as environment:
        for name, value in told.items():
            environment.setenv(name, value)
        to_begin = fs.S3FileSystem(endpoint_override=f"http://127.0.0.1:{port}", allow_bucket_creation=True)
        to_begin.create_dir("exports")
        yield "exports"


def system() -> fs.FileSystem:
    """The server, as the environment names it."""
    return fs.FileSystem.from_uri("s3://exports")[0]


@pytest.fixture(scope="module")
def sides(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two exports, here; and there as s3://exports/ny and s3://exports/nj."""
    here = write_small(TwoSites(SHAPE), tmp_path_factory.mktemp("exports"))
    for place in here:
        fs.copy_files(str(place), f"{bucket}/{place.name}", destination_filesystem=system())
    return here


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_an_export_in_a_bucket_is_what_it_is_here(sides: tuple[Path, Path], scheme: str) -> None:
    """Law: manifest, footers and digests are read and checked there as they are on a disk, by either name of S3."""
    there = [Side.open(f"{scheme}://exports/{site}") for site in ("ny", "nj")]
    check_pair(*there)
    for near, far in zip(map(Side.open, map(str, sides)), there, strict=True):
        assert (far.manifest, far.fingerprint, far.footers) == (near.manifest, near.fingerprint, near.footers)
        assert far.is_digested and not far.place.is_local
        assert far.place.for_spark.startswith("s3a://exports/")


def test_damage_in_a_bucket_is_named(bucket: str, sides: tuple[Path, Path]) -> None:
    """Law: a file that is another one there is named by its URI, and so is an export that is not there."""
    s3 = system()
    fs.copy_files(str(sides[0]), f"{bucket}/damaged", destination_filesystem=s3)
    [file, *_] = Side.open(str(sides[0])).manifest.files
    data = bytearray((sides[0] / file.path).read_bytes())
    data[len(data) // 3] ^= 1
    with s3.open_output_stream(f"{bucket}/damaged/{file.path}") as stream:
        stream.write(bytes(data))
    with pytest.raises(DefinitionError, match="its SHA-256 differs from the SHA-256 in the manifest") as caught:
        Side.open("s3://exports/damaged")
    assert str(caught.value.file) == f"s3://exports/damaged/{file.path}"
    with pytest.raises(DefinitionError, match="this export does not exist"):
        Side.open("s3://exports/nowhere")


def test_a_document_in_a_bucket(bucket: str) -> None:
    """Law: a report is written there whole and read back; a bucket that is not there is told in one sentence."""
    place = Place.of(f"s3://{bucket}/found/report.json")
    place.write(b"{}")
    place.write(b'{"again": true}')
    assert place.read() == b'{"again": true}' and place.exists()
    assert [one.name for one in Place.of(f"s3://{bucket}/found").files()] == ["s3://exports/found/report.json"]
    with pytest.raises(OutputLost, match="could not be written") as caught:
        Place.of("s3://no-such-bucket/report.json").write(b"{}")
    assert "\n" not in str(caught.value)
    assert "write permission of this account" in caught.value.hint


def test_a_library_that_is_missing_is_named_before_the_work(sides: tuple[Path, Path], java: None) -> None:
    """Law: where Spark lacks the library to write to the place of --out, the command ends before any comparison."""
    compare = [sys.executable, "-m", "orchestrator.cli", "pipeline", "reconcile", *map(str, sides)]
    command = [*compare, "--engine", "spark", "--out", "s3a://exports/evidence"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=ROOT)
    assert ended.returncode not in (0, 4, 70)
    assert "Spark cannot read this kind of URI" in ended.stderr and "hadoop-aws" in ended.stderr
    assert "comparing the fingerprints" not in ended.stderr


def test_a_server_that_is_away(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a server that does not answer is told with the place that was asked for, and is no bug."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(DefinitionError, match="cannot be reached") as caught:
        Side.open(f"s3://{bucket}/ny")
    assert str(caught.value.file).startswith("s3://exports/ny") and "\n" not in str(caught.value)
