"""Waves: a canary alone, then so many at a time, and none any more once too many failed."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.core.lane import Lane
from orchestrator.core.rollout import called_off, to_begin
from orchestrator.model.plan import Outcome, Waves

NOBODY: frozenset[str] = frozenset()


def lanes(**ended: str) -> dict[str, Lane]:
    """Five lanes; those named have the given status."""
    made = {name: Lane(name) for name in "abcde"}
    for name, status in ended.items():
        outcome = Outcome(status) if status in set(Outcome) else None
        made[name] = replace(made[name], status=status, outcome=outcome)
    return made


def test_the_canary_goes_alone() -> None:
    """Nothing else begins before the canary has ended."""
    waves = Waves(size=2, canary="c")
    assert list(to_begin(waves, lanes(), forgiven=NOBODY)) == ["c"]
    assert list(to_begin(waves, lanes(c="running"), forgiven=NOBODY)) == []
    assert list(to_begin(waves, lanes(c="done"), forgiven=NOBODY)) == ["a", "b"]


def test_a_failed_canary_is_enough() -> None:
    """However many may fail: a canary that failed keeps all others from beginning."""
    waves = Waves(size=2, canary="c", max_failed=5)
    assert called_off(waves, lanes(c="refused"), forgiven=NOBODY)
    assert list(to_begin(waves, lanes(c="refused"), forgiven=NOBODY)) == []


def test_a_wave_waits_for_the_whole_one_before_it() -> None:
    """The next wave begins when every lane of the present one has ended, in the order of the plan."""
    waves = Waves(size=2)
    assert list(to_begin(waves, lanes(), forgiven=NOBODY)) == ["a", "b"]
    assert list(to_begin(waves, lanes(a="done", b="committed"), forgiven=NOBODY)) == []
    assert list(to_begin(waves, lanes(a="done", b="done"), forgiven=NOBODY)) == ["c", "d"]


def test_failures_stop_the_next_wave() -> None:
    """With ``max_failed`` reached nothing begins; one below it, the next wave does."""
    assert list(to_begin(Waves(size=2, max_failed=2), lanes(a="reverted", b="done"), forgiven=NOBODY)) == ["c", "d"]
    assert list(to_begin(Waves(size=2, max_failed=1), lanes(a="reverted", b="done"), forgiven=NOBODY)) == []


def test_what_a_person_has_seen_is_forgiven() -> None:
    """After a resume, lanes that had failed before do not count: the remainder is done."""
    some = lanes(a="reverted", b="done")
    assert list(to_begin(Waves(size=2), some, forgiven=frozenset({"a", "b"}))) == ["c", "d"]
