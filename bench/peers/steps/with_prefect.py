"""The same steps with Prefect: a flow of trivial tasks with stored results. ``with_prefect.py STEPS`` prints the time.

Prefect starts its server itself, as for every flow without a configured server.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from prefect import flow, task

done = 0


def count(number: int) -> int:
    """One step. Each step has another argument, because Prefect would reuse the stored result of equal arguments."""
    global done
    done += 1
    return number + 1


def main(steps: int) -> None:
    """Run the flow. The server has the end of each task, and a file has each result."""
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
