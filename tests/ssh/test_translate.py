"""The boundary to paramiko: every exception of its has a meaning of ours."""

from __future__ import annotations

import socket
import struct

import pytest
from paramiko import PKey, ssh_exception
from paramiko.hostkeys import InvalidHostKey
from paramiko.pkey import UnknownKeyType

from adapters.ssh.translate import FOREIGN, MAPPING, Stage, translate
from orchestrator.characters import printable
from orchestrator.errors import (
    AuthenticationFailed,
    ConnectionLost,
    HostKeyRejected,
    NotObeyed,
    PerhapsObeyed,
    Unreachable,
)

CLASSES = sorted(
    (
        thing
        for thing in vars(ssh_exception).values()
        if isinstance(thing, type) and issubclass(thing, Exception) and thing.__module__ == ssh_exception.__name__
    ),
    key=lambda thing: thing.__name__,
)


class Key(PKey):
    def get_base64(self) -> str:
        return "AAAA"


def example(kind: type[Exception]) -> Exception:
    match kind.__name__:
        case "BadAuthenticationType":
            return kind("no", ["publickey"])
        case "PartialAuthentication":
            return kind(["publickey"])
        case "BadHostKeyException":
            return kind("host", Key(), Key())
        case "ChannelException":
            return kind(1, "administratively prohibited")
        case "NoValidConnectionsError":
            return kind({("10.0.0.1", 22): OSError("refused")})
        case "ProxyCommandFailure":
            return kind("nc", "gone")
        case _:
            return kind("no")


def test_the_table_has_every_exception_class_of_paramiko() -> None:
    """A class that a new paramiko brings must be given a meaning before it reaches an operator."""
    assert set(MAPPING) == set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_before_a_shell_is_open_every_class_means_not_obeyed(kind: type[Exception]) -> None:
    """No command can have left, so it is safe to try again; and the sentence names the device."""
    for stage in (Stage.CONNECT, Stage.LOGIN):
        error = translate(example(kind), stage=stage, device="ny1")
        assert isinstance(error, NotObeyed)
        assert "ny1" in str(error)
        assert error.device == "ny1"
    assert type(translate(example(kind), stage=Stage.CONNECT, device="ny1")) is MAPPING[kind]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_once_a_shell_is_open_every_class_means_perhaps(kind: type[Exception]) -> None:
    """What goes wrong while talking may follow a command that was obeyed."""
    error = translate(example(kind), stage=Stage.TALK, device="ny1")
    assert type(error) is ConnectionLost
    assert isinstance(error, PerhapsObeyed)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        TimeoutError(),
        socket.gaierror(-2, "Name or service not known"),
        OSError(113, "No route to host"),
        EOFError(),
        None,
        ValueError("not an integer"),
        UnknownKeyType("x", b""),
        InvalidHostKey("line", ValueError()),
        struct.error("unpack"),
    ],
    ids=repr,
)
def test_sockets_and_nonsense_are_unreachable_before_and_lost_after(error: Exception | None) -> None:
    """Everything a socket or a peer gone mad can cause has a meaning too."""
    assert type(translate(error, stage=Stage.CONNECT, device="ny1")) is Unreachable
    assert type(translate(error, stage=Stage.TALK, device="ny1")) is ConnectionLost
    assert error is None or isinstance(error, FOREIGN)


def test_a_device_that_hangs_up_while_we_log_in_refuses_the_account() -> None:
    """Not unreachable: that would be tried again with the same password, and lock the account."""
    for error in (None, EOFError(), ssh_exception.SSHException("hung up")):
        assert type(translate(error, stage=Stage.LOGIN, device="ny1")) is AuthenticationFailed
    assert type(translate(ConnectionResetError(104, "reset"), stage=Stage.LOGIN, device="ny1")) is Unreachable


def test_the_ways_to_log_in_that_are_offered_are_named() -> None:
    """The operator sees what the device wants instead."""
    error = translate(
        ssh_exception.BadAuthenticationType("no", ["publickey", "hostbased"]), stage=Stage.LOGIN, device="ny1"
    )
    assert "publickey, hostbased" in str(error)


def test_a_host_key_error_of_paramikos_is_a_rejected_host_key() -> None:
    """Though we check host keys ourselves, its own word for it is not lost."""
    error = ssh_exception.BadHostKeyException("host", Key(), Key())
    assert isinstance(translate(error, stage=Stage.CONNECT, device="ny1"), HostKeyRejected)


def test_a_peers_text_cannot_write_on_the_terminal() -> None:
    """Control characters of a stranger do not reach the operator's screen, nor do endless texts."""
    error = translate(ssh_exception.SSHException("a\x1b[2Jb\r\nc" + "x" * 5000), stage=Stage.CONNECT, device="ny1")
    assert str(error).isprintable()
    assert len(str(error)) < 500
    assert printable("a \t b\x00c") == "a b c"


@pytest.mark.parametrize("more", ["", "[Errno 104] Connection reset by peer", " (timed out)"])
def test_a_server_without_a_banner_is_one_sentence(more: str) -> None:
    """Law: what ends a connection before its first line varies from try to try; what is said of it does not."""
    found = translate(
        ssh_exception.SSHException(f"Error reading SSH protocol banner{more}"), stage=Stage.CONNECT, device="ny1"
    )
    assert isinstance(found, Unreachable)
    assert str(found).endswith("before its SSH banner, or sent no banner in time")
