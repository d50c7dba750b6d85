"""``failover lab up --edition``: listed, refused by name, kept with the lab, and ended."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from simulator.lab.amps.editions import INSTANCES
from simulator.lab.editions import APPLIANCES
from tests.cli.processes import PATIENCE_S, Bench
from tests.cli.test_lab_processes import lab_up

pytestmark = pytest.mark.realtime
MakeBench = Callable[..., Bench]


def said_by(bench: Bench, *options: str) -> list[str]:
    """What a lab says when it is up; it is ended again."""
    lab, said = lab_up(bench, *options)
    lab.send_signal(signal.SIGINT)
    lab.communicate(timeout=PATIENCE_S)
    return said


def test_the_list(make_bench: MakeBench) -> None:
    """Law: the list has every edition of both families, with its sentence."""
    listed = make_bench().here("lab", "editions")
    assert listed.code == 0
    assert [line.strip() for line in listed.out.split("\n") if line.startswith("  ")] == [
        *APPLIANCES.lines(),
        *INSTANCES.lines(),
    ]


@pytest.mark.parametrize(("family", "other"), [((), "no-group"), (("--amps",), "mate-prefix")])
def test_a_name_that_is_none(make_bench: MakeBench, family: tuple[str, ...], other: str) -> None:
    """Law: a name of no edition, or of the other family's, is refused with the list before anything is made."""
    bench = make_bench()
    refused = bench.here("lab", "up", *family, "--edition", other)
    assert (refused.code, (bench.folder / "lab").exists()) == (2, False)
    assert f"--edition {other}: there is no such edition" in refused.complaint


@pytest.mark.parametrize(
    ("family", "first", "second"),
    [((), "mate-prefix", "slow-login=0.1"), (("--amps",), "no-group", "late=0.1")],
)
def test_a_lab_keeps_its_editions(make_bench: MakeBench, family: tuple[str, ...], first: str, second: str) -> None:
    """Law: a lab that starts again, also after a reset, has the editions that it had, and says so, in its inventory
    too; others replace them, and ``plain`` ends them."""
    bench = make_bench()
    shown = f"  editions: {first} {second}"
    assert shown in said_by(bench, *family, "--edition", first, "--edition", second)
    assert f"# Editions: {first} {second}\n" in (bench.folder / "lab.yaml").read_text()
    assert bench.run("lab", "reset", "--directory", "lab").code == 0
    assert shown in said_by(bench, *family)
    assert f"  editions: {second}" in said_by(bench, *family, "--edition", second)
    assert not [
        line for line in said_by(bench, *family, "--edition", "plain") if "editions: " in line and "plain" not in line
    ]
    assert first not in "".join(said_by(bench, *family))
