"""The files of a running lab: inventories with its nodes, and the password file that the inventories refer to.

All writes are atomic, and only the owner can read the files. The YAML is written as text, with every value in double
quotes (JSON strings are YAML), because this package must not import a YAML library.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ADAPTER, SEMP_ADAPTER = "solace-cli", "solace-semp"
PAIR = "trading"

_HEAD = """\
# The SIMULATED sites of a lab. It wrote this file when it started; the ports answer while it runs.
# Host keys and the certificate authority are pinned: a stranger on one of these ports is refused.
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node as an inventory lists it. ``host_key`` is ``<type> <base64>``, or empty for SEMP."""

    name: str
    address: str
    port: int
    host_key: str
    router_name: str


@dataclass(frozen=True, slots=True)
class Way:
    """The connection of one adapter to both sites. ``options``: the adapter's options for its ports."""

    adapter: str
    sites: Mapping[str, Sequence[Node]]
    options: Mapping[str, str] = field(default_factory=dict)


def inventory_text(
    ways: Sequence[Way],
    services: Sequence[str],
    *,
    username: str,
    password_file: Path,
    editions: Sequence[str] = (),
) -> str:
    """The inventory as YAML. The first site is the home site of the pair. The first way is the preferred one."""
    first, *further = ways
    lines = [_HEAD + editions_line(editions) + "sites:"]
    for site in first.sites:
        lines += [
            f"  {_quoted(site)}:",
            f"    adapter: {_quoted(first.adapter)}",
            "    simulated: true",
            *_spoken_to(first, site, "    "),
            "    login:",
            f"      username: {_quoted(username)}",
            "      password:",
            f"        file: {_quoted(str(password_file))}",
            *(["    also:"] if further else []),
        ]
        for way in further:
            lines += [f"      - adapter: {_quoted(way.adapter)}", *_spoken_to(way, site, "        ")]
        lines += ["    fence:", "      - {backbone: true}"]
    lines += [
        "pairs:",
        f"  - name: {_quoted(PAIR)}",
        f"    sites: [{', '.join(_quoted(site) for site in first.sites)}]",
        "    transaction_wait: 5s  # the simulated transaction managers are fast; real ones get 3m",
        "    services:",
        *(f"      - {_quoted(service)}" for service in services),
    ]
    return "\n".join(lines) + "\n"


def editions_line(editions: Sequence[str]) -> str:
    """The comment with the editions of the lab, or "" without editions."""
    return f"# Editions: {' '.join(editions)}\n" if editions else ""


def _spoken_to(way: Way, site: str, indent: str) -> list[str]:
    lines = ["devices:"]
    for node in way.sites[site]:
        lines += [
            f"  - name: {_quoted(node.name)}",
            f"    address: {_quoted(node.address)}",
            f"    port: {node.port}",
            *([f"    host_key: {_quoted(node.host_key)}"] if node.host_key else []),
            f"    router_name: {_quoted(node.router_name)}",
        ]
    if way.options:
        lines += ["options:", *(f"  {name}: {_quoted(value)}" for name, value in way.options.items())]
    return [indent + line for line in lines]


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_private(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically, mode 0600: a reader sees the old file or the new one."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp sets mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except OSError:
        Path(unfinished).unlink(missing_ok=True)
        raise
