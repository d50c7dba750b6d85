"""What other processes ask of a run, as it waits in the journal's inbox: a closed union, told apart by ``kind``.

In the journal each is a JSON object of texts. Whoever can write the database can leave one, so nothing here is proven:
not who left it, and not its signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError

from orchestrator.model.plan import Signed, Who

# More digits than any account or moment has.
_DIGITS_MAX = 12


def _number(text: object) -> object:
    """The number that a text is; None for a text that is none."""
    if not isinstance(text, str):
        return text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


_Number = Annotated[int | None, BeforeValidator(_number), PlainSerializer(str)]


class _Asked(BaseModel):
    """``by``: who left it, as it says itself."""

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
        """Who left it, as the record has it."""
        return Who(self.by, self.account, self.uid)

    def as_json(self) -> str:
        """As the journal keeps it: what was reported, and nothing by default."""
        return json.dumps(
            {"kind": self.kind, **self.model_dump(exclude_unset=True, exclude_none=True)}, sort_keys=True
        )


class AbortRequest(_Asked):
    """Call the run off; ``lane``: only this service."""

    kind: Literal["abort"] = "abort"


class _Said(_Asked):
    choice: str
    key: str = ""
    signature: str = ""
    at: _Number = None

    @property
    def signed(self) -> Signed | None:
        """Its signature, whatever that is worth; None where there is none."""
        if not self.signature or self.at is None:
            return None
        return Signed(key=self.key, signature=self.signature, at=self.at)


class DecideRequest(_Said):
    """An answer to a question of ``lane``, or of every one that asks it."""

    kind: Literal["decide"] = "decide"
    gate: str
    item: str | None = None


class ApprovalRequest(_Said):
    """A word about the plan; ``plan``: the digest of the one that was seen."""

    kind: Literal["approval"] = "approval"
    plan: str = ""


InboxRequest = Annotated[AbortRequest | DecideRequest | ApprovalRequest, Field(discriminator="kind")]
_REQUESTS: TypeAdapter[AbortRequest | DecideRequest | ApprovalRequest] = TypeAdapter(InboxRequest)


def request_of(said: Mapping[str, Any]) -> InboxRequest:
    """The request that consists of these texts. Raises ``ValidationError``."""
    return _REQUESTS.validate_python(said)


def read_request(body: str) -> InboxRequest | None:
    """What the inbox has, None for what is no request. A number is None that is none."""
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
