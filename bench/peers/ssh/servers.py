"""Two OpenSSH servers on the loopback interface, each with a program that keeps the roles of twenty services.

``pairctl show NAME`` prints a role, ``pairctl set NAME ROLE`` changes it. Each call is recorded with its time before it
is executed. These records, not a contender's own clock, give the time and the order of the steps.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.peers.account import answers, folder_on_disk, free_port, server, wait_for
from bench.peers.contest import Unavailable
from bench.peers.environments import CLEAN

SERVICES = tuple(f"orders-{number:02}" for number in range(1, 21))
# The commands of six steps for each service, in order; readings of both sites may be swapped. The readings that a change
# depends on come before it, and the result is read after it.
ORDER = (
    ("ny", "show"),  # 1: the source is active
    ("nj", "show"),  # 2: the target is standby
    ("ny", "show"),  # 3: both roles are unchanged; the source becomes standby, and reports it
    ("nj", "show"),
    ("ny", "set", "standby"),
    ("ny", "show"),
    ("ny", "show"),  # 4: wait until the source reports that it is standby
    ("ny", "show"),  # 5: the source is still standby; the target becomes active, and reports it
    ("nj", "set", "active"),
    ("nj", "show"),
    ("ny", "show"),  # 6: the source is still standby
)

_SSHD = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
UseDNS no
MaxStartups 200
MaxSessions 200
SetEnv SHLVL=2
LogLevel ERROR
ForceCommand {folder}/{site}.sh
"""
# SHLVL: with it, bash reads no file of the account for a command, for any user of the benchmark.
# A command that a client sends runs in a shell. A client that asks for a shell gets a shell with a plain prompt.
_SHELL = """\
#!/bin/bash
export PATH={folder}/{site}.bin:/usr/bin:/bin PS1='{site}# '
[ -z "$SSH_ORIGINAL_COMMAND" ] || exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
exec /bin/sh -i
"""
_PROGRAM = """\
#!/bin/bash
echo "$EPOCHREALTIME {site} $*" >>{folder}/calls
case $1 in
show) echo "role $(<{folder}/{site}/$2)" ;;
set) echo "$3" >{folder}/{site}/$2; echo done ;;
*) exit 2 ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of ``pairctl``, as the server recorded it."""

    at_s: float
    site: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Servers:
    """Both servers. ``key``: the client's key. ``host_key``: the key of both servers."""

    folder: Path
    ports: dict[str, int]

    @property
    def key(self) -> Path:
        return self.folder / "client"

    @property
    def host_key(self) -> str:
        return " ".join((self.folder / "host.pub").read_text().split()[:2])

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def reset(self) -> None:
        """Make every service active at ny again, and delete the records of calls."""
        for service in SERVICES:
            self._write(f"ny/{service}", "active\n")
            self._write(f"nj/{service}", "standby\n")
        self._write("calls", "")

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def calls(self) -> list[Call]:
        """All calls since ``reset``, in the order of their times."""
        lines = [line.split() for line in (self.folder / "calls").read_text().splitlines()]
        return sorted((Call(float(at), site, tuple(words)) for at, site, *words in lines), key=lambda one: one.at_s)

    def judge(self) -> dict[str, float]:
        """Check that every service was moved, and each step proven before the next. Returns the time and the number of
        commands."""
        calls = self.calls()
        for service in SERVICES:
            assert (self.folder / f"nj/{service}").read_text() == "active\n", f"{service} was not activated"
            own = [(one.site, *one.words) for one in calls if one.words[1] == service]
            wanted = [(site, words[0], service, *words[1:]) for site, *words in ORDER]
            for site in self.ports:
                assert [one for one in own if one[0] == site] == [one for one in wanted if one[0] == site], (
                    f"{service}: other commands at {site}: {own}"
                )
            demote, activate = own.index(wanted[4]), own.index(wanted[8])
            assert sum(one[0] == "nj" for one in own[:demote]) == 2, (
                f"{service}: not read before it was demoted: {own}"
            )
            assert sum(one[0] == "ny" for one in own[:activate]) == 6, f"{service}: activated too early: {own}"
        return {"steps, ms": (calls[-1].at_s - calls[0].at_s) * 1000, "commands": len(calls)}


@contextmanager
def two_servers() -> Iterator[Servers]:
    """Both servers, run by the current user: an ordinary account cannot give a client a terminal on every system. Raises
    ``Unavailable``."""
    sshd = Path("/usr/sbin/sshd")
    if not sshd.is_file():
        raise Unavailable("no OpenSSH server: install openssh-server")
    with folder_on_disk("ssh") as folder, ExitStack() as stack:
        ports = {"ny": free_port(), "nj": free_port()}
        for name in ("host", "client"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(words, env=CLEAN, check=True)
        for site, port in ports.items():
            _prepare(folder, site, port)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(parents=True, exist_ok=True)  # sshd of root needs this folder
        for site, port in ports.items():
            words = [str(sshd), "-D", "-e", "-f", str(folder / f"{site}.conf")]
            stack.enter_context(server(words, folder, CLEAN, f"{site}.log", as_account=False))
            wait_for(lambda port=port: answers(port), f"sshd of {site} answers")  # type: ignore[misc]
        made = Servers(folder, ports)
        hosts = [f"[127.0.0.1]:{port} {made.host_key}\n" for port in ports.values()]
        made.known_hosts.write_text("".join(hosts))
        made.reset()
        yield made


def _prepare(folder: Path, site: str, port: int) -> None:
    values = {"folder": folder, "site": site, "port": port}
    (folder / site).mkdir()
    (folder / f"{site}.bin").mkdir()
    (folder / f"{site}.conf").write_text(_SSHD.format(**values))
    for name, text in ((f"{site}.sh", _SHELL), (f"{site}.bin/pairctl", _PROGRAM)):
        (folder / name).write_text(text.format(**values))
        (folder / name).chmod(0o755)
