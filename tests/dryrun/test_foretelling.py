"""A dry run says how long earlier runs took, from the forecast in the state directory, and never makes one up."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.exports.history import learned
from orchestrator.model.places import pair_place
from orchestrator.reports.forecast import NAME, DrainForecast, Forecast, Range, StepForecast, encoded
from simulator.embedded import embedded_inventory
from tests.cli.shell import VPN, Shell

RANGE = Range(n=7, p05=1.0, p50=2.0, p95=4.0)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a simulated pair of its own."""
    for name in ("STATE", "JOURNAL", "INVENTORY"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state").mkdir(mode=0o700)
    return Shell(tmp_path, capsys)


def keep(
    shell: Shell, *, simulated: bool = True, seen: Range = RANGE, rate: float | None = None, elsewhere: bool = False
) -> None:
    """Keep a forecast of the step `demote`, and perhaps of the drain: of the embedded pair, or of one elsewhere."""
    pair = embedded_inventory(shell.folder / "elsewhere.json" if elsewhere else shell.world_file)
    place = pair_place(list(pair.sites.values()))
    runbook = "solace/controlled"
    step = StepForecast(simulated=simulated, place=place, runbook=runbook, step="demote", service=None, seconds=seen)
    rates = Range(n=5, p05=rate / 2, p50=rate, p95=rate * 2) if rate else None
    drains = (DrainForecast(simulated=simulated, place=place, service=VPN, rate=rates),) if rates else ()
    (shell.state / NAME).write_bytes(encoded(Forecast(made_at="x", runs=7, steps=(step,), drains=drains)))


def notes(shell: Shell, step: str) -> list[str]:
    """The notes on a step of a dry run."""
    ended = shell("controlled", "--vpn", VPN, "--dry-run", "--json")
    steps = ended.result["lanes"][0]["steps"]
    return [str(note) for note in next(one["notes"] for one in steps if one["id"] == step)]


def test_a_range_with_how_often(shell: Shell) -> None:
    """Law: the middle and the range of earlier runs are told, with how many there were."""
    keep(shell)
    assert "took 1 to 4 s in 7 earlier runs" in notes(shell, "demote")


def test_a_drain_is_foretold_from_what_is_queued(shell: Shell) -> None:
    """Law: the time to drain is the queue as it is now, at the rates seen before; the slow rate is the long end."""
    keep(shell, rate=1_000.0)
    told = next(note for note in notes(shell, "drain") if note.startswith("about"))
    assert told == "about 4.0s (2.0s to 8.0s), if the queue drains as in 5 earlier waits (at 1,000 messages a second)"


@pytest.mark.parametrize(
    "kept", [{"simulated": False}, {"seen": Range(n=2, p05=1, p50=1, p95=1)}, {"elsewhere": True, "rate": 1_000.0}]
)
def test_nothing_is_made_up(shell: Shell, kept: dict[str, object]) -> None:
    """Law: real runs say nothing of simulated ones, two runs are no range, and another pair's are not this one's, though
    its services have the same names."""
    keep(shell, **kept)  # type: ignore[arg-type]
    told = [*notes(shell, "demote"), *notes(shell, "drain")]
    assert not [note for note in told if note.startswith(("about", "takes"))]


def test_who_keeps_one_that_tells_nothing_is_told_so() -> None:
    """Law: nobody waits for ranges that a forecast of too few runs does not have."""
    path = Path("forecast.json")
    for number, words in (
        (3, "dry runs now read their ranges from forecast.json"),
        (
            2,
            "forecast.json was written, but dry runs cannot use it yet, because no step was finished 3 times",
        ),
    ):
        seen = Range(n=number, p05=1.0, p50=1.0, p95=1.0)
        step = StepForecast(simulated=True, runbook="r", step="s", service=None, seconds=seen)
        assert learned(path, Forecast(made_at="x", runs=number, steps=(step,), drains=())) == words


@pytest.mark.parametrize("text", ["{}", "x", '{"format": "failover forecast 2"}'])
def test_what_is_no_forecast(shell: Shell, text: str) -> None:
    """Law: a damaged forecast is one sentence with what to do, and nothing is begun."""
    (shell.state / NAME).write_text(text, encoding="utf-8")
    ended = shell("controlled", "--vpn", VPN, "--dry-run")
    assert (ended.code, "forecast" in ended.complaint) == (2, True)
    assert "--learn" in ended.hint
