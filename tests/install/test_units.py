"""The systemd units and the image: files that no engine runs here, so what they must say is checked."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import SecretRef
from tests.architecture.source import ROOT
from tests.cli.processes import FAILOVER

UNITS = sorted((ROOT / "install/systemd").glob("*.service"))
DOCKERFILE = ROOT / "install/Dockerfile"


def sections(path: Path) -> configparser.ConfigParser:
    """The unit; of a key that is there several times the last one counts here."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment]  # keys of systemd have capitals
    parser.read(path, encoding="utf-8")
    return parser


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, each with its arguments; continued lines are joined."""
    plain = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    lines = re.sub(r"\\\n\s*", " ", plain).splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def complaints(text: str) -> list[str]:
    """What is wrong with a Dockerfile of ours."""
    found = instructions(text)
    last = found[max(number for number, (name, _) in enumerate(found) if name == "FROM") :]
    said = dict(last)
    user = said.get("USER", "root").split(":")[0]
    rules = {
        "it runs as root": not user.isdigit() or int(user) == 0,
        "it names no signal to stop it": said.get("STOPSIGNAL") != "SIGTERM",
        "its entry point is a shell": not said.get("ENTRYPOINT", "").startswith("["),
        "it adds from elsewhere": any(name == "ADD" or "http" in arguments for name, arguments in found),
        "a base has no version": any(
            name == "FROM" and not re.search(r":\S", arguments) for name, arguments in found
        ),
        "something is installed with a network": any(
            name == "RUN" and re.search(r"\b(apt-get|curl|wget|pip)\b", arguments) for name, arguments in found
        ),
        "its state is no volume": said.get("VOLUME") != "/var/lib/failover",
        "it writes byte code into its root": "PYTHONDONTWRITEBYTECODE=1" not in said.get("ENV", ""),
        "USER is not the last word": [name for name, _ in last].index("USER")
        < max((number for number, (name, _) in enumerate(last) if name in ("RUN", "COPY")), default=0),
    }
    return [text for text, is_wrong in rules.items() if is_wrong]


def test_the_image() -> None:
    """Law: it runs as a user without rights, stops by SIGTERM, and keeps what it writes in one volume, so its root can be
    read-only; nothing is downloaded while it is built."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert complaints(text) == []
    assert "--read-only" in text


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("USER 10001:10001", "USER root", "it runs as root"),
        ("STOPSIGNAL SIGTERM\n", "", "it names no signal to stop it"),
        ('ENTRYPOINT ["failover"]', "ENTRYPOINT failover", "its entry point is a shell"),
        ("VOLUME /var/lib/failover\n", "", "its state is no volume"),
        ("RUN groupadd", "RUN apt-get update && groupadd", "something is installed with a network"),
    ],
)
def test_control_a_wrong_image_is_found(old: str, new: str, complaint: str) -> None:
    """Control: each rule can fail."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert old in text
    assert complaint in complaints(text.replace(old, new))


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit(path: Path) -> None:
    """Law: state in a directory of the service's, the secret as a credential, a user without rights, and time to stop."""
    service = sections(path)["Service"]
    assert service["StateDirectory"] == "failover" and service["StateDirectoryMode"] == "0700"
    assert service["LoadCredential"].startswith("failover-password:/")
    assert service["User"] == "failover" and service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict" and service["CapabilityBoundingSet"] == ""
    assert int(service["TimeoutStopSec"]) >= 60 and service["KillMode"] == "mixed"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_is_there(path: Path) -> None:
    """Law: the command of a unit has only options that it knows."""
    program, *arguments = shlex.split(sections(path)["Service"]["ExecStart"])
    assert program == "/opt/failover/bin/failover"

    shown = subprocess.run([FAILOVER, arguments[0], "--help"], capture_output=True, text=True, check=True).stdout
    assert all(one in shown for one in arguments[1:] if one.startswith("--"))


@pytest.mark.realtime
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_systemd_takes_a_unit(path: Path, tmp_path: Path) -> None:
    """Law: `systemd-analyze verify` has nothing to say about it, but that the program is not installed here."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze: it comes with systemd")
    copy = tmp_path / path.name.replace("@", "@x")
    program = tmp_path / "failover"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    text = path.read_text(encoding="utf-8").replace("/opt/failover/bin/failover", str(program))
    copy.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    found = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True, check=False)
    ours = [line for line in (found.stdout + found.stderr).splitlines() if "failover" in line]
    assert (found.returncode, ours) == (0, [])
    copy.write_text(text.replace("KillMode=mixed", "KillMode=nonsense"), encoding="utf-8")
    wrong = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True, check=False)
    assert "kill mode" in wrong.stderr + wrong.stdout  # control: it reads the file


@pytest.mark.realtime
def test_a_credential_of_the_service_is_a_secret(tmp_path: Path) -> None:
    """Law: the reference that the units name gives the credential, whatever mode systemd gave its file."""
    if shutil.which("systemd-creds") is None:
        pytest.skip("no systemd-creds: it comes with systemd 250 and newer")
    (tmp_path / "failover-password").write_text("swordfish\n", encoding="utf-8")
    (tmp_path / "failover-password").chmod(0o440)
    reference = SecretRef(command=("systemd-creds", "cat", "failover-password"))
    store = SecretStore(environment={**os.environ, "CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert store.reveal(reference, what="password of ny") == "swordfish"
    for unit in UNITS:
        assert "{command: [systemd-creds, cat, failover-password]}" in unit.read_text(encoding="utf-8")
