"""A webhook is told: signed, over a checked connection, and with nothing of its address in any text."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.http.webhook import WebhookPoster
from orchestrator.clock import Clock, SystemClock, VirtualClock
from orchestrator.errors import CommandTimedOut, HookFailed
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Webhook
from orchestrator.notifications.webhook import Poster, WebhookSender
from simulator.http.certificates import Authority
from tests.hooks.hooking import SECRET, URL, Scripted, a_webhook
from tests.hooks.receiving import serving
from tests.hooks.test_hook_command import a_message
from tests.seam import told


def a_sender(
    url: str = URL,
    *,
    poster: Poster | None = None,
    clock: Clock | None = None,
    secret: str | None = SECRET,
    timeout: str = "10s",
    **webhook: Any,
) -> WebhookSender:
    hook = a_webhook(url=url, timeout=timeout)
    address = told(Webhook, hook.webhook).model_copy(update=webhook)
    hook = hook.model_copy(update={"webhook": address})
    clock = clock or SystemClock()
    secrets = SecretStore(None, environment={} if secret is None else {"HOOK_SECRET": secret})
    return WebhookSender(hook, address, poster=poster or WebhookPoster(clock), secrets=secrets, clock=clock)


def failure_of(sender: WebhookSender) -> HookFailed:
    with pytest.raises(HookFailed) as caught:
        sender(a_message())
    text = f"{caught.value} {caught.value.hint}"
    assert "T0KEN" not in text and SECRET not in text
    return caught.value


def test_each_attempt_is_signed_anew() -> None:
    """Law: the time in the signature is that of the attempt, so that a receiver may insist on a recent one."""
    clock, poster = VirtualClock(), Scripted(500, 204)
    sender = a_sender(poster=poster, clock=clock)
    failure_of(sender)
    clock.advance(90)
    sender(a_message())
    (_, first, headers), (_, second, later) = poster.posts
    assert first == second
    times = [one["X-Failover-Signature"].split(",")[0] for one in (headers, later)]
    assert times == ["t=1800000000", "t=1800000090"]


@pytest.mark.parametrize("status", [100, 301, 302, 400, 401, 404, 410, 429, 500, 503])
def test_only_a_success_is_one(status: int) -> None:
    """Law: what is not answered with 2xx has not been taken."""
    failure = failure_of(a_sender(poster=Scripted(status)))
    assert (str(failure), failure.cause) == (f"127.0.0.1 answered with status {status}", f"status {status}")


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_success_is_one(status: int) -> None:
    """Law: any 2xx takes the event."""
    a_sender(poster=Scripted(status))(a_message())


def test_a_secret_that_is_not_there() -> None:
    """Law: nothing leaves unsigned; a missing secret is a failure that names the variable."""
    poster = Scripted()
    failure = failure_of(a_sender(poster=poster, secret=None))
    assert "secret of hook web" in str(failure) and "HOOK_SECRET" in str(failure)
    assert poster.posts == []


def test_an_answer_that_never_comes_is_a_failure() -> None:
    """Law: whatever the poster meets, the courier sees one kind of failure, with its cause."""
    failure = failure_of(a_sender(poster=Scripted(CommandTimedOut("127.0.0.1 did not answer in time"))))
    assert (str(failure), failure.cause) == ("127.0.0.1 did not answer in time", "CommandTimedOut")


@pytest.mark.realtime
def test_what_arrives() -> None:
    """CloudEvents HTTP binding, "Structured Content Mode": one JSON object under its media type; and our signature."""
    with serving() as endpoint:
        a_sender(endpoint.url)(a_message())
    [post] = endpoint.posts
    assert post.path == "/in/T0KEN?team=ops"
    assert post.headers["Content-Type"] == "application/cloudevents+json; charset=UTF-8"
    assert "Authorization" not in post.headers and "Cookie" not in post.headers
    assert post.event == json.loads(a_message().cloud_event())
    moment, digest = (part.split("=", 1)[1] for part in post.headers["X-Failover-Signature"].split(","))
    assert digest == hmac.new(SECRET.encode(), f"{moment}.".encode() + post.body, hashlib.sha256).hexdigest()
    assert abs(int(moment) - SystemClock().now()) < 60
    assert SECRET not in str(post)


@pytest.mark.realtime
def test_a_redirect_is_not_followed() -> None:
    """Law: events go where the inventory says, and nowhere else."""
    with serving() as other, serving() as endpoint:
        endpoint.answer = lambda post: (307, {"Location": other.url})
        assert failure_of(a_sender(endpoint.url)).cause == "status 307"
    assert other.posts == []


@pytest.mark.realtime
def test_no_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: an environment variable does not lead events to a stranger."""
    with serving() as proxy, serving() as endpoint:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        a_sender(endpoint.url)(a_message())
    assert len(endpoint.posts) == 1 and proxy.posts == []


@pytest.mark.realtime
def test_nobody_listens() -> None:
    """Law: a receiver that is down is a failure, and says which host."""
    with serving() as endpoint:
        url = endpoint.url
    failure = failure_of(a_sender(url))
    assert failure.cause == "Unreachable" and "127.0.0.1" in str(failure)


@pytest.mark.realtime
@pytest.mark.parametrize("how", ["stall", "trickle"])
def test_a_receiver_that_never_answers(how: str) -> None:
    """Law: the time-out is for the whole exchange: no answer, and one that trickles in, are both over in time."""
    clock = SystemClock()
    with serving() as endpoint:
        setattr(endpoint, how, threading.Event())
        began = clock.now()
        failure = failure_of(a_sender(endpoint.url, timeout="1s"))
        assert failure.cause == "CommandTimedOut" and clock.now() - began < 5


@pytest.mark.realtime
def test_a_certificate_is_checked(tmp_path: Path) -> None:
    """Promise 10: an unknown certificate is refused; the CA that the inventory names is trusted."""
    authority = Authority.at(tmp_path)
    with serving(authority.server_context("127.0.0.1")) as endpoint:
        assert "certificate" in str(failure_of(a_sender(endpoint.url)))
        assert endpoint.posts == []
        a_sender(endpoint.url, ca_file=str(authority.ca_file))(a_message())
        assert len(endpoint.posts) == 1


@pytest.mark.realtime
def test_a_bad_ca_file_is_a_failure(tmp_path: Path) -> None:
    """Law: a mistake in the inventory that shows only now is a failure of this hook, and of nothing else."""
    failure = failure_of(a_sender("https://127.0.0.1:9/", ca_file=str(tmp_path / "missing.pem")))
    assert "ca_file" in str(failure)


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "https://[1.2]/"])
def test_an_address_that_is_none(url: str) -> None:
    """Law: what looks like an address and is none is a failure like others."""
    assert failure_of(a_sender(url)).cause == "Unreachable"


class _Noting:
    """A poster that notes within which time, and trusting whom, it is to post."""

    def __init__(self) -> None:
        self.given: list[tuple[float, str | None]] = []

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_s: float, ca_file: str | None
    ) -> int:
        self.given.append((timeout_s, ca_file))
        return 204


def test_each_webhook_has_limits_of_its_own() -> None:
    """Law: the time-out and the certificate authority are those that the inventory has for this hook."""
    poster = _Noting()
    a_sender(poster=poster, timeout="3s", ca_file="/ca.pem")(a_message())
    a_sender(poster=poster, timeout="1m")(a_message())
    assert poster.given == [(3.0, "/ca.pem"), (60.0, None)]
