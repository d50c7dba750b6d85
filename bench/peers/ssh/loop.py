"""The bare loop: the same commands over paramiko, with a check of each answer. ``loop.py exec`` or ``loop.py shell``."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import paramiko

Ask = Callable[[str], str]


def main(how: str) -> None:
    """Move all services in sequence."""
    given = json.loads(Path(os.environ["PEERS_HOSTS"]).read_text())["all"]
    ports = {one["site"]: one["ansible_port"] for one in given["hosts"].values()}
    ask = {
        site: (over_exec if how == "exec" else over_shell)(_client(port, given["vars"]))
        for site, port in ports.items()
    }
    for service in dict.fromkeys(one["service"] for one in given["hosts"].values()):
        move(ask["ny"], ask["nj"], service)


def move(ny: Ask, nj: Ask, service: str) -> None:
    """The eleven commands of six steps."""
    show = f"pairctl show {service}"
    expect(ny(show), "role active")
    expect(nj(show), "role standby")
    expect(ny(show), "role active")
    expect(nj(show), "role standby")
    expect(ny(f"pairctl set {service} standby"), "done")
    expect(ny(show), "role standby")
    expect(ny(show), "role standby")
    expect(ny(show), "role standby")
    expect(nj(f"pairctl set {service} active"), "done")
    expect(nj(show), "role active")
    expect(ny(show), "role standby")


def expect(said: str, wanted: str) -> None:
    """Check an answer. A wrong answer ends the loop."""
    if said != wanted:
        raise SystemExit(f"{said!r} in place of {wanted!r}")


def _client(port: int, given: dict[str, str]) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.load_host_keys(str(Path(given["ansible_ssh_private_key_file"]).parent / "known_hosts"))
    sock = socket.create_connection((given["ansible_host"], port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # without it each command waits for an acknowledgement
    client.connect(
        given["ansible_host"], port, given["ansible_user"], key_filename=given["ansible_ssh_private_key_file"],
        allow_agent=False, look_for_keys=False, sock=sock,
    )  # fmt: skip
    return client


def over_exec(client: paramiko.SSHClient) -> Ask:
    """A channel for each command."""

    def ask(command: str) -> str:
        _, out, _ = client.exec_command(command)
        said = out.read().decode().strip()
        if out.channel.recv_exit_status() != 0:
            raise SystemExit(f"{command} failed")
        return said

    return ask


def over_shell(client: paramiko.SSHClient) -> Ask:
    """One shell for all commands. An answer is the text between the echo and the prompt."""
    channel = client.invoke_shell(width=512)
    prompt = re.compile(rb"(?:\A|\n)(?:ny|nj)# \Z")

    def until_prompt() -> str:
        heard = b""
        while not prompt.search(heard):
            got = channel.recv(65536)
            if not got:
                raise SystemExit("the session ended")
            heard += got
        return heard.decode()

    until_prompt()

    def ask(command: str) -> str:
        channel.sendall(command.encode() + b"\r")
        lines = until_prompt().replace("\r", "").split("\n")
        if lines[0] != command:
            raise SystemExit(f"no echo of {command}: {lines}")
        return "\n".join(lines[1:-1])

    return ask


if __name__ == "__main__":
    main(sys.argv[1])
