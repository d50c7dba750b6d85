"""A family that is declared in one file: how its sites are read and changed, and what that means to everybody.

``{name}`` stands for an option of the site, as a whole word of a command, a whole part of a request's path, or a whole
text of its body; ``:name`` for the same, as a bound parameter of a statement. Nothing is ever put into the text of a
command or statement, and no shell reads one.
docs/declared-families.md is the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from orchestrator.model.facets import Facet
from orchestrator.model.reading import Scalar, WhereValue
from orchestrator.model.runbook import Duration

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
FamilyName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
Argv = tuple[Text, ...]
# What every site has, without being declared as an option.
GIVEN = frozenset({"service", "site", "address", "port", "username"})
# What a site whose family has an API over HTTP may say besides (``adapters/http/options.py``).
HTTP_OPTIONS = ("scheme", "ca_file", "token", "insecure_http")
_WORD = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_BOUND = re.compile(r"(?<![:\w\\]):([a-z][a-z0-9_]*)(?!:)")


def _compiled(regex: str) -> re.Pattern[str]:
    """Raises ``ValueError`` for what is none."""
    try:
        return re.compile(regex)
    except re.error as error:
        raise ValueError(f"this is no regular expression: {error.msg}") from None


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WordsFile(_Strict):
    """What people call its things. ``backlog``: what waits for the mate, in the singular."""

    service: Text = "service"
    services: Text = "services"
    backlog: str = ""
    link_down: Text = "the link is down ({site})"
    none_serves: Text = "NO SITE IS ACTIVE"
    outage: Text = "no active site"
    keeps: Text = "what it holds"


class OptionFile(_Strict):
    """What an inventory says of each site. Without a ``default`` it has to be given. ``says``: what it is."""

    says: Text
    type: Literal["text", "number"] = "text"
    default: str | int | None = None


class SqlFile(_Strict):
    """A database of each site: the driver in SQLAlchemy's words. Address, port and login are those of the site's device.
    ``arguments`` are handed to the driver; ``database`` is a name, or the option ``{name}`` that has it."""

    driver: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(\+[a-z0-9]+)?$")]
    database: Text
    arguments: Mapping[str, Scalar] = Field(default_factory=dict)


class ExecFile(_Strict):
    """Programs on the machine that runs this one. ``path``: where a name without a slash is looked for, first to last;
    the usual folders follow. An entry may be the option ``{name}``. ``password``: the environment variable in which a
    command finds the password of the site's login; no other variable of this process reaches it. ``unreachable`` and
    ``denied``: regular expressions for what a command that failed says when nobody answered, and when the login was
    refused; nothing was sent then."""

    path: tuple[Text, ...] = ()
    password: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,62}$")] | None = None
    unreachable: str = ""
    denied: str = ""

    @field_validator("unreachable", "denied")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        _compiled(regex)
        return regex


class HttpFile(_Strict):
    """An API over HTTP at each site: the scheme, the CA and the token are options that every such site has. Without a
    token, the site's login is sent as Basic; a site without a login sends neither. ``port``: the option that has the
    port, if the device's own is another one."""

    port: Name | None = None


class ConnectFile(_Strict):
    """How a site is spoken to."""

    sql: SqlFile | None = None
    exec: ExecFile | None = None
    http: HttpFile | None = None


class FieldFile(_Strict):
    """One value of a reading. ``from``: a column; of what a command prints or an API answers, a JSON pointer
    (``/state/role``) or a regular expression with one group (``regex``); ``@code`` is the exit code or the HTTP status,
    ``@rows`` how many rows there were. What is absent or null is unknown, never 0 or false.

    ``true_when``: the values that mean true; others mean false. ``when``: it has a meaning only while these other fields
    have these values; else it is unknown. ``facet``: what it means to everybody; a backlog needs its ``unit``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    from_: str = Field(default="", alias="from")
    regex: str = ""
    type: Literal["bool", "number", "text"]
    true_when: WhereValue | None = None
    when: Mapping[Name, Scalar] = Field(default_factory=dict)
    facet: Facet | None = None
    unit: str = ""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        if regex and _compiled(regex).groups != 1:
            raise ValueError("a regular expression has exactly one group, which is the value")
        return regex

    @model_validator(mode="after")
    def _fits(self) -> FieldFile:
        if bool(self.from_) and bool(self.regex):
            raise ValueError("give one of from, regex")
        if self.true_when is not None and self.type != "bool":
            raise ValueError("true_when belongs to a field of type bool")
        return self


class ItemsFile(_Strict):
    """What a reading lists, one for each row: ``key`` is the field that an action names one by, ``argument`` what the
    action calls it. ``shown``: the fields that a question about one shows."""

    key: Name
    argument: Name = "item"
    shown: tuple[Name, ...] = ()
    fields: Mapping[Name, FieldFile] = Field(min_length=1)


class _Asks(_Strict):
    """``per``: it is done once for the site, or for each service."""

    summary: Text
    per: Literal["site", "service"] = "service"
    timeout: Duration = 15.0

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: float) -> float:
        if timeout <= 0:
            raise ValueError("a time-out of nothing is none")
        return timeout


Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]


class RequestFile(_Strict):
    """One request: the parts of its path under the method, ``query`` behind it, ``body`` as JSON. ``statuses``: those
    that are an answer besides 2xx; to a request that changes something they say that it is done."""

    get: Argv | None = Field(default=None, min_length=1)
    put: Argv | None = Field(default=None, min_length=1)
    post: Argv | None = Field(default=None, min_length=1)
    patch: Argv | None = Field(default=None, min_length=1)
    delete: Argv | None = Field(default=None, min_length=1)
    query: Mapping[Text, Text] = Field(default_factory=dict)
    body: Any = None
    statuses: tuple[Annotated[int, Field(ge=300, le=599)], ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> RequestFile:
        if sum(parts is not None for _, parts in self._ways) != 1:
            raise ValueError("give exactly one of get, put, post, patch, delete")
        return self

    @property
    def _ways(self) -> tuple[tuple[Method, Argv | None], ...]:
        return (
            ("GET", self.get),
            ("PUT", self.put),
            ("POST", self.post),
            ("PATCH", self.patch),
            ("DELETE", self.delete),
        )

    @property
    def method(self) -> Method:
        """The method of the request."""
        return next(method for method, parts in self._ways if parts is not None)

    @property
    def path(self) -> Argv:
        """The parts of its path, without slashes."""
        return next(parts for _, parts in self._ways if parts is not None)

    @property
    def texts(self) -> Argv:
        """Every text in which a name may stand."""
        return (*self.path, *self.query.values(), *_texts(self.body))


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case Mapping():
            return [text for one in value.values() for text in _texts(one)]
        case list() | tuple():
            return [text for one in value for text in _texts(one)]
    return []


class ReadingFile(_Asks):
    """One reading: a query (``sql``) of one row, or of many where it lists ``items``; a command (``exec``); or a request
    that gets something (``http``). ``exit_codes``: how the command may end and still have answered.

    Of a JSON answer, ``rows`` points to a list of which each member is a row, and ``pick`` takes those whose members have
    these values.
    """

    sql: Text | None = None
    exec: Argv | None = Field(default=None, min_length=1)
    http: RequestFile | None = None
    exit_codes: tuple[int, ...] = (0,)
    rows: str | None = None
    pick: Mapping[Text, Text] = Field(default_factory=dict)
    fields: Mapping[Name, FieldFile] = Field(default_factory=dict)
    items: ItemsFile | None = None

    @model_validator(mode="after")
    def _one_way(self) -> ReadingFile:
        if sum(one is not None for one in (self.sql, self.exec, self.http)) != 1:
            raise ValueError("give exactly one of sql, exec, http")
        if bool(self.fields) == (self.items is not None):
            raise ValueError("give exactly one of fields, items")
        if self.sql is not None and self.rows is not None:
            raise ValueError("rows belongs to a JSON answer; a query has rows of its own")
        if self.pick and self.rows is None:
            raise ValueError("pick takes from rows, which is missing")
        return self

    @property
    def listed(self) -> Mapping[str, FieldFile]:
        """The fields of a row, be they of the reading or of its items."""
        return self.fields if self.items is None else self.items.fields


class ActionFile(_Asks):
    """One action: statements (``sql``), each committed by itself; one command (``exec``); or requests (``http``).

    ``idempotent``: sending it twice has the effect of sending it once. ``inverse``: the action that takes it back.
    ``makes``: the facets that a site has once it has obeyed, and other fields that are true or false.
    ``arguments``: what a runbook gives it besides, as ``:name`` or ``{name}``. ``refused``: exit codes, or statuses of
    the first request, that say that it was not obeyed for sure; every other one but success is doubt.
    """

    sql: tuple[Text, ...] | None = Field(default=None, min_length=1)
    exec: Argv | None = Field(default=None, min_length=1)
    http: tuple[RequestFile, ...] | None = Field(default=None, min_length=1)
    idempotent: bool
    inverse: Name | None = None
    makes: Mapping[Name, bool] = Field(default_factory=dict)
    arguments: tuple[Name, ...] = ()
    refused: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> ActionFile:
        if sum(one is not None for one in (self.sql, self.exec, self.http)) != 1:
            raise ValueError("give exactly one of sql, exec, http")
        return self


class FamilyFile(_Strict):
    """One kind of replicated system. Its runbooks are in the folder beside the file that has its name.

    ``whole_site``: why services of one site cannot be moved apart; empty: they can. ``model``: fields that are true or
    false and have no facet, with their values at the source and at the target while the pair is well; with these a pair
    is made to explore a runbook.
    """

    family: FamilyName
    summary: Text
    words: WordsFile = WordsFile()
    options: Mapping[Name, OptionFile] = Field(default_factory=dict)
    connect: ConnectFile
    readings: Mapping[Name, ReadingFile] = Field(min_length=1)
    actions: Mapping[Name, ActionFile] = Field(default_factory=dict)
    whole_site: str = ""
    model: Mapping[Name, tuple[bool, bool]] = Field(default_factory=dict)


def words_in(argv: Argv) -> list[str]:
    """The names that whole words of a command stand for."""
    return [found.group(1) for word in argv if (found := _WORD.fullmatch(word))]


def half_words(argv: Argv) -> list[str]:
    """Words that have a name inside, where nothing is ever put."""
    return [word for word in argv if _WORD.search(word) and not _WORD.fullmatch(word)]


def bound_in(statement: str) -> list[str]:
    """The names of the bound parameters of a statement."""
    return _BOUND.findall(statement)


def filled(argv: Argv, values: Mapping[str, str]) -> list[str]:
    """``argv`` with ``values`` in their places; a word whose value is not known stays as it is."""
    return [values.get(found.group(1), word) if (found := _WORD.fullmatch(word)) else word for word in argv]


def filled_in(value: Any, values: Mapping[str, Any]) -> Any:
    """A JSON value with ``values`` in the place of whole texts."""
    match value:
        case str() if (found := _WORD.fullmatch(value)) is not None:
            return values.get(found.group(1), value)
        case Mapping():
            return {name: filled_in(one, values) for name, one in value.items()}
        case list() | tuple():
            return [filled_in(one, values) for one in value]
    return value
