"""The rolling plan: played out restart by restart, nothing is refused but what the plan says is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from adapters.amps.config.settings import ValidateOptions
from validator.rolling.order import rolling_plan
from validator.validate import run_validate


def plan(before: list[Any], after: list[Any]) -> Any:
    return rolling_plan([conf.instance() for conf in before], [conf.instance() for conf in after], ValidateOptions())


def mesh(amps: SimpleNamespace, names: str, topics: tuple[str, ...], **more: Any) -> list[Any]:
    return [amps.full(name, [o for o in names if o != name], topics, **more) for name in names]


def outline(steps: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(step.stage, step.instances) for step in steps]


def test_a_new_topic_is_defined_everywhere_before_it_is_replicated(amps: SimpleNamespace) -> None:
    """Definitions first, then replication with replicate and cascade excluded, then all together without."""
    steps = plan(mesh(amps, "ABC", ("t",)), mesh(amps, "ABC", ("t", "u")))
    assert outline(steps) == [
        *(("define", (name,)) for name in "ABC"),
        *(("replicate", (name,)) for name in "ABC"),
        ("restore", ("A", "B", "C")),
    ]
    assert [step.number for step in steps] == list(range(1, 8))
    assert all(step.refused == () for step in steps)
    assert steps[-1].together
    first = steps[3].changes[0].xml
    assert first == (
        "<Topic><Name>u</Name><MessageType>json</MessageType>"
        "<ExcludeValidation>replicate,cascade</ExcludeValidation></Topic>"
    )
    assert steps[-1].changes[0].xml == "<Topic><Name>u</Name><MessageType>json</MessageType></Topic>"


def test_exclusions_come_first_when_entries_are_there_already(amps: SimpleNamespace) -> None:
    """A change under an expression: cascade is excluded before, and the plan admits what is refused meanwhile."""
    before = mesh(amps, "AB", (".*",), sow={"t": ("/id",)})
    after = mesh(amps, "AB", (".*",), sow={"t": ("/id",), "u": ("/id",)})
    steps = plan(before, after)
    assert outline(steps) == [
        ("exclude", ("A",)),
        ("exclude", ("B",)),
        ("define", ("A",)),
        ("define", ("B",)),
        ("restore", ("A", "B")),
    ]
    assert "<ExcludeValidation>sow,cascade,keys</ExcludeValidation>" in steps[0].changes[0].xml
    assert [step.refused for step in steps] == [("B → A",), (), (), (), ()]
    assert "<Name>u</Name>" in steps[2].changes[0].xml


def test_upstream_is_relaxed_before_downstream(amps: SimpleNamespace) -> None:
    """Where links run one way nothing need be refused: who sends excludes cascade before who receives."""

    def row(sow: dict[str, tuple[str, ...]]) -> list[Any]:
        ways = {"C": "B", "B": "A", "A": ""}
        return [
            amps.full(
                name,
                [],
                [".*"],
                sow=sow,
                group=name,
                to=tuple(amps.Dest(to, (amps.Entry(".*", exclude="replicate,cascade"),), group=to) for to in tos),
            )
            for name, tos in ways.items()
        ]

    steps = plan(row({}), row({"t": ("/id",)}))
    assert [names for stage, names in outline(steps) if stage == "exclude"] == [("C",), ("B",)]
    assert all(step.refused == () for step in steps)


def test_a_topic_that_goes_is_no_longer_replicated_before_it_is_no_longer_logged(amps: SimpleNamespace) -> None:
    """The reverse of adding one: replication first, definitions last."""
    steps = plan(mesh(amps, "AB", ("t", "u")), mesh(amps, "AB", ("t",)))
    assert [stage for stage, _ in outline(steps)] == ["exclude"] * 2 + ["replicate"] * 2 + ["withdraw"] * 2
    assert "without the entry u" in steps[2].changes[0].where


def test_an_instance_that_joins_and_one_that_leaves(amps: SimpleNamespace) -> None:
    """The new one comes in with the definitions; the old one is stopped at the end."""
    before, after = mesh(amps, "AB", ("t",)), mesh(amps, "AC", ("t",))
    steps = plan(before, after)
    assert ("define", ("C",)) in outline(steps)
    assert ("withdraw", ("B",)) in outline(steps)
    assert steps[-1].refused == ()


def test_nothing_changes_and_nothing_can_be_planned(amps: SimpleNamespace) -> None:
    """The same configurations need no step; a new configuration that AMPS would refuse gets no plan."""
    confs = mesh(amps, "AB", ("t",))
    assert plan(confs, confs) == ()
    assert plan(confs, [confs[0], confs[1].but(log=("x",))]) is None


def test_the_plan_is_part_of_the_report(tmp_path: Path, amps: SimpleNamespace) -> None:
    """``rolling_from`` names the files in force now; without a plan the report says why."""
    for folder, topics in (("old", ("t",)), ("new", ("t", "u"))):
        (tmp_path / folder).mkdir()
        for conf in mesh(amps, "AB", topics):
            (tmp_path / folder / f"{conf.name}.xml").write_text(conf.xml())
    options = ValidateOptions(rolling_from=(str(tmp_path / "old"),))
    report = run_validate([tmp_path / "new"], options)
    assert report.plan is not None and outline(report.plan)[-1] == ("restore", ("A", "B"))
    (tmp_path / "new" / "B.xml").write_text(amps.full("B", [], ("t", "u")).xml())
    refused = run_validate([tmp_path / "new"], options)
    assert refused.plan is None and "fix these configurations first" in str(refused.plan_refused)
