"""The simulated sites' in-process adapter keeps the laws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.benches import MockBench
from tests.contract.laws import Bench, Laws


class TestMock(Laws):
    """``mock``."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with MockBench(tmp_path) as bench:
            yield bench
