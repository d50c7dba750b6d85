"""Mutants of idempotency keys: a key stands for less than was asked, begins a second run, or is free again."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

import orchestrator.journal.database.statements as sql
from orchestrator.cli.runs import idempotency as shown
from orchestrator.journal.database.schema import IDEMPOTENCY
from orchestrator.journal.idempotency_keys import _hash, differences, parts, use_up
from orchestrator.journal.lease import create_run
from orchestrator.operations.runs import idempotency as once
from tests.proof.mutants.editing import edit
from tests.proof.mutants.parts.catching import PartMutant

_KEYS = "tests/journal/test_keys.py"
_BEGUN = "tests/journal/test_idempotency.py"
_COMMANDS = "tests/hooks/test_hook_cli.py"

_DIRECTION = '[plain.pop("pair"), plain.pop("source"), plain.pop("target")]'
_SERVICES = 'services if "waves" in plain else sorted(services)'
_USE_UP = "use_up(journal, commit, key, run, asked)"
_WRITING = 'with mapped_errors("be written"), journal.database.writing() as commit:'
_CLAIM = "        _claim(commit, run, keys, now)\n"
_IF_KEY = f"        if key is not None:\n            {_USE_UP}\n"
_APART = f"    if key is not None:\n        {_WRITING}\n            {_USE_UP}\n"
_KEPT = 'commit.run(sql.ADD_KEY, [{"key": key, "run": run, "request": asked}])'
_OVER = "if used is None or not is_led(journal.row(used.run), __import__('time').time()):"
_PLAIN = "recordable(plan).model_dump_json()"


def _of_any_key(_: Any) -> Any:
    return sa.select(IDEMPOTENCY.c.run, IDEMPOTENCY.c.request)


KEYS = (
    PartMutant(
        "key-nothing-compared",
        "a used key gives the first run's result, whatever is asked with it",
        (edit(once._refuse_another_request, ("differences(asked, used, first)", "[]")),),
        caught_by=f"{_COMMANDS}::test_a_key_for_something_else_is_refused[more0]",
    ),
    PartMutant(
        "key-of-another-caller",
        "a key finds the run of any other key",
        ((sql, "RUN_OF_KEY", _of_any_key),),
        caught_by=f"{_BEGUN}::test_the_key_is_asked_before_the_claims[sqlite]",
    ),
    PartMutant(
        "key-not-kept",
        "a key is never noted, so that each call begins a run",
        (edit(use_up, (_KEPT, "pass")),),
        caught_by=f"{_BEGUN}::test_a_key_begins_one_run[sqlite]",
    ),
    PartMutant(
        "key-without-its-run",
        "a key is used up though its run could not begin",
        (edit(create_run, (f"    {_WRITING}\n{_IF_KEY}", f"{_APART}    {_WRITING}\n")),),
        caught_by=f"{_BEGUN}::test_a_run_that_did_not_begin_uses_up_no_key[sqlite]",
    ),
    PartMutant(
        "key-after-the-claims",
        "a repeated call hears that its service is taken, and not of its own run",
        (edit(create_run, (f"{_IF_KEY}{_CLAIM}", f"{_CLAIM}{_IF_KEY}")),),
        caught_by=f"{_BEGUN}::test_the_key_is_asked_before_the_claims[sqlite]",
    ),
    PartMutant(
        "key-request-not-kept",
        "a key is noted without what was asked with it",
        (edit(use_up, ('"request": asked', '"request": None')),),
        caught_by=f"{_KEYS}::test_a_restore_asked_again",
    ),
    PartMutant(
        "key-free-after-the-run",
        "a key is free again once its run has ended",
        (edit(once.first_run, ("if used is None:", _OVER)),),
        caught_by=f"{_COMMANDS}::test_the_same_key_gives_the_first_result",
    ),
    PartMutant(
        "key-options-not-asked",
        "options that no plan holds, such as breaking the glass, are not compared",
        (edit(parts, ("(options or {}).items()", "{}.items()")),),
        caught_by=f"{_KEYS}::test_an_option_that_no_plan_has_is_asked_too[options0]",
    ),
    PartMutant(
        "key-options-not-given",
        "an option that nobody gave makes another request of it",
        (edit(parts, (" if value}]", "}]")),),
        caught_by=f"{_KEYS}::test_an_option_that_is_not_given_is_not_asked",
    ),
    PartMutant(
        "key-either-direction",
        "a key for one direction is accepted for the way back",
        (edit(parts, (_DIRECTION, f"sorted({_DIRECTION})")),),
        caught_by=f"{_KEYS}::test_what_differs_is_named[the direction 3]",
    ),
    PartMutant(
        "key-order-of-waves",
        "services that are moved in waves count as the same in any order",
        (edit(parts, (_SERVICES, "sorted(services)")),),
        caught_by=f"{_KEYS}::test_what_nobody_asked_for_does_not_count",
    ),
    PartMutant(
        "key-who-asks",
        "the same request from another account is refused",
        (edit(parts, ("_without(ruling, *_WHO)", "ruling")),),
        caught_by=f"{_KEYS}::test_what_nobody_asked_for_does_not_count",
    ),
    PartMutant(
        "key-order-of-answers",
        "the same answers in another order are refused",
        (edit(_hash, ("sort_keys=True", "sort_keys=False")),),
        caught_by=f"{_KEYS}::test_in_which_order_it_is_said_does_not_count",
    ),
    PartMutant(
        "key-options-of-an-older-version",
        "a key of version 0.1.0 is refused for options that it did not keep",
        (edit(differences, ("name != _OPTIONS and ", "")),),
        caught_by=f"{_KEYS}::test_a_key_of_an_older_version_is_held_against_its_plan",
    ),
    PartMutant(
        "key-of-a-secret-in-a-reason",
        "the hash that is kept with a key is of a text with a secret in it",
        (edit(once.what_was_asked, (f"scrub_free_texts(scrub)({_PLAIN})", _PLAIN)),),
        caught_by=f"{_KEYS}::test_no_secret_is_in_what_a_key_stands_for",
    ),
    PartMutant(
        "key-of-a-secret-in-an-option",
        "the hash that is kept with a key is of an option with a secret in it",
        (edit(once.what_was_asked, ("scrub(json.dumps(value))", "json.dumps(value)")),),
        caught_by=f"{_KEYS}::test_no_secret_is_in_what_a_key_stands_for",
    ),
    PartMutant(
        "key-result-before-the-end",
        "who waits for the first run gets a result while that is still led",
        (edit(shown.first_result, ("if wait and", "if False and")),),
        caught_by=f"{_COMMANDS}::test_the_first_run_is_still_going_on[False]",
    ),
)
