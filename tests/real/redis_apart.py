"""A Redis pair in network namespaces: each site and the operator in one, with a cable between each two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.distant import Distant, three_spaces
from tests.real.places import wait_for
from tests.real.redis import PASSWORD, Pair, Server

PORT = 6379
INVENTORY = """\
sites:
  ny:
    adapter: redis
    devices: [{{name: ny, address: {ny}, port: {port}}}]
    login: {{username: default, password: {{env: REDIS_PASSWORD}}}}
    options: {{mate_address: {nj_from_ny}, mate_port: "{port}"}}
  nj:
    adapter: redis
    devices: [{{name: nj, address: {nj}, port: {port}}}]
    login: {{username: default, password: {{env: REDIS_PASSWORD}}}}
    options: {{mate_address: {ny_from_nj}, mate_port: "{port}"}}
pairs:
  - {{name: cache, sites: [ny, nj], services: [cache]}}
"""


@dataclass
class Apart(Distant, Pair):
    """The pair."""


@contextmanager
def a_pair_apart(folder: Path) -> Iterator[Apart]:
    """ny is the master, and nj replicates it. Skips the test where there can be no namespaces."""
    with three_spaces() as (spaces, stack):
        pair = Apart(folder, variables={"REDIS_PASSWORD": PASSWORD}, spaces=spaces)
        for name in ("ny", "nj"):
            (folder / name).mkdir()
            pair.servers[name] = Server(name, PORT, folder / name, spaces=spaces)
            stack.callback(pair.servers[name].stop)
        (folder / "state").mkdir(mode=0o700)
        addresses = {name: spaces.address(name, "op") for name in ("ny", "nj")}
        between = {"ny_from_nj": spaces.address("ny", "nj"), "nj_from_ny": spaces.address("nj", "ny")}
        (folder / "inventory.yaml").write_text(INVENTORY.format(**addresses, **between, port=PORT))
        ny, nj = pair.servers.values()
        ny.start()
        nj.start(PORT, spaces.address("ny", "nj"))
        wait_for(lambda: nj.told("master_link_status") == "up")
        yield pair
