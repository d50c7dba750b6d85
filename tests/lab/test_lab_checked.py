"""``failover check`` and ``status`` against the lab's appliances on real ports, where an edition changes what is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from simulator.embedded import embedded_layout
from simulator.lab.edition import SEED
from simulator.lab.editions import with_editions
from simulator.lab.of_world import serve_world
from simulator.lab.server import LabSettings
from simulator.solace.world import World

pytestmark = pytest.mark.realtime


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *editions: str) -> set[str]:
    """The codes of the findings that ``check`` has of the embedded pair, over SEMP and the CLI."""
    settings = LabSettings(edition=with_editions(SEED, editions), editions=editions, semp="http")
    with serve_world(World(embedded_layout(), SystemClock()), directory=folder / "lab", settings=settings) as lab:
        tools = Tools(folder, SystemClock(), SecretStore(None), Registry())
        main(("check", "--json", "-i", str(lab.joint_inventory_path)), tools)
    [pair] = json.loads(capsys.readouterr().out)["pairs"]
    return {one["code"] for one in pair["findings"]}


@pytest.mark.parametrize(
    ("edition", "found"),
    [("newer", set()), ("software", set()), ("slow-login=0.2", set()), ("sync-untold", {"sync-unknown"})],
)
def test_a_healthy_pair_stays_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, edition: str, found: set[str]
) -> None:
    """Law: another way to speak is no finding; a value that is left out is one, and is called unknown."""
    monkeypatch.setenv("FAILOVER_USER", "ann")
    plain = checked(tmp_path / "plain", capsys)
    assert checked(tmp_path / "edition", capsys, edition) - plain == found


def test_a_mate_with_its_prefix_is_no_stranger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law: v:NJ_Appliance1 is NJ_Appliance1."""
    monkeypatch.setenv("FAILOVER_USER", "ann")
    assert "mate-stranger" not in checked(tmp_path, capsys, "mate-prefix")
