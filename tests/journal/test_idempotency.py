"""A caller's own key: whatever happens, it begins one run at most, and always the same one is found by it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.errors import KeyUsed, LeaseHeld, NoSuchRun
from orchestrator.journal.database.schema import DELIVERIES
from orchestrator.journal.idempotency_keys import UsedKey, run_of_key
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease, claims, create_run
from orchestrator.model import events as ev
from tests.core.builders import a_plan
from tests.hooks.hooking import a_hook, plan_with


def begin(
    journal: Journal, clock: VirtualClock, run: str, *, key: str | None, service: str = "Trading"
) -> tuple[Lease, Writer]:
    created = ev.RunCreated(plan=a_plan(services=(service,)), by="ann", version="0")
    return create_run(journal, clock, run, created, key=key)


def test_a_key_begins_one_run(journal: Journal, clock: VirtualClock) -> None:
    """Law: the second call with a key begins nothing, and says which run the first one began."""
    begin(journal, clock, "one", key="k")
    with pytest.raises(KeyUsed, match="'k' already started run one") as used:
        begin(journal, clock, "two", key="k", service="Orders")
    assert used.value.run == "one"
    assert [row.run for row in journal.runs()] == ["one"]
    assert set(claims(journal).values()) == {"one"}


def test_the_key_is_asked_before_the_claims(journal: Journal, clock: VirtualClock) -> None:
    """Law: a repeated call is told of its own run, not that its service is taken by it."""
    begin(journal, clock, "one", key="k")
    with pytest.raises(KeyUsed):
        begin(journal, clock, "two", key="k")
    with pytest.raises(LeaseHeld):
        begin(journal, clock, "two", key="other")


def test_a_run_that_did_not_begin_uses_up_no_key(journal: Journal, clock: VirtualClock) -> None:
    """Law: a key and its run are recorded together, or not at all."""
    begin(journal, clock, "one", key=None)
    with pytest.raises(LeaseHeld):
        begin(journal, clock, "two", key="k")
    assert run_of_key(journal, "k") is None
    begin(journal, clock, "three", key="k", service="Orders")
    assert run_of_key(journal, "k") == UsedKey("three", None)


class _Dying(Journal):
    """A journal whose process dies while it writes the first record of a run."""

    def create(self, *given: Any, **named: Any) -> Writer:
        super().create(*given, **named)
        raise RuntimeError("killed")


def test_killed_while_a_run_begins(opened: Callable[..., Journal], journal: Journal, clock: VirtualClock) -> None:
    """Promise 4: killed in the middle of it, there is no run, no claim, no key, and nothing that is owed to a hook."""
    dying = opened(_Dying)
    created = ev.RunCreated(plan=plan_with(a_hook()), by="ann", version="0")
    with pytest.raises(RuntimeError):
        create_run(dying, clock, "one", created, key="k")
    assert run_of_key(journal, "k") is None and claims(journal) == {}
    with pytest.raises(NoSuchRun):
        journal.row("one")
    with journal.reader.connect() as connection:
        assert connection.execute(sa.select(DELIVERIES)).all() == []


def test_without_a_key_nothing_is_compared(journal: Journal, clock: VirtualClock) -> None:
    """Law: who gives no key begins a run each time."""
    begin(journal, clock, "one", key=None)
    begin(journal, clock, "two", key=None, service="Orders")
    assert len(journal.runs()) == 2


@pytest.mark.realtime
def test_many_at_the_same_moment(opened: Callable[..., Journal], clock: VirtualClock) -> None:
    """Law: of many processes that ask at once with one key, one begins a run and all others learn its name."""
    begun: list[str] = []
    told: list[str] = []
    start = threading.Barrier(6)

    journals = [opened() for _ in range(6)]

    def ask(number: int) -> None:
        journal = journals[number]
        start.wait(30)
        try:
            begin(journal, clock, f"run-{number}", key="k", service=f"S{number}")
            begun.append(f"run-{number}")
        except KeyUsed as used:
            told.append(used.run)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(begun) == 1
    assert told == begun * 5
