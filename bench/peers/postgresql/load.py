"""A client that writes numbered rows to the server of a pair that accepts them. It records the time of each row."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count, pairwise

import psycopg

from bench.peers.account import wait_for

PAUSE_S = 0.005
_NUMBERS = count(1)  # no number is written twice, by any load


class Load:
    """A client that writes every 5 ms. It knows both ports, and tries the other port as soon as a write fails."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.accepted: dict[int, float] = {}
        self._ports = ports
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        self.more()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join(30)

    def more(self, rows: int = 40) -> None:
        """Wait until ``rows`` more rows were accepted."""
        wanted = len(self.accepted) + rows
        wait_for(lambda: len(self.accepted) >= wanted, "rows are accepted again")

    def _work(self) -> None:
        while not self._end.is_set():
            for port in self._ports:
                with suppress(psycopg.Error):
                    self._write_at(port)
            time.sleep(PAUSE_S)

    def _write_at(self, port: int) -> None:
        where = f"host=127.0.0.1 port={port} user=app dbname=shop connect_timeout=2"
        with psycopg.connect(where, autocommit=True) as session:
            while not self._end.is_set():
                number = next(_NUMBERS)
                session.execute("insert into written (number) values (%s)", (number,))
                self.accepted[number] = time.perf_counter()
                time.sleep(PAUSE_S)

    def outage_ms(self) -> float:
        """The longest time between two accepted rows."""
        moments = sorted(self.accepted.values())
        return max(later - earlier for earlier, later in pairwise(moments)) * 1000
