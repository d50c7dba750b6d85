"""The output of ``failover validate``, and the reading of its options."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from adapters.amps.config.settings import Assumptions, TopicName, ValidateOptions
from orchestrator.cli.render.terminal import show_document, show_json
from orchestrator.errors import DefinitionError
from orchestrator.files import read_document
from orchestrator.model.inventory import Inventory
from orchestrator.operations.runtime import Tools
from validator.output.drawing import mermaid, svg
from validator.output.sarif import sarif
from validator.output.table import table
from validator.report import EXIT_FINDINGS, Level, ValidationReport, report_schema
from validator.validate import run_validate, validate


@dataclass(frozen=True, slots=True)
class ValidationRequest:
    """The typed options of the command."""

    paths: Sequence[Path]
    form: str
    brief: bool
    define: Sequence[str]
    environment: bool
    topics: Sequence[Path]
    all_topics: bool
    host: Sequence[str]
    failover_set: Sequence[str]
    assume: Sequence[str]
    nine: bool
    strict: bool
    suggest: bool
    intended: Sequence[str]
    rolling: Sequence[Path]


def print_schema() -> None:
    """Print the JSON Schema of ``--json``."""
    show_document(json.dumps(report_schema(), indent=2, ensure_ascii=False))


def print_validation(request: ValidationRequest) -> int:
    """Prints the report and returns the exit code. Raises ``DefinitionError`` for a file that cannot be read."""
    return _print(run_validate(request.paths, options_of(request)), request)


def print_live_validation(tools: Tools, inventory: Inventory, request: ValidationRequest) -> int:
    """The same as ``print_validation``, for the configurations that the inventory's instances return."""
    from orchestrator.operations.live_configurations import instances_of

    if request.paths or request.rolling:
        raise DefinitionError(
            "--from-inventory cannot be used together with files", hint="give either files or --from-inventory"
        )
    options = options_of(request)
    instances = instances_of(tools, inventory, options.variables, options.assumptions)
    return _print(validate(instances, options), request)


def _print(report: ValidationReport, request: ValidationRequest) -> int:
    match request.form:
        case "json":
            show_json(report.model_dump(mode="json"))
        case "sarif":
            show_document(sarif(report, base=Path.cwd()).rstrip("\n"))
        case "mermaid":
            show_document(mermaid(report).rstrip("\n"))
        case "svg":
            show_document(svg(report).rstrip("\n"))
        case _:
            show_document(_table(report, request))
    is_undecided = request.strict and report.summary[Level.UNDECIDED] > 0
    return EXIT_FINDINGS if is_undecided else report.exit_code


def _table(report: ValidationReport, request: ValidationRequest) -> str:
    return table(report, width=shutil.get_terminal_size((110, 24)).columns, details=not request.brief).rstrip("\n")


def options_of(request: ValidationRequest) -> ValidateOptions:
    """The options of the validation. Raises ``DefinitionError`` for an invalid option."""
    hosts: dict[str, tuple[str, ...]] = {}
    for name, value in _pairs("--host", "INSTANCE=HOST", request.host):
        hosts[name] = (*hosts.get(name, ()), value)
    return ValidateOptions(
        variables={
            **(os.environ if request.environment else {}),
            **dict(_pairs("--define", "NAME=VALUE", request.define)),
        },
        topics=tuple(topic for path in request.topics for topic in read_topics(path)),
        topics_complete=request.all_topics,
        hosts=hosts,
        failover_sets=tuple(tuple(_names(text)) for text in request.failover_set),
        extra_rules=not request.nine,
        suggest_exclusions=request.suggest,
        intended=tuple(request.intended),
        rolling_from=tuple(str(path) for path in request.rolling),
        assumptions=_assumptions(request.assume),
    )


def read_topics(path: Path) -> Iterator[TopicName]:
    """The topics of a file. Each line has a name, blanks, and a message type. ``#`` starts a comment line.

    Raises ``DefinitionError`` (file, line).
    """
    try:
        lines = read_document(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError("this list of topics cannot be read", file=path) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, message_type = line.strip().rpartition(" ")
        if not name:
            raise DefinitionError("a line must have the name of a topic and its message type", file=path, line=number)
        yield TopicName(name=name.strip(), message_type=message_type)


def _pairs(option: str, form: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise DefinitionError(f"{option} {text}: write it as {form}")
        yield name, value


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if len(names) < 2:
        raise DefinitionError(f"--failover-set {text}: name at least two instances, such as A,B")
    return names


def _assumptions(texts: Iterable[str]) -> Assumptions:
    given = dict(_pairs("--assume", "NAME=VALUE", texts))
    try:
        return Assumptions.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        known = ", ".join(sorted(Assumptions.model_fields))
        if name not in Assumptions.model_fields:
            raise DefinitionError(
                f"--assume {name}: there is no assumption with this name", hint=f"the assumptions are {known}"
            ) from error
        raise DefinitionError(f"--assume {name}={given[name]}: {first['msg']}") from error
