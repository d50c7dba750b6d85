"""Mutants of parts that no simulated run shows: hooks, redaction and idempotency keys.

Each names one test of its part that has to fail for it. ``python -m tests.proof.mutants.parts KIND`` tries
those of a kind.
"""

from collections.abc import Mapping, Sequence

from tests.proof.mutants.parts.catching import PartMutant as PartMutant
from tests.proof.mutants.parts.hooks import HOOKS
from tests.proof.mutants.parts.keys import KEYS
from tests.proof.mutants.parts.redaction import REDACTION

PARTS: Mapping[str, Sequence[PartMutant]] = {"hooks": HOOKS, "redaction": REDACTION, "keys": KEYS}
# Not broken at all, so it has to get away.
CONTROL = PartMutant(
    "nothing",
    "nothing is broken",
    (),
    caught_by="tests/hooks/test_hook_message.py::test_the_line_is_that_of_the_screen",
)
