"""A controlled move that loses the link between both sites while the target is still behind."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.real.commands import ROOT, Operator
from tests.real.relay import Relay

SLOW_S = 0.5


def impatient(folder: Path, name: str) -> str:
    """A copy of a shipped runbook that waits 1 s for a link in place of 30, so that a test need not."""
    text = (ROOT / f"runbooks/{name}.yaml").read_text()
    assert "grace: 30s" in text
    copy = folder / "impatient.yaml"
    copy.write_text(text.replace("grace: 30s", "grace: 1s"))
    return str(copy)


def cut_in_drain(pair: Operator, way: Relay, words: list[str], *, seed: int) -> tuple[int, str]:
    """Run a move by the runbook that ``words`` name, and cut ``way`` once the source was closed by the step
    before the drain.
    Returns the exit code, and what was said.

    What was written last is on its way for ``SLOW_S`` then, so the target cannot have it.
    """
    steps = yaml.safe_load(Path(words[words.index("--runbook") + 1]).read_text())["steps"]
    closing = [step["id"] for step in steps].index("drain")
    way.delay_s = SLOW_S
    code, said = cut_after(pair, way.cut, words, seed=seed, line=rf"\[{closing}/\d+\] done")
    way.delay_s = 0.0
    return code, said


def cut_after(
    pair: Operator, cut: Callable[[], None], words: list[str], *, seed: int, line: str, spared: int = 0
) -> tuple[int, str]:
    """Run a move, and ``cut`` once it says a ``line``; the exit code, and what was said. Runs with an odd ``seed`` are
    killed ``spared`` lines later, or after some more, and resumed."""
    chance = random.Random(seed)
    said, after_cut = "", None
    kill_after = spared + chance.randint(1, 4) if seed % 2 else None
    with pair.start(*words) as process:
        assert process.stdout is not None  # it is a pipe
        for one in process.stdout:
            said += one
            if after_cut is None and re.search(line, one):
                cut()
                after_cut = 0
            elif after_cut is not None:
                after_cut += 1
                if after_cut == kill_after:
                    process.kill()
    assert after_cut is not None, said
    code = process.returncode
    if code < 0:
        code, more = pair.run("resume")
        said += more
    return code, said


def at_risk(said: str, unit: str) -> int:
    """How much an escalation put at risk, as it says itself."""
    found = re.search(rf"([\d,]+) {unit}s? at risk", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))
