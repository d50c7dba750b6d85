"""Six steps for each of twenty services over SSH: this program, loops over paramiko, nornir and Ansible."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.peers.contest import Contender, Contest, Round
from bench.peers.environments import CLEAN, ROOT, environment, versions
from bench.peers.ssh.servers import SERVICES, Servers

HERE = Path(__file__).parent
ENTRY_POINTS = """\
[failover.adapters]
pairctl = bench.peers.ssh.family:PairctlAdapter

[failover.families]
pairctl = bench.peers.ssh.family:PAIRCTL
"""
SITE = """\
  {site}:
    adapter: pairctl
    devices: [{{name: {site}, address: 127.0.0.1, port: {port}, host_key: "{host_key}"}}]
    login: {{username: {user}, key_file: {key}}}
"""


def contest(servers: Servers, user: str) -> Contest:
    """All contenders on the same two servers."""
    loop = [sys.executable, str(HERE / "loop.py")]

    def own(name: str, words: list[str], remark: str) -> Contender:
        return Contender(name, _opened(servers, user, lambda: words), remark)

    def peer(name: str, env: str, script: list[str], remark: str, most: int = 99) -> Contender:
        opened = _opened(servers, user, lambda: [str(environment(env) / script[0]), *script[1:]])
        return Contender(name, opened, remark, most)

    play = ["ansible-playbook", "-i", "{folder}/hosts.json", str(HERE / "playbook.yaml"), "-e"]
    return Contest(
        f"six steps for each of {len(SERVICES)} services over SSH",
        (
            Contender(
                "failover", lambda: _ours(servers, user), "one shell a site; SQLite, synchronous=FULL, on disk"
            ),
            own("paramiko loop, open shell", [*loop, "shell"], "one shell a site; keeps no record"),
            own("paramiko loop, exec", [*loop, "exec"], "one connection a site, a channel each; keeps no record"),
            peer(
                "nornir, paramiko",
                "nornir-paramiko",
                ["python", str(HERE / "with_nornir.py"), "paramiko"],
                f"20 threads; keeps no record; {versions('nornir-paramiko')}",
            ),
            peer(
                "nornir, netmiko",
                "nornir-netmiko",
                ["python", str(HERE / "with_nornir.py"), "netmiko"],
                f"20 threads; keeps no record; {versions('nornir-netmiko')}",
            ),
            peer(
                "ansible, raw", "ansible", [*play, "how=raw"], f"20 forks; keeps no record; {versions('ansible')}", 2
            ),
            peer(
                "ansible, command",
                "ansible",
                [*play, "how=command"],
                "20 forks, pipelining; keeps no record; the same version",
                1,
            ),
        ),
        ("steps, ms", "whole command, ms"),
        "paramiko loop, open shell",
        ("commands",),
    )


def _opened(
    servers: Servers, user: str, command: Callable[[], list[str]]
) -> Callable[[], AbstractContextManager[Round]]:
    @contextmanager
    def opened() -> Iterator[Round]:
        words = command()
        hosts = servers.folder / "hosts.json"
        hosts.write_text(_hosts(servers, user))
        env = {
            **CLEAN,
            "HOME": str(servers.folder),
            "USER": user,
            "PEERS_HOSTS": str(hosts),
            "PATH": f"{Path(words[0]).parent}:{CLEAN['PATH']}",
            "ANSIBLE_CONFIG": str(HERE / "ansible.cfg"),
            "ANSIBLE_HOME": str(servers.folder / "ansible"),
        }
        words = [word.replace("{folder}", str(servers.folder)) for word in words]
        yield lambda: _played(servers, words, env)

    return opened


@contextmanager
def _ours(servers: Servers, user: str) -> Iterator[Round]:
    folder = servers.folder / "failover"
    info = folder / "site/pairctl-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pairctl\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    sites = (
        SITE.format(site=site, port=port, host_key=servers.host_key, user=user, key=servers.key)
        for site, port in servers.ports.items()
    )
    pair = f"pairs:\n  - {{name: orders, sites: [ny, nj], services: [{', '.join(SERVICES)}]}}\n"
    (folder / "inventory.yaml").write_text("sites:\n" + "".join(sites) + pair)
    env = {
        **CLEAN,
        "HOME": str(folder),
        "PYTHONPATH": f"{folder / 'site'}:{ROOT}",
        "FAILOVER_STATE": str(folder / "state"),
        "FAILOVER_INVENTORY": str(folder / "inventory.yaml"),
        "NO_COLOR": "1",
    }
    words = [sys.executable, "-m", "orchestrator.cli", "controlled", "--all", "--from", "ny", "--yes"]

    def play() -> Mapping[str, float]:
        shutil.rmtree(folder / "state", ignore_errors=True)
        (folder / "state").mkdir(mode=0o700)
        return _played(servers, words, env)

    yield play


def _played(servers: Servers, words: list[str], env: dict[str, str]) -> Mapping[str, float]:
    """Run one command until it ends, and let the servers judge its effect."""
    servers.reset()
    start = time.perf_counter()
    done = subprocess.run(
        words, cwd=servers.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - start
    assert done.returncode == 0, f"exit code {done.returncode}: {(done.stdout + done.stderr)[-500:]}"
    return {**servers.judge(), "whole command, ms": taken * 1000}


def _hosts(servers: Servers, user: str) -> str:
    """The content of the file that the scripts read, and that is Ansible's inventory."""
    import json

    common = {
        "ansible_host": "127.0.0.1",
        "ansible_user": user,
        "ansible_ssh_private_key_file": str(servers.key),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={servers.known_hosts} -o StrictHostKeyChecking=yes",
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    hosts = {
        f"{service}-{site}": {"ansible_port": port, "service": service, "site": site}
        for service in SERVICES
        for site, port in servers.ports.items()
    }
    groups = {
        site: {"hosts": {name: None for name, values in hosts.items() if values["site"] == site}}
        for site in servers.ports
    }
    return json.dumps({"all": {"hosts": hosts, "vars": common, "children": groups}})
