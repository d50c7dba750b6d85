"""Each rule of the judge has a control of its own: a history by hand in which it speaks, and alone, and a neighbour in
which nobody does. A rule that is switched off, or can never speak, fails here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import proof.promises
from tests.proof.controls_again import AGAIN, AGAIN_AMPS, ASKED
from tests.proof.controls_amps import AMPS
from tests.proof.controls_common import COMMON
from tests.proof.controls_conduct import CONDUCT
from tests.proof.controls_course import COURSE
from tests.proof.controls_generic import GENERIC
from tests.proof.controls_repair import REPAIRED
from tests.proof.controls_solace import SOLACE
from tests.proof.histories import Control

CONTROLS = [*COMMON, *CONDUCT, *COURSE, *ASKED, *SOLACE, *REPAIRED, *AGAIN, *AMPS, *AGAIN_AMPS, *GENERIC]
_RULES = Path(proof.promises.__file__).parent


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_a_rule_speaks_and_its_neighbour_is_quiet(control: Control) -> None:
    """Law: of what is broken exactly this is found; of what is whole, nothing."""
    [broken] = control.found(harm=True)
    assert broken.promise == control.promise
    assert control.words in broken.words
    assert control.found(harm=False) == []


def test_every_sentence_of_the_judge_is_said() -> None:
    """Law: no place at which the judge names a broken promise goes without a control, also one that is written later."""
    said = {
        family: [str(one.found(harm=True)[0]) for one in CONTROLS if family in ("", one.family)]
        for family in FAMILIES
    }
    unsaid = [place for place, family, sentence in _sentences() if not any(map(sentence.fullmatch, said[family]))]
    assert unsaid == []


FAMILIES = ("", "solace", "amps")


def _sentences() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Where the judge names a broken promise, the family that the rule is of, and what it says there."""
    for path in sorted(_RULES.rglob("*.py")):
        family = path.parent.name if path.parent != _RULES else ""
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Broken":
                promise, words = node.args
                number = str(promise.value) if isinstance(promise, ast.Constant) else r"\d+"
                yield f"{path.name}:{node.lineno}", family, re.compile(f"promise {number}: {_pattern(words)}")


def _pattern(words: ast.expr) -> str:
    if isinstance(words, ast.Constant):
        return re.escape(str(words.value))
    assert isinstance(words, ast.JoinedStr)
    return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in words.values)
