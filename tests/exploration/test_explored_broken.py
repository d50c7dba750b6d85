"""Runbooks that are broken on purpose: each gives the counter-example that it should, and bounds are told."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import pytest

from orchestrator.documents.loader import load_runbook
from orchestrator.family.contract import ActionSpec
from proof.exploration.rules import RULES
from proof.exploration.search import explore
from proof.exploration.story import story
from tests.exploration.conftest import Walk, breaks
from tests.exploration.small import (
    ACTIVATE,
    BARE,
    CLOSE,
    DEMOTE,
    DRAIN,
    GUARD,
    ITEMS,
    RECONFIRM,
    REQUIRED,
    SMALL,
    STALL,
    UNDO,
)


def test_the_small_runbook_is_clean(walk: Walk) -> None:
    """What the variants below break is whole before: nothing is found."""
    found = walk(SMALL)
    assert [story(one) for one in found.found] == []
    assert set(found.ends) == {"refused", "done", "reverted", "escalated", "needs-operator", "stuck"}


BARE_ACTIVATE = ACTIVATE.replace(RECONFIRM, "")
ISOLATED = Path(str(files("runbooks") / "solace" / "uncontrolled-isolated.yaml")).read_text("utf-8")
REPAIR = Path(str(files("runbooks") / "solace" / "repair-standby.yaml")).read_text("utf-8")
AFTERWARDS = REPAIR[REPAIR.index("    reconfirm:") : REPAIR.index("    do: {on: target")]
VARIANTS = [
    ("a repair that does not drain", REPAIR[: REPAIR.index("  - id: drain")] + BARE_ACTIVATE, "messages-left"),
    (
        "a repair that looks at no suspension",
        REPAIR[: REPAIR.index("  - id: not-suspended")]
        + REPAIR[REPAIR.index("  - id: drain") :].replace(AFTERWARDS, ""),
        "messages-left",
    ),
    (
        "a repair that reads no role before it activates",
        REPAIR[: REPAIR.rindex("    require:")] + REPAIR[REPAIR.index("    reconfirm:") :],
        "two-active",
    ),
    ("what was drained is not read again", BARE, "messages-left"),
    ("a door of the whole site without a claim", ISOLATED.replace("    claim: hold\n", ""), "opened-behind-another"),
    (
        "activate before demote",
        BARE.replace(BARE_ACTIVATE, "").replace(DEMOTE, BARE_ACTIVATE.replace(REQUIRED, "") + DEMOTE),
        "promoted-unconfirmed",
    ),
    ("the source is not read again", BARE.replace(REQUIRED, ""), "two-active"),
    (
        "no expect, and nothing else reads the role",
        BARE.replace(REQUIRED, "").replace(
            "    expect: [{on: source, reading: replication, where: {role: standby}}]\n", ""
        ),
        "promoted-unconfirmed",
    ),
    ("the activation is not read back", BARE[: BARE.rindex("    expect:")], "not-done"),
    ("no undo", BARE.replace(UNDO, ""), "not-reverted"),
    (
        "an undo that looks at nothing first",
        BARE.replace(UNDO, "".join(UNDO.splitlines(True)[:1] + UNDO.splitlines(True)[2:])),
        "promoted-unconfirmed",
    ),
    ("a drain without a guard", BARE.replace(GUARD, ""), "promoted-undrained"),
    ("no drain", BARE.replace(DRAIN, ""), "promoted-undrained"),
    ("drain before demote", BARE.replace(DRAIN, "").replace(DEMOTE, DRAIN + DEMOTE), "promoted-undrained"),
    (
        "suspension is not looked for",
        BARE[: BARE.index("  - id: not-s")] + DEMOTE + DRAIN + BARE_ACTIVATE,
        "messages-left",
    ),
    ("unattended it escalates", BARE.replace("unattended: revert", "unattended: escalate"), "escalated-unattended"),
    (
        "a gate without a way out",
        BARE.replace("choices: [wait, stop], unattended: stop", "choices: [retry], unattended: retry"),
        "dead-end",
    ),
    ("a wait without an end", BARE.replace(STALL, ""), "dead-end"),
    (
        "unattended it retries",
        BARE.replace("choices: [wait, stop], unattended: stop", "choices: [retry, stop], unattended: retry"),
        "waits-unattended",
    ),
    ("transactions of an active source", BARE.replace(BARE_ACTIVATE, ITEMS + BARE_ACTIVATE), "transaction-elsewhere"),
    (
        "transactions are completed by nobody's decision",
        BARE + "\n".join(line for line in ITEMS.splitlines() if "decide:" not in line) + "\n",
        "undecided-transaction",
    ),
    (
        "a change that must not be repeated is not read back",
        BARE.replace(BARE_ACTIVATE, CLOSE + BARE_ACTIVATE),
        "sent-twice",
    ),
]


def test_a_wait_that_nobody_ends_has_an_end(walk: Walk) -> None:
    """A gate that only waits, with nobody there: after ``wait_at_most`` the lane stops, and nothing is found."""
    text = SMALL.replace("choices: [wait, stop], unattended: stop", "choices: [wait], unattended: wait")
    assert text != SMALL
    assert not walk(text, 0).found


@pytest.mark.parametrize(("text", "rule"), [one[1:] for one in VARIANTS], ids=[one[0] for one in VARIANTS])
def test_a_broken_runbook_gives_its_counterexample(walk: Walk, text: str, rule: str) -> None:
    """One part of a runbook that keeps a promise is taken out: the walk finds that promise broken, and says how."""
    assert text != SMALL
    found = breaks(walk, text, rule)
    lines = story(found[rule])
    assert lines[0].startswith("at first: ")
    assert lines[-1] == f"then {RULES[rule]}"


def test_a_dead_end_needs_no_disturbance(walk: Walk) -> None:
    """At the last level, too, states whose disturbances were not followed are judged by what else leads out of them."""
    assert "dead-end" in {one.rule for one in walk(SMALL.replace(STALL, ""), 0).found}


def test_the_first_counterexample_is_the_shortest(walk: Walk) -> None:
    """No mishap at all is needed to show what the missing undo does, and the story says each step of the way."""
    (found,) = walk(SMALL.replace(UNDO, ""), examples_max=1).found
    depth = "source replication_queue (messages 100, rejects on discard)"
    bridge = "target replication (role standby, bridge down)"
    assert story(found) == [
        "at first: the sites are cut off from each other",
        f"read {depth}: step not-suspended is done, step demote begins",
        f"read {bridge}: set_role standby at the source is to be sent",
        "set_role at the source: obeyed",
        "read source replication (role standby, bridge down): step demote is done, step drain begins",
        f"read {depth}; {bridge}: the guard is broken",
        "60s pass",
        f"read {depth}; {bridge}: gate lost opens (revert / escalate; unattended revert)",
        "at lost an operator chooses revert: it rolls back, gate left-changed opens (accept / stop; unattended stop)",
        "at left-changed an operator chooses accept: it ends reverted",
        "then the lane ends reverted, and a change of it is still there",
    ]


def test_two_walks_say_the_same(walk: Walk) -> None:
    """Nothing depends on chance: the same counts, the same counter-examples."""
    text = SMALL.replace(REQUIRED, "")
    assert walk(text) == walk(text)


def test_what_the_model_does_not_know_is_not_explored(walk: Walk) -> None:
    """A word of another family is named, nothing is walked, and nothing is called clean."""
    text = SMALL.replace(
        "reading: replication_queue, where: {drained: true}", "reading: backlog, where: {drained: true}"
    )
    text = text.replace("action: set_role, role: standby", "action: set_rank, rank: last").replace(
        "role: active, bridge", ""
    )
    found = walk(text.replace("where: {bridge: bound}", "where: {transaction_mode: async}"))
    assert found.unexplored == [
        "reading backlog",
        "transaction_mode of reading replication",
        "action set_rank",
    ]
    assert (found.states, found.is_exhausted) == (0, False)


def test_a_bound_that_was_reached_is_told(walk: Walk, actions: Mapping[str, ActionSpec]) -> None:
    """A walk that stopped early never says that it is exhausted."""
    assert not walk(SMALL, states_max=50).is_exhausted
    assert not walk(SMALL, 0).is_exhausted
    check = load_runbook("solace/uncontrolled").model_copy(
        update={"steps": load_runbook("solace/uncontrolled").steps[1:2]}
    )
    assert explore(check, actions, states_max=10_000, disturbances_max=100).is_exhausted
