"""The private keys of a session: from files, an agent, or the usual places.

Nothing is searched for unless it is configured. A passphrase never appears in an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import paramiko
from paramiko.ssh_exception import PasswordRequiredException

from adapters.ssh.options import SshOptions
from adapters.ssh.translate import FOREIGN
from orchestrator.characters import printable
from orchestrator.errors import AuthenticationFailed
from orchestrator.model.inventory import Login

_USUAL_PLACES = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")


def keys_of(login: Login, options: SshOptions, passphrase: str | None, *, device: str) -> Iterator[paramiko.PKey]:
    """The keys to try, in order: the key file, the agent's, those in the usual places.

    Raises ``AuthenticationFailed`` when the named key file, or the agent, cannot be used.
    """
    if login.key_file is not None:
        yield load_key(login.key_file, passphrase, device=device)
    if options.allow_agent:
        yield from _agent_keys(device)
    if options.look_for_keys:
        for place in _USUAL_PLACES:
            if Path(place).expanduser().is_file():
                yield from _load_quietly(place, passphrase)


def load_key(file: str, passphrase: str | None, *, device: str) -> paramiko.PKey:
    """The private key in ``file``. Raises ``AuthenticationFailed``, saying what is wrong with the file."""
    path = Path(file).expanduser()
    locked = False
    for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey):
        try:
            return kind.from_private_key_file(str(path), passphrase)
        except PasswordRequiredException:
            locked = True
        except OSError as error:
            raise AuthenticationFailed(
                f"the key file {path} cannot be read: {error.strerror or error}", device=device
            ) from error
        except FOREIGN:
            continue  # another kind of key, or a wrong passphrase: the error is raised below
    if locked and passphrase is None:
        raise AuthenticationFailed(
            f"the key file {path} needs a passphrase",
            device=device,
            hint="add a password to the login; with a key file, it is the key's passphrase",
        )
    raise AuthenticationFailed(
        f"the key file {path} cannot be used: it is not a private key, or the passphrase is wrong", device=device
    )


def _load_quietly(file: str, passphrase: str | None) -> Iterator[paramiko.PKey]:
    """Load a key that the inventory does not name. It is no error if such a key cannot be used."""
    try:
        yield load_key(file, passphrase, device="")
    except AuthenticationFailed:
        return


def _agent_keys(device: str) -> Iterator[paramiko.PKey]:
    """The keys of the agent; none if no agent runs. Raises ``AuthenticationFailed`` for an agent that gives no answer."""
    try:
        agent = paramiko.Agent()
    except FOREIGN as error:
        raise AuthenticationFailed(
            f"the SSH agent cannot be used: {printable(str(error)) or type(error).__name__}",
            device=device,
            hint="check with `ssh-add -l`; without allow_agent in the options of the site, no agent is asked",
        ) from error
    try:
        yield from agent.get_keys()
    finally:
        agent.close()
