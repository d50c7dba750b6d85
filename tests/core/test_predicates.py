"""A reading that is true or false is a predicate in a text."""

from __future__ import annotations

import pytest

from orchestrator.model.reading import yes_or_no


@pytest.mark.parametrize(
    ("name", "true", "false"),
    [
        ("enabled", "enabled", "not enabled"),
        ("serves", "serves", "does not serve"),
        ("has_slot", "has slot", "does not have slot"),
        ("rejects_on_discard", "rejects on discard", "does not reject on discard"),
        ("remote_bridge_up", "remote bridge up", "remote bridge not up"),
        ("caught_up", "caught up", "not caught up"),
        ("can_rewind", "can rewind", "cannot rewind"),
        ("role_known", "reports its role", "does not report its role"),
        # The grammar of these is not known.
        ("has_no_slot", "has no slot yes", "has no slot no"),
        ("one_replica", "one replica yes", "one replica no"),
        ("sessions_ended", "sessions ended yes", "sessions ended no"),
        ("there", "there yes", "there no"),
    ],
)
def test_a_predicate(name: str, true: str, false: str) -> None:
    """Law: no value is lost, and a name whose grammar is not known keeps yes or no."""
    assert (yes_or_no(name, True), yes_or_no(name, False)) == (true, false)
