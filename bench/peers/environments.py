"""Installs the peers into separate environments below ``.venv-peers``, which ``make clean`` deletes.

Nothing is installed into the system or into the product's own environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from bench.peers.contest import Unavailable

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEERS = ROOT / ".venv-peers"
CLEAN = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def environment(name: str) -> Path:
    """The folder of programs of a virtual environment with ``requirements-<name>.txt``. Raises ``Unavailable``."""
    pins = HERE / f"requirements-{name}.txt"
    folder, stamp = PEERS / name, PEERS / name / ".installed"
    wanted = sha256(pins.read_bytes()).hexdigest()
    if not (stamp.is_file() and stamp.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        print(f"installing {name} …", file=sys.stderr)
        _run([_python(), "-m", "venv", str(folder)], PEERS)
        # pip runs with the machine's own settings, which name the registries.
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        _run([*pip, "-r", str(pins)], PEERS)
        stamp.write_text(wanted)
    return folder / "bin"


def _python() -> str:
    """The system's interpreter, if there is one, because the account of the servers may not be able to run ours."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").is_file() else sys.executable


def versions(name: str) -> str:
    """The named requirements of ``requirements-<name>.txt``: its lines up to the first empty line."""
    lines = (HERE / f"requirements-{name}.txt").read_text().split("\n\n")[0].splitlines()
    return ", ".join(line.replace("==", " ") for line in lines if not line.startswith("#"))


def debian() -> Path:
    """The root of the unpacked packages of ``debian-packages.txt``, in their exact versions. Raises ``Unavailable``."""
    wanted = [line for line in (HERE / "debian-packages.txt").read_text().splitlines() if not line.startswith("#")]
    folder, stamp = PEERS / "debian", PEERS / "debian/.installed"
    if stamp.is_file() and stamp.read_text().split() == wanted:
        return folder
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is missing, so this is no Debian")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print("unpacking packages of Debian …", file=sys.stderr)
    _run(["apt-get", "download", "-q", *wanted], folder)
    for package in folder.glob("*.deb"):
        _run(["dpkg-deb", "-x", str(package), str(folder)], folder)
        package.unlink()
    stamp.write_text("\n".join(wanted))
    return folder


def _run(words: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in said if line.startswith(("ERROR", "E:"))] or said
        raise Unavailable(f"{' '.join(words[:2])} failed: {errors[-1] if errors else 'it printed nothing'}")
