"""The common part of the requests of a family file, for every protocol. A request that reads may be repeated once. A
request that changes something is sent once. A document that is read first is sent with changes.

The names of options are put in as whole parts of a path, each percent-encoded (RFC 3986, section 2.1), or of a subject,
as whole values of a query, and as whole texts of a JSON body.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    ConnectionLost,
    NotObeyed,
    UnreadableReply,
)
from orchestrator.model.declared.requests import MessageFile, RequestFile, filled, filled_in, member_at

One = TypeVar("One", RequestFile, MessageFile)
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """``code``: the status, or the code of an error. ``is_answer``: the file accepts it as an answer. ``says``: the
    answer for a person."""

    code: int
    text: str
    is_answer: bool
    says: str


class Requests(ABC, Generic[One]):
    """The requests of one site. ``where`` names it in errors."""

    where: str

    @abstractmethod
    def exchange(self, request: One, values: Values, body: Any, timeout_s: float, *, is_read: bool) -> Answer:
        """Send ``request`` once, with ``body`` as JSON if it is not None. Raises ``AdapterError``."""

    @abstractmethod
    def close(self) -> None:
        """End the session."""

    def ask(self, request: One, values: Values, timeout_s: float) -> tuple[int, str]:
        """Code and text of a request that reads. If the session had ended unnoticed, the request is repeated once.

        Raises ``AdapterError``: ``UnreadableReply`` if the reply is no answer.
        """
        body = filled_in(request.body, values)
        try:
            answer = self.exchange(request, values, body, timeout_s, is_read=True)
        except ConnectionLost:
            answer = self.exchange(request, values, body, timeout_s, is_read=True)
        if not answer.is_answer:
            raise UnreadableReply(answer.says, text=answer.text[:500], device=self.where)
        return answer.code, answer.text

    def send(
        self,
        requests: Sequence[One],
        values: Values,
        timeout_s: float,
        refused: Sequence[int],
        check: Callable[[], None],
    ) -> None:
        """Send each request in order, once. ``check`` is called right before the first request is sent. Raises
        ``NotObeyed`` if the first request was not obeyed. Raises an error that means doubt if a later one was not
        obeyed, or if the answer is unclear."""
        for number, request in enumerate(requests):
            try:
                body = self._body(request, values, timeout_s)
                if not number:
                    check()
                answer = self.exchange(request, values, body, timeout_s, is_read=False)
            except NotObeyed as error:
                if number:
                    raise UnreadableReply(str(error), text="", device=self.where) from error
                raise
            if answer.is_answer:
                continue
            if not number and answer.code in refused:
                raise CommandRejected(answer.says, device=self.where)
            raise UnreadableReply(answer.says, text=answer.text[:500], device=self.where)

    def _body(self, request: One, values: Values, timeout_s: float) -> Any:
        """The body that is sent. Raises ``NotObeyed`` if the document from which it is made cannot be read."""
        body = filled_in(request.body, values)
        changed = request.changed
        if changed is None:
            return body
        first: Any = changed.from_
        try:
            code, text = self.ask(first, values, timeout_s)
            document = _parsed(text, code)
            made = changed_document(request, document, values)
        except NotObeyed:
            raise
        except AdapterError as error:
            # No request that changes something was sent.
            raise CommandRejected(f"nothing was sent: {error}", device=self.where) from error
        return {**body, changed.into: made} if changed.into else made


def changed_document(request: RequestFile | MessageFile, answer: Any, values: Values) -> dict[str, Any]:
    """The document of ``answer`` with the changes of ``request``. Raises ``UnreadableReply`` if there is no
    document."""
    changed = request.changed
    assert changed is not None
    found = member_at(answer, changed.at)
    if not isinstance(found, dict):
        raise UnreadableReply(f"the answer has no object at {changed.at!r}", text=json.dumps(answer)[:500])
    made = {name: value for name, value in found.items() if name not in changed.drop}
    made |= {name: filled_in(value, values) for name, value in changed.set.items()}
    for name, taken in changed.take.items():
        number = member_at(answer, taken.at)
        if not isinstance(number, int) or isinstance(number, bool):
            raise UnreadableReply(f"the answer has no whole number at {taken.at!r}", text=json.dumps(answer)[:500])
        made[name] = number + taken.plus
    return made


def _parsed(text: str, code: int) -> Any:
    if code >= 300:
        raise UnreadableReply(f"the server did not give the document ({code})", text=text[:500])
    try:
        return json.loads(text)
    except ValueError:
        raise UnreadableReply("the answer is not JSON", text=text[:500]) from None


def target_of(request: RequestFile, values: Values) -> str:
    """Path and query, as they are sent; names whose value is not known stay as they are."""
    texts = {name: str(value) for name, value in values.items()}
    path = "".join(f"/{quote(part, safe='')}" for part in filled(request.path, texts))
    query = {name: filled((value,), texts)[0] for name, value in request.query.items()}
    return path + (f"?{urlencode(query, quote_via=quote)}" if query else "")


def head_of(request: RequestFile | MessageFile, values: Values) -> str:
    """Where a request goes: its method and target, or its subject."""
    if isinstance(request, RequestFile):
        return f"{request.method} {target_of(request, values)}"
    return "request " + ".".join(filled(request.subject, {name: str(value) for name, value in values.items()}))


def line_of(request: RequestFile | MessageFile, values: Values) -> str:
    """The request as it is sent, for a person. For a document that is read first, the changes are shown."""
    body = "" if request.body is None else " " + _shown(request.body, values)
    changed = request.changed
    if changed is None:
        return head_of(request, values) + body
    parts = [f"{name} {_shown(value, values)}" for name, value in changed.set.items()]
    for name, taken in changed.take.items():
        parts.append(f"{name} {taken.at}" + (f" + {taken.plus}" if taken.plus else ""))
    parts += [f"no {name}" for name in changed.drop]
    place = f" as {changed.into}" if changed.into else ""
    at = f" at {changed.at}" if changed.at else ""
    told = f" with the answer of {line_of(changed.from_, values)}{at}{place}"
    return head_of(request, values) + body + told + (f", but {', '.join(parts)}" if parts else "")


def _shown(value: Any, values: Values) -> str:
    return json.dumps(filled_in(value, values), ensure_ascii=False)
