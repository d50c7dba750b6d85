"""Steps that run commands of the operator's own: what is left changed is never called reverted."""

from __future__ import annotations

import pytest

from tests.cli.shell import Ended, Shell
from tests.local.conftest import Bench
from tests.local.test_commanded import Night

pytestmark = pytest.mark.realtime

STEPS = """\
runbook: own/controlled
summary: The batch is stopped first; then the message VPN is moved.
continue_with: solace/controlled
steps:
  - id: batch
    title: Stop the batch
    require: [{on: source, reading: replication, where: {role: active}}]
    do: {on: source, action: ensure, command: stop-batch}
    LEAVES
"""


def moved(night: Night, *, undo: bool, leaves: str = "") -> Ended:
    """A move whose activation is refused, after the batch was stopped."""
    folder = night.bench.folder
    night.bench.command("start-batch", f"rm -f {folder}/stopped", idempotent=True)
    night.bench.command(
        "stop-batch", f"touch {folder}/stopped", idempotent=True, **({"undo": "start-batch"} if undo else {})
    )
    night.shell.disturb("activate: refuse")
    book = str(night.shell.write("own.yaml", STEPS.replace("LEAVES", leaves)))
    inventory = night.inventory()
    return night.shell("controlled", "--vpn", "Risk_VPN", "--runbook", book, "--inventory", inventory, "--yes")


@pytest.fixture
def day(shell: Shell, bench: Bench) -> Night:
    """Both sites are well, and one has commands of its own."""
    return Night(shell, bench, [{"backbone": True}])


def test_the_undo_that_the_inventory_names_is_used(day: Night) -> None:
    """Law (promise 17): a command that names its undo is rolled back by it, and only then the lane is reverted."""
    ended = moved(day, undo=True)
    assert (ended.code, (day.bench.folder / "stopped").exists()) == (5, False)
    assert [one for one in day.bench.diary if "batch" in one] == ["stop-batch", "start-batch"]


def test_a_plan_shows_the_undo_that_it_would_use(day: Night) -> None:
    """Law (promise 12): the recorded runbook has the undo, so that people see and approve it."""
    moved(day, undo=True)
    shown = day.shell("runs", "export")
    assert '"command":"start-batch"' in shown.out.replace('\\"', '"')


def test_a_step_without_an_undo_is_refused(day: Night) -> None:
    """Law (promise 17): before the point of no return each step has an undo, or its author says what it leaves."""
    ended = moved(day, undo=False)
    assert (ended.code, day.bench.diary) == (2, [])
    assert "step batch comes before the point of no return, but has no undo [missing-undo]" in ended.err


def test_what_is_left_changed_is_stuck_and_named(day: Night) -> None:
    """Law (promise 17): everything else is undone; what its author left is named, and nothing is called reverted."""
    ended = moved(day, undo=False, leaves="leaves: the batch is stopped")
    assert (ended.code, (day.bench.folder / "stopped").exists()) == (7, True)
    assert "the changes of these steps are not undone: batch (the batch is stopped)" in ended.out
    assert day.shell("resume").code == 7
