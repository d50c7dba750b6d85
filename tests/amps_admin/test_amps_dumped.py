"""An instance whose configuration includes files: a file of the inventory is used in its place while it is not stale."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from adapters.amps.reading_models import Bootstrap, Links, TransactionLog
from orchestrator.errors import DefinitionError
from orchestrator.model.outcome import Failure
from tests.amps_admin.instance import answer
from tests.amps_admin.stage import Stage

SERVED = "<AMPSConfig><Name>amps-1</Name><Include>/etc/amps/common.xml</Include></AMPSConfig>"


def stage_with(path: Path, served: str = SERVED, *, digest: str = "", text: str | None = None) -> Stage:
    """An instance that serves ``served``, with a file that was dumped of it."""
    digest = digest or hashlib.sha256(served.encode()).hexdigest()
    stage = Stage(options={"configurations": {"amps-1": {"file": str(path), "served_sha256": digest}}})
    path.write_text(stage.one.config if text is None else text, encoding="utf-8")
    stage.one.answers["/amps/instance/config.xml"] = answer(200, served)
    return stage


def test_readings_take_the_file(tmp_path: Path) -> None:
    """Law: with the file everything is known that the served text, which includes another, does not tell."""
    bare = Stage()
    bare.one.answers["/amps/instance/config.xml"] = answer(200, SERVED)
    unknown = bare.read("links")
    assert isinstance(unknown, Links)
    assert unknown.configured_sync is None
    stage = stage_with(tmp_path / "amps-1.xml")
    links, log, bootstrap = stage.read("links"), stage.read("transaction_log"), stage.read("bootstrap")
    assert isinstance(links, Links)
    assert isinstance(log, TransactionLog)
    assert isinstance(bootstrap, Bootstrap)
    assert (links.configured_sync, log.bytes, bootstrap.configured) == (True, 20 * 1024**2, False)


def test_a_stale_file_is_not_taken(tmp_path: Path) -> None:
    """Law: an instance that serves another text than the file was made of makes unknown what depends on it, and the
    reason has the number to write."""
    stage = stage_with(tmp_path / "amps-1.xml")
    changed = SERVED.replace("common", "other")
    stage.one.answers["/amps/instance/config.xml"] = answer(200, changed)
    links = stage.read("links")
    assert isinstance(links, Links)
    assert (links.connected, links.configured_sync) == (True, None)
    with pytest.raises(DefinitionError, match="is stale") as refusal:
        stage.adapter(read_only=True).configuration("orders")
    assert hashlib.sha256(changed.encode()).hexdigest() in str(refusal.value)


def test_the_instance_is_asked_all_the_same(tmp_path: Path) -> None:
    """Law: a file proves nothing of an instance that does not serve its configuration."""
    stage = stage_with(tmp_path / "amps-1.xml")
    stage.one.answers["/amps/instance/config.xml"] = answer(404)
    links = stage.read("links")
    assert isinstance(links, Links)
    assert links.configured_sync is None
    assert not isinstance(links, Failure)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """Law: a file that cannot be read is named, and nothing else takes its place."""
    stage = stage_with(tmp_path / "amps-1.xml")
    (tmp_path / "amps-1.xml").unlink()
    with pytest.raises(DefinitionError, match=r"amps-1\.xml cannot be read"):
        stage.adapter(read_only=True).configuration("orders")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"amps-9": {"file": "a.xml", "served_sha256": "0" * 64}}, "no device is called 'amps-9'"),
        ({"amps-1": {"file": "a.xml", "served_sha256": "abc"}}, "served_sha256"),
        ({"amps-1": {"file": "a.xml"}}, "served_sha256"),
    ],
)
def test_wrong_entries(given: dict[str, object], said: str) -> None:
    """Law: an entry for no device of the site, or without its number, is refused before anything is asked."""
    with pytest.raises(DefinitionError, match=said):
        Stage(options={"configurations": given}).adapter()
