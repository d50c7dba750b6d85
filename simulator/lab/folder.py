"""The folder of a lab: keeps its ports and editions, and writes a copy of its inventory."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.errors import DefinitionError
from simulator.lab.inventory import write_private

_PORTS_FILE = "ports.json"
_EDITIONS_FILE = "editions.json"


def usable_folder(directory: Path) -> None:
    """Create the lab's folder if it does not exist. Raises ``DefinitionError``."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"{directory} cannot be used: {error.strerror}") from error


def kept_ports(directory: Path) -> dict[str, int]:
    """The ports of the earlier lab in this folder that are free now, by the names given to ``keep``. The next lab
    must reuse them, because a resumed run still uses the inventory with these ports."""
    try:
        kept = json.loads((directory / _PORTS_FILE).read_text(encoding="utf-8"))
        return {name: port for name, port in kept.items() if _is_free(port)}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # no file, or an unknown format: any port is fine


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True


def editions_of(directory: Path, family: str, typed: Sequence[str]) -> tuple[str, ...]:
    """The typed editions. Without any, the editions of the earlier lab of this ``family`` in this folder."""
    return tuple(typed) or _kept_editions(directory).get(family, ())


def keep(
    directory: Path, ports: Mapping[str, int], editions: Mapping[str, Sequence[str]], inventory: Path, copy: Path
) -> None:
    """Save ``ports`` and ``editions`` (by family) for the next lab in this folder. Also write the inventory to ``copy``.
    Raises ``DefinitionError``."""
    _keep(directory / _PORTS_FILE, ports)
    _keep(directory / _EDITIONS_FILE, {**_kept_editions(directory), **editions})
    _write_copy(inventory, copy)


def _kept_editions(directory: Path) -> dict[str, tuple[str, ...]]:
    try:
        kept = json.loads((directory / _EDITIONS_FILE).read_text(encoding="utf-8"))
        return {family: tuple(map(str, names)) for family, names in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # no file, or an unknown format: the lab has no editions


def _keep(path: Path, what: Mapping[str, object]) -> None:
    try:
        write_private(path, json.dumps(what))
    except OSError as error:
        raise DefinitionError(f"{path.parent} cannot be used: {error.strerror}") from error


def _write_copy(written: Path, wanted: Path) -> None:
    """Copy the file to the path that the operator named. Raises ``DefinitionError``."""
    if wanted.resolve() == written.resolve():
        return
    try:
        write_private(wanted, written.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(f"{wanted} cannot be written: {error.strerror}") from error
