"""What every lab of the command line needs: its folder, its ports and editions, a copy of its inventory, and a signal to
end."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.cli.render.terminal import show
from orchestrator.errors import DefinitionError

_PORTS_FILE = "ports.json"
_EDITIONS_FILE = "editions.json"


def usable_folder(directory: Path) -> None:
    """Make the lab's folder, if it is not there. Raises ``DefinitionError``."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"{directory} cannot be used: {error.strerror}") from error


def kept_ports(directory: Path) -> dict[str, int]:
    """The ports of the lab that was here before, those that are free, by the names that ``is_up`` was given. A resumed
    run looks for its sites there, since it uses the inventory that it started with."""
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


def is_up(
    directory: Path, ports: Mapping[str, int], editions: Mapping[str, Sequence[str]], inventory: Path, copy: Path
) -> None:
    """Keep ``ports`` and ``editions``, by family, for the next lab in this folder, write the inventory to ``copy`` too,
    and say that the lab is up. Raises ``DefinitionError``."""
    _keep(directory / _PORTS_FILE, ports)
    _keep(directory / _EDITIONS_FILE, {**_kept_editions(directory), **editions})
    _write_copy(inventory, copy)
    show("SIMULATED  the lab is up:")
    names = [name for family in editions.values() for name in family]
    if names:  # perhaps typed days ago
        show(f"  editions: {' '.join(names)}")


def _kept_editions(directory: Path) -> dict[str, tuple[str, ...]]:
    try:
        kept = json.loads((directory / _EDITIONS_FILE).read_text(encoding="utf-8"))
        return {family: tuple(map(str, names)) for family, names in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # no file, or none of ours: then the lab is plain


def _keep(path: Path, what: Mapping[str, object]) -> None:
    from simulator.lab.inventory import write_private

    try:
        write_private(path, json.dumps(what))
    except OSError as error:
        raise DefinitionError(f"{path.parent} cannot be used: {error.strerror}") from error


def _write_copy(written: Path, wanted: Path) -> None:
    """The same file once more, where the person wants it. Raises ``DefinitionError``."""
    from simulator.lab.inventory import write_private

    if wanted.resolve() == written.resolve():
        return
    try:
        write_private(wanted, written.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(f"{wanted} cannot be written: {error.strerror}") from error


def wait_for_signal() -> None:
    """Until Ctrl-C, or until the process is told to end."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
