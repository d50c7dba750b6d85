"""The boundary to paramiko and sockets: every exception of theirs becomes one of ours, here and only here.

The mapping is a table, and a test fails when paramiko grows an exception class that is not in it. No sentence made
here carries a credential: paramiko's texts hold none, and nothing else is put in.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import Enum

from paramiko import ssh_exception
from paramiko.hostkeys import InvalidHostKey
from paramiko.pkey import UnknownKeyType

from orchestrator.characters import printable
from orchestrator.errors import AdapterError, AuthenticationFailed, ConnectionLost, HostKeyRejected, Unreachable


class Stage(Enum):
    """How far the session had come."""

    CONNECT = "connecting"
    LOGIN = "logging in"
    TALK = "talking"


# A peer that speaks nonsense ends paramiko's thread with whatever its parser raised, and paramiko raises that here.
FOREIGN: tuple[type[Exception], ...] = (
    ssh_exception.SSHException,
    OSError,
    EOFError,
    InvalidHostKey,
    UnknownKeyType,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    struct.error,
)

# What each class means before a shell is open. Once it is, anything that goes wrong is a lost connection.
MAPPING: Mapping[type[Exception], type[AdapterError]] = {
    ssh_exception.SSHException: Unreachable,
    ssh_exception.AuthenticationException: AuthenticationFailed,
    ssh_exception.PasswordRequiredException: AuthenticationFailed,
    ssh_exception.BadAuthenticationType: AuthenticationFailed,
    ssh_exception.PartialAuthentication: AuthenticationFailed,
    ssh_exception.UnableToAuthenticate: AuthenticationFailed,
    ssh_exception.BadHostKeyException: HostKeyRejected,
    ssh_exception.ChannelException: Unreachable,
    ssh_exception.IncompatiblePeer: Unreachable,
    ssh_exception.MessageOrderError: Unreachable,
    ssh_exception.ProxyCommandFailure: Unreachable,
    ssh_exception.NoValidConnectionsError: Unreachable,
    ssh_exception.CouldNotCanonicalize: Unreachable,
    ssh_exception.ConfigParseError: Unreachable,
}


def translate(error: BaseException | None, *, stage: Stage, device: str) -> AdapterError:
    """Our error for ``error``; ``None`` stands for a stream that simply ended.

    While logging in, a connection that the device ends is a refused account, not an unreachable device: it must not
    be tried again with the same password, or the account gets locked.
    """
    why = _words(error)
    if stage is Stage.TALK:
        return ConnectionLost(f"the session with {device} broke: {why}", device=device)
    kind = _kind(error)
    if stage is Stage.LOGIN and kind is Unreachable and not isinstance(error, OSError):
        kind = AuthenticationFailed
    if kind is AuthenticationFailed:
        return AuthenticationFailed(f"{device} does not accept the account: {why}", device=device, hint=_LOGIN_HINT)
    if kind is HostKeyRejected:
        return HostKeyRejected(f"the host key of {device} is not the expected one: {why}", device=device)
    return Unreachable(f"{device} cannot be reached over SSH ({stage.value}): {why}", device=device)


_NO_BANNER = "Error reading SSH protocol banner"
_LOGIN_HINT = "check username and password (or key file) of the site's login; it is not tried again by itself"


def _kind(error: BaseException | None) -> type[AdapterError]:
    for known in type(error).__mro__:
        if known in MAPPING:
            return MAPPING[known]
    return Unreachable


def _words(error: BaseException | None) -> str:
    match error:
        case None | EOFError():
            return "the device ended the connection"
        case ssh_exception.BadAuthenticationType():
            return "this way of logging in is not offered; offered: " + printable(", ".join(error.allowed_types))
        case ssh_exception.PartialAuthentication():
            return "it wants a further proof: " + printable(", ".join(error.allowed_types))
        case ssh_exception.IncompatiblePeer():
            return f"no algorithm in common ({printable(str(error))})"
        case TimeoutError():
            return "no answer in time"
        case OSError() if error.strerror:
            return error.strerror
        case ssh_exception.SSHException() if str(error).startswith(_NO_BANNER):
            # paramiko appends the cause, which differs between attempts.
            return "it ended the connection before it said that it speaks SSH, or said nothing in time"
        case _:
            return printable(str(error)) or type(error).__name__
