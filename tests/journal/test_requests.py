"""What other processes ask of a run: the texts in the journal and what they are read as."""

from __future__ import annotations

import json

import pytest

from orchestrator.model.plan import Signed
from orchestrator.model.requests import AbortRequest, ApprovalRequest, DecideRequest, InboxRequest, read_request

# As they were stored before requests had types.
WHO = '"account": "ann", "by": "Ann", '
STORED: dict[str, tuple[str, InboxRequest]] = {
    "an abort": (
        "{" + WHO + '"kind": "abort", "reason": "not tonight", "uid": "1000"}',
        AbortRequest(by="Ann", account="ann", uid=1000, reason="not tonight"),
    ),
    "an answer": (
        "{" + WHO + '"choice": "commit", "gate": "xa", "host": "b2", "item": "x1", "kind": "decide", "lane": "V", '
        '"reason": "", "uid": "0"}',
        DecideRequest(
            by="Ann", account="ann", uid=0, host="b2", lane="V", gate="xa", item="x1", choice="commit", reason=""
        ),
    ),
    "a signed word": (
        '{"account": "ann", "at": "17", "by": "Ann", "choice": "approve", "host": "b2", "key": "k", '
        '"kind": "approval", "plan": "p", "reason": "", "signature": "s", "uid": "1000"}',
        ApprovalRequest(
            by="Ann",
            account="ann",
            uid=1000,
            host="b2",
            choice="approve",
            plan="p",
            reason="",
            key="k",
            signature="s",
            at=17,
        ),
    ),
}


@pytest.mark.parametrize("what", STORED)
def test_what_is_stored_stays_as_it_was(what: str) -> None:
    """Law: a request of an older version is read, and a new one is stored in the same characters."""
    body, request = STORED[what]
    assert read_request(body) == request
    assert request.as_json() == body


@pytest.mark.parametrize("at", ["9" * 13, "-1", "٣", ""])
def test_a_number_that_is_none(at: str) -> None:
    """Law: a word with such a moment is a word without a signature."""
    said = {"kind": "approval", "by": "eve", "choice": "approve", "signature": "s", "uid": at}
    read = [read_request(json.dumps({**said, "at": one})) for one in (at, "1")]
    assert [one.signed for one in read if isinstance(one, ApprovalRequest)] == [
        None,
        Signed(key="", signature="s", at=1),
    ]
    assert [one.who.uid for one in read if one] == [None, None]
