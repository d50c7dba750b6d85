"""What Spark writes into a result is as private as what the command itself writes there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.spark.oracle import Case, Endpoint, write
from tests.spark.processes import PATIENCE_S, begun, open_to_others
from tests.spark.test_reconcile import message

pytestmark = [pytest.mark.realtime, pytest.mark.xdist_group("spark")]

_COMMAND = "import os, sys; os.umask(0); from orchestrator.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.usefixtures("java")
def test_a_result_is_private(tmp_path: Path) -> None:
    """Law: report and tables are 0600, their directories 0700, whatever the umask; with --json stderr has nothing."""
    left, right = write([Case(Endpoint((message(1), message(2))), Endpoint((message(1),)))], tmp_path)
    asked = [
        "pipeline",
        "reconcile",
        left,
        right,
        "--out",
        str(tmp_path / "found"),
        "--json",
        "--memory",
        "600m",
        "--engine",
        "spark",
    ]
    with begun([sys.executable, "-c", _COMMAND, *asked], {"FAILOVER_STATE": str(tmp_path / "state")}) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (err, process.returncode, json.loads(out)["result"]["exit_code"]) == ("", 4, 4)
    assert list((tmp_path / "found" / "differences").glob("*.parquet"))
    assert open_to_others(tmp_path / "found") == []
