"""``show redundancy`` and ``show message-spool``: who serves, in both products' layouts."""

from __future__ import annotations

import pytest

from adapters.solace.dialect import SOLACE
from adapters.solace.parse_redundancy import (
    Activity,
    Redundancy,
    Spool,
    VirtualRouter,
    parse_message_spool,
    parse_redundancy,
)
from orchestrator.errors import CommandRejected, UnreadableReply
from tests.solace.layouts import BACKUP_SERVES, STANDALONE, STANDING_BY, fixture, message_spool, redundancy


def test_the_seeds_appliance_that_is_not_ready() -> None:
    """docs/sources/solace-procedure.md, uncontrolled 4.2: an older layout, indented, without redundancy status; its
    spool is not ready."""
    found = parse_redundancy(fixture("redundancy_not_ready"))
    assert found == Redundancy(
        configured=True,
        up=None,
        link_up=False,
        mate_router="solaceBackup",
        primary=VirtualRouter(Activity.LOCAL_INACTIVE, Spool.NOT_READY),
        backup=VirtualRouter(Activity.LOCAL_ACTIVE, Spool.DISABLED),
    )
    assert (found.serves(alone=True), found.serves(alone=False), found.spool_active) == (False, False, False)
    assert found.group_up is False


def test_the_captured_software_broker_with_its_pager_and_blank_cells() -> None:
    """Sample 10.25: labels repeat below, cells are blank, and the pager stands in the middle."""
    text = "\n".join(SOLACE.lines(fixture("redundancy_detail_paged")))
    found = parse_redundancy(text)
    assert found == Redundancy(
        configured=True,
        up=False,
        link_up=True,
        mate_router="dev1backup",
        primary=VirtualRouter(Activity.LOCAL_ACTIVE, Spool.ACTIVE),
        backup=VirtualRouter(Activity.SHUTDOWN, None),
    )
    assert (found.serves(alone=False), found.spool_active, found.group_up) == (True, True, False)


def test_the_seeds_spelling_with_a_blank_is_the_same_state() -> None:
    """The text writes "AD-Not Ready", the sample prints "AD-NotReady"."""
    one, other = (parse_redundancy(redundancy("Local Active", spool)) for spool in ("AD-NotReady", "AD-Not Ready"))
    assert one == other
    assert one.primary.spool is Spool.NOT_READY


@pytest.mark.parametrize(
    ("text", "alone", "serves"),
    [
        (redundancy(), False, True),
        (redundancy(), True, True),
        (BACKUP_SERVES, False, True),
        (STANDING_BY, False, False),
        (STANDALONE, True, True),
        (redundancy("Shutdown", "", configuration="Disabled", status=None), True, True),
        (redundancy("Shutdown", "", configuration="Disabled", status=None), False, False),
        (redundancy("Local Active", "AD-Activating"), False, False),
        (redundancy("Local Active", "AD-Disabled"), False, False),
        (redundancy("Local Active", ""), False, None),
        (redundancy("Local Active", spool_row=False), False, None),
        (redundancy("Local Inactive", "AD-Active"), False, False),
        (redundancy("Local Active", "AD-Active", configuration="Enabled-Released"), False, True),
        (redundancy("Local Active", "", backup=("Local Active", "AD-Active")), False, True),
    ],
)
def test_a_node_serves_that_is_locally_active_with_an_active_spool(
    text: str, alone: bool, serves: bool | None
) -> None:
    """In either column; alone, it serves without redundancy; a spool that is not told must be asked for."""
    assert parse_redundancy(text).serves(alone=alone) is serves


@pytest.mark.parametrize(
    ("text", "up"),
    [
        (redundancy(status="Up"), True),
        (redundancy(status="Down"), False),
        (redundancy(status=None), None),
        (redundancy(status=None, hello="Down"), False),
        (STANDALONE, None),
    ],
)
def test_the_pair_is_whole_down_or_unknown(text: str, up: bool | None) -> None:
    """Link health is not group health: links that are up prove nothing on an older appliance."""
    assert parse_redundancy(text).group_up is up


GOOD = redundancy()
RULE = "-" * 22 + "  " + "-" * 22


@pytest.mark.parametrize(
    "text",
    [
        "",
        "solace1>",
        fixture("login_banner"),
        fixture("redundancy_group"),
        GOOD[: GOOD.index("Primary")],
        GOOD[: GOOD.index(RULE)],
        GOOD.replace(RULE, ""),
        GOOD.replace(RULE, "-" * 46),
        GOOD.replace("Primary Virtual Router", "Primary"),
        GOOD.replace("Activity Status", "Activity Stat"),
        GOOD[: GOOD.index("Activity Status")],
        GOOD.replace("Configuration Status", "Config Status"),
        GOOD.replace(": Enabled", ": Perhaps"),
        GOOD.replace("Local Active", "Local Act"),
        GOOD.replace("AD-Active", "AD-Act"),
    ],
)
def test_what_is_cut_short_or_out_of_place_is_unreadable(text: str) -> None:
    """A missing header, rule, label or row, half a state: nobody serves by a guess."""
    with pytest.raises(UnreadableReply) as caught:
        parse_redundancy(text, "ny1")
    assert caught.value.text == text


def test_a_refusal_is_a_refusal() -> None:
    """An account may not be allowed to look."""
    with pytest.raises(CommandRejected):
        parse_redundancy("Error: access level is too low")
    with pytest.raises(CommandRejected):
        parse_message_spool("Invalid command input")


@pytest.mark.parametrize("state", list(Spool))
def test_the_message_spools_operational_status(state: Spool) -> None:
    """docs/sources/solace.md, 3.6: the label stands in front, and every state is known."""
    assert parse_message_spool(message_spool(state)) is state


@pytest.mark.parametrize("text", ["", message_spool(""), message_spool("AD-Acti"), "Config Status: Enabled\n"])
def test_a_spool_without_a_state_is_unreadable(text: str) -> None:
    """No label or no known state: not active by a guess."""
    with pytest.raises(UnreadableReply):
        parse_message_spool(text)
