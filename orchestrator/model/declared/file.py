"""A family that is declared in one file: how its sites are read and changed, and the general meaning of its values.

``{name}`` stands for an option of the site, as a whole word of a command, a whole part of a path or subject, or a whole
text of a body. ``:name`` stands for an option as a bound parameter of a statement. The text of a command or statement is
never changed, and no shell interprets it. ``requests`` has the requests, ``connect`` the sessions.
docs/reference/declared-families.md is the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from orchestrator.model.declared.connect import ConnectFile, compiled
from orchestrator.model.declared.requests import (
    Argv,
    MessageFile,
    ModelFile,
    Name,
    RequestFile,
    Strict,
    Text,
    flags_in,
    rules_in,
    words_in,
)
from orchestrator.model.facets import Facet
from orchestrator.model.other_manager import ManagerState
from orchestrator.model.reading import Scalar, WhereValue
from orchestrator.model.runbook import Duration

FamilyName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
# The names that every site has, without a declared option.
GIVEN = frozenset({"service", "site", "address", "port", "username"})
_BOUND = re.compile(r"(?<![:\w\\]):([a-z][a-z0-9_]*)(?!:)")


class WordsFile(Strict):
    """The words of the family for people. ``backlog``: the unit of the queue for the mate, in the singular."""

    service: Text = "service"
    services: Text = "services"
    backlog: str = ""
    link_down: Text = "the link is down ({site})"
    blocked: Text = "WRITERS WAIT: {site} confirms no write of {services} until {mate} is restored"
    none_serves: Text = "NO SITE IS ACTIVE"
    outage: Text = "no active site"
    keeps: Text = "what it holds"


class OptionFile(Strict):
    """An option of each site in an inventory. It is required if it has no ``default``. ``says``: its description. A
    ``list`` of texts may be used in a body, and in ``contains``."""

    says: Text
    type: Literal["text", "number", "list"] = "text"
    default: str | int | tuple[Text, ...] | None = None

    def fits(self, value: object) -> bool:
        """Is ``value`` of the type of this option?"""
        if self.type == "list":
            return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, str) for one in value)
        return isinstance(value, str if self.type == "text" else int) and not isinstance(value, bool)


class FieldFile(Strict):
    """One value of a reading. ``from``: a column of a query, or a JSON pointer (``/state/role``) into the output of a
    command or the answer of an API. ``regex``: instead, a regular expression with one group. ``@code`` is the exit code
    or the HTTP status, ``@rows`` the number of rows. An absent or null value is unknown, never 0 or false.

    ``true_when``: the values that mean true; other values mean false. ``{name}`` is the value of an option. ``contains``:
    the field is true if the list at ``from`` has this value, or every value of the option ``{name}``. ``exactly``: like
    ``contains``, if the list has nothing else. ``all``: the field is true while other fields have these values, and false
    if one has another value. ``absent``: the value of the field if a JSON answer lacks it, for an API that omits empty
    values. ``when``: the field has a meaning only while these other fields have these values; otherwise it is unknown.
    ``hex_bits``: the number is written in hexadecimal parts of so many bits, separated by a slash. ``facet``: the general
    meaning of the field. A backlog needs its ``unit``.
    """

    from_: str = Field(default="", alias="from")
    regex: str = ""
    type: Literal["bool", "number", "text"]
    true_when: WhereValue | None = None
    contains: Text | None = None
    exactly: Text | None = None
    all_: Mapping[Name, WhereValue] = Field(default_factory=dict, alias="all")
    absent: Scalar | None = None
    when: Mapping[Name, Scalar] = Field(default_factory=dict)
    hex_bits: int | None = Field(default=None, ge=4, le=64)
    facet: Facet | None = None
    unit: str = ""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        if regex and compiled(regex).groups != 1:
            raise ValueError("a regular expression must have exactly one group, which gives the value")
        return regex

    @model_validator(mode="after")
    def _fits(self) -> FieldFile:
        if sum(map(bool, (self.from_, self.regex, self.all_))) > 1:
            raise ValueError("give only one of from, regex, all")
        judged = sum(one is not None for one in (self.true_when, self.contains, self.exactly, self.all_ or None))
        if judged > 1:
            raise ValueError("give only one of true_when, contains, exactly, all")
        if judged and self.type != "bool":
            raise ValueError("`true_when`, `contains`, `exactly` and `all` are only for a field of type bool")
        if (self.is_of_list or self.absent is not None) and not self.from_.startswith("/"):
            raise ValueError("contains, exactly and absent need a JSON pointer (from: /…)")
        if self.hex_bits is not None and self.type != "number":
            raise ValueError("hex_bits is only for a field of type number")
        return self

    @property
    def is_of_list(self) -> bool:
        """Is the value computed from a list?"""
        return self.contains is not None or self.exactly is not None


class ItemsFile(Strict):
    """The items of a reading, one for each row. ``key``: the field by which an action names an item. ``argument``: the
    name of the action's argument for the item. ``shown``: the fields that a question about an item shows.

    ``known``: a column that is true if the list is known. The answer then has a row for each service of the site, without
    a key if the service has no items. ``decides``: the gate at which commit or rollback of each item is decided. Moves
    have an option with the name of the gate, which takes a file of decisions.
    """

    key: Name
    argument: Name = "item"
    shown: tuple[Name, ...] = ()
    known: Name | None = None
    decides: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z-]{0,40}$")] | None = None
    fields: Mapping[Name, FieldFile] = Field(min_length=1)


class _Asks(Strict):
    """The base of readings and actions. ``per``: once for the whole site, or once for each service."""

    summary: Text
    per: Literal["site", "service"] = "service"
    timeout: Duration = 15.0

    @property
    def requests(self) -> tuple[RequestFile, ...] | tuple[MessageFile, ...]:
        """The requests or messages; empty if there are none."""
        raise NotImplementedError

    @property
    def argv(self) -> Argv:
        """The words of the command; empty if there is none."""
        return getattr(self, "exec", None) or getattr(self, "ssh", None) or ()

    @property
    def protocol(self) -> str:
        """The protocol of the requests."""
        return "nats" if any(isinstance(one, MessageFile) for one in self.requests) else "http"

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: float) -> float:
        if timeout <= 0:
            raise ValueError("the timeout must be longer than 0 seconds")
        return timeout


class ReadingFile(_Asks):
    """One reading: a query (``sql``) of one row, or of many rows if it lists ``items``; a command on this machine
    (``exec``) or at the site (``ssh``); or a request that only reads (``http``, ``nats``). ``exit_codes``: the exit codes
    of a command that count as an answer.

    ``after``: a reading of the same site that is taken first. Its values may be used by their names too. ``survey``:
    false if only steps take this reading, and neither status nor check. Other readings may then have the same facets.
    ``only_with``: an option. If it is empty at a site, the site is not asked, and the values are unknown.

    ``rows``: a pointer into a JSON answer, to a list in which each member is a row. ``pick``: takes only the rows whose
    members have these values.
    """

    sql: Text | None = None
    exec: Argv | None = Field(default=None, min_length=1)
    ssh: Argv | None = Field(default=None, min_length=1)
    http: RequestFile | None = None
    nats: MessageFile | None = None
    exit_codes: tuple[int, ...] = (0,)
    after: Name | None = None
    only_with: Name | None = None
    survey: bool = True
    rows: str | None = None
    pick: Mapping[Text, Text] = Field(default_factory=dict)
    fields: Mapping[Name, FieldFile] = Field(default_factory=dict)
    items: ItemsFile | None = None

    @model_validator(mode="after")
    def _one_way(self) -> ReadingFile:
        if sum(one is not None for one in (self.sql, self.exec, self.ssh, self.http, self.nats)) != 1:
            raise ValueError("give exactly one of sql, exec, ssh, http, nats")
        if bool(self.fields) == (self.items is not None):
            raise ValueError("give exactly one of fields, items")
        if self.sql is not None and self.rows is not None:
            raise ValueError("`rows` is only for JSON answers; an SQL query already returns rows")
        if self.pick and self.rows is None:
            raise ValueError("`pick` selects from `rows`, but `rows` is missing")
        return self

    @property
    def requests(self) -> tuple[RequestFile, ...] | tuple[MessageFile, ...]:
        """The request or message; empty if there is none."""
        return (self.http,) if self.http is not None else () if self.nats is None else (self.nats,)

    @property
    def listed(self) -> Mapping[str, FieldFile]:
        """The fields of a row: those of the reading or those of its items."""
        return self.fields if self.items is None else self.items.fields


class MadeFile(Strict):
    """A query whose single value is the statement to send. The database itself quotes names and literals (``format``) in
    a statement that takes no bound parameters. If the value is null, or there is no row, nothing is sent."""

    made_by: Text


class ActionFile(_Asks):
    """One action: statements (``sql``), each committed by itself; one command (``exec``); or requests (``http``,
    ``nats``).

    ``database``: the database of its statements, if it differs from that of ``connect``. ``on_item``: the reading that
    lists the items; the action works on one item. The key of the item is an argument, and so is ``outcome`` if the items
    are decided on.

    ``idempotent``: sending it twice has the effect of sending it once. ``inverse``: the action that undoes it.
    ``makes``: the facets, and other true-or-false fields, that a site has after the action took effect. ``arguments``:
    further arguments from the runbook, as ``:name`` or ``{name}``. ``refused``: exit codes, or statuses or errors of the
    first request, that prove that the action had no effect. Every other failure leaves a doubt.
    """

    sql: tuple[Text | MadeFile, ...] | None = Field(default=None, min_length=1)
    exec: Argv | None = Field(default=None, min_length=1)
    ssh: Argv | None = Field(default=None, min_length=1)
    http: tuple[RequestFile, ...] | None = Field(default=None, min_length=1)
    nats: tuple[MessageFile, ...] | None = Field(default=None, min_length=1)
    on_item: Name | None = None
    idempotent: bool
    inverse: Name | None = None
    makes: Mapping[Name, bool] = Field(default_factory=dict)
    arguments: tuple[Name, ...] = ()
    refused: tuple[int, ...] = ()
    database: Text | None = None

    @model_validator(mode="after")
    def _one_way(self) -> ActionFile:
        if sum(one is not None for one in (self.sql, self.exec, self.ssh, self.http, self.nats)) != 1:
            raise ValueError("give exactly one of sql, exec, ssh, http, nats")
        if self.database is not None and self.sql is None:
            raise ValueError("`database` is only for SQL statements")
        return self

    @property
    def requests(self) -> tuple[RequestFile, ...] | tuple[MessageFile, ...]:
        """The requests or messages; empty if there are none."""
        return self.http if self.http is not None else self.nats or ()

    @property
    def parts(self) -> int:
        """How many statements or requests the action has. The connection may break between them."""
        return len(self.sql or self.requests) or 1


class SwitchFile(Strict):
    """An option, without a value, of the commands for these ``kinds`` of move. It chooses this ``runbook``."""

    says: Text
    kinds: tuple[Literal["controlled", "uncontrolled", "restore", "failback"], ...] = Field(min_length=1)
    runbook: Text


class FenceFile(Strict):
    """A way of the family to keep clients off a failed site. ``does``: its effect, in words. ``action``: shuts the site
    permanently. ``reading``: shows that the site is shut."""

    does: Text
    action: Name
    reading: Name


class FamilyFile(Strict):
    """One kind of replicated system. Its runbooks are in a folder beside the file, with the name of the family.

    ``whole_site``: why services of one site cannot be moved separately; empty: they can. ``switches``: options of the
    commands that move services, without the dashes. ``fences``: the ways to fence that the fence plan of a site may name.
    ``model``: the behaviour of the simulated pair with which runbooks are explored, rehearsed and simulated. Two values
    are short for ``is``.
    """

    family: FamilyName
    summary: Text
    words: WordsFile = WordsFile()
    options: Mapping[Name, OptionFile] = Field(default_factory=dict)
    connect: ConnectFile
    readings: Mapping[Name, ReadingFile] = Field(min_length=1)
    actions: Mapping[Name, ActionFile] = Field(default_factory=dict)
    whole_site: str = ""
    switches: Mapping[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z-]{0,40}$")], SwitchFile] = Field(
        default_factory=dict
    )
    fences: Mapping[Name, FenceFile] = Field(default_factory=dict)
    model: Mapping[Name, tuple[bool, bool] | ModelFile] = Field(default_factory=dict)

    @property
    def flags(self) -> Mapping[str, tuple[bool, bool]]:
        """Fields without a facet, with their values at the source and at the target while the pair is well."""
        return flags_in(self.model)

    @property
    def closing(self) -> list[str]:
        """The actions that a guard may use: they end service, can be rolled back, and need no argument."""
        return [
            name
            for name, one in self.actions.items()
            if one.makes.get(Facet.SERVES) is False and one.inverse is not None and not one.arguments
        ]

    @property
    def stopping(self) -> list[str]:
        """The actions after which the machine still obeys, but statements, requests or messages get no answer."""
        ways = [rule for name, rule in rules_in(self.model).items() if name in _WAYS]
        needed = {field: value for rule in ways for field, value in rule.only_while.items()}
        return [
            name
            for name, one in self.actions.items()
            if not one.arguments and any(one.makes.get(field) is (not value) for field, value in needed.items())
        ]


# The keys for the ways to read or send.
_WAYS = ("sql", "exec", "ssh", "http", "nats")


def way_of(one: ReadingFile | ActionFile) -> str:
    """The key for the way of this reading or action: ``sql``, ``exec``, ``ssh``, ``http`` or ``nats``."""
    return next(way for way in _WAYS if getattr(one, way) is not None)


def statements_of(one: ReadingFile | ActionFile) -> tuple[str, ...]:
    """The texts that are sent to a database. For a statement that a query makes, the text of that query."""
    if isinstance(one, ReadingFile):
        return () if one.sql is None else (one.sql,)
    return tuple(part.made_by if isinstance(part, MadeFile) else part for part in one.sql or ())


def item_arguments(file: FamilyFile, action: ActionFile) -> tuple[str, ...]:
    """The names of the arguments of an action on an item: the item's key, and ``outcome`` if the items are decided on."""
    reading = file.readings.get(action.on_item or "")
    if reading is None or reading.items is None:
        return ()
    return (reading.items.argument, *(() if reading.items.decides is None else ("outcome",)))


def named_in(one: ReadingFile | ActionFile) -> list[str]:
    """The names in its words, texts and statements."""
    texts = [text for request in one.requests for text in request.texts]
    picked = tuple(one.pick.values()) if isinstance(one, ReadingFile) else ()
    named = words_in((*one.argv, *texts, *picked))
    return named + [name for statement in statements_of(one) for name in bound_in(statement)]


def manager_state(value: bool | int | float | str | None) -> ManagerState:
    """The state that steps check, from the value of a field with the facet ``pilot``."""
    return "unknown" if value is None else "acts" if value else "none"


def managers_in(file: FamilyFile) -> Mapping[str, str]:
    """The managers besides this program that the readings of the family show, each with its reading."""
    return {
        name: reading
        for reading, declared in file.readings.items()
        for name, field in declared.fields.items()
        if field.facet is Facet.PILOT
    }


def bound_in(statement: str) -> list[str]:
    """The names of the bound parameters of a statement."""
    return _BOUND.findall(statement)
