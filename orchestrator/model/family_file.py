"""A family that is declared in one file: how its sites are read and changed, and what that means to everybody.

``{name}`` stands for an option of the site, as a whole word of a command; ``:name`` for the same, as a bound parameter of
a statement. Nothing is ever put into the text of a command or statement, and no shell reads one.
docs/declared-families.md is the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

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


class ConnectFile(_Strict):
    """How a site is spoken to."""

    sql: SqlFile | None = None
    exec: ExecFile | None = None


class FieldFile(_Strict):
    """One value of a reading. ``from``: a column; of what a command prints, a JSON pointer (``/state/role``) or a regular
    expression with one group (``regex``). What is absent or null is unknown, never 0 or false.

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


class ReadingFile(_Asks):
    """One reading: a query (``sql``) of one row, or of many where it lists ``items``; or a command (``exec``).
    ``exit_codes``: how the command may end and still have answered."""

    sql: Text | None = None
    exec: Argv | None = Field(default=None, min_length=1)
    exit_codes: tuple[int, ...] = (0,)
    fields: Mapping[Name, FieldFile] = Field(default_factory=dict)
    items: ItemsFile | None = None

    @model_validator(mode="after")
    def _one_way(self) -> ReadingFile:
        if (self.sql is None) == (self.exec is None):
            raise ValueError("give exactly one of sql, exec")
        if bool(self.fields) == (self.items is not None):
            raise ValueError("give exactly one of fields, items")
        return self


class ActionFile(_Asks):
    """One action: statements (``sql``), each committed by itself, or one command (``exec``).

    ``idempotent``: sending it twice has the effect of sending it once. ``inverse``: the action that takes it back.
    ``makes``: the facets that a site has once it has obeyed, and other fields that are true or false.
    ``arguments``: what a runbook gives it besides, as ``:name``
    or ``{name}``. ``refused``: what a database or an exit code says when it was not obeyed for sure; of a command, every
    exit code but 0 is doubt unless it is listed here.
    """

    sql: tuple[Text, ...] | None = Field(default=None, min_length=1)
    exec: Argv | None = Field(default=None, min_length=1)
    idempotent: bool
    inverse: Name | None = None
    makes: Mapping[Name, bool] = Field(default_factory=dict)
    arguments: tuple[Name, ...] = ()
    refused: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> ActionFile:
        if (self.sql is None) == (self.exec is None):
            raise ValueError("give exactly one of sql, exec")
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
