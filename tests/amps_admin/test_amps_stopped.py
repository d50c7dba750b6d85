"""A signal at any record of the runbooks of AMPS: a pause, then resume; nothing is sent that was not sent without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.events import Outcome
from orchestrator.loader import shipped_runbooks
from orchestrator.reports.report import RunReport
from tests.amps_admin.pair import AmpsPair
from tests.amps_admin.test_amps_runs import consumers_move, ended, fetched

Lead = Callable[..., RunReport]


def controlled(folder: Path) -> AmpsPair:
    """ny serves, its queue empties later, and nj lets clients in last."""
    pair = AmpsPair(folder, is_open=False)
    pair.at(350, consumers_move)
    return pair


def controlled_async(folder: Path) -> AmpsPair:
    """The same across async links."""
    pair = AmpsPair(folder, sync="async", is_open=False)
    pair.at(350, consumers_move)
    return pair


def lost(folder: Path) -> AmpsPair:
    """ny is gone."""
    pair = AmpsPair(folder)
    pair.lose("ny")
    return pair


def lost_async(folder: Path) -> AmpsPair:
    """The same across async links."""
    pair = AmpsPair(folder, sync="async", is_open=False)
    pair.lose("ny")
    return pair


def back(folder: Path) -> AmpsPair:
    """ny was lost, and has started again."""
    pair = lost(folder)
    pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})
    pair.start("ny")
    pair.at(90, lambda one: one.connect())
    return pair


def empty(folder: Path) -> AmpsPair:
    """The same with nothing in it: it fetches all from nj."""
    pair = lost(folder)
    pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})
    pair.at(30, lambda one: one.start("ny", empty=True, bootstrap=True))
    pair.at(100, fetched)
    pair.at(130, lambda one: one.connect())
    return pair


def open_again(folder: Path) -> AmpsPair:
    """ny was lost, has started again, and lets clients in."""
    pair = lost(folder)
    pair.lead("amps/uncontrolled", policy={"unfenced": "attest"})
    pair.start("ny")
    pair.ny.one("transports")["is_enabled"] = "1"
    return pair


def moved(folder: Path) -> AmpsPair:
    """nj serves, and ny is back."""
    pair = AmpsPair(folder)
    pair.at(120, consumers_move)
    pair.lead("amps/controlled")
    pair.lead("amps/restore")
    return pair


STORIES: dict[str, tuple[Callable[[Path], AmpsPair], dict[str, object]]] = {
    "amps/controlled": (controlled, {}),
    "amps/controlled-async": (controlled_async, {}),
    "amps/uncontrolled": (lost, {"policy": {"unfenced": "attest"}}),
    "amps/uncontrolled-async": (lost_async, {"policy": {"unfenced": "attest", "data-loss": "accept"}}),
    "amps/proxied-transfer": (lost, {"policy": {"proxied-transfer": "accept"}}),
    "amps/restore": (back, {}),
    "amps/restore-bootstrap": (empty, {"policy": {"bootstrap": "attest"}}),
    "amps/guard": (open_again, {}),
    "amps/failback": (moved, {"source": "nj"}),
}
# Its steps are those of amps/controlled-async, by ``continue_with`` or one by one.
ALIKE = {"amps/failback-async"}


@pytest.mark.parametrize("runbook", STORIES)
def test_stopped_anywhere(runbook: str, tmp_path: Path) -> None:
    """Law: at whichever record the signal comes, resume leads to the undisturbed end, by the same requests."""
    make, how = STORIES[runbook]

    def told(pause_at: int | None) -> tuple[AmpsPair, RunReport]:
        folder = tmp_path / str(pause_at)
        folder.mkdir()
        pair = make(folder)
        pair.heard.clear()
        lead: Lead = pair.lead
        return pair, lead(runbook, pause_at=pause_at, **how)

    undisturbed, report = told(None)
    assert ended(report)[0] is Outcome.DONE
    assert not undisturbed.paused
    was_paused = 0
    for pause_at in (2, 9, 16, 25, 36):
        pair, report = told(pause_at)
        was_paused += pair.paused
        assert (ended(report)[0], pair.heard) == (Outcome.DONE, undisturbed.heard), pause_at
    assert was_paused >= 2


def test_no_runbook_is_left_out() -> None:
    """Law: every shipped runbook of AMPS is stopped, or has the steps of one that is."""
    assert set(STORIES) | ALIKE == {name for name in shipped_runbooks() if name.startswith("amps/")}
