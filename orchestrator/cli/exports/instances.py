"""Runs ``failover pipeline journals`` and ``sow`` and prints the results.

The keys of SOW topics come from an instance's own configuration, if the configuration is beside its dumps. This module
must never read a dump.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.cli.exports.reconcile import code_for, engine_installed
from orchestrator.cli.render.terminal import presentable, say_unless, show_document, show_json
from orchestrator.cli.spark_options import SparkOptions
from orchestrator.clock import Clock

if TYPE_CHECKING:
    from pipeline.amps.keys import Definitions
    from pipeline.amps.report import JournalsReport, SowReport
    from pipeline.amps.sow import SowSide

_CONFIGURATION = "config.xml"


def journals_of(
    clock: Clock, left: str, right: str, skew_s: float, spark: SparkOptions, out: str | None, *, as_json: bool
) -> int:
    """Compare the logs of two instances and print the result. Returns the exit code."""
    with engine_installed():
        from pipeline.amps.narrate import journal_lines
        from pipeline.commands import run_journals

        report = run_journals(left, right, skew_s, spark.settings(), out, clock, say_unless(as_json))
        return _shown(report, journal_lines(report), as_json=as_json)


def sows_of(
    clock: Clock,
    left: str,
    right: str,
    keys: list[str],
    skew_s: float,
    spark: SparkOptions,
    out: str | None,
    *,
    as_json: bool,
) -> int:
    """Compare the SOW topics of two instances and print the result. Returns the exit code."""
    with engine_installed():
        from pipeline.amps.keys import parse_keys
        from pipeline.amps.narrate import sow_lines
        from pipeline.commands import run_sow

        named = dict(parse_keys(one) for one in keys)
        sides = _side(left, named), _side(right, named)
        report = run_sow(*sides, skew_s, spark.settings(), out, clock, say_unless(as_json))
        return _shown(report, sow_lines(report), as_json=as_json)


def _side(name: str, named: Definitions) -> SowSide:
    from pipeline.amps.instance import Instance
    from pipeline.amps.sow import SowSide

    instance = Instance.of_directory(name)
    return SowSide(instance, {**named, **_configured(name)})


def _configured(name: str) -> Definitions:
    """The keys that a configuration defines. A container of many topics has no key that could match a dump."""
    from adapters.amps.config.configuration import parse_instance, read_instance
    from pipeline.amps.instance import Topic
    from pipeline.amps.keys import Definition
    from pipeline.places import Place

    place = Place.of(name).child(_CONFIGURATION)
    if not place.exists() or place.is_directory():
        return {}
    # In a remote place only the configuration itself is read, without the files that it includes.
    elsewhere = None if place.is_local else parse_instance(place.read().decode("utf-8", "replace"), place.name)
    return {
        Topic(one.name, one.message_type): Definition(one.keys, one.key_domain, one.key_generator)
        for one in (elsewhere or read_instance(place.local)).sow
        if one.pattern is None and one.keys
    }


def _shown(report: JournalsReport | SowReport, lines: Iterable[str], *, as_json: bool) -> int:
    code = code_for(report.findings)
    if as_json:
        show_json({"result": {**report.model_dump(mode="json"), "exit_code": code}})
    else:
        for line in lines:
            show_document(presentable(line))
    return code
