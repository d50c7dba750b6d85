"""Commands of the operator's own are steps of any runbook, and are explored with it."""

from __future__ import annotations

import pytest

from proof.exploration.story import story
from tests.exploration.conftest import Walk
from tests.exploration.small import ACTIVATE, DEMOTE, SMALL
from tests.exploration.small_amps import BARE, FENCE, MOVE, step, without

TELL = """  - id: tell
    title: t
    do: {on: source, action: ensure, command: tell-desk}
"""
SHUT = """  - id: close
    title: t
    do: {on: source, action: run, command: stop-listeners}
    expect: [{on: source, reading: transports, where: {closed: true}}]
    undo:
      require: [{on: target, reading: transports, where: {closed: true}}]
      do: {on: source, action: run, command: start-listeners}
      expect: [{on: source, reading: transports, where: {open: true}}]
"""


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (SMALL.replace(DEMOTE, TELL + DEMOTE), "solace"),
        (MOVE.replace(step(MOVE, "close"), TELL + step(MOVE, "close")), "amps"),
        (MOVE.replace(step(MOVE, "close"), SHUT), "amps"),
        (MOVE.replace(step(MOVE, "clients-gone"), FENCE + step(MOVE, "clients-gone")), "amps"),
    ],
    ids=["told-solace", "told-amps", "done-by-command", "fence-of-the-plan"],
)
def test_a_sound_runbook_with_commands_is_clean(walk: Walk, text: str, family: str) -> None:
    """A command is done, refused, in doubt either way, or never leaves; and what it changed is taken back in its turn."""
    found = walk(text)
    assert [story(one) for one in found.found] == []
    assert (found.unexplored, found.family) == ([], family)
    assert {"refused", "done", "reverted", "needs-operator", "stuck"} <= set(found.ends)


def test_what_a_command_does_is_what_its_proof_shows(walk: Walk) -> None:
    """A command that opens the target is judged like the action that would: here nobody waited for the link."""
    opened = step(BARE, "open").replace(
        "action: set_client_transports, state: enabled", "action: run, command: start"
    )
    text = without(BARE, step(BARE, "caught-up")).replace(step(BARE, "open"), opened)
    assert "promoted-undrained" in {one.rule for one in walk(text).found}


def test_a_command_without_a_proof_may_be_run_twice(walk: Walk) -> None:
    """A command that must not be repeated, and that no reading proves: a doubt leads to another try."""
    once = TELL.replace("action: ensure", "action: run")
    found = {one.rule: one for one in walk(SMALL.replace(ACTIVATE, once + ACTIVATE)).found}
    assert "sent-twice" in found
    assert "run tell-desk at the source is to be sent" in story(found["sent-twice"])[-2]


def test_another_command_does_not_make_the_first_a_new_one(walk: Walk) -> None:
    """Each command stands for itself: that another one ran since is no reason to run the first again."""
    other = TELL.replace("id: tell", "id: other").replace("tell-desk", "tell-others")
    once = TELL.replace("action: ensure", "action: run")
    last = other.replace("id: other", "id: last").replace("tell-others", "tell-desk").replace("ensure", "run")
    text = SMALL.replace(ACTIVATE, once + other.replace("ensure", "run") + last + ACTIVATE)
    assert "sent-twice" in {one.rule for one in walk(text, 0).found}


def test_a_command_whose_effect_no_model_knows_is_not_explored(walk: Walk) -> None:
    """No action makes an instance wait for a bootstrap: what such a command does is not known, and nothing is walked."""
    text = MOVE.replace(
        step(MOVE, "clients-gone"),
        SHUT.replace("id: close", "id: kick")
        .split("    undo:")[0]
        .replace("transports, where: {closed: true}", "bootstrap, where: {waiting: true}"),
    )
    found = walk(text)
    assert found.unexplored == ["what command stop-listeners does, which bootstrap is to show"]
    assert found.states == 0
