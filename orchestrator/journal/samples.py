"""Kept looks: the readings of ``failover watch`` and ``failover check``, one file for each check, for later analysis.

A look is one round of readings of one site. Its file appears complete, by a rename, and is never changed afterwards. A
killed process leaves at most a hidden file, which no reader sees. The files are JSON Lines, one line for each service,
so Python's library alone can write them. Their reader is ``failover pipeline watch``.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from orchestrator.clock import iso
from orchestrator.errors import DefinitionError, OutputLost
from orchestrator.files import write_private
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import AnyReading, known_reading

By = Literal["watch", "check"]

# How long a check is kept, and how often the folder is searched for older checks, seconds.
KEPT_S = 7 * 86_400.0
_PRUNED_EVERY_S = 3_600.0
_NAME = re.compile(r"\.?(\d{8}T\d{6}\.\d{3}Z)-(?:watch|check)-[0-9a-f]{8}\.jsonl(?:\.unfinished)?")


def _moment(value: object) -> float:
    """Seconds since the epoch of ``2026-11-20T03:00:00.123Z``."""
    if not isinstance(value, str):
        raise ValueError("a time must be a text: 2026-11-20T03:00:00.123Z")
    parsed = datetime.fromisoformat(value)
    if parsed.tzinfo is None:
        raise ValueError("a time needs a time zone: 2026-11-20T03:00:00.123Z")
    return parsed.timestamp()


class ReadingSample(BaseModel):
    """The result of one check of one service at one site.

    ``at``: the time of the request, by this machine's clock. ``mate``: the other site of the pair. ``readings``: by
    kind; in the file each is a separate key beside the others. A reading that is missing was not requested, or is in
    ``failures`` with the reason. Inside of a reading, ``null`` is unknown and never 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    look: str
    by: By
    at: Annotated[float, BeforeValidator(_moment), PlainSerializer(iso, return_type=str)]
    simulated: bool
    site: str
    service: str
    mate: str | None = None
    readings: Mapping[str, AnyReading] = {}
    failures: Mapping[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _of_keys(cls, data: object) -> object:
        """The readings are keys beside the others. A reading of a family that is not installed is not among them."""
        if not isinstance(data, Mapping) or "readings" in data:
            return data
        readings = {name: one for name, one in data.items() if name not in cls.model_fields and is_sampled(name)}
        return {**{name: one for name, one in data.items() if name not in readings}, "readings": readings}

    @model_serializer(mode="wrap")
    def _as_keys(self, dumped: SerializerFunctionWrapHandler) -> Mapping[str, object]:
        found = dumped(self)
        readings, failures = found.pop("readings"), found.pop("failures")
        head = {name: one for name, one in found.items() if (name, one) != ("mate", None)}
        return {**head, **readings, "failures": failures}

    @model_validator(mode="after")
    def _only_numbers(self) -> Self:
        for name, reading in self.readings.items():
            if not _is_finite(reading.model_dump()):
                raise ValueError(f"{name}: every value must be a finite number")
        return self

    def encoded(self) -> bytes:
        """The line, with its end."""
        return self.model_dump_json().encode() + b"\n"


def is_sampled(reading: str) -> bool:
    """Is the course of this reading over time useful? The other readings of ``check`` are verdicts of one moment."""
    model = known_reading(reading)
    return model is not None and model.sampled


def _is_finite(value: object) -> bool:
    match value:
        case dict():
            return all(_is_finite(one) for one in value.values())
        case list() | tuple():
            return all(_is_finite(one) for one in value)
        case float():
            return math.isfinite(value)
        case _:
            return True


def decode_sample(text: str | bytes) -> ReadingSample:
    """The line of a kept look. Raises ``DefinitionError`` with the fault of the line."""
    try:
        return ReadingSample.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "readings")
        raise DefinitionError(f"{place}: {first['msg']}" if place else str(first["msg"])) from error


def samples_of(
    look: str,
    by: By,
    at: float,
    site: str,
    answers: Mapping[str, Mapping[str, Reading | Failure]],
    services: Sequence[str],
    *,
    simulated: bool,
    mate: str | None = None,
) -> list[ReadingSample]:
    """One line for each of ``services``. ``answers``: by reading and service, including readings that are not kept."""
    heads = [
        ReadingSample(look=look, by=by, at=iso(at), simulated=simulated, site=site, service=service, mate=mate)
        for service in services
    ]
    return [_line_of(head, answers) for head in heads]


def _line_of(head: ReadingSample, answers: Mapping[str, Mapping[str, Reading | Failure]]) -> ReadingSample:
    found = {name: answered[head.service] for name, answered in answers.items() if is_sampled(name)}
    # A device may send anything, also bytes that are no text. The result must be valid UTF-8.
    failures = {
        name: one.text.encode("utf-8", "backslashreplace").decode()
        for name, one in found.items()
        if isinstance(one, Failure)
    }
    had = {name: one for name, one in found.items() if not isinstance(one, Failure)}
    return head.model_copy(update={"readings": had, "failures": failures})


@dataclass(slots=True)
class SampleFolder:
    """A directory of kept looks. ``scrub`` replaces secrets in the answers of devices."""

    path: Path
    by: By
    scrub: Callable[[object], object]
    _pruned_at: float | None = None

    def keep(
        self,
        site: str,
        answers: Mapping[str, Mapping[str, Reading | Failure]],
        services: Sequence[str],
        at: float,
        *,
        simulated: bool,
        mate: str | None = None,
    ) -> Path:
        """Write one check, completely or not at all. From time to time remove old checks. Raises ``OutputLost``."""
        look = f"{_compact(at)}-{self.by}-{secrets.token_hex(4)}"
        lines = samples_of(look, self.by, at, site, answers, services, simulated=simulated, mate=mate)
        scrubbed = [line.model_copy(update={"failures": self.scrub(line.failures)}) for line in lines]
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            written = write_private(self.path, f"{look}.jsonl", b"".join(line.encoded() for line in scrubbed))
            if self._pruned_at is None or at - self._pruned_at >= _PRUNED_EVERY_S:
                self._pruned_at = at
                _prune(self.path, _compact(at - KEPT_S))
        except OSError as error:
            raise OutputLost(
                f"the readings cannot be saved: {self.path} cannot be written: {error.strerror}",
                hint="fix the cause, or name another directory with --readings; the readings are still shown",
            ) from error
        return written


def _compact(at: float) -> str:
    """``20261120T030000.123Z``: sorts by time, and is a valid name on every file system. Times before 1970 become
    1970."""
    return iso(max(0.0, at)).replace("-", "").replace(":", "")


def _prune(folder: Path, oldest: str) -> None:
    """Remove looks from before ``oldest``, and the unfinished files of killed processes. Files with other names
    stay."""
    with os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found is not None and found[1] < oldest:
                with suppress(FileNotFoundError):  # another watcher was faster
                    Path(entry.path).unlink()
