"""Who listens to sessions: each line that was typed is told once, as it went, and nothing is sent for it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, trust_of
from adapters.http.session import HttpSession
from adapters.solace.dialect import SOLACE
from adapters.ssh.session import ShowSession
from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, AuthenticationFailed, ConnectionLost
from orchestrator.model.exchanges import Exchange
from orchestrator.model.inventory import Device
from simulator.http.server import Incoming, Outgoing
from tests.semp.wire import Wire
from tests.ssh.scripted import ScriptedDevice
from tests.ssh.talks import TABLE, device_of


@dataclass
class Ears:
    """Remembers what it is told."""

    told: list[Exchange] = field(default_factory=list)

    def heard(self, exchange: Exchange) -> None:
        self.told.append(exchange)


def session_of(device: ScriptedDevice, ears: Ears | None) -> ShowSession:
    return ShowSession(
        Device(name="ny1"), device.connect, dialect=SOLACE, clock=device.clock, timeout_s=15.0, witness=ears
    )


def test_each_line_is_told_with_its_prompt_and_its_answer() -> None:
    """Law: what is told is what the caller got, and the device hears the same lines with a witness and without."""
    ears, device, alone = Ears(), device_of(latency_s=0.25), device_of(latency_s=0.25)
    assert session_of(device, ears).show("show table") == session_of(alone, None).show("show table")
    assert device.heard == alone.heard
    assert [(one.device, one.sent) for one in ears.told] == [("ny1", "no paging"), ("ny1", "show table")]
    last = ears.told[-1]
    assert (last.prompt, last.answer, last.failed) == (f"{device.name}>", TABLE.rstrip("\n"), "")
    assert last.answered_at > last.asked_at > 0


def test_a_loss_and_a_refused_log_in_are_told() -> None:
    """Law: an error is told with its kind and its sentence, once, and is raised all the same."""
    ears, device = Ears(), device_of(mishaps={"show table": "drop-after"})
    with pytest.raises(ConnectionLost) as lost:
        session_of(device, ears).show("show table")
    assert (ears.told[-1].failed, ears.told[-1].why) == ("ConnectionLost", str(lost.value))
    device.down = AuthenticationFailed("no", device="ny1")
    with pytest.raises(AdapterError):
        session_of(device, ears).show("show table")
    assert [(one.sent, one.failed) for one in ears.told[-2:]] == [
        ("show table", "ConnectionLost"),
        ("", "AuthenticationFailed"),
    ]


def test_over_http_each_request_is_told_and_no_login() -> None:
    """Law: request and answer are told, with status and date; no password and no cookie is."""

    def answer(request: Incoming) -> Outgoing:
        return Outgoing(
            200, b"body", headers={"Date": "Mon, 23 Nov 2026 17:00:00 GMT", "Set-Cookie": "session=c00kie"}
        )

    ears, wire = Ears(), Wire(answer, VirtualClock())
    spoken = HttpSession(
        "ny1",
        ("http", "127.0.0.1", 8080),
        proof=lambda: "Basic c2VjcmV0",
        trust=trust_of(HttpOptions(scheme="http")),
        limits=Limits(connect_s=1.0, exchange_s=5.0),
        clock=wire.clock,
        transport=wire,
        witness=ears,
    )
    spoken.exchange(Request("GET", "/a?b", is_read=True))
    spoken.exchange(Request("PATCH", "/a", b"{}"))
    spoken.exchange(Request("POST", "/SEMP", b"<rpc/>", is_read=True))
    assert [one.sent for one in ears.told] == ["GET /a?b", "PATCH /a {}", "POST /SEMP <rpc/>"]
    assert (ears.told[0].answer, ears.told[0].status, ears.told[0].date[:3]) == ("body", 200, "Mon")
    assert "c2VjcmV0" not in repr(ears.told) and "c00kie" not in repr(ears.told)
