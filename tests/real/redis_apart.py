"""A Redis pair in network namespaces: each site and the operator in one, with a cable between each two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.network.spaces import Spaces
from tests.real.distant import Distant, three_spaces
from tests.real.postgresql import wait_for
from tests.real.redis import PASSWORD, Load, Server, Session

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
class FarServer(Server):
    """A server in the namespace of its name."""

    spaces: Spaces = field(kw_only=True)
    listens_at: str = "0.0.0.0"

    def start(self, master: int | None = None, at: str = "127.0.0.1") -> None:
        """See ``Server``."""
        with self.spaces.inside(self.name):
            super().start(master, at)

    def session(self) -> Session:
        """See ``Server``: of a client at its own site."""
        with self.spaces.inside(self.name):
            return super().session()


@dataclass
class Apart(Distant):
    """The pair."""

    servers: dict[str, FarServer] = field(default_factory=dict)


class LoadAtSites(Load):
    """A client at each site, which writes to the server there and knows no other: no cut keeps it away."""

    def __init__(self, pair: Apart) -> None:
        self._servers = list(pair.servers.values())
        super().__init__(pair, workers=len(self._servers))  # type: ignore[arg-type]  # of the pair, only its servers

    def __enter__(self) -> LoadAtSites:
        super().__enter__()
        return self

    def _work(self) -> None:
        server = self._servers.pop()
        while not self._end.is_set():
            with suppress(OSError), server.session() as session:
                self._write_at(server, session)
            self._end.wait(0.01)

    def at(self, name: str) -> list[float]:
        """When a site accepted something."""
        return sorted(moment for moment, site in list(self.accepted.values()) if site == name)


@contextmanager
def a_pair_apart(folder: Path) -> Iterator[Apart]:
    """ny is the master, and nj replicates it. Skips the test where there can be no namespaces."""
    with three_spaces() as (spaces, stack):
        pair = Apart(folder, variables={"REDIS_PASSWORD": PASSWORD}, spaces=spaces)
        for name in ("ny", "nj"):
            (folder / name).mkdir()
            pair.servers[name] = FarServer(name, PORT, folder / name, spaces=spaces)
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
