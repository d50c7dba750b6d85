"""Promise 10 at the seam: a canary for a secret, every family, every way to fail; and the list of processes.

What is looked through is all that leaves an adapter: answers, results, errors with their causes and tracebacks, what is
logged, and what things look like (``repr``). Where a device itself repeats the secret, it is looked through as it
would be recorded and shown: after the redactor.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx
import paramiko
import pytest

from adapters.local.adapter import LocalAdapter
from adapters.local.runner import Ready
from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import FailoverError
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import Redactor, SecretStore
from orchestrator.model.inventory import Device, Login, Site
from simulator.http.server import Incoming, Outgoing
from simulator.lab.of_world import serve_world
from simulator.lab.server import Credentials, LabSettings
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from simulator.ssh.shell import Mishap
from tests.attack.canary import CANARY, ENVIRONMENT, REFERENCE, everything, leaks, recorded, said
from tests.semp.wire import Wire

# --- SEMP -------------------------------------------------------------------------------------------------------------


def semp_adapter(
    handler: Callable[[Incoming], Outgoing], *, with_token: bool, fails: Any = None
) -> tuple[Any, Redactor]:
    clock = VirtualClock()
    wire = Wire(handler, clock)
    wire.fails = [(True, fails)] * 200 if fails else []
    options: dict[str, Any] = {"scheme": "http", **({"token": {"env": "CANARY"}} if with_token else {})}
    device = Device(name="ny1", address="127.0.0.1", port=8080)
    login = Login(username="operator", password=REFERENCE)
    site = Site(name="ny", adapter="solace-semp", devices=(device,), login=login, options=options)
    store = SecretStore(environment=ENVIRONMENT)
    return SolaceSempAdapter(
        site, AdapterContext(clock, store), wire=lambda _: wire, random=Random(1)
    ), store.redactor


def echo(request: Incoming) -> str:
    """What the device heard, secrets and all."""
    return json.dumps({"you said": dict(request.headers), "password": CANARY})


def answers(status: int, pad: int) -> Iterator[Callable[[Incoming], Outgoing]]:
    """Ways to repeat it: as an envelope, as XML, as anything; ``pad`` moves it to where texts are cut."""

    def envelope(request: Incoming) -> Outgoing:
        text = "x" * pad + echo(request)
        error = {"code": 11, "description": text, "status": text}
        meta = {"error": error, "responseCode": status, "paging": {"nextPageUri": text}}
        return Outgoing(status, json.dumps({"meta": meta, "data": {"msgVpnName": text}}).encode())

    def plain(request: Incoming) -> Outgoing:
        return Outgoing(status, ("y" * pad + echo(request)).encode(), "text/html")

    def xml(request: Incoming) -> Outgoing:
        text = "z" * pad + CANARY
        body = (
            f'<rpc-reply><parse-error>{text}</parse-error><execute-result code="fail" reason="{text}"/></rpc-reply>'
        )
        return Outgoing(status, body.encode(), "application/xml")

    yield from (envelope, plain, xml)


@pytest.mark.parametrize(
    ("status", "with_token"), [(200, False), (302, False), (400, False), (400, True), (401, False), (503, True)]
)
def test_a_broker_that_repeats_the_secret(status: int, with_token: bool) -> None:
    """Law: whatever it repeats, in whatever form, what is recorded has nothing of it, not even half of it at a cut."""
    for pad in (0, *range(60, 300, 17), 3_960, 3_975, 3_990):
        for answer in answers(status, pad):
            adapter, redactor = semp_adapter(answer, with_token=with_token)
            assert leaks(map(redactor.scrub, recorded(everything(adapter)))) == []


FAILURES = [
    httpx.ConnectError,
    httpx.ReadTimeout,
    httpx.RemoteProtocolError,
    httpx.ReadError,
    httpx.UnsupportedProtocol,
]


@pytest.mark.parametrize("with_token", [False, True])
@pytest.mark.parametrize("fails", FAILURES, ids=lambda kind: kind.__name__)
def test_an_exchange_that_fails(fails: type[Exception], with_token: bool, logged: Callable[[], list[str]]) -> None:
    """Law: no error of ours, nor of a library, nor its traceback, has it in the first place."""
    adapter, _ = semp_adapter(lambda request: Outgoing(200, b"{}"), with_token=with_token, fails=fails)
    assert leaks([*said(*everything(adapter)), *logged()]) == []


# --- the CLI ----------------------------------------------------------------------------------------------------------


@pytest.mark.realtime
@pytest.mark.parametrize("trouble", ["none", "wrong", "drop", "freeze", "garbage", "another key", "away", "by key"])
def test_over_ssh(trouble: str, tmp_path: Path, logged: Callable[[], list[str]]) -> None:
    """Law: log-ins that work and that fail, sessions that break, a key with a passphrase: it is nowhere."""
    world = World(
        WorldLayout((SiteLayout("ny", ("ny1",)), SiteLayout("nj", ("nj1",))), (VpnLayout("V"),)), SystemClock()
    )
    credentials = Credentials(password="another" if trouble == "wrong" else CANARY)
    with serve_world(world, directory=tmp_path / "lab", credentials=credentials, settings=LabSettings()) as lab:
        site = load_inventory(lab.inventory_path)[0].sites["ny"]
        login = Login(username="operator", password=REFERENCE)
        device = site.devices[0]
        if trouble == "another key":
            device = device.model_copy(update={"host_key": lab.host_key("nj", "nj1")})
        if trouble == "by key":
            paramiko.ECDSAKey.generate().write_private_key_file(str(tmp_path / "key"), password="not it")
            login = Login(username="operator", key_file=str(tmp_path / "key"), password=REFERENCE)
        if trouble == "away":
            lab.take_down("ny", "ny1")
        site = site.model_copy(update={"login": login, "devices": (device,), "command_timeout": 1.0})
        mishaps: dict[str, Any] = {"drop": "drop-after", "freeze": "freeze-after", "garbage": "garbage"}
        if trouble in mishaps:
            lab.chaos("ny", "ny1").plan(Mishap(mishaps[trouble], "show"))
        adapter = SolaceCliAdapter(site, AdapterContext(SystemClock(), SecretStore(environment=ENVIRONMENT)))
        assert leaks([*said(*everything(adapter)), *logged(), *lab.log("ny", "ny1").lines, repr(site)]) == []


# --- commands, and the list of processes ------------------------------------------------------------------------------

_LIST = """\
import pathlib, sys
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        sys.stdout.write(path.read_bytes().decode("utf-8", "replace").replace("\\0", " ") + "\\n")
    except OSError:
        pass
"""


def local_adapter(folder: Path, script: str) -> tuple[LocalAdapter, Redactor]:
    (folder / "list.py").write_text(_LIST)
    argv = ["/bin/sh", "-c", script.replace("LIST", f"{sys.executable} {folder}/list.py > {folder}/processes")]
    command = {
        "argv": argv,
        "check": ["/bin/sh", "-c", "echo $TOKEN; exit 3"],
        "secrets": {"TOKEN": {"env": "CANARY"}},
    }
    options = {"commands": {"x": {**command, "timeout": "5s", "idempotent": True}}}
    site = Site(name="ny", adapter="local", devices=(Device(name="ny1"),), options=options)
    store = SecretStore(environment=ENVIRONMENT)
    return LocalAdapter.fitted(site)(site, AdapterContext(SystemClock(), store)), store.redactor


@pytest.mark.realtime
@pytest.mark.parametrize(
    "script",
    [
        'LIST; test -n "$TOKEN"; echo "I was given $TOKEN"',
        'LIST; echo "$TOKEN" >&2; exit 3',
        'LIST; printf "%0490d%s" 0 "$TOKEN"; printf "%02000d" 0; kill -9 $$',
        'LIST; printf "%s%01490d" "$TOKEN" 0; exit 4',
    ],
)
def test_a_command_that_is_given_the_secret(script: str, tmp_path: Path, logged: Callable[[], list[str]]) -> None:
    """Law: it is in the command's environment, and neither in the list of processes nor in what is kept of its output."""
    adapter, _ = local_adapter(tmp_path, script)
    texts = [*said(*everything(adapter)), *logged()]
    processes = (tmp_path / "processes").read_text()
    assert "list.py" in processes
    assert leaks([*texts, processes]) == []


def test_what_a_command_is_started_with_looks_like_nothing() -> None:
    """Law: a traceback or a debugger that shows the command shows no secret of its environment."""
    assert leaks(said(Ready("x", ("/bin/true",), 1.0, {"TOKEN": CANARY}))) == []


@pytest.mark.realtime
def test_the_program_itself_is_in_the_list_without_it(tmp_path: Path) -> None:
    """Law: while a run is under way with a secret from the environment, no process shows it."""
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    secret.chmod(0o600)
    environment = {**os.environ, **ENVIRONMENT, "FAILOVER_STATE": str(tmp_path / "state")}
    command = [sys.executable, "-m", "orchestrator.cli", "controlled", "--vpn", "Trading_VPN", "--yes", "--json"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    listed = subprocess.run([sys.executable, "-c", _LIST], capture_output=True, text=True, check=True).stdout
    process.kill()
    process.communicate()
    assert "controlled" in listed
    assert leaks([listed]) == []


def test_no_adapter_is_left_out() -> None:
    """Law: every adapter that there is is tried in this folder, but for those that are given no secret."""
    tried = {"solace-cli", "solace-semp", "local", "amps-admin"}
    assert set(Registry().names()) == tried | {"mock", "mock-amps"}


def test_control_a_leak_is_seen() -> None:
    """Negative control: whole, half, in a header, in the cause of an error: each is found."""
    error = FailoverError("it failed")
    error.__cause__ = ValueError(f"password {CANARY}")
    header = base64.b64encode(f"operator:{CANARY}".encode()).decode()
    for leak in (CANARY, CANARY[3:9], f"Basic {header}", error):
        assert leaks(said(leak))
    assert leaks(said("nothing", FailoverError("nothing"))) == []
