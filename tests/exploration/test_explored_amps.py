"""Runbooks for AMPS that are broken on purpose: each gives the counter-example that it should."""

from __future__ import annotations

import pytest

from proof.exploration.rules import RULES
from proof.exploration.story import story
from tests.exploration.conftest import Walk, breaks
from tests.exploration.small_amps import BARE, LOSS, MOVE, PROXY, RETURN, step, without


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (MOVE, {"refused", "done", "reverted", "escalated", "needs-operator", "stuck"}),
        (RETURN, {"refused", "done", "needs-operator"}),
        (LOSS, {"refused", "done", "needs-operator"}),
        (PROXY, {"refused", "done", "reverted", "needs-operator", "stuck"}),
    ],
    ids=["move", "return", "loss", "proxy"],
)
def test_the_small_runbooks_are_clean(walk: Walk, text: str, ends: set[str]) -> None:
    """What the variants below break is whole before: nothing is found."""
    found = walk(text)
    assert [story(one) for one in found.found] == []
    assert (set(found.ends), found.family) == (ends, "amps")


UNDO = step(BARE, "close")[step(BARE, "close").index("    undo:") :]
UNDO_REQUIRED = "      require: [{on: target, reading: transports, where: {closed: true}}]\n"
OPEN_REQUIRED = step(BARE, "open")[step(BARE, "open").index("    require:") : step(BARE, "open").index("    do:")]
GUARD = "".join(line for line in step(BARE, "caught-up").splitlines(keepends=True) if "guard" in line)
STALL = "".join(step(BARE, "queues").splitlines(keepends=True)[3:])
SILENT = "    require: [{on: source, reading: reachability, where: {answers: false}}]\n"
LINKS_REQUIRED = step(RETURN, "open")[
    step(RETURN, "open").index("    require:") : step(RETURN, "open").index("    do:")
]
UNSEEN = (step(BARE, "close"), step(BARE, "clients-gone"), step(BARE, "caught-up"), OPEN_REQUIRED)
VARIANTS = [
    ("that everything has crossed is not read again", BARE, "messages-left"),
    ("the source is not looked at before the target opens", without(BARE, OPEN_REQUIRED), "two-active"),
    ("nobody is closed out", without(BARE, *UNSEEN), "promoted-unconfirmed"),
    (
        "clients may linger",
        without(BARE, step(BARE, "clients-gone"), GUARD, OPEN_REQUIRED),
        "promoted-undrained",
    ),
    ("it is not waited for the link", without(BARE, step(BARE, "caught-up")), "promoted-undrained"),
    ("queue messages are left", without(BARE, step(BARE, "queues")), "queues-left"),
    ("no undo", without(BARE, UNDO), "not-reverted"),
    ("an undo that does not look at the target", without(BARE, UNDO_REQUIRED), "two-active"),
    ("the opening is not read back", without(BARE, step(BARE, "open").splitlines()[-1]), "not-done"),
    (
        "unattended it escalates",
        BARE.replace("escalate], unattended: revert", "escalate], unattended: escalate"),
        "escalated-unattended",
    ),
    ("a wait without an end", without(BARE, STALL), "dead-end"),
    (
        "unattended it retries",
        BARE.replace("[wait, stop], unattended: stop", "[retry, stop], unattended: retry"),
        "waits-unattended",
    ),
    (
        "clients come before the recovery is over",
        RETURN.replace("{connected: true, sync: true}", "{sync: true}"),
        "opened-unrecovered",
    ),
    (
        "the link stays downgraded",
        without(RETURN, step(RETURN, "upgrade"), step(RETURN, "in-step"), LINKS_REQUIRED),
        "promoted-unconfirmed",
    ),
    ("clients come before the instance has everything", without(RETURN, step(RETURN, "in-step")), "messages-left"),
    (
        "clients are sent away from what only this instance has",
        without(RETURN, "    require: [{on: source, reading: links, where: {downgraded: false}}]\n"),
        "messages-left",
    ),
    (
        "clients are sent away from what was acknowledged before a restart",
        without(RETURN, step(RETURN, "own-messages")),
        "messages-left",
    ),
    (
        "nobody opens the target",
        without(BARE, *(step(BARE, one) for one in ("open", "queues", "serves"))),
        "nobody-serves",
    ),
    ("the publishers wait for ever", without(LOSS, step(LOSS, "downgrade"), step(LOSS, "serves")), "left-waiting"),
    ("nobody looks whether the target still serves", without(BARE, step(BARE, "serves")), "nobody-serves"),
    ("nobody looks whether its link is still downgraded", without(LOSS, step(LOSS, "serves")), "left-waiting"),
    (
        "the source is not asked again",
        LOSS.replace(step(LOSS, "open"), without(step(LOSS, "open"), SILENT)),
        "two-active",
    ),
    (
        "proxied transfer of a source that is there",
        without(PROXY, SILENT),
        "delivered-twice",
    ),
    ("proxied transfer stays on", without(RETURN, step(RETURN, "proxied-off")), "delivered-twice"),
    ("nobody approves proxied transfer", without(PROXY, step(PROXY, "approved")), "undecided-proxy"),
]


@pytest.mark.parametrize(("text", "rule"), [one[1:] for one in VARIANTS], ids=[one[0] for one in VARIANTS])
def test_a_broken_runbook_gives_its_counterexample(walk: Walk, text: str, rule: str) -> None:
    """One part of a runbook that keeps a promise is taken out: the walk finds that promise broken, and says how."""
    found = breaks(walk, text, rule)
    lines = story(found[rule])
    assert lines[0].startswith("at first: ")
    assert lines[-1] == f"then {RULES[rule]}"


def test_no_gate_offers_a_way_back_where_there_is_none(walk: Walk) -> None:
    """A gate behind the point of no return, or behind an escalation, that offers to turn back: lint refuses such a
    runbook, and the decisions do not break off over it."""
    text = MOVE.replace("choices: [wait, stop], unattended: stop", "choices: [wait, revert], unattended: revert")
    assert text != MOVE
    assert [story(one) for one in walk(text).found] == []


ATTESTED = """
runbook: tests/attested
summary: Somebody attests something of an instance that came back.
steps:
  - id: started
    title: t
    until: [{on: source, reading: reachability, where: {answers: true}}]
    timeout: 1m
  - id: prepared
    title: t
    ask: {gate: prepared, text: t, choices: [attest, stop], unattended: stop}
  - id: serves
    title: t
    require: [{on: target, reading: transports, where: {open: true}}]
"""


def test_not_every_attestation_is_of_a_loss(walk: Walk) -> None:
    """Publishers that wait for the source are left behind by whoever answered for its being dead, and by nobody who
    attested something of one that answers, and that died later."""
    assert [story(one) for one in walk(ATTESTED).found] == []
    dark = ATTESTED.replace("answers: true", "answers: false")
    assert "left-waiting" in {one.rule for one in walk(dark, 0).found}


def test_the_story_is_told_in_the_words_of_the_family(walk: Walk) -> None:
    """Transports, clients and links as they were read, and what the instances did by themselves."""
    text = without(MOVE, step(MOVE, "queues"), step(MOVE, "serves"))
    (found,) = (one for one in walk(text, 0).found if one.rule == "queues-left")
    assert story(found)[1:] == [
        "read source transports (open, not closed); target transports (not open, closed); target clients (count "
        "0); target links (connected, sync, configured sync yes, behind s 0.0, keeping up); source queues "
        "(owned 10, not proxied); target queues (owned 0, not proxied): step paired is done, step close begins",
        "read target transports (not open, closed): set_client_transports disabled at the source is to be sent",
        "set_client_transports at the source: obeyed",
        "read source transports (not open, closed): step close is done, step clients-gone begins",
        "the last client of the source is gone",
        "read source clients (count 0): step clients-gone is done, step caught-up begins",
        "the mate of the source catches up",
        "read source links (connected, sync, configured sync yes, behind s 0.0, keeping up); source clients "
        "(count 0): step caught-up is done, step open begins",
        "read source transports (not open, closed); source clients (count 0); source links (connected, sync, "
        "configured sync yes, behind s 0.0, keeping up): set_client_transports enabled at the target is to be sent",
        "set_client_transports at the target: obeyed: the point of no return is passed",
        "read target transports (open, not closed): step open is done, it ends done",
        f"then {RULES['queues-left']}",
    ]


def test_what_the_model_does_not_know_is_not_explored(walk: Walk) -> None:
    """A field that the model does not tell is named, and nothing is walked."""
    found = walk(MOVE.replace("where: {owned: 0}", "where: {depth: 0}"))
    assert (found.unexplored, found.states) == (["depth of reading queues"], 0)
