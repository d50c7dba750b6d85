"""Laws of the messages: what is kept, what is lost, what comes twice, according to the independent account."""

from __future__ import annotations

import pytest

from tests.world.stage import Stages


def test_a_drain_with_the_bridge_bound_loses_nothing(stage: Stages) -> None:
    """Demote, wait for depth 0, promote: no message lost, none twice, one outage, never two active sites."""
    here = stage(publish_rate=500, drain_rate=800, backlog=3_000, unconsumed=3_000, consume_rate=100)
    here.wait(1)
    here.role("ny", "standby")
    while here.depth():
        here.wait(0.1)
    here.wait(2)  # what was consumed last is told to the standby within a second
    here.role("nj", "active")
    here.wait(600)
    tally = here.tally()
    assert (tally.lost, tally.duplicated, tally.out_of_order) == (0, 0, 0)
    assert tally.received > 3_000
    assert tally.both_active == ()
    assert len(tally.outages) == 1


def test_acknowledged_is_received_or_waiting_at_every_moment(stage: Stages) -> None:
    """Conservation: while the bridge is bound every acknowledged message was received or can still be."""
    here = stage(publish_rate=300, drain_rate=700, consume_rate=250, backlog=1_000, unconsumed=400)
    for _ in range(20):
        here.wait(0.37)
        tally = here.tally()
        assert tally.acknowledged == tally.received + tally.waiting
    here.role("ny", "standby")
    for _ in range(20):
        here.wait(0.37)
        tally = here.tally()
        assert tally.acknowledged == tally.received + tally.waiting


def test_promoting_before_the_drain_with_the_bridge_down_loses_exactly_the_queue(stage: Stages) -> None:
    """Asynchronous messages that never crossed are lost, no more and no less, and the old site still holds them."""
    here = stage(
        publish_rate=0, drain_rate=100, consume_rate=0, backlog=1_000, unconsumed=5_000, world={"link_latency": 0.0}
    )
    here.role("ny", "standby")
    here.wait(3)
    here.fault("at 0s: bridge down")
    here.wait(1)
    left = here.depth()
    here.role("nj", "active")
    here.wait(60)
    assert left == 700
    tally = here.tally()
    assert (tally.lost, tally.stranded, tally.waiting) == (700, 700, 4_300)


def test_messages_delivered_over_the_bridge_but_unacknowledged_are_not_lost(stage: Stages) -> None:
    """The queue counts until the acknowledgement is back; the mate has those messages already."""
    here = stage(publish_rate=0, drain_rate=1_000, consume_rate=0, backlog=1_000, unconsumed=1_000)
    here.role("ny", "standby")
    here.wait(0.5)
    here.fault("at 0s: bridge down")
    here.wait(1)
    here.role("nj", "active")
    assert here.depth() == 500
    assert here.tally().lost == 500 - 5  # 5 ms of link at 1,000 a second


def test_stranded_messages_come_back_late_when_their_site_becomes_active_again(stage: Stages) -> None:
    """A fail-back delivers what an early promotion stranded, out of order; then nothing is lost any more."""
    here = stage(publish_rate=50, drain_rate=100, consume_rate=500, backlog=400, unconsumed=400)
    here.fault("at 0s: bridge down")
    here.role("ny", "standby")
    here.role("nj", "active")
    here.wait(30)
    assert here.tally().lost == 400
    here.role("nj", "standby")
    here.wait(5)
    here.role("ny", "active")
    here.wait(30)
    tally = here.tally()
    assert tally.lost == 0
    assert tally.out_of_order == 400


def test_synchronous_messages_survive_the_sudden_death_of_the_active(stage: Stages) -> None:
    """While eligible a synchronous message is acknowledged only when both sites hold it."""
    here = stage(publish_rate=900, drain_rate=1_000, consume_rate=0, sync_every=1)
    here.wait(10.0123)
    assert here.row("ny").sync_eligible is True
    here.fault("at 0s: node ny/NY_Appliance1 down")
    here.wait(0.5)
    here.role("nj", "active")
    here.wait(30)
    tally = here.tally()
    assert tally.lost == 0
    assert tally.acknowledged > 9_000


def test_asynchronous_messages_in_the_queue_do_not_survive_it(stage: Stages) -> None:
    """The same death without synchronous replication loses what had not crossed."""
    here = stage(publish_rate=900, drain_rate=1_000, consume_rate=0, backlog=2_000, unconsumed=2_000)
    here.wait(1)
    depth = here.depth()
    here.fault("at 0s: node ny/NY_Appliance1 down")
    here.wait(0.5)
    here.role("nj", "active")
    here.wait(30)
    assert depth - 10 <= here.tally().lost <= depth


def test_synchronous_falls_back_to_asynchronous_when_the_mate_is_away(stage: Stages) -> None:
    """Ineligible: acknowledged at once and queued; publishing goes on, and eligibility returns after the backlog."""
    here = stage(publish_rate=100, drain_rate=500, sync_every=1)
    here.wait(5)
    here.fault("at 0s: bridge down 20s")
    here.wait(10)
    assert here.row("ny").sync_eligible is False
    assert here.depth() == pytest.approx(1_000, abs=20)
    before = here.tally().acknowledged
    here.wait(5)
    assert here.tally().acknowledged - before == pytest.approx(500, abs=2)
    here.wait(20)
    assert here.row("ny").sync_eligible is True
    assert here.depth() == 0


def test_reject_when_ineligible_stops_publishing_instead(stage: Stages) -> None:
    """With reject-msg-when-sync-ineligible nothing is accepted that only one site would hold."""
    here = stage(publish_rate=100, drain_rate=500, sync_every=1, reject_when_ineligible=True)
    here.wait(5)
    here.fault("at 0s: bridge down 20s")
    here.wait(1)
    before = here.tally().acknowledged
    here.wait(10)
    assert here.tally().acknowledged == before
    here.wait(30)
    assert here.tally().acknowledged > before


def test_a_backlog_beyond_the_limit_makes_the_active_ineligible(stage: Stages) -> None:
    """A mate that cannot keep up degrades synchronous replication at the moment the limit is passed."""
    here = stage(publish_rate=300, drain_rate=200, sync_every=2)
    here.wait(9)
    assert here.row("ny").sync_eligible is True
    here.wait(2)
    assert here.row("ny").sync_eligible is False


def test_a_full_queue_rejects_and_loses_nothing(stage: Stages) -> None:
    """reject-msg-to-sender-on-discard: publishers are held back to what the bridge carries."""
    here = stage(publish_rate=2_000, drain_rate=100, quota_mb=1, message_bytes=1_024, backlog=1_000, unconsumed=0)
    here.wait(10)
    assert here.depth() == 1_024
    before = here.tally().acknowledged
    here.wait(10)
    assert here.tally().acknowledged - before == pytest.approx(1_000, abs=2)
    assert here.node("ny").replication_queue("V").usage_mb == pytest.approx(1.0)
    here.role("ny", "standby")
    here.wait(20)
    here.role("nj", "active")
    here.wait(5)
    assert here.tally().lost == 0


def test_a_full_queue_without_reject_makes_the_sites_differ(stage: Stages) -> None:
    """Suspended replication: messages beyond the quota exist at one site only, and a fail-over loses them."""
    here = stage(
        publish_rate=2_000, drain_rate=100, quota_mb=1, message_bytes=1_024, backlog=1_000, unconsumed=1_000,
        consume_rate=0, reject_on_discard=False,
    )  # fmt: skip
    here.wait(10)
    here.role("ny", "standby")
    here.wait(20)
    assert here.depth() == 0
    here.role("nj", "active")
    tally = here.tally()
    assert tally.lost == tally.stranded == pytest.approx(10 * 2_000 - 10 * 100 - 24, abs=3)


def test_synchronous_messages_beyond_the_quota_are_kept_locally_and_acknowledged(stage: Stages) -> None:
    """Without reject, a full queue holds up nobody: only what is queued waits for the mate."""
    here = stage(
        publish_rate=1_000, drain_rate=100, quota_mb=1, message_bytes=2_097, sync_every=1, reject_on_discard=False
    )
    here.wait(3)
    assert here.depth() == 500
    with here.world.request():
        vpn = here.world.vpn("V")
        assert vpn.sides["ny"].discarded == pytest.approx(3_000 - 300 - 500, abs=2)
        assert vpn.stream.unacked.count == 500
    assert here.tally().acknowledged == pytest.approx(2_500, abs=2)


def test_a_fail_over_right_after_consumption_gives_duplicates_and_no_loss(stage: Stages) -> None:
    """Consumption is told each 20 messages or after a second; what was not told is delivered again."""
    here = stage(publish_rate=1_000, drain_rate=5_000, consume_rate=1_000)
    here.wait(10.0137)
    here.role("ny", "standby")
    here.wait(0.05)
    assert here.depth() == 0
    here.role("nj", "active")
    here.wait(10)
    tally = here.tally()
    assert tally.lost == 0
    assert 0 < tally.duplicated < 20


def test_a_second_of_quiet_leaves_no_duplicates(stage: Stages) -> None:
    """The same fail-over, a second later, delivers everything once."""
    here = stage(publish_rate=1_000, drain_rate=5_000, consume_rate=1_000)
    here.wait(10.0137)
    here.role("ny", "standby")
    here.wait(1.1)
    here.role("nj", "active")
    here.wait(10)
    assert (here.tally().lost, here.tally().duplicated) == (0, 0)


def test_unacknowledged_messages_are_sent_again_and_not_counted_as_lost(stage: Stages) -> None:
    """A synchronous publisher that was cut off resends what it has no word of; those copies come twice."""
    here = stage(publish_rate=1_000, drain_rate=1_000, sync_every=1, consume_rate=5_000, backlog=90, unconsumed=90)
    here.wait(5)
    assert here.depth() == 90
    assert here.tally().acknowledged == 5_000
    here.role("ny", "standby")
    here.wait(5)
    assert here.tally().acknowledged == 5_000
    here.role("nj", "active")
    here.wait(10)
    tally = here.tally()
    assert tally.lost == 0
    assert tally.duplicated == 90
    assert tally.out_of_order == 0


def test_fallen_back_messages_are_acknowledged_and_no_longer_safe(stage: Stages) -> None:
    """What waited for the mate when eligibility went is acknowledged at once; then it can be lost as any other."""
    here = stage(publish_rate=1_000, drain_rate=1_000, sync_every=1, consume_rate=0, backlog=90, unconsumed=90)
    here.wait(5)
    here.fault("at 0s: bridge down")
    assert here.tally().acknowledged == 5_090
    here.role("ny", "standby")
    here.role("nj", "active")
    assert here.tally().lost == 90 - 5  # five had arrived


def test_a_stall_makes_no_copies(stage: Stages) -> None:
    """What the mate has spooled already is not spooled again when the bridge moves on."""
    here = stage(publish_rate=0, consume_rate=0, drain_rate=1_000, backlog=2_000, unconsumed=2_000)
    here.role("ny", "standby")
    here.wait(0.5)
    here.fault("at 0s: stall 3s", "at 1s: bridge down 1s", "at 4s: slow 50x 2s")
    for _ in range(100):
        here.wait(0.1)
        here.depth()
    assert here.depth() == 0
    assert here.world.tally("V").waiting == 2_000
    with here.world.request():
        assert here.world.vpn("V").sides["nj"].spool.count == 2_000


def test_what_could_not_be_told_is_delivered_again(stage: Stages) -> None:
    """Consumed while the bridge was down: the standby still holds it, and delivers it after the fail-over."""
    here = stage(publish_rate=0, drain_rate=1_000, consume_rate=100, unconsumed=1_000)
    here.fault("at 0s: bridge down")
    here.wait(5)
    here.role("ny", "standby")
    here.role("nj", "active")
    here.wait(30)
    tally = here.tally()
    assert (tally.lost, tally.duplicated, tally.received) == (0, 500, 1_000)


def test_reading_more_often_changes_nothing(stage: Stages) -> None:
    """The world's course does not depend on who looks at it when."""

    def play(looks: int) -> tuple[int, ...]:
        here = stage(publish_rate=777, drain_rate=333, consume_rate=500, backlog=2_000, unconsumed=900, sync_every=3)
        for act in (None, ("ny", "standby"), ("nj", "active")):
            if act:
                here.role(*act)
            for _ in range(looks):
                here.wait(8 / looks)
                here.depth()
        tally = here.tally()
        return tally.acknowledged, tally.received, tally.lost, here.depth("ny"), here.depth("nj")

    few, many = play(1), play(200)
    assert few == pytest.approx(many, abs=5)
