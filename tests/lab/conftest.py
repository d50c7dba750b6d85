"""Labs and their clients, ended when the test is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.lab.server import Credentials, Lab, LabSettings
from tests.lab.bench import STANDBY, BenchAppliance, Client, Clients, Labs


@pytest.fixture
def lab_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lab's directory, with a path short enough for sockets."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture
def start_lab(lab_directory: Path) -> Iterator[Labs]:
    labs: list[Lab] = []

    def start(
        ny: BenchAppliance | None = None,
        nj: BenchAppliance | None = None,
        credentials: Credentials | None = None,
        **settings: Any,
    ) -> Lab:
        nodes = {
            ("ny", "ny1"): ny or BenchAppliance(),
            ("nj", "nj1"): nj or BenchAppliance(router_name="NJ_Appliance1", rows={"Trading_VPN": STANDBY}),
        }
        labs.append(
            Lab.start(nodes, directory=lab_directory, credentials=credentials, settings=LabSettings(**settings))
        )
        return labs[-1]

    yield start
    for lab in labs:
        lab.stop()


@pytest.fixture
def connect() -> Iterator[Clients]:
    clients: list[Client] = []

    def make(lab: Lab, site: str = "ny", node: str = "ny1") -> Client:
        clients.append(Client(lab, site, node))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
