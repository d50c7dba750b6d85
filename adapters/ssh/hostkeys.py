"""Checks the identity of a device, by pinned host keys, and by known_hosts files in OpenSSH's format.

A key is accepted only if the inventory pins it or the file lists it for this address and port. There is no way to
accept a key silently, and this module never writes a file.

The format is that of sshd(8), section "SSH_KNOWN_HOSTS FILE FORMAT": markers, comma-separated patterns with ``*``,
``?`` and ``!``, hashed names, ``[address]:port`` for ports other than 22.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import HostKeyRejected
from orchestrator.files import read_document
from orchestrator.model.inventory import Device

_SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public host key: its type, such as ``ssh-ed25519``, and its binary form."""

    type: str
    blob: bytes

    @classmethod
    def parse(cls, text: str) -> HostKey:
        """The key of ``<type> <base64>``; a comment may follow. Raises ``ValueError``."""
        fields = text.split()
        if len(fields) < 2:
            raise ValueError("write a host key as <type> <base64>")
        try:
            blob = base64.b64decode(fields[1], validate=True)
        except ValueError as error:  # binascii.Error is one; letters beyond ASCII are another
            raise ValueError("the second word of a host key must be base64") from error
        if not blob:
            raise ValueError("the host key is empty")
        return cls(fields[0], blob)

    @property
    def fingerprint(self) -> str:
        """``SHA256:…`` as OpenSSH prints it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    def __str__(self) -> str:
        return f"{self.type} {base64.b64encode(self.blob).decode()}"

    @property
    def shown(self) -> str:
        """Type and fingerprint, for a sentence."""
        return f"{self.type} {self.fingerprint}"


@dataclass(frozen=True, slots=True)
class Expected:
    """The host keys that one device may show: ``keys`` are accepted, ``revoked`` never. ``source`` says where this is
    written."""

    source: str
    keys: tuple[HostKey, ...] = ()
    revoked: tuple[HostKey, ...] = ()
    remark: str = ""


def expected_of(device: Device, known_hosts: str | None) -> Expected:
    """The expected keys of ``device``, from the inventory or known_hosts. Raises ``HostKeyRejected`` for a pin that is
    no key.

    Without a pin the file ``known_hosts`` decides; without that, ``~/.ssh/known_hosts``. A file that is missing or
    cannot be read gives no key; the remark says so.
    """
    if device.host_key is not None:
        try:
            return Expected("the inventory's host_key", (HostKey.parse(device.host_key),))
        except ValueError as error:
            raise HostKeyRejected(
                f"the host_key that the inventory pins for {device.name} cannot be read: {error}", device=device.name
            ) from error
    file = Path(known_hosts or "~/.ssh/known_hosts").expanduser()
    try:
        text = read_document(file).decode("utf-8", "replace")
    except OSError as error:
        return Expected(str(file), remark=f"{file} cannot be read: {error.strerror or error}")
    return _look_up(text, _name_of(device), source=str(file))


def verify(expected: Expected, seen: HostKey, device: Device) -> None:
    """Return if ``seen`` is expected; otherwise raise ``HostKeyRejected`` with the fingerprint and what to do."""
    where = f"{device.name} ({_name_of(device)})"
    if seen in expected.revoked:
        raise HostKeyRejected(
            f"the host key of {where} is revoked in {expected.source}; the device shows {seen.shown}",
            device=device.name,
            hint="do not connect; find out why the key was revoked, and give the device a new one",
        )
    if seen in expected.keys:
        return
    if expected.keys:
        wanted = ", ".join(key.shown for key in expected.keys)
        raise HostKeyRejected(
            f"the host key of {where} is not the one in {expected.source}:"
            f" the device shows {seen.shown}, but {wanted} was expected",
            device=device.name,
            hint="the device was reinstalled, or another machine intercepts the connection: compare the fingerprint with"
            f" one read at the device's console; replace the key in {expected.source} only if both are the same",
        )
    remark = f" ({expected.remark})" if expected.remark else ""
    raise HostKeyRejected(
        f"the host key of {where} is not known{remark}; the device shows {seen.shown}",
        device=device.name,
        hint="compare the fingerprint with one read at the device's console; if both are the same, write"
        f' host_key: "{seen}" under this device in the inventory, or'
        f' "{_name_of(device)} {seen}" into {expected.source}',
    )


def address_of(device: Device) -> str:
    """The address to dial: the inventory's, or else the device's name."""
    return device.address or device.name


def _name_of(device: Device) -> str:
    """The name of the device in known_hosts."""
    address = address_of(device).lower()
    return address if device.port == _SSH_PORT else f"[{address}]:{device.port}"


def _look_up(text: str, name: str, *, source: str) -> Expected:
    keys: list[HostKey] = []
    revoked: list[HostKey] = []
    for marker, patterns, key in _entries(text):
        if _matches(patterns, name):
            (revoked if marker == "@revoked" else keys).append(key)
    return Expected(source, tuple(keys), tuple(revoked))


def _entries(text: str) -> Iterator[tuple[str, str, HostKey]]:
    """Marker, patterns and key of each line that can be used; certificate authorities are left out."""
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        marker = fields.pop(0) if fields[0].startswith("@") else ""
        if len(fields) < 3 or marker not in ("", "@revoked"):
            continue
        try:
            yield marker, fields[0], HostKey.parse(" ".join(fields[1:3]))
        except ValueError:
            continue  # as OpenSSH does: a line that cannot be read proves no device


def _matches(patterns: str, name: str) -> bool:
    if patterns.startswith("|"):
        return _matches_hash(patterns, name)
    matched = False
    for pattern in patterns.lower().split(","):
        if _glob(pattern.removeprefix("!")).fullmatch(name):
            if pattern.startswith("!"):
                return False
            matched = True
    return matched


def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern))


def _matches_hash(entry: str, name: str) -> bool:
    """``|1|salt|hash``: HMAC-SHA1 of the name under the salt."""
    fields = entry.split("|")
    if len(fields) != 4 or fields[1] != "1":
        return False
    try:
        salt, wanted = base64.b64decode(fields[2]), base64.b64decode(fields[3])
    except ValueError:  # binascii.Error is one; letters beyond ASCII are another
        return False
    return hmac.compare_digest(hmac.digest(salt, name.encode(), "sha1"), wanted)
