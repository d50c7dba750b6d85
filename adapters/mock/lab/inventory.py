"""The files of a running lab: an inventory that names its nodes, and the password the inventory refers to.

Both are written whole or not at all, and are readable by their owner only. The YAML is written as text, every value
in double quotes (JSON strings are YAML), because this package must not import a YAML library.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ADAPTER, SEMP_ADAPTER = "solace-cli", "solace-semp"
PAIR = "trading"

_HEAD = """\
# The SIMULATED sites of a lab. It wrote this file when it started; the ports answer while it runs.
# Host keys are pinned: a stranger on one of these ports is refused.
"""
_SEMP_HEAD = """\
# The SIMULATED sites of a lab over SEMP. It wrote this file when it started; the ports answer while it runs.
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node as an inventory lists it. ``host_key`` is ``<type> <base64>``; over SEMP there is none."""

    name: str
    address: str
    port: int
    host_key: str
    router_name: str


def inventory_text(
    sites: Mapping[str, Sequence[Node]], services: Sequence[str], *, username: str, password_file: Path
) -> str:
    """The inventory as YAML. The first site is the home site of the pair."""
    return _inventory(_HEAD, ADAPTER, sites, services, username=username, password_file=password_file, options={})


def semp_inventory_text(
    sites: Mapping[str, Sequence[Node]],
    services: Sequence[str],
    *,
    username: str,
    password_file: Path,
    options: Mapping[str, str],
) -> str:
    """The same for SEMP; ``options`` say how its ports are spoken to."""
    return _inventory(
        _SEMP_HEAD, SEMP_ADAPTER, sites, services, username=username, password_file=password_file, options=options
    )


def _inventory(
    head: str,
    adapter: str,
    sites: Mapping[str, Sequence[Node]],
    services: Sequence[str],
    *,
    username: str,
    password_file: Path,
    options: Mapping[str, str],
) -> str:
    lines = [head + "sites:"]
    for site, nodes in sites.items():
        lines += [f"  {_quoted(site)}:", f"    adapter: {_quoted(adapter)}", "    simulated: true", "    devices:"]
        for node in nodes:
            lines += [
                f"      - name: {_quoted(node.name)}",
                f"        address: {_quoted(node.address)}",
                f"        port: {node.port}",
                *([f"        host_key: {_quoted(node.host_key)}"] if node.host_key else []),
                f"        router_name: {_quoted(node.router_name)}",
            ]
        lines += [
            "    login:",
            f"      username: {_quoted(username)}",
            "      password:",
            f"        file: {_quoted(str(password_file))}",
            *(["    options:"] if options else []),
            *(f"      {name}: {_quoted(value)}" for name, value in options.items()),
        ]
    lines += [
        "pairs:",
        f"  - name: {_quoted(PAIR)}",
        f"    sites: [{', '.join(_quoted(site) for site in sites)}]",
        "    services:",
        *(f"      - {_quoted(service)}" for service in services),
    ]
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_private(path: Path, text: str) -> None:
    """Put ``text`` into ``path``, mode 0600, at once: a reader sees the old file or the new one."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except OSError:
        Path(unfinished).unlink(missing_ok=True)
        raise
