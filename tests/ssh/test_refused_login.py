"""Logins that are refused: nothing is offered twice, and no error holds the password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paramiko
import pytest

from orchestrator.errors import AuthenticationFailed, FailoverError
from tests.ssh.dialled import PASSWORD, ed25519_file, session, words_of
from tests.ssh.scripted import ScriptedDevice
from tests.ssh.sshd import Sshd

pytestmark = pytest.mark.realtime

# Refused.


@pytest.mark.parametrize("methods", ["password", "password,keyboard-interactive", "keyboard-interactive"])
@pytest.mark.parametrize("hangs_up", [False, True])
def test_a_wrong_password_is_offered_once(sshd: Sshd, methods: str, hangs_up: bool) -> None:
    """Not twice, not by another method, not by trying again: accounts get locked that way."""
    sshd.methods, sshd.hangs_up_on_failure = methods, hangs_up
    with session(sshd, password="wrong") as shell, pytest.raises(AuthenticationFailed) as caught:
        shell.open()
    assert sshd.offers == [(methods.split(",")[0], False)]
    assert "wrong" not in words_of(caught.value).replace("the passphrase is wrong", "")


def test_a_device_that_asks_for_the_password_again_gets_no_second_answer(sshd: Sshd) -> None:
    """Within one dialogue, too, it is offered once."""
    sshd.methods, sshd.asks_again = "keyboard-interactive", True
    with session(sshd, password="wr0ng") as shell, pytest.raises(AuthenticationFailed):
        shell.open()
    assert len(sshd.offers) == 1


@pytest.mark.parametrize("questions", [(("Password: ", False), ("Token: ", False)), (("Name: ", True),)])
def test_a_dialogue_about_something_else_gets_no_password(
    sshd: Sshd, questions: tuple[tuple[str, bool], ...]
) -> None:
    """A password goes only where one hidden question was asked."""
    sshd.methods, sshd.questions = "keyboard-interactive", questions
    with session(sshd) as shell, pytest.raises(AuthenticationFailed, match="more than a password"):
        shell.open()
    assert sshd.offers == []


def test_a_method_that_is_not_offered_is_named(sshd: Sshd) -> None:
    """The inventory has a password, the device wants a key."""
    sshd.methods = "publickey"
    with session(sshd) as shell, pytest.raises(AuthenticationFailed, match="it offers: publickey"):
        shell.open()


@pytest.mark.parametrize("login", [True, False])
def test_an_inventory_without_a_credential_says_so(sshd: Sshd, login: bool) -> None:
    """No guessing of users or passwords."""
    with session(sshd, login=login, password=None) as shell, pytest.raises(AuthenticationFailed):
        shell.open()
    assert sshd.offers == []


def test_no_error_holds_the_password(device: ScriptedDevice, host_key: paramiko.PKey, tmp_path: Path) -> None:
    """Whatever fails, and however its error is printed: promise 10."""
    ed25519_file(tmp_path / "locked", "open-Sesame")
    mishaps: list[dict[str, Any]] = [
        {"methods": "publickey"},
        {"methods": "keyboard-interactive", "questions": (("Name: ", True),)},
        {"password": "another"},
        {"password": "another", "hangs_up_on_failure": True},
        {"opens_channels": False},
        {"methods": "password", "partial": "publickey"},
    ]
    for mishap in mishaps:
        with (
            Sshd(device, [host_key], **mishap).running() as server,
            session(server) as shell,
            pytest.raises(FailoverError) as caught,
        ):
            shell.open()
        assert PASSWORD not in words_of(caught.value)
    with (
        Sshd(device, [host_key]).running() as server,
        session(server, key_file=tmp_path / "locked", password=PASSWORD) as shell,
        pytest.raises(FailoverError) as caught,
    ):
        shell.open()
    assert PASSWORD not in words_of(caught.value)
