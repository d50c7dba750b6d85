"""Kills collections, really: a process of its own dies at its nth step, another goes on, for every n there is.

``python -m tests.snapshot.killed endpoints|dumps FOLDER`` leaves ``FOLDER/N`` for each, and prints N and the step.
The steps are what Python itself tells of (sys.addaudithook): files that are opened, renamed, removed or locked,
directories that are made; and each message or piece that is read. The process forks before PyArrow has any thread.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orchestrator.clock import VirtualClock
from orchestrator.errors import FailoverError
from pipeline.amps.collect import collect_dumps, dumps_of
from pipeline.amps.instance import Instance
from pipeline.collect import collect
from pipeline.commits import NAME as RECORD
from pipeline.rows import Cursor, EndpointKey, Message
from tests.snapshot import test_collect, test_dumps

READ = "tests.read"
STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "fcntl.flock", READ}
KILLED = 137
SIZES = (23, 0, 9)
DUMPED = (12, 0, 9), 5
# Where a process that goes on is killed, too.
AGAIN = 9


class Device(test_collect.Device):
    """One that tells of each message that is read."""

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        for message in super().messages(key, after):
            sys.audit(READ)
            yield message


def of_endpoints(folder: Path) -> None:
    """A collection from a device, into ``folder``."""
    collect(Device(SIZES), folder, test_collect.JOB, VirtualClock(test_collect.NOON), bounds=test_collect.TINY)


def of_dumps(folder: Path) -> None:
    """A collection from the dumps beside ``folder``."""
    dumps = dumps_of({"orders": Instance.of_dumps(str(folder.parent / "dumps"))}, test_dumps.NOON)
    clock = VirtualClock(test_dumps.NOON)
    collect_dumps(dumps, folder, test_dumps.JOB, clock, observe=lambda _: sys.audit(READ), bounds=test_dumps.TINY)


def dies_at(nth: int, folder: Path) -> None:
    """From now on count steps, and die right before this one, as by SIGKILL: nothing is flushed or cleaned up."""
    left = nth

    def step(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in STEPS or (event in {"open", "os.rename"} and not str(arguments[0]).startswith(str(folder))):
            return
        left -= 1
        if left == 0:
            os.write(1, f"{folder.name} {event}\n".encode())
            os._exit(KILLED)

    sys.addaudithook(step)


def ended(work: Callable[[Path], None], folder: Path, nth: int | None) -> bool:
    """Let a process do ``work``, and die at its nth step. Did it come to its end?"""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if nth is not None:
                dies_at(nth, folder)
            work(folder)
            code = 0
        except (FailoverError, OSError) as error:
            os.write(2, f"{folder}: {error!r}\n".encode())
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, KILLED):
        raise SystemExit(code)
    return code == 0


def main(what: str, base: Path) -> None:
    """Kill it at each of its steps, and once more; then let it end."""
    work = {"endpoints": of_endpoints, "dumps": of_dumps}[what]
    nth = 1
    while not ended(work, base / str(nth), nth):
        ended(work, base / str(nth), AGAIN)
        if (base / str(nth) / RECORD).exists():
            ended(work, base / str(nth), None)
        nth += 1


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
