"""Signatures over the record: Ed25519 (RFC 8032), by a key in a file that only its owner can read.

After each commit the head of a run's chain is signed: the run's name, the number of the last record, and that record's
hash, which covers all records before it. Without the private key, an attacker cannot write a record that fits this
signature. This module must never print, log or record a private key.
"""

from __future__ import annotations

import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from orchestrator.errors import DefinitionError
from orchestrator.files import ordinary_file
from orchestrator.journal.hash_chain import Signature

_KEY_BYTES_MAX = 10_000
_HOW_TO_GET_ONE = "`failover runs keygen` makes a pair of keys"


def statement(run: str, seq: int, head: str) -> bytes:
    """The bytes that are signed: four lines, each ended by a line feed. No field can hold a line feed."""
    return f"failover journal head v1\n{run}\n{seq}\n{head}\n".encode()


def approval_statement(run: str, plan: str, choice: str, at: int) -> bytes:
    """The bytes of an approval or refusal of a plan: the run, the digest of the plan, the choice, and the time in
    seconds since the epoch. Five lines, each ended by a line feed."""
    return _lines("failover approval v1", run, plan, choice, str(at))


def decision_statement(run: str, plan: str, number: int, choice: str, at: int) -> bytes:
    """The bytes of an answer to a question of a run: as in ``approval_statement``, with the number of the record that
    put the question before the choice. So the answer is valid for this question only, and for no later question of the
    same name."""
    return _lines("failover decision v1", run, plan, str(number), choice, str(at))


def is_signable(*fields: str) -> bool:
    """Can these be fields of a statement? A field with a line feed would run into the next field."""
    return not any("\n" in field for field in fields)


def _lines(*fields: str) -> bytes:
    if not is_signable(*fields):
        raise DefinitionError("a text with a line break cannot be signed")
    return "".join(f"{field}\n" for field in fields).encode()


class Signer:
    """Signs heads with the key in ``path``. The key is read when it is first needed: checking runs needs no key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key: Ed25519PrivateKey | None = None
        self._name = ""

    def sign(self, run: str, seq: int, head: str) -> Signature:
        """The signature over this head. Raises ``DefinitionError`` for a key that cannot be used, or that others can
        read."""
        name, value = self.sign_bytes(statement(run, seq, head))
        return Signature(seq, name, value)

    def sign_bytes(self, text: bytes) -> tuple[str, str]:
        """The name of the key, and the signature over ``text`` in Base64. Raises ``DefinitionError``."""
        key = self._loaded()
        return self._name, b64encode(key.sign(text)).decode("ascii")

    def public(self) -> Ed25519PublicKey:
        """The public half of the key. Raises ``DefinitionError``."""
        return self._loaded().public_key()

    def _loaded(self) -> Ed25519PrivateKey:
        if self._key is None:
            self._key = _private_key(self._path)
            self._name = key_name(self._key.public_key())
        return self._key


class Verifier:
    """Checks signatures against ``keys``, which must have been received in a way that can be trusted."""

    def __init__(self, keys: Iterable[Ed25519PublicKey]) -> None:
        self._keys: Mapping[str, Ed25519PublicKey] = {key_name(key): key for key in keys}

    def knows(self, signature: Signature) -> bool:
        """Does the signature name one of the keys? The signature itself is not checked."""
        return signature.key in self._keys

    def holds(self, signature: Signature, run: str, head: str) -> bool:
        """Did the named key sign this head?"""
        return self.has_signed(statement(run, signature.seq, head), signature.key, signature.value)

    def has_signed(self, text: bytes, key: str, signature: str) -> bool:
        """Did the key of this name sign ``text``? ``signature`` is in Base64."""
        try:
            self._keys[key].verify(b64decode(signature, validate=True), text)
        except (InvalidSignature, ValueError, KeyError):  # ValueError: it is not Base64
            return False
        return True


def key_name(key: Ed25519PublicKey) -> str:
    """The name of a key in records: the first 16 hexadecimal digits of the SHA-256 of its 32 bytes."""
    return sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def generate(path: Path) -> tuple[Path, str]:
    """Make a key pair: ``path`` (PKCS #8, PEM, for its owner alone) and ``path.pub``. Returns ``path.pub`` and the
    key's name.

    Both files are written, or neither: signatures of a key without a known public half would prove nothing. An existing
    file is never replaced. Raises ``DefinitionError``.
    """
    key = Ed25519PrivateKey.generate()
    public = path.with_name(f"{path.name}.pub")
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    made: list[Path] = []
    try:
        # The private half is written last, since this account signs as soon as the file exists.
        for file, content, mode in ((public, public_half(key.public_key()).encode(), 0o644), (path, secret, 0o600)):
            with _new_file(file, mode) as out:
                made.append(file)
                out.write(content)
    except BaseException as error:
        for file in made:
            file.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise DefinitionError(f"{file} cannot be written: {error.strerror}") from error
        raise
    return public, key_name(key.public_key())


def _new_file(file: Path, mode: int) -> BinaryIO:
    try:
        return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb")
    except FileExistsError as error:
        raise DefinitionError(
            f"{file} already exists; an existing key is never replaced", hint="name another file"
        ) from error


def public_half(key: Ed25519PublicKey) -> str:
    """The public key as it is given to others: PEM, with its line ends."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def load_public(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file. Raises ``DefinitionError``."""
    try:
        with ordinary_file(path) as file:
            text = file.read(_KEY_BYTES_MAX)
    except OSError as error:
        raise DefinitionError(f"the public key {path} cannot be read: {error.strerror}") from error
    return read_public(text, str(path))


def read_public(text: str | bytes, what: str) -> Ed25519PublicKey:
    """The public key in ``text``, PEM. ``what`` names it in errors. Raises ``DefinitionError``."""
    try:
        key = load_pem_public_key(text.encode() if isinstance(text, str) else text)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise DefinitionError(f"{what} is not a public Ed25519 key (PEM)", hint=_HOW_TO_GET_ONE)
    return key


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            _refuse_unless_private(path, os.fstat(file.fileno()))
            key = load_pem_private_key(file.read(_KEY_BYTES_MAX), password=None)
    except OSError as error:
        raise DefinitionError(
            f"the signing key {path} cannot be read: {error.strerror}",
            hint=_HOW_TO_GET_ONE,
        ) from error
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a passphrase
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise DefinitionError(
            f"{path} is not a private Ed25519 key (PKCS #8, PEM, without a passphrase)", hint=_HOW_TO_GET_ONE
        )
    return key


def _refuse_unless_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise DefinitionError(f"the signing key {path} is not a regular file")
    if found.st_uid != os.geteuid():
        raise DefinitionError(
            f"the signing key {path} belongs to another account", hint="sign with a key that belongs to this account"
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise DefinitionError(
            f"other accounts can read or write the signing key {path}, so its signatures prove nothing",
            hint=f"if no other account has read the key: chmod 600 {path}; otherwise make a new key",
        )
