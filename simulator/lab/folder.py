"""What every lab needs of its folder: its ports and editions, and a copy of its inventory."""

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
    """Make the lab's folder, if it is not there. Raises ``DefinitionError``."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"{directory} cannot be used: {error.strerror}") from error


def kept_ports(directory: Path) -> dict[str, int]:
    """The ports of the lab that was here before, those that are free, by the names that ``keep`` was given. A resumed
    run connects to its sites there, since it uses the inventory that it started with."""
    try:
        kept = json.loads((directory / _PORTS_FILE).read_text(encoding="utf-8"))
        return {name: port for name, port in kept.items() if _is_free(port)}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # no file, or none of ours: then any port will do


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True


def editions_of(directory: Path, family: str, typed: Sequence[str]) -> tuple[str, ...]:
    """The editions that were typed, or, without any, those of the lab of this ``family`` that was here before."""
    return tuple(typed) or _kept_editions(directory).get(family, ())


def keep(
    directory: Path, ports: Mapping[str, int], editions: Mapping[str, Sequence[str]], inventory: Path, copy: Path
) -> None:
    """Keep ``ports`` and ``editions``, by family, for the next lab in this folder; write the inventory to ``copy`` too.
    Raises ``DefinitionError``."""
    _keep(directory / _PORTS_FILE, ports)
    _keep(directory / _EDITIONS_FILE, {**_kept_editions(directory), **editions})
    _write_copy(inventory, copy)


def _kept_editions(directory: Path) -> dict[str, tuple[str, ...]]:
    try:
        kept = json.loads((directory / _EDITIONS_FILE).read_text(encoding="utf-8"))
        return {family: tuple(map(str, names)) for family, names in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # no file, or none of ours: then the lab is plain


def _keep(path: Path, what: Mapping[str, object]) -> None:
    try:
        write_private(path, json.dumps(what))
    except OSError as error:
        raise DefinitionError(f"{path.parent} cannot be used: {error.strerror}") from error


def _write_copy(written: Path, wanted: Path) -> None:
    """The same file once more, where the operator wants it. Raises ``DefinitionError``."""
    if wanted.resolve() == written.resolve():
        return
    try:
        write_private(wanted, written.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(f"{wanted} cannot be written: {error.strerror}") from error
