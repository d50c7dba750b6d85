"""Management that lags behind: what it shows is true, of some seconds ago, and never older than what it showed before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adapters.solace.reading_models import QueueDepth
from orchestrator.clock import VirtualClock
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from proof.simulation.lagging import Lagging
from proof.simulation.story import Lag

SITE, SERVICE = "ny", "A"
GONE = Failure(kind="Unreachable", text="no operator answers")


class Device:
    """Says what it is told to say."""

    def __init__(self) -> None:
        self.messages: int | None = 0

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        answer = GONE if self.messages is None else QueueDepth(messages=self.messages)
        return dict.fromkeys(services, answer)


class Shown:
    """A lagging site, and the time that passes at it."""

    def __init__(self, seconds: float) -> None:
        self.clock, self.device = VirtualClock(), Device()
        self.effects: Counter[str] = Counter()
        self.lagging = Lagging([Lag(site=SITE, seconds=seconds)], self.clock, self.effects)

    def messages(self, site: str = SITE) -> int | Failure | None:
        answers = self.device.probe("replication_queue", [SERVICE])
        answer = self.lagging.shown(site, "replication_queue", answers)[SERVICE]
        return answer.messages if isinstance(answer, QueueDepth) else GONE


def test_it_shows_the_oldest_state_of_the_last_seconds() -> None:
    """Within the lag what was seen before is shown, after it what is."""
    one = Shown(2.0)
    found = []
    for number in range(6):
        one.device.messages = number
        found.append(one.messages())
        one.clock.advance(1.0)
    assert found == [0, 0, 0, 1, 2, 3]
    assert one.effects == {"outdated reading: replication_queue": 5}


def test_a_lag_in_which_nothing_changes_has_no_effect() -> None:
    """Law: only a value that is not true any more is counted."""
    one = Shown(2.0)
    assert [one.messages(), one.messages()] == [0, 0]
    one.clock.advance(1.0)
    assert one.messages() == 0
    assert not one.effects


def test_what_was_true_before_a_change_stays_to_be_seen() -> None:
    """Also where nobody had looked for long: a change does not show before the lag is over."""
    one = Shown(2.0)
    assert one.messages() == 0
    one.clock.advance(60.0)
    one.device.messages = 7
    one.lagging.before_change(SITE, one.device)  # type: ignore[arg-type]  # all that is asked of it
    one.device.messages = 8
    one.clock.advance(1.9)
    assert one.messages() == 7
    one.clock.advance(0.2)
    assert one.messages() == 8


def test_silence_is_true_at_once_and_other_sites_do_not_lag() -> None:
    """A cache answers for nobody who is gone."""
    one = Shown(2.0)
    assert one.messages() == 0
    one.device.messages = None
    assert one.messages() is GONE
    one.device.messages = 3
    assert (one.messages("nj"), one.messages()) == (3, 0)
