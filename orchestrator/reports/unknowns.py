"""Lists the unknown fields of a site's readings, with the reason from the requests and answers. Decides nothing.

A field is unknown if it is ``None``, unless the reading's documentation says that the field does not apply there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from orchestrator.model.exchanges import Exchange, Explanation
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, ReadingModel
from orchestrator.model.readings import item_arguments

Verdict = Literal["understood", "partly", "not understood", "not answered"]
# Fields of readings that hold a name, like the argument of an action that works on an item. Every other text in a reading
# is a word or a number.
_NAMES = frozenset(
    {
        "node",
        "mate_node",
        "mate",
        "client",
        "name",
        "group",
        "destination",
        "topic",
        "others",
        "names",
        "sources",
        "owner",
        "managers",
        "sentinel",
    }
)
_NO_ANSWER = frozenset(
    {"Unreachable", "ConnectionLost", "CommandTimedOut", "AuthenticationFailed", "HostKeyRejected"}
)


def verdict_on(answers: Mapping[str, Reading | Failure], *, is_alone: bool) -> Verdict:
    """How far the answers of one reading were understood. ``is_alone``: the site has one device."""
    failures = [one for one in answers.values() if isinstance(one, Failure)]
    if failures and len(failures) == len(answers):
        return "not answered" if all(one.kind in _NO_ANSWER for one in failures) else "not understood"
    is_partly = failures or any(unknown_in(one, is_alone=is_alone) for one in answers.values())
    return "partly" if is_partly else "understood"


def unknown_in(found: Reading | Failure, *, is_alone: bool) -> list[str]:
    """The unknown fields. A field of any item is written as ``items.oldest_at``. Empty for a failed reading."""
    if isinstance(found, Failure):
        return []
    return list(Counter(_unknown(found, is_alone=is_alone)))


def _unknown(model: ReadingModel, prefix: str = "", *, is_alone: bool) -> Iterator[str]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if value is None and model.means_something(name, is_alone=is_alone):
            yield f"{prefix}{name}"
        elif isinstance(value, tuple):
            for one in value:
                if isinstance(one, ReadingModel):
                    yield from _unknown(one, f"{prefix}{name}.", is_alone=is_alone)


def why_unknown(exchanges: Sequence[Exchange], explanation: Explanation) -> str:
    """The reason why a field of a reading is unknown: a refusal, no answer, or an answer without the field."""
    reasons = [reason for one in exchanges if (reason := _reason(one, explanation))]
    return "; ".join(dict.fromkeys(reasons)) or "no recognised part of the answers has this value"


def _reason(one: Exchange, explanation: Explanation) -> str:
    if one.failed:
        return one.why
    if not one.answer.strip():
        return f"{one.device} gave an empty answer to `{one.sent}`" if one.sent.startswith(("show", "GET")) else ""
    refused = explanation.refusal(one)
    return f"`{one.sent}`: {refused}" if refused else ""


def name_fields() -> frozenset[str]:
    """The fields of readings that hold a name."""
    return _NAMES | item_arguments()


def names_of(value: object, key: str = "") -> Iterator[str]:
    """The names in a reading of JSON types."""
    match value:
        case str() if key in name_fields():
            yield value
        case Mapping():
            for name, one in value.items():
                yield from names_of(one, name)
        case list() | tuple():
            for one in value:
                yield from names_of(one, key)
