"""Host keys: what the inventory and known_hosts files say, and that nothing else is accepted."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from pathlib import Path
from typing import Any

import pytest

from adapters.ssh.hostkeys import Expected, HostKey, expected_of, verify
from orchestrator.errors import HostKeyRejected
from orchestrator.model.inventory import Device

RIGHT = HostKey("ssh-ed25519", b"\x00\x00\x00\x0bssh-ed25519right")
OTHER = HostKey("ssh-ed25519", b"\x00\x00\x00\x0bssh-ed25519other")


def device(**more: Any) -> Device:
    return Device(name="ny1", address="ny1.example.com", **more)


def known(tmp_path: Path, text: str, **more: Any) -> Expected:
    file = tmp_path / "known_hosts"
    file.write_text(text)
    return expected_of(device(**more), str(file))


def test_a_fingerprint_is_openssh_s() -> None:
    """SHA-256, base64, without padding."""
    wanted = base64.b64encode(hashlib.sha256(RIGHT.blob).digest()).decode().rstrip("=")
    assert RIGHT.fingerprint == f"SHA256:{wanted}"


def test_a_key_reads_back_as_it_is_written() -> None:
    """What the hint says to put into the inventory is what the inventory accepts."""
    assert HostKey.parse(str(RIGHT)) == RIGHT
    assert HostKey.parse(f"{RIGHT} comment") == RIGHT


def test_a_pin_decides_alone(tmp_path: Path) -> None:
    """With ``host_key`` in the inventory the file is not asked."""
    file = tmp_path / "known_hosts"
    file.write_text(f"ny1.example.com {OTHER}\n")
    expected = expected_of(device(host_key=str(RIGHT)), str(file))
    verify(expected, RIGHT, device())
    with pytest.raises(HostKeyRejected, match="not the one in the inventory's host_key"):
        verify(expected, OTHER, device())


@pytest.mark.parametrize("pin", ["", "ssh-ed25519", "ssh-ed25519 ???", "ssh-ed25519 AAA", "SHA256:abc"])
def test_a_pin_that_is_no_key_is_refused(pin: str) -> None:
    """A slip in the inventory never means "any key"."""
    with pytest.raises(HostKeyRejected, match="cannot be read"):
        expected_of(device(host_key=pin), None)


@pytest.mark.parametrize(
    "names",
    [
        "ny1.example.com",
        "NY1.example.com",
        "10.0.0.1,ny1.example.com",
        "*.example.com",
        "ny?.example.com",
        "*",
        "*.example.com,!ny2.example.com",
    ],
)
def test_names_and_patterns_of_known_hosts_match_as_in_openssh(tmp_path: Path, names: str) -> None:
    """Names, lists, wildcards, exclusions of others; letters of either case."""
    verify(known(tmp_path, f"# comment\n\n{names} {RIGHT} comment\n"), RIGHT, device())


@pytest.mark.parametrize(
    "names",
    [
        "ny2.example.com",
        "ny1",
        "example.com",
        "*.example.com,!ny1.*",
        "[ny1.example.com]:2222",
        "ny1.example.comx",
        "",
    ],
)
def test_names_that_do_not_match_vouch_for_nobody(tmp_path: Path, names: str) -> None:
    """Another name, an exclusion, or another port is another device."""
    with pytest.raises(HostKeyRejected, match="is not known"):
        verify(known(tmp_path, f"{names} {RIGHT}\n"), RIGHT, device())


def test_another_port_has_its_own_name(tmp_path: Path) -> None:
    """``[address]:port`` for ports other than 22, and only that."""
    verify(known(tmp_path, f"[ny1.example.com]:2222 {RIGHT}\n", port=2222), RIGHT, device(port=2222))
    with pytest.raises(HostKeyRejected):
        verify(known(tmp_path, f"ny1.example.com {RIGHT}\n", port=2222), RIGHT, device(port=2222))


def test_hashed_names_match(tmp_path: Path) -> None:
    """``|1|salt|hash`` is what ssh-keygen -H writes."""
    salt = os.urandom(20)
    digest = hmac.digest(salt, b"ny1.example.com", "sha1")
    name = f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"
    verify(known(tmp_path, f"{name} {RIGHT}\n"), RIGHT, device())
    with pytest.raises(HostKeyRejected):
        verify(known(tmp_path, f"{name[:-5]}AAA= {RIGHT}\n"), RIGHT, device())


def test_a_revoked_key_is_refused_even_if_it_is_also_listed(tmp_path: Path) -> None:
    """Revocation wins."""
    expected = known(tmp_path, f"ny1.example.com {RIGHT}\n@revoked * {RIGHT}\n")
    with pytest.raises(HostKeyRejected, match="is revoked"):
        verify(expected, RIGHT, device())


def test_a_certificate_authority_vouches_for_no_host_key(tmp_path: Path) -> None:
    """Its line names a key that signs; a host showing that very key is not vouched for."""
    with pytest.raises(HostKeyRejected, match="is not known"):
        verify(known(tmp_path, f"@cert-authority *.example.com {RIGHT}\n"), RIGHT, device())


def test_lines_that_cannot_be_read_do_not_hide_those_that_can(tmp_path: Path) -> None:
    """One bad line in a long file is not an outage."""
    bad = (
        "ny1.example.com\nny1.example.com ssh-ed25519\nny1.example.com ssh-ed25519 ###\n"
        "@what ever ssh-rsa AAAA\n|1|x|y ssh-rsa AAAA\n|1|eA ssh-rsa AAAA\n"
        "|1|\u20ac|eA== ssh-rsa AAAA\n"
    )
    verify(known(tmp_path, f"{bad}ny1.example.com {RIGHT}\n"), RIGHT, device())


def test_several_keys_of_one_device_are_all_accepted(tmp_path: Path) -> None:
    """A device has a key of each type, and each is listed."""
    rsa = HostKey("ssh-rsa", b"rsa")
    expected = known(tmp_path, f"ny1.example.com {RIGHT}\nny1.example.com {rsa}\n")
    verify(expected, rsa, device())
    verify(expected, RIGHT, device())


def test_a_changed_key_shows_both_fingerprints_and_what_to_do(tmp_path: Path) -> None:
    """The operator can compare, and is told not to go on before."""
    expected = known(tmp_path, f"ny1.example.com {RIGHT}\n")
    with pytest.raises(HostKeyRejected) as caught:
        verify(expected, OTHER, device())
    assert RIGHT.fingerprint in str(caught.value)
    assert OTHER.fingerprint in str(caught.value)
    assert "console" in caught.value.hint
    assert caught.value.device == "ny1"


def test_an_unknown_key_shows_its_fingerprint_and_the_line_to_write(tmp_path: Path) -> None:
    """The hint can be pasted once the fingerprint was compared."""
    with pytest.raises(HostKeyRejected) as caught:
        verify(known(tmp_path, "", port=2222), OTHER, device(port=2222))
    assert OTHER.fingerprint in str(caught.value)
    assert f'host_key: "{OTHER}"' in caught.value.hint
    assert f"[ny1.example.com]:2222 {OTHER}" in caught.value.hint


def test_a_missing_file_knows_nobody(tmp_path: Path) -> None:
    """A file that is not there is said to be missing, and accepts no key."""
    expected = expected_of(device(), str(tmp_path / "nowhere"))
    with pytest.raises(HostKeyRejected, match="cannot be read"):
        verify(expected, RIGHT, device())


def test_the_users_own_file_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file in the inventory, ``~/.ssh/known_hosts``."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text(f"ny1.example.com {RIGHT}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    verify(expected_of(device(), None), RIGHT, device())


def test_a_device_without_an_address_goes_by_its_name(tmp_path: Path) -> None:
    """The inventory's name is then what is dialled and looked up."""
    file = tmp_path / "known_hosts"
    file.write_text(f"ny1 {RIGHT}\n")
    verify(expected_of(Device(name="ny1"), str(file)), RIGHT, Device(name="ny1"))
