"""A client of the lab's SEMP."""

from __future__ import annotations

import pytest

from simulator.solace.layout import TransactionLayout, VpnLayout
from tests.semp.client import XID, Client
from tests.semp.stage import Semp


@pytest.fixture
def client() -> Client:
    vpns = [VpnLayout(f"v{number:03}", publish_rate=0) for number in range(120)]
    own = VpnLayout(
        "V", backlog=60, publish_rate=0, drain_rate=0, transactions=(TransactionLayout(XID, consumed=(1, 2)),)
    )
    return Client(Semp(own, *vpns, VpnLayout("plain", replicated=False)))
