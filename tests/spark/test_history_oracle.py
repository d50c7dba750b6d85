"""Every table of the history is what plain Python makes of the same facts, whatever these are."""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from pipeline.history.facts import Fact
from tests.spark.tables import tables_of_facts

DAY = 86_400.0
Table = dict[tuple[object, ...], tuple[object, ...]]
Key = Callable[[Fact], tuple[object, ...]]


def some_facts(seed: int) -> list[Fact]:
    """Runs, steps, drains, actions, failed readings and checks over a month, as chance has them."""
    chance = random.Random(seed)
    return [fact for number in range(60) for fact in _some_run(chance, number)] + list(_some_checks(chance))


def _some_run(chance: random.Random, number: int) -> Iterator[Fact]:
    at = 1.8e9 + chance.random() * chance.choice([3, 30]) * DAY
    base = Fact("run", at, chance.random() < 0.2, f"r{number}", chance.choice("xy"), file=f"f{number}")
    base = base._replace(place=chance.choice(["@a", "@b"]))
    yield base._replace(state=chance.choice(["done", "reverted"]), seconds=chance.random(), amount=3.0)
    for service in chance.sample("VW", chance.randrange(3)):
        own = base._replace(service=service)
        yield own._replace(kind="lane", state="done", seconds=chance.choice([None, chance.random() * 90]))
        for place, name in enumerate(("demote", "drain"), 1):
            took = chance.choice([None, chance.randrange(100) / 7])
            state = chance.choice(["done", "done", "done", "failed"])
            yield own._replace(kind="step", name=name, state=state, seconds=took, amount=float(place))
        took, queued = chance.choice([0.0, 0.5, chance.random() * 600]), float(chance.randrange(1, 30_000))
        yield own._replace(kind="drain", name="drain", seconds=took, amount=queued)
    for site in chance.sample(["ny", "nj"], chance.randrange(3)):
        at_site = base._replace(site=site)
        effect, device = chance.choice(["applied", "doubtful", "rejected"]), chance.choice([None, f"{site}1"])
        times = float(chance.randrange(1, 4))
        yield at_site._replace(kind="action", name=chance.choice("pq"), device=device, state=effect, amount=times)
        yield at_site._replace(kind="failure", name="bridge", state=chance.choice("tu"), amount=times)


def _some_checks(chance: random.Random) -> Iterator[Fact]:
    for number in range(chance.randrange(1, 9)):
        for site, service in (("ny", None), (None, "V")):
            state = chance.choice(["ok", "ok", "warning", "error"])
            yield Fact(
                "check", 1.8e9 + number * 60, False, site=site, service=service, name="c", state=state, file="k"
            )


def share(values: Sequence[float], wanted: float) -> float:
    """A percentile, between its two nearest values."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * wanted
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def span(values: Sequence[float]) -> tuple[float, float, float]:
    return share(values, 0.05), share(values, 0.5), share(values, 0.95)


def trend(facts: Sequence[Fact]) -> float | None:
    """Change in 30 days; None through fewer than three, or through less than a week."""
    moments = [one.at for one in facts]
    if len(facts) < 3 or max(moments) - min(moments) < 7 * DAY:
        return None
    return statistics.linear_regression([at / (30 * DAY) for at in moments], seconds(facts)).slope


def grouped(facts: Iterable[Fact], key: Key) -> dict[tuple[object, ...], list[Fact]]:
    found = defaultdict(list)
    for fact in facts:
        found[key(fact)].append(fact)
    return dict(found)


def of(facts: Sequence[Fact], kind: str) -> list[Fact]:
    return [one for one in facts if one.kind == kind]


def seconds(facts: Iterable[Fact]) -> list[float]:
    return [one.seconds for one in facts if one.seconds is not None]


def durations(groups: dict[tuple[object, ...], list[Fact]]) -> Table:
    return {key: (len(some), *span(seconds(some)), trend(some)) for key, some in groups.items()}


def done_steps(facts: Sequence[Fact]) -> list[Fact]:
    return [one for one in of(facts, "step") if one.state == "done" and one.seconds is not None]


def phases(facts: Sequence[Fact]) -> Table:
    return durations(grouped(done_steps(facts), lambda one: (one.simulated, one.runbook, one.name)))


def outages(facts: Sequence[Fact]) -> Table:
    lanes = [one for one in of(facts, "lane") if one.seconds is not None]
    return durations(grouped(lanes, lambda one: (one.simulated, one.runbook)))


def endings(facts: Sequence[Fact]) -> Table:
    counted = Counter((one.simulated, one.runbook, one.state) for one in of(facts, "run"))
    return {key: (number,) for key, number in counted.items()}


def rate(fact: Fact) -> float:
    assert fact.amount is not None and fact.seconds is not None
    return fact.amount / fact.seconds


def timed_drains(facts: Sequence[Fact]) -> list[Fact]:
    return [one for one in of(facts, "drain") if one.seconds]


def drains(facts: Sequence[Fact]) -> Table:
    def key(one: Fact) -> tuple[object, ...]:
        return one.simulated, one.service, int(one.at // 3600) % 24, 10 ** (len(str(int(one.amount or 0))) - 1)

    groups = grouped(timed_drains(facts), key)
    return {key: (len(some), *span([rate(one) for one in some])) for key, some in groups.items()}


def retries(facts: Sequence[Fact]) -> Table:
    groups = grouped(of(facts, "action"), lambda one: (one.simulated, one.site, one.device, one.name))
    return {
        key: (
            len(some),
            sum(int(one.amount or 0) - 1 for one in some),
            sum(one.state == "doubtful" for one in some),
            sum(one.state == "rejected" for one in some),
        )
        for key, some in groups.items()
    }


def failures(facts: Sequence[Fact]) -> Table:
    groups = grouped(of(facts, "failure"), lambda one: (one.simulated, one.site, one.name, one.state))
    return {key: (sum(int(one.amount or 0) for one in some),) for key, some in groups.items()}


def drift(facts: Sequence[Fact]) -> Table:
    found: Table = {}
    for key, some in grouped(
        of(facts, "check"), lambda one: (one.simulated, one.site, one.service, one.name)
    ).items():
        some.sort(key=lambda one: one.at)
        changed = [later.at for earlier, later in pairwise(some) if earlier.state != later.state]
        found[key] = (len(some), some[0].state, some[-1].state, len(changed), max(changed, default=None))
    return found


def prediction_errors(facts: Sequence[Fact]) -> Table:
    told = defaultdict(list)
    steps = done_steps(facts)
    for key, some in grouped(
        steps, lambda one: (one.simulated, one.runbook, one.name, one.service, one.place)
    ).items():
        took = seconds(sorted(some, key=lambda one: (one.at, one.run or "")))
        for place in range(3, len(took)):
            low, middle, high = span(took[max(0, place - 50) : place])
            told[key[:3]].append((abs(took[place] - middle), low <= took[place] <= high))
    return {
        key: (len(some), share([off for off, _ in some], 0.5), sum(hit for _, hit in some) / len(some))
        for key, some in told.items()
    }


def step_forecasts(facts: Sequence[Fact]) -> Table:
    steps = done_steps(facts)
    groups = grouped(steps, lambda one: (one.simulated, one.place, one.runbook, one.name, one.service))
    groups |= grouped(steps, lambda one: (one.simulated, one.place, one.runbook, one.name, None))
    return {key: (len(some), *span(seconds(some))) for key, some in groups.items()}


def drain_forecasts(facts: Sequence[Fact]) -> Table:
    timed = timed_drains(facts)
    groups = grouped(timed, lambda one: (one.simulated, one.place, one.service))
    groups |= grouped(timed, lambda one: (one.simulated, one.place, None))
    return {key: (len(some), *span([rate(one) for one in some])) for key, some in groups.items()}


SPAN = ("p05", "p50", "p95")
# Each table with its oracle, the columns that tell its rows apart, and those that are compared.
TABLES: dict[str, tuple[Callable[[Sequence[Fact]], Table], tuple[str, ...], tuple[str, ...]]] = {
    "phases": (phases, ("simulated", "runbook", "step"), ("n", *SPAN, "trend")),
    "outages": (outages, ("simulated", "runbook"), ("n", *SPAN, "trend")),
    "endings": (endings, ("simulated", "runbook", "outcome"), ("n",)),
    "drains": (drains, ("simulated", "service", "hour", "backlog"), ("n", *SPAN)),
    "retries": (retries, ("simulated", "site", "device", "action"), ("n", "again", "doubtful", "refused")),
    "failures": (failures, ("simulated", "site", "reading", "error"), ("n",)),
    "drift": (drift, ("simulated", "site", "service", "check"), ("n", "first", "last", "changes", "changed_at")),
    "prediction_errors": (prediction_errors, ("simulated", "runbook", "step"), ("n", "off", "within")),
    "step_forecasts": (step_forecasts, ("simulated", "place", "runbook", "name", "service"), ("n", *SPAN)),
    "drain_forecasts": (drain_forecasts, ("simulated", "place", "service"), ("n", *SPAN)),
}


@settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(seed=st.integers(0, 2**32))
def test_as_the_oracle_says(duck: Duck, seed: int) -> None:
    """Law: no figure of any table differs from the oracle's, and no row is there that it does not know."""
    check(duck, seed)


def check(engine: Executor, seed: int) -> None:
    """Every table that the engine makes of these facts is the oracle's."""
    facts = some_facts(seed)
    table = tables_of_facts(engine, facts)
    for name, (oracle, keys, columns) in TABLES.items():
        rows = table(name)
        told = {tuple(row[key] for key in keys): tuple(row[column] for column in columns) for row in rows}
        expected = oracle(facts)
        assert (len(rows), told.keys()) == (len(expected), expected.keys()), (seed, name)
        for key, values in expected.items():
            wanted = [pytest.approx(one, rel=1e-6) if isinstance(one, float) else one for one in values]
            assert list(told[key]) == wanted, (seed, name, key)
