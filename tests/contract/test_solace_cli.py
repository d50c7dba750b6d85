"""The CLI adapter keeps the laws, against the lab's appliances over real SSH."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.benches import CliBench
from tests.contract.laws import Bench, Laws

pytestmark = pytest.mark.realtime


class TestSolaceCli(Laws):
    """``solace-cli``."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with CliBench(tmp_path) as bench:
            yield bench
