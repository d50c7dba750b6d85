"""The command line against the lab's AMPS instances on real ports: an inventory that the lab wrote, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from simulator.amps.embedded import amps_inventory, amps_layout
from simulator.amps.world import AmpsWorld
from simulator.lab.amps.server import AmpsLab, AmpsLogin
from tests.cli.shell import Shell


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[AmpsLab]:
    """Two instances with traffic, each on a port of its own, with a login."""
    world = AmpsWorld(amps_layout(queues=False), SystemClock())
    with AmpsLab(world, directory=tmp_path / "lab", service="orders", login=AmpsLogin()) as running:
        yield running


@pytest.mark.realtime
def test_a_move_over_real_ports(
    lab: AmpsLab, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at, checked, moved, and looked at again; by the world's own account nothing is lost."""
    monkeypatch.setenv("FAILOVER_USER", "ann")
    tools = Tools(tmp_path, SystemClock(), SecretStore(None), Registry())
    where = ("--inventory", str(lab.inventory_path))
    tools.clock.sleep(2.5)
    assert main(("status", *where), tools) == 0
    assert "orders-ny" not in capsys.readouterr().out, "the table is about services and sites"
    main(("check", "--json", *where), tools)
    assert '"code":"access-unknown"' not in capsys.readouterr().out.replace(" ", "")
    assert main(("validate", "--from-inventory", "--nine", *where), tools) == 0
    code = main(("controlled", "--service", "orders", "--yes", *where), tools)
    assert code == 0, capsys.readouterr().err
    assert "SIMULATED" in capsys.readouterr().out
    commands = [action for _, action, _ in lab.world.tally().commands]
    assert (commands, lab.world.tally().lost) == (["disable", "downgrade"], 0)


def test_a_fault_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """``--fault`` understands the grammar of the simulated instances, where the inventory has these."""
    monkeypatch.setenv("FAILOVER_USER", "ann")
    shell = Shell(tmp_path, capsys)
    world = AmpsWorld(amps_layout(queues=False), shell.clock, path=tmp_path / "amps.json")
    shell.clock.advance(5.0)
    world.save()
    inventory = amps_inventory(tmp_path / "amps.json").model_dump_json(exclude_unset=True)
    (tmp_path / "amps.yaml").write_text(inventory, encoding="utf-8")
    ended = shell(
        *("controlled", "--service", "orders", "--yes", "--inventory", str(tmp_path / "amps.yaml")),
        *("--fault", "disable orders-ny: link orders-ny orders-ldn down"),
    )
    assert (ended.code, "A reading shows that ny lets its clients in" in ended.out) == (5, True), (
        ended.out + ended.err
    )
    ended = shell(
        *("controlled", "--service", "orders", "--yes", "--inventory", str(tmp_path / "amps.yaml")),
        *("--fault", "demote: bridge down"),
    )
    assert ended.code == 2
