"""A pair that repmgr manages: a copy of PostgreSQL's tree that includes repmgr, and sshd for commands to the mate."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.peers.account import account, answers, call, free_port, server, wait_for
from bench.peers.contest import Round, Unavailable
from bench.peers.environments import CLEAN, debian
from bench.peers.postgresql.servers import Server, Servers, a_pair, hand_over

Played = Callable[[Servers, Callable[[Server, Server], None]], Mapping[str, float]]
SETTINGS = """
shared_preload_libraries = 'repmgr'
max_replication_slots = 10
"""
CONFIG = """\
node_id={number}
node_name='{name}'
conninfo='host=127.0.0.1 port={port} user=admin dbname=repmgr connect_timeout=2'
data_directory='{data}'
pg_bindir='{programs}'
repmgr_bindir='{programs}'
ssh_options='-q -F {folder}/ssh_config'
service_start_command='{programs}/pg_ctl -D {data} -l {data}.log -w start'
service_stop_command='{programs}/pg_ctl -D {data} -m fast -w stop'
service_restart_command='{programs}/pg_ctl -D {data} -l {data}.log -m fast -w restart'
service_reload_command='{programs}/pg_ctl -D {data} reload'
service_promote_command='{programs}/pg_ctl -D {data} -w promote'
log_level=NOTICE
"""
SSHD = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/ssh_key
AuthorizedKeysFile {folder}/ssh_key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
SetEnv SHLVL=2
"""
SSH = """\
Host *
  Port {port}
  User {user}
  IdentityFile {folder}/ssh_key
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking yes
"""


def repmgr_pair(played: Played) -> Callable[[], AbstractContextManager[Round]]:
    """Opens the pair. A round is one ``repmgr standby switchover`` at the target."""

    @contextmanager
    def opened() -> Iterator[Round]:
        programs = _tree()
        with a_pair(programs, SETTINGS) as servers, _sshd(servers.both[0].folder):
            _register(servers)

            def move(source: Server, target: Server) -> None:
                target.tool("repmgr", "-f", str(_config(target)), "standby", "switchover")

            yield lambda: played(servers, move)

    return opened


def _tree() -> Path:
    """Copy PostgreSQL's tree, which works from any folder, to the unpacked repmgr. Raises ``Unavailable``."""
    root = debian()
    programs = root / "usr/lib/postgresql/15/bin"
    if not (programs / "postgres").exists():
        for part in ("usr/lib/postgresql/15", "usr/share/postgresql/15"):
            if not Path("/", part).is_dir():
                raise Unavailable("the package of repmgr is for PostgreSQL 15: install postgresql-15")
            shutil.copytree(Path("/", part), root / part, dirs_exist_ok=True, symlinks=True)
    return programs


@contextmanager
def _sshd(folder: Path) -> Iterator[None]:
    """One sshd of the account, for both nodes, because repmgr runs its commands at the mate over SSH."""
    port = free_port()
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "ssh_key")]
    call(words, folder, CLEAN)
    public = " ".join((folder / "ssh_key.pub").read_text().split()[:2])
    values = {"port": port, "folder": folder, "user": account()}
    hand_over(folder / "sshd.conf", SSHD.format(**values))
    hand_over(folder / "ssh_config", SSH.format(**values))
    hand_over(folder / "known_hosts", f"[127.0.0.1]:{port} {public}\n")
    with server(["/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd.conf")], folder, CLEAN, "sshd.log"):
        wait_for(lambda: answers(port), "sshd answers")
        yield


def _config(one: Server) -> Path:
    return one.folder / f"{one.name}.repmgr.conf"


def _register(servers: Servers) -> None:
    primary, standby = servers.both
    primary.ask("create database repmgr")
    for number, one in enumerate(servers.both, 1):
        values = {"number": number, "name": one.name, "port": one.port, "data": one.data}
        hand_over(_config(one), CONFIG.format(**values, programs=one.programs, folder=one.folder))
    primary.tool("repmgr", "-f", str(_config(primary)), "primary", "register")
    servers.in_order()
    upstream = ["--upstream-node-id", "1"]
    standby.tool("repmgr", "-f", str(_config(standby)), "standby", "register", *upstream)
