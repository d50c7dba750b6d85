"""The same with Prefect: a flow of trivial tasks with kept results. ``with_prefect.py STEPS`` prints what a step took.

Its server is started by Prefect itself, as for anybody who runs a flow without one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from prefect import flow, task

done = 0


def count(number: int) -> int:
    """One step. A task of the same arguments would not be run again: its kept result would be taken."""
    global done
    done += 1
    return number + 1


def main(steps: int) -> None:
    """Run the flow; the server has each task's end, and a file has each result."""
    step = task(count, persist_result=True)

    def counting(total: int) -> float:
        start = time.perf_counter()
        for number in range(total):
            assert step(number) == number + 1, number
        return time.perf_counter() - start

    taken = flow(counting)(steps)
    assert done == steps, done
    kept = sum(1 for one in (Path.home() / ".prefect/storage").iterdir() if one.is_file())
    print(taken / steps * 1000, kept)


if __name__ == "__main__":
    main(int(sys.argv[1]))
