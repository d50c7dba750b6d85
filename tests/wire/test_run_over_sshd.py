"""A whole run through real OpenSSH servers: ssh session, ForceCommand, relay and the appliances' CLI behind them."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import paramiko
import pytest

from orchestrator.clock import SystemClock
from simulator.lab.of_world import serve_world
from simulator.lab.server import Credentials, Lab, LabSettings
from simulator.solace.layout import SiteLayout, TransactionLayout, VpnLayout, WorldLayout
from simulator.solace.world import World

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(
        SSHD is None or os.geteuid() != 0, reason="sshd is not installed, or we are not root, as it wants to be"
    ),
]
XID = "0021B028-00-01"


def world() -> World:
    """One message VPN with a backlog and a prepared transaction."""
    vpn = VpnLayout(
        "Trading VPN", publish_rate=50, drain_rate=800, backlog=400, transactions=(TransactionLayout(XID),)
    )
    return World(WorldLayout((SiteLayout("ny", ("ny1",)), SiteLayout("nj", ("nj1",))), (vpn,)), SystemClock())


@contextmanager
def sshd_before(lab: Lab, site: str, node: str, client: paramiko.PKey, folder: Path) -> Iterator[dict[str, object]]:
    """Debian's sshd on loopback with the node's relay as ForceCommand; yields the device as an inventory lists it."""
    host = paramiko.ECDSAKey.generate()
    host.write_private_key_file(str(folder / f"{node}.host"))
    (folder / "authorized_keys").write_text(f"{client.get_name()} {client.get_base64()}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / f"{node}.sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder / f'{node}.host'}\nPidFile none\nUsePAM no\n"
        "StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        f"AuthorizedKeysFile {folder / 'authorized_keys'}\n"
        f"ForceCommand {sys.executable} -m simulator.lab.relay.shell --socket {lab.socket_path(site, node)}\n"
    )
    Path("/run/sshd").mkdir(parents=True, exist_ok=True)
    assert SSHD is not None
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
        key = f"{host.get_name()} {host.get_base64()}"
        yield {"name": node, "address": "127.0.0.1", "port": port, "host_key": key, "router_name": node}
    finally:
        process.terminate()
        process.wait(20)


def test_a_controlled_run_through_openssh(tmp_path: Path) -> None:
    """The name has a blank, the queue a backlog, the transaction a decision: done, and nothing is lost."""
    client = paramiko.ECDSAKey.generate()
    client.write_private_key_file(str(tmp_path / "identity"))
    user = pwd.getpwuid(os.geteuid()).pw_name
    credentials = Credentials(username=user, public_keys=(f"{client.get_name()} {client.get_base64()}",))
    simulated = world()
    with ExitStack() as stack:
        settings = LabSettings(with_sockets=True)
        lab = stack.enter_context(
            serve_world(simulated, directory=tmp_path / "lab", credentials=credentials, settings=settings)
        )
        sites = {
            site: {
                "adapter": "solace-cli",
                "simulated": True,
                "devices": [stack.enter_context(sshd_before(lab, site, node, client, tmp_path))],
                "login": {"username": user, "key_file": str(tmp_path / "identity")},
            }
            for site, node in (("ny", "ny1"), ("nj", "nj1"))
        }
        pairs = [{"name": "wire", "sites": ["ny", "nj"], "services": ["Trading VPN"], "transaction_wait": "1s"}]
        inventory, decisions = tmp_path / "inventory.yaml", tmp_path / "decisions.yaml"
        inventory.write_text(json.dumps({"sites": sites, "pairs": pairs}))
        decisions.write_text(
            json.dumps({"decisions": [{"xid": XID, "choice": "rollback", "reason": "branch 2 did"}]})
        )
        (tmp_path / "state").mkdir(mode=0o700)
        command = [sys.executable, "-m", "orchestrator.cli", "controlled", "-i", str(inventory), "--all", "--yes"]
        done = subprocess.run(
            [*command, "--xa", str(decisions), "--json"],
            env={**os.environ, "FAILOVER_STATE": str(tmp_path / "state")},
            capture_output=True,
            text=True,
            timeout=120,
        )
        tally = simulated.tally("Trading VPN")
        changes = {site: lab.log(site, node).changes for site, node in (("ny", "ny1"), ("nj", "nj1"))}
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert (tally.lost, tally.both_active, [change.role for change in tally.roles[-2:]]) == (
        0,
        (),
        ["standby", "active"],
    )
    assert changes["ny"] == (
        "replication state standby",
        f"rollback-transaction xid {XID}",
        f"delete-transaction xid {XID}",
    )
    assert changes["nj"][0] == "replication state active"
