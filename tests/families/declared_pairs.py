"""Inventories of the families that come with the program as one file each. No server runs behind them."""

from __future__ import annotations

from pathlib import Path

OPTIONS = {
    "postgresql": "writers: app, data: /data, log: /log",
    "redis": 'mate_address: mate, mate_port: "6379"',
    "rabbitmq": "writers: app, queue: out, shovel: fetch, node: rabbit@here, scheme: http",
}
_DEVICE = "devices: [{{name: {name}1, address: 127.0.0.1, port: 9}}]"
_SITE = "  {name}: {{adapter: {family}, " + _DEVICE + ", options: {{{options}}}, fence: {fence}}}"


def inventory_of(folder: Path, family: str, *, fence: str = "[]") -> Path:
    """The pair ny, nj with the service one. ``fence``: the fence plan of both."""
    sites = [_SITE.format(name=name, family=family, options=OPTIONS[family], fence=fence) for name in ("ny", "nj")]
    path = folder / f"{family}.yaml"
    pair = "pairs:\n  - {name: both, sites: [ny, nj], services: [one]}"
    path.write_text("\n".join(["sites:", *sites, pair, ""]))
    return path
