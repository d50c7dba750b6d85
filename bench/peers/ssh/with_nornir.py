"""The same steps with nornir: a task for each service, twenty threads. ``with_nornir.py paramiko`` or ``… netmiko``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nornir.core import Nornir
from nornir.core.inventory import ConnectionOptions, Defaults, Groups, Host, Hosts, Inventory
from nornir.core.plugins.connections import ConnectionPluginRegister
from nornir.core.plugins.runners import RunnersPluginRegister
from nornir.core.task import Result, Task
from nornir.plugins.runners import ThreadedRunner


def main(how: str) -> None:
    """Six steps, each for all services together, as in an operator's nornir script."""
    nornir = Nornir(inventory=_inventory(), runner=ThreadedRunner(num_workers=20))
    RunnersPluginRegister.auto_register()
    ConnectionPluginRegister.auto_register()
    run = _runner_of(how)

    def step(site: str, command: str, wanted: str) -> None:
        def task(task: Task) -> Result:
            said = run(task, command.format(service=task.host["service"]))
            return Result(host=task.host, result=said, failed=said != wanted)

        done = nornir.filter(site=site).run(task=task)
        if done.failed or len(done) != 20:
            raise SystemExit(f"{command} at {site}: {[(name, str(one[0])) for name, one in done.items()]}")

    step("ny", "pairctl show {service}", "role active")
    step("nj", "pairctl show {service}", "role standby")
    step("ny", "pairctl show {service}", "role active")
    step("nj", "pairctl show {service}", "role standby")
    step("ny", "pairctl set {service} standby", "done")
    step("ny", "pairctl show {service}", "role standby")
    step("ny", "pairctl show {service}", "role standby")
    step("ny", "pairctl show {service}", "role standby")
    step("nj", "pairctl set {service} active", "done")
    step("nj", "pairctl show {service}", "role active")
    step("ny", "pairctl show {service}", "role standby")
    nornir.close_connections()


def _runner_of(how: str) -> Callable[[Task, str], str]:
    if how == "paramiko":
        from nornir_paramiko.plugins.tasks import paramiko_command

        return lambda task, command: str(task.run(paramiko_command, command=command).result).strip()
    from nornir_netmiko.tasks import netmiko_send_command

    return lambda task, command: str(task.run(netmiko_send_command, command_string=command).result).strip()


def _inventory() -> Inventory:
    given = json.loads(Path(os.environ["PEERS_HOSTS"]).read_text())["all"]
    key = given["vars"]["ansible_ssh_private_key_file"]
    known = str(Path(key).parent / "known_hosts")
    config = Path(key).parent / "ssh_config"
    config.write_text(f"Host *\n  IdentityFile {key}\n  UserKnownHostsFile {known}\n  StrictHostKeyChecking yes\n")
    netmiko: dict[str, Any] = {
        "use_keys": True, "key_file": key, "allow_agent": False, "ssh_strict": True, "system_host_keys": False,
        "alt_host_keys": True, "alt_key_file": known,
    }  # fmt: skip
    options = {
        "paramiko": ConnectionOptions(extras={"key_filename": key, "allow_agent": False, "look_for_keys": False}),
        "netmiko": ConnectionOptions(platform="linux", extras=netmiko),
    }
    hosts = {
        name: Host(
            name=name, hostname="127.0.0.1", port=values["ansible_port"], username=given["vars"]["ansible_user"],
            data=values, connection_options=options, defaults=Defaults(),
        )
        for name, values in given["hosts"].items()
    }  # fmt: skip
    return Inventory(hosts=Hosts(hosts), groups=Groups(), defaults=Defaults())


if __name__ == "__main__":
    main(sys.argv[1])
