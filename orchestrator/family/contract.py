"""The interface to devices: what an adapter is, and what it declares about itself.

The interface takes many services at once, so that one wildcard ``show`` or one paged request serves a thousand lanes.
One adapter object is for one *site*. If the site is an HA pair, the adapter finds the serving node, again for every
call of ``probe`` and ``apply``.

Two rules are the base of the product's promises:

- ``probe`` never changes anything.
- ``apply`` calls ``permit.check()`` right before each changing command leaves. For each call it says whether the device
  obeyed, cannot have obeyed, or may have obeyed. A failed device is data; only a broken program raises.
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
# The ``place`` of commands that are sent to all devices of a site.
EVERY_NODE = "every node"


@dataclass(frozen=True, slots=True)
class Call:
    """One action on one service. ``args`` fit the action's declaration."""

    service: str
    args: Args = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """The end of one call. ``sent``: the literal commands that left, in order. ``detail``: the answer of the device."""

    call: Call
    effect: Effect
    detail: str = ""
    device: str = ""
    sent: tuple[str, ...] = ()

    @classmethod
    def of(cls, call: Call, error: AdapterError, sent: Sequence[str] = ()) -> Result:
        """The result of a call that ended with ``error``. A command that left and was refused is REJECTED, not
        NOT_SENT."""
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
    """One argument of an action. Empty ``choices`` allow any text. ``filled_by``: the source of its value."""

    choices: tuple[str, ...] = ()
    filled_by: Literal["runbook", "item", "decision"] = "runbook"


@dataclass(frozen=True, slots=True)
class Typed:
    """One line as a plan shows it. ``prompt``: the device's prompt before it. ``changes``: the line changes something,
    or enters a mode for changes."""

    prompt: str
    line: str
    changes: bool


class SessionLines(Protocol):
    """The lines that one session with a device sends, in order, starting with its log-in. It is made with the name that
    the device shows in its prompt. It must not connect."""

    def read(self, lines: Sequence[str]) -> Sequence[Typed]:
        """The lines to type for the reading commands ``lines``."""
        ...

    def change(self, lines: Sequence[str], *, asks_who_serves: bool) -> Sequence[Typed]:
        """The lines to type for the change ``lines``. ``asks_who_serves``: the change goes to the serving node only."""
        ...


def _no_undo(call: Call) -> Call | None:
    return None


def _nothing_more(services: Sequence[str]) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """An adapter's declaration of an action.

    ``idempotent``: sending it twice has the same effect as sending it once. ``inverse``: the action that undoes it, or
    None. ``commands`` renders the literal device commands that a call would send, for plans; it must not connect.
    ``batch``: the largest number of calls in one request; a reading never waits for more calls than these. ``place``:
    where the commands run, if not on the site's serving node.

    ``shuts``: the action changes a thing of the whole site, and these arguments shut it, so that services rely on it;
    None: the action concerns one service. ``undo_of``: the call that undoes a given call, if the site's options name
    one, or None. ``dialogue``: as in ``ReadingSpec``.
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
    """An adapter's declaration of a reading.

    ``commands`` renders the commands of a probe of these services. ``place``: where they run, if not on the site's
    serving node. ``perhaps``: further commands that the probe sends if the first answers require it. ``tells_less``: if
    another adapter of the site has the reading, that one reports more and is asked instead. ``dialogue`` makes the
    session in which the lines are typed; None if each line is a separate request. ``model``: the type of the result, if
    that is not the reading of this name of an installed family.
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
    """The last check before a changing command leaves."""

    def check(self) -> None:
        """Return if the command may leave now; raise ``Forbidden`` if not."""
        ...


class Secrets(Protocol):
    """Resolves references to secrets. Redaction knows each secret as soon as it is resolved."""

    def reveal(self, reference: object, *, what: str) -> str:
        """The secret behind ``reference`` (a ``SecretRef``); ``what`` names it in a prompt or an error."""
        ...


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """The resources of an adapter besides its site. ``read_only`` sessions have no way to send a changing command.
    ``witness`` receives the exchanges of adapters that have an ``explanation``."""

    clock: Clock
    secrets: Secrets
    read_only: bool = False
    witness: Witness | None = None


def family_named(kind: type[object]) -> str:
    """The family that an adapter names; empty if it names none. An adapter of a third party may name none."""
    return str(getattr(kind, "family", ""))


def speaks_ssh(kind: type[object]) -> bool:
    """Does an adapter open SSH sessions, so that it checks host keys? It declares that in ``speaks_ssh``."""
    return getattr(kind, "speaks_ssh", False) is True


def explanation_of(kind: type[object]) -> Explanation | None:
    """An adapter's explanation of its exchanges; None for an adapter that reports none to a witness."""
    found = getattr(kind, "explanation", None)
    return found if isinstance(found, Explanation) else None


class Adapter(Protocol):
    """One site's devices. Not shared between threads: the fleet gives each site one worker.

    Optional class methods and class variables:

    - ``fitted(site)``: if the declarations depend on the site, the class to use there, with that site's declarations.
    - ``shared(site, services)``: if services may share something at a site, so that they cannot be moved apart, a
      sentence that says so, or an empty text.
    - ``family``, for example ``solace`` or ``amps``: needed if the adapter is for a family that this program knows.
      Without it no command takes its pair for a pair of that family.
    - ``explanation`` (``exchanges.Explanation``): needed if its sessions report every exchange to the context's witness.
    - ``speaks_ssh``: true if it opens SSH sessions.
    """

    readings: ClassVar[Mapping[str, ReadingSpec]]
    actions: ClassVar[Mapping[str, ActionSpec]]
    simulated: ClassVar[bool]

    def __init__(self, site: Site, context: AdapterContext) -> None: ...

    def open(self) -> None:
        """Open the session now, so that a wrong password or host key is known early. Raises ``AdapterError``."""
        ...

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """One answer for each of ``services``. Raises ``AdapterError`` when the whole request failed."""
        ...

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """Do ``action`` for each call, in order, and yield each result as soon as it is known.

        An ``AdapterError`` raised from the iterator applies to all calls not yet yielded. ``NotObeyed`` means that none
        of them was sent; any other error means that they are in doubt.
        """
        ...

    def close(self) -> None:
        """End the session. It never raises for a session that has already ended."""
        ...


def read_options(site: Site, model: type[OptionsT], *, adapter: str) -> OptionsT:
    """The options of ``site`` in the inventory, for ``adapter``. Raises ``DefinitionError`` with the options it
    knows."""
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
    """An endpoint's own figures: its depth, and how many messages it ever spooled and deleted. None is unknown."""

    messages: int | None = None
    spooled_total: int | None = None
    deleted_total: int | None = None


@dataclass(frozen=True, slots=True)
class BrowsedMessage:
    """One message in an endpoint. None is unknown.

    ``number`` grows in the order in which the messages were spooled at this site. ``message_id`` is equal at both
    sites. ``spooled_at`` is by the device's clock. ``digest`` is of the content, if the content can be read.
    ``expires_at`` is seconds since the epoch by the device's clock, 0 for never. ``dmq_eligible``: the message goes to
    the dead message queue instead of being discarded. ``priority`` is from 0 to 9, the highest.
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
    """An optional part of an adapter: the messages of endpoints, one after the other, in bounded memory.

    Browsing is a reading. It consumes, acknowledges, locks and delivers nothing.
    """

    def durable_endpoints(self, service: str) -> Sequence[Endpoint]:
        """Every durable endpoint except the replication queue, in the same order each time. Raises ``AdapterError``."""
        ...

    def count(self, endpoint: Endpoint) -> EndpointStats:
        """The endpoint's own figures now. Raises ``AdapterError``."""
        ...

    def browse(self, endpoint: Endpoint, after: BrowsedMessage | None) -> Iterator[BrowsedMessage]:
        """Its messages in the order of their numbers. ``after``: only the messages behind it, whether it still exists
        or not; only its ``number`` and ``message_id`` are used. Raises ``AdapterError``, also between two messages."""
        ...
