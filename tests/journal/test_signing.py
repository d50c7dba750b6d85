"""Signing keys: private to their owner, never replaced, never guessed; and the commands that make and use them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.errors import DefinitionError
from orchestrator.journal.signing import Signer, Verifier, generate, key_name, load_public, public_half, statement


def test_a_pair_of_keys(tmp_path: Path) -> None:
    """The private half is its owner's alone, the public one is not secret, and they belong together."""
    public, name = generate(tmp_path / "key")
    assert ((tmp_path / "key").stat().st_mode & 0o777, public.name) == (0o600, "key.pub")
    signature = Signer(tmp_path / "key").sign("run-1", 3, "ab")
    assert (signature.key, signature.seq) == (name, 3)
    assert Verifier([load_public(public)]).holds(signature, "run-1", "ab")


def test_a_signature_is_of_run_number_and_head(tmp_path: Path) -> None:
    """Nothing of what is signed can be exchanged."""
    public, _ = generate(tmp_path / "key")
    signature, verifier = Signer(tmp_path / "key").sign("run-1", 3, "ab"), Verifier([load_public(public)])
    assert not verifier.holds(signature, "run-2", "ab")
    assert not verifier.holds(signature, "run-1", "ac")
    assert (
        len({statement("a", 1, "b"), statement("a", 11, "b"), statement("a1", 1, "b"), statement("a", 1, "1b")}) == 4
    )


def test_openssl_agrees(tmp_path: Path) -> None:
    """Whoever does not trust this program checks a signature with another one."""
    from base64 import b64decode

    public, _ = generate(tmp_path / "key")
    (tmp_path / "signature").write_bytes(b64decode(Signer(tmp_path / "key").sign("run-1", 3, "ab").value))
    (tmp_path / "statement").write_bytes(b"failover journal head v1\nrun-1\n3\nab\n")
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(public), "-rawin"]
    try:
        done = subprocess.run(
            [*command, "-in", "statement", "-sigfile", "signature"], cwd=tmp_path, capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert done.returncode == 0, done.stderr


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    """Making keys where there are some, or a link to somewhere, leaves what is there."""
    generate(tmp_path / "key")
    before = (tmp_path / "key").read_bytes()
    with pytest.raises(DefinitionError, match="already exists"):
        generate(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == before
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DefinitionError, match="already exists"):
        generate(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("in_the_way", ["key", "key.pub"])
def test_both_halves_or_neither(tmp_path: Path, in_the_way: str) -> None:
    """Where one half cannot be written nothing is: no key signs whose public half nobody has, and a second attempt in a
    clean place succeeds."""
    (tmp_path / in_the_way).write_text("what was here before")
    with pytest.raises(DefinitionError, match=f"{in_the_way} already exists"):
        generate(tmp_path / "key")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {in_the_way: "what was here before"}
    (tmp_path / in_the_way).unlink()
    public, name = generate(tmp_path / "key")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "key.pub"]
    assert public_half(Signer(tmp_path / "key").public()) == public.read_text()
    assert key_name(load_public(public)) == name


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """There, too, nothing is left, and the sentence says why."""
    tmp_path.chmod(0o500)
    with pytest.raises(DefinitionError, match="cannot be written"):
        generate(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_key_that_others_can_use_is_none(tmp_path: Path, mode: int) -> None:
    """A private key that others can read or write signs nothing."""
    generate(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(DefinitionError, match="other accounts can read or write"):
        Signer(tmp_path / "key").sign("run-1", 1, "ab")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_account_is_none(tmp_path: Path) -> None:
    """A private key that belongs to somebody else signs nothing."""
    generate(tmp_path / "key")
    os.chown(tmp_path / "key", 65534, 65534)
    with pytest.raises(DefinitionError, match="belongs to another account"):
        Signer(tmp_path / "key").public()


def test_what_is_no_key_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """Missing, a link, a directory, a pipe, the other half, another kind of key, with a passphrase, or anything else."""
    public, _ = generate(tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "text").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    (tmp_path / "text").chmod(0o600)
    public.chmod(0o600)
    for name in ("nowhere", "link", "folder", "pipe", "text", "key.pub"):
        with pytest.raises(DefinitionError, match=str(tmp_path / name)):
            Signer(tmp_path / name).public()
    for name in ("nowhere", "folder", "text", "key"):
        with pytest.raises(DefinitionError, match=str(tmp_path / name)):
            load_public(tmp_path / name)
