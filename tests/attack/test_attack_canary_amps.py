"""Promise 10 at the administration of AMPS: whatever an instance repeats, and however an exchange fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import httpx
import pytest

from adapters.amps.adapter import AmpsAdminAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.family.secrets import Redactor, SecretStore
from orchestrator.model.inventory import Device, Login, Site
from simulator.http.server import Incoming, Outgoing
from tests.amps_admin.instance import ScriptedInstance
from tests.attack.canary import CANARY, ENVIRONMENT, REFERENCE, everything, leaks, recorded, said
from tests.semp.wire import Wire

Handler = Callable[[Incoming], Outgoing]


def adapter_of(handler: Handler, clock: VirtualClock, *, with_token: bool, fails: Any = None) -> tuple[Any, Redactor]:
    """An adapter whose one instance answers so; of a session that believes what it reads."""
    wire = Wire(handler, clock)
    wire.fails = [(True, fails)] * 200 if fails else []
    options: dict[str, Any] = {"scheme": "http", **({"token": {"env": "CANARY"}} if with_token else {})}
    site = Site(
        name="ny",
        adapter="amps-admin",
        devices=(Device(name="amps-1", address="127.0.0.1", port=8085),),
        login=Login(username="operator", password=REFERENCE),
        options=options,
    )
    store = SecretStore(environment=ENVIRONMENT)
    adapter = AmpsAdminAdapter(site, AdapterContext(clock, store), wire=lambda _: wire, random=Random(1))
    clock.advance(60.0)
    return adapter, store.redactor


def repeating(one: ScriptedInstance, status: int, pad: int) -> Iterator[Handler]:
    """Ways to repeat it: as every text of an answer, as its configuration, as anything."""

    def echo(request: Incoming) -> str:
        return "x" * pad + json.dumps({**dict(request.headers), "password": CANARY})

    def told(request: Incoming) -> Outgoing:
        answer = one.handle(request)
        try:
            whole = json.loads(answer.body)
        except ValueError:
            return Outgoing(status, answer.body + f"<!-- {CANARY} -->".encode())
        return Outgoing(status, json.dumps(_filled(whole, echo(request))).encode())

    def plain(request: Incoming) -> Outgoing:
        return Outgoing(status, echo(request).encode(), "text/html")

    def configured(request: Incoming) -> Outgoing:
        body = one.handle(request).body.decode()
        return Outgoing(status, body.replace(one.mate, echo(request).replace("<", "")).encode())

    yield from (told, plain, configured)


def _filled(value: Any, text: str) -> Any:
    """``value`` with ``text`` in place of every name in it."""
    if isinstance(value, dict):
        return {name: text if name.endswith(("name", "id")) else _filled(one, text) for name, one in value.items()}
    return [_filled(one, text) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("status", [200, 302, 400, 401, 404, 503])
@pytest.mark.parametrize("with_token", [False, True])
def test_an_instance_that_repeats_the_secret(status: int, with_token: bool) -> None:
    """Law: whatever it repeats, in whatever form, what is recorded has nothing of it, not even half of it at a cut."""
    for pad in (0, *range(60, 300, 34), 3_960, 3_990):
        clock = VirtualClock()
        for handler in repeating(ScriptedInstance(clock), status, pad):
            adapter, redactor = adapter_of(handler, clock, with_token=with_token)
            texts = list(recorded(everything(adapter)))
            assert leaks(map(redactor.scrub, texts)) == []
            assert texts


def test_control_the_instance_repeats_it() -> None:
    """Negative control: before the redactor, what it repeats is in the answers."""
    clock = VirtualClock()
    told = next(repeating(ScriptedInstance(clock), 200, 0))
    assert leaks(recorded(everything(adapter_of(told, clock, with_token=False)[0])))


@pytest.mark.parametrize("with_token", [False, True])
@pytest.mark.parametrize(
    "fails",
    [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.ReadError, httpx.UnsupportedProtocol],
    ids=lambda kind: kind.__name__,
)
def test_an_exchange_that_fails(fails: type[Exception], with_token: bool, logged: Callable[[], list[str]]) -> None:
    """Law: no error of ours, nor of a library, nor its traceback, has it in the first place."""
    clock = VirtualClock()
    adapter, _ = adapter_of(ScriptedInstance(clock).handle, clock, with_token=with_token, fails=fails)
    assert leaks([*said(*everything(adapter)), *logged()]) == []
