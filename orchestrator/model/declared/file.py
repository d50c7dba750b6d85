"""A family that is declared in one file: how its sites are read and changed, and what that means to everybody.

``{name}`` stands for an option of the site, as a whole word of a command, a whole part of what a request goes to, or a
whole text of its body; ``:name`` for the same, as a bound parameter of a statement. Nothing is ever put into the text of
a command or statement, and no shell reads one. ``requests`` has the requests, ``connect`` the sessions.
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
# What every site has, without being declared as an option.
GIVEN = frozenset({"service", "site", "address", "port", "username"})
_BOUND = re.compile(r"(?<![:\w\\]):([a-z][a-z0-9_]*)(?!:)")


class WordsFile(Strict):
    """What people call its things. ``backlog``: what waits for the mate, in the singular."""

    service: Text = "service"
    services: Text = "services"
    backlog: str = ""
    link_down: Text = "the link is down ({site})"
    blocked: Text = "WRITERS WAIT: {site} confirms no write of {services} until {mate} is restored"
    none_serves: Text = "NO SITE IS ACTIVE"
    outage: Text = "no active site"
    keeps: Text = "what it holds"


class OptionFile(Strict):
    """What an inventory says of each site. Without a ``default`` it has to be given. ``says``: what it is. A ``list`` of
    texts has its place in a body, and in ``contains``."""

    says: Text
    type: Literal["text", "number", "list"] = "text"
    default: str | int | tuple[Text, ...] | None = None

    def fits(self, value: object) -> bool:
        """Is it a value of this type?"""
        if self.type == "list":
            return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, str) for one in value)
        return isinstance(value, str if self.type == "text" else int) and not isinstance(value, bool)


class FieldFile(Strict):
    """One value of a reading. ``from``: a column; of what a command prints or an API answers, a JSON pointer
    (``/state/role``) or a regular expression with one group (``regex``); ``@code`` is the exit code or the HTTP status,
    ``@rows`` how many rows there were. What is absent or null is unknown, never 0 or false.

    ``true_when``: the values that mean true; others mean false; ``{name}`` is the value of an option. ``contains``: it
    is true if the list at ``from`` has this value, or each of the option ``{name}``; ``exactly``: and nothing else.
    ``all``: it is true while other fields have these values, false if one has another. ``absent``: the value that it has
    if a JSON answer lacks it, for an API that leaves out what is empty. ``when``: it has a meaning only while these other
    fields have these values; else it is unknown. ``hex_bits``: the number is written in hexadecimal parts of so many
    bits, with a slash between them. ``facet``: what it means to everybody; a backlog needs its ``unit``.
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
            raise ValueError("a regular expression has exactly one group, which is the value")
        return regex

    @model_validator(mode="after")
    def _fits(self) -> FieldFile:
        if sum(map(bool, (self.from_, self.regex, self.all_))) > 1:
            raise ValueError("give one of from, regex, all")
        judged = sum(one is not None for one in (self.true_when, self.contains, self.exactly, self.all_ or None))
        if judged > 1:
            raise ValueError("give one of true_when, contains, exactly, all")
        if judged and self.type != "bool":
            raise ValueError("true_when, contains, exactly and all belong to a field of type bool")
        if (self.is_of_list or self.absent is not None) and not self.from_.startswith("/"):
            raise ValueError("contains, exactly and absent belong to a JSON pointer: from: /…")
        if self.hex_bits is not None and self.type != "number":
            raise ValueError("hex_bits belongs to a number")
        return self

    @property
    def is_of_list(self) -> bool:
        """Is it made of a list?"""
        return self.contains is not None or self.exactly is not None


class ItemsFile(Strict):
    """What a reading lists, one for each row: ``key`` is the field that an action names one by, ``argument`` what the
    action calls it. ``shown``: the fields that a question about one shows.

    ``known``: a column that is true where the list is known. Such an answer has a row for each service that the site
    has, without a key where nothing is listed. ``decides``: the gate on which commit or rollback of each is decided;
    moves have an option of that name, which takes a file of decisions.
    """

    key: Name
    argument: Name = "item"
    shown: tuple[Name, ...] = ()
    known: Name | None = None
    decides: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z-]{0,40}$")] | None = None
    fields: Mapping[Name, FieldFile] = Field(min_length=1)


class _Asks(Strict):
    """``per``: it is done once for the site, or for each service."""

    summary: Text
    per: Literal["site", "service"] = "service"
    timeout: Duration = 15.0

    @property
    def requests(self) -> tuple[RequestFile, ...] | tuple[MessageFile, ...]:
        """The requests of it, or none."""
        raise NotImplementedError

    @property
    def argv(self) -> Argv:
        """The words of its command, or none."""
        return getattr(self, "exec", None) or getattr(self, "ssh", None) or ()

    @property
    def protocol(self) -> str:
        """Over what its requests go."""
        return "nats" if any(isinstance(one, MessageFile) for one in self.requests) else "http"

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: float) -> float:
        if timeout <= 0:
            raise ValueError("a time-out of nothing is none")
        return timeout


class ReadingFile(_Asks):
    """One reading: a query (``sql``) of one row, or of many where it lists ``items``; a command here (``exec``) or at the
    site (``ssh``); or a request that gets something (``http``, ``nats``). ``exit_codes``: how the command may end and
    still have answered.

    ``after``: a reading of the same site that is made first; its values stand for their names too. ``survey``: false for
    one that steps alone make, and neither status nor check; its facets may be those of other readings too.
    ``only_with``: an option without which, where it is empty, a site is not asked: its values are unknown there.

    Of a JSON answer, ``rows`` points to a list of which each member is a row, and ``pick`` takes those whose members have
    these values.
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
            raise ValueError("rows belongs to a JSON answer; a query has its rows")
        if self.pick and self.rows is None:
            raise ValueError("pick takes from rows, which is missing")
        return self

    @property
    def requests(self) -> tuple[RequestFile, ...] | tuple[MessageFile, ...]:
        """The request of it, or none."""
        return (self.http,) if self.http is not None else () if self.nats is None else (self.nats,)

    @property
    def listed(self) -> Mapping[str, FieldFile]:
        """The fields of a row, be they of the reading or of its items."""
        return self.fields if self.items is None else self.items.fields


class MadeFile(Strict):
    """A query whose one value is the statement to send: the database itself quotes names and literals (``format``) in
    what takes no bound parameters. Null, or no row: nothing is sent."""

    made_by: Text


class ActionFile(_Asks):
    """One action: statements (``sql``), each committed by itself; one command (``exec``); or requests (``http``,
    ``nats``).

    ``database``: that of its statements, if it is not that of ``connect``. ``on_item``: the reading of whose items it
    works on one; the key is its argument, and so is ``outcome`` where something is decided on it.

    ``idempotent``: sending it twice has the effect of sending it once. ``inverse``: the action that undoes it.
    ``makes``: the facets that a site has once it has obeyed, and other fields that are true or false.
    ``arguments``: what a runbook gives it besides, as ``:name`` or ``{name}``. ``refused``: exit codes, or statuses or
    errors of the first request, that say that it was not obeyed for sure; every other one but success is doubt.
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
            raise ValueError("database belongs to statements")
        return self

    @property
    def requests(self) -> tuple[RequestFile, ...] | tuple[MessageFile, ...]:
        """The requests of it, or none."""
        return self.http if self.http is not None else self.nats or ()

    @property
    def parts(self) -> int:
        """How many statements or requests it takes: the connection may break between them."""
        return len(self.sql or self.requests) or 1


class SwitchFile(Strict):
    """An option of the commands that do these ``kinds`` of move: it chooses this ``runbook``, and takes no value."""

    says: Text
    kinds: tuple[Literal["controlled", "uncontrolled", "restore", "failback"], ...] = Field(min_length=1)
    runbook: Text


class FenceFile(Strict):
    """A way of the family to keep clients off a failed site: what it ``does``, the ``action`` that shuts the site for
    good, and the ``reading`` that shows it."""

    does: Text
    action: Name
    reading: Name


class FamilyFile(Strict):
    """One kind of replicated system. Its runbooks are in the folder beside the file that has its name.

    ``whole_site``: why services of one site cannot be moved apart; empty: they can. ``switches``: options of the commands
    that move services, without the dashes. ``fences``: what the fence plan of a site may name. ``model``: what is so by
    itself, for the pair that is made to explore, rehearse and simulate runbooks; two values are short for ``is``.
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
        """Fields that have no facet, with their values at the source and at the target while the pair is well."""
        return flags_in(self.model)

    @property
    def closing(self) -> list[str]:
        """The actions that end service, can be rolled back, and need no argument: what a guard may do."""
        return [
            name
            for name, one in self.actions.items()
            if one.makes.get(Facet.SERVES) is False and one.inverse is not None and not one.arguments
        ]

    @property
    def stopping(self) -> list[str]:
        """The actions after which its machine still obeys, and statements, requests or messages are not answered."""
        ways = [rule for name, rule in rules_in(self.model).items() if name in _WAYS]
        needed = {field: value for rule in ways for field, value in rule.only_while.items()}
        return [
            name
            for name, one in self.actions.items()
            if not one.arguments and any(one.makes.get(field) is (not value) for field, value in needed.items())
        ]


# How something is asked or sent.
_WAYS = ("sql", "exec", "ssh", "http", "nats")


def way_of(one: ReadingFile | ActionFile) -> str:
    """The key under which it says what is asked or sent."""
    return next(way for way in _WAYS if getattr(one, way) is not None)


def statements_of(one: ReadingFile | ActionFile) -> tuple[str, ...]:
    """The texts that a database is sent; of a statement that a query makes, that query."""
    if isinstance(one, ReadingFile):
        return () if one.sql is None else (one.sql,)
    return tuple(part.made_by if isinstance(part, MadeFile) else part for part in one.sql or ())


def item_arguments(file: FamilyFile, action: ActionFile) -> tuple[str, ...]:
    """What is filled in for an action on an item: its key, and what was decided about it."""
    reading = file.readings.get(action.on_item or "")
    if reading is None or reading.items is None:
        return ()
    return (reading.items.argument, *(() if reading.items.decides is None else ("outcome",)))


def named_in(one: ReadingFile | ActionFile) -> list[str]:
    """The names that its words, texts and statements stand for."""
    texts = [text for request in one.requests for text in request.texts]
    picked = tuple(one.pick.values()) if isinstance(one, ReadingFile) else ()
    named = words_in((*one.argv, *texts, *picked))
    return named + [name for statement in statements_of(one) for name in bound_in(statement)]


def manager_state(value: bool | int | float | str | None) -> ManagerState:
    """What steps compare with, of a field with the facet ``pilot`` that has this value."""
    return "unknown" if value is None else "acts" if value else "none"


def managers_in(file: FamilyFile) -> Mapping[str, str]:
    """The managers beside this program that its readings show, each with its reading."""
    return {
        name: reading
        for reading, declared in file.readings.items()
        for name, field in declared.fields.items()
        if field.facet is Facet.PILOT
    }


def bound_in(statement: str) -> list[str]:
    """The names of the bound parameters of a statement."""
    return _BOUND.findall(statement)
