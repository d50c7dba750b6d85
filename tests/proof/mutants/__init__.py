"""Engines that are broken on purpose, to show that the simulation would notice.

``python -m tests.proof.mutants FILE`` hunts them all, and tells the seed that catches each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tests.proof.mutants import guards_leading, guards_proving, guards_running, guards_waiting
from tests.proof.mutants.acting import ACTING
from tests.proof.mutants.deciding import DECIDING
from tests.proof.mutants.letting_in import LETTING_IN
from tests.proof.mutants.recording import RECORDING
from tests.proof.mutants.swapping import Mutant as Mutant
from tests.proof.mutants.swapping import broken_by as broken_by

_GUARDS: Mapping[str, Sequence[Mutant]] = {
    "permit": guards_leading.PERMIT,
    "lease": guards_leading.LEASE,
    "epoch": guards_leading.EPOCH,
    "claims": guards_leading.CLAIMS,
    "site": guards_leading.SITE,
    "limit": guards_leading.LIMIT,
    "freshness": guards_proving.FRESHNESS,
    "age": guards_proving.AGE,
    "foresight": guards_proving.FORESIGHT,
    "doubt": guards_proving.DOUBT,
    "attempts": guards_proving.ATTEMPTS,
    "point of no return": guards_proving.NO_RETURN,
    "undo": guards_proving.UNDO,
    "resume": guards_proving.RESUME,
    "drain": guards_waiting.DRAIN,
    "conditions": guards_waiting.CONDITIONS,
    "readings": guards_waiting.READINGS,
    "items": guards_waiting.ITEMS,
    "gates": guards_waiting.GATES,
    "return": guards_waiting.RETURN,
    "fleet": guards_running.FLEET,
    "journal": guards_running.JOURNAL,
    "inbox": guards_running.INBOX,
    "approvals": guards_running.APPROVALS,
    "waves": guards_running.WAVES,
    "asking": guards_running.ASKING,
}


def _guards() -> Iterator[Mutant]:
    for kind, mutants in _GUARDS.items():
        yield from (replace(mutant, kind=kind) for mutant in mutants)


GUARDS: tuple[Mutant, ...] = tuple(_guards())
MUTANTS: tuple[Mutant, ...] = (*RECORDING, *ACTING, *DECIDING, *LETTING_IN, *GUARDS)
