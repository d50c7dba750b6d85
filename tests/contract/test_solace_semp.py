"""The SEMP adapter keeps the laws, against the lab's brokers over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.benches import SempBench
from tests.contract.laws import Bench, Laws

pytestmark = pytest.mark.realtime


class TestSolaceSemp(Laws):
    """``solace-semp``."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with SempBench(tmp_path) as bench:
            yield bench
