"""The certificates of a lab: a separate CA, and one certificate for each node. Only this module imports trustme.

They are for simulated devices on this machine and are no proof of a real identity. The CA is kept on disk, so clients
that trust it still do so when the lab starts again.
"""

from __future__ import annotations

import fcntl
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trustme import CA

from orchestrator.errors import DefinitionError
from orchestrator.files import write_private


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA. ``ca_file``: the CA certificate that a client must trust, and no other."""

    ca_file: Path
    _ca: CA

    @classmethod
    def at(cls, directory: Path, *, name: str = "ca") -> Authority:
        """The CA from ``directory``. It is created if it does not exist. Raises ``DefinitionError``."""
        ca_file, key_file = directory / f"{name}.pem", directory / f"{name}.key"
        with _alone_in(directory):
            if not (ca_file.exists() and key_file.exists()):
                made = CA(path_length=0, organization_name="SIMULATED", organization_unit_name="lab CA")
                write_private(directory, key_file.name, made.private_key_pem.bytes())
                write_private(directory, ca_file.name, made.cert_pem.bytes())
        try:
            return cls(ca_file, CA.from_pem(ca_file.read_bytes(), key_file.read_bytes()))
        except (OSError, ValueError) as error:
            raise DefinitionError(f"the lab's CA {ca_file} cannot be used: {error}", hint="delete it") from error

    def server_context(self, address: str) -> ssl.SSLContext:
        """The TLS context, with a certificate, for a server at the IP address ``address``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._ca.issue_cert(address, common_name=address).configure_cert(context)
        return context


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Lock the directory. Two processes that start at once would otherwise mix the key of one with the certificate of the
    other."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
