"""The same steps with DBOS: a workflow of trivial steps. ``with_dbos.py URL STEPS`` prints the milliseconds of a step."""

from __future__ import annotations

import sys
import time

from dbos import DBOS

done = 0


def count() -> int:
    """One step."""
    global done
    done += 1
    return done


def main(url: str, steps: int) -> None:
    """Run the workflow. The record has each step's result."""
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False})
    step = DBOS.step()(count)

    def counting(total: int) -> float:
        start = time.perf_counter()
        for number in range(total):
            assert step() == number + 1, number
        return time.perf_counter() - start

    workflow = DBOS.workflow()(counting)
    DBOS.launch()
    handle = DBOS.start_workflow(workflow, steps)
    taken = handle.get_result()
    recorded = len(DBOS.list_workflow_steps(handle.get_workflow_id()))
    DBOS.destroy()
    print(taken / steps * 1000, recorded)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
