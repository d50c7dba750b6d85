"""Suggested exclusions: enough to pass, none too many, and honest about what they give up."""

from __future__ import annotations

from functools import partial
from operator import ne
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.config.model import MANDATORY, Check, Instance
from adapters.amps.config.settings import ValidateOptions
from orchestrator.errors import DefinitionError
from validator.fabric.fabric import Fabric
from validator.report import Level, Suggestion
from validator.rolling.amend import EntryKey, key_of, with_exclusions
from validator.suggest import suggestions
from validator.validate import validate


def pairs(found: tuple[Suggestion, ...]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(each.source, each.destination): each.add for each in found}


def view_server(amps: SimpleNamespace) -> list[Any]:
    """A pair that sends one topic of two to a view server."""
    confs = [
        amps.full(
            name,
            [],
            ["t", "u"],
            to=(
                amps.Dest(mate, (amps.Entry("t"), amps.Entry("u")), group="G"),
                amps.Dest("V", (amps.Entry("t"),), group="V", sync="async"),
            ),
        )
        for name, mate in ("AB", "BA")
    ]
    return [*confs, amps.full("V", [], ["t"], group="V")]


def applied(instances: list[Instance], found: tuple[Suggestion, ...]) -> list[Instance]:
    """The instances with the suggestions followed."""
    add: dict[EntryKey, set[Check]] = {}
    for each in found:
        for instance in instances:
            for destination in instance.destinations:
                for entry in destination.topics:
                    if entry.at == (each.fix.at.file, each.fix.at.line):
                        add[key_of(instance, destination, entry)] = {Check(check) for check in each.add}
    return [with_exclusions(instance, add) for instance in instances]


def test_a_view_server_needs_replicate_where_it_is_fed_and_cascade_upstream(amps: SimpleNamespace) -> None:
    """replicate towards the view server, cascade between those that feed it; the topic it does not take is left."""
    report = amps.report_of(*view_server(amps), suggest_exclusions=True)
    assert pairs(report.suggestions) == {
        ("A", "V"): ("replicate",),
        ("B", "V"): ("replicate",),
        ("A", "B"): ("cascade",),
        ("B", "A"): ("cascade",),
    }
    first = next(each for each in report.suggestions if each.destination == "V")
    assert first.gives_up == (
        "messages published to t on V never reach A, so they are missing after a fail-over to V and back",
    )
    assert first.fix.xml == (
        "<Topic><Name>t</Name><MessageType>json</MessageType><ExcludeValidation>replicate</ExcludeValidation></Topic>"
    )


def test_hub_and_spoke_needs_what_the_hub_does_not_keep(amps: SimpleNamespace) -> None:
    """Ingestion with a SOW, a hub without: no cascade, because towards the hub replicate is not enforced either."""
    i = amps.full("I", [], ["t"], group="I", to=(amps.Dest("H", (amps.Entry("t"),), group="H"),))
    h = amps.full("H", [], ["t"], group="H", sow={}, to=(amps.Dest("S", (amps.Entry("t"),), group="S"),))
    s = amps.full("S", [], ["t"], group="S")
    report = amps.report_of(i, h, s, suggest_exclusions=True)
    assert pairs(report.suggestions) == {
        ("I", "H"): ("replicate", "sow", "keys"),
        ("H", "S"): ("replicate",),
    }


def test_an_entry_for_many_topics_says_which_it_relaxes_needlessly(amps: SimpleNamespace) -> None:
    """An exclusion holds for all topics of the entry."""
    a, b = amps.full("A", [], ["t", "u"], to=(amps.Dest("B", (amps.Entry(".*"),)),)), amps.full("B", ["A"], ["t"])
    [suggestion] = [
        each
        for each in amps.report_of(a, b.but(log=("t", "u")), suggest_exclusions=True).suggestions
        if each.source == "A"
    ]
    assert suggestion.also_relaxes == ("t",)


def test_only_intended_asymmetry_is_excluded(amps: SimpleNamespace) -> None:
    """With instances named, failures elsewhere stay errors to be mended; an unknown name is refused."""
    confs = view_server(amps)
    confs[1] = confs[1].but(log=("t",))  # B forgets to log u: a fault, not an asymmetry
    report = amps.report_of(*confs, suggest_exclusions=True, intended=("V",))
    assert all("txlog" not in each.add for each in report.suggestions)
    with pytest.raises(DefinitionError, match="X, which is intended to be asymmetric"):
        amps.report_of(*confs, suggest_exclusions=True, intended=("X",))


def test_a_sound_fabric_needs_none(amps: SimpleNamespace) -> None:
    """No suggestion for a symmetric pair; None when none were asked for."""
    a, b = amps.full("A", ["B"], ["t"]), amps.full("B", ["A"], ["t"])
    assert amps.report_of(a, b, suggest_exclusions=True).suggestions == ()
    assert amps.report_of(a, b).suggestions is None


@st.composite
def fabrics(draw: st.DrawFn) -> list[tuple[bool, bool, dict[int, tuple[str, bool]]]]:
    """Three to four instances: logs t or not, stores t or not, and for each mate an exclusion and a filter or not."""
    size = draw(st.integers(2, 4))
    exclusions = st.sampled_from(["", "replicate", "cascade", "txlog,sow,keys"])
    return [
        (
            draw(st.booleans()),
            draw(st.booleans()),
            draw(
                st.dictionaries(
                    st.integers(0, size - 1).filter(partial(ne, me)),
                    st.tuples(exclusions, st.booleans()),
                )
            ),
        )
        for me in range(size)
    ]


@given(shapes=fabrics())
def test_following_the_suggestions_leaves_no_error_that_can_be_excluded(
    shapes: list[tuple[bool, bool, dict[int, tuple[str, bool]]]], amps: SimpleNamespace
) -> None:
    """Enough: afterwards nothing fails but mandatory checks. Not too many: each one taken back fails again."""
    names = "ABCD"
    instances = [
        amps.Conf(
            names[me],
            log=("t",) if logs else (),
            sow={"t": ("/id",)} if stores else {},
            to=tuple(
                amps.Dest(names[mate], (amps.Entry("t", exclude=exclude, filter="/x" if sieved else ""),))
                for mate, (exclude, sieved) in sorted(mates.items())
            ),
        ).instance()
        for me, (logs, stores, mates) in enumerate(shapes)
    ]
    options = ValidateOptions(extra_rules=False)
    found = suggestions(Fabric(instances, options))
    assert errors(applied(instances, found)) <= set(MANDATORY)
    for index, each in enumerate(found):
        for check in each.add:
            less = tuple(other for other in each.add if other != check)
            fewer = (*found[:index], each.model_copy(update={"add": less}), *found[index + 1 :])
            assert errors(applied(instances, fewer)) > set()


def errors(instances: list[Instance]) -> set[str]:
    report = validate(instances, ValidateOptions(extra_rules=False))
    return {finding.check for finding in report.findings if finding.level is Level.ERROR}
