"""Replies that real brokers gave to SEMP v1, when they are at hand: each is read for what it says."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from adapters.http.exchange import Reply
from adapters.http.xmldoc import text_of
from adapters.solace.parse_redundancy import Activity, Spool
from adapters.solace.semp.v1 import redundancy_in, reply_root, spool_in
from orchestrator.errors import UnreadableReply

FOLDER = Path(__file__).parents[3] / "shared" / "samples" / "sempv1"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the samples are not beside the project")


def sample(name: str) -> Element:
    body = (FOLDER / f"mcp_{name}.xml").read_bytes()
    return reply_root(Reply(200, {}, body, 0.0, 0.0), "sample")


@pytest.mark.parametrize(
    ("name", "configured", "up", "serves", "mate"),
    [
        ("show_redundancy_standalone", False, None, True, None),
        ("show_redundancy_active_standby", True, True, None, "testha01backup"),
        ("show_redundancy_backup_active", True, True, None, "testha01primary"),
        ("show_redundancy_released", True, False, None, "testha01primary"),
    ],
)
def test_redundancy(name: str, configured: bool, up: bool | None, serves: bool | None, mate: str | None) -> None:
    """Local Active in either column; whether the group is whole is another matter."""
    found = redundancy_in(sample(name), "sample")
    assert (found.configured, found.group_up, found.mate_router) == (configured, up, mate)
    assert found.serves(alone=not configured) is serves
    assert Activity.LOCAL_ACTIVE in (found.primary.activity, found.backup.activity)


def test_message_spool() -> None:
    """Its operational status, among much else."""
    assert spool_in(sample("show_message_spool_detail"), "sample") is Spool.ACTIVE


@pytest.mark.parametrize("name", ["show_version", "show_version_appliance", "show_system", "show_memory"])
def test_other_replies_are_replies(name: str) -> None:
    """They succeeded; what they show is not what redundancy is read from."""
    show = sample(name)
    assert len(show) == 1
    with pytest.raises(UnreadableReply):
        redundancy_in(show, "sample")


def test_a_fragment_is_no_reply() -> None:
    """The sample of a queue was cut out of its reply: without a result it is no success."""
    with pytest.raises(UnreadableReply):
        sample("show_queue_detail")


def test_the_version_is_told() -> None:
    """Where a plan for it exists."""
    assert "10.25" in (text_of(sample("show_version"), "version/description") or "")
