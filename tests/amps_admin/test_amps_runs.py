"""The runbooks of AMPS, led by the real engine between two scripted instances, unattended."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.model.events import Outcome
from orchestrator.reports.next_steps import advice
from orchestrator.reports.report import RunReport
from simulator.http.server import Outgoing
from tests.amps_admin.leading import SERVICE
from tests.amps_admin.pair import AmpsPair

CLOSE_NY, OPEN_NY = "ny transports/1/disable", "ny transports/1/enable"
CLOSE_NJ, OPEN_NJ = "nj transports/1/disable", "nj transports/1/enable"
DOWN_NJ, UP_NJ = "nj replication/r1/downgrade", "nj replication/r1/upgrade"
PROXY_NJ, UNPROXY_NJ = (
    "nj queues/JOBS%21json/enable_proxied_transfer",
    "nj queues/JOBS%21json/disable_proxied_transfer",
)


def ended(report: RunReport) -> tuple[Outcome | None, str]:
    """How the only lane ended, and why."""
    lane = next(one for one in report.lanes if one.service == SERVICE)
    return lane.outcome, lane.reason


def consumers_move(pair: AmpsPair) -> None:
    """The queue messages of ny go to consumers at nj."""
    pair.ny.one("queues")["owned"] = "0"


@pytest.fixture
def pair(tmp_path: Path) -> AmpsPair:
    """Sync links; nj lets clients in already, as AMPS is usually run."""
    pair = AmpsPair(tmp_path)
    pair.at(120, consumers_move)
    return pair


# --- planned ----------------------------------------------------------------------------------------------------


def test_a_planned_move(pair: AmpsPair) -> None:
    """Clients off, everything over, then nj's publishers no longer wait: two changes, each sent once."""
    report = pair.lead("amps/controlled")
    assert ended(report) == (Outcome.DONE, "")
    assert report.lanes[0].drained_messages is None, "clients and queue messages are no replication queue"
    assert pair.heard == [CLOSE_NY, DOWN_NJ]
    assert (pair.state("ny")[0], pair.state("nj")) == (False, (True, "async", "disabled"))


def test_a_planned_move_opens_a_closed_target(tmp_path: Path) -> None:
    """Not before everything is over; and before the queues, whose messages need consumers there."""
    pair = AmpsPair(tmp_path, is_open=False)
    pair.at(150, consumers_move)
    assert ended(pair.lead("amps/controlled")) == (Outcome.DONE, "")
    assert pair.heard == [CLOSE_NY, OPEN_NJ, DOWN_NJ]


def test_what_has_moved_already_is_refused(pair: AmpsPair) -> None:
    """Nothing is sent, and the report names the way back: the source was seen to let no client in."""
    assert ended(pair.lead("amps/controlled"))[0] is Outcome.DONE
    heard = list(pair.heard)
    report = pair.lead("amps/controlled")
    assert (ended(report)[0], pair.heard) == (Outcome.REFUSED, heard)
    assert report.lanes[0].lets_clients_in == {"ny": False}
    assert "`failover failback orders --site ny`" in advice(report, report.lanes[0])


@pytest.mark.parametrize("site", ["ny", "nj"])
@pytest.mark.parametrize("change", [{"replication_type": "async"}, {"is_connected": "0"}])
def test_a_downgraded_or_lost_link_refuses(pair: AmpsPair, site: str, change: dict[str, str]) -> None:
    """A mate behind such a link is no fail-over target: nothing is sent."""
    pair.link(site, **change)
    outcome, why = ended(pair.lead("amps/controlled"))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "not connected, or is async or downgraded" in why


def test_a_forbidden_account_refuses(pair: AmpsPair) -> None:
    """What the entitlement check denies is found before anything is changed."""
    path = "/amps/administrator/authorization/entitlement/transport/amps-admin/check.json?path="
    pair.nj.answers[f"{path}/amps/administrator/replication/r1/downgrade"] = lambda: _said(b"false")
    outcome, why = ended(pair.lead("amps/controlled"))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "does not have the permissions that this run needs" in why


def test_a_publisher_that_stays_turns_the_move_back(pair: AmpsPair) -> None:
    """A client that a closed transport does not shake off: unattended, ny lets clients in again."""

    def stays(one: AmpsPair) -> None:
        one.ny.now["clients"] = [{"id": "17", "client_name": "pub-1"}]

    pair.at(55, stays)
    assert ended(pair.lead("amps/controlled"))[0] is Outcome.REVERTED
    assert pair.heard == [CLOSE_NY, OPEN_NY]
    assert pair.state("ny")[0] is True


def test_a_link_lost_while_catching_up_turns_it_back(pair: AmpsPair) -> None:
    """0 seconds behind on a broken link is no proof, however long it is read."""
    pair.at(75, lambda one: one.link("ny", is_connected="0"))
    outcome, why = ended(pair.lead("amps/controlled"))
    assert (outcome, pair.heard) == (Outcome.REVERTED, [CLOSE_NY, OPEN_NY])
    assert "the link to the mate was lost" in why


def test_a_link_that_lags_is_waited_for(pair: AmpsPair) -> None:
    """The downgrade comes after the lag is gone for two whole intervals, and not before."""
    pair.at(50, lambda one: one.link("ny", seconds_behind="7"))
    pair.at(150, lambda one: one.link("ny", seconds_behind="0"))
    report = pair.lead("amps/controlled")
    assert ended(report)[0] is Outcome.DONE
    assert report.seconds >= 170


def test_queue_messages_that_stay_turn_it_back(tmp_path: Path) -> None:
    """What ny still owns cannot be delivered by anybody else once it is stopped."""
    pair = AmpsPair(tmp_path)
    assert ended(pair.lead("amps/controlled"))[0] is Outcome.REVERTED
    assert pair.heard == [CLOSE_NY, OPEN_NY]


@pytest.mark.parametrize("how", ["lose reply", "lose request", "garbage reply"])
def test_a_lost_answer_is_settled_by_reading(pair: AmpsPair, how: str) -> None:
    """Only a request that had no effect is sent again; the sample that tells was taken after it."""
    pair.ny.spoiled = how
    assert ended(pair.lead("amps/controlled"))[0] is Outcome.DONE
    assert pair.heard == ([CLOSE_NY, CLOSE_NY, DOWN_NJ] if how == "lose request" else [CLOSE_NY, DOWN_NJ])


def test_across_async_links_nobody_serves_meanwhile(tmp_path: Path) -> None:
    """nj is opened after everything is over; an open nj refuses the move."""
    pair = AmpsPair(tmp_path, sync="async", is_open=False)
    pair.at(150, consumers_move)
    assert ended(pair.lead("amps/controlled-async")) == (Outcome.DONE, "")
    assert pair.heard == [CLOSE_NY, OPEN_NJ]
    (tmp_path / "open").mkdir()
    open_pair = AmpsPair(tmp_path / "open", sync="async")
    outcome, why = ended(open_pair.lead("amps/controlled-async"))
    assert (outcome, open_pair.heard) == (Outcome.REFUSED, [])
    assert "clients must not use the target" in why


@pytest.mark.parametrize("kill_at", (3, 8, 12, 17, 21, 26, 33, 41))
def test_killed_anywhere_it_ends_the_same(tmp_path: Path, kill_at: int) -> None:
    """Whatever was shown a moment before it died, the one who goes on believes only what was sampled after."""
    pair = AmpsPair(tmp_path, is_open=False)
    pair.at(350, consumers_move)
    assert ended(pair.lead("amps/controlled", kill_at=kill_at))[0] is Outcome.DONE
    once = list(dict.fromkeys(pair.heard))
    assert once == [CLOSE_NY, OPEN_NJ, DOWN_NJ]
    assert (pair.state("ny")[0], pair.state("nj")[:2]) == (False, (True, "async"))


# --- lost -------------------------------------------------------------------------------------------------------


def test_a_loss_over_sync_links(pair: AmpsPair) -> None:
    """Somebody answers for it being dead; then nj's publishers go on. It lets clients in already."""
    pair.lose("ny")
    assert ended(pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})) == (Outcome.DONE, "")
    assert pair.heard == [DOWN_NJ]


def test_a_loss_with_a_closed_target(tmp_path: Path) -> None:
    """One that let nobody in is opened, once it no longer waits for ny."""
    pair = AmpsPair(tmp_path, is_open=False)
    pair.lose("ny")
    assert ended(pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})) == (Outcome.DONE, "")
    assert pair.heard == [DOWN_NJ, OPEN_NJ]


def test_a_loss_that_nobody_answers_for(pair: AmpsPair) -> None:
    """Cut off looks like dead: unattended, nothing is sent."""
    pair.lose("ny")
    assert (ended(pair.lead("amps/uncontrolled"))[0], pair.heard) == (Outcome.REFUSED, [])


def test_an_instance_that_answers_is_not_lost(pair: AmpsPair) -> None:
    """Nothing is done to the mate of one that still answers."""
    outcome, why = ended(pair.lead("amps/uncontrolled", policy={"unfenced": "attest"}))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "still answers" in why


def test_an_instance_that_its_mate_still_reaches_is_not_lost(pair: AmpsPair) -> None:
    """Only its management is out of reach: the link that stays connected says so."""
    pair.away.add("ny")
    assert ended(pair.lead("amps/uncontrolled", policy={"unfenced": "attest"}))[0] is Outcome.REFUSED
    assert pair.heard == []


def test_a_loss_across_an_async_link(tmp_path: Path) -> None:
    """Who answers for the fence has not yet accepted the loss: both are needed, and the loss is named as one."""
    pair = AmpsPair(tmp_path, sync="async", is_open=False)
    pair.lose("ny")
    outcome, why = ended(pair.lead("amps/uncontrolled-async", policy={"unfenced": "attest"}))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "recovery point is NOT zero" in why
    agreed = pair.lead("amps/uncontrolled-async", policy={"unfenced": "attest", "data-loss": "accept"})
    assert (ended(agreed)[0], pair.heard) == (Outcome.DONE, [OPEN_NJ])


def test_async_links_are_not_taken_for_sync_ones(tmp_path: Path) -> None:
    """A wrong word in the inventory does not skip the question whether messages may be given up."""
    pair = AmpsPair(tmp_path, sync="async", is_open=False)
    pair.lose("ny")
    outcome, why = ended(pair.lead("amps/uncontrolled", policy={"unfenced": "attest"}))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "the links of this pair are async" in why


def test_two_closed_instances_are_no_return(pair: AmpsPair) -> None:
    """Law: where no instance lets clients in, a return is refused, and the sentence says what does lead out."""
    pair.ny.one("transports")["is_enabled"] = "0"
    pair.nj.one("transports")["is_enabled"] = "0"
    report = pair.lead("amps/restore")
    assert (ended(report)[0], pair.heard) == (Outcome.REFUSED, [])
    assert "instance that served last. Only that instance may have all messages" in report.lanes[0].remedy


def test_proxied_transfer_needs_a_person(pair: AmpsPair) -> None:
    """Never by itself; and only for a lost instance. Without an operator it says that a terminal is needed."""
    assert ended(pair.lead("amps/proxied-transfer", policy={"proxied-transfer": "accept"}))[0] is Outcome.REFUSED
    pair.lose("ny")
    outcome, why = ended(pair.lead("amps/proxied-transfer"))
    assert (outcome, "start the run on a terminal" in why, pair.heard) == (Outcome.REFUSED, True, [])
    agreed = pair.lead("amps/proxied-transfer", policy={"proxied-transfer": "accept"})
    assert (ended(agreed)[0], pair.heard) == (Outcome.DONE, [PROXY_NJ])


# --- back -------------------------------------------------------------------------------------------------------


def test_the_return_of_an_instance(pair: AmpsPair) -> None:
    """Lost, delivered for by proxy, started, recovered, resynchronised; proxy off, upgrade, and clients last."""
    pair.lose("ny")
    pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})
    pair.lead("amps/proxied-transfer", policy={"proxied-transfer": "accept"})
    pair.heard.clear()
    pair.at(60, lambda one: one.start("ny"))
    pair.at(100, lambda one: one.link("ny", is_connected="1"))
    pair.at(160, lambda one: one.link("nj", is_connected="1", seconds_behind="400"))
    pair.at(260, lambda one: one.connect())
    report = pair.lead("amps/restore")
    assert ended(report) == (Outcome.DONE, "")
    assert pair.heard == [CLOSE_NY, UNPROXY_NJ, UP_NJ, OPEN_NY]
    assert report.seconds >= 280
    assert (pair.state("ny"), pair.state("nj")) == ((True, "sync", "disabled"), (True, "sync", "disabled"))


def test_an_instance_that_starts_open_is_closed_first(pair: AmpsPair) -> None:
    """It takes connections before its recovery has finished; what it had not replicated, somebody answers for first."""
    pair.lose("ny")
    pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})
    pair.heard.clear()
    pair.start("ny")
    pair.ny.one("transports")["is_enabled"] = "1"
    outcome, why = ended(pair.lead("amps/restore"))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "had not replicated" in why or "at this instance only" in why
    pair.at(90, lambda one: one.connect())
    assert ended(pair.lead("amps/restore", policy={"stale-tail": "accept"}))[0] is Outcome.DONE
    assert pair.heard == [CLOSE_NY, UP_NJ, OPEN_NY]


def test_a_return_across_an_async_link(tmp_path: Path) -> None:
    """Somebody answers for its unreplicated messages, and its clients stay out."""
    pair = AmpsPair(tmp_path, sync="async")
    pair.lose("ny")
    assert ended(pair.lead("amps/restore"))[0] is Outcome.REFUSED
    pair.start("ny")
    pair.at(90, lambda one: one.connect())
    assert ended(pair.lead("amps/restore", policy={"stale-tail": "accept"}))[0] is Outcome.DONE
    assert (pair.heard, pair.state("ny")[0]) == ([CLOSE_NY], False)


def test_a_return_by_bootstrap(pair: AmpsPair) -> None:
    """Empty and set to bootstrap; it fetches, replicates, and comes back as any other."""
    pair.lose("ny")
    pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})
    pair.heard.clear()
    pair.at(30, lambda one: one.start("ny", empty=True, bootstrap=True))
    pair.at(100, fetched)
    pair.at(130, lambda one: one.connect())
    assert ended(pair.lead("amps/restore-bootstrap", policy={"bootstrap": "attest"})) == (Outcome.DONE, "")
    assert pair.heard == [CLOSE_NY, UP_NJ, OPEN_NY]


def fetched(pair: AmpsPair) -> None:
    """The bootstrap of ny is over."""
    pair.ny.now["transaction_log"] = pair.nj.now["transaction_log"]


def test_never_two_empty_ones(pair: AmpsPair) -> None:
    """A mate that is empty has nothing to give; two would wait for each other for ever (docs/sources/amps.md,
    3.5)."""
    pair.lose("ny")
    for bootstraps, said in ((False, "has no messages"), (True, "wait for each other for ever")):
        pair.start("nj", empty=True, bootstrap=bootstraps)
        outcome, why = ended(pair.lead("amps/restore-bootstrap", policy={"bootstrap": "attest"}))
        assert (outcome, pair.heard) == (Outcome.REFUSED, [])
        assert said in why


def test_no_bootstrap_over_messages(pair: AmpsPair) -> None:
    """An instance that holds messages fetches nothing, so the return by bootstrap refuses it."""
    pair.start("ny", bootstrap=True)
    outcome, why = ended(pair.lead("amps/restore-bootstrap", policy={"bootstrap": "attest"}))
    assert (outcome, pair.heard) == (Outcome.REFUSED, [])
    assert "will fetch nothing" in why


def test_the_way_back(pair: AmpsPair) -> None:
    """Moved, returned, and moved back: both serve over sync links again, and nj's clients were let go."""
    pair.lead("amps/controlled")
    assert ended(pair.lead("amps/restore"))[0] is Outcome.DONE
    pair.heard.clear()
    assert ended(pair.lead("amps/failback", source="nj")) == (Outcome.DONE, "")
    assert pair.heard == [CLOSE_NJ, "ny replication/r1/downgrade"]


def _said(body: bytes) -> Outgoing:
    return Outgoing(200, body)
