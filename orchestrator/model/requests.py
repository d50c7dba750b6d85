"""The requests of other processes to a run, as they wait in the journal's inbox: a closed union with the tag ``kind``.

In the journal each request is a JSON object of texts. Every account that can write the database can leave a request. So
nothing in it is proven: neither the sender nor the signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError

from orchestrator.model.plan import Signed, Who

# More digits than any user ID or time has.
_DIGITS_MAX = 12


def _number(text: object) -> object:
    """The number in a text; None if the text is not a number."""
    if not isinstance(text, str):
        return text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


_Number = Annotated[int | None, BeforeValidator(_number), PlainSerializer(str)]


class _Asked(BaseModel):
    """The base of requests. ``by``: the name that the sender gives."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: str
    by: str
    account: str = ""
    uid: _Number = None
    host: str = ""
    reason: str = ""
    lane: str | None = None

    @property
    def who(self) -> Who:
        """The sender, as the record of the run stores it."""
        return Who(self.by, self.account, self.uid)

    def as_json(self) -> str:
        """The JSON that the journal stores: only the values that were given, without defaults."""
        return json.dumps(
            {"kind": self.kind, **self.model_dump(exclude_unset=True, exclude_none=True)}, sort_keys=True
        )


class AbortRequest(_Asked):
    """Abort the run. With ``lane``, only this service."""

    kind: Literal["abort"] = "abort"


class _Said(_Asked):
    choice: str
    key: str = ""
    signature: str = ""
    at: _Number = None

    @property
    def signed(self) -> Signed | None:
        """The signature of the request, not verified; None if there is none."""
        if not self.signature or self.at is None:
            return None
        return Signed(key=self.key, signature=self.signature, at=self.at)


class DecideRequest(_Said):
    """An answer to a question of ``lane``. Without ``lane``, of every lane that asks it."""

    kind: Literal["decide"] = "decide"
    gate: str
    item: str | None = None


class ApprovalRequest(_Said):
    """A vote on the plan. ``plan``: the digest of the plan that the person saw."""

    kind: Literal["approval"] = "approval"
    plan: str = ""


InboxRequest = Annotated[AbortRequest | DecideRequest | ApprovalRequest, Field(discriminator="kind")]
_REQUESTS: TypeAdapter[AbortRequest | DecideRequest | ApprovalRequest] = TypeAdapter(InboxRequest)


def request_of(said: Mapping[str, Any]) -> InboxRequest:
    """The request with these texts as its values. Raises ``ValidationError``."""
    return _REQUESTS.validate_python(said)


def read_request(body: str) -> InboxRequest | None:
    """The request in the text ``body`` of the inbox; None if it is not a request. An invalid number becomes None."""
    try:
        said = json.loads(body)
        json.dumps(said, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        return None
    try:
        return request_of(said)
    except ValidationError:
        return None
