"""What the adapter concludes from the statistics: what was not told is unknown, and an old sample proves nothing."""

from __future__ import annotations

import json

import pytest

from adapters.amps.document import count_in, moment_in, uptime_in
from adapters.amps.reading_models import (
    Bootstrap,
    Clients,
    Instance,
    Link,
    Links,
    Permissions,
    Queue,
    Queues,
    TransactionLog,
    Transport,
    Transports,
)
from orchestrator.errors import DefinitionError
from orchestrator.model.outcome import Failure
from simulator.http.server import Outgoing
from tests.amps_admin.instance import answer, told
from tests.amps_admin.stage import Stage, apply

DAY = 86_400.0
# 2025-01-01T00:00:00Z
NEW_YEAR = 1_735_689_600.0


def test_every_reading_of_a_healthy_instance() -> None:
    """Each value is where the documentation puts it."""
    stage = Stage(options={"not_applications": "^monitor-", "journal_capacity": "100MB", "outage": "2d"})
    assert stage.read("instance") == Instance(
        name="amps-1",
        group="NYC",
        version="5.3.5.135",
        uptime_s=108_010.5,
        sampled_at=stage.clock.now(),
        recovered=True,
    )
    assert stage.read("transports") == Transports(
        items=(
            Transport(name="amps-tcp", type="tcp", replication=False, enabled=True),
            Transport(name="amps-replication", type="amps-replication", replication=True, enabled=True),
        )
    )
    assert stage.read("clients") == Clients(count=1, names=("pub-1",))
    link = Link(
        name="amps-2",
        destination="amps-2",
        group="NYC",
        connected=True,
        sync=True,
        configured_sync=True,
        behind_s=0.0,
        calm_s=0.0,
        steady_s=0.0,
        messages_out=1200,
    )
    assert stage.read("links") == Links(mate="amps-2", interval_s=10.0, items=(link,))
    queue = Queue(name="JOBS", message_type="json", depth=3, owned=2, proxied=False)
    assert stage.read("queues") == Queues(items=(queue,))
    assert stage.read("transaction_log") == TransactionLog(
        files=2,
        bytes=20 * 1024**2,
        capacity_bytes=100 * 1024**2,
        oldest_at=NEW_YEAR - 31 * DAY,
        newest_at=NEW_YEAR + DAY,
        empty=False,
        outage_s=2 * DAY,
    )
    assert stage.read("bootstrap") == Bootstrap(configured=False, empty=False, records=0)
    assert stage.read("permissions") == Permissions(known=True)


def test_a_downgrade_is_told_from_the_configuration() -> None:
    """``replication_type`` is how the link is now; the configuration says how it is meant to be."""
    stage = Stage()
    stage.one.one("replication")["replication_type"] = "async"
    stage.clock.advance(10)
    links = stage.read("links")
    assert isinstance(links, Links)
    assert (links.sync, links.configured_sync, links.downgraded) == (False, True, True)


@pytest.mark.parametrize("word", ["1", "1.0", "true", "enabled", True, 1])
def test_yes_has_many_words(word: object) -> None:
    """Every spelling that AMPS's own tools accept."""
    stage = Stage()
    stage.one.answers["/amps/instance/transports.json"] = answer(
        200, told(transports={"id": "1", "name": "t", "type": "tcp", "is_enabled": word})
    )
    reading = stage.read("transports")
    assert isinstance(reading, Transports)
    assert (reading.open, reading.closed) == (True, False)


@pytest.mark.parametrize(
    ("reading", "unknown"),
    [
        ("transports", Transports()),
        ("clients", Clients()),
        ("links", Links(interval_s=10.0)),
        ("queues", Queues()),
        ("transaction_log", TransactionLog(outage_s=DAY)),
        ("permissions", Permissions(known=False)),
    ],
)
def test_an_answer_that_says_nothing_is_unknown(reading: str, unknown: object) -> None:
    """A missing list is not an empty one: it is no proof that nobody is connected, or that nothing is owned."""
    stage = Stage()
    for name in ("transports", "clients", "replication", "queues", "transaction_log"):
        stage.one.answers[f"/amps/instance/{name}.json"] = answer(200, told())
    assert stage.read(reading) == unknown


def test_the_assumption_about_missing_lists() -> None:
    """Only who says so in the inventory has a list that was left out taken as empty."""
    stage = Stage(options={"assume": {"missing_list_is_empty": True}})
    for name in ("clients", "queues"):
        stage.one.answers[f"/amps/instance/{name}.json"] = answer(200, told())
    assert (stage.read("clients"), stage.read("queues")) == (Clients(count=0), Queues(items=()))


@pytest.mark.parametrize(
    "body",
    ["", "[]", "<html>", "{}", '{"amps": 1}', '{"amps": {"instance": []}}', pytest.param("[" * 200_000, id="deep")],
)
def test_garbage_is_a_failure(body: str) -> None:
    """What is no document of the administration interface is no reading."""
    stage = Stage()
    stage.one.answers["/amps/instance/clients.json"] = answer(200, body)
    found = stage.read("clients")
    assert isinstance(found, Failure)
    assert found.kind == "UnreadableReply"


def test_an_action_makes_every_sample_old() -> None:
    """What is shown until two intervals after our own action may have been so before it."""
    stage = Stage()
    adapter = stage.settled()
    before = adapter.probe("transports", ["orders"])["orders"]
    assert isinstance(before, Transports)
    assert before.open is True
    apply(adapter, "set_client_transports", state="disabled")
    for seconds, found in ((0.0, None), (10.0, None), (9.9, None), (0.1, True)):
        stage.clock.advance(seconds)
        after = adapter.probe("transports", ["orders"])["orders"]
        assert isinstance(after, Transports)
        assert after.closed is found, seconds


def test_a_session_that_acts_believes_nothing_at_first() -> None:
    """A run that was killed may have acted a moment ago; one that only looks has nothing to mistake."""
    stage = Stage()
    links = stage.adapter().probe("links", ["orders"])["orders"]
    assert links == Links(interval_s=10.0)
    looked = stage.read("links")
    assert isinstance(looked, Links)
    assert looked.connected is True


def calm_of(stage: Stage, adapter: object) -> float | None:
    """How long the link to the mate has been calm."""
    links = adapter.probe("links", ["orders"])["orders"]  # type: ignore[attr-defined]
    assert isinstance(links, Links)
    link = links.to_mate()
    assert link is not None
    return link.calm_s


def test_calm_is_counted_in_samples() -> None:
    """Only distinct samples count, without a gap between them; anything else begins anew."""
    stage = Stage()
    adapter = stage.adapter(read_only=True)
    found = []
    for seconds in (0.0, 5.0, 5.0, 10.0, 10.0):
        stage.clock.advance(seconds)
        found.append(calm_of(stage, adapter))
    assert found == [0.0, 0.0, 10.0, 20.0, 30.0]
    stage.one.one("replication")["seconds_behind"] = "3"
    stage.clock.advance(10)
    assert calm_of(stage, adapter) == 0.0
    stage.one.one("replication")["seconds_behind"] = "0"
    for seconds, calm in ((10.0, 0.0), (10.0, 10.0), (60.0, 0.0)):
        stage.clock.advance(seconds)
        assert calm_of(stage, adapter) == calm


def test_a_link_under_load_keeps_up() -> None:
    """Now 0, now 1 second behind, as acknowledgements come: it keeps up, and has not caught up."""
    stage = Stage()
    adapter = stage.adapter(read_only=True)
    found = []
    for behind in ("0", "1", "0", "1", "2"):
        stage.one.one("replication")["seconds_behind"] = behind
        stage.clock.advance(10)
        links = adapter.probe("links", ["orders"])["orders"]
        assert isinstance(links, Links)
        found.append((links.caught_up, links.keeping_up))
    assert found == [(False, False), (False, False), (False, True), (False, True), (False, False)]


def test_an_instance_that_hangs_never_gets_calm() -> None:
    """Its last sample is shown for ever, and says nothing of now."""
    stage = Stage()
    adapter = stage.adapter(read_only=True)
    stage.one.frozen_at = stage.clock.now()
    for _ in range(6):
        assert calm_of(stage, adapter) == 0.0
        stage.clock.advance(10)


def test_a_lost_link_is_not_calm() -> None:
    """0 seconds behind on a link that is not connected is nothing (docs/sources/amps.md, 12.4)."""
    stage = Stage()
    stage.one.one("replication")["is_connected"] = "0"
    stage.clock.advance(10)
    adapter = stage.adapter(read_only=True)
    for _ in range(4):
        assert calm_of(stage, adapter) == 0.0
        stage.clock.advance(10)


def test_less_than_nothing_is_not_caught_up() -> None:
    """``seconds_behind`` is a number of seconds: whatever a minus may mean, it does not say that nothing is behind."""
    stage = Stage()
    stage.one.one("replication")["seconds_behind"] = "-1"
    stage.clock.advance(10)
    adapter = stage.adapter(read_only=True)
    for _ in range(4):
        assert calm_of(stage, adapter) is None
        stage.clock.advance(10)


@pytest.mark.parametrize("digits", [40, 400, 5000])
def test_numbers_without_measure_are_unknown(digits: int) -> None:
    """A number that no clock and no counter can mean is no number, and nothing falls over it."""
    many = "9" * digits
    assert moment_in({"timestamp": many}, "timestamp") is None
    assert uptime_in({"uptime": f"{many} 10:00:00"}, "uptime") is None
    assert count_in({"owned": many}, "owned") is None


def test_which_link_goes_to_the_mate() -> None:
    """Law: as the inventory says, by name or group; the only one without a word; else a failure that names the links."""
    other = {"id": "r3", "name": "chi", "destination_group_name": "CHI", "is_connected": "1", "seconds_behind": "0"}
    for options, mate in (
        ({}, None),
        ({"mate": "amps-2"}, "amps-2"),
        ({"mate": "CHI"}, "chi"),
        ({"mate": "x"}, None),
    ):
        stage = Stage(options=options)
        stage.one.now["replication"].append(other)
        stage.clock.advance(10)
        links = stage.read("links")
        if mate is None:
            assert isinstance(links, Failure)
            assert (links.kind, links.text.endswith(": amps-2, chi")) == ("NoSuchService", True)
        else:
            assert isinstance(links, Links)
            assert links.mate == mate


def test_who_is_empty() -> None:
    """Only an instance that says of its newest message that there is none; silence is unknown (docs/sources/amps.md,
    3.5)."""
    for journals, empty in (
        ([{"file_name": "a", "max_timestamp": ""}], True),
        ([{"file_name": "a", "max_timestamp": "0"}], True),
        ([{"file_name": "a"}], None),
        ([], None),
        ([{"file_name": "a", "max_timestamp": "212577862192535075"}], False),
        ([{"file_name": "a", "max_timestamp": "yesterday"}], None),
    ):
        stage = Stage()
        stage.one.now["transaction_log"] = {"journals": journals}
        stage.clock.advance(10)
        found = stage.read("bootstrap")
        assert isinstance(found, Bootstrap)
        assert found.empty is empty, journals


def test_what_it_would_bootstrap_from() -> None:
    """The addresses of the served configuration, in their order."""
    stage = Stage()
    stage.one.more = (
        "<Bootstrap><Topic><Name>a</Name><MessageType>json</MessageType></Topic><DataType>sow,txlog</DataType>"
        "<Transport><InetAddr>b:1</InetAddr><InetAddr>c:2</InetAddr><Type>amps-replication</Type></Transport></Bootstrap>"
    )
    assert stage.read("bootstrap") == Bootstrap(configured=True, empty=False, records=0, sources=("b:1", "c:2"))


@pytest.mark.parametrize(
    "served", ["<AMPSConfig>", "<AMPSConfig><Name>a</Name><Include>/etc/passwd</Include></AMPSConfig>"]
)
def test_a_configuration_that_cannot_be_read(served: str) -> None:
    """What depends on it is unknown; and no file of this machine is looked for in its name."""
    stage = Stage()
    stage.one.answers["/amps/instance/config.xml"] = answer(200, served)
    links, log = stage.read("links"), stage.read("transaction_log")
    assert isinstance(links, Links)
    assert isinstance(log, TransactionLog)
    assert (links.connected, links.configured_sync, links.interval_s) == (True, None, 10.0)
    assert (log.files, log.bytes) == (2, None)


@pytest.mark.parametrize(
    ("said", "found"),
    [("true", None), ('{"path": "x", "check": "false"}', False), ("", None), ("true or false", None)],
)
def test_what_the_check_of_a_permission_says(said: str, found: bool | None) -> None:
    """Its shape is not documented: one clear word counts, and anything else is unknown, never a yes."""
    stage = Stage()
    path = "/amps/administrator/authorization/entitlement/transport/amps-admin/check.json?path="
    stage.one.answers[f"{path}/amps/administrator/replication/r1/downgrade"] = answer(200, said)
    reading = stage.read("permissions")
    assert isinstance(reading, Permissions)
    assert reading.granted is (True if said == "true" else found)


def test_wrong_options_are_one_sentence() -> None:
    """Each names the site, the place and what would do."""
    for options, said in (
        ({"interval": "100ms"}, "the interval must be at least 1s"),
        ({"journal_capacity": "much"}, "a size is a number with a unit"),
        ({"not_applications": "("}, "not a regular expression"),
        ({"services": {"orders": {"device": "x"}}}, "no device is called 'x'"),
        ({"mates": "x"}, "mates"),
    ):
        with pytest.raises(DefinitionError, match="options of site ny") as caught:
            Stage(options=options).adapter()
        assert said in str(caught.value)


def test_the_answer_may_come_in_pieces_of_a_larger_document() -> None:
    """A node is found in ``amps.instance`` whatever stands beside it."""
    stage = Stage()
    body = {"amps": {"instance": {"name": "x", "clients": [], "queues": []}, "host": {}}}
    stage.one.answers["/amps/instance/clients.json"] = lambda: Outgoing(200, json.dumps(body).encode())
    assert stage.read("clients") == Clients(count=0)
