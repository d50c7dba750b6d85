"""The boundary to paramiko and sockets: only this module turns their exceptions into errors of this program.

The mapping is a table, and a test fails if paramiko has an exception class that is not in it. No sentence made here
contains a credential: paramiko's texts contain none, and nothing else is added.
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
    """The progress of a session at the time of an error."""

    CONNECT = "connecting"
    LOGIN = "logging in"
    TALK = "talking"


# If a peer sends nonsense, paramiko's thread ends with any error of its parser, and paramiko raises that error here.
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

# The meaning of each class before a shell is open. After that, every error is a lost connection.
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
    """The error of this program for ``error``; ``None`` stands for a stream that simply ended.

    If the device ends the connection while logging in, the account counts as refused; the device does not count as
    unreachable. The log-in must not be tried again with the same password, or the account gets locked.
    """
    why = _words(error)
    if stage is Stage.TALK:
        return ConnectionLost(f"the session with {device} was lost: {why}", device=device)
    kind = _kind(error)
    if stage is Stage.LOGIN and kind is Unreachable and not isinstance(error, OSError):
        kind = AuthenticationFailed
    if kind is AuthenticationFailed:
        return AuthenticationFailed(f"{device} does not accept the account: {why}", device=device, hint=_LOGIN_HINT)
    if kind is HostKeyRejected:
        return HostKeyRejected(f"the host key of {device} is not the expected one: {why}", device=device)
    return Unreachable(f"{device} cannot be reached over SSH ({stage.value}): {why}", device=device)


_NO_BANNER = "Error reading SSH protocol banner"
_LOGIN_HINT = (
    "check username and password (or key file) of the site's login; the program does not repeat a refused login"
)


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
            return "the device does not offer this login method; it offers: " + printable(
                ", ".join(error.allowed_types)
            )
        case ssh_exception.PartialAuthentication():
            return "the device requires a further login step: " + printable(", ".join(error.allowed_types))
        case ssh_exception.IncompatiblePeer():
            return f"the device and this program share no algorithm ({printable(str(error))})"
        case TimeoutError():
            return "no answer in time"
        case OSError() if error.strerror:
            return error.strerror
        case ssh_exception.SSHException() if str(error).startswith(_NO_BANNER):
            # paramiko appends the cause, which differs between attempts.
            return "the device ended the connection before its SSH banner, or sent no banner in time"
        case _:
            return printable(str(error)) or type(error).__name__
