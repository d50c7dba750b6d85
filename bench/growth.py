"""Time and memory of a whole run as the number of services grows. Each size runs in a separate process."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from bench._pairs import bench_pair, lead
from orchestrator.clock import VirtualClock

SIZES = (10, 100, 1_000)


def main() -> None:
    """Print seconds and peak memory, seconds per service, and the added memory per service beyond the smallest run."""
    print("a whole run on injected time, by number of services")
    print(f"{'services':>9} {'seconds':>8} {'MiB':>7} {'ms each':>8} {'KiB each':>9}")
    base: tuple[float, float] | None = None
    for services in SIZES:
        output = subprocess.run(
            [sys.executable, "-m", "bench.growth", str(services)], check=True, capture_output=True, text=True
        ).stdout
        seconds, mebibytes = (float(part) for part in output.split())
        each = f"{seconds / services * 1000:>8.2f}"
        memory = "" if base is None else f"{(mebibytes - base[1]) * 1024 / (services - SIZES[0]):>9.1f}"
        print(f"{services:>9,} {seconds:>8.2f} {mebibytes:>7.1f} {each} {memory:>9}")
        base = base or (seconds, mebibytes)


def measure(services: int) -> tuple[float, float]:
    """Seconds, and peak resident memory in MiB, of one run in this process."""
    clock = VirtualClock()
    with bench_pair(clock, services) as bench:
        start = time.perf_counter()
        lead(bench, threads=False)
        taken = time.perf_counter() - start
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*measure(int(sys.argv[1])))
    else:
        main()
