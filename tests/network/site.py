"""One site of the simulated world as a program: its lab on loopback, and a relay from the network to it.

``python -m tests.network.site WORLD SITE FOLDER ADDRESS DELAY``. It prints how to reach its node as a line of JSON, and
ends with its standard input. The relay passes on what comes after ``DELAY`` seconds, in each direction: it stands for
``tc netem``, which many kernels do not have. The lab itself never listens on another address than loopback.
"""

from __future__ import annotations

import json
import queue
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from orchestrator.clock import SystemClock
from simulator.lab.of_world import serve_world
from simulator.lab.server import LabSettings
from simulator.solace.world import World


def main(world_file: str, site: str, folder: str, address: str, delay: str) -> None:
    """Serve until standard input ends."""
    world = World.load(Path(world_file), SystemClock())
    with serve_world(world, directory=Path(folder), settings=LabSettings(semp="http")) as lab:
        [node] = [name for where, name in lab.nodes if where == site]
        ssh, semp = lab.address(site, node), lab.semp_address(site, node)
        told = {
            "node": node,
            "ssh": relay(address, ssh, float(delay)),
            "semp": relay(address, semp, float(delay)),
            "host_key": lab.host_key(site, node),
            "username": lab.credentials.username,
            "password": str(lab.inventory_path.with_name("password")),
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


def relay(address: str, to: tuple[str, int], delay_s: float) -> int:
    """Listen at ``address``; returns the port."""
    listener = socket.create_server((address, 0))

    def accept() -> None:
        while True:
            incoming, _ = listener.accept()
            with suppress(OSError):
                outgoing = socket.create_connection(to)
                for source, sink in ((incoming, outgoing), (outgoing, incoming)):
                    _start(_carry, source, sink, delay_s)

    _start(accept)
    return int(listener.getsockname()[1])


def _carry(source: socket.socket, sink: socket.socket, delay_s: float) -> None:
    """Each piece leaves ``delay_s`` after it came; the end of the stream too."""
    pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        with suppress(OSError):
            while True:
                due, piece = pieces.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not piece:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(piece)

    _start(deliver)
    piece = b"-"
    while piece:
        try:
            piece = source.recv(65_536)
        except OSError:
            piece = b""
        pieces.put((time.monotonic() + delay_s, piece))


def _start(what: object, *arguments: object) -> None:
    threading.Thread(target=what, args=arguments, daemon=True).start()  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*sys.argv[1:])
