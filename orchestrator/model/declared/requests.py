"""Parts of a family file: requests over HTTP, messages with an answer, the values for names in them, and the rules for a
simulated pair.

``{name}`` is replaced only as a whole word of a command, a whole part of a path or a subject, or a whole text of a JSON
value, never inside a word. A body may be a changed document of the site: some APIs replace a document, and so need the
whole document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
Argv = tuple[Text, ...]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/.*)?$")]
Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
_WORD = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class Strict(BaseModel):
    """A part of a family file, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class TakenFile(Strict):
    """A number from the answer. ``at``: the JSON pointer to it. ``plus``: the number that is added."""

    at: Pointer
    plus: int = 0


class _ChangedFile(Strict):
    """A document that is read first, and sent with changes. ``at``: its place in the answer. ``into``: the member of
    ``body`` that gets the document; without it, the document is the whole body. ``set``: members with their new values.
    ``take``: members that get a number from the answer. ``drop``: members that are removed."""

    at: Pointer = ""
    into: str = ""
    set: Mapping[Text, Any] = Field(default_factory=dict)
    take: Mapping[Text, TakenFile] = Field(default_factory=dict)
    drop: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _changes_each_once(self) -> _ChangedFile:
        names = [*self.set, *self.take, *self.drop]
        if len(names) != len(set(names)):
            raise ValueError("set, take and drop must name different members")
        return self


class _Sent(Strict):
    """The base of requests and messages."""

    body: Any = None

    @property
    def first(self) -> _Sent | None:
        """The request that is sent first, to read the document that is sent with changes; or None."""
        return None if self.changed is None else self.changed.from_

    @property
    def changed(self) -> ChangedRequestFile | ChangedMessageFile | None:
        """The document that is read first, with its changes; or None."""
        raise NotImplementedError

    @property
    def address(self) -> Argv:
        """The parts of the path and query, or of the subject."""
        raise NotImplementedError

    @property
    def texts(self) -> Argv:
        """Every text that may contain a name, including those of the request that is sent first."""
        changed = self.changed
        more = () if changed is None else (*_texts(changed.set), *changed.from_.texts)
        return (*self.address, *_texts(self.body), *more)

    @property
    def keys(self) -> Argv:
        """The names of all members that are written out, also those of the request that is sent first."""
        changed = self.changed
        more = () if changed is None else (*_keys(changed.set), *changed.from_.keys)
        return (*_keys(self.body), *more)

    def check_document(self) -> None:
        """Check that the document that is read first has a place in the body, and is read by one request. Raises
        ``ValueError``."""
        changed = self.changed
        if changed is None:
            return
        if changed.from_.changed is not None:
            raise ValueError("the request that reads the document first must not use `with` itself")
        has_frame = isinstance(self.body, Mapping)
        if bool(changed.into) != has_frame or (self.body is not None and not has_frame):
            raise ValueError(
                "give `with` without `body`, or give a `body` with keys and name the member for the document with `into`"
            )


class RequestFile(_Sent):
    """One request: the parts of its path under the method, then ``query``, and ``body`` as JSON. ``with``: the body is a
    document that is read first and then changed. ``statuses``: further statuses, besides 2xx, that count as an answer.
    For a request that changes something, they mean that the change is done."""

    get: Argv | None = Field(default=None, min_length=1)
    put: Argv | None = Field(default=None, min_length=1)
    post: Argv | None = Field(default=None, min_length=1)
    patch: Argv | None = Field(default=None, min_length=1)
    delete: Argv | None = Field(default=None, min_length=1)
    query: Mapping[Text, Text] = Field(default_factory=dict)
    with_: ChangedRequestFile | None = Field(default=None, alias="with")
    statuses: tuple[Annotated[int, Field(ge=300, le=599)], ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> RequestFile:
        if sum(parts is not None for _, parts in self._ways) != 1:
            raise ValueError("give exactly one of get, put, post, patch, delete")
        self.check_document()
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
        """The parts of the path, without slashes."""
        return next(parts for _, parts in self._ways if parts is not None)

    @property
    def changed(self) -> ChangedRequestFile | None:
        return self.with_

    @property
    def address(self) -> Argv:
        return (*self.path, *self.query.values())

    @property
    def keys(self) -> Argv:
        return (*self.query, *super().keys)


class MessageFile(_Sent):
    """One message with an answer: the parts of its ``subject``, without dots, and ``body`` as JSON. Without ``body`` the
    message is empty. ``with``: the body is a document that is read first and then changed. ``errors``: error codes that
    count as an answer. For a message that changes something, they mean that the change is done."""

    subject: Argv = Field(min_length=1)
    with_: ChangedMessageFile | None = Field(default=None, alias="with")
    errors: tuple[Annotated[int, Field(ge=1)], ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> MessageFile:
        self.check_document()
        return self

    @property
    def changed(self) -> ChangedMessageFile | None:
        return self.with_

    @property
    def address(self) -> Argv:
        return self.subject


class ChangedRequestFile(_ChangedFile):
    """A changed document that a request reads."""

    from_: RequestFile = Field(alias="from")


class ChangedMessageFile(_ChangedFile):
    """A changed document that a message with an answer reads."""

    from_: MessageFile = Field(alias="from")


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case Mapping():
            return [text for one in value.values() for text in _texts(one)]
        case list() | tuple():
            return [text for one in value for text in _texts(one)]
    return []


def _keys(value: Any) -> list[str]:
    match value:
        case Mapping():
            return [key for name, inner in value.items() for key in (str(name), *_keys(inner))]
        case list() | tuple():
            return [key for one in value for key in _keys(one)]
    return []


def words_in(argv: Argv) -> list[str]:
    """The names in words of a command that consist of ``{name}``."""
    return [found.group(1) for word in argv if (found := _WORD.fullmatch(word))]


def half_words(argv: Argv) -> list[str]:
    """Words with a ``{name}`` inside of a longer text. These names are never replaced."""
    return [word for word in argv if _WORD.search(word) and not _WORD.fullmatch(word)]


def filled(argv: Argv, values: Mapping[str, str]) -> list[str]:
    """``argv`` with names replaced by ``values``. A word whose value is unknown stays as it is."""
    return [values.get(found.group(1), word) if (found := _WORD.fullmatch(word)) else word for word in argv]


def filled_in(value: Any, values: Mapping[str, Any]) -> Any:
    """A JSON value in which texts that consist of ``{name}`` are replaced by ``values``."""
    match value:
        case str() if (found := _WORD.fullmatch(value)) is not None:
            return values.get(found.group(1), value)
        case Mapping():
            return {name: filled_in(one, values) for name, one in value.items()}
        case list() | tuple():
            return [filled_in(one, values) for one in value]
    return value


def member_at(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901, section 4); None if absent."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list):
            document = document[int(key)] if key.isdecimal() and int(key) < len(document) else None
        else:
            document = document.get(key) if isinstance(document, dict) else None
    return document


RequestFile.model_rebuild()
MessageFile.model_rebuild()


class ModelFile(Strict):
    """The behaviour of a field, a facet or a reading that ``model`` names, in the simulated pair.

    ``is``: for a true-or-false field without a facet, its values at the source and at the target while the pair is well.
    ``only_while``: the values that this end must have. Otherwise a field, ``serves`` and ``link`` are false, a
    ``backlog`` is unknown, and a reading is not answered. The names ``sql``, ``exec``, … stand for everything that is
    asked in this way. ``either_end``: the values that at least one of the two ends must have. ``restarted``: the value
    after the node was down. ``shared``: both ends have the same text or number. ``dropped_while``: while this end has
    these values, the part of a ``backlog`` that only this end has is lost.
    """

    is_: tuple[bool, bool] | None = Field(default=None, alias="is")
    only_while: Mapping[Name, bool] = Field(default_factory=dict)
    either_end: Mapping[Name, bool] = Field(default_factory=dict)
    restarted: bool | None = None
    shared: bool = False
    dropped_while: Mapping[Name, bool] = Field(default_factory=dict)


def flags_in(model: Mapping[str, tuple[bool, bool] | ModelFile]) -> dict[str, tuple[bool, bool]]:
    """The values of fields at both ends, from ``model``."""
    found = {name: one.is_ if isinstance(one, ModelFile) else one for name, one in model.items()}
    return {name: both for name, both in found.items() if both is not None}


def rules_in(model: Mapping[str, tuple[bool, bool] | ModelFile]) -> dict[str, ModelFile]:
    """The entries of ``model`` that are rules."""
    return {name: one for name, one in model.items() if isinstance(one, ModelFile)}
