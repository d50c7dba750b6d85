"""The certificates of a lab: a CA of its own, and one certificate for each node. The only home of cryptography.

They are for simulated devices on this machine and prove nothing about anybody. The CA is kept, so that a client that
trusts it goes on doing so when the lab starts again.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchestrator.errors import DefinitionError

# Fixed, so that no clock is asked; a lab's certificates need not expire.
_FROM, _UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA. ``ca_file`` is what a client names as the only one to trust."""

    ca_file: Path
    _certificate: x509.Certificate
    _key: EllipticCurvePrivateKey

    @classmethod
    def at(cls, directory: Path, *, name: str = "ca") -> Authority:
        """The CA kept in ``directory``, made there first if there is none. Raises ``DefinitionError``."""
        ca_file, key_file = directory / f"{name}.pem", directory / f"{name}.key"
        with _alone_in(directory):
            if not (ca_file.exists() and key_file.exists()):
                key = generate_private_key(SECP256R1())
                _write_private(key_file, _pem_of(key))
                _write_private(ca_file, _self_signed(key).public_bytes(Encoding.PEM))
        try:
            certificate = x509.load_pem_x509_certificate(ca_file.read_bytes())
            loaded = load_pem_private_key(key_file.read_bytes(), password=None)
        except (OSError, ValueError) as error:
            raise DefinitionError(f"the lab's CA {ca_file} cannot be used: {error}", hint="delete it") from error
        if not isinstance(loaded, EllipticCurvePrivateKey):
            raise DefinitionError(f"the key of the lab's CA {ca_file} is not one of its own", hint="delete it")
        return cls(ca_file, certificate, loaded)

    def server_context(self, address: str, *, file: Path) -> ssl.SSLContext:
        """What a server at the IP address ``address`` proves itself with; key and certificate are kept in ``file``."""
        key = generate_private_key(SECP256R1())
        certificate = (
            _builder(address, key, issuer=self._certificate.subject)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False)
            .sign(self._key, SHA256())
        )
        _write_private(file, _pem_of(key) + certificate.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(file)
        return context


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Two that begin at once would each write a key and a certificate, and what is kept might be one of either."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _self_signed(key: EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("SIMULATED lab CA")
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        _builder("SIMULATED lab CA", key, issuer=name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .add_extension(usage, True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .sign(key, SHA256())
    )


def _builder(subject: str, key: EllipticCurvePrivateKey, *, issuer: x509.Name) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem_of(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write_private(path: Path, data: bytes) -> None:
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(unfinished).replace(path)
    except OSError:
        Path(unfinished).unlink(missing_ok=True)
        raise
