"""``show message-vpn … replication``: the printed forms, their contradictions, and what must not be guessed."""

from __future__ import annotations

import pytest

from adapters.solace.parse_replication import parse_replication
from adapters.solace.reading_models import Bridge, ReplicationStatus
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, UnreadableReply
from orchestrator.model.readings import Role
from tests.solace.layouts import ACTIVE, STANDBY, fixture, replication


def test_the_seeds_source_a_header_of_8_letters_over_a_rule_of_9() -> None:
    """docs/sources/solace-procedure.md, controlled 1, New York: the letters' positions come from the header."""
    assert parse_replication(fixture("replication_source")) == {
        "Trading_VPN": ReplicationStatus(
            enabled=True,
            role=Role.ACTIVE,
            bridge=None,
            remote_bridge_up=True,
            queue_bound=True,
            sync_eligible=None,
            reject_when_ineligible=False,
            transaction_mode="async",
        )
    }


def test_the_seeds_target_without_its_command() -> None:
    """docs/sources/solace-procedure.md, controlled 1, New Jersey: R, Q and S mean nothing on the standby, and are
    unknown."""
    assert parse_replication(fixture("replication_target")) == {
        "Trading_VPN": ReplicationStatus(
            enabled=True,
            role=Role.STANDBY,
            bridge=Bridge.BOUND,
            reject_when_ineligible=False,
            transaction_mode="async",
        )
    }


def test_the_seeds_header_with_w_and_a_text_that_contradicts_its_row() -> None:
    """Recovery step 5: W has no legend and is passed over; S is said to be Y, the row shows -, and the row counts."""
    assert parse_replication(fixture("replication_with_w")) == {
        "Trading_VPN": ReplicationStatus(
            enabled=True,
            role=Role.ACTIVE,
            remote_bridge_up=True,
            queue_bound=True,
            sync_eligible=None,
            reject_when_ineligible=False,
            transaction_mode="async",
        )
    }


def test_many_rows_names_with_blanks_and_repeated_headers() -> None:
    """Long tables repeat header and rule; no VPN is called "--------"; names hold blanks and dashes."""
    second = replication({"#config-sync": "- - - - - - - -"})
    table = replication({"A B": ACTIVE, "x-y": STANDBY}) + second[second.index("Message VPN") :]
    assert parse_replication(table) == {
        "A B": parse_replication(replication({"v": ACTIVE}))["v"],
        "x-y": parse_replication(replication({"v": STANDBY}))["v"],
        "#config-sync": ReplicationStatus(),
    }


def test_a_replication_that_is_shut_down_still_shows_a_role() -> None:
    """A says whether C means anything; both are told as they are."""
    status = parse_replication(replication({"v": "D S D - - - N A"}))["v"]
    assert (status.enabled, status.role, status.bridge) == (False, Role.STANDBY, Bridge.DOWN)


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        ("U S Q - - - N A", "bridge", Bridge.UNBOUND),
        ("U A - D D N Y S", "queue_bound", False),
        ("U A - D D N Y S", "remote_bridge_up", False),
        ("U A - D D N Y S", "sync_eligible", False),
        ("U A - D D N Y S", "reject_when_ineligible", True),
        ("U A - D D N Y S", "transaction_mode", "sync"),
        ("U A - U U Y N A", "sync_eligible", True),
        ("U X - U U Y N A", "role", None),
        ("? A - U U Y N A", "enabled", None),
    ],
)
def test_every_letter_of_the_legend_has_its_meaning_and_no_other_has_one(
    flags: str, field: str, value: object
) -> None:
    """A value that the legend does not have is unknown."""
    assert getattr(parse_replication(replication({"v": flags}))["v"], field) == value


def test_a_column_that_is_not_there_is_unknown() -> None:
    """An older or newer version with other columns is still read."""
    status = parse_replication(replication({"v": "U A Z"}, letters="A C Z", columns=3))["v"]
    assert status == ReplicationStatus(enabled=True, role=Role.ACTIVE)


def test_a_table_without_rows_is_readable() -> None:
    """Nothing is there, and that was said."""
    assert parse_replication(replication({})) == {}


def test_a_long_prompt_behind_the_last_row_is_no_row() -> None:
    """Nor does a row come from a prompt that reaches under the flags."""
    prompt = "a-router-with-a-very-long-name-indeed(configure/message-vpn)#"
    assert set(parse_replication(replication({"v": ACTIVE}) + prompt)) == {"v"}


GOOD = replication({"Trading_VPN": ACTIVE, "Other": STANDBY})
LINES = GOOD.split("\n")
HEADER_AT = next(i for i, line in enumerate(LINES) if line.startswith("Message VPN"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "solace1> ",
        "\n".join(LINES[:HEADER_AT]),
        "\n".join(LINES[: HEADER_AT + 1]),
        "\n".join(LINES[:HEADER_AT] + LINES[HEADER_AT + 1 :]),
        "\n".join(LINES[: HEADER_AT + 1] + LINES[HEADER_AT + 2 :]),
        GOOD.replace("U S U - - - N A", "U S U - - -"),
        GOOD.replace("U S U - - - N A", ""),
        GOOD.replace("U S U - - - N A", "U S U - - - N A A"),
        GOOD.replace("U S U - - - N A", "U S U - - - NA"),
        GOOD.replace("Other" + " " * 28, "Other" + " " * 27 + "x"),
        GOOD.replace("U S U", "US U "),
        GOOD.replace("A C B R", " AC B R"),
        GOOD.replace("A C B R", "A C A R"),
        GOOD + f"{'Other':<32} {ACTIVE}\n",
        GOOD + "something else\n",
        GOOD.replace("-" * 32, "-" * 5),
    ],
)
def test_what_is_cut_short_or_out_of_place_is_unreadable_and_shown_whole(text: str) -> None:
    """Header or rule missing, a row cut or shifted, a name twice with two states: never a guess."""
    with pytest.raises(UnreadableReply) as caught:
        parse_replication(text, "ny1")
    assert caught.value.text == text
    assert caught.value.device == "ny1"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Invalid command input\n", CommandRejected),
        ("ERROR: something is wrong\n", CommandRejected),
        ("sh: command not found\n", CommandRejected),
        ("The system is BUSY, try later\n", CommandRejected),
        ("Message VPN 'Nope' does not exist\n", NoSuchService),
        ("ERROR: message-vpn Nope not found\n", NoSuchService),
        ("Queue '#X' does not exist in message-vpn Nope\n", CommandRejected),
        (GOOD + "Error: the rest is missing\n", CommandRejected),
    ],
)
def test_a_refusal_is_told_by_its_words(text: str, kind: type[AdapterError]) -> None:
    """The layout is not known, the words are; the device's own text is in the sentence."""
    with pytest.raises(kind, match=r"ny1"):
        parse_replication(text, "ny1")


def test_a_name_that_sounds_like_a_refusal_is_a_name() -> None:
    """Words of refusal count only in an answer that cannot be read."""
    assert set(parse_replication(replication({"busy": ACTIVE, "not found": STANDBY}))) == {"busy", "not found"}
