"""What the adapter sends: paths of a list, each once; and what it says of a request that went wrong."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.paths import act_on, is_action, is_look, look_at, only_reads, reads_and_acts
from adapters.http.exchange import Request
from orchestrator.errors import AuthenticationFailed, Forbidden
from orchestrator.family.contract import Call
from tests.amps_admin.instance import answer
from tests.amps_admin.stage import ACCEPTED, DOUBTFUL, NOT_SENT, REJECTED, Stage, apply
from tests.seam import Permits

SECOND = {"id": "3", "name": "amps-ws", "type": "tcp", "is_enabled": "1"}


@pytest.mark.parametrize(
    ("action", "args", "path"),
    [
        ("set_client_transports", {"state": "disabled"}, "transports/1/disable"),
        ("set_client_transports", {"state": "enabled"}, "transports/1/enable"),
        ("set_link_mode", {"mode": "async"}, "replication/r1/downgrade"),
        ("set_link_mode", {"mode": "sync"}, "replication/r1/upgrade"),
        ("set_proxied_transfer", {"state": "enabled"}, "queues/JOBS%21json/enable_proxied_transfer"),
        ("set_proxied_transfer", {"state": "disabled"}, "queues/JOBS%21json/disable_proxied_transfer"),
    ],
)
def test_the_path_of_every_change(action: str, args: dict[str, Any], path: str) -> None:
    """Ids come from the instance's own lists, escaped; the replication transport and the links in are left alone."""
    stage = Stage()
    result = apply(stage.adapter(), action, **args)
    assert (result.effect, result.sent) == (ACCEPTED, (f"GET /amps/administrator/{path}",))
    assert stage.one.acted == [f"/amps/administrator/{path}"]


@pytest.mark.parametrize("failure", [httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.WriteError])
def test_an_action_is_never_repeated(failure: type[httpx.HTTPError]) -> None:
    """Its answer is lost: it stays a doubt, however the loss looks, though a reading would be tried again."""
    stage = Stage()
    adapter = stage.adapter()
    adapter.probe("transports", ["orders"])
    stage.one.answers["/amps/administrator/transports/1/disable"] = _fails(stage, failure)
    result = apply(adapter, "set_client_transports", state="disabled")
    assert result.effect is DOUBTFUL
    assert [line for line in stage.wire.lines if "/disable" in line] == [
        "GET /amps/administrator/transports/1/disable"
    ]


def _fails(stage: Stage, failure: type[httpx.HTTPError]):  # type: ignore[no-untyped-def]
    def fail() -> object:
        raise failure("it failed")

    return fail


def test_a_reading_is_tried_again() -> None:
    """The control of the law above."""
    stage = Stage()
    stage.wire.fails = [(True, httpx.ReadError)]
    adapter = stage.adapter(read_only=True)
    adapter.probe("transports", ["orders"])
    assert stage.wire.lines == ["GET /amps/instance/transports.json"] * 2 + ["GET /amps/instance/config.xml"]


@pytest.mark.parametrize(
    ("status", "effect"),
    [
        *((status, REJECTED) for status in (404, 403, 307, 308)),
        *((status, DOUBTFUL) for status in (500, 301, 302, 303)),
    ],
)
def test_what_a_status_means(status: int, effect: object) -> None:
    """A clear no had no effect; whatever else is not a success may have had one. No redirect is followed: 307 and 308
    send the action elsewhere, and 302 may be the page that an instance shows once it has carried it out."""
    stage = Stage()
    stage.one.answers["/amps/administrator/transports/1/disable"] = answer(status)
    result = apply(stage.adapter(), "set_client_transports", state="disabled")
    assert (result.effect, len(result.sent)) == (effect, 1)


def test_half_of_it_done_is_a_doubt() -> None:
    """The first transport obeyed, the second refused: only a reading tells what holds."""
    stage = Stage()
    stage.one.now["transports"].append(SECOND)
    stage.clock.advance(10)
    stage.one.answers["/amps/administrator/transports/3/disable"] = answer(404)
    result = apply(stage.adapter(), "set_client_transports", state="disabled")
    assert (result.effect, len(result.sent)) == (DOUBTFUL, 2)
    assert "sent 2 of 2 requests" in result.detail


def test_a_lease_lost_half_way_is_a_doubt() -> None:
    """The permit is asked before each request, not before each call."""
    stage = Stage()
    stage.one.now["transports"].append(SECOND)
    stage.clock.advance(10)
    result = apply(stage.adapter(), "set_client_transports", Permits(allowed=1), state="disabled")
    assert (result.effect, stage.one.acted) == (DOUBTFUL, ["/amps/administrator/transports/1/disable"])


def test_named_transports_alone() -> None:
    """The inventory says which transports are clients'; one that is not there is refused before anything is sent."""
    stage = Stage(options={"client_transports": ["amps-ws"]})
    assert apply(stage.adapter(), "set_client_transports", state="disabled").effect is REJECTED
    stage.one.now["transports"].append(SECOND)
    stage.clock.advance(10)
    assert apply(stage.adapter(), "set_client_transports", state="disabled").effect is ACCEPTED
    assert stage.one.acted == ["/amps/administrator/transports/3/disable"]


def test_a_transport_of_a_kind_that_is_not_told() -> None:
    """It may be the one that takes the mate's link, so it is not disabled by guess; by its name it is."""
    stage, named = Stage(), Stage(options={"client_transports": ["amps-tcp"]})
    for one in (stage, named):
        for transport in one.one.now["transports"]:
            del transport["type"]
        one.clock.advance(10)
    refused = apply(stage.adapter(), "set_client_transports", state="disabled")
    assert (refused.effect, stage.one.acted) == (REJECTED, [])
    assert refused.detail == (
        "amps-1: the instance does not report the type of the transports amps-tcp, amps-replication; "
        "set client_transports in the options"
    )
    assert apply(named.adapter(), "set_client_transports", state="disabled").effect is ACCEPTED
    assert named.one.acted == ["/amps/administrator/transports/1/disable"]


def test_nothing_to_do_it_to() -> None:
    """No queue, no link, or several links and no word which: refused, nothing sent."""
    stage = Stage()
    stage.one.now["queues"] = []
    stage.one.now["replication"].append({"id": "r9", "name": "chi", "client_type": "destination"})
    stage.clock.advance(10)
    adapter = stage.adapter()
    assert apply(adapter, "set_proxied_transfer", state="enabled").effect is REJECTED
    assert apply(adapter, "set_link_mode", mode="async").effect is REJECTED
    assert stage.one.acted == []


def test_unreachable_is_not_sent() -> None:
    """Nothing listens: it may be tried again."""
    stage = Stage()
    adapter = stage.adapter()
    stage.wire.is_away = True
    assert apply(adapter, "set_link_mode", mode="async").effect is NOT_SENT


def test_a_wrong_password_is_said_at_once() -> None:
    """Before a run begins, and not in its middle."""
    stage = Stage()
    stage.one.answers["/amps/instance/name.json"] = answer(401)
    with pytest.raises(AuthenticationFailed):
        stage.adapter().open()


# --- the list of paths ------------------------------------------------------------------------------------------


def test_a_session_that_looks_cannot_act() -> None:
    """The wall is in the session: it refuses an action path however it is asked for."""
    for read in (True, False):
        request = Request("GET", "/amps/administrator/transports/1/disable", is_read=read)
        assert not only_reads(request)
        assert reads_and_acts(request) is (not read)
    assert only_reads(Request("GET", "/amps/instance/transports.json", is_read=True))
    assert not reads_and_acts(Request("GET", "/amps/instance/transports.json"))
    assert not reads_and_acts(Request("POST", "/amps/instance/transports.json", is_read=True))


@pytest.mark.parametrize(
    "target",
    [
        "/amps/administrator",
        "/amps/administrator.json",
        "/amps/administrator/minidump",
        "/amps/administrator/transports/1/disable?x=1",
        "/amps/administrator/transports/1/2/disable",
        "/amps/administrator/transaction_log/journals/1/remove",
        "/amps/administrator/clients/17/disconnect",
        "/amps/administrator/replication/1/reconnect",
        "/amps/administrator/sow/a!json/compact",
        "/amps/administrator/diagnostics/dump",
        "/amps/administrator/authorization/entitlement/x/reset",
        "/amps/instance/../administrator/transports/1/disable",
        "/amps/instance/x/../../administrator/minidump.json",
    ],
)
def test_whatever_else_is_never_sent(target: str) -> None:
    """Every other path of the administrator stays out, also one that is dressed as a reading."""
    assert not is_action(target)
    assert not is_look(target)
    assert not only_reads(Request("GET", target, is_read=True))


@given(st.text(max_size=30), st.sampled_from(["enable", "disable"]))
def test_an_id_stays_one_segment(id_: str, verb: str) -> None:
    """Whatever an instance calls its transports, the path asks for that one, or for nothing."""
    try:
        path = act_on("transports", id_, verb)
    except Forbidden:
        return
    assert is_action(path)
    assert path.count("/") == 5
    assert "?" not in path
    assert not is_action(look_at("transports"))


def test_names_that_are_no_service() -> None:
    """Refused by the inventory alone; nobody is asked."""
    stage = Stage(options={"services": {"orders": {"device": "amps-1"}}})
    [result] = stage.adapter().apply("set_link_mode", [Call("../x", {"mode": "sync"})], Permits())
    assert (result.effect, stage.wire.sent) == (REJECTED, [])
