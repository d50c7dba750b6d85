"""Measures this program and others at the same work, and prints a table for each kind of work.

``make bench-peers`` runs it. The peers are installed below ``.venv-peers``; ``make clean`` deletes them.
"""

from __future__ import annotations

import argparse
import os
import platform
import pwd
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from bench.peers import contest
from bench.peers.account import folder_on_disk
from bench.peers.contest import Contest, Unavailable


@contextmanager
def over_ssh() -> Iterator[Contest]:
    """The same steps over SSH."""
    from bench.peers.ssh.contest import contest as made
    from bench.peers.ssh.servers import two_servers

    with two_servers() as servers:
        yield made(servers, pwd.getpwuid(os.geteuid()).pw_name)


@contextmanager
def durable_steps() -> Iterator[Contest]:
    """Trivial steps, each on disk."""
    from bench.peers.steps.contest import contest as made

    with folder_on_disk("steps") as folder:
        yield made(folder)


@contextmanager
def postgresql() -> Iterator[Contest]:
    """The planned switch of a pair."""
    from bench.peers.postgresql.contest import contest as made

    yield made()


OPENED: Mapping[str, tuple[Callable[[], AbstractContextManager[Contest]], int]] = {
    "ssh": (over_ssh, 5),
    "steps": (durable_steps, 5),
    "postgresql": (postgresql, 6),
}
"""Each with the rounds that it usually has."""


def main(arguments: Sequence[str]) -> int:
    """Hold the contests named in ``arguments``. Returns 1 if an answer was wrong, 2 for an unknown name."""
    parser = argparse.ArgumentParser(
        prog="make bench-peers", description="This program beside others, on this machine now."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which work (default: all): {', '.join(OPENED)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each contender plays")
    given = parser.parse_args(arguments)
    if strangers := sorted(set(given.names) - set(OPENED)):
        print(f"no such work: {', '.join(strangers)}; there are: {', '.join(OPENED)}", file=sys.stderr)
        return 2
    is_right = True
    for name in [name for name in OPENED if name in given.names or not given.names]:
        is_right &= _held(name, given.rounds)
    return 0 if is_right else 1


def _held(name: str, rounds: int | None) -> bool:
    opened, usual = OPENED[name]
    start = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    try:
        with opened() as work:
            rows = contest.held(work, rounds or usual)
    except Unavailable as error:
        print(f"\n== {name}: not available: {error}", flush=True)
        return True
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"\n== {name}: {work.title}")
    print(f"{start} UTC, Python {platform.python_version()}, {os.cpu_count()} cores, load at the end {load}\n")
    print(contest.table(work, rows), flush=True)
    return contest.is_whole(rows)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
