"""The seam to devices: what an adapter is, and what it declares of itself.

The seam takes many services at once, so that one wildcard ``show`` or one paged request serves a thousand lanes.
One adapter object speaks for one *site*; if the site is an HA pair, finding the serving node is the adapter's work,
again for every call of ``probe`` and ``apply``.

Two rules carry the product's promises:

- ``probe`` changes nothing, ever.
- ``apply`` calls ``permit.check()`` right before each changing command leaves, and says of each call whether the
  device obeyed, cannot have obeyed, or may have. A failed device is data; only a broken program raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from orchestrator.clock import Clock
from orchestrator.errors import (
    AdapterError,
    DefinitionError,
    NoSuchService,
    NotObeyed,
    PerhapsObeyed,
)
from orchestrator.model.exchanges import Explanation, Witness
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

Args = Mapping[str, str]
OptionsT = TypeVar("OptionsT", bound=BaseModel)
# The kind of a failure: no adapter of the site offers the reading.
NOT_OFFERED = "NotOffered"
# The ``place`` of what is sent to all devices of a site.
EVERY_NODE = "every node"


@dataclass(frozen=True, slots=True)
class Call:
    """One action on one service. ``args`` fit the action's declaration."""

    service: str
    args: Args = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """How one call ended. ``sent`` are the literal commands that left, in order; ``detail`` is the device's word."""

    call: Call
    effect: Effect
    detail: str = ""
    device: str = ""
    sent: tuple[str, ...] = ()

    @classmethod
    def of(cls, call: Call, error: AdapterError, sent: Sequence[str] = ()) -> Result:
        """A call that ended with ``error``. A command that left and was refused is REJECTED, not NOT_SENT."""
        effect = (
            Effect.DOUBTFUL
            if isinstance(error, PerhapsObeyed)
            else Effect.REJECTED
            if isinstance(error, NoSuchService) or (sent and isinstance(error, NotObeyed))
            else Effect.NOT_SENT
        )
        return cls(call, effect, detail=str(error), device=error.device, sent=tuple(sent))


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """One argument of an action. ``choices`` empty means any text; ``filled_by`` names what the engine fills in."""

    choices: tuple[str, ...] = ()
    filled_by: Literal["runbook", "item", "decision"] = "runbook"


@dataclass(frozen=True, slots=True)
class Typed:
    """One line as a plan shows it. ``prompt``: what the device shows before it; ``changes``: it changes something, or
    leads to the mode of a change."""

    prompt: str
    line: str
    changes: bool


class SessionLines(Protocol):
    """The lines that one session with a device is sent, in order, starting with its log-in. It is made with the name that
    the device shows in its prompt. It must not connect."""

    def read(self, lines: Sequence[str]) -> Sequence[Typed]:
        """What is typed for the reading commands ``lines``."""
        ...

    def change(self, lines: Sequence[str], *, asks_who_serves: bool) -> Sequence[Typed]:
        """What is typed for the change ``lines``. ``asks_who_serves``: it goes to the serving node only."""
        ...


def _no_undo(call: Call) -> Call | None:
    return None


def _nothing_more(services: Sequence[str]) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What an adapter declares of an action.

    ``idempotent``: sending it twice has the effect of sending it once. ``inverse``: the action that undoes it, or
    None. ``commands`` renders the literal device commands a call would send, for plans; it must not connect.
    ``batch`` is the most calls one request may carry: a reading never waits behind more than these. ``place`` is where
    the commands are run, if not on the site's serving node. ``shuts``: the action changes something that belongs to the
    whole site, and these arguments shut it, so that services rely on it; None: it concerns one service. ``undo_of``:
    the call that takes a given one back, where the site's options name one, or None. ``dialogue``: as of a reading.
    """

    name: str
    summary: str
    idempotent: bool
    commands: Callable[[Call], Sequence[str]]
    arguments: Mapping[str, ArgumentSpec] = field(default_factory=dict)
    inverse: str | None = None
    batch: int = 8
    place: str = ""
    shuts: Args | None = None
    undo_of: Callable[[Call], Call | None] = _no_undo
    dialogue: Callable[[str], SessionLines] | None = None


@dataclass(frozen=True, slots=True)
class ReadingSpec:
    """What an adapter declares of a reading: ``commands`` renders what a probe of these services would send, ``place``
    says where, if not on the site's serving node. ``perhaps``: what it also sends if the first answers require it.
    ``tells_less``: if another adapter of the site has the reading, that one reports more and is asked instead.
    ``dialogue`` makes the session in which the lines are typed; None if each line is a separate request. ``model``: what
    it returns, where that is not the reading of this name of an installed family.
    """

    name: str
    summary: str
    commands: Callable[[Sequence[str]], Sequence[str]]
    place: str = ""
    perhaps: Callable[[Sequence[str]], Sequence[str]] = _nothing_more
    tells_less: bool = False
    dialogue: Callable[[str], SessionLines] | None = None
    model: type[Reading] | None = None


class Permit(Protocol):
    """The last question before a changing command leaves."""

    def check(self) -> None:
        """Return if the command may leave now; raise ``Forbidden`` if not."""
        ...


class Secrets(Protocol):
    """Resolves references to secrets; what it hands out is known to redaction from then on."""

    def reveal(self, reference: object, *, what: str) -> str:
        """The secret behind ``reference`` (a ``SecretRef``); ``what`` names it in a prompt or an error."""
        ...


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What an adapter is given besides its site. ``read_only`` sessions have no way to send a changing command.
    ``witness`` gets what passes, from adapters that have an ``explanation``."""

    clock: Clock
    secrets: Secrets
    read_only: bool = False
    witness: Witness | None = None


def family_named(kind: type[object]) -> str:
    """The family that an adapter says it speaks for; empty where it names none, as one of a third party may."""
    return str(getattr(kind, "family", ""))


def speaks_ssh(kind: type[object]) -> bool:
    """Does an adapter open SSH sessions, and so meet host keys? It says so in ``speaks_ssh``."""
    return getattr(kind, "speaks_ssh", False) is True


def explanation_of(kind: type[object]) -> Explanation | None:
    """What an adapter knows of its exchanges; None for one that tells no witness of them."""
    found = getattr(kind, "explanation", None)
    return found if isinstance(found, Explanation) else None


class Adapter(Protocol):
    """One site's devices. Not shared between threads: the fleet gives each site one worker.

    An adapter whose declarations depend on the site may have a class method ``fitted(site)`` that returns the class
    to use there, with the declarations of that site. One whose services may share something at a site, so that they
    cannot be moved apart, may have a class method ``shared(site, services)`` that says so in a sentence, or is empty.
    One that speaks for a family this program knows says so in a class variable ``family``, ``solace`` or ``amps``:
    without it no command takes its pair for one of that family. One whose sessions tell the context's witness of every
    exchange has a class variable ``explanation`` (``exchanges.Explanation``). One of SSH sessions says ``speaks_ssh``.
    """

    readings: ClassVar[Mapping[str, ReadingSpec]]
    actions: ClassVar[Mapping[str, ActionSpec]]
    simulated: ClassVar[bool]

    def __init__(self, site: Site, context: AdapterContext) -> None: ...

    def open(self) -> None:
        """Make the session now, so that a wrong password or host key is known early. Raises ``AdapterError``."""
        ...

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """One answer for each of ``services``. Raises ``AdapterError`` when the whole request failed."""
        ...

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """Do ``action`` for each call, in order, yielding each result as it is known.

        An ``AdapterError`` raised from the iterator speaks for all calls not yet yielded: ``NotObeyed`` says that
        none of them was sent, anything else that they are in doubt.
        """
        ...

    def close(self) -> None:
        """End the session; never raises for a session that is already gone."""
        ...


def read_options(site: Site, model: type[OptionsT], *, adapter: str) -> OptionsT:
    """What the inventory says to ``adapter`` about ``site``. Raises ``DefinitionError`` with what the adapter knows."""
    try:
        return model.model_validate(site.options)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        known = ", ".join(model.model_fields)
        raise DefinitionError(
            f"options of site {site.name}: {where}: {first['msg']}", hint=f"{adapter} knows: {known}"
        ) from error


EndpointKind = Literal["queue", "topic-endpoint"]


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One durable endpoint of a service."""

    service: str
    name: str
    kind: EndpointKind


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """What an endpoint says of itself: its depth, and what it ever spooled and deleted. None is unknown."""

    messages: int | None = None
    spooled_total: int | None = None
    deleted_total: int | None = None


@dataclass(frozen=True, slots=True)
class BrowsedMessage:
    """One message in an endpoint. ``number`` grows in the order in which it was spooled at this site; ``message_id`` is
    equal at both sites; ``spooled_at`` is by the device's clock; ``digest`` is of the content, where that can be read.
    ``expires_at`` is seconds since the epoch by the device's clock, 0 for never; ``dmq_eligible``: goes to the dead
    message queue rather than being discarded; ``priority`` from 0 to 9, the highest. None is unknown.
    """

    number: int
    message_id: str
    spooled_at: float
    size: int | None = None
    replicated: Literal["replicated", "not-replicated", "pending-replication"] | None = None
    redeliveries: int | None = None
    digest: bytes | None = None
    expires_at: float | None = None
    dmq_eligible: bool | None = None
    priority: int | None = None


@runtime_checkable
class Browser(Protocol):
    """What an adapter may offer besides: the messages of endpoints, one after the other, in bounded memory.

    Browsing is a reading: nothing is consumed, acknowledged, locked or delivered by it.
    """

    def durable_endpoints(self, service: str) -> Sequence[Endpoint]:
        """Every durable endpoint, the replication queue apart; in the same order each time. Raises ``AdapterError``."""
        ...

    def count(self, endpoint: Endpoint) -> EndpointStats:
        """What it says of itself now. Raises ``AdapterError``."""
        ...

    def browse(self, endpoint: Endpoint, after: BrowsedMessage | None) -> Iterator[BrowsedMessage]:
        """Its messages in the order of their numbers; ``after``: only those behind it, whether it is still there or not
        (of ``after``, only ``number`` and ``message_id`` are meant). Raises ``AdapterError``, also in between."""
        ...
