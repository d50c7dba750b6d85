"""A canary for a secret, and what all can be said of the things that an adapter, or whoever else knows it, hands out."""

from __future__ import annotations

import base64
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from pydantic import BaseModel

from orchestrator.errors import FailoverError
from orchestrator.family.contract import Adapter, Call
from orchestrator.model.inventory import SecretRef
from tests.seam import Permits

CANARY = "C4nary/+Tweet-5ongbird"
ENVIRONMENT = {"CANARY": CANARY}
REFERENCE = SecretRef(env="CANARY")
HALF = 5  # characters in a row that would be a leak


def leaks(texts: Iterable[str]) -> list[str]:
    """The texts that have the canary in them, plain, encoded, or a good part of it."""
    basic = base64.b64encode(f"operator:{CANARY}".encode()).decode()
    parts = {CANARY[at : at + HALF] for at in range(len(CANARY) - HALF + 1)}
    parts |= {basic[at : at + 8] for at in range(12, len(basic) - 8)}
    return [text for text in texts if any(part in text for part in parts)]


def said(*things: object) -> Iterator[str]:
    """All that can be said of them: errors with causes and tracebacks, everything else as ``repr`` and ``str``."""
    for thing in things:
        yield from (str(thing), repr(thing))
        if isinstance(thing, BaseException):
            yield "".join(traceback.format_exception(thing))
            yield from said(*thing.args, getattr(thing, "hint", ""), getattr(thing, "text", ""))


def recorded(things: object) -> Iterator[str]:
    """The texts of answers, results and errors, each by itself: as the journal and the screen get them."""
    match things:
        case str():
            yield things
        case BaseException():
            yield from recorded([str(things), getattr(things, "hint", ""), getattr(things, "text", "")])
        case BaseModel():
            yield from recorded(things.model_dump())
        case Mapping():
            yield from recorded([*things, *things.values()])
        case Iterable():
            for one in things:
                yield from recorded(one)
        case _ if is_dataclass(things) and not isinstance(things, type):
            yield from recorded([getattr(things, one.name) for one in fields(things)])


def everything(adapter: Adapter) -> Iterator[object]:
    """What comes of opening it, of every reading and of every action."""
    yield adapter
    for what in (adapter.open, *_readings(adapter), *_actions(adapter), adapter.close):
        try:
            yield what()
        except FailoverError as error:
            yield error


def _readings(adapter: Adapter) -> Iterator[Callable[[], object]]:
    for name in adapter.readings:
        yield lambda name=name: adapter.probe(name, ["V", "W"])  # type: ignore[misc]


def _actions(adapter: Adapter) -> Iterator[Callable[[], object]]:
    for name, spec in adapter.actions.items():
        args = {
            argument: (one.choices or ("1-1-1" if argument == "xid" else "x",))[0]
            for argument, one in spec.arguments.items()
        }
        yield lambda name=name, args=args: list(adapter.apply(name, [Call("V", args)], Permits()))  # type: ignore[misc]
