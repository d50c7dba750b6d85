"""A device behind a real SSH server, and the keys that it shows."""

from __future__ import annotations

from collections.abc import Iterator

import paramiko
import pytest

from orchestrator.clock import VirtualClock
from tests.ssh.dialled import TABLE
from tests.ssh.scripted import ScriptedDevice
from tests.ssh.sshd import Sshd


@pytest.fixture(scope="session")
def host_key() -> paramiko.PKey:
    return paramiko.ECDSAKey.generate()


@pytest.fixture(scope="session")
def rsa_key() -> paramiko.PKey:
    return paramiko.RSAKey.generate(2048)


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice(VirtualClock(), answers={"show table": TABLE, "show other": "other\n"})


@pytest.fixture
def sshd(device: ScriptedDevice, host_key: paramiko.PKey) -> Iterator[Sshd]:
    with Sshd(device, [host_key]).running() as server:
        yield server
