"""``--idempotency-key``: a repeated request gets the first run's result, and never a second run."""

from __future__ import annotations

import json
from collections.abc import Mapping

from orchestrator.errors import DefinitionError
from orchestrator.journal.idempotency_keys import UsedKey, differences, parts, run_of_key
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import is_led
from orchestrator.journal.outbox import Outbox
from orchestrator.model import events as ev
from orchestrator.operations.free_texts import scrub_free_texts
from orchestrator.operations.runs.plan import recordable
from orchestrator.operations.runtime import Tools, checked_text

KEY_LENGTH_MAX = 200
# The pause between checks of a run that another process leads.
_CHECKED_EVERY_S = 0.5


def checked_key(text: str) -> str:
    """The key as it was typed. Raises ``DefinitionError`` for a key that is empty, too long, or no plain text."""
    key = checked_text(text, "--idempotency-key")
    if not 0 < len(key) <= KEY_LENGTH_MAX or not key.isprintable():
        raise DefinitionError(f"--idempotency-key takes 1 to {KEY_LENGTH_MAX} characters, without control characters")
    return key


def what_was_asked(tools: Tools, plan: ev.Plan, options: Mapping[str, object]) -> Mapping[str, str]:
    """The whole request of a key, part by part, without secrets. ``options``: those that no field of the plan holds."""
    scrub = tools.secrets.redactor.scrub
    plain = scrub_free_texts(scrub)(recordable(plan).model_dump_json())
    said = {name: scrub(json.dumps(value)) for name, value in options.items() if value}
    return parts(ev.Plan.model_validate_json(plain), said)


def first_run(journal: Journal, asked: Mapping[str, str], key: str) -> str | None:
    """The run that ``key`` has started; None if there is none yet. Raises ``DefinitionError`` if the key was used for a
    request that differs from ``asked``."""
    used = run_of_key(journal, key)
    if used is None:
        return None
    _refuse_another_request(key, used, Outbox(journal).plan(used.run), asked)
    return used.run


def _refuse_another_request(key: str, used: UsedKey, first: ev.Plan, asked: Mapping[str, str]) -> None:
    found = differences(asked, used, first)
    if not found:
        return
    services = ", ".join(first.services[:5]) + (f" and {len(first.services) - 5} more" if first.services[5:] else "")
    differs = f"{', '.join(found[:-1])} and {found[-1]}" if found[1:] else found[0]
    raise DefinitionError(
        f"the key {key!r} was used for another request: run {used.run}, {first.runbook.runbook}, "
        f"{first.source} to {first.target}, {services}; this request differs in {differs}",
        hint="this idempotency key already belongs to another request; use a new key",
    )


def await_end(tools: Tools, journal: Journal, name: str) -> None:
    """Wait until no process leads the run any more."""
    while is_led(journal.row(name), tools.clock.now()):
        tools.clock.sleep(_CHECKED_EVERY_S)
