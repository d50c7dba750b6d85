"""``failover runs keygen``: makes a pair of keys to sign the record and this account's answers."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli.render.terminal import show, show_document, show_json
from orchestrator.errors import DefinitionError
from orchestrator.journal.signing import Signer, generate, key_name, public_half
from orchestrator.operations.runtime import SIGNING_KEY, SIGNING_VARIABLE, Tools


def show_public(tools: Tools, path: Path | None, *, as_json: bool) -> None:
    """Print the public half of the key at ``path``, or of this account's signing key, in the form for other people.

    Raises ``DefinitionError`` if there is no key, or no usable key.
    """
    signer = tools.signer() if path is None else Signer(path)
    if signer is None:
        raise DefinitionError("this account has no signing key", hint="make a key with `failover runs keygen`")
    key = signer.public()
    if as_json:
        show_json({"key": key_name(key), "public": public_half(key)})
    else:
        show_document(public_half(key).rstrip())


def make_keys(tools: Tools, path: Path | None, *, as_json: bool) -> None:
    """Make the keys at ``path``. Without ``path``, this account's runs are signed with the new keys from now on."""
    own = tools.state / SIGNING_KEY
    private = path or own
    public, name = generate(private)
    if as_json:
        show_json({"key": name, "private": str(private), "public": str(public)})
        return
    show(f"key {name}: private key {private} (only for this account), public key {public}")
    if private == own:
        show("from now on, runs that this account leads are signed with this key")
    else:
        show(f"runs are signed with this key if {SIGNING_VARIABLE}={private} is set")
    show(f"keep a copy of {public} in a place where no writer of the journal can replace the copy")
