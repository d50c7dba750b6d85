"""One site used through several adapters: each reading and each action goes to the first adapter that declares it. A
reading goes to a later adapter if that one reports more.

So a site may be read and changed over SEMP, while the CLI does the rest, and a command of the operator keeps clients
away. Only the declarations decide which adapter does what. A failed request is never tried again through another
adapter, since then it would be unknown which of the two was obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import ClassVar, TypeVar

from orchestrator.errors import AdapterError, PerhapsObeyed, Unreachable
from orchestrator.family.contract import (
    ActionSpec,
    Adapter,
    AdapterContext,
    Browser,
    Call,
    Permit,
    ReadingSpec,
    Result,
    family_named,
)
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

Part = TypeVar("Part", Adapter, type[Adapter])


def compose(kinds: Sequence[type[Adapter]]) -> type[Adapter]:
    """The adapter class that is made of ``kinds``, the first one asked first. A single class is returned as it is."""
    if len(kinds) == 1:
        return kinds[0]
    merged_readings: Mapping[str, ReadingSpec] = {
        name: kind.readings[name]
        for name in dict.fromkeys(name for kind in kinds for name in kind.readings)
        if (kind := reader_of(kinds, name)) is not None
    }
    # The first adapter is merged last, so that its declarations win.
    merged_actions: Mapping[str, ActionSpec] = {
        name: spec for kind in reversed(kinds) for name, spec in kind.actions.items()
    }

    class Composed(CompositeAdapter):
        """The adapter class of this site."""

        readings = merged_readings
        actions = merged_actions
        simulated = all(kind.simulated for kind in kinds)
        family = _family(kinds)
        _kinds = tuple(kinds)

    return Composed


def _family(kinds: Sequence[type[Adapter]]) -> str:
    """The family that the parts name, if they agree. Commands of the operator belong to any family."""
    named = {family_named(kind) for kind in kinds} - {""}
    return named.pop() if len(named) == 1 else ""


def reader_of(parts: Sequence[Part], reading: str) -> Part | None:
    """The first of ``parts`` that has ``reading``, unless a later part reports more."""
    having = [part for part in parts if reading in part.readings]
    return next((part for part in having if not part.readings[reading].tells_less), having[0] if having else None)


class CompositeAdapter:
    """The contract's adapter for a site with ``also``. Made by ``compose``, which sets the parts."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {}
    actions: ClassVar[Mapping[str, ActionSpec]] = {}
    simulated: ClassVar[bool] = False
    family: ClassVar[str] = ""
    _kinds: ClassVar[tuple[type[Adapter], ...]] = ()

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._parts = [kind(part, context) for kind, part in zip(self._kinds, site.parts, strict=True)]

    def open(self) -> None:
        """Open every part, even if another part fails.

        Raises the errors of any part that need a person (a wrong password, a changed host key), and every error of the
        first part. If a later part does not answer, the steps that need it report that: a node whose SSH port is down
        must not delay a move that uses SEMP.
        """
        errors: list[AdapterError] = []
        for part in self._parts:
            try:
                part.open()
            except AdapterError as error:
                if not _is_silence(error) or part is self._parts[0]:
                    errors.append(error)
        if errors:
            # False sorts first, and the order is kept otherwise.
            raise sorted(errors, key=_is_silence)[0]

    @property
    def parts(self) -> Sequence[Adapter]:
        """The adapters that it is made of, in order."""
        return tuple(self._parts)

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``."""
        part = reader_of(self._parts, reading)
        if part is None:
            raise ValueError(f"no adapter of the site has a reading {reading}")
        return part.probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``."""
        for part in self._parts:
            if action in part.actions:
                return part.apply(action, calls, permit)
        raise ValueError(f"no adapter of the site has an action {action}")

    def close(self) -> None:
        """Close every part."""
        with ExitStack() as stack:
            for part in self._parts:
                stack.callback(part.close)


def browser_of(adapter: Adapter) -> Browser | None:
    """The browser of the site's endpoints: the adapter itself, or the part that reports most."""
    if isinstance(adapter, CompositeAdapter):
        parts = sorted(adapter.parts, key=_tells_less)
        return next((part for part in parts if isinstance(part, Browser)), None)
    return adapter if isinstance(adapter, Browser) else None


def browses(kind: type[Adapter]) -> bool:
    """Can an adapter of this class show the messages of endpoints, itself or by one of its parts?"""
    kinds = kind._kinds if issubclass(kind, CompositeAdapter) else (kind,)
    return any(hasattr(one, "browse") for one in kinds)


def _tells_less(part: Adapter) -> bool:
    """Does it declare that another adapter reports more of the endpoints?"""
    spec = part.readings.get("endpoints")
    return spec is not None and spec.tells_less


def _is_silence(error: AdapterError) -> bool:
    return isinstance(error, Unreachable | PerhapsObeyed)
