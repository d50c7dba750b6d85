"""SEMP v1: requests in the order of the schema, and HTTP 200s that are failures."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import pytest

from adapters.http.exchange import Reply
from adapters.solace.parse_redundancy import Activity, Spool
from adapters.solace.semp.v1 import (
    SHOW_MESSAGE_SPOOL,
    SHOW_REDUNDANCY,
    SHOW_REPLICATION,
    mate_in,
    oldest_in,
    redundancy_in,
    reply_root,
    show_body,
    show_oldest,
    spool_in,
)
from orchestrator.errors import AuthenticationFailed, CommandRejected, Unreachable, UnreadableReply
from tests.semp import v1_replies as v1


def root(text: str, status: int = 200) -> Element:
    return reply_root(Reply(status, {}, text.encode(), 0.0, 0.0), "ny1")


def test_the_requests() -> None:
    """docs/sources/solace.md, 2.2, element by element."""
    assert show_body(SHOW_REDUNDANCY).decode() == v1.SHOW_REDUNDANCY
    assert show_body(SHOW_MESSAGE_SPOOL).decode() == v1.SHOW_SPOOL
    assert show_body(SHOW_REPLICATION).decode() == v1.SHOW_REPLICATION
    assert show_body(show_oldest("q<1>", "A&B")).decode() == (
        "<rpc><show><queue><name>q&lt;1&gt;</name><vpn-name>A&amp;B</vpn-name>"
        "<messages /><oldest /><detail /><count /><num-elements>1</num-elements></queue></show></rpc>"
    )


@pytest.mark.parametrize(
    "text",
    [
        v1.failed("Queue not found"),
        "<rpc-reply><parse-error>invalid message: schema validation error</parse-error></rpc-reply>",
        "<rpc-reply><permission-error>no</permission-error></rpc-reply>",
        "<rpc-reply><limit-error>response too big</limit-error></rpc-reply>",
        v1.reply("<redundancy/>", '<execute-result code="fail" reason="x"/>'),
    ],
)
def test_a_200_that_failed_is_a_refusal(text: str) -> None:
    """The status says nothing (docs/sources/solace.md, 2.1)."""
    with pytest.raises(CommandRejected, match="ny1 refused"):
        root(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "<html/>",
        "<rpc-reply/>",
        v1.reply("<redundancy/>", ""),
        v1.reply("<redundancy/>", '<execute-result code="OK!"/>'),
        "<rpc-reply><execute-result code='ok'/></rpc-reply>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><rpc-reply>&b;</rpc-reply>",
    ],
)
def test_what_is_no_success_is_unreadable(text: str) -> None:
    """Only code ok is success, and a show without what was shown is none."""
    with pytest.raises(UnreadableReply) as caught:
        root(text)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, AuthenticationFailed),
        (403, CommandRejected),
        (404, UnreadableReply),
        (503, Unreachable),
        (529, Unreachable),
    ],
)
def test_a_status_that_does_say_something(status: int, error: type[Exception]) -> None:
    """HTTP's own refusals come before SEMP looks at anything."""
    with pytest.raises(error):
        root("", status)


@pytest.mark.parametrize(
    ("text", "alone", "serves"),
    [
        (v1.STANDALONE, True, True),
        (v1.SERVING, False, None),
        (v1.BACKUP_SERVES, False, None),
        (v1.RELEASED, False, None),
        (v1.STANDING_BY, False, False),
        (v1.PRIMARY_STANDS_BY, False, False),
        (v1.redundancy("Local Inactive"), False, False),
    ],
)
def test_who_serves(text: str, alone: bool, serves: bool | None) -> None:
    """Local Active, in either column; whether its spool is active too, this does not tell."""
    assert redundancy_in(root(text), "ny1").serves(alone=alone) is serves


def test_the_group_is_up_or_not() -> None:
    """A released member has both links up and the group down: the one does not tell the other."""
    healthy, released, single = (redundancy_in(root(text), "a") for text in (v1.SERVING, v1.RELEASED, v1.STANDALONE))
    assert (healthy.group_up, released.group_up, single.group_up) == (True, False, None)
    assert (released.link_up, single.link_up) == (True, False)
    assert (healthy.mate_router, healthy.primary.activity) == ("mate", Activity.LOCAL_ACTIVE)


@pytest.mark.parametrize(
    "text",
    [
        v1.reply("<redundancy/>"),
        v1.reply("<queue/>"),
        v1.redundancy(config="Whatever"),
        v1.redundancy("Sideways"),
        v1.redundancy("", ""),
    ],
)
def test_redundancy_that_makes_no_sense(text: str) -> None:
    """It is not taken for a node that does not serve."""
    with pytest.raises(UnreadableReply):
        redundancy_in(root(text), "ny1")


@pytest.mark.parametrize("state", list(Spool))
def test_the_state_of_the_spool(state: Spool) -> None:
    """Blanks and case do not matter (docs/sources/solace.md, 3.5)."""
    assert spool_in(root(v1.spool(state)), "a") is state
    assert spool_in(root(v1.spool(state.replace("-", "- ").lower())), "a") is state


def test_a_spool_that_tells_nothing() -> None:
    """Absent is unreadable, not inactive."""
    for text in (v1.reply("<message-spool/>"), v1.spool("Fine")):
        with pytest.raises(UnreadableReply):
            spool_in(root(text), "a")


@pytest.mark.parametrize(
    ("inside", "mate"),
    [
        ("<mate><router-name>nj1</router-name><connect-via/></mate>", "nj1"),
        ("<mate-list><mate><router-name>nj1</router-name></mate></mate-list>", "nj1"),
        ("<mate><router-name></router-name></mate>", None),
        (
            "<mate-list><mate><router-name>a</router-name></mate><mate><router-name>b</router-name></mate></mate-list>",
            None,
        ),
        ("<config-sync><bridge/></config-sync>", None),
    ],
)
def test_the_replication_mate(inside: str, mate: str | None) -> None:
    """Appliances and software lay it out differently; two different names are none."""
    assert mate_in(root(v1.reply(f"<replication>{inside}</replication>"))) == mate


def _messages(*messages: str, queue: str = "orders") -> str:
    told = "".join(f"<spooled-message>{message}</spooled-message>" for message in messages)
    return v1.reply(
        f"<queue><queues><queue><name>{queue}</name><spooled-messages>{told}</spooled-messages></queue></queues></queue>"
    )


@pytest.mark.parametrize(
    ("text", "oldest"),
    [
        (_messages("<date-seconds>1790000000</date-seconds>"), 1790000000.0),
        (_messages("<date-seconds>20</date-seconds>", "<date-seconds>10</date-seconds>"), 10.0),
        (_messages("<date-seconds>20</date-seconds>", "<date>?</date>"), None),
        (_messages("<date-seconds>soon</date-seconds>"), None),
        (_messages(), None),
        (_messages("<date-seconds>5</date-seconds>", queue="other"), None),
        (v1.reply("<queue><queues/></queue>"), None),
    ],
)
def test_the_oldest_message(text: str, oldest: float | None) -> None:
    """Of the queue that was asked for, and only when every message tells its time."""
    assert oldest_in(root(text), "orders") == oldest
