"""What a real instance may do and the guide leaves open: statistics that are not there, and answers that come slowly.

Source: the guide lists every resource of an instance (docs/sources/amps.md, 6.2), and ``group`` is none of them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from adapters.amps.adapter import AmpsAdminAdapter
from adapters.amps.reading_models import Instance, Links, Queues
from orchestrator.model.events import Outcome
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import describe
from simulator.http.server import Outgoing
from tests.amps_admin.instance import answer
from tests.amps_admin.stage import Stage
from tests.amps_admin.test_amps_scenarios import ended
from tests.amps_admin.world_pair import HOME, WorldPair

LEAVES = {"name": "name", "group": "group", "version": "version", "uptime": "uptime_s", "timestamp": "sampled_at"}
PAGE = answer(200, "<html>Galvanometer</html>")


@pytest.mark.parametrize(
    "reply", [answer(404, "no such node"), answer(403, "not entitled"), answer(500, "oops"), PAGE]
)
@pytest.mark.parametrize("leaf", [*LEAVES, "replication"])
def test_a_refused_leaf_is_unknown(leaf: str, reply: object) -> None:
    """Law: a leaf of ``instance`` that the instance does not give is unknown, and every other one is as it was
    reported."""
    stage = Stage()
    whole = stage.read("instance")
    assert isinstance(whole, Instance)
    stage.one.answers[f"/amps/instance/{leaf}.json"] = reply  # type: ignore[assignment]
    field = LEAVES.get(leaf, "recovered")
    assert stage.read("instance") == whole.model_copy(update={field: None})


def test_an_instance_that_refuses_every_leaf_is_a_failure() -> None:
    """Law: what gives nothing at all is no reading of an instance, and the failure says what was answered."""
    stage = Stage()
    for leaf in (*LEAVES, "replication"):
        stage.one.answers[f"/amps/instance/{leaf}.json"] = answer(404, "no such node")
    found = stage.read("instance")
    assert isinstance(found, Failure)
    assert "HTTP 404" in found.text


def test_a_wrong_login_is_asked_once() -> None:
    """Law: a login that is refused is a failure at once: repeated for each leaf it could lock the account."""
    stage = Stage()
    asked: list[str] = []

    def refuse(leaf: str) -> Outgoing:
        asked.append(leaf)
        return Outgoing(401, b"who?")

    for leaf in (*LEAVES, "replication"):
        stage.one.answers[f"/amps/instance/{leaf}.json"] = partial(refuse, leaf)
    found = stage.read("instance")
    assert (isinstance(found, Failure), len(asked)) == (True, 1)


def test_links_without_a_timestamp() -> None:
    """Law: without ``timestamp`` a link is still read; its samples are counted by our own clock."""
    stage = Stage()
    stage.one.answers["/amps/instance/timestamp.json"] = answer(404, "no such node")
    links = stage.read("links")
    assert isinstance(links, Links)
    assert (links.connected, links.behind_s) == (True, 0.0)


@pytest.mark.parametrize("has_queue", [True, False])
def test_queues_that_are_not_found(has_queue: bool) -> None:
    """Law: where the configuration has no queue, a refused list of queues is an empty one; else it is a failure."""
    stage = Stage()
    stage.one.answers["/amps/instance/queues.json"] = answer(404, "no such node")
    if not has_queue:
        config = stage.one.config.replace("<Queue><Name>JOBS</Name><MessageType>json</MessageType></Queue>", "")
        stage.one.answers["/amps/instance/config.xml"] = answer(200, config)
    found = stage.read("queues")
    assert isinstance(found, Failure) if has_queue else found == Queues(items=())


def test_the_assumption_about_missing_lists_covers_a_refusal() -> None:
    """Law: with ``missing_list_is_empty`` a list that is not found is empty, as one that is left out."""
    stage = Stage(options={"assume": {"missing_list_is_empty": True}})
    stage.one.answers["/amps/instance/queues.json"] = answer(404, "no such node")
    assert stage.read("queues") == Queues(items=())


@pytest.mark.parametrize("absent", [("group",), ("name", "group", "version", "uptime")])
def test_a_whole_return_without_them(tmp_path: Path, absent: tuple[str, ...]) -> None:
    """Law: moved away and restored over HTTP, on instances that answer 404 for leaves which nothing depends on."""
    pair = WorldPair(tmp_path, "over HTTP", absent_nodes=absent)
    pair.wait(20)
    assert ended(pair.lead("amps/controlled")) == (Outcome.DONE, "")
    pair.kill(HOME)
    pair.wait(30)
    pair.start(HOME)
    assert ended(pair.lead("amps/restore", source=HOME)) == (Outcome.DONE, "")
    pair.end()


@pytest.mark.parametrize("slow_s", [0.3, 1.0, 1.5])
def test_a_whole_return_over_a_slow_interface(tmp_path: Path, slow_s: float) -> None:
    """Law: however long a poll takes, a link that keeps up is found to keep up: a restore ends, and in minutes.

    An interval of 1 s let samples be 10 s apart at most, and a round of slow requests takes longer than that.
    """
    pair = WorldPair(tmp_path, "over HTTP", slow_s=slow_s)
    pair.wait(20)
    assert ended(pair.lead("amps/controlled")) == (Outcome.DONE, "")
    pair.kill(HOME)
    pair.wait(30)
    pair.start(HOME)
    started = pair.clock.now()
    assert ended(pair.lead("amps/restore", source=HOME)) == (Outcome.DONE, "")
    assert pair.clock.now() - started < 1_200
    pair.end()


def steady(stage: Stage, adapter: AmpsAdminAdapter, *gaps: float) -> list[tuple[bool | None, str]]:
    """What ``keeping_up`` is at polls so far apart, and the remark in its sentence."""
    found = []
    for gap in gaps:
        stage.clock.advance(gap)
        links = adapter.probe("links", ["orders"])["orders"]
        assert isinstance(links, Links)
        found.append((links.keeping_up, links.remark(["keeping_up"])))
    return found


def test_polls_at_their_own_pace() -> None:
    """Law: the first poll that comes too late starts the count again, and says so; the next ones at that pace count."""
    stage = Stage(options={"interval": "1s"})
    adapter = stage.adapter(read_only=True)
    stage.one.interval_s = 1.0
    told = "samples too far apart (13 s, at most 10 s)"
    assert steady(stage, adapter, 1, 13, 13, 13) == [(False, ""), (False, told), (True, ""), (True, "")]


def test_a_pause_is_no_pace() -> None:
    """Law: after a pause nothing is known of the samples in it, however it was before; two minutes never count."""
    stage = Stage(options={"interval": "1s"})
    adapter = stage.adapter(read_only=True)
    stage.one.interval_s = 1.0
    assert [one for one, _ in steady(stage, adapter, 1, 5, 40, 300, 200, 150)] == [False, True, *([False] * 4)]


def test_the_remark_belongs_to_what_lasts() -> None:
    """Law: a sentence about anything else of the links does not speak of samples."""
    stage = Stage(options={"interval": "1s"})
    adapter = stage.adapter(read_only=True)
    steady(stage, adapter, 1)
    stage.clock.advance(13)
    links = adapter.probe("links", ["orders"])["orders"]
    assert isinstance(links, Links)
    assert describe(links, ["keeping_up"]) == "not keeping up, samples too far apart (13 s, at most 10 s)"
    assert describe(links, ["connected"]) == "connected"


def test_a_link_that_was_lost_between_two_samples() -> None:
    """Law: a link whose ``disconnect_count`` rose between two polls has not been calm in between."""
    stage = Stage()
    adapter = stage.adapter(read_only=True)
    stage.one.one("replication")["disconnect_count"] = "3"
    assert [one for one, _ in steady(stage, adapter, 10, 10, 10)] == [False, False, True]
    stage.one.one("replication")["disconnect_count"] = "4"
    assert [one for one, _ in steady(stage, adapter, 10, 10, 10)] == [False, False, True]


def test_no_link_is_no_wrong_name() -> None:
    """Law: while an instance shows no link at all the mate is unknown, and may appear: that is no wrong name."""
    stage = Stage(options={"mate": "paris"})
    stage.one.now["replication"] = []
    stage.clock.advance(10)
    links = stage.read("links")
    assert isinstance(links, Links)
    assert links.mate is None


def test_a_mate_that_is_no_link_refuses_at_once(tmp_path: Path) -> None:
    """Law: a run whose ``mate`` names no link is refused within seconds, names the links, and changes nothing."""
    pair = WorldPair(tmp_path, "over HTTP", mate="paris")
    pair.wait(20)
    started = pair.clock.now()
    outcome, why = ended(pair.lead("amps/controlled"))
    assert (outcome, pair.clock.now() - started < 60) == (Outcome.REFUSED, True)
    assert "'paris'" in why
    assert "orders-" in why
    pair.end()


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("Negotiate", "Negotiate"),
        ("Negotiate, NTLM", "Negotiate or NTLM"),
        ("NTLM TlRMTVNTUAAC", "NTLM"),
        ('Basic realm="AMPS Admin"', ""),
        ('Negotiate, Basic realm="a, b"', ""),
        ("", ""),
    ],
)
def test_a_way_to_log_in_that_is_not_known(header: str, named: str) -> None:
    """Law: a 401 that asks for Kerberos or NTLM alone says so, with what to configure; one that takes Basic is about the
    login."""
    stage = Stage()
    headers = {"WWW-Authenticate": header} if header else {}
    for leaf in (*LEAVES, "replication"):
        stage.one.answers[f"/amps/instance/{leaf}.json"] = partial(Outgoing, 401, b"who?", headers=headers)
    found = stage.read("instance")
    assert isinstance(found, Failure)
    assert (found.kind, "HTTP 401" in found.text) == ("AuthenticationFailed", True)
    assert (f"asks for {named}, but the inventory is set to Basic" in found.text) is bool(named)
