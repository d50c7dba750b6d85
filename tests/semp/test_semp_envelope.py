"""What a SEMP v2 reply says: by code and shape, never by text, and never more than it says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.exchange import Reply
from adapters.solace.semp.envelope import count_in, envelope_of, flag_in, size_of, status_refusal, text_in
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    NoSuchService,
    NotObeyed,
    PerhapsObeyed,
    Unreachable,
    UnreadableReply,
)


def reply(status: int, body: object) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status, {}, data, 0.0, 0.0)


def refused(status: int, code: int, text: str = "some text") -> Reply:
    error = {"code": code, "description": text, "status": "X"}
    return reply(status, {"meta": {"error": error, "request": {"method": "GET"}, "responseCode": status}})


def error_of(answer: Reply, *, is_read: bool) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        envelope_of(answer, "ny1", is_read=is_read)
    assert caught.value.device == "ny1"
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "of_a_read", "of_a_write"),
    [
        (400, 2, CommandRejected, CommandRejected),
        (400, 6, NoSuchService, NoSuchService),
        (404, 6, NoSuchService, NoSuchService),
        (400, 10, CommandRejected, CommandRejected),
        (400, 11, CommandRejected, CommandRejected),
        (400, 14, CommandRejected, CommandRejected),
        (400, 27, CommandRejected, CommandRejected),
        (401, 72, AuthenticationFailed, AuthenticationFailed),
        (403, 72, CommandRejected, CommandRejected),
        (400, 72, CommandRejected, CommandRejected),
        (400, 89, CommandRejected, CommandRejected),
        (503, 89, CommandRejected, CommandRejected),  # "Replication Is Standby"
        (503, 2, Unreachable, CommandRejected),  # "busy reconciling"
        (429, 2, Unreachable, CommandRejected),
        (400, 135, CommandRejected, CommandRejected),
        (400, 228, CommandRejected, CommandRejected),
        (400, 229, CommandTimedOut, CommandTimedOut),
        (503, 229, CommandTimedOut, CommandTimedOut),
        (400, 256, CommandRejected, CommandRejected),
        (500, 2, CommandRejected, UnreadableReply),
        (529, 2, Unreachable, Unreachable),
    ],
)
def test_codes_say_what_happened(
    status: int, code: int, of_a_read: type[AdapterError], of_a_write: type[AdapterError]
) -> None:
    """docs/sources/solace.md, 1.3; what is busy is asked again, and what failed inside leaves a change in doubt."""
    assert type(error_of(refused(status, code), is_read=True)) is of_a_read
    assert type(error_of(refused(status, code), is_read=False)) is of_a_write


@pytest.mark.parametrize("text", ["Not found", "busy", "OK", "", "Unauthorized"])
def test_texts_say_nothing(text: str) -> None:
    """The same code with another sentence is the same error."""
    assert type(error_of(refused(400, 89, text), is_read=True)) is CommandRejected


@pytest.mark.parametrize(
    ("status", "of_a_read", "of_a_write"),
    [
        (401, AuthenticationFailed, AuthenticationFailed),
        (403, CommandRejected, CommandRejected),
        (404, UnreadableReply, UnreadableReply),
        (500, UnreadableReply, UnreadableReply),
        (502, Unreachable, UnreadableReply),
        (503, Unreachable, UnreadableReply),
        (504, Unreachable, UnreadableReply),
        (529, Unreachable, Unreachable),
        *((status, UnreadableReply, CommandRejected) for status in (301, 302, 307, 308)),
        *((status, UnreadableReply, UnreadableReply) for status in (300, 303, 304)),
        (200, UnreadableReply, UnreadableReply),
    ],
)
def test_an_answer_that_is_not_semp(
    status: int, of_a_read: type[AdapterError], of_a_write: type[AdapterError]
) -> None:
    """A gateway's page: what it passed on before it failed, nobody knows."""
    page = reply(status, b"<html>gateway</html>")
    assert type(error_of(page, is_read=True)) is of_a_read
    assert type(error_of(page, is_read=False)) is of_a_write


def test_a_redirect_is_named_without_its_secrets() -> None:
    """Law: a change that is redirected was not carried out here (RFC 9110, 15.4), and the sentence says where to; after a
    POST 301 and 302 may be the answer to it, so SEMP v1 is in doubt there, and 303 leaves every method in doubt."""
    headers = {"location": "https://ann:pw@sso.example:8443/login?token=abc#x"}
    page = Reply(302, headers, b"", 0.0, 0.0)
    error = error_of(page, is_read=False)
    assert "https://sso.example:8443/login (HTTP 302)" in str(error)
    assert not any(secret in str(error) for secret in ("ann:", "pw@", "abc"))
    assert isinstance(error, NotObeyed)
    assert "https://sso.example:8443/login" in str(error_of(page, is_read=True))
    for status, kind in ((302, PerhapsObeyed), (303, PerhapsObeyed), (307, NotObeyed), (308, NotObeyed)):
        assert isinstance(status_refusal(Reply(status, headers, b"", 0.0, 0.0), "ny1", is_read=False), kind)


@pytest.mark.parametrize("location", ["", "http://[bad", "http://h:port/"])
def test_a_redirect_to_nowhere(location: str) -> None:
    """Law: a Location that is missing or cannot be read is an unknown place, and no error of the program."""
    assert "an unknown place" in str(error_of(Reply(302, {"location": location}, b"", 0.0, 0.0), is_read=False))


def test_what_is_in_doubt_is_a_doubt() -> None:
    """A change whose answer cannot be read may have been obeyed."""
    for answer in (reply(200, b"{"), reply(200, b"[]"), refused(500, 2), refused(400, 229)):
        assert isinstance(error_of(answer, is_read=False), PerhapsObeyed)
    assert isinstance(error_of(refused(400, 11), is_read=False), NotObeyed)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": {}},
        {"meta": None},
        {"meta": {"responseCode": 400}},
        {"meta": {}},
        {"meta": {"responseCode": 200}, "data": "text"},
        {"meta": {"responseCode": 200}, "data": [1]},
        {"meta": {"responseCode": 200}, "data": {}, "collections": 1},
        {"meta": {"responseCode": 200, "paging": {}}, "data": []},
        {"meta": {"responseCode": 200, "paging": []}, "data": []},
        [],
        None,
    ],
)
def test_a_200_that_is_no_envelope_is_unreadable(body: object) -> None:
    """Success is a shape, not a status."""
    assert type(error_of(reply(200, body), is_read=True)) is UnreadableReply


def test_an_error_in_a_200_is_an_error() -> None:
    """Whatever the status says."""
    assert type(error_of(refused(200, 89), is_read=False)) is CommandRejected


def test_the_level_is_hinted_at() -> None:
    """Code 72 has one usual reason, and one cure."""
    assert "mesh-manager" in error_of(refused(403, 72), is_read=False).hint


def test_absent_is_not_false() -> None:
    """Three values; and a value of another type is not known either."""
    data = {"yes": True, "no": False, "one": 1, "text": "x", "empty": "", "many": 7, "minus": -1}
    assert [flag_in(data, name) for name in ("yes", "no", "one", "text", "gone")] == [True, False, None, None, None]
    assert [count_in(data, name) for name in ("many", "yes", "minus", "text", "gone")] == [7, None, None, None, None]
    assert [text_in(data, name) for name in ("text", "empty", "one", "gone")] == ["x", None, None, None]
    assert [size_of({"msgs": {"count": 3}, "x": 3}, name) for name in ("msgs", "x", "gone")] == [3, None, None]


def test_a_number_without_measure_is_not_known() -> None:
    """No counter of a broker is longer than 64 bits; a longer one fits into no number that is computed with."""
    told = {"last": 2**63 - 1, "first": 2**63, "many": 10**400}
    assert [count_in(told, name) for name in told] == [2**63 - 1, None, None]


@given(st.binary(max_size=200), st.sampled_from([200, 400, 401, 403, 404, 429, 500, 503, 529]), st.booleans())
def test_no_bytes_make_it_fall_over(body: bytes, status: int, is_read: bool) -> None:
    """Any answer is an envelope or one of our errors."""
    try:
        envelope_of(reply(status, body), "ny1", is_read=is_read)
    except AdapterError as error:
        assert str(error)
