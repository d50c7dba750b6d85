"""A RabbitMQ pair in network namespaces: each site and the operator in one, with a cable between each two.

Each has a name service of Erlang's (epmd), and each site a host name, by which the operator's ``rabbitmqctl`` finds it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.distant import Distant, three_spaces
from tests.real.places import wait_for
from tests.real.rabbitmq import INVENTORY, PASSWORD, SITE, Node, Pair, make_programs, start

EPMD, PORT, API, DISTRIBUTION = 4369, 5672, 15672, 25672


@dataclass
class Apart(Distant, Pair):
    """The pair."""


@contextmanager
def a_pair_apart(folder: Path) -> Iterator[Apart]:
    """ny takes messages, and nj fetches them. Skips the test where there can be no namespaces, or is no RabbitMQ."""
    with three_spaces() as (spaces, stack):
        pair = Apart(folder, variables={"RABBIT_PASSWORD": PASSWORD}, spaces=spaces)
        addresses = {name: spaces.address(name, "op") for name in ("ny", "nj")}
        hosts = (f'{{host, {{{at.replace(".", ",")}}}, ["{name}1"]}}.\n' for name, at in addresses.items())
        programs = make_programs(folder, EPMD, "".join(hosts))
        sites = ""
        for name, address in addresses.items():
            node = Node(name, folder / name, EPMD, PORT, API, DISTRIBUTION, spaces=spaces)
            pair.nodes[name] = node
            sites += SITE.format(name=name, address=address, port=API, node=node.node, programs=programs)
        inventory = INVENTORY.format(sites=sites).replace("scheme: http", "scheme: http, insecure_http: true")
        (folder / "inventory.yaml").write_text(inventory)
        for name in spaces.names:
            with spaces.inside(name):
                epmd = subprocess.Popen(["epmd"])
            stack.callback(epmd.wait)
            stack.callback(epmd.kill)
        ny, nj = pair.nodes.values()
        stack.callback(ny.stop)
        stack.callback(nj.stop)
        start(pair)
        ny.fetch_from(PORT, spaces.address("nj", "ny"))
        nj.fetch_from(PORT, spaces.address("ny", "nj"))
        wait_for(lambda: ny.fetches and nj.fetches)
        yield pair
