"""What the filling of a queue means for publishers, and what to do about it."""

from __future__ import annotations

from adapters.solace.offers.outlook import Outlook, outlook
from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.family.fill_estimate import Filling


def seen(
    messages: int | None = 1_000,
    *,
    percent: float | None = 10.0,
    rate: float | None = 5.0,
    full_in_s: float | None = 10_000.0,
    rejects: bool | None = True,
    bound: bool | None = False,
    suspends_at: float | None = None,
) -> Outlook:
    """The outlook of a queue that slowly fills, but for what a test says."""
    usage = None if percent is None else percent * 10
    queue = QueueDepth(messages=messages, usage_mb=usage, quota_mb=1_000.0, rejects_on_discard=rejects)
    figures = Filling(percent, rate, None if rate is None else rate / 10, full_in_s)
    return outlook("V", queue, ReplicationStatus(queue_bound=bound), figures, suspends_at=suspends_at)


def test_a_slow_queue_needs_nothing() -> None:
    """Law: as long as there is room for hours, nothing is advised."""
    told = seen()
    assert (told.state, told.advice) == ("filling", "")
    expected = "1,000 messages, 100.0 MB, 10.0% full, +5/s, full in about 3 h, no bridge is bound to the queue"
    assert told.sentence == expected


def test_no_time_is_told_that_nobody_can_know() -> None:
    """Law: a few messages that came in a few minutes do not tell of a day months from now."""
    assert "full in about 30 d" in seen(full_in_s=30 * 86_400.0).sentence
    assert "full in" not in seen(full_in_s=94_726 * 86_400.0).sentence


def test_in_time() -> None:
    """Law: an hour before it is full, and from the high mark on, suspending is advised with the command for it."""
    for told in (seen(full_in_s=3_000.0), seen(percent=85.0)):
        assert "suspend replication before the queue is full" in told.advice
        assert "failover watch V --suspend-at 80%" in told.advice


def test_nobody_is_told_what_is_going_to_be_done() -> None:
    """Law: with --suspend-at nothing is advised that will happen by itself."""
    assert seen(full_in_s=30.0, suspends_at=90.0).advice == ""


def test_who_relies_on_it_is_told_that_it_cannot_be_done() -> None:
    """Law: where the device does not tell what --suspend-at goes by, nobody is left to believe that it will act."""
    for told in (seen(percent=None, full_in_s=None, suspends_at=90.0), seen(rejects=None, suspends_at=90.0)):
        assert "--suspend-at cannot act: the device does not report" in told.advice
    assert seen(percent=None, full_in_s=None, rejects=False, suspends_at=90.0).advice == ""


def test_whether_publishers_are_refused_may_be_unknown() -> None:
    """Law: what is not told is neither claimed, nor is a command advised that could not do it."""
    full, soon = seen(full_in_s=0.0, percent=100.0, rejects=None), seen(percent=85.0, rejects=None)
    for told in (full, soon):
        assert "the device does not report whether publishers are refused" in told.advice
        assert "failover watch" not in told.advice


def test_full() -> None:
    """Law: a full queue means refused publishers, or, suspended, messages that are kept at one site only."""
    refused, kept = seen(full_in_s=0.0, percent=100.0), seen(full_in_s=0.0, percent=100.0, rejects=False)
    assert (refused.state, kept.state) == ("full", "full")
    assert "publishers are being refused" in refused.advice
    assert "kept at this site only" in kept.advice
    assert "FULL" in refused.sentence


def test_the_mate_is_back() -> None:
    """Law: once the mate takes messages again, lifting the suspension is what is left to do."""
    told = seen(rate=-50.0, full_in_s=None, rejects=False, bound=True)
    assert told.state == "draining"
    assert "empty in about 20 s" in told.sentence
    assert "failover restore" in told.advice


def test_states() -> None:
    """Law: unknown is said, and neither taken for empty nor for standing still."""
    assert seen(messages=None, percent=None, rate=None, full_in_s=None).state == "unknown"
    assert "unknown number of messages" in seen(messages=None, percent=None, rate=None, full_in_s=None).sentence
    assert seen(messages=0, rate=0.0, full_in_s=None).state == "empty"
    assert seen(rate=0.0, full_in_s=None).state == "standing"
    empty = seen(messages=0, percent=None, rate=-50.0, full_in_s=None).sentence
    assert empty == "0 messages, usage unknown, no bridge is bound to the queue", (
        "what became empty does not fall any more"
    )
    assert "unknown" in seen(bound=None).sentence
