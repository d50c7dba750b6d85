"""The time without an active site for a service, against the lower bound for any procedure.

The lower bound for one service is the time its queue takes to drain, plus two round trips that cannot overlap with the
drain. These are a half for the reply that shows depth 0, a whole for the listing of prepared transactions, and a half
for the command that activates. The program needs all time above the bound: decisions, records, and one more reading of
both roles right before the activation. The simulated world measures the outage, not the engine.
"""

from __future__ import annotations

from statistics import median

from bench._pairs import bench_pair, lead
from orchestrator.clock import SystemClock

DRAIN_SECONDS = 5.0
DRAIN_RATE = 1_000.0


def main() -> None:
    """Print one line for each number of services and each latency."""
    print(f"outage window against its lower bound; {DRAIN_SECONDS:g}s of backlog for every service")
    columns = ("services", "latency ms", "bound s", "median s", "worst s", "median x", "worst x")
    print(" ".join(f"{column:>10}" for column in columns))
    for services in (1, 10, 100, 1_000):
        for latency in (0.0, 0.020, 0.100):
            _measure(services, latency)


def _measure(services: int, latency: float) -> None:
    clock = SystemClock()
    backlog = int(DRAIN_SECONDS * DRAIN_RATE)
    with bench_pair(clock, services, latency=latency, backlog=backlog, drain_rate=DRAIN_RATE) as bench:
        lead(bench, threads=True)
        tallies = bench.world.tallies()
    # The queues drain from the start of the world. The rest when a service is demoted is its drain time.
    bounds = [DRAIN_SECONDS - tally.outages[0][0] + 2 * latency for tally in tallies.values()]
    outages = [tally.outage_seconds for tally in tallies.values()]
    ratios = [outage / bound for outage, bound in zip(outages, bounds, strict=True)]
    print(
        f"{services:>10,} {latency * 1000:>10.0f} {median(bounds):>10.3f} {median(outages):>10.3f} "
        f"{max(outages):>10.3f} {median(ratios):>10.3f} {max(ratios):>10.3f}"
    )


if __name__ == "__main__":
    main()
